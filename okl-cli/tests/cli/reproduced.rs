//! The settings that a report and `okl inspect --json` show for `--config` reproduce the run.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::support::{Folder, Random, fail, json, numbers, okl, succeed};

/// Rows with a column of text, whose values appear one after the other, a column that lacks values from row 150 on, and a target.
fn late_columns(rows: usize, lacks: bool) -> String {
    let mut random = Random(11);
    let mut text = String::from("a,b,town,y\n");
    for row in 0..rows {
        let [a, b] = [(); 2].map(|()| random.next());
        let town = (random.next() * (1.0 + 6.0 * row as f64 / rows as f64)) as usize;
        let cell = if lacks && row >= 150 && row % 7 == 0 { String::new() } else { format!("{b:.4}") };
        writeln!(text, "{a:.4},{cell},t{town},{:.4}", (4.0 * a).sin() + 0.3 * town as f64).unwrap();
    }
    text
}

/// The JSON of a report that is called fit for --config.
fn for_config(report: &str) -> String {
    let (_, rest) = report.split_once("as JSON, for --config").unwrap();
    let (_, rest) = rest.split_once("<pre>").unwrap();
    rest.split_once("</pre>").unwrap().0.replace("&quot;", "\"").replace("&amp;", "&")
}

/// The figures of a run without its seconds and speeds.
fn figures(mut of: Value) -> Value {
    let fields = of.as_object_mut().unwrap();
    fields.retain(|key, _| !key.contains("second") && !key.contains("per_s"));
    of
}

#[test]
fn settings_of_a_report_reproduce_the_run() {
    let folder = Folder::new("reproduced");
    let tables = [
        ("plain", numbers(900), &["--target", "u", "--ignore", "v"][..]),
        ("hot", late_columns(900, false), &["--target", "y", "--one-hot"][..]),
        ("missing", late_columns(900, true), &["--target", "y", "--one-hot", "--missing", "mean+indicator"][..]),
        ("few", late_columns(80, false), &["--target", "y", "--one-hot"][..]),
        ("memory", late_columns(900, false), &["--target", "y", "--one-hot", "--memory", "2MB"][..]),
        ("one kernel", late_columns(900, false), &["--target", "y", "--one-hot", "--kernel", "gaussian"][..]),
        ("novelty", late_columns(900, false), &["--task", "novelty", "--one-hot"][..]),
    ];
    for (name, text, flags) in tables {
        let (data, report, model) = (folder.write("d.csv", text), folder.path("r.html"), folder.path("m.okl"));
        let learned = json(&[&["learn", &data, "--report", &report, "--output", &model][..], flags].concat());
        let copied = for_config(&folder.read("r.html"));
        let config = folder.write("c.json", &copied);
        let flags: Vec<&str> = flags.iter().copied().filter(|flag| !["--task", "novelty"].contains(flag)).collect();
        let again = json(&[&["learn", &data, "--config", &config][..], &flags].concat());
        assert_eq!(figures(learned["summary"].clone()), figures(again["summary"].clone()), "{name}");
        let inspected = json(&["inspect", &model]);
        assert_eq!(inspected["given"], serde_json::from_str::<Value>(&copied).unwrap(), "{name}");
        assert!(inspected["config"].is_object(), "{name}");
    }
}

#[test]
fn learned_values_are_called_learned() {
    let folder = Folder::new("called-learned");
    let (data, report, model) = (folder.write("d.csv", numbers(900)), folder.path("r.html"), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "u", "--report", &report, "--output", &model, "--save-model", "recent"]);
    let page = folder.read("r.html");
    let (given, learned) = page.split_once("<h3>Learned</h3>").unwrap();
    assert!(!given.contains("<th scope=\"row\">relevance</th>"), "relevance was not given");
    assert!(learned.contains("<th scope=\"row\">scale</th>") && learned.contains("would be another run"), "{learned}");
    let (shown, _) = succeed(&["inspect", &model]);
    let (before, after) = shown.split_once("settings now, where learned").unwrap();
    assert!(before.contains("    scale           auto"), "{shown}");
    assert!(after.contains("    scale           fixed"), "{shown}");
    // A resumed model keeps the settings with which it began, also if it is resumed twice.
    let given = json(&["inspect", &model])["given"].clone();
    succeed(&["learn", &data, "--resume", &model, "--output", &model, "--quiet"]);
    assert_eq!(json(&["inspect", &model])["given"], given);
}

#[test]
fn settings_with_a_value_per_column_are_named_where_columns_are_added() {
    let folder = Folder::new("value-per-column");
    let (data, model) = (folder.write("d.csv", late_columns(900, false)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "y", "--one-hot", "--output", &model, "--save-model", "recent", "--quiet"]);
    let mut config = json(&["inspect", &model])["config"].clone();
    let path = folder.write("c.json", config.to_string());
    let command = ["learn", &data, "--target", "y", "--one-hot", "--config", &path, "--quiet"];
    let error = String::from_utf8(okl(&command).output().unwrap().stderr).unwrap();
    assert!(error.contains("remove scale and relevance from --config"), "{error}");
    fail(&command, 1, &["line 2", "one for each column"]);
    config["relevance"] = json!([]);
    folder.write("c.json", config.to_string());
    fail(&command, 1, &["remove scale from --config, so that it is learned"]);
}
