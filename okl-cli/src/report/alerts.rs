//! The alerts of a novelty detector, the strongest kept.

/// Alerts that are kept.
pub const MOST_ALERTS: usize = 200;
/// Alerts in the table.
const LISTED: usize = 20;

use super::text;

/// A row that was outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alert {
    /// Its input line.
    pub line: u64,
    /// The examples before it: where it stands on the axis of a chart.
    pub examples: u64,
    /// Its score before it was learned.
    pub score: f64,
    /// What the score was below.
    pub threshold: f64,
}

impl Alert {
    /// How far below the threshold, as a share of it.
    pub fn depth(&self) -> f64 {
        (self.threshold - self.score) / self.threshold.abs().max(f64::MIN_POSITIVE)
    }
}

/// How many alerts there were, and the 200 strongest of them.
#[derive(Clone, Debug, Default)]
pub struct Alerts {
    kept: Vec<Alert>,
    total: u64,
}

impl Alerts {
    /// One alert.
    pub fn push(&mut self, alert: Alert) {
        self.total += 1;
        self.kept.push(alert);
        if self.kept.len() >= 2 * MOST_ALERTS {
            self.kept = self.strongest();
        }
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// At most 200, the deepest below their threshold first.
    pub fn strongest(&self) -> Vec<Alert> {
        let mut alerts = self.kept.clone();
        alerts.sort_by(|a, b| b.depth().total_cmp(&a.depth()).then(a.examples.cmp(&b.examples)));
        alerts.truncate(MOST_ALERTS);
        alerts
    }

    /// The strongest as a table.
    pub(super) fn html(&self) -> String {
        let row = |a: &Alert| {
            let cells = [text::figure(a.score), text::figure(a.threshold), text::percent(a.depth())];
            format!(
                "<tr><th scope=\"row\">{}</th>{}</tr>",
                text::count(a.line as f64),
                cells.map(|c| format!("<td>{c}</td>")).concat()
            )
        };
        let rows: String = self.strongest().iter().take(LISTED).map(row).collect();
        let listed = (self.total as usize).min(LISTED);
        let caption = match self.total {
            0 => "No row was below its threshold.".into(),
            total if listed as u64 == total => format!("All {total} alerts, the strongest first."),
            total => format!(
                "The {listed} strongest of {} alerts, the deepest below their threshold first.",
                text::count(total as f64)
            ),
        };
        format!(
            "<figure><div class=\"scroll\"><table class=\"figures alerts\"><thead><tr><th>line</th><th>score</th><th>threshold</th><th>below it by</th></tr></thead><tbody>{rows}</tbody></table></div><figcaption>{caption}</figcaption></figure>"
        )
    }
}
