//! The learner's settings as flags, under the names of [`okl::Config`].

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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

/// The learner's settings; what is not given is chosen and said.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Task")]
pub struct Settings {
    /// A TOML or JSON file of settings and columns; flags override it
    ///
    /// It has the names of the flags: target, ignore, features, id, weight, format, encoding, one_hot, on_bad_row, and every
    /// setting below. Example: target = "price", loss = "squared", budget = "merge:2000".
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What is predicted; found from the first rows when not given
    #[arg(long, value_enum)]
    pub task: Option<Task>,
    /// The loss; chosen for the task when not given. For example: hinge, max_margin, squared, nu_novelty
    ///
    /// Two classes: hinge, nu_hinge, perceptron, logistic. Any number of classes: max_margin, softmax. Numbers: squared,
    /// absolute, epsilon, nu_epsilon, huber, nu_huber, quantile. Novelty, without a target: novelty, nu_novelty.
    #[arg(long)]
    pub loss: Option<String>,
    /// The classes, separated by commas; any other class is an error. Found from the data when not given
    #[arg(long, value_delimiter = ',', hide_short_help = true)]
    pub classes: Vec<String>,
    /// How the alert threshold of a novelty loss is found: norma (theta itself) or tracker (holds the alert rate)
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub threshold: Option<String>,
    /// The kernel: linear, polynomial, gaussian, exponential, matern32, matern52 or rational_quadratic
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub kernel: Option<String>,
    /// The step size: auto, constant, inverse_sqrt, theorem1, theorem2, decay, linear, pegasos, normalised or smd, as in decay:eta=1,tau=1000
    ///
    /// With auto, which is the default, several step sizes learn side by side and the ones that err least count most.
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub step: Option<String>,
    /// How many terms are kept and what happens to the others, as in merge:2000; a number alone is the default with so many terms
    ///
    /// With a number of terms: window drops the oldest, merge merges two, transfer projects one onto another, forgetron drops the
    /// oldest after a shrink. Others: unlimited keeps all, age:STEPS, olok:EXPONENT, weight:TOLERANCE, certified:ERROR.
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub budget: Option<String>,
    /// As many terms as fit into so much memory, in place of their number: 64MB, 1.5GiB
    ///
    /// Counted per term: 4 bytes per feature, 8 per output and function (of each head: f, the trace of smd, the average), 128 per kernel
    /// (the workspace of 32 rows), 24, and 8 to 36 for the budget. Rows in work and the warm-up come on top:
    /// a bounded number of bytes that does not depend on the number of terms (a megabyte or two for 20 columns) and is stated when learning begins.
    #[arg(long, value_name = "SIZE", value_parser = okl::config::sizing::bytes, conflicts_with = "terms", help_heading = "Learner")]
    pub memory: Option<usize>,
    /// The weight of the regulariser, or auto
    #[arg(long, allow_hyphen_values = true, hide_short_help = true, help_heading = "Learner")]
    pub lambda: Option<String>,
    /// What lambda multiplies: square (|f|²/2), norm (|f|) or power:POWER
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
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
    /// The matrix J that couples several targets, row by row, separated by commas
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true, hide_short_help = true, help_heading = "Learner")]
    pub operator: Vec<f64>,
    /// Predict with an average of the hypotheses: none, uniform or exponential:RATE
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub average: Option<String>,
    /// The units of the columns: none (as they are), standard (their deviation) or auto
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub scale: Option<String>,
    /// The number of first rows from which gamma (median, auto) and the scale are found
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub warmup: Option<usize>,
    /// The point that is subtracted from every row: first (the first row) or none
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub anchor: Option<String>,
    /// The first value of a margin, tube or scale that adapts (theta)
    #[arg(long, allow_negative_numbers = true, hide_short_help = true, help_heading = "Learner")]
    pub theta0: Option<f64>,
    /// Allow eta lambda >= 1, where a step would turn f around
    #[arg(long, hide_short_help = true, help_heading = "Learner")]
    pub allow_overshoot: bool,
    /// Flat parameters
    #[command(flatten)]
    pub flat: Flat,
}

macro_rules! flat {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Parameters whose names are unique, as flags of their own: --gamma 0.5 is --kernel ...:gamma=0.5.
        #[derive(Args, Debug, Clone, Default)]
        #[command(next_help_heading = "Parameters of loss, kernel, step and budget")]
        pub struct Flat {
            $($(#[$doc])* #[arg(long, allow_hyphen_values = true, hide_short_help = true)] pub $name: Option<String>,)*
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
    /// The width of the kernel: a number, median or auto; exp(-gamma r²) for the Gaussian kernel
    gamma,
    /// The degree of the polynomial kernel
    degree,
    /// The constant of the polynomial kernel (gamma <x, y> + coef0)^degree
    coef0,
    /// The exponent of the rational quadratic kernel
    alpha,
    /// The margin of the hinge and novelty losses
    margin,
    /// The fraction of rows outside: alerts, margin errors, or residuals beyond the tube
    nu,
    /// The half width of the tube of the epsilon loss, within which residuals cost nothing
    epsilon,
    /// The residual from which the Huber loss is linear
    sigma,
    /// How nu_huber adapts sigma: quantile or concomitant
    sigma_rule,
    /// The quantile that the quantile loss predicts, between 0 and 1
    q,
    /// The step size of constant, inverse_sqrt, decay, linear and smd
    eta,
    /// The number of rows after which a decaying step is half as large
    tau,
    /// The bound on the loss's slope that theorem1 assumes
    bound,
    /// The norm of f that theorem1 compares with
    radius,
    /// The number of rows that theorem1 and linear steps are planned for
    horizon,
    /// The row from which pegasos steps begin to fall
    t0,
    /// The meta step size of smd, with which it adapts its step
    mu,
    /// The decay of smd's trace, between 0 and 1
    decay,
    /// The smallest step of smd
    floor,
    /// The largest step of smd
    cap,
    /// A named set of smd's parameters: svmd2005
    preset,
    /// The number of terms of a window, transfer, merge or forgetron budget
    terms,
    /// The number of rows that a term lives under an age budget
    steps,
    /// The exponent of the olok budget, between 0 and 1/2
    exponent,
    /// The norm below which a weight budget drops a term
    tolerance,
    /// The truncation error that a certified budget never exceeds
    error,
    /// The rate at which an exponential average forgets
    rate,
    /// The speed at which the tracker of the threshold moves
    speed,
}
