//! Metrics against naive recomputation over stored predictions.

use okl_cli::metrics::{self, ClassSummary, Coverage, MOST_CLASSES, Metrics, Observed, Summary, Target, Task, WINDOW};

use crate::support::{HOSTILE, Random, names};

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1.0), "{a} is not {b}");
}

fn mean(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (sum, weight) = values.fold((0.0, 0.0), |(s, w), (value, weight)| (s + value * weight, w + weight));
    sum / weight
}

/// Scores, class, weight.
type Row = (Vec<f64>, usize, f64);

/// A stream of classes in order of appearance, sticky enough for the no-change predictor to be right at times.
fn class_stream(classes: usize, rows: usize, seed: u64) -> Vec<Row> {
    let (mut random, mut seen, mut last) = (Random(seed), 0, 0);
    let mut out = Vec::new();
    for _ in 0..rows {
        let class = if random.next() < 0.4 { last } else { random.below((seen + 1).min(classes)) };
        (seen, last) = (seen.max(class + 1), class);
        let mut scores: Vec<f64> = (0..seen).map(|_| random.signed()).collect();
        scores[class] += 0.5;
        out.push((scores, class, 0.5 + random.next()));
    }
    out
}

fn of_classes(rows: &[Row], known: usize) -> Metrics {
    let mut metrics = Metrics::new(Task::Classes, known);
    for (scores, class, weight) in rows {
        let loss = Some(weight * scores.iter().sum::<f64>().abs());
        metrics.add(&Observed { scores, target: Target::Class(*class), loss, weight: *weight, alert: None });
    }
    metrics
}

/// What the scores say among the classes of the rows before.
fn naive_said(rows: &[Row], i: usize) -> Option<usize> {
    let known = rows[..i].iter().map(|r| r.1 + 1).max()?;
    let scores = &rows[i].0[..known.min(rows[i].0.len())];
    let best = scores.iter().copied().fold(f64::MIN, f64::max);
    scores.iter().position(|s| *s == best)
}

#[test]
fn errors_of_classes_are_the_naive_ones() {
    let rows = class_stream(5, 4000, 11);
    let metrics = of_classes(&rows, 0);
    let wrong: Vec<(f64, f64)> =
        (0..rows.len()).map(|i| (f64::from(u8::from(naive_said(&rows, i) != Some(rows[i].1))), rows[i].2)).collect();
    close(metrics.error().unwrap(), mean(wrong.iter().copied()));
    close(metrics.windowed_error().unwrap(), mean(wrong[rows.len() - WINDOW..].iter().copied()));
    // There is nothing to repeat at the first row: a mistake.
    let changes = rows.windows(2).map(|w| (f64::from(u8::from(w[0].1 != w[1].1)), w[1].2));
    close(metrics.no_change_error().unwrap(), mean(std::iter::once((1.0, rows[0].2)).chain(changes)));
    close(metrics.average_loss().unwrap(), mean(rows.iter().map(|r| (r.0.iter().sum::<f64>().abs(), r.2))));
    assert_eq!(metrics.examples(), 4000);
}

/// The first row has no predicted class. It is in no cell, also where further classes share a column.
#[test]
fn a_row_without_a_predicted_class_is_in_no_cell() {
    for classes in [5, MOST_CLASSES, MOST_CLASSES + 1, MOST_CLASSES + 20] {
        let rows = class_stream(classes, 4000, 13);
        assert_eq!(rows.iter().map(|row| row.1).max(), Some(classes - 1));
        let summary = of_classes(&rows, 0).summary(&names(classes)).classes.unwrap();
        let place = |class: usize| class.min(MOST_CLASSES);
        let side = summary.confusion.names.len();
        assert_eq!(side, classes.min(MOST_CLASSES + 1));
        let mut naive = vec![vec![0.0; side]; side];
        for (i, row) in rows.iter().enumerate() {
            if let Some(said) = naive_said(&rows, i) {
                naive[place(row.1)][place(said)] += row.2;
            }
        }
        for (row, naive) in summary.confusion.counts.iter().zip(&naive) {
            row.iter().zip(naive).for_each(|(count, naive)| close(*count, *naive));
        }
        assert_eq!(summary.confusion.unsaid, rows[0].2);
    }
}

#[test]
fn confusion_and_f1_are_the_naive_ones() {
    let rows = class_stream(5, 3000, 12);
    let summary = of_classes(&rows, 0).summary(&names(5)).classes.unwrap();
    let said: Vec<Option<usize>> = (0..rows.len()).map(|i| naive_said(&rows, i)).collect();
    let weight = |pick: &dyn Fn(usize, Option<usize>) -> bool| -> f64 {
        rows.iter().zip(&said).filter(|(r, s)| pick(r.1, **s)).map(|(r, _)| r.2).sum()
    };
    let mut total = 0.0;
    for class in 0..5 {
        for other in 0..5 {
            close(summary.confusion.counts[class][other], weight(&|y, s| y == class && s == Some(other)));
        }
        let hits = weight(&|y, s| y == class && s == Some(class));
        let (met, told) = (weight(&|y, _| y == class), weight(&|_, s| s == Some(class)));
        let figures = &summary.per_class[class];
        close(figures.recall.unwrap(), hits / met);
        close(figures.precision.unwrap(), hits / told);
        close(figures.f1.unwrap(), 2.0 * hits / (met + told));
        total += figures.f1.unwrap() / 5.0;
    }
    close(summary.macro_f1.unwrap(), total);
    assert_eq!(summary.confusion.unsaid, rows[0].2);
    assert!(summary.auc.is_none());
}

#[test]
fn classes_that_are_numbers_stand_in_order() {
    let rows = class_stream(3, 200, 11);
    let metrics = of_classes(&rows, 0);
    let summary = |names: [&str; 3]| metrics.summary(&names.map(String::from)).classes.unwrap();
    let (named, numbered) = (summary(["x", "10", "-2"]), summary(["9", "10", "-2"]));
    let order = |classes: &ClassSummary| classes.per_class.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (order(&named), order(&numbered)),
        (vec!["x".into(), "10".into(), "-2".into()], vec!["-2".into(), "9".into(), "10".into()])
    );
    assert_eq!(numbered.confusion.names, order(&numbered));
    for (i, truth) in [2, 0, 1].into_iter().enumerate() {
        assert_eq!(numbered.per_class[i].examples, named.per_class[truth].examples);
        for (j, said) in [2, 0, 1].into_iter().enumerate() {
            assert_eq!(numbered.confusion.counts[i][j], named.confusion.counts[truth][said]);
        }
    }
}

#[test]
fn a_class_cannot_be_said_before_it_exists_and_ties_go_to_the_earlier() {
    let mut metrics = Metrics::new(Task::Classes, 0);
    let mut add = |scores: &[f64], class| {
        metrics.add(&Observed { scores, target: Target::Class(class), loss: None, weight: 1.0, alert: None });
        metrics.error().unwrap()
    };
    assert_eq!(add(&[0.0], 0), 1.0);
    assert_eq!(add(&[0.0, 9.0], 1), 1.0);
    assert_eq!(add(&[0.0, 0.0], 0), 2.0 / 3.0);
    assert_eq!(add(&[0.0], 0), 0.5);
    let mut given = Metrics::new(Task::Classes, 2);
    given.add(&Observed { scores: &[0.1], target: Target::Class(1), loss: None, weight: 1.0, alert: None });
    assert_eq!(given.error(), Some(0.0));
}

fn naive_macro_f1(rows: &[Row], classes: usize) -> f64 {
    let said: Vec<Option<usize>> = (0..rows.len()).map(|i| naive_said(rows, i)).collect();
    let f1 = |class: usize| {
        let sum = |pick: &dyn Fn(bool, bool) -> f64| -> f64 {
            rows.iter().zip(&said).map(|(r, s)| r.2 * pick(r.1 == class, *s == Some(class))).sum()
        };
        let hits = sum(&|was, said| f64::from(u8::from(was && said)));
        2.0 * hits / sum(&|was, said| f64::from(u8::from(was)) + f64::from(u8::from(said)))
    };
    (0..classes).map(f1).sum::<f64>() / classes as f64
}

/// The confusion matrix has 50 classes; macro F1 and the most frequent class count all of them.
#[test]
fn classes_after_the_fiftieth_are_other() {
    let mut rows = class_stream(70, 20_000, 13);
    // The most frequent class is a late one.
    rows.extend((0..3000).map(|_| (vec![0.0; 70], 69, 1.0)));
    let summary = of_classes(&rows, 0).summary(&[]).classes.unwrap();
    assert_eq!((summary.known, summary.per_class.len(), summary.macro_classes), (70, MOST_CLASSES, 70));
    close(summary.macro_f1.unwrap(), naive_macro_f1(&rows, 70));
    let weight_of = |class: usize| rows.iter().filter(|r| r.1 == class).map(|r| r.2).sum::<f64>();
    let largest = (0..70).map(weight_of).fold(0.0, f64::max);
    close(summary.majority_error.unwrap(), 1.0 - largest / rows.iter().map(|r| r.2).sum::<f64>());
    assert_eq!(summary.confusion.names.len(), MOST_CLASSES + 1);
    assert_eq!(summary.confusion.names[MOST_CLASSES], "other");
    // The first row has no predicted class, and is in no cell.
    let total: f64 = rows.iter().map(|r| r.2).sum();
    close(summary.confusion.counts.iter().flatten().sum::<f64>() + summary.confusion.unsaid, total);
}

/// Over all pairs, ties half.
fn exact_auc(rows: &[(f64, usize, f64)]) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0.0);
    for p in rows.iter().filter(|r| r.1 == 1) {
        for n in rows.iter().filter(|r| r.1 == 0) {
            let order = if p.0 > n.0 {
                1.0
            } else if p.0 == n.0 {
                0.5
            } else {
                0.0
            };
            (sum, pairs) = (sum + order * p.2 * n.2, pairs + p.2 * n.2);
        }
    }
    sum / pairs
}

#[test]
fn the_area_is_within_its_stated_error() {
    type Shape = fn(f64) -> f64;
    let shapes: [(&str, Shape); 5] = [
        ("plain", |z| z),
        ("tiny", |z| 1e-7 * z),
        ("huge", |z| 1e9 * z),
        ("coarse, with ties at 0", |z| (2.0 * z).trunc()),
        ("crowded far from 0", |z| 1000.0 + z),
    ];
    for (name, shape) in shapes {
        let mut random = Random(99);
        let mut metrics = Metrics::new(Task::Classes, 2);
        let mut rows = Vec::new();
        for _ in 0..3000 {
            let class = random.below(2);
            let row = (shape(random.signed() + 0.7 * class as f64), class, 0.5 + random.next());
            metrics.add(&Observed { scores: &[row.0], target: Target::Class(class), loss: None, weight: row.2, alert: None });
            rows.push(row);
        }
        let auc = metrics.summary(&[]).classes.unwrap().auc.unwrap();
        let exact = exact_auc(&rows);
        assert!((auc.value - exact).abs() <= auc.error + 1e-12, "{name}: {} is not {exact} within {}", auc.value, auc.error);
        assert!(
            name.starts_with("crowded") || name.starts_with("coarse") || auc.error < 2e-3,
            "{name}: an error of {}",
            auc.error
        );
    }
}

/// 0.98825 is shown as 0.9882: the bound holds for the figure that is shown.
#[test]
fn the_bound_of_the_area_covers_its_rounding() {
    let auc = metrics::Auc { value: 0.988_248, error: 0.000_027 };
    let (shown, within): (f64, f64) = (metrics::figure(auc.value).parse().unwrap(), auc.within().parse().unwrap());
    assert!((shown - (auc.value + auc.error)).abs() <= within, "{shown} and {within}");
}

#[test]
fn figures_of_numbers_are_the_naive_ones() {
    let mut random = Random(5);
    let mut metrics = Metrics::new(Task::Numbers, 2);
    let mut rows: Vec<([f64; 2], [f64; 2], f64)> = Vec::new();
    let mut level = 0.0;
    for _ in 0..5000 {
        level += 0.1 * random.signed();
        let y = [level + 3.0, 10.0 * random.signed()];
        let row = ([y[0] + 0.2 * random.signed(), 0.5 * y[1]], y, 0.5 + random.next());
        metrics.add(&Observed { scores: &row.0, target: Target::Numbers(&row.1), loss: None, weight: row.2, alert: None });
        rows.push(row);
    }
    let summary = metrics.summary(&["level".into()]);
    assert_eq!(summary.outputs[1].name, "target 2");
    for (o, output) in summary.outputs.iter().enumerate() {
        let of = |f: &dyn Fn(f64, f64) -> f64| mean(rows.iter().map(|(z, y, w)| (f(z[o], y[o]), *w)));
        let (centre, squared) = (of(&|_, y| y), of(&|z, y| (y - z).powi(2)));
        close(output.rmse.unwrap(), squared.sqrt());
        close(output.mae.unwrap(), of(&|z, y| (y - z).abs()));
        close(output.bias.unwrap(), of(&|z, y| z - y));
        close(output.r2.unwrap(), 1.0 - squared / of(&|_, y| (y - centre).powi(2)));
        close(
            output.no_change_mae.unwrap(),
            mean(
                std::iter::once((rows[0].1[o].abs(), rows[0].2))
                    .chain(rows.windows(2).map(|w| ((w[1].1[o] - w[0].1[o]).abs(), w[1].2))),
            ),
        );
    }
    let absolute = |r: &([f64; 2], [f64; 2], f64)| (((r.1[0] - r.0[0]).abs() + (r.1[1] - r.0[1]).abs()) / 2.0, r.2);
    close(summary.error.unwrap(), mean(rows.iter().map(absolute)));
    close(summary.windowed_error.unwrap(), mean(rows[4000..].iter().map(absolute)));
}

#[test]
fn residual_bars_hold_everything_and_an_early_outlier_does_not_flatten_them() {
    let mut random = Random(6);
    let mut metrics = Metrics::new(Task::Numbers, 1);
    let add = |metrics: &mut Metrics, y: f64| {
        metrics.add(&Observed { scores: &[0.0], target: Target::Numbers(&[y]), loss: None, weight: 1.0, alert: None })
    };
    add(&mut metrics, 1e6);
    (0..10_000).for_each(|_| add(&mut metrics, 2.0 * random.next() - 1.0));
    let residuals = metrics.summary(&[]).outputs[0].residuals.clone().unwrap();
    close(residuals.counts.iter().sum::<f64>() + residuals.outside, 10_001.0);
    assert!((0.95..1.02).contains(&residuals.reach) && residuals.outside < 110.0, "{residuals:?}");
    let even = 10_000.0 / residuals.counts.len() as f64;
    assert!(
        residuals.counts.iter().all(|n| (n - even).abs() < 6.0 * even.sqrt()),
        "uniform residuals make even bars: {residuals:?}"
    );
}

/// Residuals of all sizes, also far below the width of a bar: the counts are those of the residuals between the edges of the bars.
#[test]
fn residual_bars_are_exact() {
    let mut random = Random(7);
    let mut metrics = Metrics::new(Task::Numbers, 1);
    let mut residuals: Vec<f64> = (0..5000).map(|i| random.signed() * 10f64.powi(4 - i % 16)).collect();
    residuals.extend([0.0; 7]);
    for y in &residuals {
        metrics.add(&Observed { scores: &[0.0], target: Target::Numbers(&[*y]), loss: None, weight: 1.0, alert: None });
    }
    let found = metrics.summary(&[]).outputs[0].residuals.clone().unwrap();
    let number = |is: &dyn Fn(f64) -> bool| residuals.iter().filter(|r| is(**r)).count() as f64;
    for (ends, count) in found.edges.windows(2).zip(&found.counts) {
        assert_eq!(*count, number(&|r| ends[0] < r && r < ends[1]), "{ends:?}");
    }
    let reach = found.reach;
    assert_eq!(found.outside, number(&|r| r.abs() > reach));
    assert!(found.outside > 0.0 && found.outside <= 0.01 * 5007.0, "{}", found.outside);
    assert_eq!([found.below, found.zero, found.above], [number(&|r| r < 0.0), 7.0, number(&|r| r > 0.0)]);
    let even = 2.0 * reach / found.counts.len() as f64;
    let place = |bar: usize| -reach + even * bar as f64;
    assert!(found.edges.iter().enumerate().all(|(bar, edge)| (edge - place(bar)).abs() <= 0.004 * edge.abs()), "{found:?}");
}

#[test]
fn alerts_are_counted_once_they_are_decided() {
    let mut metrics = Metrics::new(Task::Novelty, 1);
    for i in 0..5000 {
        let alert = (i >= 1000).then_some(i % 40 == 0);
        metrics.add(&Observed { scores: &[0.0], target: Target::None, loss: Some(0.1), weight: 1.0, alert });
    }
    close(metrics.alert_rate().unwrap(), 0.025);
    close(metrics.windowed_alert_rate().unwrap(), 0.025);
    assert_eq!((metrics.rows(), metrics.examples(), metrics.no_change_error()), (5000, 5000, None));
}

#[test]
fn since_last_begins_at_the_mark_and_rows_without_a_target_count_for_nothing() {
    let mut metrics = Metrics::new(Task::Numbers, 0);
    let add = |metrics: &mut Metrics, y: f64, weight: f64| {
        metrics.add(&Observed { scores: &[], target: Target::Numbers(&[y]), loss: Some(weight * y * y), weight, alert: None });
    };
    assert_eq!(metrics.error(), None);
    add(&mut metrics, 1.0, 1.0);
    metrics.mark();
    assert_eq!((metrics.loss_since(), metrics.error_since()), (None, None));
    add(&mut metrics, 3.0, 2.0);
    add(&mut metrics, 1e9, 0.0);
    metrics.add(&Observed { scores: &[5.0], target: Target::None, loss: None, weight: 1.0, alert: None });
    assert_eq!((metrics.loss_since(), metrics.error_since()), (Some(9.0), Some(3.0)));
    close(metrics.average_loss().unwrap(), 19.0 / 3.0);
    assert_eq!((metrics.rows(), metrics.examples()), (4, 2));
}

#[test]
fn summary_lines_fit_a_terminal_and_obey_no_label() {
    let mut all = names(30);
    (all[0], all[1]) = (HOSTILE.repeat(20), "名".repeat(60));
    let classes = of_classes(&class_stream(30, 2000, 3), 0).summary(&all);
    let mut numbers = Metrics::new(Task::Numbers, 1);
    numbers.add(&Observed { scores: &[-1e300], target: Target::Numbers(&[1e-300]), loss: Some(1e300), weight: 1.0, alert: None });
    for summary in
        [classes, numbers.summary(&all), Metrics::new(Task::Novelty, 1).summary(&[]), Metrics::new(Task::Classes, 0).summary(&[])]
    {
        let text = summary.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap().to_string(), text);
    }
}

#[test]
fn numbers_are_written_for_people() {
    let show = |v: f64| metrics::figure(v);
    assert_eq!(
        [show(0.0), show(1.0), show(1234.4), show(-0.01234), show(2.5e-7)],
        ["0", "1.000", "1,234", "-0.01234", "2.500e-7"]
    );
    assert_eq!([metrics::count(1234567.0), metrics::count(-1000.0), metrics::count(12.25)], ["1,234,567", "-1,000", "12.2"]);
    assert_eq!([metrics::percent(0.0), metrics::percent(0.12345), metrics::percent(1.0)], ["0 %", "12.35 %", "100 %"]);
    assert_eq!([metrics::bound(0.000431), metrics::bound(0.0), metrics::bound(2e-9)], ["0.0005", "0", "2e-9"]);
}

#[test]
fn rows_that_are_not_learned_are_counted_by_the_reason() {
    let mut metrics = Metrics::new(Task::Numbers, 1);
    let mut add = |target, loss, weight| metrics.add(&Observed { scores: &[0.0], target, loss, weight, alert: None });
    add(Target::Numbers(&[1.0]), Some(1.0), 1.0);
    add(Target::None, None, 1.0);
    (0..2).for_each(|_| add(Target::Numbers(&[1.0]), None, 0.0));
    (0..3).for_each(|_| add(Target::Numbers(&[1.0]), None, 1.0));
    let summary = metrics.summary(&[]);
    assert_eq!((summary.rows, summary.examples), (7, 4));
    let n = summary.not_learned;
    assert_eq!((n.without_target, n.of_weight_zero, n.by_the_learner), (1, 2, 3));
    let text = summary.to_string();
    assert!(
        n.words().starts_with("1 row in which a target is missing (empty, NA, ?): only predicted; 2 rows of weight 0"),
        "{}",
        n.words()
    );
    for line in ["  no target     1  ", "  weight 0      2  ", "  not learned   3  "] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// Coverage by counting; said where it is off by more than chance.
#[test]
fn coverage_is_the_share_of_targets_at_or_below_the_score() {
    let said = |shift: f64| {
        let mut metrics = Metrics::new(Task::Numbers, 1).with_quantile(Some(0.9));
        let mut random = Random(31);
        let rows: Vec<f64> = (0..3000).map(|_| random.next()).collect();
        for y in &rows {
            metrics.add(&Observed {
                scores: &[0.9 - shift],
                target: Target::Numbers(&[*y]),
                loss: Some(0.0),
                weight: 1.0,
                alert: None,
            });
        }
        let summary = metrics.summary(&["y".into()]);
        let coverage = summary.outputs[0].coverage.unwrap();
        let share = |rows: &[f64]| rows.iter().filter(|y| **y <= 0.9 - shift).count() as f64 / rows.len() as f64;
        close(coverage.seen, share(&rows));
        close(coverage.last, share(&rows[2000..]));
        assert_eq!((coverage.asked, coverage.last_examples), (0.9, 1000));
        assert!(summary.to_string().lines().any(|line| line.starts_with("coverage  ") && line.chars().count() <= 80));
        coverage.warning(summary.examples).unwrap_or_default()
    };
    assert_eq!(said(0.0), "");
    assert!(said(0.07).starts_with("The predicted 0.9 quantile is off: 8"), "{}", said(0.07));
    assert!(said(-0.07).contains("is off"), "{}", said(-0.07));
}

/// Advice to ask for another quantile would spoil the rows that come.
#[test]
fn a_quantile_that_was_off_at_the_beginning_gets_no_advice() {
    let coverage = |seen, last| Coverage { asked: 0.9, seen, last, last_examples: 1000, weighted: false };
    let warning = |seen, last| coverage(seen, last).warning(8000);
    assert_eq!(warning(0.9, 0.9), None);
    let said = warning(0.86, 0.9).unwrap();
    assert!(said.contains("was off at the beginning: 86") && !said.contains("try"), "{said}");
    // As far above 0.9 as the coverage is below it; none beyond half of the way to 1, where another quantile hardly helps.
    assert_eq!(coverage(0.86, 0.852).other_quantile(), Some(0.948));
    assert_eq!(coverage(0.86, 0.845).other_quantile(), None);
    assert!(warning(0.86, 0.852).unwrap().ends_with("lie at or below it."), "advice is given elsewhere, where it can be tried");
    // Two standard errors of 1,000 rows are 1.9 points: 0.882 is as asked, 0.88 is not.
    assert!(warning(0.86, 0.882).unwrap().contains("at the beginning"));
    assert!(warning(0.86, 0.88).unwrap().contains("is a little off"));
    assert_eq!(coverage(0.9, 0.96).other_quantile(), Some(0.84));
}
