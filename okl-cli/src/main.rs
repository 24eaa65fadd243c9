//! `okl`: online kernel learning on streams, from the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    okl_cli::command::run(std::env::args_os()).into()
}
