//! The place on a card.

use okl::place::{Chunk, Place, Request, Shape};

use crate::card::{Found, check_library, has_device_files};
use crate::opened::Opened;

/// Requests with fewer multiplications are faster on the processor: sending the rows and starting the kernels takes as long as
/// some milliseconds of one core.
const WORTHWHILE: f64 = (1u64 << 28) as f64;

/// Opening a card takes 0.2 s, in which one core does about so many multiplications.
const OPENING: f64 = (1u64 << 33) as f64;

/// A place on an NVIDIA card. The driver is started and the card opened when it is first used: that takes some tenths of a second, in
/// which the processor learns small models.
#[derive(Debug)]
pub struct Cuda {
    /// None while the driver has not been started.
    found: Option<Found>,
    opened: Option<Opened>,
    rows: usize,
    worthwhile: f64,
}

impl Cuda {
    /// The card with this number. If the files of a driver and of a card exist and the first card is meant, the driver is not started yet.
    ///
    /// # Errors
    /// A sentence for the user if there is no such card or no driver.
    pub fn open(number: usize) -> Result<Cuda, String> {
        if number > 0 || !has_device_files() {
            return Self::find(number);
        }
        check_library()?;
        Ok(Cuda { found: None, opened: None, rows: 256, worthwhile: WORTHWHILE })
    }

    /// Starts the driver and finds a card by its number.
    ///
    /// # Errors
    /// As [`Cuda::open`].
    pub fn find(number: usize) -> Result<Cuda, String> {
        Ok(Cuda { found: Some(Found::number(number)?), opened: None, rows: 256, worthwhile: WORTHWHILE })
    }

    /// For tests: requests of at most `rows` rows while the learner learns, however small they are.
    #[must_use]
    pub fn always(self, rows: usize) -> Self {
        Cuda { rows, worthwhile: 0.0, ..self }
    }

    /// Requests of at most `rows` rows while the learner learns.
    #[must_use]
    pub fn with_rows(self, rows: usize) -> Self {
        Cuda { rows, ..self }
    }

    fn opened(&mut self) -> Result<&mut Opened, String> {
        self.opened.as_mut().ok_or_else(|| "the card holds no terms yet".to_owned())
    }
}

impl Place for Cuda {
    fn name(&self) -> String {
        self.found.as_ref().map_or_else(|| "the first NVIDIA card".into(), |found| found.name.clone())
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn pays(&self, multiplications: f64) -> bool {
        multiplications > 0.0 && multiplications >= self.worthwhile
    }

    fn opening(&self) -> f64 {
        if self.opened.is_none() && self.worthwhile > 0.0 { OPENING } else { 0.0 }
    }

    fn begin(&mut self, shape: &Shape) -> Result<usize, String> {
        if self.opened.is_none() {
            let found = match self.found.take() {
                Some(found) => found,
                None => Found::number(0)?,
            };
            self.opened = Some(Opened::new(self.found.insert(found))?);
        }
        self.opened()?.begin(shape)
    }

    fn put(&mut self, index: usize, chunk: Chunk<'_>) -> Result<(), String> {
        self.opened()?.put(index, chunk)
    }

    fn start(&mut self, request: Request<'_>) -> Result<(), String> {
        self.opened()?.start(request)
    }

    fn finish(&mut self, totals: &mut Vec<f64>) -> Result<(), String> {
        self.opened()?.finish(totals)
    }

    fn bytes(&self) -> usize {
        self.opened.as_ref().map_or(0, Opened::bytes)
    }
}
