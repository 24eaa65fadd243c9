//! What is refused: one or two lines that name file, row, column, what was found and what to do; and no panic on any input.

use crate::support::{Folder, fail, flat, json, okl, ring, succeed};

#[test]
fn settings_and_names() {
    let folder = Folder::new("errors");
    let good = folder.write("good.csv", ring(20));
    let bad = folder.write("bad.csv", "x,y,where\n1,2,a\n1,oops,b\n");
    fail(&["learn", &folder.path("none.csv"), "--target", "y"], 1, &["none.csv", "no such file"]);
    fail(&["learn", &good], 2, &["--target"]);
    fail(&["learn", &good, "--target", "nowhere"], 2, &["nowhere", "x, y, where"]);
    fail(&["learn", &bad, "--target", "where"], 1, &["bad.csv, line 3, column 'y'", "'oops'", "correct it"]);
    fail(&["learn", &good, "--ignore", "where", "--loss", "nu_novelty", "--offset"], 2, &["offset"]);
    for detector in [["--task", "novelty"], ["--loss", "nu_novelty"]] {
        let words = ["--target where: a novelty detector learns no target", "--ignore where"];
        fail(&[&["learn", &good, "--target", "where"][..], &detector].concat(), 2, &words);
    }
    fail(&["learn", &good, "--target", "where", "--step", "constantt:1"], 2, &["constantt", "constant"]);
    let names: Vec<String> = (0..50).map(|i| format!("p{i}")).collect();
    let many = folder.write("many.csv", format!("{},digit\n{}7\n", names.join(","), "0,".repeat(50)));
    fail(&["learn", &many, "--target", "label"], 2, &["no column 'label'", "p0, p1, ", ", digit (51 in all)"]);
    let wide = folder.write("wide.csv", "a,b,c\n1,2,3\n");
    fail(&["learn", &wide, "--target", "a,b", "--task", "classes"], 2, &["--target a,b", "one target"]);
    fail(&["learn", &good, "--target", "where", "--config", &folder.path("no.toml")], 1, &["no.toml", "cannot be read"]);
    fail(&["inspect", &good], 1, &["not a model"]);
    let model = folder.path("m.okl");
    succeed(&["learn", &good, "--target", "where", "--quiet", "-o", &model]);
    fail(&["export", &model, "--to", "libsvm", "-o", &folder.path("m.txt")], 1, &["onnx"]);
    fail(&["predict", &model, &folder.write("other.csv", "x,z\n1,2\n")], 2, &["column 'y' is missing", "x, z"]);
}

/// Without a card these are all the devices; with one, card number 4711 is still missing.
#[test]
fn devices_that_are_not_there() {
    let folder = Folder::new("devices");
    let (good, model) = (folder.write("good.csv", ring(20)), folder.path("m.okl"));
    fail(&["learn", &good, "--target", "where", "--device", "abacus"], 2, &["--device abacus", "cuda:N"]);
    fail(&["learn", &good, "--target", "where", "--device", "cuda:4711"], 2, &["--device cuda:4711", "on this machine", "4711"]);
    succeed(&["learn", &good, "--target", "where", "--quiet", "-o", &model, "--device", "cpu"]);
    fail(&["predict", &model, &good, "--device", "cuda:4711"], 2, &["--device cuda:4711"]);
    succeed(&["predict", &model, &good, "--device", "cpu"]);
}

#[test]
fn files_that_are_no_tables() {
    let folder = Folder::new("tables");
    let args = |path: &str| vec!["learn".to_owned(), path.to_owned(), "--target".into(), "y".into()];
    let refuse = |name: &str, bytes: &[u8], words: &[&str]| {
        let args = args(&folder.write(name, bytes));
        fail(&args.iter().map(String::as_str).collect::<Vec<_>>(), 1, &[&[name][..], words].concat());
    };
    let garbage: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for name in ["g.csv", "g.svm", "g.jsonl", "g.vw", "g", "g.parquet", "g.csv.gz"] {
        refuse(name, &garbage, &[]);
        refuse(name, b"", &[]);
    }
    refuse("b.csv", &garbage, &["binary data"]);
    for (magic, words) in [(&b"\xfd7zXZ\0"[..], "compressed with xz"), (b"BZh91AY&SY\0", "bzip2"), (b"PK\x03\x04", "zip archive")]
    {
        refuse("b.csv", &[magic, &garbage].concat(), &[words]);
    }
    refuse("e.csv", b"", &["empty"]);
    refuse("h.csv", b"a,y\n", &["a header and no rows"]);
    refuse("r.csv", b"a,b,y\n1,2,3\n1,2\n", &["line 3", "found 2 columns, expected 3", "--on-bad-row skip"]);
    refuse("i.csv", b"a,y\n1,2\ninf,3\n", &["line 3, column 'a'", "inf", "a finite number", "--on-bad-row skip"]);
    refuse("n.csv", b"a,y\n1,2\nNaN,3\n", &["line 3, column 'a'", "missing", "--on-bad-row skip"]);
    refuse("l.csv", b"a,y\n1,2\n1e300,3\n", &["line 3, column 'a'", "1e300", "1e15", "rescale"]);
    let twice = folder.write("d.csv", "a,a,y\n1,2,3\n");
    fail(&["learn", &twice, "--target", "y"], 2, &["columns 1 and 2 are both named 'a'", "rename"]);
}

#[test]
fn labels_that_appear_late() {
    let folder = Folder::new("late");
    let rows: String =
        (0..2000).map(|i| format!("{},{}\n", i % 10, if i == 1900 { "third" } else { ["a", "b"][i % 2] })).collect();
    let data = folder.write("late.csv", format!("x,y\n{rows}"));
    fail(&["learn", &data, "--target", "y", "--quiet"], 1, &["late.csv, line 1902, column 'y': found third", "--task classes"]);
    let out = json(&["learn", &data, "--target", "y", "--loss", "max_margin"]);
    assert_eq!(out["summary"]["classes"]["known"], 3);
    fail(
        &["learn", &data, "--target", "y", "--quiet", "--loss", "max_margin", "--classes", "a,b"],
        1,
        &["line 1902", "third", "a, b"],
    );
}

#[test]
fn a_target_that_is_constant() {
    let folder = Folder::new("constant");
    for (name, value) in [("text.csv", "same"), ("number.csv", "2.5")] {
        let data = folder.write(name, format!("x,y\n{}", (0..50).map(|i| format!("{i},{value}\n")).collect::<String>()));
        assert_eq!(json(&["learn", &data, "--target", "y"])["summary"]["examples"], 50);
        let (_, err) = succeed(&["learn", &data, "--target", "y"]);
        assert!(err.contains("the target has only one value") && !err.contains("--task"), "{err}");
    }
    // A whole number may be a class or a number.
    let whole = folder.write("whole.csv", "x,y\n1,2\n3,2\n");
    let said = |more: &[&str]| succeed(&[&["learn", &whole, "--target", "y"], more].concat()).1.contains("--task numbers");
    assert!(said(&[]) && !said(&["--task", "classes"]) && !said(&["--loss", "hinge"]));
    let data = folder.path("number.csv");
    assert!(json(&["learn", &data, "--target", "y", "--task", "numbers"])["summary"]["outputs"][0]["r2"].is_null());
}

#[test]
fn targets_that_do_not_fit_the_loss() {
    let folder = Folder::new("fit");
    let data = folder.write("t.csv", "x,y\n1,2\n2,two\n");
    fail(
        &["learn", &data, "--target", "y", "--loss", "squared", "--quiet"],
        1,
        &["t.csv, line 3, column 'y': found 'two'", "a number"],
    );
}

/// A row with other features takes an id over, and the summary says so; the one number that is no id is refused.
#[test]
fn ids_that_name_two_rows() {
    let folder = Folder::new("ids-taken-over");
    let ids = folder.write("ids.csv", "x,y,id\n1,2,7\n2,3,7\n2,3,7\n4,3,8\n5,1,7\n");
    let (_, said) = succeed(&["learn", &ids, "--target", "y", "--task", "numbers", "--id", "id"]);
    assert!(said.contains("2 of 5 rows had the id of a stored term with other features"), "{said}");
    let last = folder.write("last.csv", "x,y,id\n1,2,7\n2,3,18446744073709551615\n");
    fail(
        &["learn", &last, "--target", "y", "--task", "numbers", "--id", "id", "--quiet"],
        1,
        &["last.csv, line 3: id 18446744073709551615 is reserved"],
    );
}

#[test]
fn rows_without_a_target_are_only_predicted() {
    let folder = Folder::new("predict-only");
    let data = folder.write("t.csv", "x,y\n1,1\n2,\n3,3\n4,?\n");
    let out = json(&["learn", &data, "--target", "y", "--task", "numbers"]);
    assert_eq!((&out["summary"]["rows"], &out["summary"]["examples"]), (&4.into(), &2.into()));
}

#[test]
fn an_output_that_names_an_input_is_refused_before_anything_is_written() {
    let folder = Folder::new("clash");
    let text = ring(60);
    let (data, test, model) = (folder.write("ring.csv", &text), folder.write("test.csv", &text), folder.path("m.okl"));
    let config = folder.write("okl.toml", "loss = 'hinge'");
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &model]);
    let before = std::fs::read(&model).unwrap();
    let learn = ["learn", &data, "--target", "where", "--quiet", "--test", &test, "--config", &config];
    let dotted =
        folder.path("./../") + std::path::Path::new(&folder.path("")).file_name().unwrap().to_str().unwrap() + "/ring.csv";
    let mut names = vec![data.clone(), dotted];
    #[cfg(unix)]
    {
        let (link, hard) = (folder.path("link.csv"), folder.path("hard.csv"));
        std::os::unix::fs::symlink("ring.csv", &link).unwrap();
        std::fs::hard_link(&data, &hard).unwrap();
        names.extend([link, hard]);
    }
    for flag in ["--predictions", "--report", "-o"] {
        for name in &names {
            fail(&[&learn[..], &[flag, name]].concat(), 2, &["overwrite the data", "another name"]);
        }
        fail(&[&learn[..], &[flag, &test]].concat(), 2, &["overwrite the file of --test"]);
        fail(&[&learn[..], &[flag, &config]].concat(), 2, &["overwrite the file of --config"]);
    }
    for flag in ["--predictions", "--report"] {
        fail(&["learn", &data, "--resume", &model, flag, &model], 2, &["overwrite the model of --resume"]);
    }
    let new = folder.path("new");
    fail(&[&learn[..], &["--report", &new, "--predictions", &new]].concat(), 2, &["--report and --predictions both write"]);
    fail(&["predict", &model, &data, "-o", &data], 2, &["overwrite the data"]);
    fail(&["predict", &model, &data, "-o", &model], 2, &["overwrite the model"]);
    fail(&["export", &model, "--to", "json", "-o", &model], 2, &["overwrite the model"]);
    let mut piped = okl(&["learn", "-", "--target", "where", "--quiet", "-o", &data]);
    let output = piped.stdin(std::fs::File::open(&data).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "the file behind standard input");
    assert!(folder.read("ring.csv") == text && folder.read("test.csv") == text && std::fs::read(&model).unwrap() == before);
    succeed(&["learn", &data, "--resume", &model, "--quiet", "-o", &model]);
}

#[test]
fn short_settings_mean_what_they_seem_to_mean() {
    let folder = Folder::new("short");
    let data = folder.write("ring.csv", ring(30));
    let budget =
        |flags: &[&str]| json(&[&["learn", &data, "--target", "where", "--quiet"], flags].concat())["config"]["budget"].clone();
    assert_eq!(budget(&["--terms", "40"]), serde_json::json!({ "merge": { "terms": 40 } }));
    assert_eq!(budget(&["--budget", "50"]), serde_json::json!({ "merge": { "terms": 50 } }));
    assert_eq!(budget(&["--budget", "50", "--kernel", "linear"]), serde_json::json!({ "transfer": { "terms": 50 } }));
    assert_eq!(budget(&["--budget", "merge"]), serde_json::json!({ "merge": { "terms": 1000 } }));
    assert_eq!(budget(&["--budget", "window", "--terms", "7"]), serde_json::json!({ "window": { "terms": 7 } }));
    let learn = ["learn", &data, "--target", "where", "--quiet"];
    let refused = |flags: &[&str], words: &[&str]| fail(&[&learn[..], flags].concat(), 2, words);
    refused(&["--eta", "0.5"], &["--eta: this is a parameter of a step", "as in --step constant"]);
    refused(&["--budget", "age"], &["budget: `age` needs steps, as in budget = age:steps=1000"]);
    refused(&["--terms", "many"], &["terms: ", "a whole number", "found \"many\""]);
    // The examples work.
    for flags in [&["--step", "constant", "--eta", "0.5"][..], &["--budget", "age:steps=1000"]] {
        succeed(&[&learn[..], flags].concat());
    }
}

#[test]
fn a_config_file_names_columns_and_has_finite_numbers() {
    let folder = Folder::new("config-columns");
    let text: String =
        ring(40).lines().enumerate().map(|(i, l)| format!("{l},{}\n", if i == 0 { "\"a,b\",w" } else { "oops,2" })).collect();
    let (data, model) = (folder.write("ring.txt", text), folder.path("m.okl"));
    let config =
        folder.write("okl.toml", "target = 'where'\nignore = ['a,b']\nweight = 'w'\nformat = 'csv'\nloss = 'logistic'\n");
    succeed(&["learn", &data, "--config", &config, "--quiet", "-o", &model]);
    succeed(&["learn", &data, "--target", "where", "--ignore", "\"a,b\",w", "--quiet"]);
    let named: serde_json::Value = serde_json::from_str(&succeed(&["inspect", &model, "--json"]).0).unwrap();
    assert_eq!(
        (&named["feature_names"], &named["config"]["loss"]),
        (&serde_json::json!(["x", "y"]), &serde_json::json!({ "logistic": {} }))
    );
    // Flags override the file.
    let (_, err) =
        succeed(&["learn", &data, "--config", &config, "--target", "x", "--ignore", "where,\"a,b\"", "--loss", "squared"]);
    assert!(err.contains("RMSE"), "{err}");
    let odd = folder.write("odd.toml", "target = { a = 1 }\n");
    fail(&["learn", &data, "--config", &odd], 2, &["target", "expected the name of a column"]);
    let odd = folder.write("odd.toml", "target = 'where'\nencoding = 'ebcdic'\n");
    fail(&["learn", &data, "--config", &odd], 2, &["encoding", "ebcdic", "latin1"]);
    let nan = folder.write("nan.toml", "target = 'where'\nlambda = nan\n");
    fail(&["learn", &data, "--config", &nan], 2, &["nan.toml", "lambda", "finite"]);
}

#[test]
fn a_held_out_file_is_checked_before_learning() {
    let folder = Folder::new("held-out");
    let data = folder.write("ring.csv", ring(60));
    let other = folder.write("other.csv", "x,z,where\n1,2,inside\n");
    let (none, predictions) = (folder.path("nofile.csv"), folder.path("p.csv"));
    let learn = ["learn", &data, "--target", "where", "--quiet", "--predictions", &predictions, "--test"];
    fail(&[&learn[..], &[&none]].concat(), 1, &["--test", "nofile.csv: no such file"]);
    fail(&[&learn[..], &[&other]].concat(), 2, &["--test", "other.csv", "'y'", "missing"]);
    assert!(!std::path::Path::new(&predictions).exists(), "nothing has been learned");
    fail(&["learn", "-", "--target", "where", "--test", "-"], 2, &["--test -", "already"]);
}

/// A column has one use, a loss belongs to the named task, and a model and a report are files: else nothing would be learned, or
/// something else than what was asked for.
#[test]
fn flags_that_contradict_each_other_are_refused() {
    let folder = Folder::new("errors-contradict");
    let data = folder.write("d.csv", "a,b,y,city\n1,2,0,Rome\n3,4,1,Bonn\n");
    let learn = |more: &[&'static str]| [vec!["learn", &data, "--ignore", "city"], more.to_vec()].concat();
    fail(&learn(&["--target", "y,y"]), 2, &["--target names the column 'y' twice"]);
    fail(&learn(&["--target", "y", "--id", "y"]), 2, &["--target and --id both name the column 'y'"]);
    fail(&learn(&["--target", "y", "--weight", "y"]), 2, &["--target and --weight both name the column 'y'"]);
    for (task, loss, of) in [("classes", "squared", "numbers"), ("numbers", "hinge", "classes"), ("novelty", "hinge", "classes")]
    {
        let words = [format!("--task {task}"), format!("one for {of}")];
        fail(&learn(&["--target", "y", "--task", task, "--loss", loss]), 2, &[&words[0], &words[1]]);
    }
    fail(&learn(&["--target", "y", "-o", "-"]), 2, &["--output -: a model cannot be written to standard output"]);
    fail(&learn(&["--target", "y", "--report", "-"]), 2, &["--report -: a report cannot be written to standard output"]);
    // The second target is the wrong one.
    fail(&["learn", &data, "--target", "y,city", "--quiet"], 1, &["line 2, column 'city': found 'Rome'"]);
}

/// The example in the message for a missing parameter is a setting that is accepted.
#[test]
fn examples_of_missing_parameters_work() {
    let folder = Folder::new("errors-examples");
    let data = folder.write("d.csv", "a,y\n1,0\n3,1\n");
    let learn = |flag: &str, value: &str| okl(&["learn", &data, "--target", "y", "--quiet", flag, value]).output().unwrap();
    let needed = [
        ("--average", "exponential"),
        ("--step", "linear"),
        ("--step", "theorem1"),
        ("--regulariser", "power"),
        ("--budget", "certified"),
    ];
    for (flag, name) in needed {
        let refused = String::from_utf8(learn(flag, name).stderr).unwrap();
        let example = refused.trim_end().rsplit(' ').next().unwrap();
        assert!(refused.contains(" needs ") && example.starts_with(name), "{refused}");
        assert!(learn(flag, example).status.success(), "{flag} {example}");
    }
}

/// A table of other columns than the model's: the message names both, and no flag that does not help.
#[test]
fn a_table_without_the_numbered_features_of_a_model_is_refused_with_both_lists() {
    let folder = Folder::new("errors-numbered");
    let (data, model) = (folder.write("d.svm", "1 1:2 2:1\n-1 1:1 2:3\n"), folder.path("m.okl"));
    succeed(&["learn", &data, "-o", &model, "--quiet"]);
    let table = folder.write("t.csv", "a,b\n1,2\n");
    fail(&["predict", &model, &table], 2, &["whose features are 1, 2; the columns are a, b; delete the header"]);
    assert_eq!(succeed(&["predict", &model, &folder.write("u.csv", "5,6\n")]).0.lines().count(), 2);
}

/// A target that is no number is a bad row like any other.
#[test]
fn a_target_that_cannot_be_read_is_skipped_like_a_feature() {
    let folder = Folder::new("bad-target");
    let row = |i: usize| format!("{},{}\n", i % 7, if i == 50 { "error".into() } else { (i % 7).to_string() });
    let (data, model) = (folder.write("t.csv", "a,y\n".to_owned() + &(0..80).map(row).collect::<String>()), folder.path("m.okl"));
    let learn = ["learn", &data, "--target", "y", "--task", "numbers", "-o", &model];
    fail(
        &[&learn[..], &["--quiet"]].concat(),
        1,
        &["line 52, column 'y'", "found 'error', expected a number", "--task numbers --on-bad-row skip"],
    );
    let all = json(&[&learn[..], &["--on-bad-row", "skip"]].concat());
    // A learned model has its task: only the flag that is taken is named.
    for command in [&["evaluate", &model, &data][..], &["learn", &data, "--resume", &model, "-o", &folder.path("n.okl")]] {
        let said = fail(command, 1, &["line 52, column 'y'", "leave such rows out with --on-bad-row skip"]);
        assert!(!said.contains("--task") && !said.contains("max_margin"), "{said}");
    }
    assert_eq!((&all["skipped_rows"], &all["summary"]["examples"]), (&1.into(), &79.into()));
    let told = json(&["evaluate", &model, &data, "--on-bad-row", "skip"]);
    assert_eq!(told["summary"]["examples"], 79);
    assert!(told["warnings"].to_string().contains("found 'error', expected a number"), "{told}");
}

/// A quote that is not closed would take the next row into its own.
#[test]
fn text_after_a_closing_quote_is_refused() {
    let folder = Folder::new("open-quote");
    let rows = |first: &str| folder.write("q.csv", format!("a,b,note,y\n1,2,{first},no\n3,4,\"n1\",yes\n5,6,\"n2\",no\n"));
    let learn = |data: &str| ["learn", data, "--target", "y", "--text", "note"].map(str::to_owned);
    let wrong = learn(&rows("\"unclosed"));
    fail(&wrong.iter().map(String::as_str).collect::<Vec<_>>(), 1, &["line 2, column 'note'", "\"n1", "after its closing quote"]);
    let right = learn(&rows("\"a \"\"word\"\", and\nanother line\" "));
    assert_eq!(json(&right.iter().map(String::as_str).collect::<Vec<_>>())["summary"]["examples"], 3);
}

/// Orthogonal random features depend on the number of features: a new one is refused with its row.
#[test]
fn a_new_feature_of_orthogonal_random_features_is_refused_with_its_row() {
    let folder = Folder::new("orthogonal");
    let row = |i: usize| {
        format!(
            "{} | a:{} b:{}{}\n",
            if i.is_multiple_of(2) { 1 } else { -1 },
            i % 5,
            i % 3,
            if i == 2000 { " late:1" } else { "" }
        )
    };
    let data = folder.write("t.vw", (0..2100).map(row).collect::<String>());
    let learn = ["learn", &data, "--form", "fourier:10,orthogonal", "--kernel", "gaussian", "--quiet"];
    fail(&learn, 1, &["t.vw, line 2001:", "a feature that no row before it has", "--form fourier:N without orthogonal"]);
}

/// A text in a column of JSON lines that no earlier row has is not called an error among numbers.
#[test]
fn a_text_in_a_column_without_an_earlier_value_is_refused_with_flags_that_help() {
    let folder = Folder::new("late-text");
    let rows: String = (0..40).map(|i| format!("{{\"a\": {i}, \"y\": {}}}\n", i % 2)).collect();
    let data = folder.write("z.jsonl", rows + "{\"a\": 3, \"y\": 1, \"z\": \"hello\"}\n");
    let said = fail(
        &["learn", &data, "--target", "y"],
        1,
        &["line 41, column 'z'", "no earlier row has a value here; use --ignore z, or --one-hot z --missing zero"],
    );
    assert!(!said.contains("as in earlier rows"), "{said}");
    for flags in [&["--ignore", "z"][..], &["--one-hot", "z", "--missing", "zero"]] {
        assert_eq!(json(&[&["learn", &data, "--target", "y"], flags].concat())["summary"]["examples"], 41);
    }
}

/// A setting of the file of --config is named as such, and a flag as a flag.
#[test]
fn a_resumed_model_names_the_setting_that_it_does_not_take() {
    let folder = Folder::new("errors-resumed");
    let (data, model) = (folder.write("d.csv", ring(40)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--quiet"]);
    let learn = ["learn", &data, "--resume", &model];
    let config = folder.write("c.toml", "target = 'where'\nbudget = 200\n");
    let said = fail(
        &[&learn[..], &["--config", &config]].concat(),
        2,
        &["c.toml: budget: a resumed model keeps its settings; remove this setting from the file"],
    );
    assert!(!said.contains("--budget") && !said.contains("flag"), "{said}");
    for (flag, value) in [("--budget", "200"), ("--class-weight", "balanced"), ("--eta", "0.5"), ("--memory", "8MB")] {
        let words = format!("{flag}: a resumed model keeps its settings; remove this flag");
        fail(&[&learn[..], &[flag, value]].concat(), 2, &[&words]);
        // A flag takes the place of the setting in the file.
        fail(&[&learn[..], &["--config", &config, flag, value]].concat(), 2, &[&words]);
    }
    // The columns of the file are no settings of the model.
    let columns = folder.write("k.toml", "target = 'where'\n");
    succeed(&[&learn[..], &["--config", &columns, "--quiet"]].concat());
}

/// The help says which errors end with which status; these are the ones.
#[test]
fn exit_codes_are_those_of_the_help() {
    let folder = Folder::new("errors-codes");
    let help = flat(&succeed(&["learn", "--help"]).0);
    let words = "Exit codes: 0 done; 1 a file cannot be read or written, or a row is wrong; 2 the command or a setting is wrong, or does not \
                 fit the columns of the data, which the header and the first row decide; 130, 143, 129 stopped by";
    assert!(help.contains(words), "{help}");
    let learn = |text: &[u8], code: i32, words: &str| {
        let data = folder.write("d.csv", text);
        fail(&["learn", &data, "--target", "y", "--quiet"], code, &[words]);
    };
    learn(b"a,a,y\n1,2,0\n", 2, "both named 'a'");
    learn(b"caf\xe9,y\n1,0\n", 2, "not UTF-8");
    learn(b"a;y\n-0,802;0\n1;1\n", 2, "a number with a comma");
    learn(b"a;y\n1;1\n-0,802;0\n", 1, "a number with a comma");
    learn(b"a,y\n1,one\n2,caf\xe9\n", 1, "not UTF-8");
    learn(b"a,b\n1,2\n", 2, "no column 'y'");
    fail(&["learn", &folder.path("none.csv"), "--target", "y"], 1, &["no such file"]);
}

/// A key of ids that no row has: to skip such rows would skip all of them.
#[test]
fn a_key_of_ids_that_no_row_has_is_not_answered_with_advice_to_skip_rows() {
    let folder = Folder::new("errors-ids");
    let row = |i: usize, id: &str| format!("{{\"a\": {i}, {id}\"y\": {}}}\n", i % 2);
    let none: String = (0..5).map(|i| row(i, "")).collect();
    let learn = |text: &str, words: &str| {
        let data = folder.write("d.jsonl", text);
        fail(&["learn", &data, "--target", "y", "--id", "nope", "--quiet"], 1, &[words])
    };
    let said = learn(
        &none,
        "line 1: the row has no id: check the name that --id gives; if other rows have an id, --on-bad-row skip leaves",
    );
    assert!(!said.contains("id; --on-bad-row"), "{said}");
    // A row before has an id: the name is right.
    let some = row(0, "\"nope\": 7, ") + &row(1, "");
    learn(&some, "line 2: the row has no id; --on-bad-row skip leaves such rows out");
    // Also where the row before is in another chunk of rows.
    let late: String = (0..200).map(|i| row(i, "\"nope\": 7, ")).collect::<String>() + &row(1, "");
    learn(&late, "line 201: the row has no id; --on-bad-row skip leaves such rows out");
}
