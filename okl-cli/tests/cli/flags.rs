//! The flags of settings.

use clap::Args as _;
use okl::config::families::{FAMILIES, parameter};
use okl_cli::args::Flat;

/// Every parameter that has a short form is a flag, and every flag is in the library's table.
#[test]
fn flags_are_the_parameters_of_the_table() {
    let command = Flat::augment_args(clap::Command::new("okl"));
    let mut flags: Vec<&str> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
    let short = FAMILIES.iter().flat_map(|family| family.variants).filter(|variant| !variant.nested);
    let mut listed: Vec<&str> = short.flat_map(|variant| variant.parameters).copied().filter(|name| *name != "power").collect();
    flags.sort_unstable();
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(flags, listed);
    assert!(flags.iter().all(|flag| parameter(flag).is_some()));
}
