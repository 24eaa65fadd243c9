//! Returns the rows in the order in which they are learned: pass after pass, in the order of the file or shuffled.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::bail;
use okl::Config;
use serde_json::Value;

use super::task_of;
use crate::args::{BadRow, Columns, Header, Stream, all_names};
use crate::input::{Chunk, Files, Filled, Format, Options, Places, ReadAhead, Rule, Schema, Whole, is_stream, read_ahead};
use crate::learned_rows::{Equal, Lookup, Repeats};
use crate::metrics::Task;
use crate::predict::{has_a_header, one_stream};
use crate::predictions::Consumed;
use crate::progress::Progress;
use crate::random;
use crate::run::interrupted;
use crate::store::{Position, Way};
use crate::table::note;
use crate::usage::usage;

/// How long to wait for the first rows before a message is written.
const PATIENCE: Duration = Duration::from_secs(1);
/// The message after `PATIENCE`.
pub const WAITING: &str =
    "waiting for up to 1,024 rows to see what the target is;\n  --task classes or --task numbers learns from the first row on";
/// The message after `PATIENCE` where --memory needs the number of classes.
pub const COUNTING: &str =
    "waiting for up to 1,024 rows to count the classes, for --memory;\n  --classes A,B,... learns from the first row on";
/// Chunks that are parsed ahead of the learner.
const AHEAD: usize = 4;
/// The number of rows in a chunk of a shuffled file.
const DRAWN: usize = 1024;
/// Added to the ids of rows without ids, so that they differ from the ids in the data.
const OWN_IDS: u64 = 1 << 63;

/// The rows of the data, pass after pass.
pub struct Passes {
    data: Vec<String>,
    options: Options,
    rows: Rows,
    position: Position,
    /// None before it is known.
    task: Option<Task>,
    /// The pass in which this run began.
    began: u64,
    looked: VecDeque<Chunk>,
    /// The number of rows of this pass before the last returned chunk, and in that chunk.
    before: u64,
    handed: u64,
    /// From what the next row is filled. The position has the same as of the rows that were learned.
    filled: Filled,
    /// The number of rows of the last returned chunk that the position covers.
    followed: usize,
    repeats: Repeats,
    /// Whether the data have rows that the first pass did not have; they are not learned in later passes.
    grown: bool,
}

enum Rows {
    Streamed(ReadAhead),
    Shuffled { whole: Whole, places: Places, schema: Schema, format: Format, order: Vec<u32>, next: usize },
}

impl Rows {
    /// The schema as of the chunk that was read last.
    fn schema(&self) -> &Schema {
        match self {
            Rows::Streamed(chunks) => chunks.schema(),
            Rows::Shuffled { schema, .. } => schema,
        }
    }
}

impl Passes {
    /// Opens the data; with `model`, the position of a resumed model. `task`: the task, if it is known; `keep`: columns to pass through.
    ///
    /// # Errors
    /// If the data cannot be opened, or flags contradict each other or the position of the model.
    pub fn open(
        data: &[String],
        columns: &Columns,
        stream: &Stream,
        model: Option<Position>,
        task: Option<Task>,
        keep: &[String],
    ) -> anyhow::Result<Self> {
        let ignore = all_names(&columns.ignore);
        let (position, inherited) = position(columns, stream, model, &ignore)?;
        let (way, same) = (&position.way, stream.r#continue);
        one_use(&all_names(&columns.target), way)?;
        one_stream(data)?;
        if let Some(stream) = data.iter().find(|file| is_stream(file)).filter(|_| way.passes > 1 || way.shuffle.is_some()) {
            let flag = if way.shuffle.is_some() { "--shuffle" } else { "--passes" };
            let what = if stream == "-" { "standard input".into() } else { format!("{stream} is a pipe: it") };
            return Err(usage(format!("{flag}: {what} can be read once and may never end; give a file")));
        }
        let options = Options {
            format: way.format,
            encoding: way.encoding,
            header: way.header,
            targets: all_names(&columns.target),
            ignore,
            features: all_names(&columns.features),
            id: way.id.clone(),
            weight: way.weight.clone(),
            inherited,
            keep: keep.to_vec(),
            missing: columns.missing,
            one_hot: columns.one_hot == Some(None),
            categories: columns.one_hot.iter().flatten().flat_map(|names| all_names(std::slice::from_ref(names))).collect(),
            times: all_names(&columns.time),
            logs: all_names(&columns.log),
            texts: all_names(&columns.text),
            ngrams: columns.ngrams.unwrap_or(0),
            hash_bits: columns.hash_bits,
            skip_bad_rows: way.skip_bad_rows,
            want_target: task != Some(Task::Novelty),
            learns: true,
            number_targets: task == Some(Task::Numbers) && way.skip_bad_rows,
            schema: position.schema.clone(),
            after_line: if same && way.shuffle.is_none() { position.rows } else { 0 },
            consumed: position.print.filter(|_| same && way.shuffle.is_none() && position.rows > 0),
            ..Options::default()
        };
        let chunks = read_ahead(Files::open(data, options.clone())?, AHEAD)?;
        has_a_header(columns.header, chunks.format())?;
        // Rows of earlier data are counted apart. The rows before in a shuffled file are added when it has been read.
        let goes_on = same && position.learned_before.is_none() && way.shuffle.is_none();
        let repeats = if goes_on { Repeats::after(&position.learned) } else { Repeats::default() };
        let mut passes = Passes {
            data: data.to_vec(),
            options,
            rows: Rows::Streamed(chunks),
            began: position.pass,
            filled: position.filled.clone(),
            position,
            task,
            looked: VecDeque::new(),
            before: 0,
            handed: 0,
            followed: 0,
            repeats,
            grown: false,
        };
        passes.same_in_every_pass()?;
        match passes.position.way.shuffle {
            Some(_) => passes.shuffle()?,
            None if same => passes.begin_with_new_rows()?,
            None => {}
        }
        Ok(passes)
    }

    /// Refuses to fill a row from the rows before it where these are others in each pass: a row has the same features in each.
    fn same_in_every_pass(&self) -> anyhow::Result<()> {
        let (way, missing) = (&self.position.way, self.schema().missing);
        if way.passes > 1 && way.shuffle.is_some() && matches!(missing.rule, Rule::Mean | Rule::Last) {
            return Err(usage(format!(
                "--missing {missing}: a row is filled from the rows before it, which are others in each shuffled pass; \
                 use --missing zero, one pass, or no --shuffle"
            )));
        }
        Ok(())
    }

    /// Reads everything, and draws the order of the pass. The model has all columns from its first row on, so each row is read with all of them: the
    /// score of a row that is only predicted is that of `okl predict`, and a run that is continued reads the same rows.
    fn shuffle(&mut self) -> anyhow::Result<()> {
        let Rows::Streamed(chunks) = &mut self.rows else { return Ok(()) };
        let mut whole = Whole::read(chunks.by_ref())?;
        if whole.lacks_later_columns(!chunks.schema().missing.is_refused()) {
            let options = Options { schema: Some(chunks.schema().clone()), ..self.options.clone() };
            *chunks = read_ahead(Files::open(&self.data, options)?, AHEAD)?;
            whole = whole.read_again(chunks.by_ref())?;
        }
        let (schema, format, rows) = (chunks.schema().clone(), chunks.format(), whole.rows() as u64);
        let places = chunks.places();
        if let Some(before) = self.position.shuffled.replace(rows).filter(|before| *before != rows) {
            bail!(
                "{}: has {rows} rows, but the model was trained on a file with {before} rows; --continue needs the same file",
                self.data.join(", ")
            );
        }
        if self.position.print.is_some_and(|before| Some(before) != whole.print()) {
            bail!(
                "{}: its rows differ from the rows that the model has learned; --continue needs the same file",
                self.data.join(", ")
            );
        }
        self.position.print = whole.print();
        self.before = self.position.rows;
        let next = self.position.rows as usize;
        self.rows = Rows::Shuffled { whole, places, schema, format, order: Vec::new(), next };
        self.draw();
        if let (Rows::Shuffled { whole, order, .. }, Some(task), 0) = (&self.rows, self.task, self.position.pass) {
            for (chunk, row) in order.iter().take(next).map(|row| whole.row(*row)) {
                self.repeats.add_earlier(chunk, row, task);
            }
        }
        Ok(())
    }

    /// Where all passes are complete and the data have further rows, these rows are new: they begin with a first pass of their own.
    fn begin_with_new_rows(&mut self) -> anyhow::Result<()> {
        let pass = self.position.pass;
        if pass == 0 || !self.is_last_pass() || self.position.rows != self.position.lines {
            return Ok(());
        }
        self.position.pass = 0;
        if self.look(|first| first.iter().any(|chunk| chunk.rows > 0), None)?.iter().all(|chunk| chunk.rows == 0) {
            self.position.pass = pass;
            return Ok(());
        }
        self.began = 0;
        (self.position.since, self.position.since_print) = (self.position.rows, self.position.print);
        self.position.filled_since.clone_from(&self.position.filled);
        Ok(())
    }

    /// Whether the data have rows that the first pass did not have, and that are therefore not learned yet: the last line of that pass.
    pub fn not_learned_after(&self) -> Option<u64> {
        self.grown.then_some(self.position.lines)
    }

    fn draw(&mut self) {
        if let (Rows::Shuffled { whole, order, .. }, Some(seed)) = (&mut self.rows, self.position.way.shuffle) {
            *order = random::order(whole.rows(), seed, self.position.pass);
        }
    }

    /// Reads the first rows until they are enough, the pass ends or a signal comes. [`Passes::next`] returns these rows again, even
    /// after a signal. After `PATIENCE` the message `waiting` says what is waited for.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn look(&mut self, enough: impl Fn(&VecDeque<Chunk>) -> bool, waiting: Option<&str>) -> anyhow::Result<&[Chunk]> {
        let (begun, told) = (Instant::now(), Cell::new(false));
        while !enough(&self.looked) {
            let some = self.looked.iter().any(|chunk| chunk.rows > 0);
            let stop = || {
                if some && begun.elapsed() > PATIENCE && !told.replace(true) {
                    waiting.iter().for_each(note);
                }
                interrupted()
            };
            let Some(chunk) = self.read(stop)? else { break };
            self.looked.push_back(chunk);
        }
        Ok(self.looked.make_contiguous())
    }

    /// Number of rows that [`Passes::look`] has read and `next` has not returned yet: they are learned even after a signal.
    pub fn looked_at(&self) -> u64 {
        self.looked.iter().map(|chunk| chunk.rows as u64).sum()
    }

    /// The next rows; nothing after the last pass, or when interrupted.
    ///
    /// # Errors
    /// Those of the reader.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> anyhow::Result<Option<Chunk>> {
        while !interrupted() || !self.looked.is_empty() {
            let chunk = match self.looked.pop_front() {
                Some(chunk) => Some(chunk),
                None => self.read(interrupted)?,
            };
            if let Some(chunk) = chunk {
                self.before += self.handed;
                (self.handed, self.followed) = (chunk.rows as u64, 0);
                return Ok(Some(chunk));
            }
            // `read` also returns none when interrupted.
            if self.is_last_pass() || interrupted() {
                break;
            }
            self.begin_pass()?;
        }
        Ok(None)
    }

    /// The pass, from 1.
    pub fn pass(&self) -> u64 {
        self.position.pass + 1
    }

    /// Whether the model has learned other data before these.
    pub fn had_other_data(&self) -> bool {
        self.position.ids > 0
    }

    /// The format of the data.
    pub fn format(&self) -> Format {
        match &self.rows {
            Rows::Streamed(chunks) => chunks.format(),
            Rows::Shuffled { format, .. } => *format,
        }
    }

    /// Reads the rows again that earlier runs of the model learned in the first pass, in the same order. Calls `each` with a chunk
    /// and the number of its rows that were learned. Returns false if the data cannot be read again or a signal came.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn consumed(&self, mut each: impl FnMut(&Chunk, usize)) -> anyhow::Result<bool> {
        let first = self.began == 0;
        let rows = if first { self.position.rows } else { self.position.lines };
        if let (Rows::Shuffled { whole, .. }, Some(seed)) = (&self.rows, self.position.way.shuffle) {
            let order = random::order(whole.rows(), seed, 0);
            let consumed = if first { &order[..order.len().min(rows as usize)] } else { &order[..] };
            let mut filled = self.position.filled_before.clone();
            for part in consumed.chunks(DRAWN) {
                let mut chunk = whole.gather(part);
                filled.fill_in_order(&mut chunk, self.schema());
                each(&chunk, chunk.rows);
            }
            return Ok(true);
        }
        // `-` is standard input, even where a file has this name.
        let is_file = |file: &String| !is_stream(file) && std::fs::metadata(file).is_ok_and(|found| found.is_file());
        if !self.data.iter().all(is_file) {
            return Ok(false);
        }
        let options = Options { after_line: 0, consumed: None, ..self.options.clone() };
        let mut chunks = read_ahead(Files::open(&self.data, options)?, AHEAD)?;
        let mut filled = self.position.filled_before.clone();
        while let Some(mut chunk) = chunks.next_unless(interrupted).transpose()? {
            filled.fill_in_order(&mut chunk, chunks.schema());
            let consumed = chunk.lines.partition_point(|line| *line <= rows);
            each(&chunk, consumed);
            if consumed < chunk.rows {
                return Ok(true);
            }
        }
        Ok(!interrupted())
    }

    /// The rows of the last pass that were learned before this run. Predictions are written only in the last pass. Bad rows of a
    /// shuffled file are written before its first row, so they are counted, too.
    pub fn predicted(&self) -> Consumed {
        match (&self.rows, self.position.rows) {
            _ if !self.is_last_pass() => Consumed::Line(self.position.since),
            (Rows::Shuffled { whole, .. }, rows @ 1..) => Consumed::Rows(rows + whole.bad().0.len() as u64),
            (Rows::Shuffled { .. }, 0) => Consumed::Rows(0),
            (Rows::Streamed(_), line) => Consumed::Line(line),
        }
    }

    /// Whether this is the first pass of this run.
    pub fn is_first_pass(&self) -> bool {
        self.position.pass == self.began
    }

    /// Whether this is the last pass.
    pub fn is_last_pass(&self) -> bool {
        self.position.pass + 1 >= self.position.way.passes
    }

    /// The schema as of the chunk that was read last.
    pub fn schema(&self) -> &Schema {
        self.rows.schema()
    }

    /// The file of a line number that counts through all files, and the line number in that file.
    pub fn place(&self, line: u64) -> (&str, u64) {
        let places = match &self.rows {
            Rows::Streamed(chunks) => chunks.places(),
            Rows::Shuffled { places, .. } => places.clone(),
        };
        let (file, line) = places.of(line);
        (&self.data[file], line)
    }

    /// See [`Options::inherited`].
    pub fn inherited(&self) -> &[String] {
        &self.options.inherited
    }

    /// Order and number of passes, format and columns.
    pub fn way(&self) -> &Way {
        &self.position.way
    }

    /// Moves the position forward: `learned` rows of the chunk that was returned last have been learned.
    pub fn advance(&mut self, chunk: &Chunk, learned: usize) {
        if let Some(&line) = chunk.lines[..learned].last() {
            let shuffled = matches!(self.rows, Rows::Shuffled { .. });
            self.position.rows = if shuffled { self.before + learned as u64 } else { line };
            if let Some(print) = chunk.prints.get(learned - 1) {
                self.position.print = Some(*print);
            }
            self.position.lines = chunk.lines[..learned].iter().copied().fold(self.position.lines, u64::max);
        }
        let new = self.followed.min(learned)..learned;
        if self.position.pass == 0 {
            self.position.seen.iter_mut().for_each(|seen| *seen += new.len() as u64);
        }
        if let Some(task) = self.task {
            let (Position { learned, learned_before, pass, .. }, repeats) = (&mut self.position, &mut self.repeats);
            let mut add = |chunk: &Chunk, rows: Range<usize>| {
                learned.add(chunk, rows.clone(), task);
                if *pass == 0 {
                    learned_before.count_examples(chunk, rows.clone(), task);
                    repeats.add(chunk, rows, task);
                }
            };
            match &self.rows {
                Rows::Streamed(_) => add(chunk, new.clone()),
                // Rows that were gathered in another order have no fingerprints.
                Rows::Shuffled { whole, order, .. } => {
                    let places = order.iter().skip(self.before as usize + new.start).take(new.len());
                    places.map(|row| whole.row(*row)).for_each(|(chunk, row)| add(chunk, row..row + 1));
                }
            }
        }
        let schema = self.rows.schema();
        self.position.filled.follow(chunk, new, schema);
        self.followed = learned;
    }

    /// From what cells without a value are filled after the rows that were learned.
    pub fn filled(&self) -> Filled {
        self.position.filled.clone()
    }

    /// How well the model did before this run.
    pub fn progress(&self) -> Progress {
        self.position.progress.clone()
    }

    /// The number of rows that the model had learned before this run. Of its `examples`, a row is one in every pass.
    pub fn rows_before(&self, progress: &Progress, examples: u64) -> u64 {
        // Not all rows of a detector have an error; all of its rows are learned, except those of weight 0.
        let rows = if self.task == Some(Task::Novelty) { self.position.seen } else { progress.rows() };
        rows.map_or(examples, |rows| rows.min(examples))
    }

    /// The rows of these data that are equal to rows which the model had learned before them.
    pub fn learned_before(&self) -> &Lookup {
        &self.position.learned_before
    }

    /// The rows of this run that are equal to an earlier one, in the first pass.
    pub fn repeats(&self) -> &Repeats {
        &self.repeats
    }

    /// The number of examples of all runs that are equal to rows of an earlier run.
    pub fn again(&self) -> Equal {
        self.position.again_before.and(self.position.learned_before.equal())
    }

    /// Keeps the settings of a new model, see [`Position::given`].
    pub fn began_with(&mut self, config: &Config) {
        self.position.given = serde_json::to_value(config).ok();
        self.task = Some(task_of(config));
    }

    /// The settings of the model before its first row, see [`Position::given`].
    pub fn given(&self) -> Option<&Value> {
        self.position.given.as_ref()
    }

    /// The position to store in the model file. The columns of the data are stored only after the first row; they may change before.
    pub fn position(&self) -> Position {
        let mut position = self.position.clone();
        if position.lines > 0 {
            position.schema = Some(self.schema().clone());
        }
        position
    }

    /// The next rows of this pass.
    fn read(&mut self, stop: impl Fn() -> bool) -> anyhow::Result<Option<Chunk>> {
        let chunk = match &mut self.rows {
            Rows::Streamed(chunks) => {
                let mut chunk = chunks.next_unless(stop).transpose()?;
                // A later pass ends where the first one ended, even if the data have further rows now.
                let last = if self.position.pass > 0 { self.position.lines } else { u64::MAX };
                let known = chunk.as_ref().map_or(0, |chunk| chunk.lines.partition_point(|line| *line <= last));
                if let Some(longer) = chunk.as_mut().filter(|chunk| known < chunk.rows) {
                    self.grown = true;
                    longer.keep_first(known);
                    chunk = chunk.filter(|_| known > 0);
                }
                chunk
            }
            Rows::Shuffled { whole, order, next, .. } => {
                let from = std::mem::replace(next, order.len().min(*next + DRAWN));
                let mut chunk = whole.gather(&order[from.min(*next)..*next]);
                if from == 0 {
                    (chunk.bad, chunk.first_bad) = whole.bad();
                    [chunk.unknown, chunk.said] = whole.said();
                }
                (chunk.rows > 0).then_some(chunk)
            }
        };
        Ok(chunk.map(|mut chunk| {
            let schema = self.rows.schema();
            self.filled.fill_in_order(&mut chunk, schema);
            self.with_ids(chunk)
        }))
    }

    /// Gives rows without ids an id from their line, so that later passes find their terms.
    fn with_ids(&self, mut chunk: Chunk) -> Chunk {
        if self.position.way.passes > 1 && chunk.ids.is_none() {
            chunk.ids = Some(chunk.lines.iter().map(|line| OWN_IDS | (self.position.ids + line)).collect());
        }
        chunk
    }

    fn begin_pass(&mut self) -> anyhow::Result<()> {
        let since = self.position.since;
        (self.position.pass, self.position.rows, self.before, self.handed) = (self.position.pass + 1, since, 0, 0);
        let filled = if since > 0 { &self.position.filled_since } else { &self.position.filled_before };
        self.filled.clone_from(filled);
        self.position.filled = filled.clone();
        if let Rows::Shuffled { next, .. } = &mut self.rows {
            *next = 0;
            self.draw();
            return Ok(());
        }
        self.position.print = self.position.since_print;
        let (schema, consumed) = (Some(self.schema().clone()), self.position.since_print);
        let options = Options { schema, after_line: since, consumed, ..self.options.clone() };
        self.rows = Rows::Streamed(read_ahead(Files::open(&self.data, options)?, AHEAD)?);
        Ok(())
    }
}

/// Refuses a column that is named for two purposes: as a target, the id or the weight.
fn one_use(targets: &[String], way: &Way) -> anyhow::Result<()> {
    let others = way.id.iter().map(|name| ("--id", name)).chain(way.weight.iter().map(|name| ("--weight", name)));
    let named: Vec<(&str, &String)> = targets.iter().map(|name| ("--target", name)).chain(others).collect();
    for (i, (flag, name)) in named.iter().enumerate() {
        if let Some((first, _)) = named[..i].iter().find(|(_, earlier)| earlier == name) {
            return Err(usage(if first == flag {
                format!("{flag} names the column '{name}' twice; name it once")
            } else {
                format!("{first} and {flag} both name the column '{name}'; a column has one use")
            }));
        }
    }
    Ok(())
}

/// The position to begin at: the start of new data, or the position of the model in the same data. Then the columns of ids and weights that
/// the model took from its data and the command does not name; they stay in use, unless they are among those to `ignore`.
fn position(
    columns: &Columns,
    stream: &Stream,
    model: Option<Position>,
    ignore: &[String],
) -> anyhow::Result<(Position, Vec<String>)> {
    let given = Way {
        passes: stream.passes.unwrap_or(1),
        shuffle: stream.shuffle,
        format: columns.format.map(Format::from),
        id: columns.id.clone(),
        encoding: columns.encoding,
        header: columns.header.map(Header::is_there).or(model.as_ref().and_then(|model| model.way.header)),
        weight: columns.weight.clone(),
        skip_bad_rows: columns.on_bad_row == Some(BadRow::Skip),
    };
    let Some(model) = model else { return Ok((Position { way: given, seen: Some(0), ..Position::default() }, Vec::new())) };
    let old = model.way.clone();
    let other_use = |name: &String| ignore.contains(name) || [&given.id, &given.weight].into_iter().flatten().any(|g| g == name);
    let inherit = |given: &Option<String>, old: Option<String>| old.filter(|name| given.is_none() && !other_use(name));
    let (id, weight) = (inherit(&given.id, old.id), inherit(&given.weight, old.weight));
    let inherited = id.iter().chain(&weight).cloned().collect();
    let given = Way { id: given.id.clone().or(id), weight: given.weight.clone().or(weight), ..given };
    if !stream.r#continue {
        let ids = model.ids + model.lines;
        let Position { given: began_with, schema, filled, progress, replayed, seen, learned, .. } = model;
        let (filled_before, learned_before, again_before) = (filled.clone(), Lookup::resumed(&learned), progress.again());
        let begun = Position {
            way: given,
            ids,
            given: began_with,
            schema,
            progress,
            replayed,
            seen,
            learned,
            learned_before,
            again_before,
            filled_before,
            filled,
            ..Position::default()
        };
        return Ok((begun, inherited));
    }
    if given.shuffle.is_some() && given.shuffle != old.shuffle {
        let had = old.shuffle.map_or("no --shuffle".into(), |seed| format!("--shuffle {seed}"));
        return Err(usage(format!("--shuffle: the model was trained with {had}; omit --shuffle to continue in the same order")));
    }
    let way = Way {
        passes: stream.passes.unwrap_or(old.passes),
        shuffle: old.shuffle,
        format: given.format.or(old.format),
        encoding: given.encoding.or(old.encoding),
        skip_bad_rows: columns.on_bad_row.map_or(old.skip_bad_rows, |rule| rule == BadRow::Skip),
        ..given
    };
    Ok((Position { way, ..model }, inherited))
}
