//! `okl-papers`: the experiments of the papers, from the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    okl_papers::command::run(std::env::args_os()).into()
}
