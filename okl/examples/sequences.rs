//! An argmax oracle of one's own: label sequences with transitions, found by Viterbi, under a kernel on whole inputs.
//!
//! A day of eight readings is to be labelled hour by hour as low (0), middle (1) or high (2); readings are noisy, labels
//! tend to stay. Scores are parts: one per (hour, label) and one per pair of neighbouring labels.
//! `cargo run --release --example sequences`

use okl::basis::terms::Terms;
use okl::basis::{Dense, Points};
use okl::budget::{AnyBudget, BudgetRule};
use okl::engine::head::{HeadParts, Rules};
use okl::engine::{Engine, Labels, Parts};
use okl::gram::{Backend, Matrix, square};
use okl::kernel::AnyKernel;
use okl::loss::{Oracle, Structured};
use okl::output::Output;
use okl::regulariser::AnyRegulariser;
use okl::step::AnyStep;

const HOURS: usize = 8;
const LABELS: usize = 3;
const PARTS: usize = HOURS * LABELS + LABELS * LABELS;

/// Sequences of labels; two sequences differ by the number of hours they label differently.
struct Chain;

impl Chain {
    /// argmax over sequences of <z, psi(sequence)> + extra(hour, label), by dynamic programming; ties go to the earlier label.
    fn viterbi(&self, z: &[f64], extra: impl Fn(usize, usize) -> f64) -> [usize; HOURS] {
        let (hours, moves) = z.split_at(HOURS * LABELS);
        let at = |hour: usize, label: usize| hours[hour * LABELS + label] + extra(hour, label);
        let mut best: [f64; LABELS] = std::array::from_fn(|label| at(0, label));
        let mut from = [[0; LABELS]; HOURS];
        for (hour, from) in from.iter_mut().enumerate().skip(1) {
            let before = best;
            for label in 0..LABELS {
                let value = |l: usize| before[l] + moves[l * LABELS + label];
                let previous = (1..LABELS).fold(0, |b, l| if value(l) > value(b) { l } else { b });
                (best[label], from[label]) = (value(previous) + at(hour, label), previous);
            }
        }
        let mut sequence = [0; HOURS];
        sequence[HOURS - 1] = (1..LABELS).fold(0, |b, l| if best[l] > best[b] { l } else { b });
        for hour in (1..HOURS).rev() {
            sequence[hour - 1] = from[hour][sequence[hour]];
        }
        sequence
    }

    fn add(&self, sequence: &[usize; HOURS], weight: f64, psi: &mut [f64]) {
        for hour in 0..HOURS {
            psi[hour * LABELS + sequence[hour]] += weight;
            if hour > 0 {
                psi[HOURS * LABELS + sequence[hour - 1] * LABELS + sequence[hour]] += weight;
            }
        }
    }
}

impl Oracle for Chain {
    fn outputs(&self) -> usize {
        PARTS
    }

    fn argmax(&self, z: &[f64], y: &[f64], psi: &mut [f64]) -> f64 {
        let wrong = |hour: usize, label: usize| f64::from(u8::from(label as f64 != y[hour]));
        let sequence = self.viterbi(z, wrong);
        psi.fill(0.0);
        self.add(&sequence, 1.0, psi);
        (0..HOURS).map(|hour| wrong(hour, sequence[hour])).sum()
    }

    fn features(&self, y: &[f64], weight: f64, psi: &mut [f64]) {
        self.add(&std::array::from_fn(|hour| y[hour] as usize), weight, psi);
    }
}

fn days(count: usize) -> (Vec<f32>, Vec<f64>) {
    let mut seed = 3u64;
    let mut uniform = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / (1u64 << 31) as f64
    };
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let mut label = (3.0 * uniform()) as usize;
        for _ in 0..HOURS {
            if uniform() < 0.25 {
                label = (3.0 * uniform()) as usize;
            }
            y.push(label as f64);
            x.push((label as f64 - 1.0 + 1.8 * (uniform() - 0.5)) as f32);
        }
    }
    (x, y)
}

fn main() {
    let (x, y) = days(4000);
    let squares: Vec<f32> = x.chunks(HOURS).map(square).collect();
    let mut engine = Engine::new(Parts {
        basis: Terms::new(Dense::new(
            vec![AnyKernel::Sum(vec![AnyKernel::Linear, AnyKernel::Gaussian { gamma: 0.1 }])],
            HOURS,
            Backend::best(),
        )),
        losses: vec![Structured { oracle: Chain }],
        budget: AnyBudget::new(BudgetRule::Transfer { terms: 500 }, 0.0),
        heads: vec![HeadParts::new(AnyStep::InverseSqrt { eta: 0.2 }, 1e-4)],
        output: Output::Identity,
        outputs: PARTS,
        theta0: None,
        rules: Rules::<AnyRegulariser> { offset: true, ..Rules::default() },
    });
    let mut wrong = [0; 4];
    let points = Points { rows: Matrix::new(HOURS, &x), squares: &squares };
    engine.learn_block(points, &Labels { y: &y, width: HOURS, ..Labels::default() }, |i, step| {
        let guess = Chain.viterbi(step.scores, |_, _| 0.0);
        wrong[i / 1000] += (0..HOURS).filter(|&hour| guess[hour] as f64 != y[i * HOURS + hour]).count();
    });
    let rounded = x.iter().zip(&y).filter(|(x, y)| f64::from(x.round().clamp(-1.0, 1.0)) + 1.0 != **y).count();
    println!("rounding each reading on its own: {:.1} % of the hours wrong", 100.0 * rounded as f64 / y.len() as f64);
    for (part, wrong) in wrong.iter().enumerate() {
        println!(
            "days {:4} to {:4}: {:4.1} % of the hours wrong before the day was learned",
            1000 * part,
            1000 * part + 999,
            *wrong as f64 / 80.0
        );
    }
}
