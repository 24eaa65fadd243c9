//! The alerts of a novelty detector; the strongest and the latest are kept.

/// The largest number of alerts that are kept.
pub const MOST_ALERTS: usize = 200;
/// The largest number of alerts in a table.
const LISTED: usize = 20;

use std::cmp::Ordering;
use std::collections::VecDeque;

use maud::{Markup, html};

use super::text;

/// A row with a score below the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alert {
    /// Its input line.
    pub line: u64,
    /// The number of examples before it: its position on the horizontal axis of a chart.
    pub examples: u64,
    /// Its score before it was learned.
    pub score: f64,
    /// The threshold at that time.
    pub threshold: f64,
}

impl Alert {
    /// How far below the threshold, as a share of it.
    pub fn depth(&self) -> f64 {
        (self.threshold - self.score) / self.unit()
    }

    /// The deeper one first. The depths of scores that are far smaller than the threshold are all rounded to 1; their shares of the threshold differ.
    fn deeper(&self, other: &Alert) -> Ordering {
        let share = |alert: &Alert| alert.score / alert.unit();
        other.depth().total_cmp(&self.depth()).then(share(self).total_cmp(&share(other))).then(self.examples.cmp(&other.examples))
    }

    fn unit(&self) -> f64 {
        self.threshold.abs().max(f64::MIN_POSITIVE)
    }
}

/// The number of alerts, the 200 strongest ones, and the latest ones.
#[derive(Clone, Debug, Default)]
pub struct Alerts {
    kept: Vec<Alert>,
    latest: VecDeque<Alert>,
    total: u64,
    only_predicted: u64,
}

impl Alerts {
    /// Adds one alert.
    pub fn push(&mut self, alert: Alert) {
        self.total += 1;
        self.kept.push(alert);
        self.latest.push_back(alert);
        if self.latest.len() > LISTED {
            self.latest.pop_front();
        }
        if self.kept.len() >= 2 * MOST_ALERTS {
            self.kept = self.strongest();
        }
    }

    /// Counts an alert on a row that is not learned, because its weight is 0.
    pub fn push_only_predicted(&mut self) {
        self.only_predicted += 1;
    }

    /// The number of alerts on rows of weight 0. They are not among the others.
    pub fn only_predicted(&self) -> u64 {
        self.only_predicted
    }

    /// The number of alerts on rows that are learned.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// At most 200, the deepest below their threshold first.
    pub fn strongest(&self) -> Vec<Alert> {
        let mut alerts = self.kept.clone();
        alerts.sort_by(Alert::deeper);
        alerts.truncate(MOST_ALERTS);
        alerts
    }

    /// The latest `LISTED` alerts, in order.
    pub fn latest(&self) -> impl DoubleEndedIterator<Item = &Alert> {
        self.latest.iter()
    }

    /// The latest and the strongest as tables. `passes`: rows were learned again later, and their alerts are not among these.
    pub(super) fn html(&self, passes: bool) -> Markup {
        let note = if passes { " Later passes over the same rows are not listed." } else { "" };
        let note = match self.only_predicted {
            0 => note.into(),
            1 => format!("{note} 1 alert is on a row of weight 0: it is neither counted nor listed here."),
            n => format!(
                "{note} {} alerts are on rows of weight 0: they are neither counted nor listed here.",
                text::count(n as f64)
            ),
        };
        if self.total == 0 {
            return html! { p { "No row was below its threshold when it was new." (note) } };
        }
        let (strongest, latest) = (self.strongest(), self.latest.iter().rev());
        let (total, listed) = (text::count(self.total as f64), (self.total as usize).min(LISTED));
        html! {
            div.grid {
                @if listed as u64 == self.total {
                    (table(strongest.iter(), &format!("All {total} alerts, the strongest first.{note}")))
                } @else {
                    (table(
                        strongest.iter().take(LISTED),
                        &format!("The {listed} strongest of {total} alerts, the deepest below their threshold first.{note}"),
                    ))
                    (table(latest, &format!("The {listed} latest of {total} alerts, the last one first.")))
                }
            }
        }
    }
}

fn table<'a>(alerts: impl Iterator<Item = &'a Alert>, caption: &str) -> Markup {
    html! {
        figure {
            div.scroll {
                table.figures.alerts {
                    thead { tr { th { "line" } th { "score" } th { "threshold" } th { "below it by" } } }
                    tbody {
                        @for alert in alerts {
                            tr {
                                th scope="row" { (text::count(alert.line as f64)) }
                                td { (text::figure(alert.score)) }
                                td { (text::figure(alert.threshold)) }
                                td { (text::hundredths(alert.depth())) }
                            }
                        }
                    }
                }
            }
            figcaption { (caption) }
        }
    }
}
