//! The device that a learner computes on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use okl_cli::device;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::health;
use crate::shared::Shared;

/// The name of the device, and whether a warning has said that the processor does the work.
pub struct Device {
    name: Mutex<String>,
    warned: AtomicBool,
}

impl Default for Device {
    fn default() -> Self {
        Device { name: Mutex::new("cpu".into()), warned: AtomicBool::new(false) }
    }
}

impl Device {
    pub fn name(&self) -> String {
        self.name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Computes on another device from now on.
    pub fn set(&self, shared: &Shared, py: Python<'_>, name: &str) -> PyResult<()> {
        let name = if name.is_empty() { "cpu" } else { name };
        let place = device::place(name).map_err(|reason| PyValueError::new_err(format!("device: {reason}")))?;
        shared.write(py, |learner| learner.set_place(place))?;
        name.clone_into(&mut self.name.lock().unwrap_or_else(PoisonError::into_inner));
        self.warned.store(false, Ordering::Relaxed);
        self.warn_once(shared, py)
    }

    /// Warns if the processor does the work of the device.
    pub fn warn_once(&self, shared: &Shared, py: Python<'_>) -> PyResult<()> {
        let Some(text) = shared.look(py, device::warning)? else { return Ok(()) };
        if self.warned.swap(true, Ordering::Relaxed) { Ok(()) } else { health::warn_with(py, &text) }
    }
}
