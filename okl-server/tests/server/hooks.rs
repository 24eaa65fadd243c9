//! Drift and web hooks, with a receiver that is a real server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use okl_server::hooks::{Allowed, Url, is_public, trusted};
use okl_server::model::drift::BLOCK;
use okl_server::model::events::{Event, Events, MOST, Next, Reader};
use okl_server::model::figures::{Alert, Figures, RowOutcome};
use okl_server::options::Options;
use ring::hmac;
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::{Folder, Running, Setup};

/// Errors of 1 at the given rate, the others 0.
fn add(figures: &mut Figures, count: u64, every: u64) {
    let outcome = RowOutcome { loss: Some(0.0), ..RowOutcome::default() };
    for i in 0..count {
        figures.add(&outcome, Some(f64::from(u8::from(i % every == 0))), 1.0);
    }
}

#[test]
fn drift_is_an_error_that_rises_by_four_standard_errors() {
    let mut figures = Figures::default();
    add(&mut figures, 3000, 10);
    add(&mut figures, BLOCK, 8);
    assert_eq!(figures.drifts, 0, "0.126 after 0.1 is 1.7 standard errors");
    let mut figures = Figures::default();
    add(&mut figures, 3000, 10);
    add(&mut figures, BLOCK - 1, 3);
    assert_eq!(figures.drifts, 0, "decided at the end of a block");
    add(&mut figures, 1, 1);
    let drift = figures.last_drifts[0];
    // 300 of 3,000 before, 168 of 500 now: variances n/(n-1) p(1-p).
    let (p, q) = (0.1, 168.0 / 500.0);
    let expected: f64 = (q - p) / (p * (1.0 - p) / 2999.0 + q * (1.0 - q) / 499.0f64).sqrt();
    assert_eq!((drift.example, drift.before, drift.now), (3500, p, q));
    assert!((drift.standard_errors - expected).abs() < 1e-9, "{drift:?} {expected}");
    add(&mut figures, 2000, 3);
    assert_eq!(figures.drifts, 1, "the errors after the drift are the new reference");
    add(&mut figures, 2000, 100);
    assert_eq!(figures.drifts, 1, "a smaller error is no drift");
}

fn slow_learner() -> Value {
    json!({ "config": { "loss": "squared", "kernel": "gaussian:1", "step": "constant:1e-12", "lambda": 0, "budget": "window:5", "scale": "none", "target_scale": "none" } })
}

/// The error of a model that stays at 0 is |y|: 0 or 1 in turn, and 5 from row 2,000 on.
fn targets() -> Vec<f64> {
    (0..3000).map(|i| if i < 2000 { f64::from(i % 2) } else { 5.0 }).collect()
}

/// The events of a model from now on.
fn events(server: &Running, name: &str) -> impl Iterator<Item = Value> {
    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(stream, "GET /v1/models/{name}/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut told = lines.filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    assert_eq!(told.next().unwrap()["type"], "figures");
    told
}

#[test]
fn drift_is_an_event_and_does_not_depend_on_the_cut() {
    let folder = Folder::new();
    let mut server = Running::start(&folder);
    let mut told = Vec::new();
    for (name, cut) in [("whole", 3000), ("cut", 170)] {
        server.put(&format!("/v1/models/{name}"), &slow_learner()).good();
        let mut events = events(&server, name);
        for y in targets().chunks(cut) {
            server.post(&format!("/v1/models/{name}/learn"), &json!({ "rows": vec![[0.0]; y.len()], "targets": y })).good();
        }
        let event = events.find(|event| event["type"] == "drift").unwrap();
        assert_eq!((event["drift"]["example"].as_u64(), event["drift"]["now"].as_f64().unwrap().round()), (Some(2500), 5.0));
        told.push(event["drift"].clone());
    }
    assert_eq!(told[0], told[1]);
    server.stop();
    let again = Running::start(&folder);
    let figures = again.get("/v1/models/cut").good();
    assert_eq!((&figures["drifts"], &figures["last_drift"]), (&json!(1), &told[0]), "a snapshot has the drifts");
}

/// A stream of events ends with the server, after the events of the last request, and in order: with the last chunk of its answer. Without it the
/// connection would be cut after the time for open requests.
#[test]
fn a_stream_of_events_ends_with_the_server() {
    let folder = Folder::new();
    let mut server = Running::start(&folder);
    server.put("/v1/models/m", &slow_learner()).good();
    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(stream, "GET /v1/models/m/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut begun = [0; 12];
    stream.read_exact(&mut begun).unwrap();
    let y: Vec<f64> = targets();
    server.post("/v1/models/m/learn", &json!({ "rows": vec![[0.0]; y.len()], "targets": y })).good();
    server.stop();
    let mut told = Vec::new();
    let _ = stream.read_to_end(&mut told);
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("\"type\":\"drift\"") && told.ends_with("\r\n0\r\n\r\n"), "{told}");
}

/// Answers requests with these statuses, one after another, and passes on heads and bodies; with `tls` over https.
fn receiver_with(tls: Option<Arc<ServerConfig>>, statuses: &'static [&'static str]) -> (u16, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for (stream, status) in listener.incoming().zip(statuses) {
            let stream = stream.unwrap();
            let taken = match &tls {
                Some(tls) => take(StreamOwned::new(ServerConnection::new(Arc::clone(tls)).unwrap(), stream), status),
                None => take(stream, status),
            };
            // A client that does not trust the certificate ends the connection.
            taken.into_iter().for_each(|request| send.send(request).unwrap());
        }
    });
    (port, receive)
}

/// Answers one request.
fn take(stream: impl Read + Write, status: &str) -> std::io::Result<(String, String)> {
    let (mut stream, mut head) = (BufReader::new(stream), String::new());
    while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head)? > 0 {}
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok()).unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    // In one piece: the server may close the connection as soon as it has read the status.
    stream.get_mut().write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes())?;
    Ok((head, String::from_utf8(body).unwrap()))
}

fn receiver(statuses: &'static [&'static str]) -> (u16, Receiver<(String, String)>) {
    receiver_with(None, statuses)
}

fn metric(server: &Running, name: &str) -> f64 {
    let text = String::from_utf8(server.get("/metrics").body).unwrap();
    let line = text.lines().find(|line| line.starts_with(&format!("{name}{{model=\"m\"}}"))).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

fn novelty() -> Value {
    json!({ "config": { "loss": "nu_novelty:0.1", "kernel": "gaussian:1", "step": "constant:0.1", "lambda": 0.1, "theta0": 0.5 } })
}

#[test]
fn an_alert_is_sent_signed_and_again_until_it_is_taken() {
    let folder = Folder::new();
    let (port, received) = receiver(&["503 Busy", "200 OK", "302 Found\r\nLocation: /elsewhere", "204 No Content"]);
    let allowed = Allowed { private: vec![format!("127.0.0.1:{port}")], pause: Duration::from_millis(1), ..Allowed::default() };
    let options = Options { hooks: allowed, ..Options::default() };
    let mut server = Running::with(&folder, Setup { options: options.clone(), ..Setup::default() });
    server.put("/v1/models/m", &novelty()).good();
    let url = format!("http://127.0.0.1:{port}/hook?x=1");
    let hook = server.put("/v1/models/m/hook", &json!({ "url": url, "events": ["alert"] })).good();
    assert_eq!(server.get("/v1/models/m/hook").good(), json!({ "url": url, "events": ["alert"] }), "the secret is shown once");
    let learn = |server: &Running, x: f64| server.post("/v1/models/m/learn", &json!({ "rows": [[x]] })).good();
    let check = |(head, body): (String, String), row: u64| {
        assert!(head.starts_with("POST /hook?x=1 HTTP/1.1\r\n"), "{head}");
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap().to_owned();
        let key = hmac::Key::new(hmac::HMAC_SHA256, hook["secret"].as_str().unwrap().as_bytes());
        let signature = header("Okl-Signature").strip_prefix("sha256=").unwrap().to_owned();
        let bytes: Vec<u8> = (0..32).map(|i| u8::from_str_radix(&signature[2 * i..2 * i + 2], 16).unwrap()).collect();
        hmac::verify(&key, format!("{}.{body}", header("Okl-Timestamp")).as_bytes(), &bytes).unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((&body["model"], &body["event"]["alert"]["row"]), (&json!("m"), &json!(row)));
        assert_eq!(
            (header("Okl-Delivery"), body["id"].as_str()),
            (format!("m-alert-{row}"), Some(format!("m-alert-{row}").as_str()))
        );
    };
    learn(&server, 0.0);
    check(received.recv().unwrap(), 0);
    check(received.recv().unwrap(), 0);
    learn(&server, 50.0);
    check(received.recv().unwrap(), 1);
    server.stop();
    // A restart keeps the hook.
    let server = Running::with(&folder, Setup { options, ..Setup::default() });
    learn(&server, -50.0);
    check(received.recv().unwrap(), 2);
    while metric(&server, "okl_hook_delivered_total") < 1.0 {
        std::thread::yield_now();
    }
    assert_eq!(server.call("DELETE", "/v1/models/m/hook", &[], b"").status, 200);
    assert_eq!((server.get("/v1/models/m/hook").status, server.call("DELETE", "/v1/models/m/hook", &[], b"").status), (404, 404));
}

/// The alerts of the answer, of the figures, of the events and of the hook are the same rows, however many one request has.
#[test]
fn answer_figures_events_and_hook_have_the_same_alerts() {
    let folder = Folder::new();
    let (port, received) = receiver(&["200 OK"; 1000]);
    let allowed = Allowed { private: vec!["127.0.0.1".into()], ..Allowed::default() };
    let server = Running::with(&folder, Setup { options: Options { hooks: allowed, ..Options::default() }, ..Setup::default() });
    server.put("/v1/models/m", &novelty()).good();
    server.put("/v1/models/m/hook", &json!({ "url": format!("http://127.0.0.1:{port}/") })).good();
    let mut told = events(&server, "m");
    // The rows are far from each other: about every second row is an alert.
    let rows: Vec<[f64; 1]> = (0..1000).map(|i| [50.0 * f64::from(i)]).collect();
    let answer = server.post("/v1/models/m/learn", &json!({ "rows": rows })).good();
    let expected: Vec<u64> = answer["alerts"].as_array().unwrap().iter().map(|row| row.as_u64().unwrap()).collect();
    assert!(expected.len() > 400, "{}", expected.len());
    assert_eq!(server.get("/v1/models/m").good()["alerts"], json!(expected.len()));
    let alerts = told.by_ref().filter(|event| event["type"] != "figures").take(expected.len());
    assert_eq!(alerts.map(|event| event["alert"]["row"].as_u64().unwrap()).collect::<Vec<_>>(), expected);
    let row = |(_, body): (String, String)| serde_json::from_str::<Value>(&body).unwrap()["event"]["alert"]["row"].as_u64();
    assert_eq!(received.iter().take(expected.len()).map(|request| row(request).unwrap()).collect::<Vec<_>>(), expected);
    assert_eq!(metric(&server, "okl_hook_dropped_total"), 0.0);
}

fn alert(row: u64) -> Event {
    Event::Alert(Alert { row, score: 0.0, threshold: None, columns: Vec::new() })
}

/// A reader that is behind is told the exact number of events that it has missed, and gets all later ones. All events of one request wait.
#[test]
fn a_slow_reader_is_told_what_it_has_missed() {
    let (most, events) = (MOST as u64, Events::default());
    events.tell(vec![alert(0)]);
    let (mut slow, mut quick) = (events.reader(), events.reader());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let taken = |reader: &mut Reader, expected: Next| assert_eq!(runtime.block_on(reader.next()), Some(expected));
    events.tell((1..=10).map(alert).collect());
    events.tell_figures();
    for row in 1..=10 {
        taken(&mut quick, Next::Event(alert(row)));
    }
    taken(&mut quick, Next::Figures);
    events.tell((11..=most + 7).map(alert).collect());
    taken(&mut slow, Next::Missed(7));
    taken(&mut slow, Next::Event(alert(8)));
    taken(&mut quick, Next::Event(alert(11)));
    // One request with more events than otherwise wait.
    events.tell((most + 8..=3 * most).map(alert).collect());
    taken(&mut slow, Next::Missed(most - 1));
    taken(&mut quick, Next::Missed(most - 4));
    taken(&mut quick, Next::Event(alert(most + 8)));
    taken(&mut slow, Next::Figures);
    for row in most + 8..=3 * most {
        taken(&mut slow, Next::Event(alert(row)));
    }
    drop(events);
    assert_eq!(runtime.block_on(slow.next()), None, "the model is gone");
}

#[test]
fn a_redirect_and_a_receiver_that_is_gone_are_failures() {
    let folder = Folder::new();
    let (port, received) = receiver(&["302 Found\r\nLocation: /elsewhere"]);
    let allowed = Allowed { private: vec!["127.0.0.1".into()], pause: Duration::from_micros(1), ..Allowed::default() };
    let server = Running::with(&folder, Setup { options: Options { hooks: allowed, ..Options::default() }, ..Setup::default() });
    server.put("/v1/models/m", &novelty()).good();
    server.put("/v1/models/m/hook", &json!({ "url": format!("http://127.0.0.1:{port}/") })).good();
    server.post("/v1/models/m/learn", &json!({ "rows": [[0.0]] })).good();
    received.recv().unwrap();
    while metric(&server, "okl_hook_failed_total") < 1.0 {
        std::thread::yield_now();
    }
    assert_eq!(metric(&server, "okl_hook_retries_total"), 0.0, "a redirect is final");
    // The receiver has closed its address.
    server.post("/v1/models/m/learn", &json!({ "rows": [[70.0]] })).good();
    while metric(&server, "okl_hook_failed_total") < 2.0 {
        std::thread::yield_now();
    }
    assert_eq!((metric(&server, "okl_hook_retries_total"), metric(&server, "okl_hook_delivered_total")), (5.0, 0.0));
}

/// The receiver has a certificate for 127.0.0.1 that it has signed itself.
#[test]
fn a_hook_over_https_is_delivered_to_a_trusted_receiver_only() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server");
    let (certificate, key) = (here.join("test_certificate.pem"), here.join("test_key.pem"));
    assert!(trusted(&key).unwrap_err().contains("no certificate"));
    let chain = vec![CertificateDer::from_pem_file(&certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&key).unwrap();
    let tls = Arc::new(ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap());
    let (port, received) = receiver_with(Some(tls), &["200 OK"; 8]);
    let counts = ["okl_hook_delivered_total", "okl_hook_failed_total", "okl_hook_retries_total"];
    for (roots, expected) in [(certificate, [1.0, 0.0, 0.0]), (here.join("test_other_certificate.pem"), [0.0, 1.0, 5.0])] {
        let (private, tls) = (vec!["127.0.0.1".into()], Some(trusted(&roots).unwrap()));
        let hooks = Allowed { private, tls, pause: Duration::from_micros(1), ..Allowed::default() };
        let folder = Folder::new();
        let server = Running::with(&folder, Setup { options: Options { hooks, ..Options::default() }, ..Setup::default() });
        server.put("/v1/models/m", &novelty()).good();
        server.put("/v1/models/m/hook", &json!({ "url": format!("https://127.0.0.1:{port}/hook") })).good();
        server.post("/v1/models/m/learn", &json!({ "rows": [[0.0]] })).good();
        while metric(&server, counts[0]) + metric(&server, counts[1]) < 1.0 {
            std::thread::yield_now();
        }
        assert_eq!(counts.map(|name| metric(&server, name)), expected);
    }
    let (head, body) = received.recv().unwrap();
    assert!(head.starts_with("POST /hook HTTP/1.1\r\n") && body.contains("m-alert-0"), "{head}{body}");
    assert!(received.try_recv().is_err(), "nothing was sent to a receiver that is not trusted");
}

#[test]
fn hooks_point_only_where_the_operator_allows() {
    let folder = Folder::new();
    let none = Running::start(&folder);
    none.put("/v1/models/m", &novelty()).good();
    let refused = none.put("/v1/models/m/hook", &json!({ "url": "http://example.org/" }));
    assert!(refused.status == 403 && refused.message().contains("--hook-allow example.org"), "{refused:?}");
    for (url, flags) in [
        ("https://example.org/", "--hook-allow example.org --hook-certificates FILE"),
        ("http://localhost:99/", "--hook-allow-private localhost"),
        ("http://127.0.0.1:99/", "--hook-allow-private 127.0.0.1"),
    ] {
        let said = none.put("/v1/models/m/hook", &json!({ "url": url })).message();
        assert!(said.contains(flags), "all flags at once: {said}");
    }
    assert_eq!(none.put("/v1/models/m/hook", &json!({ "address": 1 })).status, 400);
    let list = |hosts: &[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
    let allowed = Allowed { public: list(&["example.org", "hooks.test:8080", "10.0.0.1", "::1"]), ..Allowed::default() };
    let check = |url: &str| Url::parse(url).and_then(|url| url.check(&allowed)).is_ok();
    assert!(["http://example.org/a", "http://EXAMPLE.org:81?x", "http://hooks.test:8080"].into_iter().all(check));
    let wrong = [
        "https://example.org/",
        "http://hooks.test/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://example.org@evil.test/",
        "http://evil.test/#example.org",
        "http://evil.test\\.example.org/",
        "http://example.org/\r\nHost: x",
        "ftp://example.org/",
        "http://example.org:0/",
        "http://:80/",
        "example.org",
    ];
    for url in wrong {
        assert!(!check(url), "{url}");
    }
}

#[test]
fn public_addresses_are_told_from_private_ones() {
    let public = |text: &&str| is_public(text.parse().unwrap());
    assert!(["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8"].iter().all(public));
    let private = [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "0.0.0.0",
        "100.64.0.1",
        "198.18.0.1",
        "192.0.2.1",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001::1",
        "2001:db8::1",
    ];
    for address in private {
        assert!(!public(&address), "{address}");
    }
}
