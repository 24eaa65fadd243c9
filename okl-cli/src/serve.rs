//! `okl serve` and `okl token`: the server of the crate `okl-server`, with the settings, descriptions and readers of this crate.

use std::fs::OpenOptions;
use std::io::{Cursor, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use okl::loss::AnyLoss;
use okl::{Config, Label, Learner};
use okl_server::hooks::{self, Allowed};
use okl_server::http::{Listening, Server, Tls};
use okl_server::log;
use okl_server::options::Options;
use okl_server::refusal::{Answered, Refusal};
use okl_server::registry::Registry;
use okl_server::rows::{Rows, Target, shortened};
use okl_server::surface::{self, Filling, Gaps, Surface, TableColumns, TableFormat, TargetFigures};
use okl_server::tokens::{self, Tokens};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::args::{Serve, Task, Token, TokenCommand, all_names};
use crate::certificates::{self, Measured};
use crate::filler::{self, Filler};
use crate::input::{self, Chunk, Features, Format, InputError, Missing, Reader, Rule};
use crate::settings::{self, Look};
use crate::store::{self, Position};
use crate::table::{note, say};
use crate::usage::usage;
use crate::{explain, inspect, signals, units};

/// How often the server looks whether a signal has come.
const LOOK: Duration = Duration::from_millis(50);

/// The parts of the command line that the server uses.
struct CommandLine;

impl Surface for CommandLine {
    fn choose(&self, given: &Map<String, Value>, look: &surface::Look) -> Result<Config, String> {
        let task = match look.task {
            surface::Task::Classes => Task::Classes,
            surface::Task::Numbers => Task::Numbers,
            surface::Task::Novelty => Task::Novelty,
        };
        // More classes may come later: the loss is one for any number of classes.
        let look = Look {
            task,
            why: None,
            classes: look.classes,
            features: look.features,
            targets: look.targets,
            sparse: look.sparse,
            grows: false,
            ids: look.ids,
            entries: None,
        };
        settings::choose(given.clone(), &look, None).map(|(config, _)| config).map_err(|e| format!("{e:#}"))
    }

    fn describe(&self, learner: &Learner, names: &[String]) -> Value {
        let mut progress = store::progress(learner);
        progress.meet(learner);
        let position = Position { progress, ..Position::default() };
        // The server counts columns without names from 0 everywhere.
        inspect::as_json(learner, &position, names, |column| names.get(column).cloned().unwrap_or_else(|| column.to_string()))
    }

    fn truncation(&self, learner: &Learner) -> Option<String> {
        Some(certificates::truncation(learner, Measured::default()))
    }

    fn explain(&self, learner: &Learner, x: &[f64], names: &[String], top: usize) -> okl::Result<Vec<Value>> {
        explain::explain(learner, x, names, top)
    }

    fn advice(&self, asked: &Config, examples: u64, targets: &[TargetFigures]) -> Vec<String> {
        // The coverage of a quantile is not measured here, and R² says nothing about one far from the median.
        if matches!(*asked.loss, AnyLoss::Quantile { .. }) {
            return Vec::new();
        }
        let named = |(at, figures): (usize, &TargetFigures)| units::Target {
            name: if targets.len() == 1 { "The target".into() } else { format!("Target {at}") },
            centre: Some(figures.mean),
            deviation: Some(figures.deviation),
            sampled: None,
            r2: figures.r2,
            coverage: None,
        };
        let outputs: Vec<units::Target> = targets.iter().enumerate().map(named).collect();
        let said = |found: units::Finding| {
            format!(
                "{} A model with \"target_scale\": {{\"fixed\": {{\"shift\": [{}], \"factor\": [{}]}}}} in \"config\" can be better or, for \
                 skewed targets, worse: create one, send the same rows to both, and compare their errors",
                found.says("this setting"),
                found.shifts(),
                found.factors()
            )
        };
        units::finding(asked, examples, &outputs).map(said).into_iter().collect()
    }

    fn names(&self, learner: &Learner) -> Vec<String> {
        store::feature_names(learner).unwrap_or_default()
    }

    fn rules(&self, learner: &Learner) -> Option<String> {
        match store::used_rules(learner)[..] {
            ["--missing"] if self.gaps_of(learner).is_some() => None,
            _ => store::rules(learner),
        }
    }

    fn gaps(&self, rule: &str) -> Result<Option<Arc<dyn Gaps>>, String> {
        let missing: Missing = rule.parse()?;
        Ok((!missing.is_refused()).then(|| shared(Filler::new(missing))))
    }

    fn gaps_of(&self, learner: &Learner) -> Option<Arc<dyn Gaps>> {
        Filler::of_file(learner).filter(|filler| !filler.is_sparse()).map(shared)
    }

    fn stored_gaps(&self, stored: &Value) -> Option<Arc<dyn Gaps>> {
        serde_json::from_value(stored.clone()).ok().map(shared)
    }

    fn with_names(&self, learner: &Learner, names: &[String]) -> Option<Vec<u8>> {
        store::position_with(learner, names)
    }

    fn table(&self, body: Vec<u8>, format: TableFormat, columns: &TableColumns, cells: usize) -> Answered<Rows> {
        let options = input::Options {
            format: Some(if format == TableFormat::Csv { Format::Csv } else { Format::Jsonl }),
            // Whatever its names look like: pandas names the columns of an array 0, 1, 2.
            header: Some(true),
            targets: columns.targets.clone(),
            ignore: columns.ignore.clone(),
            id: columns.id.clone(),
            weight: columns.weight.clone(),
            sparse: columns.sparse,
            // The model fills these cells: the reader only has to find them.
            missing: columns.fills.then_some(Missing { rule: Rule::Zero, indicator: false }),
            want_target: !columns.targets.is_empty(),
            ..input::Options::default()
        };
        let body: Arc<[u8]> = plain(body)?.into();
        let refused = |error: InputError| {
            let row = error.line().map(|line| rows_before(&body, &options, line));
            refusal(&error, row, columns)
        };
        let mut reader = Reader::of("body", Cursor::new(Arc::clone(&body)), options.clone()).map_err(refused)?;
        let (mut rows, mut reach, mut missing) = (Rows::default(), Vec::new(), Vec::new());
        while let Some(chunk) = reader.next().map_err(refused)? {
            if (rows.count + chunk.rows).saturating_mul(chunk.features) > cells {
                return Err(Refusal::body(format!("more than {cells} numbers; send fewer rows at a time")));
            }
            if let Some((row, target, text)) = chunk.first_text().filter(|_| chunk.targets.width > 1) {
                let column = columns.targets.get(target).map_or("", String::as_str);
                let text =
                    format!("row {}, column '{column}': target '{}', expected a number", rows.count + row, shortened(text));
                return Err(Refusal::body(text).with(json!({ "row": rows.count + row, "column": column })));
            }
            missing.extend(chunk.missing.iter().map(|(row, feature)| (rows.count + *row as usize, *feature as usize)));
            add(&mut rows, &chunk);
            reach.extend_from_slice(&chunk.reach);
        }
        let features = rows.features;
        let later = |(row, known): (usize, &u32)| (*known as usize..features).map(move |feature| row * features + feature);
        rows.absent = reach.iter().enumerate().flat_map(later).collect();
        rows.absent.extend(missing.into_iter().map(|(row, feature)| row * features + feature));
        rows.absent.sort_unstable();
        if matches!(reader.schema().features, Features::Named(_)) {
            rows.names = Some(reader.schema().names());
        }
        Ok(rows)
    }
}

/// Fills cells without a value by the rules of this crate.
#[derive(Debug)]
struct Fills(Arc<Filler>);

/// Filled rows, and the state before them.
struct FilledRows {
    before: Arc<Filler>,
    filling: filler::Filling,
}

fn shared(filler: Filler) -> Arc<dyn Gaps> {
    Arc::new(Fills(Arc::new(filler)))
}

impl Fills {
    fn rows(&self, filling: filler::Filling) -> Box<dyn Filling> {
        Box::new(FilledRows { before: Arc::clone(&self.0), filling })
    }
}

impl Gaps for Fills {
    fn rule(&self) -> String {
        self.0.rule().unwrap_or_default().to_string()
    }

    fn columns(&self) -> usize {
        self.0.columns().len()
    }

    fn column_names(&self) -> Vec<String> {
        self.0.column_names().unwrap_or_default()
    }

    fn feature_names(&self, columns: &[String]) -> Vec<String> {
        match self.columns() {
            count if columns.is_empty() => self.0.feature_names(&(0..count).map(|at| at.to_string()).collect::<Vec<_>>()),
            _ => self.0.feature_names(columns),
        }
    }

    fn finding(&self, columns: &[String]) -> Option<String> {
        self.0.finding(|column| columns.get(column).cloned().unwrap_or_else(|| column.to_string()))
    }

    fn fill(&self, x: &[f64], columns: usize) -> Box<dyn Filling> {
        self.rows(self.0.fill(x, columns))
    }

    fn fill_in_order(&self, x: &[f64], columns: usize, learned: &[bool]) -> Box<dyn Filling> {
        self.rows(self.0.fill_in_order(x, columns, learned))
    }

    fn position(&self, learner: &Learner, columns: &[String]) -> Option<Vec<u8>> {
        self.0.position(learner, columns)
    }

    fn stored(&self) -> Value {
        json!(*self.0)
    }
}

impl Filling for FilledRows {
    fn x(&self) -> &[f64] {
        self.filling.x()
    }

    fn features(&self) -> usize {
        self.filling.features()
    }

    fn after(&self, rows: usize) -> Arc<dyn Gaps> {
        shared(self.before.after(&self.filling, rows))
    }
}

/// The number of rows before a line of a body.
fn rows_before(body: &Arc<[u8]>, options: &input::Options, line: u64) -> usize {
    let options = input::Options { skip_bad_rows: true, ..options.clone() };
    let Ok(mut reader) = Reader::of("body", Cursor::new(Arc::clone(body)), options) else { return 0 };
    let chunks = std::iter::from_fn(|| reader.next().ok().flatten());
    chunks.map(|chunk| chunk.lines.iter().filter(|at| **at < line).count()).sum()
}

/// The error of a body, without advice that holds at the prompt only. Flags that are also query parameters become those.
fn refusal(error: &InputError, row: Option<usize>, columns: &TableColumns) -> Refusal {
    let column = error.column();
    let place = match (row, column) {
        (Some(row), Some(column)) => format!("row {row}, column '{column}': "),
        (Some(row), None) => format!("row {row}: "),
        (None, Some(column)) => format!("column '{column}': "),
        (None, None) => String::new(),
    };
    let refusal = Refusal::body(place + &without_flags(error, columns));
    let detail: Map<String, Value> = [("row", row.map(Value::from)), ("column", column.map(Value::from))]
        .into_iter()
        .filter_map(|(key, value)| Some((key.into(), value?)))
        .collect();
    if detail.is_empty() { refusal } else { refusal.with(Value::Object(detail)) }
}

fn without_flags(error: &InputError, columns: &TableColumns) -> String {
    let parameter = |text: String, name: &str| text.replace(&format!("--{name} "), &format!("?{name}="));
    let text = ["target", "ignore", "weight", "id"].iter().fold(error.text().to_owned(), |text, name| parameter(text, name));
    let (kept, dropped): (Vec<&str>, Vec<&str>) =
        text.split("; ").filter(|part| *part != "correct it").partition(|part| !part.contains("--"));
    let fills = dropped.iter().any(|part| part.contains("--missing"));
    let advice = match error.column() {
        _ if dropped.is_empty() => String::new(),
        _ if fills => format!("; correct it, leave the row out, or {}", okl_server::model::columns::FILLED),
        Some(column) if can_be_ignored(column, columns) => {
            format!("; correct it, leave the row out, or leave the column out with ?ignore={column}")
        }
        _ => "; correct it, or leave the row out".into(),
    };
    kept.join("; ") + &advice
}

/// Whether a table is accepted without this column: it is no target, weight or id, and the model has not learned it.
fn can_be_ignored(column: &str, columns: &TableColumns) -> bool {
    let TableColumns { targets, weight, id, learned, features, sparse, .. } = columns;
    let needed = targets.iter().chain(weight).chain(id).any(|name| name == column);
    let open = *features == 0 || *sparse || (!learned.is_empty() && !learned.iter().any(|name| name == column));
    !needed && open
}

/// Refuses compressed bytes, whose length is not limited.
fn plain(body: Vec<u8>) -> Answered<Vec<u8>> {
    match body.as_slice() {
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => Err(Refusal::body("the body is compressed; send it as text")),
        _ => Ok(body),
    }
}

/// Adds the rows of a chunk. It may have more features than the rows before, which are 0 there.
fn add(rows: &mut Rows, chunk: &Chunk) {
    if chunk.features > rows.features {
        let old = std::mem::take(&mut rows.x);
        for row in old.chunks_exact(rows.features.max(1)).take(rows.count) {
            rows.x.extend_from_slice(row);
            rows.x.resize(rows.x.len() + chunk.features - rows.features, 0.0);
        }
        rows.features = chunk.features;
    }
    rows.x.extend_from_slice(&chunk.x);
    rows.count += chunk.rows;
    let width = chunk.targets.width;
    rows.targets.width = width;
    // Text in a row that is only predicted does not make text of all other targets.
    let values: Vec<Target> = match chunk.first_text() {
        None => chunk.targets.values().iter().map(|y| Target::Number(*y)).collect(),
        Some(_) => {
            chunk.targets.labels().into_iter().enumerate().map(|(row, y)| target_of(y, chunk.targets.is_text(row))).collect()
        }
    };
    let known = |at: usize| chunk.known[at / width.max(1)];
    rows.targets.values.extend(values.into_iter().enumerate().map(|(at, y)| if known(at) { y } else { Target::Missing }));
    if let Some(weights) = &chunk.weights {
        rows.weights.get_or_insert_default().extend_from_slice(weights);
    }
    if let Some(ids) = &chunk.ids {
        rows.ids.get_or_insert_default().extend_from_slice(ids);
    }
}

/// The target of a row beside text. A plain number stays a number there, so that the other rows do not decide what it is; another
/// spelling, such as 1.10, is a name that must be kept.
fn target_of(label: Label, is_text: bool) -> Target {
    let plain = |text: &str| text.parse::<f64>().ok().filter(|value| !is_text && value.is_finite() && value.to_string() == text);
    match label {
        Label::Int(number) => Target::Number(number as f64),
        Label::Text(text) => plain(&text).map_or_else(|| Target::Text(text.clone()), Target::Number),
    }
}

/// The settings of a server in a file; the same names as the flags.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
struct File {
    listen: Option<SocketAddr>,
    token_file: Option<std::path::PathBuf>,
    certificate: Option<std::path::PathBuf>,
    key: Option<std::path::PathBuf>,
    most_body: Option<usize>,
    most_models: Option<usize>,
    most_rate: Option<u32>,
    most_connections: Option<usize>,
    snapshot_rows: Option<u64>,
    #[serde(default)]
    hook_allow: Vec<String>,
    #[serde(default)]
    hook_allow_private: Vec<String>,
    hook_certificates: Option<std::path::PathBuf>,
    log: Option<bool>,
}

fn read_file(path: Option<&Path>) -> anyhow::Result<File> {
    let Some(path) = path else { return Ok(File::default()) };
    let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let table = okl::config::toml_table(&text).with_context(|| path.display().to_string())?;
    serde_json::from_value(table).map_err(|e| usage(format!("{}: {e}", path.display())))
}

/// Serves the models of a folder until a signal comes. Returns true.
///
/// # Errors
/// If the folder, the address or a file cannot be used.
pub fn serve(args: &Serve) -> anyhow::Result<bool> {
    let file = read_file(args.config.as_deref())?;
    let mut options = Options::default();
    let put = |to: &mut usize, flag: Option<usize>, file: Option<usize>| *to = flag.or(file).unwrap_or(*to);
    put(&mut options.most_body, args.most_body, file.most_body);
    put(&mut options.most_models, args.most_models, file.most_models);
    put(&mut options.most_connections, None, file.most_connections);
    options.most_rate = args.most_rate.or(file.most_rate);
    options.snapshot_rows = args.snapshot_rows.or(file.snapshot_rows).unwrap_or(options.snapshot_rows);
    options.hooks = hooks_of(args, &file)?;
    let tls = match (args.certificate.as_ref().or(file.certificate.as_ref()), args.key.as_ref().or(file.key.as_ref())) {
        (Some(certificate), Some(key)) => Some(Tls::load(certificate, key).map_err(anyhow::Error::msg)?),
        (None, None) => None,
        _ => return Err(usage("--certificate and --key belong together: give both or none")),
    };
    let tokens = args.token_file.as_ref().or(file.token_file.as_ref()).map(|path| Tokens::of_file(path)).transpose();
    let tokens = tokens.map_err(anyhow::Error::msg)?;
    let (registry, notes) = Registry::open(&args.folder, Arc::new(CommandLine), options)
        .with_context(|| format!("{}: cannot be used", args.folder.display()))?;
    notes.iter().for_each(|text| log::line("recovery", &json!({ "message": text })));
    let guarded = tokens.is_some();
    let mut server = Server::new(Arc::new(registry), tokens);
    server.log = args.log || file.log == Some(true);
    let address = args.listen.or(file.listen).unwrap_or(SocketAddr::from(([127, 0, 0, 1], 7878)));
    let encrypted = tls.is_some();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listening = Listening::on(address, server, tls).await.with_context(|| format!("--listen {address}"))?;
        let scheme = if encrypted { "https" } else { "http" };
        let url = format!("{scheme}://{}", listening.address()?);
        let who = if guarded { "with a valid token" } else { "from this machine only, because there is no token file" };
        log::line("listening", &json!({ "url": url, "folder": args.folder, "message": format!("serving requests {who}") }));
        listening.run(signal()).await;
        log::line("stopped", &json!({ "message": "all requests are finished, every model has a snapshot" }));
        anyhow::Ok(())
    })?;
    Ok(true)
}

/// Where web hooks may point.
fn hooks_of(args: &Serve, file: &File) -> anyhow::Result<Allowed> {
    let both = |flags: &[String], file: &[String]| [flags, file].concat();
    let certificates = args.hook_certificates.as_ref().or(file.hook_certificates.as_ref());
    Ok(Allowed {
        public: both(&args.hook_allow, &file.hook_allow),
        private: both(&args.hook_allow_private, &file.hook_allow_private),
        tls: certificates.map(|file| hooks::trusted(file).map_err(anyhow::Error::msg)).transpose()?,
        ..Allowed::default()
    })
}

/// Ends when a signal has come.
async fn signal() {
    while !signals::received() {
        tokio::time::sleep(LOOK).await;
    }
}

/// `okl token new`: adds a token to the file and prints its secret once.
///
/// # Errors
/// If a right is unknown, or the file cannot be written.
pub fn token(args: &Token) -> anyhow::Result<()> {
    let TokenCommand::New(new) = &args.command;
    let (rights, models) = (all_names(&new.rights), all_names(&new.models));
    let (secret, line) = tokens::new_token(&new.name, &rights, &models).map_err(usage)?;
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&new.file).and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.with_context(|| format!("{}: cannot be written", new.file.display()))?;
    note(format!(
        "The token '{}' is in {} as a hash. A server that runs with this file accepts it within a second or two. This is the only time \
         that it is shown:",
        new.name,
        new.file.display()
    ));
    Ok(say(&format!("{secret}\n"))?)
}
