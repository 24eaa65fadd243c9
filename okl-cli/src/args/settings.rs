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
    /// auto, constant, inverse_sqrt, theorem1, theorem2, decay, linear, pegasos, smd; as in decay:eta=1,tau=1000
    #[arg(long)]
    pub step: Option<String>,
    /// unlimited, window, age, olok, weight, certified, transfer, merge, forgetron; as in merge:2000
    #[arg(long)]
    pub budget: Option<String>,
    /// As many terms as fit into so much memory, in place of their number: 64MB, 1.5GiB
    ///
    /// Counted per term: 4 bytes per feature, 8 per output and function (of each head: f, the trace of smd, the average), 128 per kernel
    /// (the workspace of 32 rows), 24, and 8 to 36 for the budget. Rows in flight and the warm-up come on top.
    #[arg(long, value_name = "SIZE", value_parser = okl::memory::bytes, conflicts_with = "terms")]
    pub memory: Option<usize>,
    /// The regulariser, or auto
    #[arg(long, allow_hyphen_values = true)]
    pub lambda: Option<String>,
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
    /// When f is shrunk by lambda: always (at every row), on_update (at rows with an update)
    #[arg(long)]
    pub shrink: Option<String>,
    /// none, uniform, exponential:RATE
    #[arg(long)]
    pub average: Option<String>,
    /// norma, tracker
    #[arg(long)]
    pub threshold: Option<String>,
    /// none, standard, auto
    #[arg(long)]
    pub scale: Option<String>,
    /// Rows from which gamma = median or auto and scale = standard are found
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
    /// Width of the kernel: a number, median, or auto
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
