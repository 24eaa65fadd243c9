//! `okl`: online kernel learning on streams, from the command line.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use okl_cli::args::{Cli, Command, Export, ExportTo};
use okl_cli::clash::{self, Named};
use okl_cli::table::{is_closed_pipe, note};
use okl_cli::usage::{Usage, usage};
use okl_cli::{demo, export, freeze, input, learn, predict, reproduce, signals, store, words};

fn main() -> ExitCode {
    let cli = Cli::parse();
    signals::listen();
    match execute(&cli) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("okl: {error:#}"));
            ExitCode::from(if is_usage(&error) { 2 } else { 1 })
        }
    }
}

/// One line for whoever reads a log, broken between words for whoever reads a terminal.
fn complain(error: &str) {
    if io::stderr().is_terminal() { note(words::wrapped(error, "  ")) } else { note(error) }
}

fn execute(cli: &Cli) -> anyhow::Result<ExitCode> {
    let stopped = match &cli.command {
        Command::Demo(args) => demo::demo(args)?,
        Command::Learn(args) => learn::learn(args)?,
        Command::Predict(args) => predict::predict(args)?,
        Command::Inspect(args) => words::inspect(args).map(|()| false)?,
        Command::Freeze(args) => freeze::freeze(args).map(|()| false)?,
        Command::Export(args) => export_model(args).map(|()| false)?,
        Command::Reproduce(args) => reproduce::reproduce(args)?,
        Command::Completions { shell } => print(completions(*shell)).map(|()| false)?,
        Command::Man { command } => print(manual(command.as_deref())?).map(|()| false)?,
    };
    Ok(if stopped { ExitCode::from(signals::exit_code()) } else { ExitCode::SUCCESS })
}

fn print(bytes: Vec<u8>) -> anyhow::Result<()> {
    Ok(io::stdout().write_all(&bytes)?)
}

fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "okl", &mut bytes);
    bytes
}

/// The page of okl, or of one of its commands.
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
    let (learner, _) = store::load(&args.model)?;
    let to = match args.to {
        ExportTo::Libsvm => export::To::Libsvm,
        ExportTo::Onnx => export::To::Onnx,
        ExportTo::Json => export::To::Json,
    };
    let bytes = export::export(&learner, to)?;
    match args.output.as_str() {
        "-" => Ok(io::stdout().write_all(&bytes)?),
        path => store::write(path.as_ref(), &bytes),
    }
}

/// A wrong setting is the command's fault, not the data's.
fn is_usage(error: &anyhow::Error) -> bool {
    let of_config = |e: &okl::Error| matches!(e.kind(), okl::ErrorKind::Config { .. });
    let of_input = |e: &input::InputError| e.trouble() == input::Trouble::Usage;
    error.chain().any(|e| {
        e.is::<Usage>()
            || e.downcast_ref::<okl::Error>().is_some_and(of_config)
            || e.downcast_ref::<input::InputError>().is_some_and(of_input)
    })
}
