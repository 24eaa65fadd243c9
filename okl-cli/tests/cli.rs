//! The binary as its users run it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("okl-cli-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn okl(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_okl"));
    command.args(args).env("NO_COLOR", "1");
    command
}

fn run(args: &[&str]) -> Output {
    okl(args).output().unwrap()
}

fn succeed(args: &[&str]) -> (String, String) {
    let output = run(args);
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "okl {args:?}: {err}");
    (out, err)
}

fn fail(args: &[&str], code: i32, words: &[&str]) {
    let output = run(args);
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "okl {args:?}: {err}");
    assert!(err.trim_end().lines().count() <= 2, "an error is one or two lines: {err}");
    words.iter().for_each(|word| assert!(err.contains(word), "okl {args:?}: {word:?} is missing from {err:?}"));
}

/// Rows of a ring around a disc, told apart by `inside` and `outside`.
fn ring(rows: usize) -> String {
    let mut seed = 9u64;
    let mut uniform = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut text = String::from("x,y,where\n");
    for _ in 0..rows {
        let (angle, inside) = (std::f64::consts::TAU * uniform(), uniform() < 0.5);
        let radius = if inside { 0.8 * uniform() } else { 1.5 + 0.5 * uniform() };
        text +=
            &format!("{:.4},{:.4},{}\n", radius * angle.cos(), radius * angle.sin(), if inside { "inside" } else { "outside" });
    }
    text
}

#[test]
fn demo_needs_nothing_and_leaves_a_model_and_a_report() {
    let folder = Folder::new("demo");
    let (out, err) = succeed(&["demo", "--out", &folder.path("")]);
    assert!(out.contains("Mistakes:") && out.contains("Alerts:") && err.contains("avg loss"), "{out}{err}");
    let own = |line: &&str| !line.contains(&folder.path(""));
    assert!(
        out.lines().chain(err.lines()).filter(own).all(|line| line.chars().count() <= 80),
        "a terminal has 80 columns: {out}{err}"
    );
    let report = fs::read_to_string(folder.path("report.html")).unwrap();
    assert!(report.contains("<svg") && !report.contains("http://www.w3.org/1999/xhtml\" src"));
    let (words, _) = succeed(&["inspect", &folder.path("demo.okl")]);
    // The first row names the only class so far: there is nothing to learn from it yet.
    assert!(words.contains("examples   19999") && words.contains("terms      100"), "{words}");
}

#[test]
fn a_file_with_nothing_else_gives_a_sensible_model() {
    let folder = Folder::new("plain");
    let (data, model) = (folder.write("ring.csv", &ring(1500)), folder.path("m.okl"));
    let (_, err) = succeed(&["learn", &data, "--target", "where", "-o", &model]);
    assert!(err.contains("loss = hinge: the target has two values") && err.contains("scale = standard"), "{err}");
    let (scores, _) = succeed(&["predict", &model, &data]);
    let mut lines = scores.lines();
    assert_eq!(lines.next(), Some("line,class,score"));
    let right =
        lines.zip(ring(1500).lines().skip(1)).filter(|(said, row)| said.split(',').nth(1) == row.split(',').nth(2)).count();
    assert!(right > 1470, "{right} of 1500");
}

#[test]
fn predictions_are_those_before_learning_one_line_per_row() {
    let folder = Folder::new("predictions");
    let data = folder.write("ring.csv", &ring(300));
    let (csv, json) = (folder.path("p.csv"), folder.path("p.jsonl"));
    succeed(&["learn", &data, "--target", "where", "--quiet", "--predictions", &csv]);
    succeed(&["learn", &data, "--target", "where", "--quiet", "--predictions", &json]);
    let csv = fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 301);
    assert_eq!(csv.lines().nth(1).unwrap().split(',').nth(2), Some("0"), "f_1 = 0: {csv}");
    for (row, line) in fs::read_to_string(json).unwrap().lines().enumerate() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["line"], row as u64 + 2);
        let score: f64 = csv.lines().nth(row + 1).unwrap().split(',').nth(2).unwrap().parse().unwrap();
        assert_eq!(value["scores"][0].as_f64(), Some(score));
    }
}

#[test]
fn settings_may_come_from_a_file_flags_and_a_stream_on_standard_input() {
    let folder = Folder::new("settings");
    let config = folder.write("okl.toml", "loss = 'squared'\nkernel = 'gaussian'\ngamma = 0.5\nbudget = 'window:50'\n");
    let mut child = okl(&[
        "learn", "-", "--format", "jsonl", "--target", "y", "--config", &config, "--eta", "0.25", "--step", "constant", "--json",
    ])
    .stdin(Stdio::piped())
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    (0..200).for_each(|i| writeln!(stdin, "{{\"a\": {}, \"y\": {}}}", i % 7, (i % 7) * 2).unwrap());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["config"]["step"]["constant"]["eta"], 0.25);
    assert_eq!(value["config"]["budget"]["window"]["terms"], 50);
    assert_eq!(value["summary"]["examples"], 200);
}

#[test]
fn novelty_and_several_outputs_as_in_the_contract() {
    let folder = Folder::new("contract");
    let traffic: String = std::iter::once("a,b\n".to_owned())
        .chain((0..3000).map(|i| format!("{},{}\n", (i as f64 * 0.1).sin(), (i as f64 * 0.1).cos())))
        .collect();
    let data = folder.write("traffic.csv", &traffic);
    let alerts = folder.path("alerts.csv");
    succeed(&["learn", &data, "--loss", "nu_novelty", "--nu", "0.01", "--predictions", &alerts]);
    assert!(fs::read_to_string(alerts).unwrap().starts_with("line,alert,threshold,score\n"));
    let rows: String = std::iter::once("x,u,v\n".to_owned())
        .chain((0..500).map(|i| format!("{},{},{}\n", i % 10, i % 10 * 2, 5 - i % 10)))
        .collect();
    let data = folder.write("outputs.csv", &rows);
    let (out, _) =
        succeed(&["learn", &data, "--target", "u,v", "--operator", "1,0.1,0.1,1", "--step", "inverse_sqrt:eta=0.1", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["summary"]["outputs"].as_array().unwrap().len(), 2);
}

fn bytes(path: &str) -> Vec<u8> {
    fs::read(path).unwrap()
}

/// What a model is, without what it remembers of files: the scores it gives.
fn scores(model: &str, data: &str) -> String {
    succeed(&["predict", model, data]).0
}

#[test]
fn resuming_new_data_and_the_same_stream() {
    let folder = Folder::new("resume");
    let text = ring(1200);
    let half: String = text.lines().take(601).map(|l| format!("{l}\n")).collect();
    let rest: String = text.lines().take(1).chain(text.lines().skip(601)).map(|l| format!("{l}\n")).collect();
    let (whole, half, rest) =
        (folder.write("whole.csv", &text), folder.write("half.csv", &half), folder.write("rest.csv", &rest));
    let [a, b, c, d] = ["a.okl", "b.okl", "c.okl", "d.okl"].map(|n| folder.path(n));
    succeed(&["learn", &whole, "--target", "where", "--quiet", "-o", &a]);
    succeed(&["learn", &half, "--target", "where", "--quiet", "-o", &b]);
    succeed(&["learn", "--resume", &b, &rest, "--quiet", "-o", &c]);
    assert_eq!(scores(&a, &whole), scores(&c, &whole), "more.csv is new data");
    succeed(&["learn", "--resume", &b, "--continue", &whole, "--quiet", "-o", &d]);
    assert_eq!(bytes(&a), bytes(&d), "the same stream goes on where the model stopped");
}

#[test]
fn killed_at_any_moment_the_last_checkpoint_goes_on_to_the_same_bits() {
    let folder = Folder::new("kill");
    let data = folder.write("ring.csv", &ring(60_000));
    let (whole, model, end) = (folder.path("whole.okl"), folder.path("m.okl"), folder.path("end.okl"));
    let settings = ["--target", "where", "--quiet", "--budget", "merge:200", "--kernel", "gaussian"];
    succeed(&[&["learn", &data, "-o", &whole][..], &settings].concat());
    let mut cut_short = 0;
    for wait in [0, 3, 10, 40] {
        drop(fs::remove_file(&model));
        let mut child =
            okl(&[&["learn", &data, "-o", &model, "--checkpoint-every", "1000"][..], &settings].concat()).spawn().unwrap();
        // Once the first checkpoint is there, a little longer, then no mercy.
        while !Path::new(&model).exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().unwrap();
        cut_short += usize::from(!child.wait().unwrap().success());
        succeed(&["learn", "--resume", &model, "--continue", &data, "--quiet", "-o", &end]);
        assert_eq!(bytes(&whole), bytes(&end), "killed after {wait} ms");
    }
    assert!(cut_short > 0, "every run was done before it was killed");
}

#[test]
fn errors_say_where_and_what_to_do() {
    let folder = Folder::new("errors");
    let good = folder.write("good.csv", &ring(20));
    let bad = folder.write("bad.csv", "x,y,where\n1,2,a\n1,oops,b\n");
    fail(&["learn", &folder.path("none.csv"), "--target", "y"], 1, &["none.csv"]);
    fail(&["learn", &good], 2, &["--target"]);
    fail(&["learn", &good, "--target", "nowhere"], 2, &["nowhere"]);
    fail(&["learn", &bad, "--target", "where"], 1, &["bad.csv", "3", "y", "oops"]);
    fail(&["learn", &good, "--target", "where", "--loss", "nu_novelty", "--offset"], 2, &["offset"]);
    fail(&["learn", &good, "--target", "where", "--step", "constantt:1"], 2, &["constantt", "constant"]);
    fail(&["inspect", &good], 1, &["not a model"]);
    let model = folder.path("m.okl");
    succeed(&["learn", &good, "--target", "where", "--quiet", "-o", &model]);
    fail(&["export", &model, "--to", "libsvm", "-o", &folder.path("m.txt")], 1, &["onnx"]);
    fail(&["learn", &good, "--target", "where", "--quiet", "-o", &folder.path("no/such/folder.okl")], 1, &["cannot be written"]);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = Folder::new("pipe");
    let (data, model) = (folder.write("ring.csv", &ring(20_000)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &model]);
    for args in [
        vec!["predict", &model, &data],
        vec!["inspect", &model],
        vec!["inspect", &model, "--json"],
        vec!["learn", &data, "--target", "where", "--json", "--quiet"],
    ] {
        let mut child = okl(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn completions_and_manual_are_generated() {
    assert!(succeed(&["completions", "bash"]).0.contains("okl"));
    assert!(succeed(&["man"]).0.contains(".TH okl"));
}
