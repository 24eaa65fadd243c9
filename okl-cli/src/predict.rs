//! `okl predict`: scores for the rows of a file.
//!
//! A file that does not have the features of the model is refused before a row is written. The header of a table is checked before
//! its first row, and a JSON object that lacks a required key is an error at its row. In formats in which an absent feature is 0, rows
//! are held back until one of them has a feature that the model knows, for at most [`crate::left_out::JUDGED`] rows.

use std::borrow::Cow;

use okl::loss::{Loss, Reads};
use okl::{ClippedRows, Label, Learner, Outcome, Workspace};

use crate::args::{BadRow, Header, InputFormat, Predict, all_names};
use crate::clash::{self, Named};
use crate::device;
use crate::input::{Chunk, Files, Format, Options, Schema, is_stream, read_ahead};
use crate::inspect;
use crate::learn::task_of;
use crate::left_out::LeftOut;
use crate::metrics::Task;
use crate::predictions::{Layout, Predictions, Shown};
use crate::run::interrupted;
use crate::store::{self, Position};
use crate::table::{note, wrapped};
use crate::usage::usage;
use crate::watch::Seen;

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

/// The rows of a chunk with exactly the model's number of features: further features are removed, missing ones are 0.
pub fn fitted(chunk: &Chunk, features: usize) -> Cow<'_, Chunk> {
    if chunk.features == features || features == 0 {
        return Cow::Borrowed(chunk);
    }
    let mut fitted = Chunk { rows: chunk.rows, features, ..Chunk::default() };
    for row in 0..chunk.rows {
        match chunk.entries.is_some() {
            true => fitted.push_sparse(chunk.values(row).filter(|(column, _)| *column < features)),
            false => {
                let row = &chunk.x[row * chunk.features..(row + 1) * chunk.features];
                fitted.x.extend((0..features).map(|i| row.get(i).copied().unwrap_or(0.0)));
            }
        }
    }
    Cow::Owned(fitted)
}

/// A model without feature names uses columns in their order. So the number of columns must equal the number of features,
/// except in sparse formats. `chooses`: whether the command has --features.
///
/// # Errors
/// If the numbers differ; the message has both and what to do.
pub fn check_width(learner: &Learner, data: &str, schema: &Schema, found: usize, chooses: bool) -> anyhow::Result<()> {
    let known = learner.features();
    if schema.sparse || known == 0 || known == found {
        return Ok(());
    }
    let choose = if chooses { "choose with --features, or leave some out" } else { "leave some out" };
    Err(usage(format!(
        "{data}: has {found} columns for features ({}), and the model takes {known}, for which it has no names; {choose} with --ignore",
        schema.listed()
    )))
}

/// What is said of a model of another program that hashes the names of its features.
const HASHED: &str = "every column is a feature: the model keeps no names of columns, not even that of its target; leave columns that are \
                      no features out with --ignore";

/// The classes -1 and +1.
static SIGNS: [Label; 2] = [Label::Int(-1), Label::Int(1)];

/// The classes of a learner, and the class of positive scores if two classes share one score. A learner whose targets were the numbers
/// -1 and +1 has no names of classes: these numbers are its classes.
pub fn classes_of(learner: &Learner) -> (&[Label], Option<usize>) {
    let numbers = learner.config().loss.reads() == Reads::Sign && learner.classes().is_empty() && learner.examples() > 0;
    if numbers { (&SIGNS, Some(1)) } else { (learner.classes(), learner.positive()) }
}

/// The predicted class; the earlier one of equal scores.
fn said<'a>(learner: &'a Learner, scores: &[f64]) -> Option<(usize, &'a Label)> {
    let (classes, _) = classes_of(learner);
    let by_sign = || (learner.classes().len() < classes.len()).then(|| usize::from(scores[0] > 0.0));
    let class = learner.decide(scores).or_else(by_sign)?;
    Some((class, classes.get(class)?))
}

/// Checks that standard input and each pipe is named at most once.
///
/// # Errors
/// If one is named twice.
pub fn one_stream(data: &[String]) -> anyhow::Result<()> {
    let again = |at: usize, file: &String| is_stream(file) && data[..at].contains(file);
    match data.iter().enumerate().find(|(at, file)| again(*at, file)) {
        None => Ok(()),
        Some((_, file)) if file == "-" => Err(usage("standard input (-) can be given only once")),
        Some((_, file)) => Err(usage(format!("{file}: a pipe can be given only once; give it as a file"))),
    }
}

/// Refuses --header for a format that has no header.
///
/// # Errors
/// If the flag was given, and the data are no table of delimited text.
pub fn has_a_header(given: Option<Header>, format: Format) -> anyhow::Result<()> {
    match given {
        Some(_) if format != Format::Csv => {
            Err(usage("--header: only a table of delimited text (CSV) has a header line; remove this flag"))
        }
        _ => Ok(()),
    }
}

/// Turns a message, if there is one, into an error.
///
/// # Errors
/// The message.
pub fn refuse(words: Option<String>) -> anyhow::Result<()> {
    words.map_or(Ok(()), |words| Err(anyhow::anyhow!(words)))
}

/// Runs the command; returns true if it was interrupted.
///
/// # Errors
/// If the data, a file or an option is wrong. The message says where and what to do.
pub fn predict(args: &Predict) -> anyhow::Result<bool> {
    let data = args.data.iter().map(|path| Named::new("the data", path));
    let inputs: Vec<Named<'_>> = data.chain([Named::new("the model", &args.model)]).collect();
    clash::refuse(&inputs, &[Named::new("--output", &args.output)])?;
    one_stream(&args.data)?;
    let (mut learner, position) = store::load_for_rows(&args.model)?;
    learner.set_threads(args.threads)?;
    learner.set_place(device::open(&args.device)?);
    let task = task_of(learner.config());
    let Position { schema, mut filled, way, .. } = position.unwrap_or_default();
    let shown = Shown { kept: all_names(&args.keep), alerts_only: args.alerts_only };
    let keep = shown.kept.clone();
    let (classes, positive) = classes_of(&learner);
    let positive = positive.and_then(|class| classes.get(class));
    let layout = Layout::of(&learner, schema.as_ref(), shown)?;
    let named = schema.is_some();
    let options = Options {
        format: args.format.map(Format::from),
        encoding: args.encoding,
        header: args.header.map(Header::is_there).or(way.header),
        ignore: all_names(&args.ignore),
        features: all_names(&args.features),
        schema,
        keep,
        want_target: false,
        skip_bad_rows: args.on_bad_row == Some(BadRow::Skip),
        ..Options::default()
    };
    let mut chunks = read_ahead(Files::open(&args.data, options)?, 4)?;
    has_a_header(args.header, chunks.format())?;
    let (hashed, format) = (chunks.schema().hash_bits().is_some(), chunks.format());
    if hashed && chunks.schema().targets.is_empty() && task != Task::Novelty && format != Format::Vw && args.ignore.is_empty() {
        note(wrapped(HASHED, "  "));
    }
    let mut out = Predictions::held_back(&args.output, args.predictions_format, layout)?;
    let (mut workspace, mut left_out) = (Workspace::default(), LeftOut::new(chunks.schema(), chunks.format()));
    let mut clipped = ClippedRows::default();
    while let Some(mut chunk) = chunks.next_unless(interrupted).transpose()? {
        filled.fill(&mut chunk, chunks.schema());
        if !named {
            check_width(&learner, &args.data[chunk.file], chunks.schema(), chunk.features, true)?;
        }
        left_out.count(&chunk, learner.features());
        refuse(left_out.nothing_known(&args.data[chunk.file], chunks.schema(), learner.features(), false))?;
        let features = if learner.features() == 0 { chunk.features } else { learner.features() };
        let rows = fitted(&chunk, features);
        let scores = learner.predict_with(&mut workspace, &rows.batch(0..chunk.rows))?;
        clipped.count(&learner, &rows.batch(0..chunk.rows));
        for (row, &line) in chunk.lines.iter().enumerate() {
            chunk.bad_before(row).try_for_each(|bad| out.write_skipped(bad))?;
            let z = scores.row(row);
            let threshold = learner.threshold();
            let step = Outcome { scores: z, outside: threshold.map(|th| z[0] < th), threshold, ..Outcome::default() };
            let class = said(&learner, z).filter(|_| task == Task::Classes);
            out.write(&Seen { line, step: &step, class, classes, positive, kept: chunk.kept(row) })?;
        }
        chunk.bad_before(chunk.rows).try_for_each(|bad| out.write_skipped(bad))?;
        if left_out.is_judged() {
            out.release()?;
        }
        out.flush()?;
    }
    refuse(left_out.nothing_known(&args.data.join(", "), chunks.schema(), learner.features(), !interrupted()))?;
    out.release()?;
    out.flush()?;
    let clipped = clipped.finding(&learner, |column| chunks.schema().name(column));
    left_out.sentences().iter().chain(&clipped).chain(&device::warning(&learner)).for_each(|line| note(wrapped(line, "  ")));
    let imprecise = inspect::imprecise(&learner, |column| chunks.schema().source(column));
    imprecise.iter().for_each(|line| note(wrapped(&format!("warning: {line}"), "  ")));
    Ok(interrupted())
}
