//! One table: learning against the raw inner-product kernel on the same shapes, in one run, as ratios.
//!
//! `cargo bench --bench table`. Setting: gaussian, hinge, constant step, offset, a full window of 1,000 terms, about a
//! third of the rows appended, one thread. Each figure is the best of several rounds, the competitors taking turns.

use std::hint::black_box;
use std::time::Instant;

use okl::gram::{Backend, Matrix, Panels};
use okl::{Batch, Config, Learner};

const TERMS: usize = 1000;
const ROWS: usize = 2048;
const ROUNDS: usize = 25;

struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    }
}

struct Data {
    features: usize,
    x: Vec<f32>,
    y: Vec<f64>,
}

fn data(features: usize) -> Data {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let x: Vec<f32> = (0..ROWS * features).map(|_| random.uniform()).collect();
    let y = x.chunks(features).map(|row| row.iter().sum::<f32>().signum().into()).collect();
    Data { features, x, y }
}

fn learner(data: &Data, terms: usize, margin: f64) -> Learner {
    let gamma = 3.0 / data.features as f64;
    let text = format!(
        "loss = 'hinge:{margin}'\nkernel = 'gaussian:{gamma}'\nstep = 'constant:0.1'\nlambda = 1e-3\noffset = true\nscale = 'none'\nbudget = 'window:{terms}'"
    );
    Learner::new(Config::from_toml(&text).unwrap()).unwrap()
}

/// The fraction of rows appended over one pass of a learner whose window is full.
fn appended(learner: &mut Learner, data: &Data) -> f64 {
    let mut count = 0;
    learner
        .learn_with(&Batch::new(&data.x, data.features).numbers(&data.y), |_, step| count += usize::from(step.slot.is_some()))
        .unwrap();
    count as f64 / ROWS as f64
}

/// A learner with a full window and a margin at which about a third of the rows are appended.
fn ready(data: &Data, terms: usize) -> (Learner, f64) {
    let (mut low, mut high) = (0.0, 4.0);
    for _ in 0..12 {
        let margin = 0.5 * (low + high);
        let mut l = learner(data, terms, margin);
        for _ in 0..terms.div_ceil(ROWS / 4) {
            appended(&mut l, data);
        }
        if appended(&mut l, data) < 1.0 / 3.0 { low = margin } else { high = margin }
    }
    let mut l = learner(data, terms, high);
    let mut fraction = 0.0;
    for _ in 0..terms.div_ceil(ROWS / 4) + 1 {
        fraction = appended(&mut l, data);
    }
    assert_eq!(l.terms(), terms, "the window is full");
    (l, fraction)
}

fn seconds(work: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// The best time of each competitor, taking turns.
fn best<const N: usize>(mut competitors: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        for (best, work) in best.iter_mut().zip(&mut competitors) {
            *best = best.min(seconds(*work));
        }
    }
    best
}

fn packed(data: &Data, terms: usize) -> Panels {
    let mut panels = Panels::new(data.features);
    panels.reserve(terms);
    (0..terms).for_each(|i| panels.put(i, &data.x[(i % ROWS) * data.features..(i % ROWS + 1) * data.features]));
    panels
}

fn raw(data: &Data, panels: &Panels, block: usize, out: &mut [f32]) {
    let slots = panels.slots();
    for x in data.x.chunks(block * data.features) {
        Backend::best().dots(Matrix::new(data.features, x), panels, 0..panels.panels(), out, slots);
        black_box(&mut *out);
    }
}

fn learn(learner: &mut Learner, data: &Data, block: usize) {
    for (x, y) in data.x.chunks(block * data.features).zip(data.y.chunks(block)) {
        learner
            .learn_with(&Batch::new(x, data.features).numbers(y), |_, step| {
                black_box(step.scores);
            })
            .unwrap();
    }
}

fn gemm(data: &Data, terms: &[f32], block: usize, out: &mut [f32]) {
    let d = data.features;
    for x in data.x.chunks(block * d) {
        // SAFETY: x is m x d, terms TERMS x d, out at least m x TERMS.
        #[allow(unsafe_code)]
        unsafe {
            matrixmultiply::sgemm(
                x.len() / d,
                d,
                TERMS,
                1.0,
                x.as_ptr(),
                d as isize,
                1,
                terms.as_ptr(),
                1,
                d as isize,
                0.0,
                out.as_mut_ptr(),
                TERMS as isize,
                1,
            );
        }
        black_box(&mut *out);
    }
}

fn per_term(data: &Data, terms: &[f32], out: &mut [f32]) {
    let d = data.features;
    for x in data.x.chunks(d).take(ROWS / 16) {
        for (out, term) in out.iter_mut().zip(terms.chunks(d)) {
            *out = x.iter().zip(term).map(|(a, b)| a * b).sum();
        }
        black_box(&mut *out);
    }
}

fn one_thread(features: usize) {
    let data = data(features);
    let (learner, fraction) = ready(&data, TERMS);
    let (mut blocks, mut ones) = (learner.clone(), learner);
    let panels = packed(&data, TERMS);
    let terms = &data.x[..TERMS * features];
    let mut out = vec![0.0; 64 * panels.slots()];
    let (mut out2, mut out3, mut out4) = (out.clone(), out.clone(), out.clone());
    let times = best([
        &mut || raw(&data, &panels, 64, &mut out),
        &mut || raw(&data, &panels, 1, &mut out4),
        &mut || learn(&mut blocks, &data, ROWS),
        &mut || learn(&mut ones, &data, 1),
        &mut || gemm(&data, terms, 64, &mut out2),
        &mut || per_term(&data, terms, &mut out3),
    ]);
    let flops = 2.0 * (ROWS * TERMS * features) as f64;
    let rate = |seconds: f64| flops / seconds / 1e9;
    println!(
        "| {features} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} | {:.2} | {:.0} | {:.2} | {:.2} |",
        rate(times[0]),
        rate(times[1]),
        rate(times[4]),
        rate(times[5]) / 16.0,
        ROWS as f64 / times[2],
        times[0] / times[2],
        ROWS as f64 / times[3],
        times[0] / times[3],
        fraction,
    );
}

/// What two threads gain: the raw kernel's speed-up and the learner's.
fn two_threads(features: usize, terms: usize) {
    let data = data(features);
    let (one, _) = ready(&data, terms);
    let mut two = one.clone();
    two.set_threads(2).unwrap();
    let mut one = one;
    let panels = packed(&data, terms);
    let slots = panels.slots();
    let (mut left, mut right) = (vec![0.0; 64 * slots], vec![0.0; 64 * slots]);
    let mut both = left.clone();
    let half = data.x.len() / 2;
    let part = |range: std::ops::Range<usize>| Data { features, x: data.x[range].to_vec(), y: Vec::new() };
    let (first, second) = (part(0..half), part(half..data.x.len()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let times = best([
        &mut || raw(&data, &panels, 64, &mut both),
        &mut || {
            pool.install(|| {
                rayon::join(|| raw(&first, &panels, 64, &mut left), || raw(&second, &panels, 64, &mut right));
            })
        },
        &mut || learn(&mut one, &data, ROWS),
        &mut || learn(&mut two, &data, ROWS),
    ]);
    let (raw, learned) = (times[0] / times[1], times[2] / times[3]);
    println!(
        "\nTwo threads, {features} features, {terms} terms: the raw kernel gains {raw:.2}, learning gains {learned:.2}: {:.2} of it.",
        learned / raw
    );
}

fn main() {
    println!(
        "Backend {}; {ROWS} rows against a full window of {TERMS} terms; GFLOP/s of inner products and ratios.\n",
        Backend::best().name()
    );
    println!(
        "| features | raw, blocks | raw, one row | matrixmultiply | per-term loop | rows/s, blocks | of raw | rows/s, one by one | of raw in blocks | appended |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for features in [16, 54, 256, 784] {
        one_thread(features);
    }
    two_threads(784, 4000);
}
