//! `target_scale`: targets are learned in another unit, and everything that comes back is in the unit of the data.

use okl::{Batch, Config, Learner};

const ROWS: usize = 90;

/// Rows of two features on a spiral, and two numbers about each: in the hundreds, and in the thousandths.
fn data() -> (Vec<f64>, Vec<[f64; 2]>) {
    let angle = |i: usize| i as f64 * 0.37;
    let x = (0..ROWS).flat_map(|i| [angle(i).sin() * 2.0, angle(i).cos() + 0.01 * i as f64]).collect();
    (x, (0..ROWS).map(|i| [300.0 + 70.0 * (2.0 * angle(i)).sin(), 0.004 * angle(i).cos()]).collect())
}

/// Targets of one or two outputs.
fn targets(y: &[[f64; 2]], outputs: usize) -> Vec<f64> {
    y.iter().flat_map(|y| y[..outputs].to_vec()).collect()
}

fn learner(settings: &str) -> Learner {
    Learner::new(Config::from_toml(settings).unwrap()).unwrap()
}

fn scale(shift: &[f64], factor: &[f64]) -> String {
    format!("\ntarget_scale = {{ fixed = {{ shift = {shift:?}, factor = {factor:?} }} }}")
}

fn predict(learner: &Learner, x: &[f64]) -> Vec<f64> {
    learner.predict(&Batch::of_f64(x, 2)).unwrap().values
}

const SETTINGS: [(usize, &str); 6] = [
    (1, "loss = 'squared'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.5'\nlambda = 0.001\noffset = true\nbudget = 'merge:20'"),
    (1, "loss = 'quantile:0.3'\noffset = true\nwarmup = 20"),
    (1, "loss = 'nu_epsilon:0.2'\nkernel = 'gaussian:0.5'\naverage = 'uniform'\nbudget = 'window:30'"),
    (2, "loss = 'squared'\noffset = true\nwarmup = 20"),
    (2, "loss = 'huber'\nkernel = 'matern32:0.7'\nstep = 'inverse_sqrt:0.5'\nlambda = 0.01\noperator = [1, 0.3, 0.3, 0.5]"),
    (2, "loss = 'absolute'\nscale = 'standard'\nwarmup = 1000"),
];

/// (shift, factor), one pair per output.
const UNITS: ([f64; 2], [f64; 2]) = ([291.3, -0.0007], [0.013, 311.0]);

#[test]
fn it_is_scaling_by_hand() {
    let (x, y) = data();
    for (outputs, settings) in SETTINGS {
        let (shift, factor) = (&UNITS.0[..outputs], &UNITS.1[..outputs]);
        let y = targets(&y, outputs);
        let there: Vec<f64> = y.iter().enumerate().map(|(i, y)| (y - shift[i % outputs]) * factor[i % outputs]).collect();
        let back =
            |z: &[f64]| z.iter().enumerate().map(|(i, z)| z / factor[i % outputs] + shift[i % outputs]).collect::<Vec<_>>();
        let (mut ours, mut by_hand) = (learner(&(settings.to_owned() + &scale(shift, factor))), learner(settings));
        let mut losses = [Vec::new(), Vec::new()];
        let found = steps(&mut ours, &x, &y, &mut losses[0]);
        let expected = steps(&mut by_hand, &x, &there, &mut losses[1]);
        assert_eq!(found, back(&expected), "{settings}");
        assert_eq!(losses[0], losses[1], "losses are in the unit of the scaled targets: {settings}");
        assert_eq!(predict(&ours, &x), back(&predict(&by_hand, &x)), "{settings}");
        assert_eq!((ours.theta(), ours.coefficients()), (by_hand.theta(), by_hand.coefficients()), "{settings}");
        let least = factor.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(ours.truncation_error(), by_hand.truncation_error() / least, "{settings}");
    }
}

/// The scores of every step.
fn steps(learner: &mut Learner, x: &[f64], y: &[f64], losses: &mut Vec<Option<f64>>) -> Vec<f64> {
    let mut scores = Vec::new();
    let each = |_: usize, step: &okl::engine::Outcome<'_>| {
        scores.extend_from_slice(step.scores);
        losses.push(step.loss);
    };
    learner.learn_with(&Batch::of_f64(x, 2).numbers(y), each).unwrap();
    scores
}

#[test]
fn cuts_and_files_change_nothing() {
    let (x, y) = data();
    for (outputs, settings) in SETTINGS {
        let settings = settings.to_owned() + &scale(&UNITS.0[..outputs], &UNITS.1[..outputs]);
        let y = targets(&y, outputs);
        let (mut whole, mut cut) = (learner(&settings), learner(&settings));
        let expected = whole.learn(&Batch::of_f64(&x, 2).numbers(&y)).unwrap().values;
        let mut found = Vec::new();
        for (x, y) in x.chunks(2 * 7).zip(y.chunks(outputs * 7)) {
            found.extend(cut.learn(&Batch::of_f64(x, 2).numbers(y)).unwrap().values);
            cut = Learner::from_bytes(&cut.to_bytes()).unwrap();
        }
        assert_eq!(found, expected, "{settings}");
        assert_eq!(cut.to_bytes(), whole.to_bytes(), "{settings}");
        if !whole.warming_up() && whole.members().len() == 1 {
            assert_eq!(predict(&whole.freeze().unwrap(), &x), predict(&whole, &x), "{settings}");
        }
    }
}

/// Under the squared loss f is linear in the targets, and a power of two multiplies exactly: such a factor changes no bit of what
/// comes back in the unit of the data.
#[test]
fn a_power_of_two_changes_nothing_under_the_squared_loss() {
    let (x, y) = data();
    let y = targets(&y, 2);
    let settings =
        "loss = 'squared'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.5'\nlambda = 0.001\noffset = true\nbudget = 'window:20'";
    let (mut plain, mut scaled) = (learner(settings), learner(&(settings.to_owned() + &scale(&[0.0; 2], &[0.125; 2]))));
    let batch = Batch::of_f64(&x, 2).numbers(&y);
    assert_eq!(plain.learn(&batch).unwrap(), scaled.learn(&batch).unwrap());
    assert_eq!(predict(&plain, &x), predict(&scaled, &x));
    assert_eq!(plain.predicting_coefficients(), scaled.predicting_coefficients());
    assert_eq!(plain.predicting_offset(), scaled.predicting_offset());
    assert!(plain.truncation_error() > 0.0);
    assert_eq!(plain.truncation_error(), scaled.truncation_error());
    assert_eq!(plain.norm2() / 64.0, scaled.norm2());
}

#[test]
fn predicting_coefficients_give_scores_in_the_unit_of_the_targets() {
    let (x, y) = data();
    let settings =
        "loss = 'squared'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.5'\nlambda = 0.001\noffset = true\naverage = 'uniform'";
    let mut learner = learner(&(settings.to_owned() + &scale(&UNITS.0, &UNITS.1)));
    learner.learn(&Batch::of_f64(&x, 2).numbers(&targets(&y, 2))).unwrap();
    let (centres, a, b) = (learner.centres(), learner.predicting_coefficients(), learner.predicting_offset());
    let k = |x: &[f64], c: &[f64]| (-0.5 * ((x[0] - c[0]).powi(2) + (x[1] - c[1]).powi(2))).exp();
    for (x, z) in x.chunks_exact(2).zip(predict(&learner, &x).chunks_exact(2)) {
        for o in 0..2 {
            let sum: f64 = centres.chunks_exact(2).zip(a.chunks_exact(2)).map(|(c, a)| k(x, c) * a[o]).sum();
            // Kernel values are single precision; sizes are those of the targets.
            let close = (b[o] + sum - z[o]).abs() * UNITS.1[o] < 1e-5;
            assert!(close, "output {o}: {} and {}", b[o] + sum, z[o]);
        }
    }
}

#[test]
fn a_model_without_examples_predicts_the_shift() {
    let fresh = learner(&("loss = 'squared'".to_owned() + &scale(&UNITS.0, &UNITS.1)));
    assert_eq!(predict(&fresh, &[0.0, 1.0]), UNITS.0);
    let loaded = Learner::from_bytes(&fresh.to_bytes()).unwrap();
    assert_eq!(predict(&loaded, &[0.0, 1.0]), UNITS.0);
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let refused = |settings: &str, shift: &str, factor: &str| {
        let text = format!("{settings}\ntarget_scale = {{ fixed = {{ shift = [{shift}], factor = [{factor}] }} }}");
        Learner::new(Config::from_toml(&text).unwrap()).unwrap_err().to_string()
    };
    let cases = [
        ("loss = 'hinge'", "0", "1", "this loss does not read numbers"),
        ("loss = 'softmax'", "0", "1", "this loss does not read numbers"),
        ("loss = 'nu_novelty'", "0", "1", "this loss does not read numbers"),
        ("loss = 'squared'", "0, 1", "1", "found 2 shifts and 1 factors"),
        ("loss = 'squared'", "", "", "found 0 shifts and 0 factors"),
        ("loss = 'quantile'", "0, 1", "1, 1", "there are 1 outputs here, found shifts and factors for 2"),
        ("loss = 'squared'\noperator = [1, 0, 0, 1]", "0", "1", "there are 2 outputs here, found shifts and factors for 1"),
        ("loss = 'squared'", "0, 1e301", "1, 1", "the shift of output 1 must be a finite number"),
        ("loss = 'squared'", "0", "0", "the factor of output 0 must be a number > 0"),
        ("loss = 'squared'", "0", "-1", "the factor of output 0 must be a number > 0"),
        ("loss = 'squared'", "0", "1e-101", "from 1e-100 to 1e100, found 1e-101"),
    ];
    for (settings, shift, factor, expected) in cases {
        let found = refused(settings, shift, factor);
        assert!(found.starts_with("target_scale: ") && found.contains(expected), "{settings}: {found}");
    }
    let not_finite = "target_scale = { fixed = { shift = [nan], factor = [1] } }";
    assert!(Config::from_toml(not_finite).unwrap_err().to_string().contains("finite"));
    let unknown = Config::from_toml("target_scale = 'standard'").unwrap_err().to_string();
    assert!(unknown.starts_with("target_scale: ") && unknown.contains("fixed"), "{unknown}");
    assert_eq!(Config::from_toml("target_scale = 'none'").unwrap(), Config::default());
}

#[test]
fn bad_targets_change_nothing() {
    let mut learner = learner(&("loss = 'squared'".to_owned() + &scale(&UNITS.0, &[1e90, 1.0])));
    let before = learner.to_bytes();
    let mut refused = |y: &[f64]| learner.learn(&Batch::of_f64(&[0.0; 4], 2).numbers(y)).unwrap_err().to_string();
    let beyond = "row 1, column target 0: found 1e250, expected a finite number after target_scale is applied; leave the row out";
    assert_eq!(refused(&[0.0, 0.0, 1e250, 0.0]), beyond);
    assert!(refused(&[0.0, f64::NAN, 0.0, 0.0]).starts_with("row 0, column target 1: found NaN"));
    // The scale says how many outputs there are.
    assert!(refused(&[0.0, 1.0]).contains("4, 2 per row"));
    assert_eq!(learner.to_bytes(), before);
}
