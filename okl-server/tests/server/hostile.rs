//! Bodies and connections that mean harm: a clear refusal, and the server goes on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use okl_server::codec::Record;
use okl_server::http::body;
use okl_server::model::folder::read_snapshot;
use okl_server::options::Options;
use okl_server::rows::{Rows, Target, Targets};
use proptest::prelude::*;
use serde_json::json;

use crate::support::{Folder, Running, Setup, config};

#[test]
fn hostile_bodies_are_refused() {
    let folder = Folder::new();
    let options = Options {
        most_body: 4 << 20,
        most_features: 1000,
        most_cells: 1 << 16,
        header_time: Duration::from_millis(300),
        ..Options::default()
    };
    let server = Running::with(&folder, Setup { options, ..Setup::default() });
    server.put("/v1/models/m", &json!({ "config": config() })).good();
    let path = "/v1/models/m/learn";
    let deep = "[".repeat(1 << 20);
    let wide = format!("{{\"rows\": [[{}]], \"targets\": [1]}}", vec!["0"; 1 << 20].join(","));
    let names: Vec<String> = (0..2000).map(|i| format!("{{\"c{i}\": 1}}")).collect();
    let sparse_bomb = format!("{{\"rows\": [{}]}}", names.join(","));
    let long_name = format!("{{\"rows\": [{{\"{}\": 1}}]}}", "n".repeat(1000));
    let many = format!("{{\"rows\": [{}]}}", vec!["[0,0]"; 40_000].join(","));
    let cases: [(&[u8], u16); 10] = [
        (deep.as_bytes(), 400),
        (wide.as_bytes(), 413),
        (sparse_bomb.as_bytes(), 413),
        (long_name.as_bytes(), 400),
        (many.as_bytes(), 413),
        (b"{\"rows\": [[\xff\xfe]]}", 400),
        (b"{\"rows\": [[1e999, 0]]}", 400),
        (b"{\"rows\": [[1, 2], {\"a\": 1}]}", 400),
        (b"{\"rows\": [{\"a\": 1, \"a\": 2}]}", 400),
        (&[b' '; 5 << 20], 413),
    ];
    for (body, status) in cases {
        let reply = server.call("POST", path, &[], body);
        assert_eq!(reply.status, status, "{}... {reply:?}", String::from_utf8_lossy(&body[..body.len().min(40)]));
    }
    // What a decompressor would make of the body is never asked.
    for encoding in ["gzip", "deflate", "br", "zstd", "gzip, identity"] {
        assert_eq!(server.call("POST", path, &[("content-encoding", encoding)], b"\x1f\x8b").status, 415);
    }
    assert_eq!(server.call("POST", path, &[("content-type", "application/xml")], b"<x/>").status, 415);
    for name in ["..", ".hidden", "a%2fb", "%2e%2e", &"n".repeat(65), "a b"] {
        let status = server.call("PUT", &format!("/v1/models/{}", name.replace(' ', "%20")), &[], b"").status;
        assert!(matches!(status, 400 | 404), "{name}: {status}");
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2, "the model and the lock");
    // A client that never finishes its headers is closed.
    let mut slow = TcpStream::connect(server.address).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ").unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut rest = Vec::new();
    assert!(slow.read_to_end(&mut rest).is_ok(), "the server closes the connection");
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.get("/v1/models/m").good()["rows"], 0);
}

#[test]
fn a_body_that_never_ends_is_answered() {
    let folder = Folder::new();
    let options = Options { request_time: Duration::from_millis(100), ..Options::default() };
    let server = Running::with(&folder, Setup { options, ..Setup::default() });
    let mut slow = TcpStream::connect(server.address).unwrap();
    slow.write_all(b"POST /v1/models/m/learn HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{").unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut head = [0; 12];
    slow.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 408");
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![Just(Target::Missing), (-1e9..1e9f64).prop_map(Target::Number), "[a-z]{0,9}".prop_map(Target::Text)]
}

fn any_rows() -> impl Strategy<Value = Rows> {
    (1usize..5, 1usize..4, 0usize..3, any::<[bool; 3]>()).prop_flat_map(|(count, features, width, has)| {
        let x = prop::collection::vec(-1e9..1e9f64, count * features);
        let values = prop::collection::vec(target(), count * width);
        (x, values).prop_map(move |(x, values)| Rows {
            count,
            features,
            x,
            names: has[0].then(|| (0..features).map(|i| format!("c{i}")).collect()),
            absent: Vec::new(),
            targets: Targets { width, values },
            weights: has[1].then(|| vec![1.5; count]),
            ids: has[2].then(|| (0..count as u64).collect()),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_record_is_read_back(rows in any_rows(), offset in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let record = Record::Learn { rows, stream: Some(("s".into(), offset)), key: None };
        let bytes = record.to_bytes();
        prop_assert_eq!(Record::from_bytes(&bytes), Some(record));
        prop_assert_eq!(Record::from_bytes(&bytes[..cut.index(bytes.len())]), None);
    }

    #[test]
    fn any_bytes_are_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0u8..6) {
        let mut record = vec![1, kind];
        record.extend(&bytes);
        let _ = Record::from_bytes(&record);
        prop_assert!(body::rows(&bytes, &Options::default()).is_err());
        prop_assert!(read_snapshot(&bytes).is_err());
    }
}
