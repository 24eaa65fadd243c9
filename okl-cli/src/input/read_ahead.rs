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

/// For each file, the total number of lines of the files before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places(Vec<u64>);

impl Places {
    /// The file, from 0, of a line number that counts through all files, and the line number in that file.
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
    /// The schema after the last returned chunk; columns of chunks that are parsed ahead are not included.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The format of the input.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The positions of the files from which chunks have been returned.
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
                    // The input has ended, or the other thread has panicked. A panic is passed on, so that it does not look like the end.
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
