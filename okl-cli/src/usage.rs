//! Errors that are the command's fault rather than the data's: exit code 2 instead of 1.

use std::fmt::{self, Display, Formatter};

/// A command that cannot be carried out as it was given.
#[derive(Debug)]
pub struct Usage(String);

impl Display for Usage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Such an error.
pub fn usage(text: impl Into<String>) -> anyhow::Error {
    Usage(text.into()).into()
}
