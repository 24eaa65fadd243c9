//! The server is killed at random moments under load.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use okl::{Batch, Config, Label, Learner};
use serde_json::json;

use crate::support::{Folder, Random, Served, call, config, json_call};

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
