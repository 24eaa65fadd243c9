//! Files that are damaged, or say what cannot be.

use super::*;

#[test]
fn cut_off_files_are_refused() {
    for which in 0..GOLDEN.len() {
        let bytes = trained(which).0.to_bytes();
        for end in 0..bytes.len() {
            assert!(reason(&bytes[..end]).is_err(), "the first {end} of {} bytes", bytes.len());
        }
        assert!(reason(&[&bytes[..], &[0]].concat()).is_err());
    }
}

/// A flipped bit in any byte is found.
#[test]
fn damaged_files_are_refused() {
    for (which, (name, ..)) in GOLDEN.into_iter().enumerate() {
        let bytes = trained(which).0.to_bytes();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(reason(&damaged).is_err(), "byte {at} of {name}");
        }
    }
}

fn learner(settings: &str) -> Learner {
    Learner::new(plain(settings).unwrap()).unwrap()
}

/// A learner with holes, ids, several classes, an average and an offset.
fn rich() -> Learner {
    let mut learner = learner(
        "loss = 'softmax'\nkernel = 'linear'\nbudget = 'age:12'\naverage = 'uniform'\noffset = true\nstep = 'constant:0.1'",
    );
    Fixed::new().learn(&mut learner, 30);
    for _ in 0..4 {
        learner.learn(&Batch::new(&[0.9; 3], 3).labels(&["right".into()]).ids(&[1000])).unwrap();
    }
    learner
}

#[test]
fn missing_and_mistyped_tensors_are_refused() {
    for which in 0..GOLDEN.len() {
        let learner = trained(which).0;
        for (name, dtype, ..) in Parts::of(&learner).tensors {
            // Older files of the same format lack these.
            if !["rounding", "clipped", "clipped.ranges"].contains(&name.as_str()) {
                refused(&learner, &format!("`{name}` is missing"), |p| p.tensors.retain(|t| t.0 != name));
            }
            let other = if dtype == Dtype::U8 { Dtype::I8 } else { Dtype::U8 };
            refused(&learner, &format!("`{name}` has another type"), |p| {
                let tensor = p.at(&name);
                (tensor.1, tensor.2) = (other, vec![tensor.3.len()]);
            });
            if matches!(dtype, Dtype::F64 | Dtype::F32) && Parts::of(&learner).len(&name) > 0 {
                refused(&learner, &format!("`{name}` is not finite"), |p| {
                    let bytes = &mut p.at(&name).3;
                    let last = bytes.len() - 2;
                    bytes[last..].copy_from_slice(&[0xff, 0x7f]);
                });
            }
        }
    }
}

#[test]
fn states_that_cannot_be_are_refused() {
    let rich = rich();
    let mut parts = Parts::of(&rich);
    let (slots, holes, t) = (parts.len("births"), parts.len("holes"), parts.word("counts", 0));
    assert!(holes > 1 && slots > holes + 2, "{slots} slots, {holes} holes");
    let hole = parts.word("holes", 0) as usize;
    let live: Vec<usize> = (0..slots).filter(|&s| parts.word("births", s) > 0).collect();
    let cut = |name: &'static str, by: usize| {
        move |p: &mut Parts| {
            let len = p.len(name);
            p.resize(name, len - by);
        }
    };

    let (each, _) = trained(GOLDEN.iter().position(|(name, ..)| *name == "products").unwrap());
    refused(&each, "step sizes are not possible", |p| p.put("head.steps", 3, (-0.1f64).to_bits()));
    refused(&each, "step sizes are not possible", cut("head.offset_steps", 1));
    refused(&rich, "`counts`", cut("counts", 1));
    refused(&rich, "too many features", |p| p.put("counts", 2, 1 << 40));
    refused(&rich, "`examples` is not possible", |p| p.put("counts", 0, u64::MAX));
    refused(&rich, "`skipped` is not possible", |p| p.put("counts", 1, u64::MAX));
    refused(&rich, "do not fit together", |p| p.put("counts", 2, 4));
    refused(&rich, "do not fit together", |p| p.put("counts", 2, 0));
    refused(&rich, "do not fit together", cut("ids", 1));
    refused(&rich, "do not fit together", cut("centres", 1));
    refused(&rich, "do not fit together", cut("births", 1));
    refused(&rich, "younger", |p| p.put("births", live[0], t + 1));
    refused(&rich, "holes", |p| p.put("births", live[0], 0));
    refused(&rich, "holes", |p| p.put("births", hole, 1));
    refused(&rich, "holes", |p| p.put("holes", 0, live[0] as u64));
    refused(&rich, "holes", |p| p.put("holes", 0, u64::MAX));
    refused(&rich, "holes", |p| {
        let second = p.word("holes", 1);
        p.put("holes", 0, second);
    });
    refused(&rich, "holes", cut("holes", 1));
    refused(&rich, "id is given twice", |p| {
        let other = p.word("ids", live[1]);
        p.put("ids", live[0], other);
    });
    refused(&rich, "id is given twice", |p| p.put("ids", hole, 123));
    refused(&rich, "`centres` is not finite", |p| p.at("centres").3[..4].copy_from_slice(&1e20f32.to_le_bytes()));
    refused(&rich, "coefficients do not fit", cut("head.columns", 1));
    refused(&rich, "lost digits", cut("rounding", 1));
    for (place, value) in [(0, 0.5), (1, 1e9), (2, -1.0), (3, 9e14), (5, -1.0)] {
        refused(&rich, "lost digits", |p| p.put_f64("rounding", place, value));
    }
    refused(&rich, "empty slot has a coefficient", |p| p.put_f64("head.columns", hole, 0.5));
    refused(&rich, "`head.scalars`", cut("head.scalars", 1));
    for (scalar, value) in [
        ("scale.f", 0.0),
        ("scale.f", 1e-200),
        ("scale.mean", 0.0),
        ("scale.mean", 1e300),
        ("eta", -1.0),
        ("norm2", -1.0),
        ("truncation", -1e-3),
        ("cut_steps", -1.0),
        ("cut_steps", 1e19),
    ] {
        refused(&rich, &format!("`{scalar}` is not possible"), |p| p.put_named("head.scalars", scalar, value));
    }
    refused(&rich, "more cut steps than examples", |p| p.put_named("head.scalars", "cut_steps", t as f64 + 1.0));
    refused(&rich, "coefficients do not fit", cut("head.offsets", 3));
    refused(&rich, "coefficients do not fit", cut("head.offsets", 1));
    refused(&rich, "number of outputs", |p| p.resize("head.offsets", 3 << 14));
    refused(&rich, "no tracker", |p| p.resize("head.gathered", 1));
    refused(&rich, "budget", cut("budget", 1));
    refused(&rich, "budget", |p| p.put_f64("budget", 0, -1.0));
    refused(&rich, "budget", |p| p.put_f64("budget", 0, 1e300));
    refused(&rich, "frame", |p| p.resize("frame", 5));
    refused(&rich, "factor", |p| p.resize("frame", 6));
    refused(&rich, "named twice", |p| p.header.classes[1] = p.header.classes[0].clone());
    refused(&rich, "number of outputs", |p| _ = p.header.classes.pop());

    let window = trained(0).0;
    refused(&window, "budget", |p| p.put_f64("budget", 0, 8.0));
    refused(&window, "more terms than the budget", |p| {
        p.header.config.budget = Some(okl::budget::BudgetRule::Window { terms: 5 })
    });
    let tracker = trained(2).0;
    refused(&tracker, "gathered too much", |p| p.resize("head.gathered", 10));
    let bank = trained(3).0;
    refused(&bank, "freeze it with that okl", |p| p.resize("bank.weights", 12));
    refused(&bank, "bank", |p| p.resize("bank.losses", 12));
    refused(&bank, "bank", |p| p.put_f64("bank.weights", 0, -0.1));
    refused(&bank, "bank", |p| p.put_f64("bank.weights", 0, 2.0));
    refused(&bank, "`scale` is not possible", |p| p.put_named("bank", "scale", -1.0));
    refused(&trained(4).0, "out of its range", |p| p.put_named("head.scalars", "tracker.least", 0.0));
    refused(&trained(4).0, "not possible", |p| p.put_named("head.scalars", "tracker.stride", -1.0));
    refused(&rich, "does not know the tensor `not_yet`", |p| p.tensors.push(("not_yet".into(), Dtype::U8, vec![0], Vec::new())));
}

#[test]
fn impossible_warm_ups_are_refused() {
    let warming = trained(1).0;
    assert!(warming.warming_up());
    for tensor in ["warm.x", "warm.y", "warm.weights", "warm.ids"] {
        refused(&warming, "do not fit together", |p| {
            let len = p.len(tensor);
            p.resize(tensor, len - 1);
        });
    }
    refused(&warming, "do not fit together", |p| p.header.warm_width = 2);
    refused(&warming, "do not fit together", |p| p.header.warm_width = usize::MAX);
    refused(&warming, "do not fit together", |p| p.header.config.warmup = 5);
    refused(&warming, "no weight", |p| p.put_f64("warm.weights", 2, 0.0));
    refused(&warming, "no weight", |p| p.put_f64("warm.weights", 2, -1.0));
    for y in [-1.0, 0.5, 3.0, 1e300] {
        refused(&warming, "targets of the warm-up", |p| p.put_f64("warm.y", 1, y));
    }
}

#[test]
fn other_formats_and_configurations_are_refused() {
    let window = trained(0).0;
    for format in [0, FORMAT + 1, u32::MAX] {
        refused(&window, "format", |p| p.header.format = format);
    }
    refused(&window, "lambda", |p| p.header.config.lambda = (-1.0).into());
    refused(&window, "step", |p| p.header.config.step = okl::step::AnyStep::Constant { eta: 1e9 }.into());
    refused(&window, "operator", |p| {
        p.header.config.operator = Some(okl::config::OperatorRule::Matrix(vec![1.0, 2.0, 2.0, 1.0]))
    });
    refused(&window, "coefficients do not fit", |p| p.header.config.average = okl::engine::head::Average::Uniform.into());
    refused(&window, "classes", |p| p.header.config.classes = Some(vec![Label::from(1), Label::from(2)]));
    refused(&window, "scale has another number", |p| {
        p.header.config.scale = okl::config::Scale::Fixed {
            shift: vec![0.0],
            factor: vec![1.0],
            log_units: vec![],
            limit: None,
            follow: false,
            whiten: vec![],
        }
    });
    refused(&window, "`warm.x` is missing", |p| {
        p.header.config.kernel = okl::config::KernelRule::Gaussian { gamma: okl::config::Gamma::Median }.into()
    });

    let bytes = window.to_bytes();
    let text = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).unwrap_or_else(|| panic!("no {from}"));
        let mut changed = bytes.clone();
        changed[at..at + to.len()].copy_from_slice(to.as_bytes());
        reason(&changed).expect_err(to)
    };
    text("\"okl\"", "\"olk\"");
    text("lambda", "lamdba");
    text("\"checksum\"", "\"checksun\"");
    text("[8,3]", "[9,3]");
    text("[8,3]", "[3,9]");
    text("\"U64\"", "\"X64\"");
    text("data_offsets", "data_offsetz");
    for nothing in [&b""[..], b"okl", &[0; 8], &[0xff; 64], &(u64::MAX - 7).to_le_bytes(), b"\x02\0\0\0\0\0\0\0{}"] {
        assert!(reason(nothing).is_err());
    }
}

/// The most this process has ever had mapped, in bytes; 0 where nobody says.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmPeak:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// What a small file claims is not believed: no memory is taken for it.
#[test]
fn claims_take_no_memory() {
    let before = peak();
    let empty = {
        let mut learner = learner("loss = 'softmax'\nkernel = 'linear'\nbudget = 'window:10'");
        learner.learn(&Batch::new(&[0.0; 3], 3)).unwrap();
        learner
    };
    let mut parts = Parts::of(&empty);
    parts.put("counts", 2, 1 << 28);
    _ = reason(&parts.bytes());
    let mut parts = Parts::of(&empty);
    parts.header.config.budget = Some(okl::budget::BudgetRule::Window { terms: usize::MAX / 2 });
    parts.header.classes = (0..2000).map(Label::from).collect();
    parts.resize("head.offsets", 6000);
    _ = reason(&parts.bytes());
    parts.header.config.classes = Some(parts.header.classes.clone());
    _ = reason(&parts.bytes());
    let mut header = (1u64 << 50).to_le_bytes().to_vec();
    header.extend_from_slice(&empty.to_bytes()[8..]);
    assert!(reason(&header).is_err());
    assert!(peak() - before < 512 << 20, "{} MiB", (peak() - before) >> 20);
}
