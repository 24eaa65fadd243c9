//! `okl demo`: two embedded streams that change while they are learned.

use std::f64::consts::PI;
use std::fmt::Write as _;
use std::io::Cursor;

use okl::{Config, Learner};

use crate::args::Demo;
use crate::input::{Options, Reader};
use crate::learn::task_of;
use crate::metrics::percent;
use crate::report::{self, Report};
use crate::run::{Run, interrupted};
use crate::store::{self, Position};
use crate::table::{self, Table};
use crate::words;

const ROWS: usize = 20_000;
/// One row in a hundred of the sensors' stream is not like the others.
const NOVEL: f64 = 0.01;

/// Uniform numbers in [0, 1), the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Two moons that turn slowly, and by half a turn at once half-way.
fn moons() -> String {
    let mut random = Random(20_050_601);
    let mut csv = String::from("x,y,moon\n");
    for t in 0..ROWS {
        let upper = random.next() < 0.5;
        let (sin, cos) = (PI * random.next()).sin_cos();
        let (x, y) = if upper { (cos, sin) } else { (1.0 - cos, 0.5 - sin) };
        let (x, y) = (x + 0.5 * (random.next() - 0.5) - 0.5, y + 0.5 * (random.next() - 0.5) - 0.25);
        let turn = 2.0 * t as f64 / ROWS as f64 + if t >= ROWS / 2 { PI } else { 0.0 };
        let (sin, cos) = turn.sin_cos();
        let _ = writeln!(csv, "{:.4},{:.4},{}", cos * x - sin * y, sin * x + cos * y, if upper { "upper" } else { "lower" });
    }
    csv
}

/// Six sensors that follow one daily cycle with noise and slow drift; now and then one of them says something else.
fn sensors() -> (String, Vec<u64>) {
    let mut random = Random(20_011_203);
    let (mut csv, mut novel) = (String::from("s1,s2,s3,s4,s5,s6\n"), Vec::new());
    for t in 0..ROWS {
        let hour = 2.0 * PI * t as f64 / 500.0;
        let odd = (random.next() < NOVEL).then(|| (6.0 * random.next()) as usize);
        let row: Vec<String> = (0..6)
            .map(|s| {
                let usual =
                    (hour + s as f64 * 0.7).sin() + 0.5 * t as f64 / ROWS as f64 + 0.2 * (random.next() + random.next() - 1.0);
                let value = if odd == Some(s) { usual + if random.next() < 0.5 { 1.5 } else { -1.5 } } else { usual };
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

/// Learns a text as if it were a file.
fn learn(csv: String, target: Option<&str>, settings: &str, quiet: bool) -> anyhow::Result<Run> {
    let config = Config::from_toml(settings)?;
    let task = task_of(&config);
    let options =
        Options { targets: target.map(str::to_owned).into_iter().collect(), want_target: target.is_some(), ..Options::default() };
    let mut reader = Reader::stream("demo", Cursor::new(csv.into_bytes()), options)?;
    let mut run = Run::new(Learner::new(config)?, task);
    let mut table = Table::new(quiet);
    while let Some(chunk) = reader.next()? {
        run.learn(
            &chunk,
            |_| {},
            |run| {
                if run.rows >= 256 {
                    table.line(run);
                }
            },
        )?;
        if interrupted() {
            break;
        }
    }
    run.record();
    table.line(&run);
    Ok(run)
}

/// Runs the command.
pub fn demo(args: &Demo) -> anyhow::Result<()> {
    let say = |text: &str| {
        if !args.quiet {
            eprintln!("{text}");
        }
    };
    std::fs::create_dir_all(&args.out)?;
    say(
        "1. Two moons that turn slowly and jump by half a turn at row 10,000.\n   Every row is predicted before it is learned; at most 100 terms are kept,\n   the others are merged into them.\n",
    );
    let settings = |step: &str| {
        format!("loss = 'hinge'\nkernel = 'gaussian:4'\nstep = '{step}'\nlambda = 1e-4\nbudget = 'merge:100'\noffset = true")
    };
    let csv = moons();
    say("   The step size adapts itself (SVMD):");
    let mut adapted = learn(csv.clone(), Some("moon"), &settings("smd:eta=0.5"), args.quiet)?;
    say("\n   The same with a fixed schedule (eta = sqrt(100 / (100 + t))):");
    let scheduled = learn(csv, Some("moon"), &settings("decay:eta=1,tau=100"), args.quiet)?;
    let error = |run: &Run| percent(run.metrics.error().unwrap_or(0.0));
    table::say(&format!(
        "Mistakes: {} with SVMD, {} with the schedule,\nwhich had become too small when the moons jumped.\n",
        error(&adapted),
        error(&scheduled)
    ))?;

    say(
        "\n2. Six sensors on a daily cycle that drifts; one row in a hundred has one\n   reading off by 1.5. An alert rate of 1 % was asked for; nobody says which\n   rows are odd.\n",
    );
    let (csv, novel) = sensors();
    let detector = learn(
        csv,
        None,
        "loss = 'nu_novelty:0.01'\nkernel = 'gaussian:1'\nstep = 'constant:0.002'\nlambda = 0.05\nbudget = 'window:500'\nthreshold = 'tracker'",
        args.quiet,
    )?;
    let alerts = detector.alerts.strongest();
    let right = alerts.iter().filter(|a| novel.contains(&a.row)).count();
    table::say(&format!(
        "Alerts: {} in {} rows ({}); of the {} strongest,\n{right} were injected. The five strongest:\n",
        detector.alerts.total(),
        ROWS,
        percent(detector.alerts.total() as f64 / ROWS as f64),
        alerts.len()
    ))?;
    for alert in alerts.iter().take(5) {
        table::say(&format!(
            "   row {:>6}  score {:.4} below {:.4}{}\n",
            alert.row,
            alert.score,
            alert.threshold,
            if novel.contains(&alert.row) { "  (injected)" } else { "" }
        ))?;
    }

    let (model, page) = (args.out.join("demo.okl"), args.out.join("report.html"));
    store::save(&model, &mut adapted.learner, &Position::default())?;
    let summary = adapted.metrics.summary(&adapted.names());
    let config = adapted.learner.config().to_json();
    let certificates = words::certificates(&adapted.learner);
    let rivals = [("a fixed schedule".to_owned(), &scheduled.history)];
    let mut report = Report::new("Two moons that turn and jump", "okl demo", &summary, &adapted.history, &config);
    let decision = adapted.decision(&["x".into(), "y".into()], "moon")?;
    (report.certificates, report.rivals, report.decision) = (&certificates, &rivals, decision.as_ref());
    let mut bytes = Vec::new();
    report::write(&mut bytes, &report)?;
    store::write_atomically(&page, &bytes)?;
    table::say(&format!(
        "\nLeft behind: {} (try `okl inspect {}`)\nand {} (open it in a browser).\n",
        model.display(),
        model.display(),
        page.display()
    ))?;
    Ok(())
}
