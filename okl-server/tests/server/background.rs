//! Threads that give way to predictions.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use okl_server::background::{Background, Predictions, Side, guarded};
use serde_json::{Value, json};

use crate::support::{Folder, Running, Setup};

/// The nice value of this thread: the 19th field of its `stat`, the 17th after the name.
fn nice() -> i32 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, after) = stat.rsplit_once(") ").unwrap();
    after.split(' ').nth(16).unwrap().parse().unwrap()
}

fn thread() -> (i32, bool) {
    (nice(), std::thread::current().name() == Some("okl-rows"))
}

#[test]
fn a_connection_goes_to_threads_of_low_priority_and_back() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let background = Background::start(Arc::default()).unwrap();
    let (side, seen) = (Arc::new(Side::default()), Arc::new(Mutex::new(Vec::new())));
    let (to, of) = (Arc::clone(&seen), Arc::clone(&side));
    let connection = async move {
        for learns in [false, true, true, false, true] {
            of.change(learns).await;
            to.lock().unwrap().push(thread());
            // What the connection waits for later does not bring it back.
            tokio::task::yield_now().await;
            to.lock().unwrap().push(thread());
        }
    };
    runtime.block_on(background.serve(&side, connection));
    let (front, back) = ((nice(), false), (nice().max(10), true));
    let expected = [front, back, back, front, back].map(|one| [one, one]).concat();
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn a_panic_ends_its_connection_only() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let background = Background::start(Arc::default()).unwrap();
    for _ in 0..std::thread::available_parallelism().unwrap().get() {
        let side = Arc::new(Side::default());
        let of = Arc::clone(&side);
        runtime.block_on(background.serve(&side, async move {
            of.change(true).await;
            panic!("expected here");
        }));
    }
    let (side, done) = (Arc::new(Side::default()), Arc::new(Mutex::new(false)));
    let (of, to) = (Arc::clone(&side), Arc::clone(&done));
    runtime.block_on(background.serve(&side, async move {
        of.change(true).await;
        *to.lock().unwrap() = true;
    }));
    assert!(*done.lock().unwrap());
    let ended = guarded(|| panic!("expected here")).map(|()| 0).unwrap_err();
    assert_eq!((ended.status, ended.code), (500, "internal"));
}

#[test]
fn learning_leaves_a_processor_to_predictions_while_there_are_any() {
    let processors = || std::thread::available_parallelism().unwrap().get();
    let all = processors();
    let found = std::thread::spawn(move || {
        let predictions = Predictions::default();
        predictions.give_way();
        let before = processors();
        predictions.note();
        predictions.give_way();
        let during = processors();
        // A thread that is started now begins with fewer processors, and gets all of them for learning without predictions.
        let after = std::thread::spawn(move || {
            Predictions::default().give_way();
            processors()
        });
        [before, during, after.join().unwrap()]
    });
    assert_eq!((found.join().unwrap(), processors()), ([all, (all - 1).max(1), all], all));
}

/// How often the threads of this name have waited for something.
fn waits(name: &str) -> u64 {
    let of = |path: std::path::PathBuf| {
        let comm = std::fs::read_to_string(path.join("comm")).ok()?;
        let status = std::fs::read_to_string(path.join("status")).ok()?;
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        (comm.trim() == name).then(|| count.trim().parse::<u64>().unwrap())
    };
    std::fs::read_dir("/proc/self/task").unwrap().filter_map(|task| of(task.unwrap().path())).sum()
}

/// Sends a request over a connection that stays open; the answer is a success.
fn send(on: &mut TcpStream, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    // Two packets, as most clients send them.
    on.write_all(head.as_bytes()).and_then(|()| on.write_all(body.as_bytes())).unwrap();
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 4096];
        let count = on.read(&mut part).unwrap();
        assert!(count > 0, "the connection was closed: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if rest.len() == length.parse::<usize>().unwrap() {
                assert!(head.starts_with("http/1.1 200"), "{text}");
                return serde_json::from_str(rest).unwrap();
            }
        }
    }
}

#[test]
fn a_connection_learns_and_predicts_in_turn_and_learning_wakes_no_thread_that_predicts() {
    let folder = Folder::new();
    let server = Running::with(&folder, Setup { threads: "predicting", ..Setup::default() });
    let config = json!({ "kernel": "gaussian:1", "step": "constant:0.5", "lambda": 0.01, "loss": "squared" });
    server.put("/v1/models/m", &json!({ "config": config })).good();
    let connect = || {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    };
    let body = json!({ "rows": [[0.5]], "targets": [1.0] });
    let mut mixed = connect();
    for _ in 0..20 {
        let learned = send(&mut mixed, "/v1/models/m/learn", &body);
        let predicted = send(&mut mixed, "/v1/models/m/predict", &json!({ "rows": [[0.5]] }));
        assert_eq!(predicted["entry"], learned["entry"], "a prediction sees what its connection has learned before");
    }
    let mut learns = connect();
    send(&mut learns, "/v1/models/m/learn", &body);
    let before = waits("predicting");
    let requests = 200;
    (0..requests).for_each(|_| drop(send(&mut learns, "/v1/models/m/learn", &body)));
    let woken = waits("predicting") - before;
    assert!(woken < requests / 2, "threads that predict were woken {woken} times for {requests} requests that learn");
}
