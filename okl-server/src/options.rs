//! Limits and times of a server.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock: seconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Limits and times. Results do not depend on them.
#[derive(Clone)]
pub struct Options {
    /// The largest body of a request, in bytes.
    pub most_body: usize,
    /// The largest number of features.
    pub most_features: usize,
    /// The largest number of numbers (rows times features) in one body.
    pub most_cells: usize,
    /// The largest number of models.
    pub most_models: usize,
    /// The largest number of streams of a model.
    pub most_streams: usize,
    /// The largest number of classes of a model.
    pub most_classes: usize,
    /// The largest number of rows of a model that wait for targets, and their bytes.
    pub most_waiting: usize,
    /// The largest number of bytes of waiting rows.
    pub most_waiting_bytes: usize,
    /// The largest number of connections.
    pub most_connections: usize,
    /// The longest time for the headers of a request, and for a request.
    pub header_time: Duration,
    /// The longest time for a request.
    pub request_time: Duration,
    /// Requests per second and token; none: without limit.
    pub most_rate: Option<u32>,
    /// The longest queue of requests of a model.
    pub queue: usize,
    /// A snapshot is written after so many rows.
    pub snapshot_rows: u64,
    /// A snapshot is written when the journal has so many bytes.
    pub snapshot_bytes: u64,
    /// A snapshot is written after this time, if rows were learned.
    pub snapshot_time: Duration,
    /// The size of a segment of the journal.
    pub segment_bytes: u64,
    /// While a long body is learned, the published model is at most this old.
    pub publish_time: Duration,
    /// The largest number of rows that are stored and learned together.
    pub group_rows: usize,
    /// Where web hooks may point.
    pub hooks: crate::hooks::Allowed,
    /// The clock for waiting rows.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            most_body: 16 << 20,
            most_features: 100_000,
            most_cells: 8 << 20,
            most_models: 1000,
            most_streams: 1000,
            most_classes: 1000,
            most_waiting: 100_000,
            most_waiting_bytes: 64 << 20,
            most_connections: 1024,
            header_time: Duration::from_secs(10),
            request_time: Duration::from_secs(120),
            most_rate: None,
            queue: 1024,
            snapshot_rows: 200_000,
            snapshot_bytes: 256 << 20,
            snapshot_time: Duration::from_secs(600),
            segment_bytes: 32 << 20,
            publish_time: Duration::from_millis(100),
            group_rows: 16_384,
            hooks: crate::hooks::Allowed::default(),
            clock: Arc::new(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())),
        }
    }
}
