//! Members of a bank: what tells them apart, which of them `okl freeze` writes, and what the frozen one is said to have lost.

use std::fmt::Write as _;

use crate::support::{Folder, Random, flat, json, ring, succeed};

fn inspected(model: &str) -> String {
    flat(&succeed(&["inspect", model]).0)
}

/// Rows of three columns and their target, with little noise.
fn target_of(rows: usize, target: impl Fn([f64; 3]) -> f64) -> String {
    let mut random = Random(3);
    let mut text = String::from("a,b,c,u\n");
    for _ in 0..rows {
        let [a, b, c, noise] = [(); 4].map(|()| random.next());
        writeln!(text, "{a:.4},{b:.4},{c:.4},{:.4}", target([a, b, c]) + 0.3 * (noise - 0.5)).unwrap();
    }
    text
}

/// Of this target only the first column matters, so that columns get weights after 512 examples.
fn first_column(rows: usize) -> String {
    target_of(rows, |[a, ..]| 3.0 * (6.0 * a).sin())
}

/// Two classes that overlap, so that no member leads for long.
fn noisy_classes(rows: usize) -> String {
    let numbers = target_of(rows, |[a, b, c]| if (6.0 * a).sin() + b > 0.8 + 0.4 * c { 0.1 } else { -0.1 });
    let class = |row: &str| row.rsplit_once(',').map(|(x, y)| format!("{x},{}\n", if y.starts_with('-') { "no" } else { "yes" }));
    format!("a,b,c,where\n{}", numbers.lines().skip(1).filter_map(class).collect::<String>())
}

/// A bank with fewer terms than its budget has dropped none. The frozen member has its own part of what the bank left out, and is said to have lost
/// the same things.
#[test]
fn a_frozen_member_has_lost_what_it_lost_in_its_bank() {
    let folder = Folder::new("members-frozen");
    let (data, bank, plain) = (folder.write("r.csv", noisy_classes(900)), folder.path("b.okl"), folder.path("p.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &bank, "--quiet"]);
    succeed(&["freeze", &bank, "-o", &plain]);
    let (of_bank, of_plain) = (inspected(&bank), inspected(&plain));
    assert!(json(&["inspect", &plain])["truncation_error"].as_f64().unwrap() > 0.0, "{of_plain}");
    assert!(of_bank.contains("No term has been dropped or merged. The settings that learn in parallel share"), "{of_bank}");
    assert!(of_plain.contains("No term has been dropped or merged. This model was a member of a bank"), "{of_plain}");
    assert!(!of_plain.contains("Terms dropped or merged"), "{of_plain}");
    // With a small budget, terms were merged in the bank, and are not in the frozen model either.
    succeed(&["learn", &data, "--target", "where", "-o", &bank, "--budget", "merge:20", "--quiet"]);
    succeed(&["freeze", &bank, "-o", &plain]);
    let of_plain = inspected(&plain);
    assert!(
        of_plain.contains("Terms dropped or merged, and parts of updates that this member of a bank could not"),
        "{of_plain}"
    );
    // A copy of a plain model is no member of a bank, and no bank predicted its rows.
    succeed(&[
        "learn",
        &data,
        "--target",
        "where",
        "--kernel",
        "gaussian:1",
        "--step",
        "constant:0.5",
        "--lambda",
        "0.001",
        "-o",
        &bank,
    ]);
    succeed(&["freeze", &bank, "-o", &plain]);
    let (of_plain, told) = (inspected(&plain), json(&["inspect", &plain]));
    assert!(!of_plain.contains("bank") && told["frozen_after"].is_null(), "{of_plain}");
}

/// Certificates begin anew where weights of columns change. No term was dropped before that either, and the sentence names no example.
#[test]
fn a_bank_that_dropped_nothing_says_so_without_an_example() {
    let folder = Folder::new("members-all");
    let (data, model, plain) = (folder.write("n.csv", first_column(900)), folder.path("m.okl"), folder.path("p.okl"));
    succeed(&["learn", &data, "--target", "u", "-o", &model, "--quiet"]);
    let (said, told) = (inspected(&model), json(&["inspect", &model]));
    assert_eq!((&told["terms"], &told["weight_changes"]["last_after_example"]), (&900.into(), &512.into()), "{said}");
    assert!(said.contains("No term has been dropped or merged. Columns in which"), "{said}");
    // The frozen member is not said to be exact: its certificate begins at example 512, too.
    succeed(&["freeze", &model, "-o", &plain]);
    let said = inspected(&plain);
    assert!(said.contains("No term has been dropped or merged") && !said.contains("cores have no truncation error"), "{said}");
}

/// `okl inspect` and `okl freeze` describe the leading member with the same words: its kernel, and whether it reads weighted columns.
#[test]
fn the_member_that_freeze_writes_is_marked() {
    let folder = Folder::new("members-marked");
    let (model, plain) = (folder.path("m.okl"), folder.path("p.okl"));
    let (weighted, ring) = (folder.write("n.csv", first_column(900)), folder.write("r.csv", ring(600)));
    for (data, target, more) in [(&weighted, "u", None), (&ring, "where", None), (&weighted, "u", Some("manhattan"))] {
        let kernel = more.map_or(vec![], |kernel| vec!["--kernel", kernel]);
        succeed(&[&["learn", data, "--target", target, "-o", &model, "--quiet"][..], &kernel].concat());
        let said = inspected(&model);
        let frozen = flat(&succeed(&["freeze", &model, "-o", &plain]).1);
        let member = frozen.split_once(": ").unwrap().1.split_once(", which had").unwrap().0;
        assert!(said.contains(&format!("{member} (okl freeze writes this one)")), "{member}\n{said}");
        assert!(member.contains("gamma=") || member.contains("linear"), "{member}");
        let weighted = json(&["inspect", &plain])["config"]["relevance"].is_array();
        assert_eq!(member.contains("columns weighted"), weighted, "{member}");
        // Settings that learn in parallel take proximal steps, and so does the one that is frozen.
        for model in [&model, &plain] {
            assert_eq!(json(&["inspect", model])["config"]["implicit"], true);
        }
    }
}

/// Two kernels of a bank may have the same gamma, as far as it is shown: then members have the number of their kernel.
#[test]
fn members_with_the_same_settings_are_told_apart() {
    let folder = Folder::new("members-apart");
    let (data, model) = (folder.write("r.csv", ring(300)), folder.path("m.okl"));
    let settings = [
        "--kernel",
        "gaussian:0.123456781,gaussian:0.123456782",
        "--step",
        "constant:0.5",
        "--lambda",
        "0.001",
        "--loss",
        "hinge",
    ];
    succeed(&[&["learn", &data, "--target", "where", "-o", &model, "--quiet"][..], &settings].concat());
    let said = inspected(&model);
    let first = "gaussian:gamma=0.1235, kernel 1 of 2 (okl freeze writes this one); 50.00 %";
    assert!(said.contains(first) && said.contains("gaussian:gamma=0.1235, kernel 2 of 2"), "{said}");
}

/// The unit of gamma is said where a gamma is shown, and only there.
#[test]
fn the_unit_of_gamma_needs_a_gamma() {
    let folder = Folder::new("members-gamma");
    let linear = folder.write("l.csv", target_of(900, |[a, b, c]| 3.0 * a + b - 2.0 * c));
    let said = flat(&succeed(&["learn", &linear, "--target", "u"]).1);
    let (_, said) = said.split_once("of the weight is on ").unwrap();
    assert!(said.contains(" linear") && said.contains("examples. ") && !said.contains("gamma"), "{said}");
    // Three widths of one kernel compete.
    let said = flat(&succeed(&["learn", &linear, "--target", "u", "--kernel", "manhattan"]).1);
    let (_, said) = said.split_once("of the weight is on ").unwrap();
    assert!(said.contains(" manhattan:gamma=") && said.contains("gamma is in these units"), "{said}");
}
