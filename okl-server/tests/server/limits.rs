//! Limits: what exceeds one is refused in words, and nothing has changed.

use std::net::TcpStream;
use std::time::Duration;

use okl_server::codec::Key;
use okl_server::model::repeats::{KEPT_KEYS, KEPT_NUMBERS, KEPT_ROWS, KEPT_SCORES, Keys, Stream};
use okl_server::model::state::Answer;
use okl_server::options::Options;
use serde_json::{Value, json};

use crate::support::{Folder, Running, Setup, config};

const LEARN: &str = "/v1/models/m/learn";

fn limited(options: Options, settings: &Value) -> (Folder, Running) {
    let folder = Folder::new();
    let server = Running::with(&folder, Setup { options, ..Setup::default() });
    server.put("/v1/models/m", settings).good();
    (folder, server)
}

fn refused(server: &Running, path: &str, body: &Value, status: u16, code: &str) {
    let before = server.get("/v1/models/m").good();
    let reply = server.post(path, body);
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (status, &json!(code)), "{body}: {reply:?}");
    assert_eq!(server.get("/v1/models/m").good()["entry"], before["entry"], "nothing was stored");
}

#[test]
fn a_model_has_a_largest_number_of_classes() {
    let (_folder, server) = limited(
        Options { most_classes: 3, ..Options::default() },
        &json!({ "config": { "loss": "max_margin" }, "task": "classes" }),
    );
    server.post(LEARN, &json!({ "rows": [[1], [2]], "targets": ["a", "b"] })).good();
    refused(&server, LEARN, &json!({ "rows": [[1], [2]], "targets": ["c", "d"] }), 422, "bad_body");
    server.post(LEARN, &json!({ "rows": [[1], [2]], "targets": ["c", "a"] })).good();
    refused(&server, LEARN, &json!({ "rows": [[1]], "targets": ["d"] }), 422, "bad_body");
    server.put("/v1/models/open", &json!({})).good();
    let first = json!({ "rows": [[1], [2], [3], [4]], "targets": ["a", "b", "c", "d"] });
    assert_eq!(server.post("/v1/models/open/learn", &first).status, 422, "also with the first rows");
}

#[test]
fn a_model_has_a_largest_number_of_streams() {
    let (_folder, server) = limited(Options { most_streams: 2, ..Options::default() }, &json!({ "config": config() }));
    let body = |stream: &str, offset: u64| json!({ "rows": [[1, 2]], "targets": [1], "stream": stream, "offset": offset });
    for stream in ["a", "b"] {
        server.post(LEARN, &body(stream, 0)).good();
    }
    refused(&server, LEARN, &body("c", 0), 429, "too_many_streams");
    server.post(LEARN, &body("a", 1)).good();
}

/// Names are counted over all requests, and rows of a few names in a wide model by the columns that they take.
#[test]
fn a_sparse_model_has_a_largest_number_of_columns_and_of_numbers_in_a_request() {
    let options = Options { most_features: 5, most_cells: 12, ..Options::default() };
    let (_folder, server) = limited(options, &json!({ "config": config(), "sparse": true }));
    let named = |names: &[&str]| json!({ "rows": [names.iter().map(|name| ((*name).to_owned(), json!(1))).collect::<serde_json::Map<_, _>>()], "targets": [1] });
    server.post(LEARN, &named(&["a", "b", "c"])).good();
    server.post(LEARN, &named(&["d", "e"])).good();
    refused(&server, LEARN, &named(&["a", "f"]), 413, "too_many_features");
    let rows = |count: usize| json!({ "rows": vec![json!({ "a": 1 }); count], "targets": vec![1; count] });
    server.post(LEARN, &rows(2)).good();
    refused(&server, LEARN, &rows(3), 413, "too_many_numbers");
    let ask = json!({ "rows": vec![json!({ "a": 1 }); 3] });
    refused(&server, "/v1/models/m/predict", &ask, 413, "too_many_numbers");
    refused(&server, "/v1/models/m/explain", &ask, 413, "too_many_numbers");
    refused(&server, "/v1/models/m/predict?remember=1h", &ask, 413, "too_many_numbers");
    let ids = (0..3).map(|_| {
        let body = json!({ "rows": [{ "a": 1 }] });
        server.post("/v1/models/m/predict?remember=1h", &body).good()["ids"][0].clone()
    });
    let ids: Vec<Value> = ids.collect();
    refused(&server, "/v1/models/m/label", &json!({ "ids": ids, "targets": [1, 1, 1] }), 413, "too_many_numbers");
    server.post("/v1/models/m/label", &json!({ "ids": ids[..2], "targets": [1, 1] })).good();
}

#[test]
fn waiting_rows_have_a_largest_number_of_bytes() {
    let (_folder, server) = limited(Options { most_waiting_bytes: 1000, ..Options::default() }, &json!({ "config": config() }));
    let remember = "/v1/models/m/predict?remember=1h";
    server.post(remember, &json!({ "rows": vec![[1, 2]; 10] })).good();
    let full = server.post(remember, &json!({ "rows": vec![[1, 2]; 10] }));
    assert_eq!((full.status, &full.json()["error"]["code"]), (429, &json!("too_many_waiting")));
    assert!(
        full.message()
            .starts_with("10 rows wait for their targets, and with these 10 there would be more than 100000 rows or 1000 bytes"),
        "{full:?}"
    );
    server.post("/v1/models/m/learn", &json!({ "rows": [[1, 2]], "targets": [1] })).good();
    refused(&server, remember, &json!({ "rows": vec![[1, 2]; 10] }), 429, "too_many_waiting");
    assert_eq!(server.get("/v1/models/m").good()["predicted"], 0, "a request that is refused has no scores");
    server.post(remember, &json!({ "rows": [[1, 2]] })).good();
}

#[test]
fn a_server_has_a_largest_number_of_models_and_of_connections() {
    let options = Options { most_models: 2, most_connections: 4, header_time: Duration::from_secs(60), ..Options::default() };
    let (_folder, server) = limited(options, &json!({ "config": config() }));
    server.put("/v1/models/n", &json!({})).good();
    let third = server.put("/v1/models/o", &json!({}));
    assert_eq!((third.status, &third.json()["error"]["code"]), (429, &json!("too_many_models")));
    let wrong = server.put("/v1/models/o", &json!({ "config": { "losss": "hinge" } }));
    assert_eq!(wrong.status, 422, "a wrong setting is wrong whatever the number of models: {wrong:?}");
    let mut open: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let answers = |expected: u16| {
        std::thread::sleep(Duration::from_millis(20));
        server.get("/healthz").status == expected
    };
    // The connection of an earlier request may still count when one of these is opened, which is then closed.
    let closed = (0..600).any(|_| {
        open.push(TcpStream::connect(server.address).unwrap());
        answers(0)
    });
    assert!(closed, "a connection too many is closed");
    drop(open);
    assert!((0..600).any(|_| answers(200)), "there is room again");
}

/// The last keys are known; answers of many rows lose the scores of the oldest, which are still repeats. Streams of many scores keep fewer rows.
#[test]
fn kept_answers_have_a_largest_size() {
    let key = |at: usize| Key { name: at.to_string(), body: 1 };
    let answer = |rows: usize, width: usize| Answer { scores: vec![Some(vec![0.5; width]); rows], ..Answer::default() };
    let mut keys = Keys::default();
    (0..KEPT_KEYS + 5).for_each(|at| keys.keep(key(at), answer(1, 1)));
    assert!(keys.find(&key(4)).unwrap().is_none() && keys.find(&key(5)).unwrap().is_some());
    let rows = KEPT_NUMBERS / 10;
    (0..8).for_each(|at| keys.keep(key(at), answer(rows, 1)));
    let kept: Vec<bool> = (0..8).map(|at| keys.find(&key(at)).unwrap().unwrap().as_repeat().scores[0].is_some()).collect();
    assert_eq!(kept, [false, false, false, true, true, true, true, true]);
    let first = keys.find(&key(0)).unwrap().unwrap().as_repeat();
    assert_eq!((first.scores.len(), first.repeated), (rows, rows), "a repeat of all rows");
    let again: Keys = serde_json::from_value(json!(keys)).unwrap();
    assert_eq!(again, keys);
    for (width, kept) in [(1, KEPT_ROWS), (16, KEPT_ROWS), (64, KEPT_SCORES / 64), (1000, KEPT_SCORES / 1000)] {
        let mut stream = Stream::default();
        stream.advance(0, &answer(KEPT_ROWS + 10, width));
        let answer = stream.answer(0, KEPT_ROWS + 10);
        assert_eq!(answer.scores.iter().flatten().count(), kept, "{width} scores");
    }
}
