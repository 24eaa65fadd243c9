//! A server process, a client over TCP and random numbers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
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
pub struct Served {
    child: Child,
    pub address: String,
}

impl Served {
    pub fn start(folder: &Folder, flags: &[&str]) -> Self {
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

    pub fn signal(&mut self, signal: &str) -> std::process::ExitStatus {
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
pub fn call(address: &str, method: &str, path: &str, kind: &str, body: &[u8]) -> Option<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n").ok()?;
    stream.write_all(body).ok()?;
    let (mut answer, mut head) = (BufReader::new(stream), String::new());
    while !head.ends_with("\r\n\r\n") {
        (answer.read_line(&mut head).ok()? > 0).then_some(())?;
    }
    let value =
        |line: &str| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))?.1.trim().parse().ok();
    let mut body = vec![0; head.lines().find_map(value)?];
    answer.read_exact(&mut body).ok()?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body))
}

pub fn json_call(address: &str, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let (status, bytes) = call(address, method, path, "application/json", body.to_string().as_bytes())?;
    Some((status, serde_json::from_slice(&bytes).ok()?))
}

/// xorshift64*
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }

    pub fn number(&mut self) -> f64 {
        self.below(4000) as f64 / 1000.0 - 2.0
    }
}

pub fn config() -> Value {
    json!({ "loss": "hinge", "kernel": "gaussian:0.7", "step": "constant:0.3", "lambda": 0.001, "budget": "merge:60", "offset": true })
}
