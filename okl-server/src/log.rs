//! Structured logs: one JSON object per line on standard error.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Writes one line. An error of standard error is ignored: a server does not stop for its log.
pub fn line(event: &str, more: &Value) {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_millis() as f64 / 1e3);
    let mut line = json!({ "time": time, "event": event });
    if let (Some(to), Some(more)) = (line.as_object_mut(), more.as_object()) {
        to.extend(more.clone());
    }
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
