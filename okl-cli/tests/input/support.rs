//! Files to read, and readers of whole files.

use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

pub use crate::bodies::{All, drain};
use crate::input::{InputError, Options, Reader};

/// A file of its own that goes when it is dropped.
pub struct Temp(pub PathBuf);

impl Temp {
    pub fn new(name: &str, bytes: impl AsRef<[u8]>) -> Temp {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder =
            std::env::temp_dir().join(format!("okl-input-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), bytes).unwrap();
        Temp(folder.join(name))
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

pub fn zstandard(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}

/// All of a file with that name and content.
pub fn read(name: &str, bytes: impl AsRef<[u8]>, options: Options) -> Result<All, InputError> {
    let file = Temp::new(name, bytes);
    drain(Reader::open(file.path(), options)?)
}

/// All of a stream.
pub fn read_stream(bytes: impl Into<Vec<u8>>, options: Options) -> Result<All, InputError> {
    drain(Reader::stream("-", Cursor::new(bytes.into()), options)?)
}

/// The message without the folder.
pub fn refusal(name: &str, bytes: impl AsRef<[u8]>, options: Options) -> String {
    let text = read(name, bytes, options).expect_err("this must be refused").to_string();
    assert!(text.lines().count() <= 2 && text.len() < 600, "{text}");
    text[text.find(name).expect("the file is named")..].to_string()
}

pub fn target(name: &str) -> Options {
    Options { targets: name.split(',').map(String::from).collect(), ..Options::default() }
}
