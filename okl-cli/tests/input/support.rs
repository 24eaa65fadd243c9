//! Files to read, and readers of whole files.

use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use okl::Label;

use crate::input::{Chunk, InputError, Options, Reader, Schema};

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

/// Everything an input holds.
#[derive(Clone, Debug, PartialEq)]
pub struct All {
    pub x: Vec<Vec<f32>>,
    pub names: Vec<String>,
    pub numbers: Option<Vec<f64>>,
    pub labels: Vec<Label>,
    pub known: Vec<bool>,
    pub weights: Vec<f64>,
    pub ids: Vec<u64>,
    pub lines: Vec<u64>,
    pub skipped: u64,
    pub schema: Schema,
}

impl All {
    fn new(schema: Schema) -> All {
        let numbers = Some(Vec::new());
        All {
            x: vec![],
            names: vec![],
            numbers,
            labels: vec![],
            known: vec![],
            weights: vec![],
            ids: vec![],
            lines: vec![],
            skipped: 0,
            schema,
        }
    }

    fn add(&mut self, chunk: &Chunk) {
        assert_eq!((chunk.x.len(), chunk.known.len(), chunk.lines.len()), (chunk.rows * chunk.features, chunk.rows, chunk.rows));
        assert!(chunk.features >= self.x.last().map_or(0, Vec::len), "features never go away");
        self.x.extend(chunk.x.chunks_exact(chunk.features.max(1)).map(<[f32]>::to_vec));
        self.labels.extend(chunk.targets.labels());
        self.numbers = self.numbers.take().zip(chunk.targets.numbers()).map(|(mut all, more)| {
            all.extend_from_slice(more);
            all
        });
        self.known.extend_from_slice(&chunk.known);
        self.weights.extend(chunk.weights.clone().unwrap_or_else(|| vec![1.0; chunk.rows]));
        self.ids.extend(chunk.ids.iter().flatten());
        self.lines.extend_from_slice(&chunk.lines);
        self.skipped += chunk.skipped;
    }

    /// Rows as wide as the last one.
    fn finish(mut self, schema: &Schema) -> All {
        self.x.iter_mut().for_each(|row| row.resize(schema.len(), 0.0));
        (self.names, self.schema) = (schema.names(), schema.clone());
        self
    }
}

pub fn drain(mut reader: Reader) -> Result<All, InputError> {
    let mut all = All::new(reader.schema().clone());
    let mut followed = reader.schema().clone();
    while let Some(chunk) = reader.next()? {
        followed.advance(&chunk);
        assert_eq!(&followed, reader.schema(), "a schema follows its chunks");
        all.add(&chunk);
    }
    Ok(all.finish(reader.schema()))
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
