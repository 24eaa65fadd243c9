//! The sentences of the live page, which shows what /v1/models has.

use serde_json::{Value, json};

use crate::support::{Folder, Running};

/// Rows of two columns; the numbers grow by `scale`.
fn readings(from: u64, count: u64, scale: f64) -> Vec<[f64; 2]> {
    (from..from + count).map(|i| [scale * (i as f64 * 0.7).sin(), scale * (i as f64 * 0.31).cos()]).collect()
}

fn model(server: &Running) -> Value {
    server.get("/v1/models").good()["models"][0].clone()
}

fn said(model: &Value) -> &str {
    model["truncation"].as_str().unwrap()
}

/// The certificate starts again at 0 when the units of the columns change: the page must not say that no term was ever dropped, and a bound holds
/// from that example on.
#[test]
fn what_was_dropped_is_said_since_the_units_changed() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    let detector = json!({ "loss": "density:0.05", "kernel": "gaussian", "scale": "auto", "budget": "window:100" });
    server.put("/v1/models/m", &json!({ "config": detector })).good();
    let mut seen = [false; 4];
    for block in 0..120 {
        let scale = if block < 40 { 1.0 } else { 50.0 };
        server.post("/v1/models/m/learn", &json!({ "rows": readings(64 * block, 64, scale) })).good();
        let told = model(&server);
        let (lost, since) = (told["truncation_error"].as_f64().unwrap(), told["certified_since"].as_u64().unwrap());
        let at = match since {
            0..1000 => format!(" since example {since}"),
            _ => format!(" since example {},{:03}", since / 1000, since % 1000),
        };
        match (lost == 0.0, since == 0) {
            (true, true) => assert_eq!(said(&told), "No term has been dropped or merged: scores have no truncation error."),
            (true, false) => {
                assert!(said(&told).starts_with(&format!("No term has been dropped or merged{at}. The effect of what")), "{told}")
            }
            (false, true) => {
                assert!(said(&told).contains("change a score by at most") && !said(&told).contains("since"), "{told}")
            }
            (false, false) => {
                assert!(said(&told).starts_with(&format!("Terms dropped or merged{at} change a score by at most")), "{told}")
            }
        }
        seen[2 * usize::from(lost == 0.0) + usize::from(since == 0)] = true;
    }
    assert_eq!(seen, [true; 4], "every case occurs");
}

/// The caption of a detector's chart: what is drawn is the share of alerts in the last 1,000 rows, and not the rate of the certificate.
#[test]
fn the_figures_of_errors_say_which_rows_they_are_of() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    let detector =
        json!({ "loss": "nu_novelty:0.1", "kernel": "gaussian:1", "step": "constant:0.1", "lambda": 0.1, "theta0": 0.5 });
    server.put("/v1/models/m", &json!({ "config": detector })).good();
    // A thousand readings that are far apart, all of them alerts, then a thousand near each other.
    let far: Vec<[f64; 2]> = (0..1000).map(|i| [100.0 * f64::from(i), 0.0]).collect();
    server.post("/v1/models/m/learn", &json!({ "rows": far })).good();
    server.post("/v1/models/m/learn", &json!({ "rows": vec![[0.0, 0.0]; 1000] })).good();
    let told = model(&server);
    assert_eq!(told["error_names"], json!(["alerts, share of the last 1,000 rows", "alerts, share of all rows"]));
    let (recent, rate) = (told["recent_error"].as_f64().unwrap(), told["alert_rate"]["rate"].as_f64().unwrap());
    assert!(recent < 0.1 && rate > 2.0 * recent, "two figures, which the page must not mistake for each other: {told}");
    let script = server.get("/page.js");
    let script = String::from_utf8(script.body).unwrap();
    assert!(script.contains("history.errors.push(model.recent_error ?? null)"), "the chart draws these alone");
    assert!(script.contains("chart(history.errors, recent, error)") && !script.contains("\"alert rate\""));
    for (loss, names) in [
        ("hinge", ["wrong, last 1,000 rows", "wrong, all rows"]),
        ("squared", ["mean |error|, last 1,000 rows", "mean |error|, all rows"]),
        ("quantile:0.9", ["mean pinball loss, last 1,000 rows", "mean pinball loss, all rows"]),
    ] {
        let config = json!({ "loss": loss, "kernel": "gaussian:1", "step": "constant:0.1", "lambda": 0.1 });
        server.put("/v1/models/other", &json!({ "config": config })).good();
        server.post("/v1/models/other/learn", &json!({ "rows": [[0.0], [1.0]], "targets": [1, -1] })).good();
        assert_eq!(server.get("/v1/models/other").good()["error_names"], json!(names));
        server.call("DELETE", "/v1/models/other", &[], b"").good();
    }
}
