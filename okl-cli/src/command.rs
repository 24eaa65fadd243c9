//! One run of the command line, from its arguments to its exit status: for the binary `okl` and for the Python package.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command, Export, ExportTo};
use crate::clash::{self, Named};
use crate::export::Choices;
use crate::store::Position;
use crate::table::{self, is_closed_pipe, note, wrapped};
use crate::usage::{Usage, usage};
use crate::{demo, evaluate, export, freeze, input, inspect, learn, predict, signals, store};

static ARGUMENTS: Mutex<Vec<OsString>> = Mutex::new(Vec::new());

/// The arguments after the name of the program. The Python package passes these to `run`; its process has other arguments.
pub fn arguments() -> Vec<String> {
    let typed = ARGUMENTS.lock().unwrap_or_else(PoisonError::into_inner);
    typed.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Runs the command given by `arguments`; the first argument is the name of the program. Returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let typed: Vec<OsString> = arguments.into_iter().collect();
    ARGUMENTS.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&typed);
    let status = match Cli::try_parse_from(typed) {
        Ok(mut cli) => {
            cli.command.settle();
            supervise("okl", || execute(&cli))
        }
        // clap also returns requests for help and version as errors; `print` writes these to standard output.
        Err(answer) => {
            let _ = answer.print();
            u8::try_from(answer.exit_code()).unwrap_or(2)
        }
    };
    // Rust flushes standard output only at the end of a Rust program, but the caller may be Python.
    let _ = io::stdout().flush();
    status
}

/// Runs the work of a command with signal handlers installed. Returns the exit status. An error is written to standard error,
/// after the name of the program.
pub fn supervise(program: &str, work: impl FnOnce() -> anyhow::Result<u8>) -> u8 {
    signals::listen();
    match work() {
        Ok(status) => status,
        Err(error) if is_closed_pipe(&error) => 0,
        Err(error) => {
            complain(&format!("{program}: {error:#}"));
            if is_usage(&error) { 2 } else { 1 }
        }
    }
}

/// Writes an error: on one line to a file or pipe, wrapped between words on a terminal.
fn complain(error: &str) {
    if io::stderr().is_terminal() { note(table::wrapped(error, "  ")) } else { note(error) }
}

fn execute(cli: &Cli) -> anyhow::Result<u8> {
    let stopped = match &cli.command {
        Command::Demo(args) => demo::demo(args)?,
        Command::Learn(args) => learn::learn(args)?,
        Command::Predict(args) => predict::predict(args)?,
        Command::Evaluate(args) => evaluate::evaluate(args)?,
        Command::Inspect(args) => inspect::inspect(args).map(|()| false)?,
        Command::Freeze(args) => freeze::freeze(args).map(|()| false)?,
        Command::Export(args) => export_model(args).map(|()| false)?,
        #[cfg(feature = "serve")]
        Command::Serve(args) => crate::serve::serve(args)?,
        #[cfg(feature = "serve")]
        Command::Token(args) => crate::serve::token(args).map(|()| false)?,
        Command::Completions { shell } => print(completions(*shell)).map(|()| false)?,
        Command::Man { command } => print(manual(command.as_deref())?).map(|()| false)?,
    };
    Ok(if stopped { signals::exit_code() } else { 0 })
}

fn print(bytes: Vec<u8>) -> anyhow::Result<()> {
    Ok(io::stdout().write_all(&bytes)?)
}

fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "okl", &mut bytes);
    bytes
}

/// The manual page of okl or of one of its commands.
fn manual(command: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let mut page = Cli::command();
    page.build();
    if let Some(name) = command {
        let found = page.find_subcommand(name).cloned();
        page = found.ok_or_else(|| usage(format!("man: no command '{name}'; `okl --help` lists them")))?;
    }
    let mut bytes = Vec::new();
    clap_mangen::Man::new(page).render(&mut bytes)?;
    Ok(bytes)
}

fn export_model(args: &Export) -> anyhow::Result<()> {
    clash::refuse(&[Named::new("the model", &args.model)], &[Named::new("--output", &args.output)])?;
    let (learner, position) = store::load(&args.model)?;
    let to = match args.to {
        ExportTo::Libsvm => export::To::Libsvm,
        ExportTo::Onnx => export::To::Onnx,
        ExportTo::Json => export::To::Json,
    };
    let Position { schema, filled, .. } = position.unwrap_or_default();
    let schema = schema.unwrap_or_default();
    let (features, inputs) = (schema.names(), filled.inputs(&schema));
    let unread = schema.unread();
    let (targets, inputs_of) = (&schema.targets, inputs.as_ref());
    let choices = Choices { features: &features, targets, unread: &unread, inputs: inputs_of, ..Choices::of(&learner) };
    let bytes = export::export_with(&learner, to, &choices)?;
    if let Some(inputs) = inputs.filter(|_| args.to == ExportTo::Libsvm) {
        let text = format!(
            "the model fills missing values (--missing {}), which LIBSVM cannot: fill them in first{}",
            inputs.missing,
            if inputs.missing.indicator { "; the indicators are features" } else { "" }
        );
        note(wrapped(&text, "  "));
    }
    let imprecise = inspect::imprecise(&learner, |column| schema.source(column));
    imprecise.iter().for_each(|line| note(wrapped(&format!("warning: {line}"), "  ")));
    match args.output.as_str() {
        "-" => Ok(io::stdout().write_all(&bytes)?),
        path => store::write(path.as_ref(), &bytes),
    }
}

/// Whether an error is a usage error. A wrong setting is one.
fn is_usage(error: &anyhow::Error) -> bool {
    let of_config = |e: &okl::Error| matches!(e.kind(), okl::ErrorKind::Config { .. });
    let of_input = |e: &input::InputError| e.trouble() == input::Trouble::Usage;
    error.chain().any(|e| {
        e.is::<Usage>()
            || e.downcast_ref::<okl::Error>().is_some_and(of_config)
            || e.downcast_ref::<input::InputError>().is_some_and(of_input)
    })
}
