//! The command `okl-papers`: one experiment, from its arguments to its page.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use indicatif::{ProgressBar, ProgressStyle};
use okl_cli::command::supervise;
use okl_cli::table::{note, say};
use okl_cli::{signals, store};

use crate::page::Footer;
use crate::{Context, EXPERIMENTS, Experiment, Interrupted, Size, data, find, names};

/// The command that runs an experiment.
const COMMAND: &str = "cargo run --release -p okl-papers --";

/// An experiment of the papers, as one HTML page beside what the paper reports; without a name: the list of all.
#[derive(Parser, Debug)]
#[command(name = "okl-papers", version, max_term_width = 100)]
pub struct Cli {
    /// The experiment; a list of all without it
    #[arg(value_parser = PossibleValuesParser::new(names()))]
    pub name: Option<String>,
    /// The folder of the public data sets
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Where the page goes; NAME.html when not given
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Run also what takes longer than minutes
    #[arg(long)]
    pub full: bool,
}

/// Runs what `arguments` ask for, the first of which is the name of the program. Returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = Cli::parse_from(arguments);
    supervise("okl-papers", || reproduce(&cli))
}

/// Runs one experiment, or lists all. Returns the exit status.
fn reproduce(args: &Cli) -> anyhow::Result<u8> {
    let Some(experiment) = args.name.as_deref().and_then(find) else {
        say(&list())?;
        return Ok(0);
    };
    data::check_there(experiment, args.data.as_deref())?;
    let size = if args.full { Size::Full } else { Size::Usual };
    let mut context = Context::new(args.data.clone(), size, args.seed);
    if io::stderr().is_terminal() {
        context.bar = bar();
    }
    let outcome = (experiment.run)(&context);
    context.bar.finish_and_clear();
    let page = match outcome {
        Err(error) if error.is::<Interrupted>() => {
            note(format_args!("{error}"));
            return Ok(signals::exit_code());
        }
        other => other?,
    };
    let out = args.out.clone().unwrap_or_else(|| format!("{}.html", experiment.name).into());
    store::write(&out, page.html(&footer(args, experiment)).as_bytes())?;
    say(&format!("{}\nThe page: {} (open it in a browser).\n", page.plain(), out.display()))?;
    Ok(0)
}

fn list() -> String {
    let wants = |e: &Experiment| match e.wants {
        [] => "generated data".into(),
        sets => sets.iter().map(|s| s.name).collect::<Vec<_>>().join(", "),
    };
    let line = |e: &Experiment| format!("  {:<15}{}\n{:17}reads: {}\n", e.name, e.about, "", wants(e));
    format!(
        "Experiments of the papers, each written as one HTML page:\n\n{}\n{COMMAND} NAME --data DIR\n",
        EXPERIMENTS.iter().map(line).collect::<String>()
    )
}

fn bar() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(0).with_style(style);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

/// The information that is needed to run the experiment again.
fn footer(args: &Cli, experiment: &Experiment) -> Footer {
    let data = if experiment.wants.is_empty() { "" } else { " --data DIR" };
    let full = if args.full { " --full" } else { "" };
    Footer {
        command: format!("{COMMAND} {}{data} --seed {}{full}", experiment.name, args.seed),
        facts: vec![
            ("version".into(), format!("okl {}", env!("CARGO_PKG_VERSION"))),
            ("seed".into(), args.seed.to_string()),
            ("machine".into(), machine()),
        ],
        sources: experiment.wants.iter().map(|set| format!("{}: {}", set.name, set.origin)).collect(),
    }
}

/// Processor, cores, instruction set and operating system, as far as the system tells.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map(|(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let backend = okl::gram::Backend::chosen().map_or("none", okl::gram::Backend::name);
    let processor = model.unwrap_or(std::env::consts::ARCH);
    format!("{processor}, {cores} cores, {backend}, {}", std::env::consts::OS)
}
