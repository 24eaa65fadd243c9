//! Small models on a long stream: memory does not grow, nothing wears out, the cached norm stays what it says it is.
//!
//! `OKL_ENDURANCE=10000000 cargo test -p okl --test endurance -- --nocapture` runs so many steps per model and prints a record
//! (benchmarks/endurance.md); without the variable it is 200,000.
mod support;

use okl::{Batch, Learner};
use std::time::Instant;
use support::functions::{Function, Rng, gauss, learner};

const FEATURES: usize = 4;
const BLOCK: usize = 1000;

/// A stream without end: the side of a plane that turns slowly, a tenth of the labels wrong.
struct Stream {
    rng: Rng,
    turn: f64,
    x: Vec<f32>,
    y: Vec<f64>,
}

impl Stream {
    fn next(&mut self, rows: usize) {
        (self.x, self.y) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let x: Vec<f64> = (0..FEATURES).map(|_| self.rng.normal()).collect();
            self.turn += 1e-5;
            let side = self.turn.cos() * x[0] + self.turn.sin() * x[1] + 0.3 * x[2] * x[3];
            self.y.push(if (side > 0.0) ^ (self.rng.uniform() < 0.1) { 1.0 } else { -1.0 });
            self.x.extend(x.iter().map(|v| *v as f32));
        }
    }
}

/// Every number of the state that the learner shows.
fn numbers(l: &Learner) -> Vec<(&'static str, f64)> {
    let (engine, head) = (l.engine(), &l.engine().heads()[0]);
    let means = engine.terms().live().filter_map(|slot| head.expansion().mean(0, slot));
    let scalars = [
        ("norm2", l.norm2()),
        ("theta", l.theta()),
        ("eta", l.eta()),
        ("truncation", l.truncation_error()),
        ("trace product", head.trace_product()),
        ("trace norm", head.trace_norm2()),
        ("regret", l.regret_bound(1.0, 1.0).unwrap_or(0.0)),
        ("threshold", l.threshold().unwrap_or(0.0)),
        ("alert bound", l.alert_rate().map_or(0.0, |a| a.bound)),
    ];
    let coefficients = l.coefficients().into_iter().map(|a| ("coefficient", a));
    scalars
        .into_iter()
        .chain(coefficients)
        .chain(means.map(|a| ("mean", a)))
        .chain(l.offset().iter().map(|b| ("offset", *b)))
        .collect()
}

fn check(name: &str, l: &Learner, exact: bool, bytes: usize) -> f64 {
    let t = l.examples();
    assert_eq!((l.skipped(), l.bytes()), (0, bytes), "{name} t {t}: nothing skipped, no byte more");
    for (what, v) in numbers(l) {
        assert!(v == 0.0 || v.is_normal(), "{name} t {t}: {what} is {v}");
    }
    // |f|² in f64; kernel values inside are f32.
    let (f, stated) = (Function::of(l), l.norm2());
    let norm2 = f.norm2();
    assert!(norm2.is_normal() && gauss(&f.centres[..4], &f.centres[..4]) == 1.0);
    match exact {
        true => assert!((stated / norm2 - 1.0).abs() < 1e-6, "{name} t {t}: |f|² {norm2}, stated {stated}"),
        false => assert!(stated >= norm2 * (1.0 - 1e-6), "{name} t {t}: |f|² {norm2} above {stated}"),
    }
    norm2
}

/// Learns `steps` examples in blocks and checks at sixteen counts; the warm-in is the first sixteenth.
fn endure(name: &str, text: &str, exact: bool, steps: usize) {
    let novelty = text.contains("novelty");
    let mut l = learner(&format!("lambda=0.001\n{text}"));
    let mut stream = Stream { rng: Rng::new(7), turn: 0.0, x: vec![], y: vec![] };
    let (mut seconds, mut bytes, mut norm2) = (0.0, 0, 0.0);
    let mut wrong = 0usize;
    for part in 1..=16 {
        let end = (steps * part / 16) as u64;
        while l.examples() < end {
            stream.next(BLOCK.min((end - l.examples()) as usize));
            let start = Instant::now();
            let batch = Batch::new(&stream.x, FEATURES);
            let z = l.learn(&if novelty { batch } else { batch.numbers(&stream.y) }).unwrap().values;
            seconds += start.elapsed().as_secs_f64();
            assert!(z.iter().all(|z| *z == 0.0 || z.is_normal()), "{name} t {}: a score", l.examples());
            wrong += z.iter().zip(&stream.y).filter(|(z, y)| *z * *y <= 0.0).count();
        }
        bytes = if part == 1 { l.bytes() } else { bytes };
        norm2 = check(name, &l, exact, bytes);
    }
    assert_eq!(l.examples(), steps as u64);
    let outcome = match l.alert_rate() {
        Some(alert) => format!("alerts {:.4}", alert.rate),
        None => {
            // A tenth of the labels are wrong; a window of 64 forgets too fast to be held to anything.
            assert!(
                !text.contains("merge") || (wrong as f64) < 0.2 * steps as f64,
                "{name}: no longer learns, {wrong} wrong of {steps}"
            );
            format!("errors {:.4}", wrong as f64 / steps as f64)
        }
    };
    println!(
        "| {name} | {steps} | {seconds:.1} | {:.4} | {:.4} | {:.3e} | {} | {} | {outcome} |",
        norm2.sqrt(),
        l.norm2().sqrt(),
        l.truncation_error(),
        l.terms(),
        l.bytes()
    );
}

#[test]
fn long_streams_stay_finite_and_bounded() {
    let steps = std::env::var("OKL_ENDURANCE").map_or(200_000, |text| text.parse().expect("OKL_ENDURANCE is a number of steps"));
    println!("| model | steps | seconds | norm | norm kept | truncation error | terms | bytes | outcome |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let hinge = "loss='hinge'\nstep='constant:0.2'\noffset=true\naverage='exponential:0.001'\n";
    endure("hinge, window", &format!("{hinge}budget='window:64'"), false, steps);
    endure("hinge, merge", &format!("{hinge}budget='merge:64'"), false, steps);
    let smd = "loss='hinge'\nstep='smd:eta=0.2'\noffset=true\n";
    endure("smd, window", &format!("{smd}budget='window:64'"), true, steps);
    endure("smd, merge", &format!("{smd}budget='merge:64'"), true, steps);
    let novelty = "loss='nu_novelty:0.05'\nstep='constant:0.2'\n";
    endure("nu_novelty, window", &format!("{novelty}budget='window:64'"), false, steps);
    endure("nu_novelty, merge, tracker", &format!("{novelty}budget='merge:64'\nthreshold='tracker'"), false, steps);
}
