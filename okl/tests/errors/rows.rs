//! Rows, targets, weights and ids.

use super::*;

#[test]
fn features_that_are_not_numbers() {
    for toml in [HINGE, NAMED, CLASSES, SQUARED, QUANTILE, NOVELTY, "loss = 'hinge'\nscale = 'standard'"] {
        let mut learner = started(toml);
        for (bad, words) in [
            (f32::NAN, &["NaN"][..]),
            (f32::INFINITY, &["inf"]),
            (f32::NEG_INFINITY, &["-inf"]),
            (3e15, &["1e15", "rescale"]),
            (f32::MIN, &["1e15"]),
        ] {
            let x = [0.0, 0.0, 0.0, bad];
            let kind = refused(&mut learner, &Batch::new(&x, 2), &[&["row 1", "column 1", "finite"], words].concat());
            assert!(matches!(kind, ErrorKind::NotFinite { row: 1, .. }));
            let error = learner.predict(&Batch::new(&x, 2)).unwrap_err();
            says(&error, &["row 1", "column 1"]);
        }
    }
}

#[test]
fn rows_of_another_shape() {
    let mut learner = started(HINGE);
    let shape = |kind| assert!(matches!(kind, ErrorKind::Shape { .. }), "{kind:?}");
    shape(refused(&mut learner, &Batch::new(&[0.0; 5], 2), &["x", "multiple of 2", "found 5"]));
    shape(refused(&mut learner, &Batch::new(&[0.0; 6], 3), &["features", "expected 2", "found 3"]));
    shape(refused(&mut learner, &Batch::new(&[0.0; 6], 0), &["features", "at least 1", "found 0"]));
    shape(refused(&mut learner, &Batch::new(&[], 0), &["features", "at least 1"]));
    shape(refused(&mut learner, &Batch::new(&[0.0; 4], 2).known(&[true]), &["known", "expected 2", "found 1"]));
    shape(refused(&mut learner, &Batch::new(&[0.0; 4], 2).weights(&[1.0; 3]), &["weights", "expected 2", "found 3"]));
    shape(refused(&mut learner, &Batch::new(&[0.0; 4], 2).ids(&[]), &["ids", "expected 2", "found 0"]));
    says(&learner.predict(&Batch::new(&[0.0; 3], 3)).unwrap_err(), &["features", "expected 2"]);
    says(&learner.widen(1).unwrap_err(), &["features", "at least 2", "found 1"]);
    // A learner that has seen nothing refuses as well, and still has no width.
    let mut fresh = self::learner(HINGE);
    refused(&mut fresh, &Batch::new(&[0.0; 5], 2), &["multiple of 2"]);
    refused(&mut fresh, &Batch::new(&[f32::NAN; 3], 3).numbers(&[1.0]), &["row 0", "column 0"]);
    assert_eq!(fresh.features(), 0);
}

/// No rows are no error and no example; nor do they settle how many outputs there are.
#[test]
fn an_empty_batch() {
    for toml in [HINGE, NAMED, CLASSES, SQUARED, QUANTILE, NOVELTY] {
        let mut learner = started(toml);
        let before = learner.to_bytes();
        assert!(learner.learn(&Batch::new(&[], 2)).unwrap().values.is_empty());
        let none = if toml == CLASSES || toml == NAMED { Targets::Labels(&[]) } else { Targets::Numbers(&[]) };
        learner.learn(&Batch::new(&[], 2).targets(none).weights(&[]).ids(&[]).known(&[])).unwrap();
        assert_eq!(learner.to_bytes(), before);
    }
    let mut learner = learner(SQUARED);
    learner.learn(&Batch::new(&[], 1).numbers(&[])).unwrap();
    assert_eq!(learner.learn(&Batch::new(&[0.0], 1).numbers(&[1.0, 2.0])).unwrap().outputs, 2);
}

#[test]
fn targets_that_the_loss_cannot_read() {
    let x = [0.0f32; 4];
    let target = |kind| assert!(matches!(kind, ErrorKind::Target { .. }), "{kind:?}");
    let count = |kind| assert!(matches!(kind, ErrorKind::Shape { .. }), "{kind:?}");
    let labels = |names: &[&str]| names.iter().map(|n| Label::from(*n)).collect::<Vec<_>>();

    let mut hinge = started(HINGE);
    count(refused(&mut hinge, &Batch::new(&x, 2).numbers(&[1.0]), &["targets", "2", "found 1"]));
    count(refused(&mut hinge, &Batch::new(&x, 2).numbers(&[1.0; 4]), &["targets", "1 per row", "found 4"]));
    target(refused(&mut hinge, &Batch::new(&x, 2).numbers(&[1.0, 0.0]), &["row 1", "target 0", "-1 or +1"]));
    target(refused(&mut hinge, &Batch::new(&x, 2).numbers(&[2.0, 1.0]), &["row 0", "target 2", "-1 or +1", "labels"]));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        refused(&mut hinge, &Batch::new(&x, 2).numbers(&[1.0, bad]), &["row 1", "target 0", "finite", "known"]);
    }

    let mut named = started(NAMED);
    count(refused(&mut named, &Batch::new(&x, 2).labels(&labels(&["a"])), &["labels", "2", "found 1"]));
    target(refused(
        &mut named,
        &Batch::new(&x, 2).labels(&labels(&["b", "c"])),
        &["row 1", "target c", "two classes", "max_margin"],
    ));

    let mut classes = started(CLASSES);
    target(refused(&mut classes, &Batch::new(&x, 2).numbers(&[0.0, 1.0]), &["numbers", "class labels"]));
    count(refused(&mut classes, &Batch::new(&x, 2).labels(&labels(&["a"; 3])), &["labels", "2", "found 3"]));
    let mut given = learner(&format!("{CLASSES}\nclasses = ['a', 'b', 7]"));
    target(refused(
        &mut given,
        &Batch::new(&x, 2).labels(&labels(&["a", "z"])),
        &["row 1", "target z", "one of the given classes", "a, b, 7"],
    ));
    let mut two = learner(&format!("{HINGE}\nclasses = ['no', 'yes']"));
    target(refused(&mut two, &Batch::new(&x, 2).labels(&labels(&["no", "maybe"])), &["row 1", "maybe", "no, yes"]));

    for toml in [SQUARED, QUANTILE] {
        let mut regression = started(toml);
        target(refused(
            &mut regression,
            &Batch::new(&x, 2).labels(&labels(&["a", "b"])),
            &["class labels", "numbers", "regression"],
        ));
        count(refused(&mut regression, &Batch::new(&x, 2).numbers(&[1.0; 4]), &["targets", "1 per row", "found 4"]));
        refused(&mut regression, &Batch::new(&x, 2).numbers(&[1.0, f64::NAN]), &["row 1", "NaN", "finite"]);
    }
    let mut pair = learner(&format!("{SQUARED}\noperator = [1.0, 0.5, 0.5, 1.0]"));
    count(refused(&mut pair, &Batch::new(&x, 2).numbers(&[1.0, 2.0]), &["targets", "2 per row", "found 2"]));
    refused(&mut pair, &Batch::new(&x, 2).numbers(&[1.0, 2.0, 3.0, f64::INFINITY]), &["row 1", "target 1"]);
    let mut fresh = learner(SQUARED);
    count(refused(&mut fresh, &Batch::new(&x, 2).numbers(&[1.0; 3]), &["targets", "found 3"]));
}

/// A filtered block of a stream may have no rows, and its targets any type. How a stream is cut does not matter.
#[test]
fn where_no_row_has_a_target_their_kind_says_nothing() {
    let x = [0.0f32; 4];
    let labels = [Label::from("a"), Label::from("z")];
    for toml in [HINGE, NAMED, CLASSES, SQUARED, QUANTILE] {
        let mut learner = started(toml);
        let before = learner.to_bytes();
        let none = [false, false];
        let empty = Batch::new(&x[..0], 2);
        for batch in [
            empty.numbers(&[]),
            empty.labels(&[]),
            Batch::new(&x, 2).numbers(&[3.0, 4.0]).known(&none),
            Batch::new(&x, 2).labels(&labels).known(&none),
        ] {
            let scores = learner.learn(&batch).unwrap_or_else(|error| panic!("{toml}: {error}"));
            assert_eq!(scores, learner.predict(&batch).unwrap(), "{toml}");
            assert_eq!(learner.to_bytes(), before, "{toml}");
        }
        let count = refused(&mut learner, &Batch::new(&x, 2).labels(&labels[..1]).known(&none), &["2", "found 1"]);
        assert!(matches!(count, ErrorKind::Shape { .. }), "{count:?}");
    }
    // The first row that has a target is the one that is wrong.
    let mut classes = started(CLASSES);
    refused(&mut classes, &Batch::new(&x, 2).numbers(&[0.0, 1.0]).known(&[false, true]), &["row 1", "class labels"]);
}

/// Sums of such targets and of their errors are beyond all numbers.
#[test]
fn a_model_with_the_largest_targets_can_be_read_again() {
    for loss in
        ["squared", "absolute", "huber:1", "quantile:q=0.9", "epsilon:epsilon=0.1", "nu_epsilon:nu=0.1", "nu_huber:nu=0.1"]
    {
        let mut learner = learner(&format!("loss = '{loss}'\nkernel = 'gaussian:0.5'"));
        let x: Vec<f32> = (0..40).map(|i| i as f32 / 7.0).collect();
        let y: Vec<f64> = (0..40).map(|i| [f64::MAX, -f64::MAX, 1.5, -f64::MAX, f64::MAX][i % 5]).collect();
        learner.learn(&Batch::new(&x, 1).numbers(&y)).unwrap();
        let again = Learner::from_bytes(&learner.to_bytes()).unwrap_or_else(|error| panic!("{loss}: {error}"));
        assert_eq!(again.to_bytes(), learner.to_bytes(), "{loss}");
    }
}

#[test]
fn weights_that_are_none() {
    for toml in [HINGE, NOVELTY, SQUARED] {
        let mut learner = started(toml);
        for bad in [-1.0, f64::NAN, f64::INFINITY, -1e-300, 1.1e15, 1e308] {
            let kind = refused(
                &mut learner,
                &Batch::new(&[0.0; 4], 2).numbers(&[1.0, 1.0]).weights(&[1.0, bad]),
                &["row 1", "weight", "from 0 to 1e15"],
            );
            assert!(matches!(kind, ErrorKind::Weight { row: 1, .. }));
        }
    }
}

/// The last number means that a term has no id.
#[test]
fn the_id_that_is_reserved() {
    let mut learner = learner(HINGE);
    let (x, y) = ([0.0f32, 0.0, 1.0, 1.0], [1.0, -1.0]);
    let kind = refused(
        &mut learner,
        &Batch::new(&x, 2).numbers(&y).ids(&[7, u64::MAX]),
        &["row 1", "id 18446744073709551615 is reserved"],
    );
    assert!(matches!(kind, ErrorKind::Id { row: 1, id: u64::MAX }), "{kind:?}");
    learner.learn(&Batch::new(&x, 2).numbers(&y).ids(&[7, u64::MAX - 1])).unwrap();
    assert_eq!(learner.terms(), 2);
}

/// A square that no number holds: the step is not taken, it is counted, and learning goes on.
#[test]
fn a_step_that_would_overflow() {
    for extra in [
        "",
        "\nstep = 'smd:eta=0.1'",
        "\nimplicit = true\nstep = 'constant:0.1'",
        "\nbudget = 'merge:2'",
        "\naverage = 'uniform'",
        "\noffset = true",
        "\nscale = 'standard'\nwarmup = 2",
    ] {
        let text = format!("loss = 'squared'\nkernel = 'gaussian:0.5'{extra}");
        let text = if extra.contains("step") { text } else { format!("{text}\nstep = 'constant:0.1'") };
        let mut learner = learner(&text);
        learner.learn(&Batch::new(&[0.0, 1.0], 1).numbers(&[1.0, 2.0])).unwrap();
        let (examples, coefficients, norm2) = (learner.examples(), learner.coefficients(), learner.norm2());
        let mut losses = Vec::new();
        learner
            .learn_with(&Batch::new(&[0.5, 0.6], 1).numbers(&[1e300, -1e300]), |_, step| losses.push((step.loss, step.slot)))
            .unwrap();
        assert_eq!((learner.skipped(), learner.examples()), (2, examples), "{text}");
        assert_eq!((learner.coefficients(), learner.norm2()), (coefficients, norm2));
        assert!(losses.iter().all(|(loss, slot)| loss.is_some() && slot.is_none()));
        let scores = learner.learn(&Batch::new(&[0.5, 0.5], 1).numbers(&[1.0, 1.0])).unwrap();
        assert!(scores.values.iter().all(|z| z.is_finite()) && scores.values[0] != scores.values[1]);
        assert_eq!((learner.skipped(), learner.examples()), (2, examples + 2));
        assert_eq!(Learner::from_bytes(&learner.to_bytes()).unwrap().to_bytes(), learner.to_bytes());
    }
}

/// Starts of rows, columns, values, the number of features, and words of the error.
type Wrong<'a> = (&'a [usize], &'a [u32], &'a [f32], usize, &'a [&'a str]);

/// Sparse rows that are refused, with what the error says; the learner is unchanged.
/// Sparse rows with more columns than are expanded: the message names the setting with which they stay sparse, and the rows are taken with it.
#[test]
fn sparse_rows_with_many_columns_name_the_setting_that_helps() {
    let ones = ["1.0"; 70_000].join(",");
    let shifted = &format!("scale = {{ fixed = {{ shift = [{ones}], factor = [{ones}] }} }}");
    let cases = [
        ("", "columns are centred: set anchor = none,", "anchor = 'none'"),
        (shifted, "shifts columns: set scale = none and anchor = none,", "scale = 'none'\nanchor = 'none'"),
        (
            "kernel = 'manhattan:1'\nanchor = 'none'",
            "needs dense rows: use another kernel,",
            "kernel = 'gaussian:1'\nanchor = 'none'",
        ),
    ];
    for (given, words, helps) in cases {
        let learn = |settings: &str| {
            let mut learner = Learner::new(Config::from_toml(&format!("loss = 'squared'\n{settings}")).unwrap()).unwrap();
            learner.learn(&Batch::sparse(&[0, 1], &[7], &[1.0], 70_000).numbers(&[1.0]))
        };
        let said = learn(given).unwrap_err().to_string();
        assert!(said.contains(words) && said.ends_with("found 70000"), "{said}");
        learn(helps).unwrap();
    }
}

#[test]
fn sparse_rows_are_checked() {
    let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.1'\nlambda = 0.01\nanchor = 'none'";
    let mut learner = Learner::new(okl::Config::from_toml(settings).unwrap()).unwrap();
    learner.learn(&Batch::sparse(&[0, 1], &[2], &[1.0], 5).numbers(&[1.0])).unwrap();
    let before = learner.to_bytes();
    let cases: [Wrong<'_>; 9] = [
        (&[0, 1, 3], &[0, 3, 1], &[1.0; 3], 5, &["row 1", "column 1", "at least 4", "ascend"]),
        (&[0, 2, 2], &[3, 3], &[1.0; 2], 5, &["row 0", "column 3", "given twice"]),
        (&[0, 1, 2], &[0, 5], &[1.0; 2], 5, &["row 1", "column 5", "below 5"]),
        (&[0, 1, 2], &[0, 4], &[1.0, f32::NAN], 5, &["row 1", "column 4", "NaN"]),
        (&[0, 1, 2], &[0, 4], &[1.0, 1e16], 5, &["row 1", "column 4", "rescale"]),
        (&[0, 2, 1], &[0, 4], &[1.0; 2], 5, &["starts", "row 1"]),
        (&[0, 1, 3], &[0, 4], &[1.0; 2], 5, &["starts", "at most 2"]),
        (&[0, 1, 2], &[0, 1, 4], &[1.0; 2], 5, &["columns", "one per value"]),
        (&[0, 1, 2], &[0, 4], &[1.0; 2], 6, &["features", "expected 5, found 6"]),
    ];
    for (starts, columns, values, features, words) in cases {
        let batch = Batch::sparse(starts, columns, values, features).numbers(&[1.0, -1.0]);
        let said = learner.learn(&batch).unwrap_err().to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert_eq!(learner.predict(&batch).unwrap_err().to_string(), said);
    }
    assert!(Batch::sparse(&[], &[], &[], 5).rows() == 0 && learner.learn(&Batch::sparse(&[], &[], &[], 5).numbers(&[])).is_err());
    assert_eq!(learner.to_bytes(), before);
}

/// Rows with more features than a form can hold are refused in words that say what to set.
#[test]
fn too_many_features_are_refused() {
    for (settings, features, word) in [
        ("kernel = 'gaussian:1'\nstep = 'constant:0.1'\nlambda = 0.01", 1 << 17, "anchor = none"),
        ("kernel = 'gaussian'\nanchor = 'none'", 1 << 25, "scale = none"),
        ("kernel = 'linear'\nscale = 'none'", 1 << 29, "form = weights"),
        (
            "kernel = 'polynomial:degree=2'\nform = 'weights'\nscale = 'none'",
            1447,
            "at most 1446 for a polynomial kernel as weights",
        ),
    ] {
        let mut learner = Learner::new(okl::Config::from_toml(&format!("loss = 'hinge'\n{settings}")).unwrap()).unwrap();
        let batch = Batch::sparse(&[0, 1], &[7], &[1.0], features).numbers(&[1.0]);
        let said = learner.learn(&batch).unwrap_err().to_string();
        assert!(said.contains(word) && said.contains(&format!("found {features}")), "{said}");
        assert_eq!((learner.examples(), learner.features()), (0, 0));
        let most = if settings.contains("polynomial") { 1446 } else { 0 };
        assert!(most == 0 || (learner.widen(features).is_err() && learner.widen(most).is_ok()));
    }
}

/// A long batch is checked by all threads: the first bad row is found, in both precisions, and the model is that of one thread.
#[test]
fn long_batches_are_checked_by_all_threads() {
    const ROWS: usize = 40_000;
    const WIDTH: usize = 32;
    let settings =
        "loss = 'squared'\nkernel = 'gaussian:0.1'\nstep = 'constant:0.1'\nlambda = 1e-3\nbudget = 'window:3'\nscale = 'none'";
    let x: Vec<f32> = (0..ROWS * WIDTH).map(|i| (i * 7919 % 1009) as f32 / 1009.0).collect();
    let y: Vec<f64> = (0..2 * ROWS).map(|i| (i * 31 % 17) as f64).collect();
    let learned = |threads: usize| {
        let mut learner = self::learner(settings);
        learner.set_threads(threads).unwrap();
        learner.learn(&Batch::new(&x, WIDTH).numbers(&y)).unwrap();
        learner
    };
    let mut one = learned(1);
    let mut three = learned(3);
    assert_eq!(one.to_bytes(), three.to_bytes());
    // Single-precision numbers next to 1e15: the one below is accepted.
    let [below, above] = [0x5863_5fa9, 0x5863_5faa].map(f32::from_bits);
    assert!(f64::from(below) < 1e15 && f64::from(above) > 1e15);
    for (row, column) in [(0, 0), (4095, 31), (4096, 0), (12_345, 6), (ROWS - 1, 31)] {
        let mut bad = x.clone();
        bad[(ROWS - 1) * WIDTH + 31] = f32::NAN;
        bad[row * WIDTH + column] = above;
        bad[1] = below;
        let doubled: Vec<f64> = bad.iter().map(|x| f64::from(*x)).collect();
        let (at_row, at_column) = (format!("row {row}"), format!("column {column}"));
        for learner in [&mut one, &mut three] {
            refused(learner, &Batch::new(&bad, WIDTH).numbers(&y), &[&at_row, &at_column, "1e15"]);
            refused(learner, &Batch::of_f64(&doubled, WIDTH).numbers(&y), &[&at_row, &at_column, "1e15"]);
        }
        let mut targets = y.clone();
        (targets[2 * row + 1], targets[2 * ROWS - 1]) = (f64::INFINITY, f64::INFINITY);
        for learner in [&mut one, &mut three] {
            refused(learner, &Batch::new(&x, WIDTH).numbers(&targets), &[&at_row, "target 1", "inf"]);
        }
    }
}
