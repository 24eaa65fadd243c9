//! The device that computes: the processor, or a graphics card. Results do not depend on it.

use okl::Learner;
use okl::place::Place;

use crate::usage::usage;

/// The place of `--device`.
///
/// # Errors
/// If there is no such device.
pub fn open(device: &str) -> anyhow::Result<Option<Box<dyn Place>>> {
    place(device).map_err(|reason| usage(format!("--device {device}: {reason}")))
}

/// The place of a device, for [`Learner::set_place`]: `cpu`, `cuda`, or `cuda:N` for card number N.
///
/// # Errors
/// A sentence for the user if there is no such device.
pub fn place(device: &str) -> Result<Option<Box<dyn Place>>, String> {
    match device {
        "cpu" | "" => Ok(None),
        _ => card(device).map(Some),
    }
}

#[cfg(feature = "cuda")]
fn card(device: &str) -> Result<Box<dyn Place>, String> {
    okl_cuda::open(device)
}

#[cfg(not(feature = "cuda"))]
fn card(_: &str) -> Result<Box<dyn Place>, String> {
    Err("this program was built without the feature cuda; the only device is cpu".into())
}

/// What the user should know if the card did not do the work.
pub fn warning(learner: &Learner) -> Option<String> {
    let report = learner.place()?;
    report.processor.map(|reason| format!("{} did not do all of the work, the processor did: {reason}", report.name))
}
