//! The flags of settings.

use clap::{Args as _, CommandFactory as _, Parser as _};
use okl::config::families::{FAMILIES, PARAMETERS, parameter};
use okl_cli::args::{Cli, Command, Flat, WITHOUT_FLAG};

use crate::support::{Folder, fail, json, okl, ring};

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

/// The error of an unknown name lists the names that the help lists, and says where others can be used.
#[test]
fn unknown_names_are_answered_with_the_names_of_the_help() {
    let folder = Folder::new("flags-names");
    let data = folder.write("t.csv", "x,y\n1,2\n2,3\n");
    let mut cli = Cli::command();
    let help = cli.find_subcommand_mut("learn").unwrap().render_long_help().to_string();
    for key in ["kernel", "loss", "step", "budget", "average", "threshold", "scale", "regulariser"] {
        let output = okl(&["learn", &data, "--target", "y", &format!("--{key}"), "?"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let (_, listed) = said.split_once("choose one of ").unwrap_or_else(|| panic!("{key}: {said}"));
        let listed = listed.trim().split(';').next().unwrap();
        let (_, about) = help.split_once(&format!("--{key} <")).unwrap();
        let about = about.split("\n\n").next().unwrap();
        let name = |line: &str| Some(line.trim().split_once(" - ")?.0.split([':', ' ']).next()?.to_owned());
        let shown: Vec<String> = about.lines().filter_map(name).collect();
        assert_eq!(listed.split(", ").collect::<Vec<_>>(), shown, "{key}: {said}\n{about}");
    }
    fail(&["learn", &data, "--target", "y", "--kernel", "?"], 2, &["; in tables of settings and in programs also scaled, sum"]);
}

/// Every setting has a flag, or the help of --config names it and says what it is.
#[test]
fn the_help_of_config_names_every_setting_without_a_flag() {
    let said = serde_json::from_value::<okl::Config>(serde_json::json!({ "?": 1 })).unwrap_err().to_string();
    let keys: Vec<&str> = said.split("expected one of").nth(1).unwrap().split('`').skip(1).step_by(2).collect();
    assert!(keys.len() > 20 && keys.contains(&"lambda"), "{said}");
    let mut cli = Cli::command();
    let learn = cli.find_subcommand_mut("learn").unwrap();
    let flags: Vec<String> = learn.get_arguments().filter_map(|arg| Some(arg.get_long()?.replace('-', "_"))).collect();
    let help = learn.render_long_help().to_string();
    let (_, config) = help.split_once("--config <").unwrap();
    let config = config.split("      --").next().unwrap();
    let mut without: Vec<&str> = keys.into_iter().filter(|key| !flags.iter().any(|flag| flag == key)).collect();
    for key in &without {
        assert!(config.contains(&format!("{key} - ")), "{key}: {config}");
    }
    let mut named: Vec<&str> = WITHOUT_FLAG.iter().map(|(key, _)| *key).collect();
    without.sort_unstable();
    named.sort_unstable();
    assert_eq!(named, without);
}

/// Lines of the help fit a terminal of 80 columns: words are broken by clap, so no word is longer than the rest of a line.
#[test]
fn no_word_of_the_help_is_too_long_for_a_terminal() {
    let mut cli = Cli::command();
    for command in cli.get_subcommands_mut() {
        let help = command.clone().term_width(80).max_term_width(80).render_long_help().to_string();
        let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{}: {long:?}", command.get_name());
    }
}

/// The help of a parameter is "The " and its description, so the description begins with a noun.
#[test]
fn the_help_of_every_parameter_is_a_sentence() {
    let not_nouns = ["how", "what", "when", "where", "which", "whether", "the", "a", "an", "if"];
    for parameter in &PARAMETERS {
        let first = parameter.about.split(' ').next().unwrap();
        assert!(!not_nouns.contains(&first.to_lowercase().as_str()), "{}: The {}", parameter.name, parameter.about);
    }
}

/// Only `okl learn` saves a model when it is stopped, and every other command says nothing else.
#[test]
fn the_help_of_exit_codes_is_true_for_every_command() {
    let mut cli = Cli::command();
    for command in cli.get_subcommands_mut().filter(|command| command.get_after_help().is_some()) {
        let help = command.render_long_help().to_string().replace('\n', " ");
        assert!(help.contains("(`okl learn` saves its model first)"), "{help}");
        assert!(!help.contains("after the block was finished"), "{help}");
    }
}

/// 0 threads stand for one per core.
#[test]
fn threads() {
    let parsed =
        |number: &str| match Cli::try_parse_from(["okl", "predict", "m", "d", "--threads", number]).map(|cli| cli.command) {
            Ok(Command::Predict(predict)) => Ok(predict.threads),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        };
    assert_eq!(parsed("0"), Ok(std::thread::available_parallelism().unwrap().get()));
    assert_eq!(parsed("3"), Ok(3));
    for bad in ["1025", "x", "1.5"] {
        let said = parsed(bad).unwrap_err();
        assert!(said.contains("--threads") && said.contains("up to 1024, or 0 for one per core"), "{said}");
    }
    let mut cli = Cli::command();
    for name in ["learn", "predict"] {
        let help = cli.find_subcommand_mut(name).unwrap().render_long_help().to_string();
        assert!(help.contains("Number of threads; 0: one per core"), "{help}");
    }
}

/// A number is read in any usual spelling, as a flag and inside a short form.
#[test]
fn numbers_without_a_leading_zero() {
    let folder = Folder::new("flags-numbers");
    let data = folder.write("s.csv", ring(20));
    let config =
        |flags: &[&str]| json(&[&["learn", &data, "--target", "where", "--loss", "hinge"], flags].concat())["config"].clone();
    let plain = config(&["--step", "constant:0.5", "--lambda", "0.25", "--gamma", "5"]);
    assert_eq!(plain["step"]["constant"]["eta"], 0.5);
    for step in [["--step", "constant:.5"], ["--step", "constant:eta=+0.5"], ["--step", "constant:5e-1"]] {
        assert_eq!(config(&[&step[..], &["--lambda", ".25", "--gamma", "5."]].concat()), plain, "{step:?}");
    }
    assert_eq!(config(&["--step", "constant", "--eta", ".5", "--lambda", "+.25", "--gamma", "+5"]), plain);
    // Neither words nor other signs are numbers.
    for eta in ["inf", "nan", ".", "e", "0x1", "1_000"] {
        fail(&["learn", &data, "--target", "where", "--step", "constant", "--eta", eta], 2, &["eta must be a number", eta]);
    }
}
