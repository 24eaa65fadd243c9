//! Every command line of the contract, and the commands beside `learn`.

use std::fs;

use crate::support::{Folder, fail, json, numbers, okl, ring, succeed, succeed_with};

#[test]
fn demo_needs_nothing_and_leaves_a_model_and_a_report() {
    let folder = Folder::new("demo");
    let (out, err) = succeed(&["demo", "--out", &folder.path("")]);
    assert!(out.contains("Mistakes:") && out.contains("Alerts:") && err.contains("avg loss"), "{out}{err}");
    // Small scores keep their digits.
    assert!(out.matches(" below ").count() == 5 && !out.contains("0.0000 ") && !out.contains("0.0001 "), "{out}");
    let own = |line: &&str| !line.contains(&folder.path(""));
    assert!(
        out.lines().chain(err.lines()).filter(own).all(|line| line.chars().count() <= 80),
        "a terminal has 80 columns: {out}{err}"
    );
    let report = folder.read("report.html");
    assert!(report.contains("<svg") && report.contains("a fixed schedule"));
    let (words, _) = succeed(&["inspect", &folder.path("demo.okl")]);
    // Every row is learned, the first one of the only class so far, too.
    assert!(words.contains("20,000") && words.contains("100 of 2 features"), "{words}");
    // The file has what `okl learn` writes: how well the model did, and its settings before the first row.
    let words = crate::support::flat(&words);
    let error = out.split("Mistakes: ").nth(1).unwrap().split(" with").next().unwrap();
    assert!(words.contains(&format!("error {error} over 20,000 examples")) && !words.contains("another program"), "{words}");
    let inspected = json(&["inspect", &folder.path("demo.okl")]);
    assert_eq!((&inspected["rows"], &inspected["given"]["step"]["smd"]["eta"]), (&20_000.into(), &0.5.into()), "{inspected}");
    let quiet = okl(&["demo", "--quiet", "--out", &folder.path("q")]).output().unwrap();
    assert!(quiet.status.success() && quiet.stderr.is_empty() && String::from_utf8(quiet.stdout).unwrap() != out);
}

#[test]
fn a_file_with_nothing_else_gives_a_sensible_model() {
    let folder = Folder::new("plain");
    let (data, model) = (folder.write("ring.csv", ring(1500)), folder.path("m.okl"));
    let (_, err) = succeed(&["learn", &data, "--target", "where", "-o", &model]);
    assert!(
        err.contains("loss = hinge,logistic: the target has two values") && err.contains("41 settings learn in parallel"),
        "{err}"
    );
    assert!(err.contains("past %: error of the current model on up to 1,000 rows of this run, as learned"), "{err}");
    let (scores, _) = succeed(&["predict", &model, &data]);
    let mut lines = scores.lines();
    assert_eq!(lines.next(), Some("line,class,score,positive"));
    let right =
        lines.zip(ring(1500).lines().skip(1)).filter(|(said, row)| said.split(',').nth(1) == row.split(',').nth(2)).count();
    assert!(right > 1470, "{right} of 1500");
}

#[test]
fn classes_with_everything_said() {
    let folder = Folder::new("said");
    let data = folder.write("t.csv.gz", crate::support::gzip(&three_classes()));
    let settings = "--target label --loss max_margin --kernel gaussian --gamma 0.0078 --lambda 1e-4 --step decay:eta=1,tau=1000 --budget merge:2000";
    let args: Vec<&str> = ["learn", &data].into_iter().chain(settings.split(' ')).collect();
    let config = &json(&args)["config"];
    assert_eq!(config["kernel"]["gaussian"]["gamma"], 0.0078);
    assert_eq!(config["step"]["decay"]["tau"], 1000.0);
    assert_eq!(config["budget"]["merge"]["terms"], 2000);
    assert_eq!((&config["loss"], config["lambda"].as_f64()), (&serde_json::json!({"max_margin": {}}), Some(1e-4)));
}

fn three_classes() -> String {
    let mut text = String::from("a,b,label\n");
    (0..600).for_each(|i| text += &format!("{},{},{}\n", i % 3, (i * 7) % 11, ["x", "y", "z"][i % 3]));
    text
}

#[test]
fn a_stream_on_standard_input_with_settings_from_a_file_and_flags() {
    let folder = Folder::new("settings");
    let config = folder.write("okl.toml", "loss = 'squared'\nkernel = 'gaussian'\ngamma = 0.5\nbudget = 'window:50'\n");
    let rows: String = (0..200).map(|i| format!("{{\"a\": {}, \"y\": {}}}\n", i % 7, (i % 7) * 2)).collect();
    let args = ["learn", "-", "--format", "jsonl", "--target", "y", "--config", &config, "--json"];
    let (out, _) = succeed_with(&[&args[..], &["--eta", "0.25", "--step", "constant"]].concat(), rows.as_bytes());
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["config"]["step"]["constant"]["eta"], 0.25);
    assert_eq!(value["config"]["budget"]["window"]["terms"], 50);
    assert_eq!(value["summary"]["examples"], 200);
}

#[test]
fn novelty_with_its_alerts() {
    let folder = Folder::new("novelty");
    let traffic: String = std::iter::once("a,b\n".to_owned())
        .chain((0..3000).map(|i| format!("{},{}\n", (i as f64 * 0.1).sin(), (i as f64 * 0.1).cos())))
        .collect();
    let data = folder.write("traffic.csv", traffic);
    let (_, err) =
        succeed(&["learn", &data, "--loss", "nu_novelty", "--nu", "0.01", "--predictions", &folder.path("alerts.csv")]);
    assert!(err.contains("alert rate"), "{err}");
    let alerts = folder.read("alerts.csv");
    assert!(alerts.starts_with("line,alert,threshold,score\n") && alerts.lines().count() == 3001);
}

#[test]
fn several_outputs_with_an_operator() {
    let folder = Folder::new("outputs");
    let data = folder.write("outputs.csv", numbers(500));
    let args = ["learn", &data, "--target", "u,v", "--operator", "1,0.1,0.1,1", "--step", "inverse_sqrt:eta=0.1"];
    let outputs = json(&args)["summary"]["outputs"].clone();
    assert_eq!((outputs[0]["name"].as_str(), outputs[1]["name"].as_str()), (Some("u"), Some("v")));
    assert!(outputs.as_array().unwrap().iter().all(|o| o["rmse"].is_number() && o["mae"].is_number() && o["r2"].is_number()));
}

/// A newcomer reads in the README whose score it is: it names the columns of a file of predictions.
#[test]
fn the_readme_names_the_columns_of_predictions() {
    let folder = Folder::new("readme");
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let data = folder.write("r.csv", ring(40));
    for task in [&["--target", "where"][..], &["--task", "novelty", "--ignore", "where"]] {
        let (csv, _) = succeed(&[&["learn", &data, "--quiet", "--predictions", "-"], task].concat());
        let columns = csv.lines().next().unwrap().split(',').filter(|name| !["line", "class"].contains(name));
        columns.for_each(|name| assert!(readme.contains(&format!("`{name}`")), "{name}"));
    }
}

#[test]
fn a_model_is_exported_in_every_format() {
    let folder = Folder::new("export");
    let (data, model) = (folder.write("n.csv", numbers(200)), folder.path("m.okl"));
    succeed(&[
        "learn", &data, "--target", "u", "--ignore", "v", "--scale", "none", "--kernel", "gaussian", "--gamma", "2", "--quiet",
        "-o", &model,
    ]);
    for to in ["libsvm", "onnx", "json"] {
        let file = folder.path(to);
        succeed(&["export", &model, "--to", to, "-o", &file]);
        assert!(fs::metadata(&file).unwrap().len() > 1000, "{to}");
    }
    assert_eq!(succeed(&["export", &model, "--to", "json", "-o", "-"]).0, folder.read("json"));
}

#[test]
fn a_live_stream_chooses_by_its_first_rows_however_slowly_they_come() {
    // Two values would be classes, if one did not wait for the third.
    let rows: String = std::iter::once("a,y\n".into()).chain((0..300).map(|i| format!("{i},{}\n", i / 10))).collect();
    let args = ["learn", "-", "--target", "y", "--json"];
    let (fast, _) = succeed_with(&args, rows.as_bytes());
    let mut child = okl(&args)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for part in rows.as_bytes().chunks(200) {
        std::io::Write::write_all(&mut stdin, part).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(stdin);
    let slow = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let parts = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        (value["summary"].clone(), value["config"].clone())
    };
    assert_eq!(parts(&fast), parts(&slow));
    assert_eq!(parts(&fast).0["task"], "numbers");
}

#[test]
fn completions_and_manual_are_generated() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(succeed(&["completions", shell]).0.contains("checkpoint-every"), "{shell}");
    }
    assert!(succeed(&["man"]).0.contains(".TH okl"));
    let page = succeed(&["man", "learn"]).0;
    for word in ["shuffle", "checkpoint\\-every", "on\\-bad\\-row", "Exit codes", "130"] {
        assert!(page.contains(word), "{word}: {page}");
    }
    fail(&["man", "lern"], 2, &["lern"]);
    for command in ["learn", "predict", "inspect", "export", "demo"] {
        assert!(succeed(&[command, "--help"]).0.contains("Exit codes: 0 done; 1 "), "{command}");
    }
}

/// Runs a line of a shell with `okl` on the path.
#[cfg(unix)]
fn shell(line: &str, folder: &Folder) -> std::process::Output {
    let path = std::path::Path::new(env!("CARGO_BIN_EXE_okl")).parent().unwrap().to_path_buf();
    let paths =
        std::env::join_paths([path].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap()))).unwrap();
    std::process::Command::new("sh").args(["-c", line]).current_dir(folder.path("")).env("PATH", paths).output().unwrap()
}

#[cfg(unix)]
#[test]
fn examples_of_the_help_work_as_written() {
    let folder = Folder::new("examples");
    let plain = ring(300).replacen("where", "label", 1);
    let names = |i: usize| if i == 0 { "id,\"name, first\"".into() } else { format!("{i},Ann") };
    let named: String = plain.lines().enumerate().map(|(i, line)| format!("{line},{}\n", names(i))).collect();
    folder.write("test.csv", &named);
    for name in ["monday.csv", "tuesday.csv", "more.csv", "new.csv"] {
        folder.write(name, &plain);
    }
    folder.write(
        "labelled.csv",
        plain.replacen("label", "country,label", 1).replace(",inside", ",DE,inside").replace(",outside", ",FR,outside"),
    );
    folder.write("houses.csv", numbers(200).replacen(",u,v", ",price,rooms", 1));
    folder.write("traffic.csv", numbers(200));
    let mut run = 0;
    for command in ["", "demo", "learn", "predict", "evaluate", "inspect", "freeze", "export"] {
        let help = succeed(&[command, "--help"][usize::from(command.is_empty())..]).0;
        let examples = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{command}: {help}")).1;
        for line in examples.lines().map(str::trim).take_while(|line| !line.is_empty()) {
            assert!(line.chars().count() < 80, "{line}");
            folder.write("data.csv", if line.contains("--ignore") { &named } else { &plain });
            let output = shell(line, &folder);
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            run += 1;
        }
    }
    assert!(run >= 20, "{run}");
}

#[test]
fn the_short_help_has_what_most_people_need_and_the_long_one_all() {
    let name = |line: &str| {
        let flag = line.trim_start().trim_start_matches("-o, ").strip_prefix("--")?;
        Some(flag[..flag.find(' ').unwrap_or(flag.len())].to_owned())
    };
    let flags = |help: &str| help.lines().filter_map(name).collect::<Vec<String>>();
    let (short, long) = (succeed(&["learn", "-h"]).0, succeed(&["learn", "--help"]).0);
    let few = flags(&short);
    assert!(few.len() <= 15 && ["target", "output", "resume"].iter().all(|flag| few.contains(&(*flag).to_owned())), "{few:?}");
    assert!(flags(&long).len() > 60, "{:?}", flags(&long));
    // A flag is explained by more than two words.
    for pair in long.lines().collect::<Vec<_>>().windows(2).filter(|pair| name(pair[0]).is_some()) {
        assert!(pair[1].split_whitespace().count() > 2, "{pair:?}");
    }
    assert!(succeed(&["man", "learn"]).0.contains("Examples"), "the manual has them, too");
}
