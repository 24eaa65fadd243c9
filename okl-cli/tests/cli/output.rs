//! What is shown: the table, the summary, the bar on a terminal only, colours, silence; and nobody who reads it.

use std::process::{Command, Stdio};

use okl_cli::metrics::figure;

use crate::support::{Folder, fail, flat, json, numbers, okl, ring, skipped, succeed};

#[test]
fn a_row_at_every_power_of_two_and_at_the_end() {
    let folder = Folder::new("rows");
    let data = folder.write("ring.csv", ring(1000));
    let (out, err) = succeed(&["learn", &data, "--target", "where"]);
    assert!(out.is_empty(), "standard output is for what was asked for: {out}");
    let header = err.lines().position(|l| l.contains("avg loss")).unwrap();
    let columns: Vec<&str> = err.lines().nth(header).unwrap().split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
    assert_eq!(columns.join(" "), "avg loss since last examples error % past % terms step rows/s");
    let rows = err.lines().skip(header + 1).take_while(|l| !l.is_empty());
    let examples: Vec<u64> = rows.map(|l| l.split_whitespace().nth(2).unwrap().parse().unwrap()).collect();
    assert_eq!(examples, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]);
}

#[test]
fn a_summary_with_what_people_ask_for() {
    let folder = Folder::new("summary");
    let (classes, outputs) = (folder.write("ring.csv", ring(600)), folder.write("n.csv", numbers(600)));
    let summary = |args: &[&str]| succeed(&[&["learn"], args].concat()).1;
    let all = |text: &str, words: &[&str]| words.iter().for_each(|word| assert!(text.contains(word), "{word}: {text}"));
    all(&summary(&[&classes, "--target", "where"]), &["accuracy", "macro F1", "AUC", "no change"]);
    all(
        &summary(&[&classes, "--target", "where", "--step", "inverse_sqrt:0.5", "--lambda", "0.001", "--gamma", "1"]),
        &["Scores have no truncation error."],
    );
    all(&summary(&[&outputs, "--target", "u,v"]), &["RMSE", "MAE", "R²", "  u ", "  v "]);
    all(
        &summary(&[&outputs, "--task", "novelty"]),
        &[
            "alert rate",
            "of judged rows; ",
            " over the last 344\n",
            "the first 256 had no threshold yet",
            "Alert rate since the threshold was set: ",
            "(requested 5.00 %",
        ],
    );
    let out = json(&["learn", &classes, "--target", "where"]);
    assert!(out["learn_seconds"].as_f64() <= out["wall_seconds"].as_f64() && out["certificates"].is_array());
}

#[test]
fn what_the_first_rows_decided_is_said() {
    let folder = Folder::new("decided");
    let (short, long) = (folder.write("short.csv", ring(200)), folder.write("long.csv", ring(300)));
    let (_, err) = succeed(&["learn", &long, "--target", "where"]);
    assert!(err.contains("Of 41 settings, ") && err.contains(" of the weight is on "), "{err}");
    let plain = ["--gamma", "median", "--step", "decay", "--lambda", "0.001"];
    let learn = [&["learn", &long, "--target", "where"], &plain[..]].concat();
    let (_, err) = succeed(&learn);
    let gamma = json(&learn)["config"]["kernel"]["gaussian"]["gamma"].as_f64().unwrap();
    assert!(
        err.contains(&format!("From the first 256 examples: gamma = {}; the kernel of two scaled rows ", figure(gamma))),
        "{err}"
    );
    succeed(&[&learn[..], &["--quiet", "-o", &folder.path("m.okl")]].concat());
    let (words, _) = succeed(&["inspect", &folder.path("m.okl")]);
    assert!(words.contains(&format!("gaussian:gamma={}\n", figure(gamma))), "{words}");
    let (_, err) = succeed(&["learn", &short, "--target", "where"]);
    assert!(err.contains("are provisional") && err.contains("256 examples"), "{err}");
    let (_, err) = succeed(&["learn", &long, "--target", "where", "--gamma", "0.5", "--scale", "none"]);
    assert!(!err.contains("From the first") && !err.contains("provisional"), "{err}");
}

#[test]
fn everything_fits_80_columns() {
    let folder = Folder::new("columns");
    let (ring, numbers) = (folder.write("ring.csv", ring(700)), folder.write("n.csv", numbers(700)));
    let model = folder.path("m.okl");
    let fits = |text: &str| {
        let wide = text.lines().find(|line| line.chars().count() > 80 && !line.contains(&folder.path("")));
        assert!(wide.is_none(), "{wide:?}");
    };
    for args in [
        vec![ring.as_str(), "--target", "where", "--test", &ring],
        vec![&ring, "--target", "where", "--loss", "nu_hinge", "--nu", "0.1", "--step", "smd"],
        vec![&numbers, "--target", "u,v", "--operator", "1,0.1,0.1,1", "--step", "inverse_sqrt:eta=0.1"],
        vec![&numbers, "--task", "novelty"],
    ] {
        fits(&succeed(&[&["learn", "-o", &model], &args[..]].concat()).1);
        fits(&succeed(&["inspect", &model]).0);
    }
}

#[test]
fn a_report_has_the_name_of_the_data_and_the_command_as_it_is_typed() {
    let folder = Folder::new("typed");
    let data = folder.write("two rings.csv", ring(200).replacen("where", "what's there", 1));
    succeed(&["learn", &data, "--target", "what's there", "--report", &folder.path("r.html"), "--quiet"]);
    let page = folder.read("r.html");
    assert!(page.contains("<h1>two rings.csv</h1>"), "{page}");
    let command = format!("okl learn '{data}' --target 'what'\\''s there' --report {} --quiet", folder.path("r.html"));
    assert!(page.contains(&command), "{command}: {page}");
}

#[test]
fn quiet_is_silent() {
    let folder = Folder::new("quiet");
    let data = folder.write("ring.csv", format!("{}oops,1,inside\n", ring(300)));
    let args = ["learn", &data, "--target", "where", "--on-bad-row", "skip", "--quiet", "-o", &folder.path("m.okl")];
    assert_eq!(succeed(&args), (String::new(), String::new()));
}

/// Runs a command on a terminal of its own; nothing where there is no `script`.
fn on_a_terminal(command: &str, colour: bool) -> Option<String> {
    let mut script = Command::new("script");
    script.args(["-qec", command, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
    if colour {
        script.env_remove("NO_COLOR")
    } else {
        script.env("NO_COLOR", "1")
    };
    let output = script.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_bar_is_for_terminals_and_colours_can_be_turned_off() {
    let folder = Folder::new("terminal");
    let data = folder.write("ring.csv", ring(200_000));
    let okl = env!("CARGO_BIN_EXE_okl");
    // A plain learner: the bar needs many rows, not what they teach.
    let plain = "--kernel gaussian:1 --lambda 1e-3 --step constant:0.1 --budget window:30";
    let learn = format!("{okl} learn {data} --target where {plain}");
    let (Some(shown), Some(plain)) = (on_a_terminal(&learn, true), on_a_terminal(&learn, false)) else {
        return skipped("no program `script` here, which the bar needs for a terminal");
    };
    for text in [&shown, &plain] {
        assert!(text.contains(" rows, ") && text.contains("/s, "), "a bar on a terminal: {text}");
    }
    let coloured = |text: &str| text.contains("\u{1b}[1") || text.contains("\u{1b}[3");
    assert!(!coloured(&plain), "NO_COLOR: {plain:?}");
    assert!(!on_a_terminal(&format!("{learn} --quiet"), true).unwrap().contains(" rows, "));
    let help = format!("{okl} learn --help");
    assert!(coloured(&on_a_terminal(&help, true).unwrap()) && !coloured(&on_a_terminal(&help, false).unwrap()));
    let (_, err) = succeed(&["learn", &data, "--target", "where"]);
    assert!(!err.contains(" rows, ") && !err.contains('\u{1b}'), "no bar in a file: {err}");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = Folder::new("pipe");
    let (data, model) = (folder.write("ring.csv", ring(20_000)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &model]);
    for args in [
        vec!["predict", &model, &data],
        vec!["predict", &model, &data, "--predictions-format", "jsonl"],
        vec!["inspect", &model],
        vec!["inspect", &model, "--json"],
        vec!["learn", &data, "--target", "where", "--json", "--quiet"],
        vec!["learn", &data, "--target", "where", "--predictions", "-", "--quiet"],
        vec!["export", &model, "--to", "json", "-o", "-"],
        vec!["completions", "bash"],
        vec!["man", "learn"],
    ] {
        let mut child = okl(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // The reader of predictions may have seen enough of them; the model and the report are still made, and it is said.
    std::fs::remove_file(&model).unwrap();
    let (report, whole) = (folder.path("r.html"), folder.path("whole.okl"));
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &whole]);
    let args = ["learn", &data, "--target", "where", "--predictions", "-", "-o", &model, "--report", &report];
    let mut child = okl(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.replace("\n  ", " ").contains("no more predictions are written"), "{said}");
    assert_eq!(std::fs::read(&model).unwrap(), std::fs::read(&whole).unwrap());
    assert!(std::path::Path::new(&report).exists());
    // Who closes the table has seen enough of it, not of the model.
    std::fs::remove_file(&model).unwrap();
    let mut child = okl(&["learn", &data, "--target", "where", "-o", &model]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert!(child.wait().unwrap().success() && std::path::Path::new(&model).exists());
}

#[test]
fn errors_are_one_line_in_a_log_and_fit_a_terminal() {
    let folder = Folder::new("complaint");
    let data = folder.write("t.csv", "a,c,y\n1,2,2\n2,,3\n");
    let (learn, words) = (["learn", &data, "--target", "y"], ["t.csv, line 3, column 'c'", "missing", "leaves such rows out"]);
    fail(&learn, 1, &words);
    let err = String::from_utf8(okl(&learn).output().unwrap().stderr).unwrap();
    assert_eq!(err.lines().count(), 1, "{err}");
    let Some(shown) = on_a_terminal(&format!("{} {}", env!("CARGO_BIN_EXE_okl"), learn.join(" ")), true) else {
        return skipped("no program `script` here, which long errors need for a terminal");
    };
    assert!(shown.lines().filter(|line| !line.contains(&data)).all(|line| line.chars().count() <= 80), "{shown}");
    assert!(words.iter().all(|word| shown.replace("\r\n  ", " ").contains(word)), "{shown}");
}

/// A column that is quiet at first and then goes fifty times as far is clipped: the summary, the JSON and the report name it.
#[test]
fn clipped_columns_are_named() {
    let value = |i: usize| (i * 7919 % 1009) as f64 / 1009.0 * if i < 300 { 1.0 } else { 50.0 };
    let rows: String = (0..2000).map(|i| format!("{},{},{}\n", value(i), i * 31 % 17, value(i) / 5.0)).collect();
    let folder = std::env::temp_dir().join(format!("okl-clipped-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("d.csv"), format!("load,other,y\n{rows}")).unwrap();
    let run = |more: &[&str]| {
        let mut okl = std::process::Command::new(env!("CARGO_BIN_EXE_okl"));
        let okl = okl.current_dir(&folder);
        let output = okl
            .args(["learn", "d.csv", "--target", "y", "--scale", "standard", "--kernel", "gaussian"])
            .args(more)
            .output()
            .unwrap();
        [output.stdout, output.stderr].map(|text| flat(&String::from_utf8(text).unwrap())).concat()
    };
    let texts = [run(&["--report", "r.html"]), run(&["--json"]), std::fs::read_to_string(folder.join("r.html")).unwrap()];
    std::fs::remove_dir_all(&folder).unwrap();
    texts
        .iter()
        .for_each(|text| assert!(text.contains("column load: 9") && text.contains("were at or beyond the limit of 8"), "{text}"));
    // Other units and a width made the error larger: they are not advised.
    texts.iter().for_each(|text| {
        assert!(
            !text.contains("scale to none") && !text.contains("warmup to more") && text.contains("% of the last 1,"),
            "{text}"
        )
    });
}

/// The share of small residuals in the report is the one that the predictions have, up to the bins of the histogram, whose edges
/// are at most 1/128 apart.
#[test]
fn the_share_of_small_residuals_is_that_of_the_predictions() {
    let folder = Folder::new("output-residuals");
    let (data, report, scores) = (folder.write("d.csv", numbers(800)), folder.path("r.html"), folder.path("p.csv"));
    succeed(&["learn", &data, "--target", "u", "--ignore", "v", "--report", &report, "--predictions", &scores, "--quiet"]);
    let column = |text: &str, at: usize| -> Vec<f64> {
        text.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
    };
    let residuals: Vec<f64> =
        column(&folder.read("d.csv"), 3).iter().zip(column(&folder.read("p.csv"), 1)).map(|(y, z)| y - z).collect();
    let share = |within: f64| 100.0 * residuals.iter().filter(|r| r.abs() <= within).count() as f64 / residuals.len() as f64;
    let page = folder.read("r.html").replace('\u{a0}', " ");
    let (before, after) = page.split_once(" % lie within ").expect("a caption of the residuals");
    let said: f64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    let limit: f64 = after.split(' ').next().unwrap().parse().unwrap();
    let (least, most) = (share(limit * (1.0 - 1.0 / 64.0)), share(limit * (1.0 + 1.0 / 64.0)));
    assert!((least - 0.01..=most + 0.01).contains(&said), "{said} % within {limit}: not between {least} and {most}");
}

/// Large weights are wider than their column: a space stays between a number and what follows.
#[test]
fn large_weights_do_not_touch_their_neighbours() {
    let folder = Folder::new("wide-weights");
    let text = ring(300).lines().enumerate().fold(String::new(), |text, (i, line)| match i {
        0 => format!("{line},w\n"),
        _ => text + &format!("{line},{}\n", 50_000_000.3 + i as f64),
    });
    let (data, model) = (folder.write("w.csv", text), folder.path("m.okl"));
    let learned = succeed(&["learn", &data, "--target", "where", "--weight", "w", "-o", &model]).1;
    let (out, err) = succeed(&["evaluate", &model, &data]);
    for said in [learned, out + &err] {
        let class = said.lines().find(|line| line.starts_with("  inside")).unwrap_or_else(|| panic!("{said}"));
        let cells: Vec<&str> = class.split_whitespace().collect();
        assert!(
            cells.len() == 8
                && cells[1].parse::<u64>().is_ok()
                && cells[2].ends_with(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']),
            "{class}"
        );
        assert!(cells[2].len() >= 13 && flat(&said).contains(" the sum of their weights"), "{said}");
    }
}
