//! `okl serve` as a process: killed at random moments, stopped by signals, fed with tables.
#![cfg(all(unix, feature = "serve"))]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use okl::{Batch, Config, Label, Learner};
use serde_json::{Value, json};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("okl-serve-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A running server; killed at the end.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(folder: &Folder, flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_okl"));
        command.arg("serve").arg(&folder.0).args(["--listen", "127.0.0.1:0"]).args(flags);
        let mut served = Served { child: command.stderr(Stdio::piped()).spawn().unwrap(), address: String::new() };
        let lines = BufReader::new(served.child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        for line in lines.map(Result::unwrap) {
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            if event["event"] == "listening" {
                served.address = event["url"].as_str().unwrap().split("//").nth(1).unwrap().to_owned();
                return served;
            }
            said.push(line);
        }
        panic!("the server does not start: {said:?}");
    }

    fn signal(&mut self, signal: &str) -> std::process::ExitStatus {
        Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request; none if the server is gone before its answer is complete.
fn call(address: &str, method: &str, path: &str, kind: &str, body: &[u8]) -> Option<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n").ok()?;
    stream.write_all(body).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
    let body = bytes[end + 4..].to_vec();
    (body.len() == length).then_some((head.split(' ').nth(1)?.parse().ok()?, body))
}

fn json_call(address: &str, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let (status, bytes) = call(address, method, path, "application/json", body.to_string().as_bytes())?;
    Some((status, serde_json::from_slice(&bytes).ok()?))
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }

    fn number(&mut self) -> f64 {
        self.below(4000) as f64 / 1000.0 - 2.0
    }
}

fn config() -> Value {
    json!({ "loss": "hinge", "kernel": "gaussian:0.7", "step": "constant:0.3", "lambda": 0.001, "budget": "merge:60", "offset": true })
}

type Acknowledged = (u64, Vec<[f64; 2]>, Vec<i64>);

/// One client: sends rows of its own stream until `stop`, each batch again and again until it is acknowledged.
fn client(number: u64, address: &Mutex<String>, stop: &AtomicBool) -> Vec<Acknowledged> {
    let (mut random, mut acknowledged, mut offset) = (Random(number + 1), Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let count = 1 + random.below(12);
        let x: Vec<[f64; 2]> = (0..count).map(|_| [random.number(), random.number()]).collect();
        let y: Vec<i64> = x.iter().map(|x| if x[0] * x[1] > 0.0 { 1 } else { -1 }).collect();
        let body = json!({ "rows": x, "targets": y, "stream": format!("client {number}"), "offset": offset });
        let entry = loop {
            let now = address.lock().unwrap().clone();
            match json_call(&now, "POST", "/v1/models/m/learn", &body) {
                Some((200, answer)) => break answer["entry"].as_u64().unwrap(),
                Some((503 | 404, _)) | None => std::thread::sleep(Duration::from_millis(2)),
                Some((status, answer)) => panic!("{status}: {answer}"),
            }
        };
        offset += count;
        acknowledged.push((entry, x, y));
    }
    acknowledged
}

/// Kills the server `OKL_KILLS` times (25) at random moments while four clients send rows; every fifth time with SIGTERM. Nothing that was
/// acknowledged is lost, nothing is learned twice, and the model has the bits of a learner that was never interrupted.
#[test]
fn nothing_is_lost_and_nothing_is_learned_twice() {
    let kills: u64 = std::env::var("OKL_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(25);
    let folder = Folder::new("kill");
    // Snapshots while rows arrive, so that they are interrupted, too.
    let flags = ["--snapshot-rows", "400"];
    let mut served = Served::start(&folder, &flags);
    json_call(&served.address, "PUT", "/v1/models/m", &json!({ "config": config() })).unwrap();
    let (address, stop) = (Mutex::new(served.address.clone()), AtomicBool::new(false));
    let mut random = Random(kills + 99);
    let mut all: Vec<Acknowledged> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|i| {
                scope.spawn({
                    let (address, stop) = (&address, &stop);
                    move || client(i, address, stop)
                })
            })
            .collect();
        for kill in 0..kills {
            std::thread::sleep(Duration::from_micros(random.below(40_000)));
            let status = served.signal(if kill % 5 == 4 { "-TERM" } else { "-KILL" });
            assert!(kill % 5 != 4 || status.code() == Some(143), "{status:?}");
            served = Served::start(&folder, &flags);
            address.lock().unwrap().clone_from(&served.address);
        }
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    all.sort_by_key(|(entry, ..)| *entry);
    let mut learner = Learner::new(Config::from_value(config()).unwrap()).unwrap();
    for (_, x, y) in &all {
        let labels: Vec<Label> = y.iter().map(|y| Label::Int(*y)).collect();
        learner.learn(&Batch::of_f64(x.as_flattened(), 2).labels(&labels)).unwrap();
    }
    assert!(all.len() as u64 > kills, "the clients were served in between");
    let told = json_call(&served.address, "GET", "/v1/models/m", &json!({})).unwrap().1;
    assert_eq!(told["examples"], learner.examples(), "each acknowledged row once");
    let file = call(&served.address, "GET", "/v1/models/m/snapshot", "", b"").unwrap().1;
    assert!(file == learner.to_bytes(), "the same bits");
}

#[test]
fn tables_are_read_as_okl_learn_reads_them() {
    let folder = Folder::new("tables");
    let served = Served::start(&folder, &[]);
    let post = |path: &str, kind: &str, body: &str| {
        let (status, body) = call(&served.address, "POST", path, kind, body.as_bytes()).unwrap();
        (status, serde_json::from_slice::<Value>(&body).unwrap())
    };
    for name in ["csv", "lines", "json"] {
        json_call(&served.address, "PUT", &format!("/v1/models/{name}"), &json!({ "config": config() })).unwrap();
    }
    let csv = "a,b,y,w\n0.5,1.5,cat,1\n-1,2,dog,0.5\n1,1,cat,2\n";
    let (status, by_csv) = post("/v1/models/csv/learn?target=y&weight=w", "text/csv", csv);
    assert_eq!(status, 200, "{by_csv}");
    let lines = "{\"a\":0.5,\"b\":1.5,\"y\":\"cat\",\"w\":1}\n{\"w\":0.5,\"y\":\"dog\",\"b\":2,\"a\":-1}\n{\"a\":1,\"b\":1,\"y\":\"cat\",\"w\":2}\n";
    let (status, by_lines) = post("/v1/models/lines/learn?target=y&weight=w", "application/x-ndjson", lines);
    assert_eq!(status, 200, "{by_lines}");
    let rows = json!({ "rows": [[0.5, 1.5], [-1, 2], [1, 1]], "targets": ["cat", "dog", "cat"], "weights": [1, 0.5, 2] });
    let by_json = post("/v1/models/json/learn", "application/json", &rows.to_string()).1;
    assert_eq!((&by_csv["scores"], &by_lines["scores"]), (&by_json["scores"], &by_json["scores"]));
    let file = |name: &str| call(&served.address, "GET", &format!("/v1/models/{name}/snapshot"), "", b"").unwrap().1;
    assert!(file("csv") == file("json") && file("lines") == file("json"));
    let (status, refused) = post("/v1/models/csv/learn?target=y&weight=w", "text/csv", "a,b,y,w\n1,2,cat,1\n1,x,cat,1\n");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(status == 422 && message.contains("row 3") && message.contains("'b'"), "{message}");
    let described = call(&served.address, "GET", "/v1/models/csv/inspect", "", b"").unwrap().1;
    let described: Value = serde_json::from_slice(&described).unwrap();
    assert_eq!((&described["feature_names"], &described["examples"]), (&json!(["a", "b"]), &json!(3)));
    assert!(described["certificates"].as_array().is_some_and(|lines| !lines.is_empty()));
}

#[test]
fn a_token_is_made_and_used() {
    let folder = Folder::new("tokens");
    std::fs::create_dir_all(&folder.0).unwrap();
    let tokens = folder.0.join("tokens");
    let file = tokens.to_str().unwrap();
    let new = |rights: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_okl"));
        let output =
            command.args(["token", "new", "--name", "t", "--rights", rights, "--models", "*", "--file", file]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    assert_eq!(new("fly").0, Some(2));
    let (code, secret) = new("admin");
    assert!(code == Some(0) && !std::fs::read_to_string(&tokens).unwrap().contains(&secret));
    let models = Folder(folder.0.join("models"));
    let served = Served::start(&models, &["--token-file", file]);
    let with = |secret: &str| {
        let mut stream = TcpStream::connect(&served.address).unwrap();
        write!(stream, "GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {secret}\r\n\r\n")
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text[9..12].to_owned()
    };
    assert_eq!((with(&secret), with("okl_wrong")), ("200".into(), "401".into()));
    let open = Command::new(env!("CARGO_BIN_EXE_okl"))
        .arg("serve")
        .arg(folder.0.join("other"))
        .args(["--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert!(!open.status.success() && String::from_utf8_lossy(&open.stderr).contains("loopback"), "{open:?}");
}

/// The live page in headless Chromium, where it is installed: the figures of the models are drawn from the server's answers.
#[test]
fn the_page_shows_the_models_in_a_browser() {
    let folder = Folder::new("page");
    let served = Served::start(&folder, &[]);
    json_call(&served.address, "PUT", "/v1/models/boiler", &json!({ "config": config() })).unwrap();
    let body = json!({ "rows": [[0.5, 1.5], [-1, 2], [1, 1]], "targets": [1, -1, 1] });
    json_call(&served.address, "POST", "/v1/models/boiler/learn", &body).unwrap();
    let profile = folder.0.join("profile");
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--virtual-time-budget=3000",
        "--dump-dom",
    ]);
    browser.arg(format!("--user-data-dir={}", profile.display())).arg(format!("http://{}/", served.address));
    let Ok(output) = browser.stderr(Stdio::null()).output() else {
        eprintln!("chromium is not installed: the live page is not tested");
        return;
    };
    let page = String::from_utf8_lossy(&output.stdout);
    for shown in [
        "<h2>boiler</h2>",
        "1 model, updated",
        "<dt>rows</dt><dd>3</dd>",
        "No term has been dropped or merged: the model is exact.",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}
