//! Reads the step sizes of a head whose coordinates have their own.

use crate::engine::head::Head;
use crate::error::Result;
use crate::learner::snapshot::head_tensor;
use crate::learner::snapshot::read::{File, demand};
use crate::parts::step::AnyStep;

impl File<'_> {
    /// Restores the step sizes of the weights and of the offsets, if there are any.
    pub(super) fn restore_steps(&self, head: &mut Head<AnyStep>, number: usize, slots: usize) -> Result<()> {
        if head.f.steps().is_none() {
            return Ok(());
        }
        let [steps, of_offsets] = ["steps", "offset_steps"].map(|what| self.f64s(&head_tensor(number, what)));
        let (steps, of_offsets) = (steps?, of_offsets?);
        let fit = steps.len() == head.f.outputs() * slots && of_offsets.len() == head.offset.len();
        demand(fit && steps.iter().chain(&of_offsets).all(|eta| *eta >= 0.0), "the step sizes are not possible")?;
        head.f.restore_steps(slots, &steps);
        head.offset_etas = of_offsets;
        Ok(())
    }
}
