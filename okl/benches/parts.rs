//! The parts one by one: `cargo bench --bench parts`. For ratios within one run see `table.rs`.

use std::time::{Duration, Instant};

use okl::gram::{Backend, Matrix, Packed, Panels, Points, kernel_rows};
use okl::kernel::AnyKernel;
use okl::{Batch, Config, Learner, Workspace};

const TERMS: usize = 1024;
/// One part is measured for this long.
const TIME: Duration = Duration::from_secs(1);

/// Runs `work`, which goes through so many elements, again and again. Prints the time of the fastest run.
fn measure<T>(name: &str, elements: usize, mut work: impl FnMut() -> T) {
    let (start, mut best) = (Instant::now(), Duration::MAX);
    while start.elapsed() < TIME {
        let turn = Instant::now();
        std::hint::black_box(work());
        best = best.min(turn.elapsed());
    }
    let each = best.as_secs_f64() / elements as f64;
    println!("{name:<40}{:>12.3} µs{:>12.3} ns each{:>12.1} million/s", 1e6 * best.as_secs_f64(), 1e9 * each, 1e-6 / each);
}

fn uniform(count: usize) -> Vec<f32> {
    let mut s = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

fn panels(features: usize) -> (Panels, Vec<f32>) {
    let x = uniform(TERMS * features);
    let mut panels = Panels::new(features);
    panels.reserve(TERMS);
    x.chunks(features).enumerate().for_each(|(i, row)| panels.put(i, row));
    let mut squares = vec![0.0; TERMS];
    Backend::best().squares(Matrix::new(features, &x), &mut squares);
    (panels, squares)
}

fn gram() {
    for features in [16, 54, 256, 784] {
        let (panels, squares) = panels(features);
        for rows in [1usize, 32] {
            let x = uniform(rows * features);
            let x = Matrix::new(features, &x);
            let mut row_squares = vec![0.0; rows];
            Backend::best().squares(x, &mut row_squares);
            let mut out = vec![0.0; rows * TERMS];
            let name = |part: &str| format!("{part}, {rows} rows, {features} features");
            measure(&name("dots"), rows * TERMS, || Backend::best().dots(x, &panels, 0..panels.panels(), &mut out, TERMS));
            let (points, terms) = (Points { rows: x, squares: &row_squares }, Packed { panels: &panels, squares: &squares });
            let kernel = [AnyKernel::Gaussian { gamma: 1.0 / features as f64 }];
            measure(&name("gaussian"), rows * TERMS, || {
                kernel_rows(Backend::best(), 1, &kernel, points, terms, &mut [&mut out], TERMS)
            });
        }
    }
    let (k, a) = (uniform(TERMS), vec![0.5; TERMS]);
    for columns in [1usize, 10] {
        let (columns, mut out) = (vec![a.as_slice(); columns], vec![0.0; columns]);
        let name = format!("weighted sums, {} columns", columns.len());
        measure(&name, TERMS * columns.len(), || Backend::best().weighted_sums(&k, &columns, &mut out));
    }
}

fn learning() {
    let (features, rows) = (64, 512);
    let x = uniform(rows * features);
    let y: Vec<f64> = x.chunks(features).map(|r| r.iter().sum::<f32>().signum().into()).collect();
    for budget in ["window:1000", "transfer:1000", "merge:1000", "age:3000"] {
        for step in ["constant:0.1", "smd:eta=0.1"] {
            let text = format!(
                "loss = 'hinge'\nkernel = 'gaussian:0.05'\nstep = '{step}'\nbudget = '{budget}'\nlambda = 1e-3\nscale = 'none'"
            );
            let mut learner = Learner::new(Config::from_toml(&text).unwrap()).unwrap();
            for _ in 0..8 {
                learner.learn(&Batch::new(&x, features).numbers(&y)).unwrap();
            }
            measure(&format!("learn, {step}, {budget}"), rows, || learner.learn(&Batch::new(&x, features).numbers(&y)).unwrap());
        }
    }
    let mut learner = Learner::new(
        Config::from_toml(
            "loss = 'hinge'\nkernel = 'gaussian:0.05'\nstep = 'constant:0.1'\nlambda = 1e-3\nbudget = 'window:1000'",
        )
        .unwrap(),
    )
    .unwrap();
    for _ in 0..8 {
        learner.learn(&Batch::new(&x, features).numbers(&y)).unwrap();
    }
    let mut workspace = Workspace::default();
    measure("predict", rows, || learner.predict_with(&mut workspace, &Batch::new(&x, features)).unwrap());
    measure("save and load", 1, || Learner::from_bytes(&learner.to_bytes()).unwrap());
}

fn main() {
    gram();
    learning();
}
