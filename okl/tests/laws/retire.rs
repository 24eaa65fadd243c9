//! Heads that retire: the rule is at the head of `learner/retire.rs`.

use crate::support::cases::Random;
use okl::kernel::DotKernel;
use okl::step::AnyStep;
use okl::{Batch, Config, Label, Learner};

const SETTINGS: &str = "kernel = 'auto'\nloss = ['max_margin', 'softmax']\noffset = true\nwarmup = 64\nbudget = 'merge:30'";
const ROWS: usize = 1100;

/// Three classes, cut out of the plane by two circles. One row in five has no label. The third class is first seen after 700 rows, when
/// some heads have retired.
fn rings() -> (Vec<f32>, Vec<Label>, Vec<bool>) {
    let mut random = Random(15);
    let x: Vec<f32> = (0..2 * ROWS).map(|_| (4.0 * random.unit() - 2.0) as f32).collect();
    let ring = |(i, row): (usize, &[f32])| match row[0].hypot(row[1]) {
        ..0.8 => 0i64,
        r if r < 1.6 || i < 700 => 1,
        _ => 2,
    };
    let y = x.chunks(2).enumerate().map(ring).map(Label::from).collect();
    (x, y, (0..ROWS).map(|i| i % 5 != 3).collect())
}

/// The heads that have weight.
fn awake(learner: &Learner) -> Vec<usize> {
    let bank = learner.engine().bank().unwrap();
    (0..learner.engine().heads().len()).filter(|&h| !bank.rests(h)).collect()
}

/// The number of examples decides, wherever calls end and whether or not the model is saved and loaded there. What retires has no
/// coefficients, and the health report does not call it a fault.
#[test]
fn heads_retire_after_a_number_of_examples() {
    let (x, y, known) = rings();
    let count = |rows: usize| known[..rows].iter().filter(|known| **known).count();
    let at = (0..ROWS).position(|rows| count(rows) == 512).unwrap();
    let run = |widths: &str, cuts: &[usize]| {
        let config = Config::from_toml(&format!("{SETTINGS}\nwidths = '{widths}'")).unwrap();
        let (mut learner, mut first, mut seen) = (Learner::new(config).unwrap(), 0, Vec::new());
        for &last in cuts {
            let batch = Batch::new(&x[2 * first..2 * last], 2).labels(&y[first..last]).known(&known[first..last]);
            let scores = learner.learn(&batch).unwrap();
            seen.extend(scores.iter().map(|row| row.iter().copied().filter(|z| *z != 0.0).collect::<Vec<_>>()));
            let left = awake(&learner).len();
            // A retired head begins anew where its width is replaced.
            assert!(left == if last < at { 17 } else { 9 } || (last >= at && widths == "follow"), "after {last} rows: {left}");
            learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
            first = last;
        }
        (seen, learner)
    };
    let cuts = [&[at - 1, at, at + 1, ROWS][..], &[40, 300, at + 7, 700, 703, ROWS]];
    let [_, whole] = ["follow", "fixed"].map(|widths| {
        let (scores, whole) = run(widths, &[ROWS]);
        for cuts in cuts {
            let (seen, learner) = run(widths, cuts);
            assert!(seen == scores && learner.to_bytes() == whole.to_bytes(), "{widths}: {cuts:?}");
        }
        whole
    });
    let (heads, left) = (whole.engine().heads(), awake(&whole));
    let retired = (0..heads.len()).filter(|h| !left.contains(h));
    let outputs = whole.outputs();
    let coefficient = |h: usize, slot: usize| (0..outputs).map(move |o| heads[h].expansion().alpha(o, slot));
    let slots = 0..whole.terms();
    assert!(retired.flat_map(|h| slots.clone().flat_map(move |slot| coefficient(h, slot))).all(|alpha| alpha == 0.0));
    assert_eq!((outputs, whole.health().resting), (3, 0));
    // Most heads with the large step stay, one for each of the kernels, and the one that forgets.
    let voices = whole.config().members();
    let large: Vec<_> = voices.iter().filter(|m| m.loss == 0 && m.step == AnyStep::Constant { eta: 20.0 }).collect();
    let lightest = |m: &&okl::config::Member| whole.members().iter().find(|(other, _)| other == *m).unwrap().1;
    assert!(large.len() == 12 && large.iter().filter(|m| lightest(m) > 0.0).count() >= 8);
    let forgets: Vec<_> = voices.iter().filter(|m| m.step == AnyStep::Constant { eta: 1.0 }).collect();
    assert!(forgets.len() == 1 && lightest(&forgets[0]) > 0.0);
}

/// A learner whose heads have retired predicts what its members' weighted functions give: nothing that is skipped had a part in it.
#[test]
fn predictions_do_without_the_retired() {
    let (x, y, _) = rings();
    let mut learner = Learner::new(Config::from_toml(SETTINGS).unwrap()).unwrap();
    learner.learn(&Batch::new(&x, 2).labels(&y)).unwrap();
    assert!(awake(&learner).len() < 17);
    let bank = learner.engine().bank().unwrap();
    assert!((bank.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let rows = &x[..20];
    let scores = learner.predict(&Batch::new(rows, 2)).unwrap();
    let (coefficients, offset, terms) = (learner.predicting_coefficients(), learner.predicting_offset(), learner.terms());
    let (centres, (shift, factor)) = (learner.centres(), learner.frame());
    let framed = |v: f64, c: usize| (v - shift[c]) * factor[c];
    for (row, found) in rows.chunks(2).zip(scores.iter()) {
        let mut sums = offset.clone();
        for (width, kernel) in learner.engine().terms().space().kernels().iter().enumerate() {
            for slot in 0..terms {
                let weight = |c: usize| learner.column_weights(width).and_then(|weights| weights.get(c)).copied().unwrap_or(1.0);
                let apart2 = |c: usize| weight(c) * (framed(row[c].into(), c) - framed(centres[2 * slot + c], c)).powi(2);
                let apart: f64 = (0..2).map(apart2).sum();
                let manhattan: f64 = (0..2).map(|c| apart2(c).sqrt()).sum();
                // The kernel of a row at this distance from the origin, and of the origin.
                let k = f64::from(match kernel.of_manhattan_distance() {
                    true => kernel.eval(-0.5 * manhattan as f32, 0.0, 0.0),
                    false => kernel.eval(0.0, apart as f32, 0.0),
                });
                (0..3).for_each(|o| sums[o] += k * coefficients[(width * terms + slot) * 3 + o]);
            }
        }
        assert!(sums.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-4 * (1.0 + a.abs())), "{sums:?} {found:?}");
    }
}
