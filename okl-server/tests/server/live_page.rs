//! The sentences of the live page, which shows what /v1/models has.

use serde_json::{Value, json};

use crate::support::{Folder, Running};

fn model(server: &Running) -> Value {
    server.get("/v1/models").good()["models"][0].clone()
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
