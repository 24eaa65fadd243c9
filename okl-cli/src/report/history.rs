//! A record of a run in bounded memory: at most 600 points, closer together at the beginning.

use okl::Learner;
use okl::loss::Loss;
use serde::{Deserialize, Serialize};

use crate::certificates::norm;
use crate::metrics::Metrics;

/// The largest number of points.
pub const MOST_POINTS: usize = 600;
/// The distance of early points is the number of examples before them divided by this.
const EARLY: u64 = 8;

/// The state of a run after a number of examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Examples so far.
    pub examples: u64,
    /// The mean loss so far.
    pub loss: Option<f64>,
    /// The error so far.
    pub error: Option<f64>,
    /// The error over the last 1,000 examples.
    pub windowed_error: Option<f64>,
    /// In later passes: the error over the last 1,000 rows, which have been learned before.
    #[serde(default)]
    pub training_error: Option<f64>,
    /// The error of repeating the last target.
    pub no_change_error: Option<f64>,
    /// The step size.
    pub eta: f64,
    /// Live terms.
    pub terms: usize,
    /// |f|, or a bound on it.
    pub norm: f64,
    /// The adaptive margin, threshold, tube or scale of the loss.
    pub theta: Option<f64>,
    /// The threshold for novelty.
    pub threshold: Option<f64>,
    /// The share so far of the examples that a loss with nu counts: alerts, margin errors, targets outside the tube or residuals beyond the scale.
    pub alert_rate: Option<f64>,
    /// The same share among the last 1,000.
    pub windowed_alert_rate: Option<f64>,
    /// The truncation certificate.
    pub truncation: f64,
    /// Examples per second since the last point with a speed; none if less than 50 ms have passed.
    pub speed: Option<f64>,
}

impl Point {
    /// The current state of the learner and the metrics. Theta is set only if the loss adapts it.
    pub fn now(learner: &Learner, metrics: &Metrics, speed: Option<f64>) -> Self {
        let certified = learner.alert_rate();
        Point {
            examples: metrics.examples(),
            loss: metrics.average_loss(),
            error: metrics.error(),
            windowed_error: metrics.windowed_error(),
            training_error: None,
            no_change_error: metrics.no_change_error(),
            eta: learner.eta(),
            terms: learner.terms(),
            norm: norm(learner),
            theta: learner.config().loss.theta().map(|_| learner.theta()).filter(|_| certified.is_some()),
            threshold: learner.threshold(),
            alert_rate: metrics.alert_rate().or(certified.map(|a| a.rate)),
            windowed_alert_rate: metrics.windowed_alert_rate(),
            truncation: learner.truncation_error(),
            speed,
        }
    }

    /// The state in a later pass: without progressive figures. `examples` counts the examples of all passes, `metrics` those of this one.
    pub fn in_training(self, examples: u64, metrics: &Metrics) -> Self {
        Point {
            examples,
            training_error: metrics.windowed_error(),
            loss: None,
            error: None,
            windowed_error: None,
            no_change_error: None,
            windowed_alert_rate: None,
            ..self
        }
    }
}

/// The points of a run. The first and the latest are always among them.
///
/// Points are `stride` examples apart; at the beginning only an eighth of the number of examples so far. When there are too many
/// points, the stride doubles and points that are then too close are removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    points: Vec<Point>,
    /// The latest point, if it is too close to the one before to be kept.
    latest: Option<Point>,
    stride: u64,
    /// The highest and the lowest threshold that a row was compared with, each with the number of examples: points are a sample.
    #[serde(skip)]
    thresholds: Option<[(u64, f64); 2]>,
}

impl Default for History {
    fn default() -> Self {
        History { points: Vec::new(), latest: None, stride: 1, thresholds: None }
    }
}

impl History {
    /// Whether a point after this many examples would be kept; avoids computing points that would not.
    pub fn due(&self, examples: u64) -> bool {
        self.points.last().is_none_or(|last| far_enough(last.examples, examples, self.stride))
    }

    /// Records the current state as the latest point, and keeps it if it is due.
    pub fn record(&mut self, point: Point) {
        if !self.due(point.examples) {
            self.latest = Some(point);
            return;
        }
        self.latest = None;
        self.points.push(point);
        while self.points.len() >= MOST_POINTS {
            self.thin();
        }
    }

    fn thin(&mut self) {
        self.stride = self.stride.saturating_mul(2);
        let (mut last, stride) = (None, self.stride);
        self.points.retain(|point| {
            let keep = last.is_none_or(|last| far_enough(last, point.examples, stride));
            last = if keep { Some(point.examples) } else { last };
            keep
        });
    }

    /// Adds the threshold that a row was compared with; `examples` is the number of examples up to it.
    pub fn compared(&mut self, examples: u64, threshold: f64) {
        let [highest, lowest] = self.thresholds.get_or_insert([(examples, threshold); 2]);
        if threshold > highest.1 {
            *highest = (examples, threshold);
        }
        if threshold < lowest.1 {
            *lowest = (examples, threshold);
        }
    }

    /// The highest and the lowest threshold of all rows, each with the number of examples.
    pub fn extreme_thresholds(&self) -> Option<[(u64, f64); 2]> {
        self.thresholds
    }

    /// All points, in order.
    pub fn points(&self) -> impl DoubleEndedIterator<Item = &Point> + Clone {
        self.points.iter().chain(&self.latest)
    }

    /// The latest point.
    pub fn latest(&self) -> Option<&Point> {
        self.points().next_back()
    }
}

fn far_enough(last: u64, now: u64, stride: u64) -> bool {
    now.saturating_sub(last) >= stride.min(last / EARLY).max(1)
}
