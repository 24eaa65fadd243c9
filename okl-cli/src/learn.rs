//! `okl learn`: a stream in, a model out.

use std::collections::HashSet;
use std::io::IsTerminal;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use okl::config::Config;
use okl::loss::{Loss, Reads};
use okl::{Learner, Workspace};

use crate::args::{Columns, InputFormat, Learn, Task as TaskName};
use crate::input::{Chunk, Format, Options, Reader, Schema, read_ahead};
use crate::metrics::{Metrics, Observed, Target, Task};
use crate::predictions::Predictions;
use crate::report::{self, Report};
use crate::run::{Run, interrupted};
use crate::settings::{self, Look};
use crate::store::{self, Position};
use crate::table::{Table, say};
use crate::words;

impl From<InputFormat> for Format {
    fn from(format: InputFormat) -> Format {
        match format {
            InputFormat::Csv => Format::Csv,
            InputFormat::Libsvm => Format::Libsvm,
            InputFormat::Jsonl => Format::Jsonl,
            InputFormat::Vw => Format::Vw,
            InputFormat::Parquet => Format::Parquet,
        }
    }
}

fn options(columns: &Columns, schema: Option<Schema>, after_line: u64, novelty: bool) -> Options {
    Options {
        format: columns.format.map(Format::from),
        targets: columns.target.clone(),
        ignore: columns.ignore.clone(),
        features: columns.features.clone(),
        id: columns.id.clone(),
        weight: columns.weight.clone(),
        one_hot: columns.one_hot,
        skip_bad_rows: columns.on_bad_row == crate::args::BadRow::Skip,
        want_target: !novelty,
        schema,
        after_line,
        ..Options::default()
    }
}

/// What a configured loss is for.
pub fn task_of(config: &Config) -> Task {
    match config.loss.reads() {
        Reads::Sign | Reads::Class => Task::Classes,
        Reads::Number | Reads::Vector => Task::Numbers,
        Reads::Nothing => Task::Novelty,
    }
}

/// Runs the command; true if it was interrupted.
pub fn learn(args: &Learn) -> anyhow::Result<bool> {
    if args.passes > 1 && args.data == "-" {
        bail!("--passes: standard input can be read once; give a file");
    }
    let resumed = args.resume.as_ref().map(|path| store::load(path)).transpose()?;
    let (learner, position) = resumed.map_or((None, Position::default()), |(l, p)| (Some(l), p));
    let table = settings::given(&args.settings)?;
    let known = match (&learner, args.settings.task, table.contains_key("loss")) {
        (Some(learner), ..) => Some(task_of(learner.config())),
        (None, Some(TaskName::Novelty), _) => Some(Task::Novelty),
        (None, _, true) => Some(task_of(&Config::from_value(serde_json::Value::Object(table.clone()))?)),
        _ => None,
    };
    let after = if args.r#continue { position.rows } else { 0 };
    let open = |schema: Option<Schema>, after| {
        let reader = Reader::open(&args.data, options(&args.columns, schema, after, known == Some(Task::Novelty)))?;
        anyhow::Ok(read_ahead(reader, 4)?)
    };
    let mut chunks = open(position.schema.clone(), after)?;
    let Some(first) = chunks.next().transpose()? else {
        return match learner {
            Some(learner) if args.r#continue => nothing_new(args, learner, &position),
            _ => bail!("{}: no rows", args.data),
        };
    };
    let learner = match learner {
        Some(learner) => learner,
        None => begin(args, table, known, &first, chunks.schema())?,
    };
    let task = task_of(learner.config());
    let mut run = Run::new(learner, task);
    run.learner.set_threads(args.threads)?;
    let mut state = State { args, table: Table::new(args.show.quiet), bar: bar(args.show.quiet), position, predictions: None };
    state.predictions = args.show.predictions.as_deref().map(|to| Predictions::create(to, task)).transpose()?;
    let mut pending = Some(first);
    for pass in 0..args.passes.max(1) {
        if pass > 0 {
            chunks = open(Some(chunks.schema().clone()), 0)?;
        }
        while let Some(chunk) = pending.take().map(Ok).or_else(|| chunks.next()).transpose()? {
            state.chunk(&mut run, &chunk, chunks.schema())?;
            if interrupted() {
                break;
            }
        }
        if interrupted() {
            break;
        }
    }
    state.finish(&mut run, chunks.schema())?;
    Ok(interrupted())
}

/// The model has consumed the whole stream already: it stays what it is.
fn nothing_new(args: &Learn, mut learner: Learner, position: &Position) -> anyhow::Result<bool> {
    if !args.show.quiet {
        eprintln!("{}: no rows after those the model has consumed", args.data);
    }
    if let Some(path) = &args.output {
        store::save(path, &mut learner, position)?;
    }
    Ok(false)
}

/// Looks at the first rows, chooses what was not given, says so, and builds the learner.
fn begin(
    args: &Learn,
    table: serde_json::Map<String, serde_json::Value>,
    known: Option<Task>,
    first: &Chunk,
    schema: &Schema,
) -> anyhow::Result<Learner> {
    let distinct: HashSet<String> = if first.targets.width == 1 {
        first.targets.labels().iter().zip(&first.known).filter(|(_, k)| **k).map(|(l, _)| l.to_string()).collect()
    } else {
        HashSet::new()
    };
    let guess = || match (first.targets.width, first.targets.first_text()) {
        (0, _) => None,
        (1, Some(_)) => Some(TaskName::Classes),
        (1, None) if distinct.len() <= 2 => Some(TaskName::Classes),
        _ => Some(TaskName::Numbers),
    };
    let of_loss = known.map(|task| match task {
        Task::Classes => TaskName::Classes,
        Task::Numbers => TaskName::Numbers,
        Task::Novelty => TaskName::Novelty,
    });
    let Some(task) = of_loss.or(args.settings.task).or_else(guess) else {
        bail!("{}: nothing to predict: name a column with --target, or look for novelties with --task novelty", args.data);
    };
    let (config, said) = settings::choose(table, &Look { task, classes: distinct.len(), sparse: schema.sparse })?;
    if !args.show.quiet && !said.is_empty() {
        eprintln!("chosen, because not given:");
        said.iter().for_each(|line| eprintln!("  {line}"));
    }
    Ok(Learner::new(config)?)
}

fn bar(quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {human_pos} rows, {per_sec}, {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style)
}

/// What goes on beside the learning.
struct State<'a> {
    args: &'a Learn,
    table: Table,
    bar: ProgressBar,
    position: Position,
    predictions: Option<Predictions>,
}

impl State<'_> {
    fn chunk(&mut self, run: &mut Run, chunk: &Chunk, schema: &Schema) -> anyhow::Result<()> {
        if chunk.skipped > 0
            && run.skipped == 0
            && !self.args.show.quiet
            && let Some(why) = &chunk.first_skipped
        {
            eprintln!("skipped: {why}");
        }
        let before = run.rows;
        let (table, bar, predictions) = (&mut self.table, &self.bar, &mut self.predictions);
        let mut failed = None;
        let learned = run.learn(
            chunk,
            |seen| {
                if let Some(predictions) = predictions.as_mut().filter(|_| failed.is_none()) {
                    failed = predictions.write(seen).err();
                }
            },
            |run| bar.suspend(|| table.line(run)),
        );
        let learned = learned.with_context(|| {
            format!("{}, lines {} to {}", self.args.data, chunk.lines.first().unwrap_or(&0), chunk.lines.last().unwrap_or(&0))
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        self.bar.set_position(run.rows);
        if let Some(&line) = learned.checked_sub(1).and_then(|last| chunk.lines.get(last)) {
            self.position.rows = line;
        }
        let due = |every: u64| run.rows / every > before / every;
        if self.args.checkpoint_every.is_some_and(due) {
            self.save(run, schema)?;
        }
        Ok(())
    }

    fn save(&mut self, run: &mut Run, schema: &Schema) -> anyhow::Result<()> {
        let Some(path) = self.args.output.as_ref().or(self.args.resume.as_ref()) else { return Ok(()) };
        self.position.schema = Some(schema.clone());
        store::save(path, &mut run.learner, &self.position)
    }

    fn finish(&mut self, run: &mut Run, schema: &Schema) -> anyhow::Result<()> {
        run.record();
        if !run.rows.is_power_of_two() {
            self.table.line(run);
        }
        self.bar.finish_and_clear();
        if let Some(predictions) = self.predictions.take() {
            predictions.finish()?;
        }
        if self.args.output.is_some() {
            self.save(run, schema)?;
        }
        let mut summary = run.metrics.summary(&run.names());
        let certificates = words::certificates(&run.learner);
        if let Some(test) = &self.args.test {
            summary = self.test(run, test, schema)?;
        }
        if self.args.show.json {
            let all = serde_json::json!({ "summary": summary, "certificates": certificates, "config": run.learner.config() });
            say(&(serde_json::to_string_pretty(&all)? + "\n"))?;
        } else if !self.args.show.quiet {
            eprintln!("\n{summary}");
            certificates.iter().for_each(|line| eprintln!("{line}"));
            if run.skipped > 0 {
                eprintln!("{} rows could not be read and were skipped", run.skipped);
            }
            if interrupted() {
                eprintln!(
                    "interrupted: the block was finished{}",
                    if self.args.output.is_some() { " and the model written" } else { "" }
                );
            }
        }
        if let Some(path) = &self.args.show.report {
            let command = std::env::args().collect::<Vec<_>>().join(" ");
            let config = run.learner.config().to_json();
            let mut report = Report::new(&self.args.data, &command, &summary, &run.history, &config);
            let decision = run.decision(&schema.names(), schema.targets.first().map_or("target", String::as_str))?;
            (report.certificates, report.decision) = (&certificates, decision.as_ref());
            report.alerts = (run.metrics.task() == Task::Novelty).then_some(&run.alerts);
            let mut bytes = Vec::new();
            report::write(&mut bytes, &report)?;
            store::write_atomically(path, &bytes)?;
        }
        Ok(())
    }

    /// Scores a held-out file with the model as it stands.
    fn test(&self, run: &Run, path: &str, schema: &Schema) -> anyhow::Result<crate::metrics::Summary> {
        let task = run.metrics.task();
        let mut metrics = Metrics::new(task, if task == Task::Classes { run.learner.classes().len() } else { 0 });
        let mut workspace = Workspace::default();
        let reader = Reader::open(path, options(&self.args.columns, Some(schema.clone()), 0, task == Task::Novelty))?;
        for chunk in read_ahead(reader, 4)? {
            let chunk = chunk?;
            let x = crate::predict::fitted(&chunk, run.learner.features());
            let scores = run.learner.predict(&mut workspace, &x, run.learner.features())?;
            let labels = if task == Task::Classes { chunk.targets.labels() } else { Vec::new() };
            let (numbers, width) = (chunk.targets.numbers(), chunk.targets.width);
            for row in 0..chunk.rows {
                let class = || run.learner.classes().iter().position(|c| *c == labels[row]);
                let target = match (task, chunk.known[row]) {
                    (Task::Classes, true) => class().map_or(Target::None, Target::Class),
                    (Task::Numbers, true) => {
                        numbers.map_or(Target::None, |y| Target::Numbers(&y[row * width..(row + 1) * width]))
                    }
                    _ => Target::None,
                };
                let alert = run.learner.threshold().filter(|_| task == Task::Novelty).map(|th| scores.row(row)[0] < th);
                metrics.add(&Observed { scores: scores.row(row), target, loss: None, weight: 1.0, alert });
            }
        }
        let names: Vec<String> = run.learner.classes().iter().map(ToString::to_string).collect();
        eprintln!("held out, {path}:");
        Ok(metrics.summary(&names))
    }
}
