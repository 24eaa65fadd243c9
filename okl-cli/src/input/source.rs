//! Sources of bytes: a file, standard input, memory. Decompresses gzip and zstd (detected by the first bytes), decodes to UTF-8.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::encoding::{Encoding, decoded};

const PIECE: usize = 64 << 10;
const PIECES: usize = 16;

/// Whether this can be read only once: standard input (`-`), a pipe (`<(command)`, mkfifo) or a device.
pub fn is_stream(path: &str) -> bool {
    path == "-" || std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// A stream of plain bytes.
pub(super) struct Source {
    plain: Box<dyn Read + Send>,
    /// For a stream whose writer may be slow: the number of pieces that have arrived and have not been read yet.
    waiting: Option<Arc<AtomicUsize>>,
}

impl Source {
    /// A file, a pipe, or standard input for `-`.
    pub fn open(path: &str, encoding: Option<Encoding>) -> io::Result<Source> {
        match path {
            "-" => Source::live(io::stdin(), encoding),
            path if is_stream(path) => Source::live(File::open(path)?, encoding),
            path => Source::new(File::open(path)?, encoding),
        }
    }

    /// Any reader, decompressed and decoded.
    pub fn new(bytes: impl Read + Send + 'static, encoding: Option<Encoding>) -> io::Result<Source> {
        Ok(Source { plain: decoded(plain(Box::new(bytes))?, encoding)?, waiting: None })
    }

    /// A stream whose writer may be slow: a thread reads it, so that [`Source::would_wait`] can tell whether more has arrived.
    pub fn live(bytes: impl Read + Send + 'static, encoding: Option<Encoding>) -> io::Result<Source> {
        let waiting = Arc::new(AtomicUsize::new(0));
        let (send, receive) = sync_channel(PIECES);
        let count = Arc::clone(&waiting);
        thread::Builder::new().name("okl-stdin".into()).spawn(move || pump(bytes, &send, &count))?;
        let pipe = Pipe { receive, waiting: Arc::clone(&waiting), piece: Cursor::default() };
        Ok(Source { plain: decoded(plain(Box::new(pipe))?, encoding)?, waiting: Some(waiting) })
    }

    pub fn would_wait(&self) -> bool {
        self.waiting.as_ref().is_some_and(|w| w.load(Ordering::Acquire) == 0)
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.plain.read(into)
    }
}

/// Decompresses bytes that begin with the signature of gzip or zstd.
fn plain(mut bytes: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = Vec::new();
    bytes.by_ref().take(4).read_to_end(&mut magic)?;
    let whole = Cursor::new(magic.clone()).chain(bytes);
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::stream::read::Decoder::new(whole)?),
        _ => Box::new(whole),
    })
}

type Piece = io::Result<Vec<u8>>;

/// Sends pieces until the end, which is an empty piece.
fn pump(mut bytes: impl Read, send: &SyncSender<Piece>, waiting: &AtomicUsize) {
    loop {
        let mut piece = vec![0; PIECE];
        let piece = match bytes.read(&mut piece) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            got => got.map(|n| {
                piece.truncate(n);
                piece
            }),
        };
        let last = piece.as_ref().map_or(true, Vec::is_empty);
        waiting.fetch_add(1, Ordering::Release);
        if send.send(piece).is_err() || last {
            return;
        }
    }
}

struct Pipe {
    receive: Receiver<Piece>,
    waiting: Arc<AtomicUsize>,
    piece: Cursor<Vec<u8>>,
}

impl Read for Pipe {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.piece.read(into)?;
        if got > 0 || into.is_empty() {
            return Ok(got);
        }
        let Ok(piece) = self.receive.recv() else { return Ok(0) };
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        self.piece = Cursor::new(piece?);
        self.piece.read(into)
    }
}
