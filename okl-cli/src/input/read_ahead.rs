//! Parses the input on a separate thread, a few chunks ahead of the learner.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::error::{InputError, Trouble};
use super::{Chunk, Files, Format, Schema};

/// Chunks in order, parsed ahead; an error is the last item.
pub struct ReadAhead {
    chunks: Receiver<Result<Chunk, InputError>>,
    thread: Option<JoinHandle<()>>,
    schema: Schema,
    format: Format,
    places: Places,
}

/// The lines before each of several files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places(Vec<u64>);

impl Places {
    /// The number of the file, from 0, that a line of all files belongs to, and its line there.
    pub fn of(&self, line: u64) -> (usize, u64) {
        let file = self.0.partition_point(|start| *start < line).max(1) - 1;
        (file, line - self.0[file])
    }
}

/// Starts a thread that parses up to `depth` chunks ahead of the caller. It ends when the input does or the iterator is dropped.
///
/// # Errors
/// If the system cannot start a thread.
pub fn read_ahead(reader: impl Into<Files>, depth: usize) -> Result<ReadAhead, InputError> {
    let mut reader = reader.into();
    let file = reader.file().to_string();
    let (schema, format) = (reader.schema().clone(), reader.format());
    let (send, chunks) = sync_channel(depth.max(1));
    let work = move || {
        while let Some(chunk) = reader.next().transpose() {
            let failed = chunk.is_err();
            if send.send(chunk).is_err() || failed {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("okl-read".into()).spawn(work);
    let thread = thread.map_err(|e| InputError::new(Trouble::Io, &file, format!("cannot start a thread to read it: {e}")))?;
    Ok(ReadAhead { chunks, thread: Some(thread), schema, format, places: Places(vec![0]) })
}

/// How often `stop` is called while waiting for input.
const PATIENCE: Duration = Duration::from_millis(50);

impl ReadAhead {
    /// The schema as of the chunk that was returned last, whatever has been parsed since.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The format of the input.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Where the files begin of which chunks have been returned.
    pub fn places(&self) -> Places {
        self.places.clone()
    }

    /// The next chunk; none at the end, or when `stop` returns true, even while no input arrives.
    pub fn next_unless(&mut self, stop: impl Fn() -> bool) -> Option<Result<Chunk, InputError>> {
        let item = loop {
            match self.chunks.recv_timeout(PATIENCE) {
                Ok(item) => break item,
                Err(RecvTimeoutError::Timeout) if stop() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // The end of the input, or a panic of the other thread, which must not look like the end.
                    self.thread.take()?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    return None;
                }
            }
        };
        if let Ok(chunk) = &item {
            self.schema.advance(chunk);
            self.places.0.resize(self.places.0.len().max(chunk.file + 1), chunk.before);
        }
        Some(item)
    }
}

impl Iterator for ReadAhead {
    type Item = Result<Chunk, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_unless(|| false)
    }
}
