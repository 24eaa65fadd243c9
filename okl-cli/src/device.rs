//! The device that computes: the processor, or a graphics card. Results do not depend on it.

use okl::Learner;
use okl::place::Place;

use crate::usage::usage;

/// Lets the learner compute on a device: `cpu`, `cuda`, or `cuda:N` for card number N.
///
/// # Errors
/// If there is no such device.
pub fn set(learner: &mut Learner, device: &str) -> anyhow::Result<()> {
    let place = match device {
        "cpu" | "" => None,
        _ => Some(open(device).map_err(|reason| usage(format!("--device {device}: {reason}")))?),
    };
    learner.set_place(place);
    Ok(())
}

#[cfg(feature = "cuda")]
fn open(device: &str) -> Result<Box<dyn Place>, String> {
    okl_cuda::open(device)
}

#[cfg(not(feature = "cuda"))]
fn open(_: &str) -> Result<Box<dyn Place>, String> {
    Err("this program was built without the feature cuda; the only device is cpu".into())
}

/// What the user should know if the card did not do the work.
pub fn warning(learner: &Learner) -> Option<String> {
    let report = learner.place()?;
    report.processor.map(|reason| format!("{} did not do all of the work, the processor did: {reason}", report.name))
}
