//! What people type: commands, flags and their help. The names are a contract.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Online kernel learning: exact, one example at a time, in bounded memory.
#[derive(Parser, Debug)]
#[command(name = "okl", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 the data or a file is wrong, 2 the command or a setting is wrong, 130 interrupted (the model is written)."
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Learn two embedded drifting streams live; leaves a model and a report behind
    Demo(Demo),
    /// Learn a stream: every row is predicted before it is learned
    Learn(Box<Learn>),
    /// Scores for the rows of a file, one line per row
    Predict(Predict),
    /// What a model is and has seen, in words
    Inspect(Inspect),
    /// A model in another program's format
    Export(Export),
    /// Shell completions on standard output
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// The manual page on standard output
    Man,
}

/// `okl demo`.
#[derive(Args, Debug)]
pub struct Demo {
    /// Where the model and the report go
    #[arg(long, default_value = ".")]
    pub out: PathBuf,
    /// Only the summary
    #[arg(long)]
    pub quiet: bool,
}

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Task {
    /// A class
    Classes,
    /// One number or several
    Numbers,
    /// Is the row like those before it?
    Novelty,
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

/// Which columns mean what.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Columns")]
pub struct Columns {
    /// How the file is written; found from its name and first bytes when not given
    #[arg(long, value_enum)]
    pub format: Option<InputFormat>,
    /// The column to predict, or several separated by commas
    #[arg(long, value_delimiter = ',')]
    pub target: Vec<String>,
    /// Columns to leave out
    #[arg(long, value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// The columns to use; all others are left out
    #[arg(long, value_delimiter = ',')]
    pub features: Vec<String>,
    /// A column of ids: a revisit of the same row adds onto its term
    #[arg(long)]
    pub id: Option<String>,
    /// A column of example weights
    #[arg(long)]
    pub weight: Option<String>,
    /// Text columns become one 0/1 feature per value
    #[arg(long)]
    pub one_hot: bool,
    /// What to do with a row that cannot be read
    #[arg(long, value_enum, default_value = "error")]
    pub on_bad_row: BadRow,
}

/// What to do with a row that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BadRow {
    /// Stop and say which
    #[default]
    Error,
    /// Leave it out and count it
    Skip,
}

/// How results are shown.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct Show {
    /// Scores of every row, before it was learned: CSV, or JSON lines if the name ends in .jsonl; - for standard output
    #[arg(long)]
    pub predictions: Option<String>,
    /// A self-contained HTML report
    #[arg(long)]
    pub report: Option<PathBuf>,
    /// The summary as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Nothing but errors
    #[arg(long)]
    pub quiet: bool,
}

/// `okl learn`.
#[derive(Args, Debug)]
pub struct Learn {
    /// The data; - is standard input
    pub data: String,
    /// Where the model goes
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Which columns mean what
    #[command(flatten)]
    pub columns: Columns,
    /// The learner
    #[command(flatten)]
    pub settings: Settings,
    /// What is shown
    #[command(flatten)]
    pub show: Show,
    /// Go on with this model
    #[arg(long)]
    pub resume: Option<PathBuf>,
    /// With --resume: the same stream again; skip the rows the model has consumed
    #[arg(long, requires = "resume")]
    pub r#continue: bool,
    /// Write the model every so many rows, atomically
    #[arg(long)]
    pub checkpoint_every: Option<u64>,
    /// Go over the data so many times
    #[arg(long, default_value_t = 1)]
    pub passes: usize,
    /// Threads for the matrix product; no bit depends on it
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// A held-out file, scored at the end
    #[arg(long)]
    pub test: Option<String>,
}

/// The learner's settings; what is not given is chosen and said.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    /// A TOML or JSON file of settings; flags override it
    #[arg(long)]
    pub config: Option<PathBuf>,
    /// What is predicted; found from the target when not given
    #[arg(long, value_enum)]
    pub task: Option<Task>,
    /// hinge, nu_hinge, perceptron, logistic, max_margin, softmax, novelty, nu_novelty, squared, absolute, epsilon, nu_epsilon, huber, nu_huber, quantile
    #[arg(long)]
    pub loss: Option<String>,
    /// linear, polynomial, gaussian, exponential, matern32, matern52, rational_quadratic
    #[arg(long)]
    pub kernel: Option<String>,
    /// constant, inverse_sqrt, theorem1, theorem2, decay, pegasos, smd; as in decay:eta=1,tau=1000
    #[arg(long)]
    pub step: Option<String>,
    /// unlimited, window, age, olok, weight, certified, transfer, merge, forgetron; as in merge:2000
    #[arg(long)]
    pub budget: Option<String>,
    /// The regulariser
    #[arg(long)]
    pub lambda: Option<f64>,
    /// square, norm, power:POWER
    #[arg(long)]
    pub regulariser: Option<String>,
    /// Learn an offset (true or false)
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    pub offset: Option<bool>,
    /// The proximal step
    #[arg(long)]
    pub implicit: bool,
    /// J, row by row, separated by commas
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true)]
    pub operator: Vec<f64>,
    /// The classes, separated by commas; others are errors
    #[arg(long, value_delimiter = ',')]
    pub classes: Vec<String>,
    /// none, uniform, exponential:RATE
    #[arg(long)]
    pub average: Option<String>,
    /// norma, tracker
    #[arg(long)]
    pub threshold: Option<String>,
    /// none, standard
    #[arg(long)]
    pub scale: Option<String>,
    /// Rows from which gamma = auto and scale = standard are found
    #[arg(long)]
    pub warmup: Option<usize>,
    /// first, none
    #[arg(long)]
    pub anchor: Option<String>,
    /// Where theta starts
    #[arg(long, allow_negative_numbers = true)]
    pub theta0: Option<f64>,
    /// Let eta lambda reach one
    #[arg(long)]
    pub allow_overshoot: bool,
    /// Flat parameters
    #[command(flatten)]
    pub flat: Flat,
}

macro_rules! flat {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Parameters whose names are unique, as flags of their own: --gamma 0.5 is --kernel ...:gamma=0.5.
        #[derive(Args, Debug, Clone, Default)]
        #[command(next_help_heading = "Parameters of the above")]
        pub struct Flat {
            $($(#[$doc])* #[arg(long, allow_hyphen_values = true)] pub $name: Option<String>,)*
        }

        impl Flat {
            /// The ones that were given.
            pub fn given(&self) -> Vec<(&'static str, &str)> {
                [$((stringify!($name), &self.$name)),*].into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect()
            }
        }
    };
}

flat! {
    /// Width of the kernel, or auto
    gamma,
    /// polynomial
    degree,
    /// polynomial
    coef0,
    /// rational_quadratic
    alpha,
    /// hinge, novelty
    margin,
    /// The fraction outside: alerts, margin errors, residuals beyond the tube
    nu,
    /// epsilon
    epsilon,
    /// huber
    sigma,
    /// nu_huber: quantile or concomitant
    sigma_rule,
    /// quantile
    q,
    /// Step size
    eta,
    /// decay
    tau,
    /// theorem1
    bound,
    /// theorem1
    radius,
    /// theorem1
    horizon,
    /// pegasos
    t0,
    /// smd: the meta step size
    mu,
    /// smd: the decay of the trace
    decay,
    /// smd
    floor,
    /// smd
    cap,
    /// smd: svmd2005
    preset,
    /// window, transfer, merge, forgetron: how many terms
    terms,
    /// age: how many examples a term lives
    steps,
    /// olok
    exponent,
    /// weight
    tolerance,
    /// certified
    error,
    /// average = exponential
    rate,
    /// threshold = tracker
    speed,
}

/// `okl predict`.
#[derive(Args, Debug)]
pub struct Predict {
    /// The model
    pub model: PathBuf,
    /// The data; - is standard input
    pub data: String,
    /// How the file is written; found when not given
    #[arg(long, value_enum)]
    pub format: Option<InputFormat>,
    /// What to do with a row that cannot be read
    #[arg(long, value_enum, default_value = "error")]
    pub on_bad_row: BadRow,
    /// Where the scores go: CSV, or JSON lines if the name ends in .jsonl
    #[arg(short, long, default_value = "-")]
    pub output: String,
    /// Threads; no bit depends on it
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
}

/// `okl inspect`.
#[derive(Args, Debug)]
pub struct Inspect {
    /// The model
    pub model: PathBuf,
    /// As JSON
    #[arg(long)]
    pub json: bool,
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
    /// Where it goes; - is standard output
    #[arg(short, long)]
    pub output: String,
}
