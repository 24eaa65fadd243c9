//! Usage errors (wrong command line), which exit with code 2; errors in the data exit with code 1.

use std::fmt::{self, Display, Formatter};

/// An error in the command line or in a setting.
#[derive(Debug)]
pub struct Usage(String);

impl Display for Usage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Makes a usage error.
pub fn usage(text: impl Into<String>) -> anyhow::Error {
    Usage(text.into()).into()
}
