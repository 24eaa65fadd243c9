//! The learner's settings as flags, under the names of [`okl::Config`].

use std::path::PathBuf;

use super::Names;
use clap::{Args, ValueEnum};
use okl::config::families::{Family, family, parameter};

/// Type of prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Task {
    /// A class
    Classes,
    /// One number or several
    Numbers,
    /// Novelty: whether a row is unlike the rows before it
    Novelty,
}

/// The settings of [`okl::Config`] that have no flag, and what they are.
pub const WITHOUT_FLAG: [(&str, &str); 6] = [
    (
        "target_scale",
        "the unit in which targets are learned: { fixed = { shift = [50], factor = [0.1] } } learns (target - 50) * 0.1; scores and errors are in the \
         unit of the target",
    ),
    ("heads", "which settings learn in parallel: grid, selected, varied, weighted, mixed or broad"),
    ("widths", "whether the widths of kernel = auto follow the stream: follow or fixed"),
    ("relevance", "the weight of each column in kernels of distance, a list with one number per column"),
    ("warmup_passes", "how often the rows of the warm-up are learned"),
    ("offset_step", "the step size of the intercept, as a multiple of that of f"),
];

/// The long help of `--config`.
fn config_help() -> String {
    let others: Vec<String> = WITHOUT_FLAG.iter().map(|(key, about)| format!("{key} - {about}")).collect();
    format!(
        "A TOML or JSON file of settings and columns; flags override it\n\n\
         Its keys are the names of the flags: target, ignore, features, id, weight, format, encoding, header, one_hot, time, log, text, ngrams, \
         hash_bits, missing, on_bad_row, and every setting below. Example: target = \"price\", loss = \"squared\", budget = \"merge:2000\". These \
         settings have no flag:\n{}",
        others.join("\n")
    )
}

/// Settings of the learner. Settings that are not given are chosen automatically and reported.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Task")]
pub struct Settings {
    /// A TOML or JSON file of settings and columns; flags override it
    #[arg(long, value_name = "FILE", long_help = config_help())]
    pub config: Option<PathBuf>,
    /// Type of prediction. Default: detected from the first rows
    #[arg(long, value_enum)]
    pub task: Option<Task>,
    /// One of the names of [`okl::config::families`], which has the help
    #[arg(long, help = "The loss. Default: chosen for the task. For example: hinge, max_margin, squared, density", long_help = text("loss") + "\nDefault: chosen for the task")]
    pub loss: Option<String>,
    /// The classes, separated by commas; any other class is an error. Default: the classes that occur in the data
    #[arg(long, hide_short_help = true, allow_hyphen_values = true)]
    pub classes: Vec<Names>,
    /// Weights of classes: none, balanced, or a weight per class as in spam=10,ham=1; a name with a comma in double quotes, as in '"a,b"=2'
    ///
    /// balanced: an example weighs as much as the rarest class so far has rows, divided by the rows of its own class so far;
    /// while only one class has occurred, the rarest counts as one row.
    /// The weights of a list are divided by the largest one if that is above 1; a class that is not in the list has the weight 1. They
    /// multiply the loss and the regulariser of a row. Errors and losses that are shown count every row alike.
    #[arg(long, value_name = "WEIGHTS", hide_short_help = true, allow_hyphen_values = true)]
    pub class_weight: Option<String>,
    /// One of the names of [`okl::config::families`], which has the help
    #[arg(long, help = line("threshold"), long_help = text("threshold"), hide_short_help = true, help_heading = "Learner")]
    pub threshold: Option<String>,
    /// One of the names of [`okl::config::families`], which has the help
    #[arg(long, help = line("kernel"), long_help = text("kernel"), hide_short_help = true, help_heading = "Learner")]
    pub kernel: Option<String>,
    /// One of the names of [`okl::config::families`], which has the help
    #[arg(long, help = line("step"), long_help = text("step"), hide_short_help = true, help_heading = "Learner")]
    pub step: Option<String>,
    /// One of the names of [`okl::config::families`], which has the help
    #[arg(long, help = line("budget"), long_help = text("budget") + "\nA number alone, as in --budget 2000: the default budget with this number of terms", hide_short_help = true, help_heading = "Learner")]
    pub budget: Option<String>,
    /// Memory for terms, instead of their number, as in 64MB or 1.5GiB
    ///
    /// Counted per term: 4 bytes per feature, 8 per output and function (of each head: f, the trace of smd, the average), 128 per kernel
    /// (the workspace of 32 rows), 24 for bookkeeping, and 8 to 36 for the budget. The current block of rows and the warm-up need more memory:
    /// a bounded number of bytes that does not depend on the number of terms (a megabyte or two for 20 columns) and is reported when learning begins.
    /// Classes are counted in the first 1,024 rows. Classes and columns that come later make terms larger; a warning says so if they exceed the size.
    #[arg(long, value_name = "SIZE", value_parser = okl::config::sizing::bytes, conflicts_with = "terms", help_heading = "Learner")]
    pub memory: Option<usize>,
    /// What the model is stored as: terms (rows with coefficients), weights (one per column, for the linear kernel; of products of two columns for polynomial with degree 2), or fourier:SIZE
    ///
    /// fourier:SIZE (or fourier:size=SIZE,seed=SEED): weights of SIZE random Fourier features, which stand in for a gaussian,
    /// exponential, matern32 or matern52 kernel. Its cost does not grow with the number of rows, and there is no budget.
    /// fourier:SIZE,orthogonal: the features approximate the kernel with less variance; columns cannot be added later.
    /// Default: weights for the linear kernel if neither --budget, --memory nor --id is given, else terms
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub form: Option<String>,
    /// The weight of the regulariser, or auto
    #[arg(long, allow_hyphen_values = true, hide_short_help = true, help_heading = "Learner")]
    pub lambda: Option<String>,
    /// One of the names of [`okl::config::families`], which has the help
    #[arg(long, help = line("regulariser"), long_help = text("regulariser"), hide_short_help = true, help_heading = "Learner")]
    pub regulariser: Option<String>,
    /// When f is shrunk by lambda: always (at every row) or on_update (at rows with an update)
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub shrink: Option<String>,
    /// Whether an intercept is learned: true or false
    #[arg(long, num_args = 0..=1, default_missing_value = "true", hide_short_help = true, help_heading = "Learner")]
    pub offset: Option<bool>,
    /// Take proximal (implicit) steps, which do not overshoot
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub implicit: bool,
    /// Matrix J that couples several targets: its entries row by row, separated by commas
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true, hide_short_help = true, help_heading = "Learner")]
    pub operator: Vec<f64>,
    /// One of the names of [`okl::config::families`], which has the help
    #[arg(long, help = line("average"), long_help = text("average"), hide_short_help = true, help_heading = "Learner")]
    pub average: Option<String>,
    /// One of the names of [`okl::config::families`], which has the help
    #[arg(long, help = line("scale"), long_help = text("scale"), hide_short_help = true, help_heading = "Learner")]
    pub scale: Option<String>,
    /// Number of rows of the warm-up, from which gamma (median, auto) and the scale are estimated
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub warmup: Option<usize>,
    /// The point that is subtracted from every row: first (the first row) or none
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub anchor: Option<String>,
    /// Initial value of an adaptive margin, threshold, tube or scale (theta)
    #[arg(long, allow_negative_numbers = true, hide_short_help = true, help_heading = "Learner")]
    pub theta0: Option<f64>,
    /// Allow eta lambda >= 1, where shrinking sets f to 0 or changes its sign
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub allow_overshoot: bool,
    /// Flat parameters
    #[command(flatten)]
    pub flat: Flat,
}

/// The one-line help of a setting, from the library's table of settings.
fn line(setting: &str) -> String {
    family(setting).map(Family::line).unwrap_or_default()
}

/// The long help of a setting, with one line per name.
fn text(setting: &str) -> String {
    family(setting).map(Family::text).unwrap_or_default()
}

/// The help of a parameter, from the same table.
fn about(name: &str) -> String {
    parameter(name).map(|parameter| format!("The {}", parameter.about)).unwrap_or_default()
}

macro_rules! flat {
    ($($name:ident),* $(,)?) => {
        /// Parameters whose names are unique, as flags of their own: --gamma 0.5 is --kernel ...:gamma=0.5.
        #[derive(Args, Debug, Clone, Default)]
        #[command(next_help_heading = "Parameters of loss, kernel, step and budget")]
        pub struct Flat {
            $(/// A parameter of [`okl::config::families`], which has the help
            #[arg(long, help = about(stringify!($name)), allow_hyphen_values = true, hide_short_help = true)] pub $name: Option<String>,)*
        }

        impl Flat {
            /// The parameters that were given.
            pub fn given(&self) -> Vec<(&'static str, &str)> {
                [$((stringify!($name), &self.$name)),*].into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect()
            }
        }
    };
}

flat! {
    gamma, degree, coef0, alpha, margin, nu, epsilon, sigma, sigma_rule, q, eta, tau, bound, radius, horizon, t0, mu, decay, floor, cap, preset, per, terms, steps, exponent, tolerance, error, rate, speed,
}
