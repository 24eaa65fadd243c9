//! Metrics against naive recomputation over stored predictions; the report as a document that a browser can trust.

use okl::{Batch, Config, Label, Learner, Workspace};
use okl_cli::metrics::{self, MOST_CLASSES, Metrics, Observed, Summary, Target, Task, WINDOW};
use okl_cli::report::alerts::MOST_ALERTS;
use okl_cli::report::decision::GRID;
use okl_cli::report::history::MOST_POINTS;
use okl_cli::report::{self, Alert, Alerts, Decision, History, Point, Reading, Report, Samples};

/// Uniform numbers in [0, 1).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }

    fn signed(&mut self) -> f64 {
        (0..6).map(|_| self.next() - 0.5).sum()
    }
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1.0), "{a} is not {b}");
}

fn mean(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (sum, weight) = values.fold((0.0, 0.0), |(s, w), (value, weight)| (s + value * weight, w + weight));
    sum / weight
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("class {i}")).collect()
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
    let changes = rows.windows(2).map(|w| (f64::from(u8::from(w[0].1 != w[1].1)), w[1].2));
    close(metrics.no_change_error().unwrap(), mean(changes));
    close(metrics.average_loss().unwrap(), mean(rows.iter().map(|r| (r.0.iter().sum::<f64>().abs(), r.2))));
    assert_eq!(metrics.examples(), 4000);
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

#[test]
fn classes_after_the_fiftieth_are_other() {
    let rows = class_stream(70, 20_000, 13);
    let summary = of_classes(&rows, 0).summary(&[]).classes.unwrap();
    assert_eq!((summary.known, summary.per_class.len()), (70, MOST_CLASSES));
    assert_eq!(summary.confusion.names.len(), MOST_CLASSES + 1);
    assert_eq!(summary.confusion.names[MOST_CLASSES], "other");
    close(summary.confusion.counts.iter().flatten().sum(), rows.iter().map(|r| r.2).sum());
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
    assert_eq!(summary.outputs[1].name, "output 1");
    for (o, output) in summary.outputs.iter().enumerate() {
        let of = |f: &dyn Fn(f64, f64) -> f64| mean(rows.iter().map(|(z, y, w)| (f(z[o], y[o]), *w)));
        let (centre, squared) = (of(&|_, y| y), of(&|z, y| (y - z).powi(2)));
        close(output.rmse.unwrap(), squared.sqrt());
        close(output.mae.unwrap(), of(&|z, y| (y - z).abs()));
        close(output.bias.unwrap(), of(&|z, y| y - z));
        close(output.r2.unwrap(), 1.0 - squared / of(&|_, y| (y - centre).powi(2)));
        close(output.no_change_mae.unwrap(), mean(rows.windows(2).map(|w| ((w[1].1[o] - w[0].1[o]).abs(), w[1].2))));
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

const HOSTILE: &str = "<script>alert('x')</script>\u{1b}[31m\"&|\u{202e}";

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
    let all: Vec<Alert> = (1..=3000).map(|row| Alert { row, score: random.next() * 0.5, threshold: 0.5 }).collect();
    all.iter().for_each(|a| alerts.push(*a));
    let mut expected = all.clone();
    expected.sort_by(|a, b| a.score.total_cmp(&b.score));
    assert_eq!(alerts.total(), 3000);
    assert_eq!(alerts.strongest(), expected[..MOST_ALERTS]);
}

// ---- the document

/// Every element is closed in order, every attribute is quoted; returns the text outside of tags.
fn checked(html: &str) -> String {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let (mut open, mut text, mut rest) = (Vec::new(), String::new(), html);
    while let Some(at) = rest.find('<') {
        text += &rest[..at];
        let tag = &rest[at + 1..at + tag_length(&rest[at..])];
        rest = &rest[at + tag.len() + 2..];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '!'), "an odd tag: <{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "</{name}> closes nothing");
        } else if !VOID.contains(&name) && !tag.ends_with('/') {
            open.push(name.to_string());
        }
        if ["style", "script"].contains(&name) && !tag.starts_with('/') {
            rest = &rest[rest.find(&format!("</{name}>")).expect("raw text ends")..];
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    text + rest
}

/// To the `>` that is in no quotes.
fn tag_length(text: &str) -> usize {
    let mut quoted = false;
    text.char_indices()
        .find(|(_, c)| {
            quoted ^= *c == '"';
            *c == '>' && !quoted
        })
        .expect("a tag ends")
        .0
}

fn html(report: &Report<'_>) -> String {
    let mut out = Vec::new();
    report::write(&mut out, report).unwrap();
    String::from_utf8(out).unwrap()
}

struct Run {
    learner: Learner,
    metrics: Metrics,
    history: History,
    samples: Samples,
    alerts: Alerts,
}

/// A real run of two features over blobs; the class, a height or nothing is learned.
fn run(task: Task, config: &str) -> Run {
    let mut random = Random(21);
    let learner = Learner::new(Config::from_toml(config).unwrap()).unwrap();
    let mut run = Run {
        learner,
        metrics: Metrics::new(task, 0),
        history: History::default(),
        samples: Samples::default(),
        alerts: Alerts::default(),
    };
    for row in 1..=1500 {
        // Classes are numbered in the order in which they appear.
        let class = if row <= 3 { row - 1 } else { random.below(3) };
        let x = [(class as f64 + 0.3 * random.signed()) as f32, (random.signed() + if class == 1 { 1.0 } else { 0.0 }) as f32];
        run.row(task, row as u64, x, class);
    }
    run
}

impl Run {
    fn row(&mut self, task: Task, row: u64, x: [f32; 2], class: usize) {
        let (labels, numbers) = ([Label::Text(format!("{HOSTILE}{class}"))], [class as f64 + f64::from(x[0] * x[1])]);
        let (batch, target, value) = match task {
            Task::Classes => (Batch::new(&x, 2).labels(&labels), Target::Class(class), class as f64),
            Task::Numbers => (Batch::new(&x, 2).numbers(&numbers), Target::Numbers(&numbers), numbers[0]),
            Task::Novelty => (Batch::new(&x, 2), Target::None, 0.0),
        };
        let threshold = self.learner.threshold();
        let (metrics, alerts) = (&mut self.metrics, &mut self.alerts);
        let each = |_: usize, step: &okl::Step<'_>| {
            let below = threshold.map(|t| (step.scores[0], t)).filter(|(score, t)| score < t);
            alerts_push(alerts, row, below);
            metrics.add(&Observed {
                scores: step.scores,
                target,
                loss: step.loss,
                weight: 1.0,
                alert: threshold.map(|_| below.is_some()),
            });
        };
        self.learner.learn_with(&batch, each).unwrap();
        self.samples.push(x, value);
        self.history.record(Point::now(&self.learner, &self.metrics, Some(1e5 + row as f64)));
    }

    fn decision(&self, reading: Reading) -> Decision {
        let score = |rows: &[f32]| self.learner.predict(&mut Workspace::default(), rows, 2).map(|s| s.values);
        Decision::evaluate([HOSTILE.into(), "y".into()], &self.samples, reading, score).unwrap().unwrap()
    }
}

fn alerts_push(alerts: &mut Alerts, row: u64, below: Option<(f64, f64)>) {
    if let Some((score, threshold)) = below {
        alerts.push(Alert { row, score, threshold });
    }
}

fn hostile_names() -> Vec<String> {
    (0..3).map(|i| format!("{HOSTILE}{i}")).collect()
}

/// Well-formed, alone in the world, harmless, with every section or a word on why it is missing.
fn check_document(page: &str, sections: &[&str]) {
    let text = checked(page);
    for id in sections {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "no section {id}");
    }
    for word in ["http", "<script>alert", "\u{1b}", "\u{202e}", "NaN", "url(", "@import", "src="] {
        assert!(!page.contains(word), "{word:?} in the page");
    }
    assert!(!text.contains("inf ") && !text.contains("None"), "{text}");
    assert!(page.len() < 300_000, "{} bytes", page.len());
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print") && page.contains("name=\"viewport\""));
}

fn report_of(run: &Run, reading: Reading, names: &[String]) -> String {
    let (summary, json, decision) = (run.metrics.summary(names), run.learner.config().to_json(), run.decision(reading));
    let words = [format!("certified: {HOSTILE}")];
    let facts = [(HOSTILE.to_string(), HOSTILE.to_string())];
    let rivals = [(HOSTILE.to_string(), &run.history)];
    let alerts = (summary.task == Task::Novelty).then_some(&run.alerts);
    let report = Report {
        certificates: &words,
        facts: &facts,
        rivals: &rivals,
        lead: HOSTILE,
        decision: Some(&decision),
        alerts,
        ..Report::new(HOSTILE, HOSTILE, &summary, &run.history, &json)
    };
    html(&report)
}

#[test]
fn the_report_of_classes_has_every_section() {
    let run = run(
        Task::Classes,
        "loss = 'max_margin'\nkernel = 'gaussian:1'\nstep = 'smd:eta=0.5'\nlambda = 1e-3\nbudget = 'merge:50'",
    );
    let page = report_of(&run, Reading::Classes(hostile_names()), &hostile_names());
    check_document(&page, &["figures", "error", "model", "truncation", "confusion", "regions", "config", "reproduce"]);
    assert!(page.contains("Not in this report: theta and alert rate"));
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
}

#[test]
fn the_report_of_numbers_has_every_section() {
    let run = run(
        Task::Numbers,
        "loss = 'nu_epsilon:nu=0.2'\nkernel = 'gaussian:1'\nstep = 'inverse_sqrt:eta=0.5'\nbudget = 'window:100'\noffset = true",
    );
    let page = report_of(&run, Reading::Numbers(HOSTILE.into()), &hostile_names());
    check_document(&page, &["figures", "error", "model", "theta", "truncation", "residuals", "regions", "config", "reproduce"]);
    assert!(page.contains("tube epsilon") && page.contains("20.00\u{a0}% was asked for"));
}

#[test]
fn the_report_of_novelty_has_every_section() {
    let run = run(
        Task::Novelty,
        "loss = 'nu_novelty:nu=0.05'\nkernel = 'gaussian:1'\nstep = 'inverse_sqrt:eta=0.5'\nbudget = 'window:200'\nthreshold = 'tracker'",
    );
    let page = report_of(&run, Reading::Novelty(run.learner.threshold().unwrap()), &[]);
    check_document(&page, &["figures", "error", "model", "theta", "truncation", "regions", "alerts", "config", "reproduce"]);
    assert!(page.contains("because the stream has no targets") && page.contains("margin rho"));
}

#[test]
fn a_run_of_nothing_still_has_a_report() {
    for task in [Task::Classes, Task::Numbers, Task::Novelty] {
        let (summary, history) = (Metrics::new(task, 0).summary(&[]), History::default());
        check_document(
            &html(&Report::new("nothing", "okl learn", &summary, &history, "not json <b>")),
            &["figures", "error", "config", "reproduce"],
        );
    }
}

#[test]
fn one_row_and_extreme_numbers_still_have_a_report() {
    let mut metrics = Metrics::new(Task::Numbers, 1);
    metrics.add(&Observed {
        scores: &[-1e300],
        target: Target::Numbers(&[1e300]),
        loss: Some(f64::INFINITY),
        weight: 1.0,
        alert: None,
    });
    let mut history = History::default();
    history.record(Point {
        examples: 1,
        error: Some(1e300),
        eta: 1e-300,
        norm: f64::INFINITY,
        truncation: 1e-12,
        speed: Some(0.0),
        ..Point::default()
    });
    checked(&html(&Report::new("one", "okl", &metrics.summary(&[]), &history, "{}")));
}

/// The area of the rectangles `Mx yHxVyHxz` of a path.
fn area(d: &str) -> usize {
    let numbers = |rect: &str| rect.split(['M', ' ', 'H', 'V', 'z']).filter_map(|n| n.parse().ok()).collect::<Vec<usize>>();
    d.split_inclusive('z').map(numbers).map(|n| (n[2] - n[0]) * (n[3] - n[1])).sum()
}

#[test]
fn merged_rectangles_cover_the_grid_once() {
    let mut samples = Samples::default();
    [[0.0, 0.0], [1.0, 2.0]].iter().for_each(|x| samples.push(*x, 0.0));
    let mut random = Random(8);
    let rings = |rows: &[f32]| Ok::<_, ()>(rows.chunks(2).map(|x| f64::from(x[0] * x[0] + x[1]).sin()).collect());
    let noise = |rows: &[f32]| Ok::<_, ()>(rows.chunks(2).map(|_| random.signed()).collect());
    let both = || ["x".to_string(), "y".to_string()];
    let of_rings = Decision::evaluate(both(), &samples, Reading::Numbers("z".into()), rings).unwrap().unwrap();
    let of_noise = Decision::evaluate(both(), &samples, Reading::Classes(names(2)), noise).unwrap().unwrap();
    for decision in [of_rings, of_noise] {
        let page = decision.html();
        checked(&page);
        let cells = page.split("<g class=\"cells\"").nth(1).unwrap().split("</g>").next().unwrap();
        let paths = cells.split(" d=\"").skip(1).map(|p| p.split('"').next().unwrap());
        assert_eq!(paths.map(area).sum::<usize>(), GRID * GRID);
    }
    assert!(
        Decision::evaluate(both(), &Samples::default(), Reading::Novelty(0.0), |_| Ok::<_, ()>(vec![0.0; GRID * GRID]))
            .unwrap()
            .is_none()
    );
    assert!(Decision::evaluate(both(), &samples, Reading::Novelty(0.0), |_| Err::<Vec<f64>, _>(7)).is_err_and(|e| e == 7));
}

#[test]
fn what_the_writer_cannot_take_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (summary, history) = (Metrics::new(Task::Novelty, 1).summary(&[]), History::default());
    assert_eq!(
        report::write(&mut Full, &Report::new("", "", &summary, &history, "{}")).unwrap_err().kind(),
        std::io::ErrorKind::StorageFull
    );
}
