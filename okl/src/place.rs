//! A place outside of this processor that holds settled chunks of terms and sums over them: a graphics card, for example.
//!
//! The total of a chunk of 1,024 slots depends on that chunk alone, and totals are added in the order of the chunks. So another
//! machine can compute totals, and the scores have the same bits. Like the number of threads, a place is no part of a model.
//!
//! The learner sends whole chunks, and sends them again when they have changed. For the next rows it asks for the sums over the
//! chunks that are settled, while it learns the rows before them. It adds the terms that came since, and the chunks that change
//! often (the oldest chunk of a window), on the processor.

use crate::basis::Points;
use crate::kernel::AnyKernel;

/// The number of slots of a chunk.
pub const CHUNK: usize = crate::gram::CHUNK;

/// What a place holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The number of features of a centre.
    pub features: usize,
    /// The kernels, one per plane.
    pub kernels: Vec<AnyKernel>,
    /// For each column of coefficients, the plane of kernel values that it is summed with.
    pub planes: Vec<usize>,
}

impl Shape {
    /// Multiplications for the values and sums of one row against one term.
    pub fn work(&self) -> f64 {
        (self.features + 16 * self.kernels.len() + self.planes.len()) as f64
    }
}

/// One chunk of terms.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// The centres, feature by feature: [`CHUNK`] numbers each.
    pub centres: &'a [f32],
    /// The squared norms of the centres.
    pub squares: &'a [f32],
    /// The coefficients, column by column: [`CHUNK`] numbers each.
    pub coefficients: &'a [f64],
}

/// The rows that are summed, and over which chunks.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The rows.
    pub rows: Points<'a>,
    /// The sums run over the chunks `0..chunks`.
    pub chunks: usize,
    /// The totals of the chunks `0..folded` are added to one running total.
    pub folded: usize,
}

/// Holds chunks and sums over them.
///
/// Laws: the total of a chunk for a row and a column is that of [`Backend::weighted_sums`](crate::gram::Backend::weighted_sums)
/// over the chunk, with the kernel values of [`kernel_rows`](crate::gram::kernel_rows), to the last bit. Running totals start at
/// +0, and totals are added in the order of the chunks. An error is a sentence for the user; after an error nothing is asked again.
pub trait Place: Send {
    /// The name of the place, for messages.
    fn name(&self) -> String;
    /// The number of rows that one request has at most while the learner learns; twice as many if it has eight threads or more.
    fn rows(&self) -> usize;
    /// Whether a request with so many multiplications is faster here than on the processor.
    fn pays(&self, multiplications: f64) -> bool;
    /// The number of multiplications that the processor does in the time in which this place is opened by [`Place::begin`]; 0 if it
    /// is open. A learner opens a place when it has so much to do, or has done so much without it.
    fn opening(&self) -> f64 {
        0.0
    }
    /// Whether [`Place::begin`] can be called without waiting. The first call of a place that is not open may open it in the background; the
    /// learner goes on without it until then.
    fn is_ready(&mut self) -> bool {
        true
    }
    /// The number of requests that the learner keeps under way, 1 or 2, if each has so many multiplications. With 2 the place never waits
    /// for the next request, but the processor sums over more of the newest terms.
    fn under_way(&self, _multiplications: f64) -> usize {
        1
    }
    /// Forgets all chunks and makes ready for others. Returns the number of chunks that it can hold.
    ///
    /// # Errors
    /// If the place cannot be used for chunks of this shape.
    fn begin(&mut self, shape: &Shape) -> Result<usize, String>;
    /// Stores a chunk. Requests under way may use the chunk as it was.
    ///
    /// # Errors
    /// If the chunk cannot be stored.
    fn put(&mut self, index: usize, chunk: Chunk<'_>) -> Result<(), String>;
    /// Starts a request. At most two are under way.
    ///
    /// # Errors
    /// If the request cannot be started.
    fn start(&mut self, request: Request<'_>) -> Result<(), String>;
    /// Waits for the request that was started first and writes its totals: the running totals, row by row with all columns, then the same numbers for each
    /// of the chunks `folded..chunks`.
    ///
    /// # Errors
    /// If the totals could not be computed.
    fn finish(&mut self, totals: &mut Vec<f64>) -> Result<(), String>;
    /// The number of bytes held.
    fn bytes(&self) -> usize;
}

/// What a place has done for a learner; see [`Learner::place`](crate::Learner::place).
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceReport {
    /// The name of the place.
    pub name: String,
    /// The number of rows that were summed there, for learning and for predictions.
    pub rows: u64,
    /// The number of bytes that it holds.
    pub bytes: usize,
    /// Why learning runs on the processor, if it does: what the settings need, or an error of the place.
    pub processor: Option<String>,
}
