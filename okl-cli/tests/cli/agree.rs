//! What one command says agrees with the file, with the data and with what another command says.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{Folder, Random, fail, flat, json, numbers, okl, ring, succeed};

fn inspected(model: &str) -> Value {
    serde_json::from_str(&succeed(&["inspect", model, "--json"]).0).unwrap()
}

/// The certificates follow from the file alone, so `learn` and `inspect` state the same. The budget `certified` always states its bound.
#[test]
fn learn_and_inspect_state_the_same_certificates() {
    let folder = Folder::new("agree-certificates");
    let (data, model) = (folder.write("ring.csv", ring(600)), folder.path("m.okl"));
    let plain = ["learn", &data, "--target", "where", "--gamma", "1", "--loss", "hinge", "-o", &model];
    for (budget, step, lambda, scale) in [
        ("window:100", "constant:0.5", "0.1", "none"),
        ("window:10", "constant:1", "0.00001", "none"),
        ("certified:0.5", "constant:0.1", "0.01", "standard"),
        ("certified:0.5", "constant:0.1", "0.01", "none"),
    ] {
        let out = json(&[&plain[..], &["--budget", budget, "--step", step, "--lambda", lambda, "--scale", scale]].concat());
        let found = inspected(&model);
        assert_eq!(out["certificates"], found["certificates"], "{budget}");
        if budget.starts_with("certified") {
            assert!(out["certificates"].to_string().contains("can change a score by at most"), "{out}");
        }
    }
}

/// Classes True and False, as pandas writes them: a weight by that name is the weight of the class.
#[test]
fn weights_of_classes_are_matched_as_labels_are() {
    let folder = Folder::new("agree-weights");
    let data = folder.write("b.csv", ring(300).replace("inside", "True").replace("outside", "False"));
    let of = |weights: &str| json(&["learn", &data, "--target", "where", "--class-weight", weights]);
    let [given, written] = [of("True=10"), of("true=10")];
    assert_eq!(given["summary"], written["summary"]);
    assert_ne!(
        given["summary"]["classes"]["per_class"],
        json(&["learn", &data, "--target", "where"])["summary"]["classes"]["per_class"]
    );
    assert!(!given["warnings"].to_string().contains("--class-weight"), "{given}");
}

/// Rows that are independent and alike are not called unlike the rows before them; norma is named instead.
#[test]
fn a_missed_alert_rate_has_its_reason() {
    let folder = Folder::new("agree-rate");
    let (mut random, mut text) = (Random(9), String::from("a,b,c\n"));
    for _ in 0..3000 {
        let [a, b, c] = [(); 3].map(|()| (0..6).map(|_| random.next() - 0.5).sum::<f64>());
        writeln!(text, "{a:.4},{b:.4},{c:.4}").unwrap();
    }
    let data = folder.write("iid.csv", text);
    let of =
        |more: &[&str]| json(&[&["learn", &data, "--loss", "nu_novelty", "--nu", "0.01"], more].concat())["warnings"].to_string();
    let norma = of(&["--threshold", "norma"]);
    assert!(norma.contains("The threshold norma does not hold the rate") && norma.contains("--threshold tracker"), "{norma}");
    assert!(!norma.contains("unlike the rows before them"), "{norma}");
}

/// Where the model is saved that learned the rows in a random order, warnings are those of that model; they name columns of the data.
#[test]
fn warnings_are_those_of_the_saved_model_and_name_columns_of_the_data() {
    let folder = Folder::new("agree-health");
    let mut text = String::from("when,x,y\n");
    for i in 0..1500 {
        let x = f64::from(i % 97) / 97.0;
        let day = 1.0 + f64::from(i % 28);
        writeln!(text, "{:04}-{:02}-{day:02}T00:00:00Z,{x:.4},{:.4}", 1900 + i / 12, 1 + i % 12, f64::from(i) / 300.0 + x)
            .unwrap();
    }
    let (data, model) = (folder.write("t.csv", text), folder.path("m.okl"));
    let learn = [
        "learn", &data, "--target", "y", "--task", "numbers", "--time", "when", "--scale", "standard", "--kernel", "gaussian",
        "-o", &model,
    ];
    let of = |which: &str| json(&[&learn[..], &["--save-model", which]].concat())["health"].clone();
    let (recent, said) = (of("recent"), inspected(&model)["health"].clone());
    assert!(recent.to_string().contains("column 'when elapsed days' (made from the column 'when'; --ignore when "), "{recent}");
    assert_eq!(recent, said);
    let all = of("all");
    assert_eq!(all, inspected(&model)["health"]);
    assert!(!all.to_string().contains("when elapsed days"), "{all}");
}

/// `rows` counts the rows of all runs once, and no header; a frozen member says whose figures it has.
#[test]
fn inspect_counts_rows_and_says_whose_figures_they_are() {
    let folder = Folder::new("agree-inspect");
    let (data, model, frozen) = (folder.write("r.csv", ring(500)), folder.path("m.okl"), folder.path("f.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--save-model", "recent"]);
    assert_eq!(inspected(&model)["rows"], 500);
    succeed(&["learn", &data, &data, "--resume", &model, "--passes", "2", "-o", &model]);
    assert_eq!(inspected(&model)["rows"], 1500);
    let bank = succeed(&["inspect", &model]).0;
    succeed(&["freeze", &model, "-o", &frozen]);
    let (told, plain) = (succeed(&["inspect", &frozen]).0, inspected(&frozen));
    let words = flat(&told);
    assert!(words.contains("examples were predicted by the bank from which this member was frozen"), "{told}");
    assert!(!bank.contains("was frozen") && plain["frozen_after"] == inspected(&model)["examples"], "{plain}");
}

/// With a step size for each weight, their median and range.
#[test]
fn inspect_has_the_range_of_the_step_sizes() {
    let folder = Folder::new("agree-steps");
    let (data, model) = (folder.write("n.csv", numbers(300)), folder.path("m.okl"));
    let settings = ["--kernel", "linear", "--lambda", "0", "--step", "smd:eta=0.01,per=coordinate"];
    succeed(&[&["learn", &data, "--target", "u", "--features", "a,b,c", "-o", &model], &settings[..]].concat());
    let (told, words) = (inspected(&model), succeed(&["inspect", &model]).0);
    let [least, median, largest] = ["least", "median", "largest"].map(|name| told["step_sizes"][name].as_f64().unwrap());
    assert!(least < largest && (least..=largest).contains(&median) && told["eta"] == median, "{told}");
    assert!(words.contains("(median; from ") && words.contains("over the weights)"), "{words}");
}

/// A share of targets outside the tube is not a rate of alerts.
#[test]
fn a_regression_has_no_alert_rate() {
    let folder = Folder::new("agree-tube");
    let (data, model) = (folder.write("n.csv", numbers(300)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "u", "--features", "a,b,c", "--loss", "nu_epsilon", "--nu", "0.2", "-o", &model]);
    let told = inspected(&model);
    assert!(told["alert_rate"].is_null() && told["outside_rate"]["nu"] == 0.2, "{told}");
}

#[test]
fn a_quantile_has_one_target() {
    let folder = Folder::new("agree-quantile");
    let data = folder.write("two.csv", "a,u,v\n1,2,3\n2,3,4\n");
    fail(&["learn", &data, "--target", "u,v", "--loss", "quantile:0.9"], 2, &["--target u,v", "quantile", "has one target"]);
}

/// Figures on rows that were learned are not those of new rows.
#[test]
fn a_test_file_that_was_learned_is_named() {
    let folder = Folder::new("agree-test");
    let text = ring(200);
    let (head, rows) = text.split_once('\n').unwrap();
    let others: Vec<&str> = std::iter::once(head).chain(rows.lines().rev()).collect();
    let (data, copy) = (folder.write("r.csv", &text), folder.write("c.csv", &text));
    let others = folder.write("o.csv", others.join("\n"));
    let said = |test: &str| json(&["learn", &data, "--target", "where", "--test", test])["warnings"].to_string();
    let often = |test: &str| said(test).matches("the model has learned these rows").count();
    assert_eq!([often(&data), often(&copy), often(&others)], [1, 1, 0]);
}

/// One of several targets is text: the advice says what is possible.
#[test]
fn text_among_several_targets_is_learned_alone() {
    let folder = Folder::new("agree-mixed");
    let text: String = (0..60).map(|i| format!("{},{},{}\n", i % 7, ["cat", "dog"][i % 2], 2000 + i)).collect();
    let data = folder.write("m.csv", format!("a,kind,year\n{text}"));
    let output = crate::support::okl(&["learn", &data, "--target", "kind,year"]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        err.contains("column 'kind'") && err.contains("several targets are all numbers") && err.contains("learn it alone"),
        "{err}"
    );
    assert!(!output.status.success() && !err.contains("max_margin") && !err.contains("skip"), "{err}");
    succeed(&["learn", &data, "--target", "kind", "--ignore", "year"]);
}

/// A name with a comma is in double quotes in every list.
#[test]
fn classes_with_commas_are_named_in_quotes() {
    let folder = Folder::new("agree-commas");
    let text: String = (0..80).map(|i| format!("{},{}\n", i % 8, if i % 8 < 4 { "\"a,b\"" } else { "c" })).collect();
    let (data, model) = (folder.write("c.csv", format!("x,y\n{text}")), folder.path("m.okl"));
    succeed(&[
        "learn",
        &data,
        "--target",
        "y",
        "--classes",
        "\"a,b\",c",
        "--class-weight",
        "\"a,b\"=2,c=1",
        "--quiet",
        "-o",
        &model,
    ]);
    let out = json(&["inspect", &model]);
    assert_eq!(out["classes"], serde_json::json!(["a,b", "c"]), "{out}");
    assert_eq!(out["config"]["class_weight"], serde_json::json!({ "a,b": 2.0, "c": 1.0 }));
    // The refusal shows the form of the flag.
    fail(&["learn", &data, "--target", "y", "--class-weight", "a,b=2"], 2, &["spam=10"]);
}

/// A feature that is made from a column can be left out with its column: its description, which warnings begin with, says so.
#[test]
fn a_warning_about_a_made_feature_names_what_can_be_left_out() {
    let names = okl_cli::input::Schema {
        features: okl_cli::input::Features::Named(vec![okl_cli::input::Feature {
            column: "when".into(),
            part: Some(okl_cli::input::Part::Elapsed(0)),
            ..Default::default()
        }]),
        ..Default::default()
    };
    assert!(names.source(0).contains("--ignore when leaves out all that is made from it"), "{:?}", names.source(0));
}

/// A target is no feature: --ignore and --features cannot name it. Flags of a run are no settings of a model.
#[test]
fn a_column_has_one_use_and_a_run_has_its_flags() {
    let folder = Folder::new("one-use");
    let data = folder.write("d.csv", "x,y\n1,a\n2,b\n3,a\n");
    fail(&["learn", &data, "--target", "y", "--ignore", "y"], 2, &["--target and --ignore both name the column 'y'"]);
    fail(&["learn", &data, "--target", "y", "--features", "x,y"], 2, &["--target and --features both name the column 'y'"]);
    let config = folder.write("c.toml", "passes = 3\n");
    fail(&["learn", &data, "--target", "y", "--config", &config], 2, &["passes belongs to the run", "give --passes"]);
}

/// Text labels are what LIBSVM cannot express, so advice about kernels would not help. Bytes are shown as they were given.
#[test]
fn advice_and_figures_are_about_what_was_given() {
    let folder = Folder::new("about-it");
    let rows: String = (0..60).map(|i| format!("{},{}\n", i % 7, if i % 7 > 3 { "up" } else { "down" })).collect();
    let (data, model) = (folder.write("d.csv", format!("x,c\n{rows}")), folder.path("m.okl"));
    succeed(&[
        "learn",
        &data,
        "--target",
        "c",
        "--gamma",
        "0.5",
        "--scale",
        "none",
        "--step",
        "constant:0.5",
        "--lambda",
        "0.001",
        "-o",
        &model,
    ]);
    let output = okl(&["export", &model, "--to", "libsvm", "-o", "-"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("labels are 32-bit integers"), "{said}");
    assert!(said.contains("with whole numbers as labels") && !said.contains("--gamma"), "{said}");
    succeed(&["learn", &data, "--target", "c", "--memory", "300MB", "-o", &model]);
    let inspected = succeed(&["inspect", &model]).0;
    assert!(inspected.lines().any(|line| line.contains("memory") && line.ends_with("300000000")), "{inspected}");
}

/// Error and accuracy of the summary add up to 100 %, however they are rounded. The error of several targets is said to be a mean of several units.
#[test]
fn figures_of_a_summary_fit_together() {
    let folder = Folder::new("fit-together");
    let mut random = Random(2);
    for rows in [7, 37, 163, 2400] {
        let line = |random: &mut Random| format!("{:.3},{}\n", random.next(), if random.next() > 0.6 { "a" } else { "b" });
        let text: String = (0..rows).map(|_| line(&mut random)).collect();
        let said = succeed(&["learn", &folder.write("d.csv", format!("x,c\n{text}")), "--target", "c"]).1;
        let shown = |name: &str| -> i64 {
            let line = said.lines().find(|line| line.starts_with(name)).unwrap();
            let text = line[name.len()..].split('%').next().unwrap().trim();
            let (whole, part) = text.split_once('.').unwrap_or((text, ""));
            format!("{whole}{part:0<3}").parse().unwrap()
        };
        assert_eq!(shown("error ") + shown("accuracy "), 100_000, "{said}");
    }
    let several =
        folder.write("s.csv", (0..30).fold(String::from("x,mm,g\n"), |text, i| text + &format!("{i},{i}.5,{}.5\n", 100 * i)));
    let said = succeed(&["learn", &several, "--target", "mm,g"]).1;
    assert!(said.contains("mean of the MAEs below, each in its unit"), "{said}");
}
