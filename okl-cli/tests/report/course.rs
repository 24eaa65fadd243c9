//! The course of a run and its alerts, in bounded memory.

use okl_cli::report::alerts::MOST_ALERTS;
use okl_cli::report::history::MOST_POINTS;
use okl_cli::report::{Alert, Alerts, History, Point};

use crate::support::Random;

fn point(examples: u64) -> Point {
    Point { examples, error: Some(0.1), ..Point::default() }
}

#[test]
fn history_stays_bounded_and_keeps_the_first_and_the_last() {
    for (block, rows) in [(1, 1), (1, 599), (1, 300_000), (37, 1_000_000), (4096, 100_000_000), (1 << 40, 1 << 54)] {
        let mut history = History::default();
        for examples in (1..=rows / block).map(|i| i * block) {
            history.record(point(examples));
            assert!(history.points().count() <= MOST_POINTS);
        }
        let kept: Vec<u64> = history.points().map(|p| p.examples).collect();
        assert_eq!((kept[0], *kept.last().unwrap()), (block, rows / block * block));
        assert!(kept.len() <= MOST_POINTS && kept.windows(2).all(|w| w[0] < w[1]));
        assert!(kept.len() as u64 >= (rows / block).min(200), "{} of {}", kept.len(), rows / block);
        assert!(kept.windows(2).all(|w| w[1] - w[0] <= (rows / 64).max(block)), "no gap is wide");
    }
}

#[test]
fn only_due_points_need_to_be_made() {
    let (mut all, mut due) = (History::default(), History::default());
    for examples in 1..=50_000 {
        all.record(point(examples));
        if due.due(examples) {
            due.record(point(examples));
        }
    }
    due.record(point(50_000));
    assert_eq!(all.points().collect::<Vec<_>>(), due.points().collect::<Vec<_>>());
}

#[test]
fn the_strongest_alerts_are_kept() {
    let mut alerts = Alerts::default();
    let mut random = Random(4);
    let all: Vec<Alert> =
        (1..=3000).map(|row| Alert { line: 2 * row, examples: row, score: random.next() * 0.5, threshold: 0.5 }).collect();
    all.iter().for_each(|a| alerts.push(*a));
    let mut expected = all.clone();
    expected.sort_by(|a, b| a.score.total_cmp(&b.score));
    assert_eq!(alerts.total(), 3000);
    assert_eq!(alerts.strongest(), expected[..MOST_ALERTS]);
}

/// The shares of a threshold that are left below 1e-16 are different, although 1 minus each is 1.
#[test]
fn alerts_far_below_their_threshold_have_an_order() {
    let mut alerts = Alerts::default();
    let mut random = Random(5);
    let mut all: Vec<(f64, Alert)> = (1..=1000)
        .map(|row| {
            let (power, threshold) = (-17.0 - 60.0 * random.next(), 0.1 + random.next());
            (power, Alert { line: row, examples: row, score: threshold * 10f64.powf(power), threshold })
        })
        .collect();
    all.iter().for_each(|(_, alert)| alerts.push(*alert));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let expected: Vec<u64> = all[..MOST_ALERTS].iter().map(|(_, alert)| alert.line).collect();
    assert_eq!(alerts.strongest().iter().map(|alert| alert.line).collect::<Vec<_>>(), expected);
}
