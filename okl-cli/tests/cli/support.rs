//! The binary, folders that go away, and streams to learn.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A folder that goes away with the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("okl-cli-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The words of a text, with one space between them: lines are broken to fit a terminal.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn okl(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_okl"));
    command.args(args).env("NO_COLOR", "1");
    command
}

/// Standard output and standard error of a command that must end well.
pub fn succeed(args: &[&str]) -> (String, String) {
    done(args, okl(args).output().unwrap())
}

/// The same for a command that is fed through standard input.
pub fn succeed_with(args: &[&str], input: &[u8]) -> (String, String) {
    let mut child = okl(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    done(args, output)
}

fn done(args: &[&str], output: Output) -> (String, String) {
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "okl {args:?}: {err}");
    (out, err)
}

/// The position of a model in its data; none while the file is not there.
pub fn position(model: &str) -> Option<Value> {
    serde_json::from_slice(okl::Learner::load(model).ok()?.position()).ok()
}

/// Runs a command that writes checkpoints of `model`, and kills it as soon as the position of one of them is `there`. The last pass waits: nobody reads
/// its predictions, which have long texts of the column `note`. So the run does not end before.
pub fn killed(args: &[&str], model: &str, there: impl Fn(&Value) -> bool) {
    drop(fs::remove_file(model));
    let files = ["-o", model, "--checkpoint-every", "50", "--predictions", "-", "--keep", "note", "--quiet"];
    let mut child = okl(&[args, &files].concat()).stdout(Stdio::piped()).spawn().unwrap();
    while !position(model).is_some_and(|position| there(&position)) {
        assert!(child.try_wait().unwrap().is_none(), "okl {args:?} ended");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What `--json` says.
pub fn json(args: &[&str]) -> Value {
    serde_json::from_str(&succeed(&[args, &["--json"]].concat()).0).unwrap()
}

/// A command that must fail with this code and one or two lines that have these words.
pub fn fail(args: &[&str], code: i32, words: &[&str]) -> String {
    let output = okl(args).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "okl {args:?}: {err}");
    assert!(err.trim_end().lines().count() <= 2, "an error is one or two lines: {err}");
    words.iter().for_each(|word| assert!(err.contains(word), "okl {args:?}: {word:?} is missing from {err:?}"));
    err
}

/// Numbers in [0, 1).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// Rows of a ring around a disc, told apart by `inside` and `outside`.
pub fn ring(rows: usize) -> String {
    let mut random = Random(9);
    let mut text = String::from("x,y,where\n");
    for _ in 0..rows {
        let (angle, inside) = (std::f64::consts::TAU * random.next(), random.next() < 0.5);
        let radius = if inside { 0.8 * random.next() } else { 1.5 + 0.5 * random.next() };
        let place = if inside { "inside" } else { "outside" };
        writeln!(text, "{:.4},{:.4},{place}", radius * angle.cos(), radius * angle.sin()).unwrap();
    }
    text
}

/// JSON lines of points around five centres; most centres' classes and their keys appear only after a while.
pub fn late_classes(rows: usize) -> String {
    let mut random = Random(5);
    let mut text = String::new();
    for i in 0..rows {
        let class = (random.next() * (1.0 + 4.0 * i as f64 / rows as f64)) as usize;
        let (x, y) = (class as f64 + 0.4 * random.next(), (class * class) as f64 * 0.3 + random.next());
        // A key of the first row would be required in all.
        let key = if i > 0 { format!("\"k{class}\":1,") } else { String::new() };
        writeln!(text, "{{\"x\":{x:.4},\"y\":{y:.4},{key}\"class\":\"c{class}\"}}").unwrap();
    }
    text
}

/// Two numbers that follow from three.
pub fn numbers(rows: usize) -> String {
    let mut random = Random(3);
    let mut text = String::from("a,b,c,u,v\n");
    for _ in 0..rows {
        let [a, b, c] = [(); 3].map(|()| random.next());
        writeln!(text, "{a:.4},{b:.4},{c:.4},{:.4},{:.4}", (3.0 * a).sin() + b, b * c).unwrap();
    }
    text
}

/// Targets with heavy tails that depend on nothing, with two columns; and the targets.
pub fn heavy_tails(rows: usize) -> (String, Vec<f64>) {
    let mut random = Random(5);
    let (mut text, mut targets) = (String::from("a,b,y\n"), Vec::new());
    for _ in 0..rows {
        let [a, b, u] = [(); 3].map(|()| random.next() - 0.5);
        let y = format!("{:.4}", (std::f64::consts::PI * u).tan());
        writeln!(text, "{a:.4},{b:.4},{y}").unwrap();
        targets.push(y.parse().unwrap());
    }
    (text, targets)
}

pub fn gzip(text: &str) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text.as_bytes()).unwrap();
    out.finish().unwrap()
}

/// Says why a test is left out: straight to standard error, because what a test prints is shown only if it fails.
pub fn skipped(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
}
