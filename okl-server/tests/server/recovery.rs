//! A copy of the folder, a full disk, a failing disk, a damaged file: what was acknowledged is there, to the last bit.

use std::sync::Arc;

use okl_server::disk::memory::MemoryDisk;
use okl_server::options::Options;
use okl_server::registry::Registry;
use okl_server::surface::Plain;
use serde_json::{Value, json};

use crate::support::{Folder, Running, Setup, body, config, learned, rows};

const LEARN: &str = "/v1/models/m/learn";

fn create(server: &Running) {
    server.put("/v1/models/m", &json!({ "config": config() })).good();
}

/// Four clients send their batches at the same time. Returns the batches in the order in which they were learned.
fn four_clients(server: &Running, each: u64) -> Vec<(Vec<[f64; 2]>, Vec<i64>)> {
    let client = |number: u64| {
        let batches = (0..each).map(|i| rows(1000 * number + i, 1 + (i % 7) as usize));
        let send = |(x, y): (Vec<[f64; 2]>, Vec<i64>)| {
            let answer = server.post(LEARN, &body(&x, &y)).good();
            (answer["entry"].as_u64().unwrap(), (x, y))
        };
        batches.map(send).collect::<Vec<_>>()
    };
    let client = &client;
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let clients: Vec<_> = (1..=4).map(|number| scope.spawn(move || client(number))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    all.sort_by_key(|(entry, _)| *entry);
    all.into_iter().map(|(_, batch)| batch).collect()
}

#[test]
fn a_copy_of_the_folder_is_the_model() {
    let folder = Folder::new();
    let options = Options { snapshot_rows: 100, segment_bytes: 4000, ..Options::default() };
    let mut server = Running::with(&folder, Setup { options, ..Setup::default() });
    create(&server);
    let batches = four_clients(&server, 25);
    let expected = learned(&batches).0.to_bytes();
    assert_eq!(server.model_file("m"), expected);
    // The files of a server that was not stopped: a snapshot that is old, and a journal.
    let copy = folder.copy();
    assert!(std::fs::read_dir(copy.0.join("m/journal")).unwrap().count() > 0);
    assert_eq!(Running::start(&copy).model_file("m"), expected);
    server.stop();
    assert_eq!(std::fs::read_dir(folder.0.join("m/journal")).unwrap().count(), 0, "a snapshot was written at the end");
    assert_eq!(Running::start(&folder).model_file("m"), expected);
}

#[test]
fn one_server_per_folder() {
    let folder = Folder::new();
    let _server = Running::start(&folder);
    let second = Registry::open(&folder.0, Arc::new(Plain), Options::default()).err().unwrap();
    assert!(second.to_string().contains("another server"), "{second}");
}

#[cfg(unix)]
#[test]
fn files_belong_to_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let server = Running::start(&folder);
    create(&server);
    server.post(LEARN, &body(&[[0.0, 1.0]], &[1])).good();
    let mode = |path: &str| std::fs::metadata(folder.0.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["m/snapshot", "m/model.json", "m/journal/00000000000000000001.log"].map(mode), [0o600; 3]);
    assert_eq!(["m", "m/journal"].map(mode), [0o700; 2]);
}

#[test]
fn a_full_disk_stops_learning_and_nothing_else() {
    let (folder, disk) = (Folder::new(), MemoryDisk::default());
    let server = Running::with(&folder, Setup { disk: Arc::new(disk.clone()), ..Setup::default() });
    create(&server);
    let (x, y) = rows(1, 40);
    server.post(LEARN, &body(&x, &y)).good();
    let before = server.model_file("m");
    disk.set_room(Some(100));
    let full = server.post(LEARN, &body(&x, &y));
    assert_eq!((full.status, full.header("retry-after")), (507, Some("1")), "{full:?}");
    assert_eq!(server.put("/v1/models/other", &json!({})).status, 507);
    assert_eq!(server.model_file("m"), before, "predictions go on");
    disk.set_room(None);
    server.post(LEARN, &body(&x, &y)).good();
    assert_eq!(server.model_file("m"), learned(&[(x.clone(), y.clone()), (x, y)]).0.to_bytes());
}

#[test]
fn rows_that_could_not_be_synced_are_not_learned() {
    let (folder, disk) = (Folder::new(), MemoryDisk::default());
    let server = Running::with(&folder, Setup { disk: Arc::new(disk.clone()), ..Setup::default() });
    create(&server);
    let mut kept = Vec::new();
    for i in 0..12 {
        disk.fail_syncs(i % 3);
        let batch = rows(i, 10);
        let reply = server.post(LEARN, &body(&batch.0, &batch.1));
        match i % 3 {
            0 => {
                reply.good();
                kept.push(batch);
            }
            _ => assert_eq!(reply.status, 503, "{reply:?}"),
        }
    }
    disk.fail_syncs(0);
    assert_eq!(server.model_file("m"), learned(&kept).0.to_bytes());
}

#[test]
fn a_damaged_journal_stops_its_model_and_says_what_to_do() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    create(&server);
    server.put("/v1/models/other", &json!({ "config": config() })).good();
    let batches = [rows(1, 5), rows(2, 5), rows(3, 5)];
    batches.iter().for_each(|(x, y)| drop(server.post(LEARN, &body(x, y)).good()));
    let copy = folder.copy();
    let segment = copy.0.join("m/journal/00000000000000000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    let entry = (bytes.len() - 20) / 3;
    bytes[20 + entry + 60] ^= 1;
    std::fs::write(&segment, &bytes).unwrap();
    let mut damaged = Running::start(&copy);
    let reply = damaged.post(LEARN, &body(&batches[0].0, &batches[0].1));
    let cut = format!("truncate -s {} '{}'", 20 + entry, segment.display());
    assert!(reply.status == 503 && reply.message().contains(&cut), "{reply:?}");
    assert_eq!(damaged.get("/readyz").status, 503);
    assert_eq!(damaged.get("/v1/models/other").status, 200);
    assert_eq!(std::fs::read(&segment).unwrap(), bytes, "nothing was changed");
    damaged.stop();
    // The instructions work: the entry before the damage is there.
    std::fs::write(&segment, &bytes[..20 + entry]).unwrap();
    assert_eq!(Running::start(&copy).model_file("m"), learned(&batches[..1]).0.to_bytes());
}

#[test]
fn an_unfinished_entry_is_cut_off_and_reported() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    create(&server);
    let batch = rows(1, 5);
    server.post(LEARN, &body(&batch.0, &batch.1)).good();
    let copy = folder.copy();
    let segment = copy.0.join("m/journal/00000000000000000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes.extend_from_within(20..100);
    std::fs::write(&segment, &bytes).unwrap();
    let again = Running::start(&copy);
    assert!(again.notes.iter().any(|note| note.contains("removed 80 bytes")), "{:?}", again.notes);
    assert_eq!(again.model_file("m"), learned(&[batch]).0.to_bytes());
}

#[test]
fn repeats_are_recognised_after_a_restart() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    create(&server);
    let (x, y) = rows(1, 30);
    let mut streamed = body(&x, &y);
    (streamed["stream"], streamed["offset"]) = (json!("s"), json!(0));
    let keyed = |server: &Running| {
        server.call("POST", LEARN, &[("idempotency-key", "k")], body(&x[..3], &y[..3]).to_string().as_bytes()).good()
    };
    let first: [Value; 2] = [server.post(LEARN, &streamed).good(), keyed(&server)];
    for stopped_well in [false, true] {
        let copy = folder.copy();
        if stopped_well {
            Running::start(&copy).stop();
        }
        let again = Running::start(&copy);
        let answers = [again.post(LEARN, &streamed).good(), keyed(&again)];
        for (first, again) in first.iter().zip(&answers) {
            assert_eq!((&again["scores"], &again["learned"]), (&first["scores"], &json!(0)));
        }
        assert_eq!(again.get("/v1/models/m").good()["examples"], 33);
    }
}

/// Sums of squares of targets near the largest number are infinite, which JSON cannot say: the snapshot is read again all the same.
#[test]
fn a_snapshot_with_infinite_sums_is_read_again() {
    let folder = Folder::new();
    let mut server = Running::start(&folder);
    server.put("/v1/models/m", &json!({ "config": { "loss": "absolute" } })).good();
    let rows = json!({ "rows": [[1], [2], [3], [4]], "targets": [1e300, -1e300, 1e308, -1e308] });
    server.post("/v1/models/m/learn", &rows).good();
    server.stop();
    let server = Running::start(&folder);
    assert_eq!(server.get("/readyz").status, 200);
    server.post("/v1/models/m/learn", &rows).good();
    assert_eq!(server.get("/v1/models/m").good()["examples"], 8);
}
