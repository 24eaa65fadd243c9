//! Learns generated dense rows, for counts of instructions: `dense_cost BUDGET COLUMNS CLASSES ROWS`.
//!
//! `valgrind --tool=callgrind target/release/examples/dense_cost window:1000 32 2 4000`, and once more with more rows: the difference divided by
//! the number of rows more is the cost of a row (benchmarks/sparse.md). It uses nothing that the commit before sparse rows (7fee0d6) does not have,
//! so that the same file can be built there.

use okl::{Batch, Config, Label, Learner};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [budget, columns, classes, rows] = words.as_slice() else { panic!("dense_cost BUDGET COLUMNS CLASSES ROWS") };
    let number = |word: &String| word.parse::<usize>().expect("a number");
    let (columns, classes, rows) = (number(columns), number(classes), number(rows));
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    // A variance of 1 in every column, and labels without relation to the rows, so that nearly every row becomes a term.
    let x: Vec<f32> = (0..rows * columns).map(|_| uniform() * 12f32.sqrt()).collect();
    let drawn: Vec<usize> = (0..rows).map(|_| ((uniform() + 0.5) * classes as f32) as usize).collect();
    let (loss, gamma) = (if classes == 2 { "hinge" } else { "max_margin" }, 0.7 / columns as f64);
    let settings = format!(
        "loss = '{loss}'\nkernel = 'gaussian:{gamma}'\nstep = 'constant:0.1'\nlambda = 1e-4\noffset = false\nscale = 'none'\nbudget = '{budget}'"
    );
    let mut learner = Learner::new(Config::from_toml(&settings).expect("settings")).expect("a learner");
    let batch = Batch::new(&x, columns);
    if classes == 2 {
        let signs: Vec<f64> = drawn.iter().map(|&class| 2.0 * class as f64 - 1.0).collect();
        learner.learn(&batch.numbers(&signs)).expect("rows");
    } else {
        let names: Vec<Label> =
            drawn.iter().map(|&class| Label::from(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"][class])).collect();
        learner.learn(&batch.labels(&names)).expect("rows");
    }
    println!("{} terms", learner.terms());
}
