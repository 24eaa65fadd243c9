//! What is said to users: only what is true, and only advice that works.

use crate::support::{Folder, fail, flat, heavy_tails, json, numbers, okl, ring, succeed};

/// One bad cell in a column of numbers is not cured by options for text columns.
#[test]
fn a_bad_cell_gets_advice_that_works() {
    let folder = Folder::new("advice-cell");
    let good = folder.write("g.csv", ring(40));
    let bad = folder.write("b.csv", ring(40) + "0.5,nought,inside\n");
    let date = folder.write("d.csv", ring(40) + "0.5,2024-01-31,inside\n");
    let model = folder.path("m.okl");
    succeed(&["learn", &good, "--target", "where", "-o", &model, "--quiet"]);
    let learn = ["learn", "--target", "where", "--quiet"];
    for command in [&learn[..], &[&learn[..], &["--one-hot"]].concat(), &["predict", &model]] {
        for file in [&bad, &date] {
            let err = String::from_utf8(okl(&[command, &[file]].concat()).output().unwrap().stderr).unwrap();
            assert!(err.contains("line 42, column 'y'") && err.contains("expected a number"), "{err}");
            let encodes = command.contains(&"--one-hot") && file == &bad;
            assert_eq!(err.contains("--one-hot y;"), encodes, "{err}");
            assert!(!err.contains("--ignore"), "{err}");
        }
    }
    succeed(&[&learn[..], &["--one-hot", "y", &bad]].concat());
    // In the first row it is a column of text: then the options help.
    let text = folder.write("t.csv", "x,city,where\n1,Paris,a\n2,Rome,b\n");
    fail(&["learn", &text, "--target", "where"], 2, &["--one-hot", "--ignore city"]);
}

/// A file in which no feature of the model occurs gets no scores: all would be the same.
#[test]
fn a_file_without_any_known_feature_is_refused() {
    let folder = Folder::new("advice-names");
    let rows = |name: &str| (0..30).map(|i| format!("{} | {name}:{i}\n", 2 * (i % 2) - 1)).collect::<String>();
    let (data, other) = (folder.write("s.vw", rows("x")), folder.write("t.vw", rows("z")));
    let model = folder.path("m.okl");
    succeed(&["learn", &data, "-o", &model, "--quiet"]);
    let words = ["t.vw", "none of the features that the model knows", "knows x", "has z"];
    fail(&["predict", &model, &other], 1, &words);
    fail(&["learn", &data, "--quiet", "--test", &other], 1, &words);
    // One known feature somewhere in the file is enough, and so is a row without any feature.
    let some = folder.write("u.vw", rows("z") + "1 | x:2\n");
    assert_eq!(succeed(&["predict", &model, &some]).0.lines().count(), 32);
    assert_eq!(succeed(&["predict", &model, &folder.write("v.vw", "1 |\n")]).0.lines().count(), 2);
}

/// Nothing is written, and an older file is not replaced, when a file is refused because it does not have the features of the model.
#[test]
fn a_file_without_the_features_of_the_model_gets_no_score() {
    let folder = Folder::new("advice-no-score");
    let model = folder.path("m.okl");
    let rows = |name: &str| (0..1500).map(|i| format!("{} | {name}:{i}\n", 2 * (i % 2) - 1)).collect::<String>();
    let dense = |name: &str| (0..300).map(|i| format!("{{\"{name}\":{i},\"c\":{}}}\n", i % 2)).collect::<String>();
    let table = |name: &str| (0..300).map(|i| format!("{i},{}\n", i % 2)).fold(format!("{name},c\n"), |all, row| all + &row);
    let (a, b) = ([rows("x"), dense("x"), table("x")], [rows("z"), dense("z"), table("z")]);
    for ((known, other), ending) in a.iter().zip(&b).zip(["vw", "jsonl", "csv"]) {
        let data = folder.write(&format!("known.{ending}"), known);
        let other = folder.write(&format!("other.{ending}"), other);
        let target: &[&str] = if ending == "vw" { &[] } else { &["--target", "c"] };
        succeed(&[&["learn", &data, "-o", &model, "--quiet"], target].concat());
        let older = folder.write("scores.csv", "older");
        for to in ["-", &older] {
            let refused = okl(&["predict", &model, &other, "-o", to]).output().unwrap();
            assert!(!refused.status.success() && refused.stdout.is_empty(), "{ending}: {refused:?}");
        }
        assert_eq!(folder.read("scores.csv"), "older", "{ending}");
    }
}

/// A target that hardly changes from row to row, and features that say nothing about it.
#[test]
fn a_run_much_worse_than_no_change_says_so() {
    let folder = Folder::new("advice-no-change");
    let mut random = crate::support::Random(7);
    let rows: String = (0..400).map(|i| format!("{:.4},{}\n", random.next(), f64::from(i / 10))).collect();
    let data = folder.write("s.csv", format!("x,y\n{rows}"));
    let learn = ["learn", &data, "--target", "y", "--task", "numbers"];
    let all = json(&learn);
    let (error, no_change) = (&all["summary"]["windowed_error"], &all["summary"]["windowed_no_change_error"]);
    // The target grows by 1 every ten rows: 39 changes of 1 in 400 rows.
    assert_eq!(no_change.as_f64().unwrap(), 39.0 / 400.0);
    assert!(error.as_f64().unwrap() > 0.2, "{error}");
    let said = all["warnings"].to_string();
    assert!(said.contains("repeating the target of the row before gives 0.09750"), "{said}");
    assert!(said.contains("try it as one more feature") && !said.contains("--task"), "{said}");
    // Settings are named only if the command sets them.
    assert!(!said.contains("This run sets") && !said.contains("--step"), "{said}");
    let some = |more: &[&str]| json(&[&learn[..], more].concat())["warnings"].to_string();
    let said = some(&["--eta", "0.001", "--step", "constant", "--kernel", "gaussian:1"]);
    assert!(said.contains("This run sets step and gamma: if they are left out, okl finds them."), "{said}");
    let file = folder.write("c.toml", "lambda = 0.5\nstep = 'constant:0.001'\nscale = 'none'");
    let said = some(&["--config", &file, "--kernel", "linear"]);
    assert!(said.contains("This run sets step, lambda and scale: if they are left out"), "{said}");
    // Whole numbers that may be classes: the first thing to try is the other task.
    let said = json(&["learn", &data, "--target", "y"])["warnings"].to_string();
    assert!(said.contains("If the target is a class, learn with --task classes.") && !said.contains("feature"), "{said}");
    // A resumed model keeps its settings.
    let model = folder.path("m.okl");
    succeed(&[&learn[..], &["--step", "constant:0.001", "-o", &model, "--quiet"]].concat());
    let said = json(&["learn", &data, "--resume", &model])["warnings"].to_string();
    assert!(said.contains("as one more feature") && !said.contains("This run sets"), "{said}");
    // Not where a column has that target already.
    let mut last = 0;
    let rows = (0..400).map(|i| format!("{:.4},{},{}\n", random.next(), std::mem::replace(&mut last, i / 10), i / 10));
    let repeated = folder.write("p.csv", format!("x,prev,y\n{}", rows.collect::<String>()));
    let said =
        json(&["learn", &repeated, "--target", "y", "--task", "numbers", "--step", "constant:1e-5"])["warnings"].to_string();
    assert!(said.contains("repeating the target of the row before") && said.contains("column prev has that target"), "{said}");
    assert!(!said.contains("one more feature"), "{said}");
    // Not where the features explain the target.
    let fine = json(&["learn", &folder.write("n.csv", numbers(400)), "--target", "u,v"]);
    assert!(!fine["warnings"].to_string().contains("repeating the target"), "{fine}");
}

/// A misspelled column is answered with the column that was probably meant.
#[test]
fn a_column_in_another_spelling_is_suggested() {
    let folder = Folder::new("advice-spelling");
    let data = folder.write("s.csv", "Elevation,Cover_Type\n1,2\n");
    for name in ["cover_type", "Cover Type", "CoverType"] {
        fail(&["learn", &data, "--target", name], 2, &["did you mean Cover_Type?"]);
    }
    let other = okl(&["learn", &data, "--target", "cover"]).output().unwrap();
    assert!(!String::from_utf8(other.stderr).unwrap().contains("did you mean"));
}

/// A size that holds too few terms is refused with the flag, the size of a term and an example that works.
#[test]
fn too_little_memory_is_refused_with_an_example() {
    let folder = Folder::new("advice-memory");
    let data = folder.write("s.csv", ring(300));
    for size in ["1B", "1kb"] {
        fail(&["learn", &data, "--target", "where", "--memory", size], 2, &["--memory: 1", "too few", "as in --memory 1MB"]);
    }
    succeed(&["learn", &data, "--target", "where", "--memory", "1MB", "--quiet"]);
}

/// Bias is score minus target: above 0 where scores are too large.
#[test]
fn bias_says_what_it_is() {
    let folder = Folder::new("advice-bias");
    // The first score is 0, and the target is 5: the bias of one row is -5.
    let data = folder.write("s.csv", "x,y\n1,5.5\n");
    let learn = ["learn", &data, "--target", "y", "--task", "numbers"];
    assert_eq!(json(&learn)["summary"]["outputs"][0]["bias"], -5.5);
    let (_, err) = succeed(&learn);
    assert!(err.contains("bias: the mean of score minus target"), "{err}");
}

/// No line of the summary is cut off.
#[test]
fn the_summary_of_a_weighted_run_fits_its_lines() {
    let folder = Folder::new("advice-weight");
    let data = folder.write("s.csv", "x,w,y\n1,2,5.5\n2,0.5,6.5\n");
    let (_, err) = succeed(&["learn", &data, "--target", "y", "--task", "numbers", "--weight", "w"]);
    assert!(err.contains("  weight") && !err.contains('…'), "{err}");
    // Two targets, and a unit of the targets: longer lines are continued.
    let data = folder.write("n.csv", numbers(1100));
    let config =
        folder.write("c.toml", "target_scale = { fixed = { shift = [0, 0], factor = [0.5, 0.5] } }\nloss = 'epsilon:0.5'");
    let (_, err) = succeed(&["learn", &data, "--target", "u,v", "--config", &config]);
    let said = flat(&err);
    assert!(!err.contains('…') && err.lines().all(|line| line.chars().count() <= 80), "{err}");
    assert!(said.contains("over the last 1,000") && said.contains("of targets in units of target_scale"), "{err}");
}

#[test]
fn files_that_cannot_be_read_as_asked_say_why() {
    let folder = Folder::new("advice-files");
    let huge = folder.write("h.csv", "x,y\n1,2\n1e400,3\n");
    fail(&["learn", &huge, "--target", "y"], 1, &["line 3, column 'x': found '1e400'", "below 1e15"]);
    let huge = folder.write("h.csv", "x,y\n1,2\n1,1e400\n");
    fail(&["learn", &huge, "--target", "y"], 1, &["line 3, column 'y': found '1e400'"]);
    let returns = folder.write("r.csv", "x,y\r1,2\r3,4\r");
    fail(&["learn", &returns, "--target", "y"], 1, &["carriage return", "line feeds"]);
    let svm = folder.write("s.svm", "1 1:2\n-1 1:3\n");
    fail(&["learn", &svm, "--target", "y"], 2, &["--target y", "in front", "leave --target out"]);
}

#[test]
fn a_third_label_gets_advice_that_fits_it() {
    let folder = Folder::new("advice-label");
    let numbers = folder.write("n.csv", "x,y\n1,0.5\n2,1.5\n3,2.5\n");
    fail(&["learn", &numbers, "--target", "y", "--loss", "hinge", "--quiet"], 1, &["for a number --loss squared"]);
    let zero = folder.write("z.csv", "x,y\n1,0\n2,1\n3,01\n");
    fail(&["learn", &zero, "--target", "y", "--loss", "hinge", "--quiet"], 1, &["line 4", "written differently", "write 1"]);
}

/// Text is no number: the advice after a third class works.
#[test]
fn a_third_text_gets_no_advice_about_numbers() {
    let folder = Folder::new("advice-text");
    let texts = folder.write("t.csv", "x,y\n1,a\n2,b\n3,c\n");
    let learn = ["learn", &texts, "--target", "y", "--quiet", "--loss"];
    let output = okl(&[&learn[..], &["hinge"]].concat()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("for more use --loss max_margin;") && !said.contains("number"), "{said}");
    succeed(&[&learn[..], &["max_margin"]].concat());
    // Two texts in the rows from which the loss is chosen, and a third one later.
    let rows: String = (0..6000).map(|i| format!("{i},{}\n", if i == 5999 { "c" } else { ["a", "b"][i % 2] })).collect();
    let late = folder.write("l.csv", format!("x,y\n{rows}"));
    let learn = ["learn", &late, "--target", "y", "--quiet", "--kernel", "linear"];
    let output = okl(&learn).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("run again with --task classes;") && !said.contains("number"), "{said}");
    succeed(&[&learn[..], &["--task", "classes"]].concat());
}

/// A text in a column of numbers: the flag that is named reads the column as text, and those that are text already.
#[test]
fn a_text_among_numbers_names_the_columns_of_text() {
    let folder = Folder::new("advice-one-hot");
    let rows: String = (0..60).map(|i| format!("{},{},{}\n", ["4", "6"][i % 2], ["u", "v", "w"][i % 3], i % 7)).collect();
    let data = folder.write("c.csv", format!("cylinders,make,y\n{rows}rotary,u,3\n"));
    let learn = ["learn", &data, "--target", "y", "--quiet", "--one-hot"];
    let flag = "expected a number, as in earlier rows; correct it, or if the column has categories use --one-hot cylinders,make;";
    fail(&learn, 1, &["line 62, column 'cylinders'", flag]);
    fail(&[&learn[..], &["make"]].concat(), 1, &[flag]);
    succeed(&[&learn[..], &["cylinders,make"]].concat());
    // The columns of a model stay what they are.
    let (good, model) = (folder.write("g.csv", format!("cylinders,make,y\n{rows}")), folder.path("m.okl"));
    succeed(&["learn", &good, "--target", "y", "--one-hot", "-o", &model, "--quiet"]);
    let output = okl(&["predict", &model, &data]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("as in earlier rows; correct it") && !said.contains("--one-hot"), "{said}");
}

/// All that LIBSVM cannot express is said at once.
#[test]
fn the_refusal_to_export_lists_every_reason() {
    let folder = Folder::new("advice-export");
    let (data, model) = (folder.write("s.csv", ring(60)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "--loss", "hinge", "--kernel", "matern32:1", "-o", &model, "--quiet"]);
    fail(&["export", &model, "--to", "libsvm", "-o", &folder.path("m.svm")], 1, &["its kernel is matern32", "32-bit integers"]);
}

/// The figures of a continued run are those of its own rows, and it says which these are.
#[test]
fn a_continued_run_says_which_rows_its_figures_are_about() {
    let folder = Folder::new("advice-part");
    let (data, model, report) = (folder.write("s.csv", ring(40)), folder.path("m.okl"), folder.path("r.html"));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--quiet"]);
    folder.write("s.csv", ring(100));
    let go_on = ["learn", &data, "--resume", &model, "--continue", "--report", &report];
    let said = "Figures of 60 rows, lines 42 to 101; 40 rows were learned before.";
    let (_, err) = succeed(&go_on);
    assert!(err.contains(said), "{err}");
    assert!(folder.read("r.html").contains(said));
    assert!(folder.read("r.html").contains("--continue"), "the command can be repeated");
    let all = json(&[&go_on[..], &["-o", &model]].concat());
    assert_eq!((&all["rows_before"], &all["part"]), (&40.into(), &said.into()));
    let page = folder.read("r.html");
    assert!(!page.contains("--continue") && page.contains("cannot be repeated"), "its model was replaced");
    // Nothing is left.
    assert_eq!(json(&go_on)["part"], "No new rows; 100 rows were learned before.");
    let page = folder.read("r.html");
    assert!(page.contains("No new rows") && !page.contains("predicted wrongly"));
}

/// The unit of gamma is said only where the kernel has a gamma.
#[test]
fn a_kernel_without_a_width_has_no_unit_of_gamma() {
    let folder = Folder::new("advice-no-gamma");
    let data = folder.write("d.csv", ring(300));
    let said = |kernel: &str| succeed(&["learn", &data, "--target", "where", "--kernel", kernel]).1.replace("\n  ", " ");
    assert!(said("gaussian").contains("Columns are divided") && said("gaussian").contains("gamma is in"));
    assert!(said("linear").contains("Columns are divided") && !said("linear").contains("gamma is in"), "{}", said("linear"));
}

/// A key of JSON lines that appears after the rows from which units are found keeps its own unit.
#[test]
fn a_key_that_appears_later_is_not_said_to_be_divided() {
    let folder = Folder::new("advice-late-key");
    let said = |late: usize| {
        let key = |i: usize| if i >= late { format!(",\"late\":{}", i % 7) } else { String::new() };
        let row = |i: usize| format!("{{\"a\":{},\"y\":{}{}}}\n", (i * i) % 17, i % 11, key(i));
        let data = folder.write("d.jsonl", (0..60).map(row).collect::<String>());
        let learn = ["learn", &data, "--target", "y", "--kernel", "gaussian", "--warmup", "32"];
        flat(&succeed(&learn).1)
    };
    let own = "over the first 32 examples (a column that did not vary there, or appeared later, keeps its own unit);";
    assert!(said(40).contains(own), "{}", said(40));
    assert!(said(1).contains("over the first 32 examples; gamma"), "{}", said(1));
}

/// A quantile is far from the mean, so a small R² is no reason to change the unit of the targets.
#[test]
fn a_quantile_that_covers_what_was_asked_gets_no_advice_about_units() {
    let folder = Folder::new("advice-quantile");
    let mut state = 5u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut rows = String::from("a,b,y\n");
    for _ in 0..8000 {
        let (a, b) = (6.0 * unit() - 3.0, 6.0 * unit() - 3.0);
        let noise: f64 = (0..12).map(|_| unit()).sum::<f64>() - 6.0;
        rows += &format!("{a},{b},{}\n", 1000.0 + 50.0 * a.sin() + (10.0 + 5.0 * b.abs()) * noise);
    }
    let data = folder.write("q.csv", rows);
    let learn = ["learn", &data, "--target", "y", "--loss", "quantile:0.9", "-o", &folder.path("q.okl")];
    let (_, err) = succeed(&learn);
    let coverage = json(&learn)["summary"]["outputs"][0]["coverage"]["last"].as_f64().unwrap();
    assert!((coverage - 0.9).abs() < 0.03, "{coverage}");
    assert!(!err.contains("target_scale"), "{err}");
}

/// Scores of a model that single precision blurs are no better in another command: `predict`, `evaluate` and `export` say it, too.
#[test]
fn blurred_scores_are_said_wherever_there_are_scores() {
    let folder = Folder::new("advice-blurred");
    let rows: String = (0..300).map(|i| format!("{},{}\n", (i * 7919) % 20_000, i % 2)).collect();
    let (data, model) = (folder.write("b.csv", format!("x,y\n{rows}")), folder.path("m.okl"));
    let plain = ["--kernel", "gaussian:1", "--step", "constant:0.1", "--lambda", "0.01", "--loss", "squared", "--quiet"];
    let said = |more: &[&str]| {
        succeed(&[&["learn", &data, "--target", "y", "-o", &model], &plain[..], more].concat());
        let commands = [
            &["predict", &model, &data][..],
            &["evaluate", &model, &data],
            &["export", &model, "--to", "json", "-o", &folder.path("m.json")],
        ];
        let [predict, evaluate, export] = commands.map(|command| flat(&succeed(command).1).contains("single precision blurs"));
        assert_eq!(predict, export);
        assert_eq!(predict, evaluate);
        assert_eq!(predict, json(&["evaluate", &model, &data])["warnings"].to_string().contains("single precision blurs"));
        predict
    };
    assert!(said(&["--scale", "none"]) && !said(&["--scale", "standard"]));
}

/// Targets with heavy tails that are independent of all: the model fails, but to repeat the target of the row before is worse than a constant.
#[test]
fn to_repeat_the_target_before_is_advised_only_where_it_helps() {
    let folder = Folder::new("advice-heavy");
    let (text, targets) = heavy_tails(1500);
    let data = folder.write("heavy.csv", text);
    let learn = ["learn", &data, "--target", "y", "--loss", "squared", "--kernel", "gaussian:1", "--step", "constant:1"];
    let of = |more: &[&str]| {
        let all = json(&[&learn[..], more].concat());
        (all["summary"].clone(), all["warnings"].to_string())
    };
    let (summary, said) = of(&[]);
    let number = |name: &str| summary[name].as_f64().unwrap();
    assert!(number("windowed_error") > 2.0 * number("windowed_no_change_error"), "the case occurs: {summary}");
    assert!(!said.contains("repeating the target") && !said.contains("try it as one more feature"), "{said}");
    // The median of the targets before each row, of the 1,000 latest ones; 0 for the first row.
    let median = |before: &[f64]| {
        let mut sorted = before[before.len().saturating_sub(1000)..].to_vec();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => 0.0,
            n => 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]),
        }
    };
    let errors = (500..1500).map(|row| (targets[row] - median(&targets[..row])).abs());
    let expected = okl_cli::metrics::figure(errors.sum::<f64>() / 1000.0);
    assert!(said.contains(&format!("the median of up to 1,000 targets before each row gives {expected}.")), "{said}");
    assert!(said.contains("This run sets step and gamma: if they are left out, okl finds them."), "{said}");
    // In a random order the row before is a random row, whatever the file is.
    let (summary, said) = of(&["--shuffle", "1"]);
    assert!(summary["windowed_error"].as_f64() > summary["windowed_no_change_error"].as_f64().map(|error| 2.0 * error));
    assert!(!said.contains("repeating the target") && !said.contains("row before gives"), "{said}");
}
