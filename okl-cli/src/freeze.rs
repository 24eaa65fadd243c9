//! `okl freeze`: writes the member of a bank that has the largest weight as a plain learner.

use anyhow::Context;

use crate::args::Freeze;
use crate::clash::{self, Named};
use crate::inspect;
use crate::metrics::count;
use crate::store::{self, Position};
use crate::table::{note, wrapped};
use crate::usage::usage;

/// Writes the leading member of a bank as a plain model, and reports its settings.
///
/// # Errors
/// If the model cannot be read or has not settled yet, or the new one cannot be written or would overwrite the bank.
pub fn freeze(args: &Freeze) -> anyhow::Result<()> {
    clash::refuse(&[Named::new("the model", &args.model)], &[Named::new("--output", &args.output)])?;
    let (bank, position) = store::load(&args.model)?;
    if bank.warming_up() {
        let (warmup, had) = (count(bank.config().warmup as f64), count(bank.examples() as f64));
        return Err(usage(format!(
            "{}: kernel widths and units of the columns are final after {warmup} examples (--warmup), and the model has learned {had}: learn more \
             rows, or learn anew with a smaller --warmup",
            args.model.display()
        )));
    }
    let mut plain = bank.freeze()?;
    if let Some(position) = position {
        let progress = position.progress.saved_with(&plain);
        let progress = if bank.members().len() < 2 { progress } else { progress.of_member() };
        plain.set_position(serde_json::to_vec(&Position { progress, given: None, ..position })?);
    }
    let bytes = plain.to_bytes();
    okl::Learner::from_bytes(&bytes).context("the model is not written, because okl could not read it again")?;
    store::write(&args.output, &bytes)?;
    let said = match bank.members().len() {
        ..2 => format!("a copy. {} is a plain model already, with one setting and nothing to freeze", args.model.display()),
        _ => inspect::settled(&bank),
    };
    note(wrapped(&format!("{}: {said}", args.output.display()), "  "));
    Ok(())
}
