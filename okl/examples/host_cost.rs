//! Times the work that the processor does beside a place that sums over settled terms, such as a card: `host_cost ROWS FEATURES OUTPUTS
//! THREADS REQUEST`.
//!
//! The place of this program answers at once: every total is 0. It copies what it is sent, as the driver of a card does. So the scores are not
//! those of the learner, but the processor does the same work as with a card that never lets it wait. REQUEST is the number of rows of a
//! request, as `CARD_ROWS` in `okl-cuda/examples/card.rs`; the rows are those of that program. Times of the processor are those of the thread
//! that learns (Linux only), so that other programs on the machine do not count.

use std::collections::VecDeque;
use std::time::Instant;

use okl::place::{Chunk, Place, Request, Shape};
use okl::{Batch, Config, Learner};

/// Requests with fewer multiplications stay on the processor, as with a card.
const WORTHWHILE: f64 = (1u64 << 28) as f64;

/// A place whose totals are all 0.
#[derive(Default)]
struct Nothing {
    rows: usize,
    columns: usize,
    centres: Vec<f32>,
    coefficients: Vec<f64>,
    sent_rows: Vec<f32>,
    /// The numbers that the requests under way return.
    expected: VecDeque<usize>,
    received: Vec<f64>,
}

impl Place for Nothing {
    fn name(&self) -> String {
        "a place that answers at once".into()
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn pays(&self, multiplications: f64) -> bool {
        multiplications >= WORTHWHILE
    }

    fn begin(&mut self, shape: &Shape) -> Result<usize, String> {
        self.columns = shape.planes.len();
        Ok(usize::MAX)
    }

    fn put(&mut self, _: usize, chunk: Chunk<'_>) -> Result<(), String> {
        self.centres.clear();
        self.centres.extend_from_slice(chunk.centres);
        self.coefficients.clear();
        self.coefficients.extend_from_slice(chunk.coefficients);
        Ok(())
    }

    fn start(&mut self, request: Request<'_>) -> Result<(), String> {
        let rows = request.rows.squares.len();
        self.sent_rows.clear();
        (0..rows).for_each(|i| self.sent_rows.extend_from_slice(request.rows.rows.row(i)));
        self.expected.push_back((1 + request.chunks - request.folded) * rows * self.columns);
        Ok(())
    }

    fn finish(&mut self, totals: &mut Vec<f64>) -> Result<(), String> {
        let expected = self.expected.pop_front().ok_or("nothing is under way")?;
        self.received.resize(expected.max(self.received.len()), 0.0);
        totals.clear();
        totals.extend_from_slice(&self.received[..expected]);
        Ok(())
    }

    fn bytes(&self) -> usize {
        0
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, otherwise: usize| words.get(i).and_then(|word| word.parse().ok()).unwrap_or(otherwise);
    let (rows, features, outputs) = (number(0, 200_000), number(1, 120), number(2, 16));
    let (threads, request) = (number(3, 1), number(4, 256));
    let (x, y) = stream(rows, features, outputs);
    let gamma = 4.0 / features as f64;
    let settings = format!(
        "loss = 'squared'\nkernel = 'gaussian:{gamma}'\nstep = 'constant:0.2'\nlambda = 1e-6\nbudget = 'unlimited'\nscale = 'none'"
    );
    let mut learner = Learner::new(Config::from_toml(&settings)?)?;
    learner.set_threads(threads)?;
    learner.set_place(Some(Box::new(Nothing { rows: request, ..Nothing::default() })));
    let (begun, began_at, faults) = (Instant::now(), of_processor(), page_faults());
    let (mut since, mut last_at) = (Instant::now(), began_at);
    let mut sum = 0.0;
    learner.learn_with(&Batch::new(&x, features).numbers(&y), |row, outcome| {
        sum += outcome.scores[0];
        if (row + 1) % 100_000 == 0 {
            let at = of_processor();
            let each = [since.elapsed().as_secs_f64() * 10.0, (at - last_at) * 10.0];
            println!("up to row {}: {:.2} µs a row, processor {:.2} µs", row + 1, each[0], each[1]);
            (since, last_at) = (Instant::now(), at);
        }
    })?;
    let took = [begun.elapsed().as_secs_f64(), of_processor() - began_at];
    let each = took.map(|seconds| 1e6 * seconds / rows as f64);
    println!(
        "learn {rows} x {features} -> {outputs}, {threads} threads: {:.2} s, {:.2} µs a row, processor {:.2} µs, {:.3} page faults; {} terms, sum {sum}",
        took[0],
        each[0],
        each[1],
        (page_faults() - faults) / rows as f64,
        learner.terms()
    );
    Ok(())
}

/// The seconds that this thread has run; 0 where the system does not say.
fn of_processor() -> f64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    said.split_whitespace().next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The page faults of this program; 0 where the system does not say.
fn page_faults() -> f64 {
    let said = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let of_fields = said.rsplit(')').next().and_then(|fields| fields.split_whitespace().nth(7));
    of_fields.and_then(|faults| faults.parse().ok()).unwrap_or(0.0)
}

/// Rows around 40 centres, and targets that are smooth functions of them.
fn stream(rows: usize, features: usize, outputs: usize) -> (Vec<f32>, Vec<f64>) {
    let mut state = 1u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let centres: Vec<f32> = (0..40 * features).map(|_| unit()).collect();
    let mut x = Vec::with_capacity(rows * features);
    let mut y = Vec::with_capacity(rows * outputs);
    for i in 0..rows {
        let centre = &centres[(i * 7 % 40) * features..][..features];
        x.extend(centre.iter().map(|c| c + 0.5 * unit()));
        let row = &x[i * features..];
        y.extend((0..outputs).map(|o| f64::from(row[o % features] * 2.0).sin() + f64::from(row[(3 * o + 1) % features])));
    }
    (x, y)
}
