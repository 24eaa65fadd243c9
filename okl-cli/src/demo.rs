//! `okl demo`: two built-in streams that change while they are learned.

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::io::Cursor;
use std::path::Path;

use anyhow::Context;
use indicatif::ProgressBar;
use okl::{Config, Learner};

use crate::args::Demo;
use crate::certificates;
use crate::input::{Chunk, Options, Reader, Schema};
use crate::learn::task_of;
use crate::metrics::{count, figure, percent};
use crate::random::Random;
use crate::report::{self, Alert, Report};
use crate::run::{Run, interrupted};
use crate::store::{self, Position};
use crate::table::{self, Table, note, say};
use crate::watch::Watch;

const ROWS: usize = 20_000;
/// What is known of the runs for their certificates: rows have no weights.
const UNWEIGHTED: certificates::Measured =
    certificates::Measured { score_deviation: None, total_loss: None, total_weight: 0.0, weighted: Some(false) };
/// The share of novel rows in the stream of the sensors.
const NOVEL: f64 = 0.01;

/// Two moons that rotate slowly, with one sudden half turn in the middle of the stream.
fn moons() -> String {
    let mut random = Random::new(20_050_601);
    let mut csv = String::from("x,y,moon\n");
    for t in 0..ROWS {
        let upper = random.uniform() < 0.5;
        let (sin, cos) = (PI * random.uniform()).sin_cos();
        let (x, y) = if upper { (cos, sin) } else { (1.0 - cos, 0.5 - sin) };
        let (x, y) = (x + 0.5 * (random.uniform() - 0.5) - 0.5, y + 0.5 * (random.uniform() - 0.5) - 0.25);
        let turn = 2.0 * t as f64 / ROWS as f64 + if t >= ROWS / 2 { PI } else { 0.0 };
        let (sin, cos) = turn.sin_cos();
        let _ = writeln!(csv, "{:.4},{:.4},{}", cos * x - sin * y, sin * x + cos * y, if upper { "upper" } else { "lower" });
    }
    csv
}

/// Six sensors that follow one daily cycle with noise and slow drift. In novel rows, one sensor has a wrong value.
fn sensors() -> (String, Vec<u64>) {
    let mut random = Random::new(20_011_203);
    let (mut csv, mut novel) = (String::from("s1,s2,s3,s4,s5,s6\n"), Vec::new());
    for t in 0..ROWS {
        let hour = 2.0 * PI * t as f64 / 500.0;
        let odd = (random.uniform() < NOVEL).then(|| (6.0 * random.uniform()) as usize);
        let row: Vec<String> = (0..6)
            .map(|s| {
                let usual = (hour + s as f64 * 0.7).sin()
                    + 0.5 * t as f64 / ROWS as f64
                    + 0.2 * (random.uniform() + random.uniform() - 1.0);
                let value = if odd == Some(s) { usual + if random.uniform() < 0.5 { 1.5 } else { -1.5 } } else { usual };
                format!("{value:.4}")
            })
            .collect();
        let _ = writeln!(csv, "{}", row.join(","));
        if odd.is_some() {
            novel.push(t as u64 + 2); // the header is line 1
        }
    }
    (csv, novel)
}

/// A run over one of the streams, and the columns of the stream.
struct Learned {
    run: Run,
    schema: Schema,
    /// The settings before the first row.
    given: String,
}

/// Prints the progress table, from row 256 on.
struct Audience {
    table: Table,
    bar: ProgressBar,
}

impl Watch for Audience {
    fn pause(&mut self, run: &mut Run, _: &Chunk, _: usize) -> anyhow::Result<()> {
        if run.rows() >= 256 {
            self.bar.suspend(|| self.table.line(run));
        }
        Ok(())
    }
}

/// Learns a CSV text.
fn learn(csv: String, target: Option<&str>, settings: &str, quiet: bool) -> anyhow::Result<Learned> {
    let config = Config::from_toml(settings)?;
    let (task, given) = (task_of(&config), config.to_json());
    let options =
        Options { targets: target.map(str::to_owned).into_iter().collect(), want_target: target.is_some(), ..Options::default() };
    let mut reader = Reader::of("demo", Cursor::new(csv.into_bytes()), options)?;
    let mut run = Run::new(Learner::new(config)?, task);
    run.progress.meet(&run.learner);
    let mut audience = Audience { table: Table::new(quiet, false), bar: table::bar(quiet) };
    while let Some(chunk) = reader.next()?.filter(|_| !interrupted()) {
        run.learn(&chunk, &mut audience)?;
        audience.bar.set_position(run.rows());
    }
    audience.bar.finish_and_clear();
    run.record();
    audience.table.line(&mut run);
    Ok(Learned { run, schema: reader.schema().clone(), given })
}

/// Runs the command; returns true if it was interrupted. In this case no file is written.
///
/// # Errors
/// If the model or the report cannot be written.
pub fn demo(args: &Demo) -> anyhow::Result<bool> {
    std::fs::create_dir_all(&args.out).with_context(|| format!("{}: cannot be made", args.out.display()))?;
    let explain = |text: &str| {
        if !args.quiet {
            note(text);
        }
    };
    explain(
        "1. Two moons that turn slowly and jump by half a turn at row 10,000.\n   Every row is predicted before it is learned; at most 100 terms are kept,\n   the others are merged into them.\n",
    );
    let settings = |step: &str| {
        format!("loss = 'hinge'\nkernel = 'gaussian:4'\nstep = '{step}'\nlambda = 1e-4\nbudget = 'merge:100'\noffset = true")
    };
    let csv = moons();
    explain("   The step size adapts itself (SVMD):");
    let mut adapted = learn(csv.clone(), Some("moon"), &settings("smd:eta=0.5"), args.quiet)?;
    explain("\n   The same with a fixed schedule (eta = sqrt(100 / (100 + t))):");
    let scheduled = learn(csv, Some("moon"), &settings("decay:eta=1,tau=100"), args.quiet)?;
    let error = |learned: &Learned| percent(learned.run.metrics.error().unwrap_or(0.0));
    say(&format!(
        "Mistakes: {} with SVMD, {} with the schedule,\nwhich had become too small when the moons jumped.\n",
        error(&adapted),
        error(&scheduled)
    ))?;

    explain(
        "\n2. Six sensors on a daily cycle that drifts; one row in a hundred has one\n   reading off by 1.5. The requested alert rate is 1 %; the rows have no\n   labels.\n",
    );
    let (csv, novel) = sensors();
    let detector = learn(
        csv,
        None,
        "loss = 'nu_novelty:0.01'\nkernel = 'gaussian:1'\nstep = 'constant:0.002'\nlambda = 0.05\nbudget = 'window:500'\nthreshold = 'tracker'",
        args.quiet,
    )?;
    list_alerts(&detector.run, &novel)?;
    if interrupted() {
        return Ok(true);
    }
    leave_behind(&args.out, &mut adapted, &scheduled.run)?;
    Ok(false)
}

fn list_alerts(run: &Run, novel: &[u64]) -> anyhow::Result<()> {
    let alerts = &run.alerts;
    let strongest = alerts.strongest();
    let injected = |alert: &&Alert| novel.contains(&alert.line);
    say(&format!(
        "Alerts: {} in {} rows ({}); {} of {} were injected.\n",
        alerts.total(),
        count(ROWS as f64),
        percent(alerts.total() as f64 / ROWS as f64),
        strongest.iter().filter(injected).count(),
        if strongest.len() as u64 == alerts.total() { "them".into() } else { format!("the {} strongest", strongest.len()) }
    ))?;
    certificates::in_words(&run.learner, UNWEIGHTED).iter().try_for_each(|line| say(&(table::wrapped(line, "  ") + "\n")))?;
    say("The five strongest:\n")?;
    for alert in strongest.iter().take(5) {
        let known = if injected(&alert) { "  (injected)" } else { "" };
        let (score, threshold) = (figure(alert.score), figure(alert.threshold));
        say(&format!("   line {:>6}  score {score:>9} below {threshold:>9}{known}\n", alert.line))?;
    }
    Ok(())
}

fn leave_behind(folder: &Path, adapted: &mut Learned, scheduled: &Run) -> anyhow::Result<()> {
    let (model, page) = (folder.join("demo.okl"), folder.join("report.html"));
    let Learned { run, schema, given } = adapted;
    let position = Position {
        schema: Some(schema.clone()),
        progress: run.progress.clone(),
        seen: Some(run.rows()),
        given: serde_json::from_str(given).ok(),
        ..Position::default()
    };
    store::save(&model, &mut run.learner, &position)?;
    let summary = run.summary(&schema.targets);
    let config = run.learner.config().to_json();
    let decision = run.decision(&schema.names(), "moon")?;
    let report = Report {
        certificates: &certificates::in_words(&run.learner, run.progress.measured(&run.learner)),
        rivals: &[("a fixed schedule".to_owned(), &scheduled.history)],
        decision: decision.as_ref(),
        given_json: Some(given),
        ..Report::new("Two moons that turn and jump", "okl demo", &summary, &run.history, &config)
    };
    let mut bytes = Vec::new();
    report::write(&mut bytes, &report)?;
    store::write(&page, &bytes)?;
    let (model, page) = (model.display(), page.display());
    Ok(say(&format!("\nWritten: {model} (try `okl inspect {model}`)\nand {page} (open it in a browser).\n"))?)
}
