//! Reads the terms of a model file with `kernel = precomputed`: the numbers of objects and their kernel values.

use safetensors::tensor::Dtype;

use crate::basis::given::{Given, NO_ITEM};
use crate::error::Result;
use crate::learner::check::LARGEST_VALUE;
use crate::learner::snapshot::read::{File, demand};
use crate::parts::kernel::AnyKernel;

impl File<'_> {
    /// Numbers of 32 bits, of any size.
    pub(super) fn singles(&self, name: &str) -> Result<Vec<f32>> {
        let (chunks, _) = self.bytes(name, Dtype::F32)?.as_chunks::<4>();
        Ok(chunks.iter().map(|b| f32::from_le_bytes(*b)).collect())
    }

    /// Restores objects with given kernel values.
    pub(super) fn restore_items(&self, space: &mut Given<AnyKernel>, births: &[u64]) -> Result<()> {
        let (items, own, between) = (self.u64s("items")?, self.f64s("items.own")?, self.singles("items.between")?);
        let slots = births.len();
        let fits = items.len() == slots && own.len() == slots && between.len() == slots * slots.saturating_sub(1) / 2;
        demand(fits, "the kernel values do not fit the terms")?;
        let possible = |v: f64| v.abs() <= LARGEST_VALUE;
        demand(
            own.iter().all(|v| *v >= 0.0 && possible(*v)) && between.iter().all(|v| possible((*v).into())),
            "a kernel value is not possible",
        )?;
        let live = items.iter().zip(births).all(|(item, birth)| (*item == NO_ITEM) == (*birth == 0));
        demand(live, "the items are not those of the terms")?;
        space.restore(&items, &own, &between);
        Ok(())
    }
}
