//! What people type: commands, flags and their help. The names are a contract.

mod settings;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use settings::{Flat, Settings, Task};

use crate::input::Encoding;

/// Names separated by commas, as in a line of CSV: a name that has a comma stands in double quotes.
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

mod examples;

use examples::{DEMO, EXPORT, FREEZE, INSPECT, LEARN, OKL, PREDICT};

/// Online kernel learning: exact, one example at a time, in bounded memory.
#[derive(Parser, Debug)]
#[command(name = "okl", version, max_term_width = 100, after_help = OKL)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Learn two embedded drifting streams live; leaves a model and a report behind
    #[command(after_help = DEMO)]
    Demo(Demo),
    /// Learn a stream: every row is predicted before it is learned
    #[command(after_help = LEARN)]
    Learn(Box<Learn>),
    /// Scores for the rows of a file, one line per row
    #[command(after_help = PREDICT)]
    Predict(Predict),
    /// What a model is and has seen, in words
    #[command(after_help = INSPECT)]
    Inspect(Inspect),
    /// A plain model with the settings that a model with automatic ones has settled on
    #[command(after_help = FREEZE)]
    Freeze(Freeze),
    /// A model in another program's format
    #[command(after_help = EXPORT)]
    Export(Export),
    /// Shell completions on standard output
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// A manual page on standard output, as in `okl man learn | man -l -`
    Man {
        /// Of this command; of okl itself when not given
        command: Option<String>,
    },
}

/// `okl demo`.
#[derive(Args, Debug)]
pub struct Demo {
    /// Where the model and the report go
    #[arg(long, default_value = ".")]
    pub out: PathBuf,
    /// Show only the summary
    #[arg(long)]
    pub quiet: bool,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// Comma, semicolon, tab or bar separated, with or without a header
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

/// How predictions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// A table with a header
    Csv,
    /// JSON lines, with all scores
    Jsonl,
}

/// Which columns mean what.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Columns")]
pub struct Columns {
    /// The format of the data; found from the name and the first bytes when not given
    #[arg(long, value_enum, hide_short_help = true)]
    pub format: Option<InputFormat>,
    /// The encoding of text files; UTF-8 when not given, or UTF-16 if the file begins with its byte order mark
    #[arg(long, value_enum, hide_short_help = true)]
    pub encoding: Option<Encoding>,
    /// The column to predict, or several separated by commas
    ///
    /// A name that has a comma stands in double quotes, here and in the other lists: --ignore '"a,b",c'.
    #[arg(long, value_name = "COLUMN")]
    pub target: Vec<Names>,
    /// Columns that are neither features nor targets, separated by commas
    #[arg(long, value_name = "COLUMNS")]
    pub ignore: Vec<Names>,
    /// The only columns to use as features, separated by commas
    #[arg(long, value_name = "COLUMNS")]
    pub features: Vec<Names>,
    /// The column of ids: a row whose id and features are known adds onto the term of that row
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    pub id: Option<String>,
    /// The column of weights: a row of weight 2 counts twice, a row of weight 0 is only predicted
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    pub weight: Option<String>,
    /// Make one 0/1 feature of every value of a text column
    #[arg(long, hide_short_help = true)]
    pub one_hot: bool,
    /// What to do with a row that cannot be read
    ///
    /// A line of more than 16 MiB is an error either way: it is not text with line ends.
    #[arg(long, value_enum, hide_short_help = true)]
    pub on_bad_row: Option<BadRow>,
}

/// What to do with a row that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BadRow {
    /// Stop and say which (the default)
    #[default]
    Error,
    /// Leave it out and count it; predictions have a line without a score for it
    Skip,
}

/// How the stream is gone through.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Stream")]
pub struct Stream {
    /// How often to go over the data; once when not given
    ///
    /// Rows that have no id are known again by their line, so that a revisit adds onto the row's term.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub passes: Option<u64>,
    /// Every pass in a new random order; the file is held in memory
    ///
    /// The orders depend on SEED and the number of rows alone and are the same on every machine. Standard input is refused: it
    /// may never end.
    #[arg(long, value_name = "SEED", hide_short_help = true)]
    pub shuffle: Option<u64>,
    /// Go on with this model: the data are new
    #[arg(long, value_name = "MODEL")]
    pub resume: Option<PathBuf>,
    /// With --resume: the data are the same; go on where the model stopped
    ///
    /// Passes, seed, ids, weights and what is done with bad rows are remembered: the model becomes what it would have become
    /// without the interruption, to the last bit.
    #[arg(long, requires = "resume")]
    pub r#continue: bool,
    /// Write the model every so many rows, each time as a whole
    #[arg(long, value_name = "ROWS", requires = "output", hide_short_help = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub checkpoint_every: Option<u64>,
    /// A held-out file, scored at the end
    #[arg(long, value_name = "FILE")]
    pub test: Option<String>,
    /// The number of threads. Results do not depend on it
    #[arg(long, default_value_t = 1, hide_short_help = true)]
    pub threads: usize,
}

/// How results are shown.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct Show {
    /// Scores of every row from before it was learned, one line per row; - is standard output
    ///
    /// Every line names its line in the data; a bad row that was skipped has no score. Of several passes the last is written:
    /// its rows had been learned before. Shuffled rows come in the order drawn. With --continue the file of the earlier run goes
    /// on: rows that the saved model had not learned are cut off and written anew, so that none is missing or comes twice.
    #[arg(long, value_name = "FILE")]
    pub predictions: Option<String>,
    /// How predictions are written: JSON lines if the name ends in .jsonl, CSV otherwise, when not given
    #[arg(long, value_enum, value_name = "FORMAT", hide_short_help = true)]
    pub predictions_format: Option<OutputFormat>,
    /// A self-contained HTML report
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// The summary as JSON on standard output
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
    /// Each file has its own header, with the same columns. Lines are counted through all files, and errors name the file.
    #[arg(required = true)]
    pub data: Vec<String>,
    /// Where the model goes
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Which columns mean what
    #[command(flatten)]
    pub columns: Columns,
    /// How the stream is gone through
    #[command(flatten)]
    pub stream: Stream,
    /// What is shown
    #[command(flatten)]
    pub show: Show,
    /// The learner
    #[command(flatten)]
    pub settings: Settings,
}

/// `okl predict`.
#[derive(Args, Debug)]
pub struct Predict {
    /// The model
    pub model: PathBuf,
    /// The data: one file or several, which are read one after the other; - is standard input
    ///
    /// Each file has its own header. Lines are counted through all files, and errors name the file.
    #[arg(required = true)]
    pub data: Vec<String>,
    /// The format of the data; found from the name and the first bytes when not given
    #[arg(long, value_enum)]
    pub format: Option<InputFormat>,
    /// The encoding of text files; UTF-8 when not given, or UTF-16 if the file begins with its byte order mark
    #[arg(long, value_enum)]
    pub encoding: Option<Encoding>,
    /// Columns to leave out, separated by commas; columns that the model does not know are left out anyway, which is said
    #[arg(long, value_name = "COLUMNS")]
    pub ignore: Vec<Names>,
    /// The columns to use, separated by commas, for a model that has no names for its features
    #[arg(long, value_name = "COLUMNS")]
    pub features: Vec<Names>,
    /// What to do with a row that cannot be read
    #[arg(long, value_enum)]
    pub on_bad_row: Option<BadRow>,
    /// Where the scores go; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: String,
    /// How the scores are written: JSON lines if the name ends in .jsonl, CSV otherwise, when not given
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub predictions_format: Option<OutputFormat>,
    /// The number of threads. Results do not depend on it
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
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
    /// Where the plain model goes
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
    /// Where the exported model goes; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: String,
}
