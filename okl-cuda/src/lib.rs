//! A [`Place`] on an NVIDIA card for the settled terms of an okl learner. Scores and models have the same bits as on the processor.
//!
//! [`open`] looks for the files of the driver; the driver is started and the card opened when it first has enough to do. Nothing of it is needed to build or to run a program without a card. The kernels
//! are in `src/kernels`: `place.cu`, and what the compiler made of it, `place.ptx`, which the driver compiles for its card.
//!
//! ```no_run
//! use okl::{Config, Learner};
//! let mut learner = Learner::new(Config::default())?;
//! learner.set_place(Some(okl_cuda::open("cuda")?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod card;
mod cuda;
mod opened;
pub mod program;

pub use cuda::Cuda;
use okl::place::Place;

/// Opens the card that a device names: `cuda`, or `cuda:N` for card number N.
///
/// # Errors
/// A sentence for the user if there is no such card or no driver.
pub fn open(device: &str) -> Result<Box<dyn Place>, String> {
    Ok(Box::new(Cuda::open(number(device)?)?))
}

fn number(device: &str) -> Result<usize, String> {
    let number = match device.strip_prefix("cuda") {
        Some("") => Some(0),
        Some(rest) => rest.strip_prefix(':').and_then(|number| number.parse().ok()),
        None => None,
    };
    number.ok_or_else(|| format!("{device:?} is no device: cpu, cuda, or cuda:N for card number N"))
}
