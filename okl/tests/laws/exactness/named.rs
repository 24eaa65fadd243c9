//! Cases that were wrong once.

use super::*;
use crate::support::cases;

/// A class that comes back has an index below the number of outputs: these stay.
#[test]
fn a_class_that_comes_back_keeps_the_others() {
    let mut learner = learner("loss = 'softmax'\nkernel = 'linear'\nform = 'terms'\nclasses = ['a', 'b', 'c']");
    let scores = learner.learn(&Batch::new(&[1.0, 2.0], 1).labels(&["b".into(), "a".into()])).unwrap();
    assert_eq!((learner.outputs(), scores.outputs, learner.coefficients().len()), (3, 3, 6));
}

/// Several planes of kernel values: none before the first term, and a workspace that is larger than they need.
#[test]
fn a_sum_of_operator_kernels_predicts_and_learns_blocks() {
    let sum = "[{ kernel = 'linear', operator = [1.0] }, { kernel = 'gaussian:0.5', operator = [0.5] }]";
    let mut learner = learner(&format!("loss = 'squared'\noperator = {sum}\nstep = 'constant:0.1'"));
    learner.learn(&Batch::new(&[0.5; 90], 1)).unwrap();
    assert_eq!(learner.predict(&Batch::new(&[1.0], 1)).unwrap().values, [0.0]);
    learner.learn(&Batch::new(&[0.5; 40], 1).numbers(&[1.0; 40])).unwrap();
    assert_eq!(learner.terms(), 40);
}

/// A batch without targets has no width; the examples of the warm-up keep theirs.
#[test]
fn a_batch_without_targets_leaves_the_warm_up_alone() {
    let mut learner = learner("loss = 'hinge'\nscale = 'standard'");
    learner.learn(&Batch::new(&[1.0, 2.0], 1).numbers(&[1.0, -1.0])).unwrap();
    let before = learner.to_bytes();
    learner.learn(&Batch::new(&[3.0], 1)).unwrap();
    assert_eq!(learner.to_bytes(), before);
}

/// In a warm-up, too, a class exists from the row that names it: what is learned again after a load does not know it earlier.
#[test]
fn a_class_that_comes_late_in_a_warm_up_survives_a_save() {
    let mut learner = learner("loss = 'softmax'\nkernel = 'gaussian'\nwarmup = 64");
    let labels = ["a", "b", "a", "b", "b", "late"].map(Into::into);
    learner.learn(&Batch::new(&[0.0, 1.0, 0.1, 1.1, 1.2, 3.0], 1).labels(&labels)).unwrap();
    assert_eq!(Learner::from_bytes(&learner.to_bytes()).unwrap().coefficients(), learner.coefficients());
}

/// The zero row is the zero function under a linear kernel: nothing can be projected onto it.
#[test]
fn a_transfer_onto_the_zero_row_stays_finite() {
    let mut learner = learner("loss = 'squared'\nkernel = 'linear'\nbudget = 'transfer:1'\nstep = 'constant:0.1'");
    learner.learn(&Batch::new(&[1.0, 0.0, 2.0], 1).numbers(&[1.0, 1.0, 1.0])).unwrap();
    assert!(learner.coefficients().iter().all(|a| a.is_finite()));
    assert!(learner.truncation_error() > 0.0);
}

/// So is every row under a kernel whose weight is nothing in single precision: nothing can be merged.
#[test]
fn a_merge_of_zero_functions_stays_finite() {
    // The smallest weight that is accepted: products of values vanish.
    let kernel = "{ scaled = { weight = 1.2e-38, of = 'gaussian:1' } }";
    let mut learner = learner(&format!("loss = 'squared'\nkernel = {kernel}\nbudget = 'merge:2'\nstep = 'constant:0.1'"));
    learner.learn(&Batch::new(&[1.0, 0.0, 2.0, 3.0], 1).numbers(&[1.0; 4])).unwrap();
    assert!(learner.coefficients().iter().all(|a| a.is_finite()));
}

/// The Forgetron's spent damage may be negative: a term that f overshoots is dropped at a gain.
#[test]
fn a_forgetron_with_negative_damage_survives_a_save() {
    for seed in 0..20 {
        let mut learner =
            learner("loss = 'perceptron'\nkernel = 'gaussian:0.05'\nbudget = 'forgetron:2'\nstep = 'constant:0.3'\nlambda = 0");
        let mut random = cases::Random(seed);
        for _ in 0..100 {
            let x = [random.unit() as f32 * 2.0 + 2.0, random.unit() as f32 * 2.0 - 1.0];
            let y = if (x[1] > 0.0) != random.often(0.15) { 1.0 } else { -1.0 };
            // A heavy example on top of a light one makes f overshoot the light one.
            let weight = if random.often(0.5) { 1.0 } else { 10.0 };
            learner.learn(&Batch::new(&x, 2).numbers(&[y]).weights(&[weight])).unwrap();
        }
        survives_a_save(&learner);
    }
}

fn survives_a_save(learner: &Learner) {
    assert_eq!(Learner::from_bytes(&learner.to_bytes()).unwrap().to_bytes(), learner.to_bytes());
}

/// Steps that are too large drive f away; what is left is finite all the same, certificates included, and can be saved.
#[test]
fn what_diverges_survives_a_save() {
    let mut learner = learner("loss = 'squared'\nkernel = 'linear'\nstep = 'theorem2'\nbudget = 'unlimited'");
    for i in 0..400u32 {
        let x = [1.0 + (i % 7) as f32, (i % 5) as f32];
        learner.learn(&Batch::new(&x, 2).numbers(&[f64::from(i % 3)])).unwrap();
        survives_a_save(&learner);
    }
    assert!(learner.skipped() > 0 && learner.norm2() > 1e60);
}

/// Weights multiply: the sums of the certificates and the tracker's threshold have to bear the largest.
#[test]
fn enormous_weights_survive_a_save() {
    for loss in ["'nu_novelty:0.5'\nthreshold = 'tracker:0.05'", "'nu_novelty:0.5'", "'nu_epsilon:0.5'", "'nu_hinge:0.5'"] {
        for weight in [1e6, 1e12, okl::batch::LARGEST] {
            let mut learner = learner(&format!("loss = {loss}\nkernel = 'gaussian:1'\nwarmup = 2"));
            for i in 0..40usize {
                let weight = if i < 5 { 1.0 } else { weight };
                let y = [if loss.contains("hinge") { 1.0 } else { 0.0 }];
                learner.learn(&Batch::new(&[[0.0, 5.0][i % 2]], 1).weights(&[weight]).numbers(&y)).unwrap();
                survives_a_save(&learner);
            }
        }
    }
}

/// alpha^T J alpha of a singular J may round to less than nothing; the certificates do not take its root.
#[test]
fn a_transfer_under_a_singular_operator_stays_finite() {
    let tenths: Vec<String> = (0..9).map(|_| "0.1".to_string()).collect();
    for seed in 0..40 {
        let mut learner = learner(&format!(
            "loss = 'softmax'\nkernel = 'gaussian:1'\nbudget = 'transfer:2'\nclasses = [0, 1, 2]\nstep = 'constant:300'\noperator = [{}]",
            tenths.join(",")
        ));
        let mut random = cases::Random(seed);
        for _ in 0..60 {
            let x = [random.unit() as f32 * 4.0];
            learner.learn(&Batch::new(&x, 1).labels(&[okl::Label::Int(random.below(3) as i64)])).unwrap();
            assert!(learner.truncation_error() >= 0.0, "{}", learner.truncation_error());
        }
    }
}

/// Orthogonal rows share nothing: the new term receives nothing, and keeps what is its own.
#[test]
fn a_transfer_between_orthogonal_rows_is_a_drop() {
    let mut learner = learner("loss = 'squared'\nkernel = 'linear'\nbudget = 'transfer:1'\nstep = 'constant:0.1'\nlambda = 0");
    learner.learn(&Batch::new(&[1.0, 0.0, 0.0, 1.0], 2).numbers(&[1.0, 1.0])).unwrap();
    assert_eq!((learner.coefficients(), learner.centres()), (vec![0.1], vec![0.0, 1.0]));
    assert_eq!(learner.truncation_error(), 0.1);
}

/// eta lambda > 1: the scale alternates in sign, and writing it out leaves -0 in slots that no term has used yet.
#[test]
fn a_negative_scale_leaves_nothing_in_unused_slots() {
    let rows: Vec<f32> = (0..60).map(|i| ((i * 7) % 11) as f32 - 5.0).collect();
    let labels: Vec<Label> = (0..60).map(|i| Label::Int((i * i) % 3)).collect();
    let learn = |learner: &mut Learner, range: std::ops::Range<usize>| {
        learner.learn(&Batch::new(&rows[range.clone()], 1).labels(&labels[range])).unwrap();
    };
    for (eta, stop) in (22..50).step_by(4).flat_map(|eta| (1..60).map(move |stop| (eta, stop))) {
        let text = format!(
            "loss = 'max_margin'\nkernel = 'linear'\nstep = 'constant:{eta}'\nlambda = 0.05\nallow_overshoot = true\naverage = 'uniform'\nbudget = 'unlimited'\nclasses = [0, 1, 2]"
        );
        let mut whole = Learner::new(plain(&text).unwrap()).unwrap();
        let mut half = whole.clone();
        learn(&mut whole, 0..60);
        learn(&mut half, 0..stop);
        let mut resumed = Learner::from_bytes(&half.to_bytes()).unwrap();
        learn(&mut resumed, stop..60);
        assert!(resumed.to_bytes() == whole.to_bytes(), "eta {eta}, saved and loaded after {stop} rows");
    }
}

/// The rows of [`an_id_of_another_input_is_taken_over_whatever_the_cut`] in a window of `terms`, each of which is written: how many
/// take an id over, and what is left of the terms.
fn ids_in_a_window(x: &[f32], ids: &[u64], terms: usize) -> (u64, usize) {
    let (mut window, mut taken_over) = (std::collections::VecDeque::new(), 0);
    for (&x, &id) in x.iter().zip(ids) {
        match window.iter_mut().find(|(_, name)| *name == Some(id)) {
            Some((other, _)) if *other == x => continue,
            Some((_, name)) => (*name, taken_over) = (None, taken_over + 1),
            None => {}
        }
        window.push_back((x, Some(id)));
        if window.len() > terms {
            window.pop_front();
        }
    }
    (taken_over, window.len())
}

/// A row whose id names another input takes the id over; the old term stays, without a name. Nothing depends on the cut, on
/// the warm-up, or on what the budget has dropped in between. In a window the count is that of a plain list of rows.
#[test]
fn an_id_of_another_input_is_taken_over_whatever_the_cut() {
    let rows = 120;
    // Of five rows one is often a revisit, with the features it had before.
    let x: Vec<f32> = (0..rows).map(|i| (if i % 5 == 3 { i / 50 } else { (i * 37) % 23 }) as f32 / 8.0).collect();
    let y: Vec<f64> = x.iter().map(|x| if x.fract() > 0.4 { 1.0 } else { -1.0 }).collect();
    let ids: Vec<u64> = (0..rows as u64).map(|i| [7, 8, 8, 3, i % 25][i as usize % 5]).collect();
    for (budget, window) in
        [("window:1", 1), ("window:9", 9), ("unlimited", rows), ("merge:6", 0), ("transfer:6", 0), ("age:10", 0)]
    {
        for rest in ["step = 'constant:0.5'\nlambda = 0.01", "step = 'auto'\nlambda = 'auto'\nwarmup = 40\nscale = 'standard'"] {
            let run = |cut: usize, saved: usize| {
                let mut learner = learner(&format!("loss = 'logistic'\nkernel = 'gaussian:1'\nbudget = '{budget}'\n{rest}"));
                for from in (0..rows).step_by(cut) {
                    let to = rows.min(from + cut);
                    learner.learn(&Batch::new(&x[from..to], 1).numbers(&y[from..to]).ids(&ids[from..to])).unwrap();
                    if (from..to).contains(&saved) {
                        learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
                    }
                }
                (learner.health().ids_taken_over, learner.terms(), learner.to_bytes())
            };
            let expected = run(1, rows);
            assert!(expected.0 > 0, "{budget}, {rest}");
            if window > 0 {
                assert_eq!((expected.0, expected.1), ids_in_a_window(&x, &ids, window), "{budget}, {rest}");
            }
            for (cut, saved) in [(rows, rows), (1, 30), (7, 50), (33, 33)] {
                assert!(run(cut, saved) == expected, "{budget}, {rest}, cut {cut}, saved at {saved}");
            }
        }
    }
}

/// eta lambda > 1 changes the sign of f in every step. The weight of a feature that is 0 so far stays +0, as that of a feature which the
/// learner does not know yet.
#[test]
fn a_feature_that_comes_late_has_the_same_zero() {
    let narrow: Vec<f32> = (0..200).map(|i| 0.1 + 0.01 * (i % 7) as f32).collect();
    let wide: Vec<f32> = narrow.iter().flat_map(|x| [*x, 0.0]).collect();
    for lambda in [0.04, 0.05, 0.06] {
        let [mut late, mut early] = [(); 2].map(|()| {
            learner(&format!(
                "loss = 'squared'\nkernel = 'linear'\nform = 'weights'\nstep = 'constant:30'\nlambda = {lambda}\n\
                 allow_overshoot = true\naverage = 'uniform'\nanchor = 'none'"
            ))
        });
        for i in 0..200 {
            late.learn(&Batch::new(&narrow[i..=i], 1).numbers(&[1.0])).unwrap();
            early.learn(&Batch::new(&wide[2 * i..2 * i + 2], 2).numbers(&[1.0])).unwrap();
            let mut widened = Learner::from_bytes(&late.to_bytes()).unwrap();
            widened.widen(2).unwrap();
            assert_eq!(widened.to_bytes(), early.to_bytes(), "lambda {lambda}, row {i}");
        }
    }
}
