//! Metrics in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::model::Model;
use crate::model::figures::rate_of;
use crate::registry::{Registry, Slot};

/// Upper limits of the buckets in microseconds.
const BUCKETS: [u64; 12] = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000, 10_000_000];

/// Times of requests.
#[derive(Debug, Default)]
pub struct Histogram {
    counts: [AtomicU64; BUCKETS.len() + 1],
    microseconds: AtomicU64,
}

impl Histogram {
    /// Adds a request.
    pub fn add(&self, time: Duration) {
        let time = time.as_micros() as u64;
        let bucket = BUCKETS.partition_point(|limit| *limit < time);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.microseconds.fetch_add(time, Ordering::Relaxed);
    }

    fn write(&self, to: &mut String, route: &str) {
        let mut sum = 0;
        for (count, limit) in self.counts.iter().zip(BUCKETS.iter().map(|l| (*l as f64 / 1e6).to_string()).chain(["+Inf".into()]))
        {
            sum += count.load(Ordering::Relaxed);
            let _ = writeln!(to, "okl_request_seconds_bucket{{route=\"{route}\",le=\"{limit}\"}} {sum}");
        }
        let seconds = self.microseconds.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(to, "okl_request_seconds_sum{{route=\"{route}\"}} {seconds}");
        let _ = writeln!(to, "okl_request_seconds_count{{route=\"{route}\"}} {sum}");
    }
}

/// Metrics of the whole server.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Times of `learn` and `label`.
    pub learn: Histogram,
    /// Times of `predict`.
    pub predict: Histogram,
    /// Times of all other requests.
    pub other: Histogram,
    /// Answers by the first digit of their status.
    pub statuses: [AtomicU64; 6],
}

type Figure = (&'static str, &'static str, &'static str, fn(&Model) -> Option<f64>);

fn count(value: &AtomicU64) -> Option<f64> {
    Some(value.load(Ordering::Relaxed) as f64)
}

/// What a loss with nu counts that is not one of a detector.
const OUTSIDE: &str = "Share of examples inside the margin (nu_hinge), of targets outside the tube (nu_epsilon) or of residuals beyond the scale (nu_huber), by the weights of rows and classes";

/// Name, type, help and value of each metric of a model.
const FIGURES: &[Figure] = &[
    (
        "okl_rows_total",
        "counter",
        "Rows sent to learn and label, and examples that an uploaded model file had learned; rows without a target are only predicted",
        |m| Some(m.published().figures.rows as f64),
    ),
    (
        "okl_examples_total",
        "counter",
        "Rows with a target and a weight above 0 (of a detector: rows that were learned), and examples that an uploaded model file had learned",
        |m| Some(m.published().figures.examples as f64),
    ),
    ("okl_predicted_rows_total", "counter", "Rows to which predict has given scores since the server started", |m| {
        count(&m.counts.predicted)
    }),
    ("okl_alerts_total", "counter", "Alerts of a novelty detector", |m| Some(m.published().figures.alerts as f64)),
    ("okl_drifts_total", "counter", "Times that the error has risen by more than four standard errors", |m| {
        Some(m.published().figures.drifts as f64)
    }),
    (
        "okl_error",
        "gauge",
        "Mean error of the examples since the model is on this server, each measured before its update; of a detector the share of alerts",
        |m| m.published().figures.mean_error(),
    ),
    ("okl_recent_error", "gauge", "Mean error of the last 1,000 examples", |m| m.published().figures.recent_error()),
    ("okl_loss", "gauge", "Mean loss of the examples since the model is on this server", |m| m.published().figures.mean_loss()),
    ("okl_terms", "gauge", "Stored terms", |m| m.published().learner.as_ref().map(|l| l.terms() as f64)),
    ("okl_model_bytes", "gauge", "Bytes of the terms", |m| m.published().learner.as_ref().map(|l| l.bytes() as f64)),
    (
        "okl_truncation_error",
        "gauge",
        "Upper bound on the norm of the difference to the function after the same updates with nothing dropped or merged, since the units or weights of the columns last changed",
        |m| m.published().learner.as_ref().map(|l| l.truncation_error()),
    ),
    ("okl_alert_rate", "gauge", "Share of alerts since the detector has a threshold, rows counted by their weights", |m| {
        rate_of(m.published().learner.as_ref()?, true).map(|r| r.rate)
    }),
    ("okl_alert_rate_bound", "gauge", "Upper bound on the distance of the alert rate from the requested one", |m| {
        rate_of(m.published().learner.as_ref()?, true).map(|r| r.bound)
    }),
    ("okl_outside_rate", "gauge", OUTSIDE, |m| rate_of(m.published().learner.as_ref()?, false).map(|r| r.rate)),
    ("okl_outside_rate_bound", "gauge", "Upper bound on the distance of this share from the requested one", |m| {
        rate_of(m.published().learner.as_ref()?, false).map(|r| r.bound)
    }),
    (
        "okl_remembered_rows_total",
        "counter",
        "Rows that predict has stored for their targets, also before anything was learned",
        |m| Some(m.published().remembered() as f64),
    ),
    ("okl_labelled_rows_total", "counter", "Remembered rows whose targets have arrived", |m| {
        Some(m.published().figures.labelled as f64)
    }),
    ("okl_waiting_rows", "gauge", "Rows that wait for their targets", |m| Some(m.published().waiting as f64)),
    ("okl_expired_rows_total", "counter", "Remembered rows that expired without a target", |m| {
        Some(m.published().figures.expired as f64)
    }),
    ("okl_journal_bytes", "gauge", "Bytes of the journal since the last snapshot", |m| Some(m.published().journal_bytes as f64)),
    ("okl_syncs_total", "counter", "Groups of requests that were synced", |m| count(&m.counts.syncs)),
    ("okl_sync_seconds_total", "counter", "Time of the syncs", |m| count(&m.counts.sync_nanoseconds).map(|n| n / 1e9)),
    ("okl_failed_syncs_total", "counter", "Syncs that failed", |m| count(&m.counts.failed_syncs)),
    ("okl_snapshots_total", "counter", "Snapshots written", |m| count(&m.counts.snapshots)),
    ("okl_hook_delivered_total", "counter", "Events that a web hook has taken", |m| count(&m.counts.hook_delivered)),
    ("okl_hook_failed_total", "counter", "Events that a web hook has not taken", |m| count(&m.counts.hook_failed)),
    ("okl_hook_dropped_total", "counter", "Events dropped because too many waited for a web hook", |m| {
        count(&m.counts.hook_dropped)
    }),
    ("okl_hook_retries_total", "counter", "Events sent to a web hook again", |m| count(&m.counts.hook_retries)),
    ("okl_replayed_entries", "gauge", "Journal entries replayed at the start", |m| count(&m.counts.replayed)),
];

impl Metrics {
    /// All metrics as text. Names of models need no escapes.
    pub fn text(&self, registry: &Registry) -> String {
        let mut to = String::new();
        let models = registry.all();
        let _ = writeln!(to, "# HELP okl_model_up Whether the model runs\n# TYPE okl_model_up gauge");
        for (name, slot) in &models {
            let _ = writeln!(to, "okl_model_up{{model=\"{name}\"}} {}", u8::from(matches!(slot, Slot::Running(_))));
        }
        for (figure, kind, help, value) in FIGURES {
            let _ = writeln!(to, "# HELP {figure} {help}\n# TYPE {figure} {kind}");
            for (name, slot) in &models {
                if let Slot::Running(model) = slot
                    && let Some(value) = value(model)
                {
                    let _ = writeln!(to, "{figure}{{model=\"{name}\"}} {value}");
                }
            }
        }
        let _ = writeln!(to, "# HELP okl_answers_total Answers by status\n# TYPE okl_answers_total counter");
        for (digit, count) in self.statuses.iter().enumerate().skip(1) {
            let _ = writeln!(to, "okl_answers_total{{status=\"{digit}xx\"}} {}", count.load(Ordering::Relaxed));
        }
        let _ = writeln!(to, "# HELP okl_request_seconds Time from request to answer\n# TYPE okl_request_seconds histogram");
        self.learn.write(&mut to, "learn");
        self.predict.write(&mut to, "predict");
        self.other.write(&mut to, "other");
        to
    }
}
