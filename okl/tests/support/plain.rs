//! Settings for tests of one head: what they leave out is given here, where it would otherwise be left to a bank.

use okl::{Config, Result};

pub fn plain(toml: &str) -> Result<Config> {
    let given = |key: &str| toml.lines().any(|line| line.split('=').next().is_some_and(|name| name.trim() == key));
    let missing =
        [("step", "'inverse_sqrt:0.5'"), ("lambda", "1e-3"), ("scale", "'none'")].into_iter().filter(|(key, _)| !given(key));
    let lines: String = missing.map(|(key, value)| format!("{key} = {value}\n")).collect();
    Config::from_toml(&(lines + toml))
}
