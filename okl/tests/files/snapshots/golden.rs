//! Golden files and new settings.

use super::*;

#[test]
fn golden_files_resume_to_the_same_bits() {
    let bless = std::env::var_os("OKL_BLESS").is_some_and(|v| v == "1");
    for (which, path, current) in golden_files() {
        let (model, first, rows) = (path.with_extension("okl"), path.with_extension("scores"), GOLDEN[which].2);
        // Where a mend has changed further learning (CHANGELOG.md), its scores stand beside those of the version that wrote the file.
        let mended = path.with_extension("2.scores");
        let scores = if mended.exists() { mended } else { first.clone() };
        if bless && current && !model.exists() {
            let (mut learner, mut stream) = trained(which);
            std::fs::write(&model, learner.to_bytes()).unwrap();
            std::fs::write(&scores, stream.learn(&mut learner, 40)).unwrap();
        }
        let bytes = std::fs::read(&model).unwrap();
        let mut learner = Learner::from_bytes(&bytes).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let again = learner.to_bytes();
        // A version that has more to save writes more names.
        assert!(text_of(&again) != text_of(&bytes) || again == bytes, "{path:?} is written otherwise than it was");
        assert!(Learner::from_bytes(&again).unwrap().to_bytes() == again, "{path:?}");
        assert_eq!(learner.position(), format!("row {rows}").as_bytes());
        assert_eq!(
            (learner.warming_up(), learner.config().warmup),
            [
                (false, 256),
                (true, 32),
                (false, 10),
                (false, 16),
                (false, 10),
                (false, 256),
                (false, 16),
                (false, 256),
                (false, 256),
                (false, 16),
                (false, 16),
                (false, 256),
                (false, 16),
                (false, 16),
                (false, 16)
            ][which]
        );
        let mut stream = Fixed::new();
        let skipped = Config::from_toml("loss = 'softmax'").unwrap();
        stream.learn(&mut Learner::new(skipped).unwrap(), rows);
        let (first, found) = (std::fs::read_to_string(&first).unwrap(), stream.learn(&mut learner, 40));
        // A model that is still warming up learns its first rows after it was loaded, by the rules of this version.
        let warming = Learner::from_bytes(&bytes).unwrap().warming_up();
        assert!(warming || found.lines().next() == first.lines().next(), "{path:?}: the first score is that of the loaded model");
        assert_eq!(found, std::fs::read_to_string(&scores).unwrap(), "{path:?}");
    }
}

/// Learns items from..to one by one; returns the bits of their scores, a line each. Item i is a number a_i, and k(i, j) = 1 + min(a_i, a_j),
/// which is exact.
fn learn_items(learner: &mut Learner, items: std::ops::Range<u64>) -> String {
    let place = |i: u64| (i * 37 % 41) as f64 / 8.0;
    let mut lines = String::new();
    for item in items {
        let columns: Vec<u64> = learner.items().into_iter().chain([item]).collect();
        let values: Vec<f64> = columns.iter().map(|other| 1.0 + place(*other).min(place(item))).collect();
        let rows = KernelRows::new(&[item], &columns, &values).unwrap();
        let y = [if place(item) > 2.0 { 1.0 } else { -0.5 }];
        let scores = learner.learn(&Batch::of_kernel_values(&rows).numbers(&y)).unwrap();
        lines += &format!("{:016x}\n", scores.values[0].to_bits());
    }
    lines
}

/// A model of a precomputed kernel: the numbers of its objects, their kernel values, trace and average.
#[test]
fn a_golden_file_of_a_precomputed_kernel_resumes_to_the_same_bits() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/items-4");
    let (model, scores) = (path.with_extension("okl"), path.with_extension("scores"));
    if std::env::var_os("OKL_BLESS").is_some_and(|v| v == "1") && !model.exists() {
        let settings = "loss = 'squared'\nkernel = 'precomputed'\nstep = 'smd:eta=0.05'\nlambda = 0.01\nbudget = 'transfer:8'\naverage = 'uniform'\noffset = true";
        let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
        learn_items(&mut learner, 0..40);
        std::fs::write(&model, learner.to_bytes()).unwrap();
        std::fs::write(&scores, learn_items(&mut learner, 40..80)).unwrap();
    }
    let bytes = std::fs::read(&model).unwrap();
    let mut learner = Learner::from_bytes(&bytes).unwrap();
    assert!((learner.terms(), learner.examples()) == (8, 40) && learner.truncation_error() > 0.0);
    let again = learner.to_bytes();
    assert!(text_of(&again) != text_of(&bytes) || again == bytes, "the file is written otherwise than it was");
    assert_eq!(learn_items(&mut learner, 40..80), std::fs::read_to_string(&scores).unwrap());
}

/// A tracker under a linear kernel, written before scores of any sign had a tracker of their own, goes on as it was: the thresholds and
/// scores are those that the version which wrote the file printed for the next 40 rows.
#[test]
fn an_older_tracker_of_a_linear_kernel_goes_on() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/linear-tracker-3");
    let mut learner = Learner::from_bytes(&std::fs::read(path.with_extension("okl")).unwrap()).unwrap();
    let printed = std::fs::read_to_string(path.with_extension("scores")).unwrap();
    for (i, line) in (60..100).zip(printed.lines().skip(1)) {
        learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
        let x = [0, 1, 2].map(|j: i32| ((i * 37 + j * 53 + i * i * 7) % 101 - 50) as f32 / 32.0);
        let (threshold, score) = line.split_once(',').unwrap();
        assert_eq!(learner.threshold(), Some(threshold.parse().unwrap()), "row {i}");
        assert_eq!(learner.learn(&Batch::new(&x, 3)).unwrap().values, [score.parse::<f64>().unwrap()], "row {i}");
    }
}

/// A file from before a setting existed has the checksum of its own bytes, and means what it meant: as if `allow_overshoot`
/// (whose default is what came before it) were new.
#[test]
fn a_new_setting_breaks_no_file() {
    const NEW: &str = ",\"allow_overshoot\":false";
    for (_, path, _) in golden_files() {
        let bytes = std::fs::read(path.with_extension("okl")).unwrap();
        let whole = Learner::from_bytes(&bytes).unwrap();
        let text = text_of(&bytes);
        assert_eq!(text.matches(NEW).count(), 1, "{path:?}");
        let older = sealed(&with_text(&bytes, &text.replace(NEW, "")));
        let loaded = reason(&older).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        assert!(loaded.to_bytes() == whole.to_bytes(), "{path:?}");
        // Without a new checksum the change is damage.
        assert!(reason(&with_text(&bytes, &text.replace(NEW, ""))).unwrap_err().contains("damaged"), "{path:?}");
        for (from, to) in [
            ("\"allow_overshoot\"", "\"not_yet\":1,\"allow_overshoot\""),
            ("\"classes\"", "\"not_yet\":1,\"classes\""),
            ("\"gamma\"", "\"not_yet\":1,\"gamma\""),
        ] {
            let newer = sealed(&with_text(&bytes, &text.replacen(from, to, 1)));
            let found = reason(&newer).expect_err("a file with a field that is not known");
            assert!(found.contains("not_yet"), "{path:?}: {found}");
        }
    }
}

/// Files from before the positive class was stored: the second that appeared is positive, and stays it.
#[test]
fn a_file_without_a_positive_class_keeps_its_order() {
    let (learner, _) = trained(5);
    assert_eq!((learner.classes(), learner.positive()), (&["z".into(), "a".into()][..], Some(0)));
    let text = text_of(&learner.to_bytes());
    let without = sealed(&with_text(&learner.to_bytes(), &text.replace(",\"positive\":0", "")));
    let mut old = Learner::from_bytes(&without).unwrap();
    assert_eq!(old.positive(), Some(1));
    let before = old.predict(&Batch::new(&[0.1; 3], 3)).unwrap().values;
    assert_eq!(before, learner.predict(&Batch::new(&[0.1; 3], 3)).unwrap().values);
    for _ in 0..20 {
        old.learn(&Batch::new(&[0.1; 3], 3).labels(&["a".into()])).unwrap();
    }
    assert!(old.predict(&Batch::new(&[0.1; 3], 3)).unwrap().values[0] > before[0]);
    assert_eq!(Learner::from_bytes(&old.to_bytes()).unwrap().positive(), Some(1));
    refused(&learner, "positive class", |p| p.header.positive = Some(2));
    refused(&trained(0).0, "positive class", |p| p.header.positive = Some(0));
}

#[test]
fn numbers_have_names() {
    let learner = trained(0).0;
    let changed = |change: &dyn Fn(&mut Parts)| {
        let mut parts = Parts::of(&learner);
        change(&mut parts);
        reason(&parts.bytes())
    };
    let rename = |tensor: &'static str, from: &'static str, to: &'static str| {
        changed(&|p| p.header.scalars.get_mut(tensor).unwrap().iter_mut().filter(|n| *n == from).for_each(|n| *n = to.into()))
    };
    for (tensor, name) in [("head.scalars", "eta"), ("budget", "mistakes"), ("counts", "skipped")] {
        assert!(rename(tensor, name, "not_yet").unwrap_err().contains("`not_yet`"));
    }
    assert!(rename("head.scalars", "eta", "theta").unwrap_err().contains("`theta` is there twice"));
    let without = |name: &'static str| {
        changed(&|p| {
            let at = p.place("head.scalars", name);
            p.header.scalars.get_mut("head.scalars").unwrap().remove(at);
            p.at("head.scalars").3.drain(8 * at..8 * at + 8);
            let len = p.len("head.scalars");
            p.resize("head.scalars", len);
        })
    };
    assert!(without("norm2").unwrap_err().contains("`norm2` is missing"));
    // Not known before format 3: absent it is zero, as in a learner without a tracker.
    assert!(without("tracker.level").unwrap().to_bytes() == learner.to_bytes());
    // Without the mass, which rounding is relative to, it is the sum over terms of |alpha| sqrt(k(x, x)).
    let mass = |learner: &Learner| {
        let mut parts = Parts::of(learner);
        let at = parts.place("head.scalars", "mass");
        f64::from_bits(parts.word("head.scalars", at))
    };
    let (kept, found) = (mass(&learner), mass(&without("mass").unwrap()));
    assert!(kept > 0.0 && (kept - found).abs() <= 1e-12 * kept, "{kept}, from the terms {found}");
    // The order does not matter.
    let swapped = changed(&|p| {
        p.header.scalars.get_mut("head.scalars").unwrap().swap(0, 3);
        let (first, fourth) = (p.word("head.scalars", 0), p.word("head.scalars", 3));
        p.put("head.scalars", 0, fourth);
        p.put("head.scalars", 3, first);
    });
    assert!(swapped.unwrap().to_bytes() == learner.to_bytes());
}

#[test]
fn every_kind_of_learner_survives() {
    use crate::support::cases::{count, fixed_cases};
    for case in fixed_cases(count(150) as usize) {
        let mut learner = Learner::new(case.config.clone()).unwrap();
        learner.set_position(vec![0, 255, 7]);
        for part in [0..case.saved_at, case.saved_at..case.stream.rows()] {
            learner.learn(&case.stream.batch(part)).unwrap();
            let bytes = learner.to_bytes();
            let loaded = Learner::from_bytes(&bytes).unwrap_or_else(|e| panic!("{e}: {case:?}"));
            assert!(loaded.to_bytes() == bytes, "{case:?}");
            // The stream has the bytes that the writer of safetensors makes of the same tensors, with the checksum of a whole file.
            assert!(sealed(&with_text(&bytes, &text_of(&bytes))) == bytes, "{case:?}");
            assert_eq!(
                (loaded.position(), loaded.classes(), loaded.config()),
                (&[0, 255, 7][..], learner.classes(), learner.config())
            );
            learner = loaded;
        }
    }
}
