//! Rows in double precision: centred and scaled as they are, and rounded once after that.

use okl::{Batch, Config, Learner};

/// Times within ten minutes, in the unit given, and a wave of three minutes over them.
fn times(unit: f64) -> (Vec<f64>, Vec<f64>) {
    let seconds = |i: usize| (i * 7919 % 6007) as f64 / 10.0;
    ((0..2000).map(|i| (1.7e9 + seconds(i)) * unit).collect(), (0..2000).map(|i| (seconds(i) / 30.0).sin()).collect())
}

/// The share of the variance that a second look at the rows explains, after three passes.
fn r2(settings: &str, x: &[f64], y: &[f64]) -> f64 {
    let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
    for _ in 0..3 {
        learner.learn(&Batch::of_f64(x, 1).numbers(y)).unwrap();
    }
    let found = learner.predict(&Batch::of_f64(x, 1)).unwrap().values;
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let square = |pairs: &mut dyn Iterator<Item = (f64, f64)>| pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let residual = square(&mut found.iter().copied().zip(y.iter().copied()));
    1.0 - residual / square(&mut y.iter().map(|y| (*y, mean)))
}

#[test]
fn times_since_1970_keep_their_digits() {
    for unit in [1.0, 1e3] {
        let (x, y) = times(unit);
        // Nothing given: standardised. A width given: centred on the first row.
        let width = 1e-3 / (unit * unit);
        let given = format!("loss = 'squared'\nkernel = 'gaussian:{width}'\nstep = 'constant:0.5'\nlambda = 0\nscale = 'none'");
        for settings in ["loss = 'squared'\noffset = true", &given] {
            let found = r2(settings, &x, &y);
            assert!(found > 0.999, "{settings}: {found}");
        }
    }
}

#[test]
fn centres_are_the_rows_of_the_data() {
    let (x, y) = times(1.0);
    let settings = "loss = 'squared'\nkernel = 'gaussian:0.001'\nstep = 'constant:0.5'\nlambda = 0\nbudget = 'unlimited'";
    let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
    learner.learn(&Batch::of_f64(&x, 1).numbers(&y)).unwrap();
    // The distance from the first row is held in single precision: ten minutes to 600 * 2^-24 seconds.
    // The first target is 0, which is the score: it leaves no term.
    assert_eq!(learner.centres().len(), x.len() - 1);
    learner.centres().iter().zip(&x[1..]).for_each(|(centre, x)| assert!((centre - x).abs() <= 4e-5, "{centre} {x}"));
}

#[test]
fn the_largest_number_is_the_same_in_both_precisions() {
    let mut learner = Learner::new(Config::default()).unwrap();
    let mut refused = |batch: Batch<'_>| learner.learn(&batch.numbers(&[1.0])).err().map(|e| e.to_string());
    assert_eq!(refused(Batch::of_f64(&[1e15], 1)), None);
    assert_eq!(
        refused(Batch::of_f64(&[1.0000000001e15], 1)).unwrap(),
        "row 0, column 0: found 1.0000000001e15, expected a finite number below 1e15; rescale this feature"
    );
    assert!(refused(Batch::of_f64(&[f64::NAN], 1)).is_some() && refused(Batch::new(&[1.1e15], 1)).is_some());
}

/// Columns of very different size; the small one decides.
fn columns() -> (Vec<f64>, Vec<f64>) {
    let column = |i: usize, prime: usize| (i * prime % 1009) as f64 / 1009.0 - 0.5;
    let x = (0..1500).flat_map(|i| [column(i, 7919), 1000.0 * column(i, 104_729)]).collect();
    (x, (0..1500).map(|i| if column(i, 7919).abs() < 0.25 { 1.0 } else { -1.0 }).collect())
}

/// Mistakes over the second half.
fn mistakes(settings: &str) -> (usize, Config) {
    let (x, y) = columns();
    let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
    let scores = learner.learn(&Batch::of_f64(&x, 2).numbers(&y)).unwrap().values;
    let wrong = scores.iter().zip(&y).skip(750).filter(|(z, y)| **z * **y <= 0.0).count();
    (wrong, learner.config().clone())
}

#[test]
fn a_width_that_is_given_leaves_the_scale_as_it_was() {
    let scaled = |config: &Config| matches!(config.scale, okl::config::Scale::Fixed { .. });
    let (wrong, left) = mistakes("loss = 'hinge'\noffset = true");
    let (with_width, given) = mistakes("loss = 'hinge'\noffset = true\ngamma = 2.0");
    assert!(scaled(&left) && left.scale == given.scale);
    assert!(wrong < 75 && with_width < 75, "{wrong} {with_width} of 750");
    // The step or lambda alone is not all of it; all three are, unless a scale is asked for.
    for rest in ["step = 'constant:0.5'", "lambda = 1e-4"] {
        assert!(scaled(&mistakes(&format!("gamma = 2.0\n{rest}")).1), "{rest}");
    }
    let all = "gamma = 2.0\nstep = 'constant:0.5'\nlambda = 1e-4";
    assert_eq!(mistakes(all).1.scale, okl::config::Scale::None);
    assert!(scaled(&mistakes(&format!("{all}\nscale = 'standard'")).1));
}

/// A column that is quiet at first and then goes fifty times as far, and one that stays.
fn quiet_at_first(rows: usize) -> Vec<f64> {
    let column = |i: usize, prime: usize| (i * prime % 1009) as f64 / 1009.0;
    (0..rows).flat_map(|i| [column(i, 7919) * if i < 300 { 1.0 } else { 50.0 }, column(i, 104_729) - 0.5]).collect()
}

#[test]
fn clipped_values_are_counted_and_said() {
    let x = quiet_at_first(3000);
    let y: Vec<f64> = x.chunks(2).map(|x| (x[0] / 5.0).sin()).collect();
    let learn = |settings: &str, cut: usize| {
        let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
        x.chunks(2 * cut).zip(y.chunks(cut)).for_each(|(x, y)| _ = learner.learn(&Batch::of_f64(x, 2).numbers(y)).unwrap());
        learner
    };
    let learner = learn("loss = 'squared'\nscale = 'standard'", 700);
    let (health, (shift, factor)) = (learner.health(), learner.frame());
    // Counted anew from the rows after the warm-up of 256.
    let beyond = |row: &[f64]| ((row[0] - shift[0]) * factor[0]).abs() >= 8.0;
    let expected = x.chunks(2).skip(256).filter(|row| beyond(row)).count() as u64;
    assert!(expected > 2000);
    assert_eq!((health.watched, health.clipped_rows, health.clipped_values), (3000 - 256, expected, expected));
    let [column] = health.clipped_columns[..] else { panic!("{health:?}") };
    assert_eq!((column.column, column.values, column.recent), (0, expected, 1744));
    let said = health.findings(|column| format!("x{column}"));
    assert!(
        said.len() == 1
            && said[0].starts_with("column x0: 9")
            && said[0].contains("% of the last 1,744 values were at or beyond the limit of 8"),
        "{said:?}"
    );
    // Cut otherwise, or saved in between: the same counts. Without a limit there is nothing to count.
    assert_eq!(learn("loss = 'squared'\nscale = 'standard'", 1).health(), health);
    assert_eq!(Learner::from_bytes(&learner.to_bytes()).unwrap().health(), health);
    let free = learn("loss = 'squared'\nscale = 'none'", 700).health();
    assert_eq!((free.watched, free.findings(|c| c.to_string()).len()), (0, 0));
}

/// Under the squared loss one target of 1e9 spoils the model. It is said, for every cut and after loading; without it nothing is.
#[test]
fn a_target_that_is_much_too_large_is_said() {
    let x: Vec<f64> = (0..600).map(|i| f64::from(i * 7919 % 601) / 601.0).collect();
    let learn = |cut: usize, large: f64, loss: &str| {
        let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| if i == 300 { large } else { 2.0 + x.sin() }).collect();
        let settings = format!("loss = '{loss}'\nkernel = 'gaussian:1'\nstep = 'constant:0.1'\nlambda = 0.001");
        let mut learner = Learner::new(Config::from_toml(&settings).unwrap()).unwrap();
        x.chunks(cut).zip(y.chunks(cut)).for_each(|(x, y)| {
            learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
            learner.learn(&Batch::of_f64(x, 1).numbers(y)).unwrap();
        });
        learner.health().findings(|column| column.to_string())
    };
    let said = learn(600, -1e9, "squared");
    assert!(said.len() == 1 && said[0].starts_with("the target of example 301 is -1e9, no other one exceeds "), "{said:?}");
    assert!(said[0].contains("of the 299 rows afterwards") && said[0].contains("set loss to huber or absolute"), "{said:?}");
    assert_eq!(learn(7, -1e9, "squared"), said);
    assert_eq!((learn(600, 3.0, "squared").len(), learn(600, 1e9, "absolute").len()), (0, 0));
    // A few rows, and targets that are 0 but for a few, say nothing.
    let falling = [1.0, 1e-3, 1e-6, 1e-9].to_vec();
    let rare = (0..200).map(|i| if i % 50 == 0 { 1.0 } else { 0.0 }).collect();
    for y in [falling, rare] {
        let y: Vec<f64> = y;
        let mut learner =
            Learner::new(Config::from_toml("loss = 'squared'\nkernel = 'gaussian:1'\nstep = 'constant:0.1'").unwrap()).unwrap();
        learner.learn(&Batch::of_f64(&x[..y.len()], 1).numbers(&y)).unwrap();
        assert!(learner.health().findings(|column| column.to_string()).is_empty());
    }
}

/// Single precision has steps of 128 at 1.7e9, so that times in seconds lose digits unless they are centred first.
#[test]
fn digits_that_single_precision_loses_are_counted_and_said() {
    let x: Vec<f64> = (0..2600).flat_map(|i| [f64::from(i) / 2600.0, 1.7e9 + f64::from(i * 7919 % 601)]).collect();
    let y: Vec<f64> = x.chunks(2).map(|x| x[0].sin()).collect();
    let learn = |settings: &str, cut: usize| {
        let settings = format!("loss = 'squared'\nstep = 'constant:0.1'\nlambda = 0.1\nscale = 'none'\n{settings}");
        let mut learner = Learner::new(Config::from_toml(&settings).unwrap()).unwrap();
        for (x, y) in x.chunks(2 * cut).zip(y.chunks(cut)) {
            learner.learn(&Batch::of_f64(x, 2).numbers(y)).unwrap();
            learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
        }
        learner.health()
    };
    let raw = "kernel = 'gaussian:1e-9'\nanchor = 'none'\nbudget = 'window:5'";
    let health = learn(raw, 700);
    let [column] = health.rounded_columns[..] else { panic!("{health:?}") };
    assert_eq!((column.column, column.values, health.rounded_values), (1, 2600, 2600));
    assert!((column.recent_error - 64.0 / 600.0).abs() < 0.005, "{column:?}");
    let said = health.findings(|column| format!("x{column}"));
    // The rows are far from 0, so that their distances lose digits, too.
    assert!(said.len() == 2 && said[0].starts_with("column x1: rounding to single precision"), "{said:?}");
    assert!(said[0].contains("up to 11 % of the column's range"), "{said:?}");
    assert_eq!(learn(raw, 41), health);
    // Rows are centred on the first of them in double precision: nothing is lost.
    assert_eq!(learn("kernel = 'gaussian:1e-9'\nbudget = 'window:5'", 2600).rounded_columns, []);
}

/// With a linear kernel the units are those of the first rows for good. If the first row is 1e6, the other rows hardly differ in these units.
#[test]
fn an_outlier_that_sets_the_units_of_a_linear_kernel_is_said() {
    let learned = |first: f64, cut: usize| {
        let mut x: Vec<f64> = (0..2400).map(|i| 2.0 * libm::sin(f64::from(i) * 0.7391)).collect();
        x[..2].fill(first);
        let y: Vec<f64> = x.chunks(2).map(|x| if x[0] + x[1] > 0.0 { 1.0 } else { -1.0 }).collect();
        let mut learner = Learner::new(Config::from_toml("loss = 'hinge'\nkernel = 'linear'").unwrap()).unwrap();
        for (x, y) in x.chunks(2 * cut).zip(y.chunks(cut)) {
            learner.learn(&Batch::of_f64(x, 2).numbers(y)).unwrap();
        }
        learner
    };
    let learner = learned(1e6, 1200);
    let said = learner.health().findings(|column| format!("x{column}"));
    assert!(said.len() == 1 && said[0].contains("% of the column's unit at most (also column x"), "{said:?}");
    assert!(said[0].contains("look for an outlier among them"), "{said:?}");
    assert_eq!(learned(1e6, 7).health(), learner.health());
    assert_eq!(Learner::from_bytes(&learner.to_bytes()).unwrap().health(), learner.health());
    assert_eq!(learned(1.0, 1200).health().findings(|column| column.to_string()), Vec::<String>::new());
}

#[test]
fn ordinary_data_give_no_cause_to_speak() {
    // A heavy tail (a lognormal), a column that is mostly zero, and a slow trend over five times its first range.
    let unit = |i: usize, prime: usize| ((i * prime % 10_007) as f64 + 0.5) / 10_007.0;
    let normal = |i: usize| (unit(i, 7919).ln() * -2.0).sqrt() * (std::f64::consts::TAU * unit(i, 104_729)).cos();
    let row = |i: usize| [normal(i).exp(), f64::from(u8::from(i.is_multiple_of(50))), unit(i, 31) + i as f64 / 5000.0];
    let x: Vec<f64> = (0..5000).flat_map(row).collect();
    let mut learner = Learner::new(Config::from_toml("loss = 'nu_novelty:0.1'\nscale = 'standard'").unwrap()).unwrap();
    learner.learn(&Batch::of_f64(&x, 3)).unwrap();
    assert_eq!(learner.health().findings(|c| c.to_string()), Vec::<String>::new());
}

/// Rows far from the anchor, in widths of the kernel, are counted and said. An outlier among the first rows does not fix the units, and a
/// column that wanders off with nothing set does not make f grow without end.
#[test]
fn rows_too_far_out_for_single_precision_are_said() {
    let x = |far: &dyn Fn(usize) -> f64| (0..4000).map(|i| libm::sin(i as f64 * 0.7391) + far(i / 2)).collect::<Vec<f64>>();
    let learned = |config: &str, x: &[f64], cut: usize| {
        let y: Vec<f64> = (0..x.len() / 2).map(|i| libm::sin(i as f64 * 1.4782)).collect();
        let mut learner = Learner::new(Config::from_toml(config).unwrap()).unwrap();
        let mut last = 0.0f64;
        for (x, y) in x.chunks(2 * cut).zip(y.chunks(cut)) {
            let scores = learner.learn(&Batch::of_f64(x, 2).numbers(y)).unwrap();
            last = scores.iter().flatten().fold(last, |most, z| most.max(z.abs()));
            learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
        }
        assert!(learner.health().blurred == 0 || learner.regret_bound(1.0, 0.0).is_none());
        let said = learner.health().findings(|column| column.to_string()).join("; ");
        (learner.health().blurred, last, said, learner.to_bytes())
    };
    let given = "loss = 'squared'\ngamma = 1.0\nstep = 'constant:0.1'\nlambda = 1e-4\nbudget = 'window:100'";
    let (near, shifted) = (x(&|_| 0.0), x(&|i| if i == 0 { 3000.0 } else { 0.0 }));
    assert_eq!(learned(given, &near, 2000).0, 0);
    let (blurred, _, said, bytes) = learned(given, &shifted, 2000);
    assert!(blurred == 1999 && said.contains("single precision blurs"), "{blurred}: {said}");
    assert_eq!(learned(given, &shifted, 37).3, bytes);
    let nothing = "loss = 'squared'\nstep = 'constant:0.1'\nlambda = 1e-4";
    let outlier = learned(nothing, &x(&|i| if i == 10 { 1e6 } else { 0.0 }), 2000);
    assert!(outlier.0 <= 1 && outlier.2.is_empty(), "{}: {}", outlier.0, outlier.2);
    // An outlier of the warm-up makes a unit in which all other rows are nearly equal: these rows count, too, before and after its end.
    let standard = "loss = 'squared'\nscale = 'standard'\nstep = 'constant:0.1'\nlambda = 1e-4";
    let unit = x(&|i| if i == 5 { 1e6 } else { 0.0 });
    for (rows, least) in [(150, 100), (256, 200), (2000, 1900)] {
        let whole = learned(standard, &unit[..2 * rows], rows);
        assert!(whole.0 >= least && whole.2.contains("single precision blurs"), "{rows}: {} {}", whole.0, whole.2);
        assert_eq!(learned(standard, &unit[..2 * rows], 37).3, whole.3);
    }
    let wandering = learned("loss = 'squared'", &x(&|i| if i > 1000 { 2000.0 } else { 0.0 }), 2000);
    assert!(wandering.1 < 10.0 && wandering.2.is_empty(), "{}: {}", wandering.1, wandering.2);
}

/// The frame that a warm-up finds can be given, however large the rows are: a learner is built anew from its configuration.
#[test]
fn a_frame_of_very_large_rows_can_be_given() {
    for size in [1e13, 1e-25] {
        let x: Vec<f64> = (0..31 * 20).map(|i| size * libm::sin(i as f64 * 0.7391)).collect();
        let y: Vec<f64> = (0..20).map(|i| libm::sin(i as f64)).collect();
        let mut learner = Learner::new(Config::from_toml("loss = 'squared'\nwarmup = 16").unwrap()).unwrap();
        learner.learn(&Batch::of_f64(&x, 31).numbers(&y)).unwrap();
        assert!(!learner.warming_up());
        Learner::new(learner.config().clone()).unwrap();
        Learner::from_bytes(&learner.to_bytes()).unwrap();
    }
}
