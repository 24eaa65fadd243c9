//! The report as a document that a browser can trust.

use okl::loss::Loss;
use okl::{Batch, Config, Label, Learner};
use okl_cli::metrics::{self, Metrics, Observed, Target, Task};
use okl_cli::report::decision::GRID;
use okl_cli::report::{self, Alert, Alerts, Decision, History, Point, Reading, Report, Samples, theta_name};

use crate::support::{HOSTILE, Random, names};

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
        let each = |_: usize, step: &okl::Outcome<'_>| {
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
        self.samples.push(x.map(f64::from), value);
        self.history.record(Point::now(&self.learner, &self.metrics, Some(1e5 + row as f64)));
    }

    fn decision(&self, reading: Reading) -> Decision {
        let score = |rows: &[f64]| self.learner.predict(&Batch::of_f64(rows, 2)).map(|s| s.values);
        Decision::evaluate([HOSTILE.into(), "y".into()], &self.samples, reading, score).unwrap().unwrap()
    }
}

fn alerts_push(alerts: &mut Alerts, row: u64, below: Option<(f64, f64)>) {
    if let Some((score, threshold)) = below {
        alerts.push(Alert { line: row + 1, examples: row, score, threshold });
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
    assert!(page.contains("Not in this report: theta and the share that nu sets"));
    // All of a hostile name is there, and no part of it is markup: in text, and in attributes (the label of a drawing).
    assert!(page.contains("<h1>&lt;script&gt;alert('x')&lt;/script&gt;\u{fffd}[31m&quot;&amp;|\u{fffd}</h1>"));
    assert!(page.contains("aria-label=\"decision regions over &lt;script&gt;alert('x')&lt;/script&gt;\u{fffd}[31m&quot;&amp;|"));
}

/// Eight colours: from nine classes on, the caption says that colours repeat, and the legend says how many classes it leaves out.
#[test]
fn a_drawing_says_that_colours_repeat_and_that_its_legend_is_cut() {
    let repeated = "every 8th class has the same colour";
    for (classes, repeats, left) in [(8, false, None), (9, true, None), (24, true, None), (25, true, Some("and 1 more"))] {
        let mut samples = Samples::default();
        (0..classes).for_each(|class| samples.push([class as f64, 1.0], class as f64));
        let score = |rows: &[f64]| Ok::<_, ()>(vec![0.5; rows.len() / 2 * classes]);
        let names = (0..classes).map(|class| format!("class {class}")).collect();
        let drawn = Decision::evaluate(["x".into(), "y".into()], &samples, Reading::Classes(names), score).unwrap().unwrap();
        let page = drawn.html().into_string();
        assert_eq!(page.contains(repeated), repeats, "{classes} classes");
        assert_eq!(page.matches("class=\"swatch").count(), classes.min(24), "{classes} classes");
        match left {
            Some(left) => assert!(page.contains(left), "{classes} classes"),
            None => assert!(!page.contains(" more</li>"), "{classes} classes"),
        }
    }
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
    let at = |id: &str| page.find(&format!("<section id=\"{id}\">")).unwrap();
    assert!(at("alerts") < at("figures") && at("theta") < at("error"), "what a user acts on comes first");
    assert!(page.contains("<h2>Threshold and alert rate</h2>") && !page.contains(">Theta"), "standard terms");
    assert!(page.contains("strongest of") && page.contains("latest of"), "alerts by strength and by time");
    assert!(page.contains("because the stream has no targets") && page.contains("margin rho"));
}

/// Every loss that adapts a scalar has a name for it, and no other loss has one.
#[test]
fn theta_has_the_name_that_the_loss_gives_it() {
    for loss in okl::config::families::family("loss").unwrap().variants {
        let config = Config::from_toml(&format!("loss = '{}'", loss.name)).unwrap();
        assert_eq!(theta_name(loss.name).is_some(), config.loss.theta().is_some(), "{}", loss.name);
    }
    assert_eq!(["nu_huber", "nu_hinge"].map(theta_name), [Some("scale sigma"), Some("margin rho")]);
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

/// A run whose rows were all learned before, as after an interruption in a later pass; and one whose rows have no target.
#[test]
fn a_run_without_new_rows_has_no_figures_of_new_rows() {
    let configs = [
        (Task::Classes, "loss = 'max_margin'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 1e-3"),
        (Task::Numbers, "loss = 'squared'\nkernel = 'gaussian:1'\nstep = 'constant:0.2'\nlambda = 1e-3"),
        (Task::Novelty, "loss = 'nu_novelty:nu=0.05'\nkernel = 'gaussian:1'\nstep = 'inverse_sqrt:eta=0.5'"),
    ];
    for (task, config) in configs {
        let run = run(task, config);
        let (training, json) = (run.metrics.summary(&names(3)), run.learner.config().to_json());
        let none = Metrics::new(task, 3).summary(&names(3));
        let (alerts, history) = (Alerts::default(), History::default());
        let report = |training, rows| {
            let summary = metrics::Summary { rows, ..none.clone() };
            let alerts = (task == Task::Novelty).then_some(&alerts);
            let page = html(&Report { training, alerts, ..Report::new("again", "okl", &summary, &history, &json) });
            checked(&page).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for (page, reason) in [
            (report(Some((4, &training)), 0), "all rows of this run had been learned before"),
            (report(Some((4, &training)), 7), "all rows of this run had been learned before"),
            (report(None, 7), "no row of this run has a target and a weight above 0"),
        ] {
            assert!(page.contains(&format!("There are no figures of new rows: {reason}.")), "{page}");
            for lie in [
                "none of all",
                "none were",
                "off by none",
                "the stream has no targets",
                "No row was below",
                "0 alerts",
                "none raised",
            ] {
                assert!(!page.contains(lie), "{lie:?}: {page}");
            }
            assert_eq!(page.contains("Alerts are listed for new rows"), task == Task::Novelty, "{page}");
        }
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
    let rings = |rows: &[f64]| Ok::<_, ()>(rows.chunks(2).map(|x| (x[0] * x[0] + x[1]).sin()).collect());
    let noise = |rows: &[f64]| Ok::<_, ()>(rows.chunks(2).map(|_| random.signed()).collect());
    let both = || ["x".to_string(), "y".to_string()];
    let of_rings = Decision::evaluate(both(), &samples, Reading::Numbers("z".into()), rings).unwrap().unwrap();
    let of_noise = Decision::evaluate(both(), &samples, Reading::Classes(names(2)), noise).unwrap().unwrap();
    for decision in [of_rings, of_noise] {
        let page = decision.html().into_string();
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

/// A window of 1,000 rows with 3 mistakes after one with 1 is chance; with 300 after 100 it is not. For numbers, the errors must rise by more than
/// they vary.
#[test]
fn chance_is_not_called_a_change_of_the_stream() {
    let said = |task: Task, before: f64, most: f64| {
        let mut metrics = Metrics::new(task, if task == Task::Classes { 2 } else { 1 });
        for row in 0..5000 {
            // Numbers: an error of 10 in every hundredth row, otherwise 0.
            let (class, number) = (usize::from(row % 2 == 0), [if row % 100 == 0 { 10.0 } else { 0.0 }]);
            let target = if task == Task::Classes { Target::Class(class) } else { Target::Numbers(&number) };
            metrics.add(&Observed { scores: &[0.0], target, loss: Some(0.0), weight: 1.0, alert: None });
        }
        let mut history = History::default();
        for (at, error) in [(2000, before), (2500, before), (3000, most), (4000, before), (5000, before)] {
            history.record(Point { examples: at, error: Some(before), windowed_error: Some(error), ..Point::default() });
        }
        let summary = metrics.summary(&names(2));
        html(&Report::new("r", "okl learn", &summary, &history, "{}")).contains("The windowed error rose to")
    };
    assert!(!said(Task::Classes, 0.001, 0.003) && said(Task::Classes, 0.1, 0.3));
    assert!(!said(Task::Numbers, 0.1, 0.2) && said(Task::Numbers, 0.1, 1.1));
}
