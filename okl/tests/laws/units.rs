//! Units that follow the stream: the rule is at the head of `learner/units.rs`.

use crate::support::cases::Random;
use okl::config::Scale;
use okl::{Batch, Config, Learner};

/// Two columns of noise, and the sine of the first; with noise of variance 0.04; from row `from` on, the first column is in a unit that is smaller by `times`.
fn stream(rows: usize, from: usize, times: f64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random(9);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for i in 0..rows {
        let (a, b) = (4.0 * random.unit(), random.unit());
        x.extend([if i < from { a } else { times * a }, b]);
        y.push(libm::sin(2.0 * a) + 0.7 * (random.unit() - 0.5));
    }
    (x, y)
}

fn learner(settings: &str) -> Learner {
    Learner::new(Config::from_toml(&format!("loss = 'squared'\n{settings}")).unwrap()).unwrap()
}

/// One head with a given step.
const PLAIN: &str = "step = 'constant:0.5'\nlambda = 1e-5\nbudget = 'merge:60'\n";

/// The mean squared error of the rows from `first` on.
fn error(learner: &mut Learner, (x, y): &(Vec<f64>, Vec<f64>), first: usize) -> f64 {
    let scores = learner.learn(&Batch::of_f64(x, 2).numbers(y)).unwrap();
    let errors = scores.values.iter().zip(y).skip(first).map(|(z, y)| (z - y) * (z - y));
    errors.sum::<f64>() / (y.len() - first) as f64
}

#[test]
fn a_unit_that_changes_is_found_again() {
    let (before, after) = (stream(1000, 1000, 1.0), stream(1500, 1000, 1000.0));
    let old = error(&mut learner(PLAIN), &before, 700);
    let mut follows = learner(PLAIN);
    let new = error(&mut follows, &after, 1400);
    assert!(follows.unit_changes().is_some_and(|(changes, at)| changes > 0 && at <= 1280), "{:?}", follows.unit_changes());
    let mut frozen = learner(&format!("{PLAIN}scale = 'standard'"));
    let lost = error(&mut frozen, &after, 1400);
    assert!(new < 2.0 * old && lost > 5.0 * old, "{old} before, {new} after, {lost} with frozen units");
    assert_eq!(frozen.unit_changes(), None);
}

/// Columns of the exponentials of normal numbers, in units from 1e-4 to 1e5: the classes depend on the product of the first two. Without
/// logarithms the largest values take all the range of a column.
#[test]
fn logarithms_help_columns_with_heavy_tails() {
    let mut random = Random(41);
    let mut normal = || (-2.0 * libm::log(random.unit().max(1e-9))).sqrt() * libm::cos(std::f64::consts::TAU * random.unit());
    let z: Vec<f64> = (0..4 * 2000).map(|_| normal()).collect();
    let unit = [1.0, 1e-4, 1e5, 30.0];
    let x: Vec<f64> = z.iter().enumerate().map(|(i, z)| unit[i % 4] * libm::exp(2.5 * z)).collect();
    let y: Vec<f64> = z.chunks(4).map(|z| if z[0] + z[1] > 0.0 { 1.0 } else { -1.0 }).collect();
    let wrong = |settings: &str, x: &[f64]| {
        let settings = format!(
            "loss = 'hinge'\nkernel = 'gaussian'\nstep = 'constant:0.5'\nlambda = 1e-4\nbudget = 'merge:200'\n{settings}"
        );
        let mut learner = Learner::new(Config::from_toml(&settings).unwrap()).unwrap();
        let scores = learner.learn(&Batch::of_f64(x, 4).numbers(&y)).unwrap().values;
        scores.iter().zip(&y).skip(1000).filter(|(z, y)| **z * **y <= 0.0).count()
    };
    let (as_they_are, logarithms) = (wrong("scale = 'standard'", &x), wrong("scale = 'log'", &x));
    // The same rows on the scale on which the classes are separated by a plane.
    let known = wrong("scale = 'standard'", &z);
    assert!(
        known < 60 && logarithms < 60 && as_they_are > 150,
        "{as_they_are} as they are, {logarithms} with log, {known} known"
    );
    // Zeros stay zero and sparse where nothing is subtracted.
    assert!(Config::from_toml("scale = 'log'\nanchor = 'none'").unwrap().keeps_zeros());
}

/// A column that is quiet in the first rows.
#[test]
fn a_quiet_column_wakes_up() {
    let mut random = Random(3);
    let a: Vec<f64> = (0..1600).map(|i| random.unit() * if i < 300 { 1.0 } else { 50.0 }).collect();
    let x: Vec<f64> = a.iter().flat_map(|a| [*a, random.unit()]).collect();
    let y: Vec<f64> = a.iter().map(|a| libm::sin(a / 5.0)).collect();
    let of = |scale: &str| error(&mut learner(&format!("{PLAIN}scale = '{scale}'")), &(x.clone(), y.clone()), 1200);
    // The variance of the targets is 0.5.
    assert!(of("auto") < 0.015 && of("standard") > 0.3, "{} {}", of("auto"), of("standard"));
}

/// A column that is constant in the warm-up has no unit. It gets one when it varies, however small its values are.
#[test]
fn a_constant_column_gets_a_unit_when_it_varies() {
    let (rows, from) = (2000, 400);
    let as_usual = error(&mut learner(PLAIN), &stream(rows, rows, 1.0), 1500);
    for (times, level) in [(1e-4, 0.0), (1e-3, 0.0), (0.05, 0.0), (1e-3, 10.0)] {
        let (mut x, y) = stream(rows, 0, times);
        x.iter_mut().step_by(2).for_each(|a| *a += level);
        x.iter_mut().step_by(2).take(from).for_each(|a| *a = level);
        let mut learner = learner(PLAIN);
        let found = error(&mut learner, &(x.clone(), y.clone()), 1500);
        assert!(found < 1.5 * as_usual, "{times} {level}: {found}, {as_usual} as usual");
    }
    // An indicator that is rarely 1 keeps the unit 1: in a smaller one, its ones would be far from all other rows.
    let (mut x, y) = stream(rows, 0, 1.0);
    x.iter_mut().step_by(2).enumerate().for_each(|(i, a)| *a = if i >= from && i % 50 == 0 { 1.0 } else { 0.0 });
    let mut learner = learner(PLAIN);
    learner.learn(&Batch::of_f64(&x, 2).numbers(&y)).unwrap();
    assert_eq!(learner.frame().1[0], 1.0);
}

/// The units of stationary columns of several distributions do not change, nor does one value of 1e9 change them, wherever it is.
#[test]
fn stationary_columns_keep_their_units() {
    for odd in [None, Some(100), Some(700)] {
        let mut random = Random(17);
        let mut row = |i: usize| {
            let u = random.unit().max(1e-9);
            let normal = (-2.0 * libm::log(u)).sqrt() * libm::cos(std::f64::consts::TAU * random.unit());
            let odd = if odd == Some(i) { 1e9 } else { 0.0 };
            [normal + odd, libm::exp(normal), normal / u.sqrt(), f64::from(u8::from(u < 0.03)), u * u]
        };
        let x: Vec<f64> = (0..4000).flat_map(&mut row).collect();
        let y: Vec<f64> = x.chunks(5).map(|row| row[4]).collect();
        let mut learner = learner(&PLAIN.replace("merge:60", "window:5"));
        learner.learn(&Batch::of_f64(&x, 5).numbers(&y)).unwrap();
        assert_eq!(learner.unit_changes(), Some((0, 0)), "{odd:?}");
        let Scale::Fixed { factor, .. } = &learner.config().scale else { panic!() };
        assert!(factor[0] > 0.5 && factor[0] < 2.0, "{odd:?}: {factor:?}");
    }
}

/// One value of 1e9 among the first 256 rows spoils neither the unit nor the model.
#[test]
fn one_far_cell_among_the_first_rows_does_not_spoil_the_model() {
    let (x, y) = stream(1500, 1500, 1.0);
    let mut odd = x.clone();
    odd[2 * 100] = 1e9;
    let of = |scale: &str, x: &[f64]| error(&mut learner(&format!("{PLAIN}scale = '{scale}'")), &(x.to_vec(), y.clone()), 1000);
    let (without, with, frozen) = (of("auto", &x), of("auto", &odd), of("standard", &odd));
    // The first column does not count where it is a constant; its sine has a variance of 0.5.
    assert!(with < 1.2 * without && frozen > 5.0 * without, "{without} without it, {with} with it, {frozen} with frozen units");
}

/// Events lie inside calls, between them, and at saves; with a bank, and with the copy that `budget = auto` compares.
#[test]
fn the_cut_does_not_matter_when_units_change() {
    let (x, y) = stream(400, 150, 1000.0);
    for settings in [
        "warmup = 32\nbudget = 'merge:12'\nmemory = '1MB'",
        "warmup = 32\nbudget = 'merge:12'\nstep = 'smd:eta=0.1'\nlambda = 1e-3",
    ] {
        let run = |cut: usize, saved: bool| {
            let (mut learner, mut seen) = (learner(settings), Vec::new());
            for (x, y) in x.chunks(2 * cut).zip(y.chunks(cut)) {
                seen.extend(learner.learn(&Batch::of_f64(x, 2).numbers(y)).unwrap().values.iter().map(|z| z.to_bits()));
                if saved {
                    assert_eq!(learner.publish().to_bytes(), learner.to_bytes());
                    learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
                }
            }
            assert!(learner.unit_changes().unwrap().0 > 0);
            (seen, learner.to_bytes())
        };
        let whole = run(400, false);
        for (cut, saved) in [(1, false), (7, true), (97, true)] {
            assert!(run(cut, saved) == whole, "cut {cut}, {settings}");
        }
    }
}

/// After a change |f|² is that of the terms in the new units, nothing is lost yet, and the bounds hold from there.
#[test]
fn norms_are_computed_again_and_certificates_begin_anew() {
    let (x, y) = stream(192, 100, 1000.0);
    let mut learner = learner("gamma = 'median'\nstep = 'smd:eta=0.1'\nlambda = 1e-3\nwarmup = 32\nbudget = 'window:80'");
    let at = |learner: &mut Learner, rows: std::ops::Range<usize>| {
        learner.learn(&Batch::of_f64(&x[2 * rows.start..2 * rows.end], 2).numbers(&y[rows])).unwrap();
    };
    at(&mut learner, 0..159);
    assert!(learner.truncation_error() > 0.0 && learner.unit_changes() == Some((0, 0)));
    at(&mut learner, 159..160);
    assert_eq!(learner.unit_changes(), Some((1, 160)));
    assert_eq!(learner.truncation_error(), 0.0);
    let Scale::Fixed { shift, factor, .. } = &learner.config().scale else { panic!() };
    let gamma = match &**learner.config().kernel.given().unwrap() {
        okl::config::KernelRule::Gaussian { gamma: okl::config::Gamma::Value(gamma) } => *gamma,
        other => panic!("{other:?}"),
    };
    // Of the last 80 rows, the last 60 have the new unit. They were clipped and have lost their coefficients.
    let scaled: Vec<[f64; 2]> = (80..160).map(|i| [0, 1].map(|j| (x[2 * i + j] - shift[j]) * factor[j])).collect();
    let alpha = learner.coefficients();
    let slots: Vec<usize> = (0..80).map(|slot| learner.engine().terms().birth(slot).unwrap() as usize - 81).collect();
    let k = |a: &[f64; 2], b: &[f64; 2]| (-gamma * ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2))).exp();
    let pair = |i: usize, j: usize| alpha[i] * alpha[j] * k(&scaled[slots[i]], &scaled[slots[j]]);
    let norm2: f64 = (0..80).flat_map(|i| (0..80).map(move |j| (i, j))).map(|(i, j)| pair(i, j)).sum();
    assert_eq!(alpha.iter().filter(|alpha| **alpha != 0.0).count(), 20);
    assert!((learner.norm2() - norm2).abs() < 1e-5 * norm2, "{} {norm2}", learner.norm2());
    at(&mut learner, 160..192);
    assert!(learner.truncation_error() > 0.0);
}

/// A row that comes again after a change is the row of its term.
#[test]
fn ids_compare_unscaled_rows() {
    let (x, y) = stream(256, 100, 1000.0);
    let ids: Vec<u64> = (0..256).collect();
    let mut learner = learner("step = 'constant:0.3'\nlambda = 1e-4\nwarmup = 32\nbudget = 'unlimited'");
    learner.learn(&Batch::of_f64(&x, 2).numbers(&y).ids(&ids)).unwrap();
    assert!(learner.unit_changes().unwrap().0 > 0 && learner.terms() == 256);
    learner.learn(&Batch::of_f64(&x, 2).numbers(&y).ids(&ids)).unwrap();
    assert_eq!((learner.terms(), learner.health().ids_taken_over), (256, 0));
}

/// A value of 1e6 is an alert after quiet rows, a larger or smaller unit, or another level.
#[test]
fn a_far_value_is_novel_after_any_history() {
    let histories: [fn(usize, f64) -> f64; 4] = [
        |i, u| if i < 300 { u } else { 50.0 * u },
        |i, u| if i < 1000 { u } else { 1000.0 * u },
        |i, u| if i < 1000 { u } else { 0.001 * u },
        |i, u| if i < 1000 { u } else { 700.0 + u },
    ];
    for (which, history) in histories.iter().enumerate() {
        let mut random = Random(5);
        let x: Vec<f64> = (0..2500).flat_map(|i| [history(i, random.unit()), random.unit()]).collect();
        let mut detector = Learner::new(Config::from_toml("loss = 'nu_novelty:0.02'\nbudget = 'merge:100'").unwrap()).unwrap();
        detector.learn(&Batch::of_f64(&x, 2)).unwrap();
        let mut alert = None;
        let far = Batch::of_f64(&[1e6, 0.5], 2).known(&[false]);
        detector.learn_with(&far, |_, outcome| alert = outcome.outside).unwrap();
        assert_eq!(alert, Some(true), "history {which}");
    }
}

/// A plain copy has fixed units, and so has a learner that is built with them.
#[test]
fn frozen_units_stay() {
    let (x, y) = stream(600, 100, 1000.0);
    let mut whole = learner("warmup = 32\nbudget = 'merge:12'");
    whole.learn(&Batch::of_f64(&x[..160], 2).numbers(&y[..80])).unwrap();
    let mut plain = whole.freeze().unwrap();
    plain.learn(&Batch::of_f64(&x[160..], 2).numbers(&y[80..])).unwrap();
    assert_eq!(plain.unit_changes(), None);
    assert!(plain.config().bytes_per_term(2, 1) < whole.config().bytes_per_term(2, 1));
    Learner::from_bytes(&plain.to_bytes()).unwrap();
}

/// A member that is frozen after a change of units keeps what its certificates do not count: where they begin, and that terms were removed.
#[test]
fn a_frozen_member_knows_where_its_certificates_begin() {
    let (x, y) = stream(600, 100, 1000.0);
    let mut whole = learner("warmup = 32\nbudget = 'merge:5000'");
    whole.learn(&Batch::of_f64(&x[..160], 2).numbers(&y[..80])).unwrap();
    let early = whole.freeze().unwrap();
    assert_eq!((early.frozen_after(), early.certified_since(), early.has_all_terms()), (Some(80), 0, true));
    whole.learn(&Batch::of_f64(&x[160..], 2).numbers(&y[80..])).unwrap();
    let (_, at) = whole.unit_changes().unwrap();
    assert!(at > 80 && whole.frozen_after().is_none() && !whole.has_all_terms());
    let plain = Learner::from_bytes(&whole.freeze().unwrap().to_bytes()).unwrap();
    assert_eq!((plain.frozen_after(), plain.certified_since(), plain.has_all_terms()), (Some(600), at, false));
    // A copy of a frozen member is still one.
    let copy = plain.freeze().unwrap();
    assert_eq!((copy.frozen_after(), copy.certified_since(), copy.has_all_terms()), (Some(600), at, false));
}

/// A column that jumps is not called a drifting one, neither before its unit is found again nor after; one that drifts is.
#[test]
fn a_jump_is_not_said_to_be_a_drift() {
    let said = |rows: usize, level: &dyn Fn(usize) -> f64| {
        let mut random = Random(5);
        let x: Vec<f64> = (0..rows).flat_map(|i| [random.unit() + level(i), random.unit()]).collect();
        let y: Vec<f64> = x.chunks(2).map(|x| x[1]).collect();
        let mut learner = learner(PLAIN);
        learner.learn(&Batch::of_f64(&x, 2).numbers(&y)).unwrap();
        learner.health().findings(|column| column.to_string())
    };
    let jump = |i: usize| if i < 1500 { 0.0 } else { 1e4 };
    let before = said(1900, &jump);
    assert!(
        before.len() == 1
            && before[0].contains("okl usually finds a new level of a column if the column stays there for 512 examples and varies there; it does not"),
        "{before:?}"
    );
    let after = said(2200, &jump);
    assert!(
        after.len() == 1 && after[0].contains("; units of columns were found again after example 2,048; if values"),
        "{after:?}"
    );
    assert_eq!(said(4000, &jump), [""; 0]);
    let date = said(4000, &|i| i as f64);
    assert!(date.len() == 1 && date[0].contains("it does not follow a level that moves on"), "{date:?}");
    // A column that wanders within bounds is not said to follow the stream either.
    let wave = said(4000, &|i| if i < 256 { 0.0 } else { 200.0 + 50.0 * (i as f64 / 300.0).sin() });
    assert!(wave.len() == 1 && wave[0].contains("it does not follow a level that moves on"), "{wave:?}");
}

/// Units also follow where no step is taken, because targets are too large. Such a learner survives a save.
#[test]
fn units_that_change_while_no_step_is_taken_survive_a_save() {
    let (x, y) = stream(100, 40, 1000.0);
    let y: Vec<f64> = y.iter().map(|y| 1e200 * y).collect();
    let mut learner = learner("step = 'inverse_sqrt:0.9'\nlambda = 1e-3\nbudget = 'window:20'\nwarmup = 16");
    learner.learn(&Batch::of_f64(&x, 2).numbers(&y)).unwrap();
    assert!(learner.examples() == 0 && learner.unit_changes().is_some_and(|(changes, _)| changes > 0));
    assert!(Learner::from_bytes(&learner.to_bytes()).unwrap().to_bytes() == learner.to_bytes());
}

/// A column of zeros and ones of which ones are rare in the first rows: a one is clipped, but kernels tell it from a zero. So there is no finding.
/// Other clipped values differ: then there is one, with the names of all columns concerned. The counts do not depend on cut and save.
#[test]
fn a_clipped_column_of_two_values_is_no_finding() {
    let learned = |value: &dyn Fn(usize, f64) -> f64, cut: usize| {
        let mut random = Random(7);
        // The columns 1 and 2 are 1 once in the first 256 rows, and in every tenth row afterwards.
        let mut one = |i: usize| {
            let rare = if i < 256 { i == 40 } else { i % 10 == 3 };
            if rare { value(i, random.unit()) } else { 0.0 }
        };
        let x: Vec<f64> = (0..2500).flat_map(|i| [libm::sin(i as f64 * 0.7), one(i), one(i)]).collect();
        let y: Vec<f64> = x.chunks(3).map(|x| x[0] + x[1].min(1.0)).collect();
        let mut learner = learner(&format!("kernel = 'gaussian:0.5'\n{PLAIN}scale = 'standard'"));
        for (x, y) in x.chunks(3 * cut).zip(y.chunks(cut)) {
            learner.learn(&Batch::of_f64(x, 3).numbers(y)).unwrap();
            if cut < 2500 {
                learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
            }
        }
        learner
    };
    let found = |learner: &Learner| learner.health().findings(|column| format!("c{column}"));
    let two = learned(&|_, _| 1.0, 2500);
    let health = two.health();
    assert!(health.clipped_columns.len() == 2 && health.clipped_columns.iter().all(|c| c.recent_share > 0.08 && c.one_value));
    assert_eq!(found(&two), [""; 0]);
    assert_eq!(learned(&|_, _| 1.0, 999).health(), health);
    let many = learned(&|i, u| if i == 40 { 1.0 } else { 1.0 + u }, 2500);
    let said = found(&many);
    assert!(
        said.len() == 1
            && said[0].contains("column c1: 10 % of the last")
            && said[0].contains("(also column c2, with other figures)"),
        "{said:?}"
    );
    assert!(!said[0].contains("constant"), "{said:?}");
}
