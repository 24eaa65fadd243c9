//! The command-line arguments: commands, flags and their help. Names of flags must not change between versions.

mod settings;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use settings::{Flat, Settings, Task, WITHOUT_FLAG};

use crate::input::{Encoding, MOST_WORDS, Missing};

/// Names separated by commas, as in a line of CSV. A name that contains a comma is in double quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl std::str::FromStr for Names {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Names(crate::input::names(text)))
    }
}

impl FromIterator<String> for Names {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        Names(names.into_iter().collect())
    }
}

/// The names of a flag that may be given several times.
pub fn all_names(given: &[Names]) -> Vec<String> {
    given.iter().flat_map(|names| names.0.iter().cloned()).collect()
}

/// The largest number of threads.
const MOST_THREADS: usize = 1024;

/// A number of threads; 0 stands for the number of cores.
fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        Ok(number) if number <= MOST_THREADS => Ok(number),
        _ => Err(format!("expected a whole number up to {MOST_THREADS}, or 0 for one per core")),
    }
}

mod examples;

use examples::{DEMO, EVALUATE, EXPORT, FREEZE, INSPECT, LEARN, OKL, PREDICT};
#[cfg(feature = "serve")]
use examples::{SERVE, TOKEN};
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "serve")]
pub use serve::{NewToken, Serve, Token, TokenCommand};

/// Online kernel learning: one example at a time, in bounded memory, with results that do not depend on the batch size
#[derive(Parser, Debug)]
#[command(name = "okl", version, max_term_width = 100, after_help = OKL)]
pub struct Cli {
    /// The command
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Learn two built-in drifting streams; write a model and a report
    #[command(after_help = DEMO)]
    Demo(Demo),
    /// Learn from a stream; every row is predicted before it is learned
    #[command(after_help = LEARN)]
    Learn(Box<Learn>),
    /// Compute scores for the rows of a file, one line per row
    #[command(after_help = PREDICT)]
    Predict(Predict),
    /// Measure a model on rows with targets: error and other figures, over all rows and by group
    #[command(after_help = EVALUATE)]
    Evaluate(Evaluate),
    /// Describe a model: settings, data seen, how well it did when it learned, certificates
    #[command(after_help = INSPECT)]
    Inspect(Inspect),
    /// Turn a model with automatic settings into a plain one with the settings that currently have the largest weight
    #[command(after_help = FREEZE)]
    Freeze(Freeze),
    /// Convert a model to LIBSVM, ONNX or JSON
    #[command(after_help = EXPORT)]
    Export(Export),
    /// Serve models over HTTP: they learn, predict and survive a crash to the last bit
    #[cfg(feature = "serve")]
    #[command(after_help = SERVE)]
    Serve(Serve),
    /// Make tokens for `okl serve`
    #[cfg(feature = "serve")]
    #[command(after_help = TOKEN)]
    Token(Token),
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page, as in `okl man learn | man -l -`
    Man {
        /// Command to print the page for; okl itself when not given
        command: Option<String>,
    },
}

impl Command {
    /// `okl learn --one-hot data.csv`: the only name is that of the data, and all columns of text are one-hot encoded.
    pub fn settle(&mut self) {
        if let Command::Learn(learn) = self
            && learn.data.is_empty()
            && let Some(names) = learn.columns.one_hot.as_mut().and_then(Option::take)
        {
            learn.data = vec![names.0.join(",")];
        }
    }
}

/// `okl demo`.
#[derive(Args, Debug)]
pub struct Demo {
    /// Folder for the model and the report
    #[arg(long, default_value = ".")]
    pub out: PathBuf,
    /// Show only the summary
    #[arg(long)]
    pub quiet: bool,
}

/// Input formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// Comma, semicolon, tab or bar separated, with or without a header; a first line 0,1,2,... above numbers that are not whole is one
    Csv,
    /// LIBSVM / SVMlight: label index:value ...
    Libsvm,
    /// JSON lines
    Jsonl,
    /// Vowpal Wabbit text with numeric features
    Vw,
    /// Parquet
    Parquet,
}

/// Whether the first line of a table is its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Header {
    /// It has the names of the columns
    Yes,
    /// It is a row; columns have numbers from 1
    No,
}

impl Header {
    /// As the reader takes it.
    pub fn is_there(self) -> bool {
        self == Header::Yes
    }
}

/// Output formats of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// A table with a header
    Csv,
    /// JSON lines, with all scores
    Jsonl,
}

/// The columns of the data.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Columns")]
pub struct Columns {
    /// Format of the data. Default: detected from the file name and the first bytes
    #[arg(long, value_enum, hide_short_help = true)]
    pub format: Option<InputFormat>,
    /// Encoding of text files. Default: UTF-16 if the file begins with its byte order mark, otherwise UTF-8
    #[arg(long, value_enum, hide_short_help = true)]
    pub encoding: Option<Encoding>,
    /// Whether line 1 of a table of delimited text is its header. Default: detected
    ///
    /// Line 1 is a header if it has a text above a number, or texts alone, or a cell that a flag such as --target names, as 1967 in a line of years. A
    /// number from 1 to the number of columns names a column, not a cell of line 1. predict and evaluate follow the model.
    #[arg(long, value_enum, value_name = "YES|NO", hide_short_help = true)]
    pub header: Option<Header>,
    /// The column to predict, or several separated by commas
    ///
    /// Put a name that contains a comma in double quotes, here and in the other lists: --ignore '"a,b",c'. As class labels, 1, +1, 1.0 and,
    /// in JSON, "1" are one class; 007 and 1e3 are classes of their own.
    #[arg(long, value_name = "COLUMN")]
    pub target: Vec<Names>,
    /// Columns that are neither features nor targets, separated by commas
    #[arg(long, value_name = "COLUMNS")]
    pub ignore: Vec<Names>,
    /// The only columns to use as features, separated by commas
    #[arg(long, value_name = "COLUMNS")]
    pub features: Vec<Names>,
    /// Column of ids. A row with the id and the features of a stored row updates that row's term instead of adding a new one
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    pub id: Option<String>,
    /// Column of weights: a row of weight 2 counts twice in all figures and has twice the gradient (which is not the same as learning the row twice), a row of weight 0 is only predicted
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    pub weight: Option<String>,
    /// One-hot encode these columns, separated by commas: one 0/1 feature per value, at most 10,000. Without names: all columns of text
    #[arg(long, value_name = "COLUMNS", hide_short_help = true, num_args = 0..=1)]
    pub one_hot: Option<Option<Names>>,
    /// Columns of times, separated by commas: ISO 8601, or seconds or milliseconds since 1970
    ///
    /// A time becomes five features: days since the time of the first row, and the time of the day and of the week (from Monday on) as sine and cosine.
    /// A text without an offset is universal time; with one, the time of the day and of the week are those of the clock that the text shows.
    #[arg(long, value_name = "COLUMNS", hide_short_help = true)]
    pub time: Vec<Names>,
    /// Columns of numbers x, separated by commas, that become the logarithm of 1 + |x| with the sign of x: for columns with a few very large values
    #[arg(long, value_name = "COLUMNS", hide_short_help = true)]
    pub log: Vec<Names>,
    /// Columns of texts, separated by commas: one feature per word, which counts it; rows stay sparse, so columns are not centred
    #[arg(long, value_name = "COLUMNS", hide_short_help = true)]
    pub text: Vec<Names>,
    /// With --text: sequences of up to N neighbouring words are features, too. Default: 1, words alone
    #[arg(long, value_name = "N", hide_short_help = true, requires = "text", value_parser = clap::value_parser!(u8).range(1..=i64::from(MOST_WORDS)))]
    pub ngrams: Option<u8>,
    /// Hash the names of features to 2^BITS columns (1 to 28) instead of keeping them: VW text, JSON keys, words and values of one-hot columns
    ///
    /// The column is the last BITS bits of XXH3 of the namespace, a byte 0 and the name (Python: okl.hash_feature). Features that share a column add up;
    /// the summary says how many do. --one-hot must name its columns here; without names it is refused. Names are not kept, so inspect and exports cannot name features. Where columns are scaled, as they are by default,
    /// every column takes 56 bytes of memory, and nearly as much of the model file, used or not (59 MB and 51 MB for 20 bits), and BITS is at most 24. While
    /// the default budget compares the model with one of half of the terms, that model has as much again; --budget TERMS makes no such comparison.
    #[arg(long, value_name = "BITS", hide_short_help = true, value_parser = clap::value_parser!(u8).range(1..=28))]
    pub hash_bits: Option<u8>,
    /// What an empty cell, NA, NaN, null or an absent JSON key becomes: refuse (an error), mean, zero or last. Default: refuse
    ///
    /// mean is the mean of the column over the rows learned before, last is its last value; before the first value both are 0. mean+indicator, zero+indicator and
    /// last+indicator add a feature `COLUMN is missing`, which is 1 where the value is missing, to each column from its first missing value on. A
    /// missing text of a one-hot encoded column is none of its values. The rule and the values are stored in the model: predict and
    /// evaluate fill from the rows that the model has learned.
    #[arg(long, value_name = "RULE", hide_short_help = true)]
    pub missing: Option<Missing>,
    /// What to do with a row that cannot be read
    ///
    /// A line of more than 16 MiB is always an error, because such a file is probably not text.
    #[arg(long, value_enum, hide_short_help = true)]
    pub on_bad_row: Option<BadRow>,
}

/// What to do with a row that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BadRow {
    /// Stop with an error that names the line (the default)
    #[default]
    Error,
    /// Skip and count the row; where scores are written, its line has none
    Skip,
}

/// Which model is saved after the last row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SaveModel {
    /// The model after the last row
    Recent,
    /// A new model that learns a sample of all rows once more, in a random order
    All,
    /// `recent` for standard input. For a file, the new model must be clearly better than the final model on a sample of all rows, and pass one of
    /// three tests; then `all` is saved, otherwise `recent`. Test 1: new rows are predicted no worse in a random order than in the order of the file.
    /// Test 2: the new model has at most half of the error of always predicting the most frequent class or the mean. Test 3: within the file, models of
    /// this kind that stopped learning predicted later rows no worse than final models that stopped
    #[default]
    Auto,
}

/// Order and number of passes.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Stream")]
pub struct Stream {
    /// Number of passes over the data. Default: 1
    ///
    /// A row without an id is identified by its line number, so a later pass updates the row's term instead of adding a new one.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub passes: Option<u64>,
    /// Shuffle the rows before every pass; the file is held in memory
    ///
    /// The orders depend only on SEED and the number of rows and are the same on every machine. Standard input cannot be
    /// shuffled, because it may never end.
    #[arg(long, value_name = "SEED", hide_short_help = true)]
    pub shuffle: Option<u64>,
    /// Continue learning with this model on new data
    ///
    /// Columns of weights and ids are those of the model, if the file has them and --weight, --id and --ignore do not say otherwise; a note says which.
    #[arg(long, value_name = "MODEL")]
    pub resume: Option<PathBuf>,
    /// With --resume: continue with the same data at the row where the model stopped
    ///
    /// Passes, seed, ids, weights and the handling of bad rows are taken from the model. The result is bit-identical to a run
    /// without the interruption, if both save the final model (--save-model recent): a continued run does not have the earlier rows
    /// in memory and cannot learn them once more. Rows that were appended to the data are new; after several passes over the
    /// earlier rows they have passes of their own.
    #[arg(long, requires = "resume")]
    pub r#continue: bool,
    /// Save the model after every ROWS rows; each save is atomic
    #[arg(long, value_name = "ROWS", requires = "output", hide_short_help = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: Option<u64>,
    /// Held-out file, scored at the end
    ///
    /// The figures are those of the model that --save-model chooses, also without -o: that model can have learned the rows, or a sample of them, once
    /// more in a random order. To measure the model after the last row, add --save-model recent.
    #[arg(long, value_name = "FILE")]
    pub test: Option<String>,
    /// Number of threads; 0: one per core. Results do not depend on it
    #[arg(long, default_value = "1", value_parser = threads, hide_short_help = true)]
    pub threads: usize,
    /// Where to compute: cpu, cuda (an NVIDIA card), or cuda:N for card number N. Results do not depend on it
    ///
    /// The card sums over stored examples that no longer change; it pays from some tens of thousands of them on.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_short_help = true)]
    pub device: String,
}

/// Output of results.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct Show {
    /// File for the score of every row, computed before the row was learned, one line per row; - is standard output
    ///
    /// If two classes share one score (a loss for two classes, such as hinge), it belongs to the class in the column `positive`: the one that
    /// sorts last, or the second of --classes. Rows before the second class appears have the first class there. With a loss for any number
    /// of classes, `score` is that of the predicted class, and every class of --classes has its own column; JSON lines have all scores.
    /// While only one class is known, it is predicted whatever the score is. A row that begins a class is predicted from the classes before;
    /// its own has the score 0 there.
    ///
    /// Only one process can write the file at a time.
    ///
    /// Every output line has the line number of its row in the data. A skipped row has no score. With several passes, only the
    /// last is written: these scores are in-sample. Shuffled rows are written in their shuffled order, after the skipped rows. With --continue the file
    /// of the earlier run is extended: rows that the saved model had not learned are removed and written again, so no row is
    /// missing or written twice.
    #[arg(long, value_name = "FILE")]
    pub predictions: Option<String>,
    /// Format of the predictions. Default: JSON lines if the file name ends in .jsonl, otherwise CSV
    #[arg(long, value_enum, value_name = "FORMAT", hide_short_help = true)]
    pub predictions_format: Option<OutputFormat>,
    /// Columns whose texts are copied into the predictions, after the line number, separated by commas; of VW text: tag
    ///
    /// A kept column is used as before: as a feature, unless --ignore or another flag names it. Where the predictions have a column of that name,
    /// the copy is called kept_NAME.
    #[arg(long, value_name = "COLUMNS", hide_short_help = true, requires = "predictions")]
    pub keep: Vec<Names>,
    /// Write only the rows that raise an alert into the predictions (--task novelty)
    #[arg(long, hide_short_help = true, requires = "predictions")]
    pub alerts_only: bool,
    /// File for a self-contained HTML report
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long, hide_short_help = true)]
    pub json: bool,
    /// Show nothing but errors
    #[arg(long)]
    pub quiet: bool,
}

/// `okl learn`.
#[derive(Args, Debug)]
pub struct Learn {
    /// The data: one file or several, which are read one after the other; - is standard input
    ///
    /// Each file has its own header, with the same columns. Predictions count lines through all files; an error names the file and the line
    /// in that file.
    #[arg(required_unless_present = "one_hot")]
    pub data: Vec<String>,
    /// File for the model
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Which model is saved after the last row. Default: auto
    ///
    /// The sample of `all` has up to 65,536 rows and 96 MiB; files up to that size are learned completely once more. The summary says which
    /// model was saved, how many rows were learned once more and how long that took. Rows of --resume and rows with ids (--id) are not
    /// learned once more: with them, auto is recent. With --test, this model is chosen without -o, too, and the figures of the held-out file are those of
    /// this model; nothing is saved then. Without -o and --test no model is chosen, and this flag is refused.
    #[arg(long, value_enum, value_name = "WHICH", hide_short_help = true)]
    pub save_model: Option<SaveModel>,
    /// The columns
    #[command(flatten)]
    pub columns: Columns,
    /// Order and number of passes
    #[command(flatten)]
    pub stream: Stream,
    /// Output of results
    #[command(flatten)]
    pub show: Show,
    /// Settings of the learner
    #[command(flatten)]
    pub settings: Settings,
}

impl Learn {
    /// Whether `--save-model` chooses a model after the last row: one is written (`-o`), or measured on a held-out file (`--test`).
    pub fn chooses_model(&self) -> bool {
        self.output.is_some() || self.stream.test.is_some()
    }
}

/// `okl predict`.
#[derive(Args, Debug)]
pub struct Predict {
    /// The model
    pub model: PathBuf,
    /// The data: one file or several, which are read one after the other; - is standard input
    ///
    /// Each file has its own header. Scores count lines through all files; an error names the file and the line in that file.
    #[arg(required = true)]
    pub data: Vec<String>,
    /// Format of the data. Default: detected from the file name and the first bytes
    #[arg(long, value_enum)]
    pub format: Option<InputFormat>,
    /// Encoding of text files. Default: UTF-16 if the file begins with its byte order mark, otherwise UTF-8
    #[arg(long, value_enum)]
    pub encoding: Option<Encoding>,
    /// Whether line 1 of a table of delimited text is its header. Default: detected, as when the model learned
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub header: Option<Header>,
    /// Columns to ignore, separated by commas. Columns that the model was not trained with are always ignored and reported
    #[arg(long, value_name = "COLUMNS")]
    pub ignore: Vec<Names>,
    /// Columns to use, separated by commas, for a model that has no names for its features
    #[arg(long, value_name = "COLUMNS")]
    pub features: Vec<Names>,
    /// What to do with a row that cannot be read
    #[arg(long, value_enum)]
    pub on_bad_row: Option<BadRow>,
    /// Columns whose texts are copied into the scores, after the line number, separated by commas; of VW text: tag
    ///
    /// Where the scores have a column of that name, the copy is called kept_NAME.
    #[arg(long, value_name = "COLUMNS")]
    pub keep: Vec<Names>,
    /// Write only the rows that raise an alert (models of --task novelty)
    #[arg(long)]
    pub alerts_only: bool,
    /// File for the scores; - is standard output
    ///
    /// If two classes share one score (a loss for two classes, such as hinge), it belongs to the class in the column `positive`: the one that
    /// sorts last, or the second of --classes. With a loss for any number of classes every class has its own column.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: String,
    /// Format of the scores. Default: JSON lines if the file name ends in .jsonl, otherwise CSV
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub predictions_format: Option<OutputFormat>,
    /// Number of threads; 0: one per core. Results do not depend on it
    #[arg(long, default_value = "1", value_parser = threads)]
    pub threads: usize,
    /// Where to compute: cpu, cuda (an NVIDIA card), or cuda:N for card number N. Results do not depend on it
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
}

/// `okl evaluate`.
#[derive(Args, Debug)]
pub struct Evaluate {
    /// The model
    pub model: PathBuf,
    /// The data, with targets: one file or several, which are read one after the other; - is standard input
    #[arg(required = true)]
    pub data: Vec<String>,
    /// Also show the figures of each group of rows that have the same text in this column (at most 200 groups)
    #[arg(long, value_name = "COLUMN")]
    pub by: Option<String>,
    /// The target, for a model that has no names for its columns. Default: the target that the model has learned
    #[arg(long, value_name = "COLUMN")]
    pub target: Vec<Names>,
    /// Column of weights. Default: the one with which the model has learned, if there is one
    #[arg(long, value_name = "COLUMN")]
    pub weight: Option<String>,
    /// Format of the data. Default: detected from the file name and the first bytes
    #[arg(long, value_enum)]
    pub format: Option<InputFormat>,
    /// Encoding of text files. Default: UTF-16 if the file begins with its byte order mark, otherwise UTF-8
    #[arg(long, value_enum)]
    pub encoding: Option<Encoding>,
    /// Whether line 1 of a table of delimited text is its header. Default: detected, as when the model learned
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub header: Option<Header>,
    /// Columns to ignore, separated by commas. Columns that the model was not trained with are always ignored and reported
    #[arg(long, value_name = "COLUMNS")]
    pub ignore: Vec<Names>,
    /// What to do with a row that cannot be read
    #[arg(long, value_enum)]
    pub on_bad_row: Option<BadRow>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Number of threads; 0: one per core. Results do not depend on it
    #[arg(long, default_value = "1", value_parser = threads)]
    pub threads: usize,
    /// Where to compute: cpu, cuda (an NVIDIA card), or cuda:N for card number N. Results do not depend on it
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
}

/// `okl inspect`.
#[derive(Args, Debug)]
pub struct Inspect {
    /// The model
    pub model: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `okl freeze`.
#[derive(Args, Debug)]
pub struct Freeze {
    /// The model
    pub model: PathBuf,
    /// File for the plain model
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// A format to export to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportTo {
    /// LIBSVM model text
    Libsvm,
    /// ONNX, plain operators in double precision
    Onnx,
    /// JSON
    Json,
}

/// `okl export`.
#[derive(Args, Debug)]
pub struct Export {
    /// The model
    pub model: PathBuf,
    /// The format
    #[arg(long, value_enum)]
    pub to: ExportTo,
    /// File for the exported model; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: String,
}
