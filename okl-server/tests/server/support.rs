//! A server in this process, a client over TCP, and streams of rows.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use okl::{Batch, Config, Label, Learner};
use okl_server::disk::{Disk, RealDisk};
use okl_server::http::{Listening, Server, Tls};
use okl_server::options::Options;
use okl_server::registry::Registry;
use okl_server::surface::Plain;
use okl_server::tokens::Tokens;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// A folder of its own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("okl-server-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        drop(std::fs::remove_dir_all(&path));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A copy of the folder as it is now, without the lock.
    pub fn copy(&self) -> Folder {
        let to = Folder::new();
        copy_folder(&self.0, &to.0);
        to
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A server that runs in a thread; stopped at the end.
pub struct Running {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    pub notes: Vec<String>,
}

pub struct Setup {
    pub tls: Option<Tls>,
    pub options: Options,
    pub tokens: Option<Tokens>,
    pub disk: Arc<dyn Disk>,
    /// The name of the threads of the runtime.
    pub threads: &'static str,
}

impl Default for Setup {
    fn default() -> Self {
        Setup { tls: None, options: Options::default(), tokens: None, disk: Arc::new(RealDisk), threads: "front" }
    }
}

impl Running {
    pub fn start(folder: &Folder) -> Self {
        Running::with(folder, Setup::default())
    }

    pub fn with(folder: &Folder, setup: Setup) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).thread_name(setup.threads).enable_all().build().unwrap();
        let (registry, notes) = Registry::on(setup.disk, &folder.0, Arc::new(Plain), setup.options).unwrap();
        let server = Server::new(Arc::new(registry), setup.tokens);
        let listening = runtime.block_on(Listening::on("127.0.0.1:0".parse().unwrap(), server, setup.tls)).unwrap();
        let address = listening.address().unwrap();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || runtime.block_on(listening.run(async { drop(stopped.await) })));
        Running { address, stop: Some(stop), thread: Some(thread), notes }
    }

    /// Stops the server as SIGTERM does.
    pub fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    pub fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        call(self.address, method, path, headers, body)
    }

    pub fn get(&self, path: &str) -> Reply {
        self.call("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.call("POST", path, &[], body.to_string().as_bytes())
    }

    pub fn put(&self, path: &str, body: &Value) -> Reply {
        self.call("PUT", path, &[], body.to_string().as_bytes())
    }

    /// The model file after everything sent so far.
    pub fn model_file(&self, name: &str) -> Vec<u8> {
        let reply = self.post(&format!("/v1/models/{name}/predict?fresh=true"), &json!({ "rows": [[0.0, 0.0]] }));
        assert!(matches!(reply.status, 200 | 422), "{reply:?}");
        let reply = self.get(&format!("/v1/models/{name}/snapshot"));
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.body
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The JSON of an answer that must be a success.
    pub fn good(&self) -> Value {
        assert!(self.status < 300, "{} {}", self.status, String::from_utf8_lossy(&self.body));
        self.json()
    }

    pub fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Sends a request over a connection of its own. An error of the connection is status 0.
pub fn call(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "host") {
        request += &format!("host: {address}\r\n");
    }
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    let sent = TcpStream::connect(address).and_then(|mut stream| {
        stream.write_all(format!("{request}\r\n").as_bytes())?;
        // A server that has refused the headers may not read the body.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Ok(bytes)
    });
    let bytes = sent.unwrap_or_default();
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
    let body = if head.contains("transfer-encoding: chunked") { unchunked(&body) } else { body };
    Reply { status, head, body }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = bytes.windows(2).position(|w| w == b"\r\n") {
        let length = usize::from_str_radix(&String::from_utf8_lossy(&bytes[..end]), 16).unwrap_or(0);
        if length == 0 {
            break;
        }
        all.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = &bytes[end + 4 + length..];
    }
    all
}

/// A small configuration, the same for the server and the plain learner.
pub fn config() -> Value {
    json!({ "loss": "hinge", "kernel": "gaussian:0.7", "step": "constant:0.3", "lambda": 0.001, "budget": "merge:40", "offset": true })
}

/// Two classes in two rings; xorshift numbers, the same in every run.
pub fn rows(seed: u64, count: usize) -> (Vec<[f64; 2]>, Vec<i64>) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut row = || {
        let (radius, angle) = (2.0 * uniform(), std::f64::consts::TAU * uniform());
        ([radius * angle.cos(), radius * angle.sin()], if radius < 1.0 { 1 } else { -1 })
    };
    (0..count).map(|_| row()).unzip()
}

pub fn body(rows: &[[f64; 2]], targets: &[i64]) -> Value {
    json!({ "rows": rows, "targets": targets })
}

/// The plain learner that learns these rows without a server.
pub fn learned(batches: &[(Vec<[f64; 2]>, Vec<i64>)]) -> (Learner, Vec<f64>) {
    let mut learner = Learner::new(Config::from_value(config()).unwrap()).unwrap();
    let mut scores = Vec::new();
    for (rows, targets) in batches {
        let labels: Vec<Label> = targets.iter().map(|y| Label::Int(*y)).collect();
        scores.extend(learner.learn(&Batch::of_f64(rows.as_flattened(), 2).labels(&labels)).unwrap().values);
    }
    (learner, scores)
}

/// The scores of an answer with one score per row.
pub fn scores(answer: &Value) -> Vec<f64> {
    answer["scores"].as_array().unwrap().iter().map(|row| row[0].as_f64().unwrap()).collect()
}
