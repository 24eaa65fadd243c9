//! The fuzz targets of `/fuzz` that read files, on any machine: over their corpus, and over thousands of mutations of it, the
//! same ones every time.
//!
//! What a fuzzer finds is put into `fuzz/corpus/TARGET/` and stays found.

use std::io::Cursor;
use std::path::Path;

use crate::bodies;
use crate::input::{Options, Reader};
use crate::support::{gzip, target, zstandard};

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n.max(1)
    }
}

const TOKENS: &str = "\" \n \r\n , ; | : # ' { } [ null NaN inf 1e400 - . e 99999999999 \u{feff} \0 \t é";

/// How many mutations; `OKL_FUZZ_ROUNDS` asks for more.
fn rounds(usual: usize) -> usize {
    std::env::var("OKL_FUZZ_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Some bytes changed, removed, repeated or put in.
fn mutate(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let tokens: Vec<&str> = TOKENS.split(' ').collect();
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 => bytes.truncate(at),
            3 => drop(bytes.splice(at..(at + random.below(20)).min(bytes.len()), [])),
            4 => {
                let piece = bytes[at..(at + random.below(40)).min(bytes.len())].to_vec();
                let to = random.below(bytes.len() + 1);
                drop(bytes.splice(to..to, piece));
            }
            _ => drop(bytes.splice(at..at, tokens[random.below(tokens.len())].bytes())),
        }
    }
    bytes
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "the seed corpus of {target} is there");
    files.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn exercise(target: &str, body: fn(&[u8]), mutations: usize) {
    let (seeds, mut random) = (corpus(target), Random(0x006f_6b6c));
    seeds.iter().for_each(|seed| body(seed));
    for i in 0..rounds(mutations) {
        let bytes = mutate(&seeds[i % seeds.len()], &mut random);
        if std::panic::catch_unwind(|| body(&bytes)).is_err() {
            let path = std::env::temp_dir().join(format!("okl-fuzz-{target}-{i}"));
            std::fs::write(&path, &bytes).unwrap();
            panic!("mutation {i} of {target} is left in {}", path.display());
        }
    }
}

#[test]
fn csv() {
    exercise("csv", bodies::csv, 6000);
}

#[test]
fn libsvm() {
    exercise("libsvm", bodies::libsvm, 6000);
}

#[test]
fn jsonl() {
    exercise("jsonl", bodies::jsonl, 6000);
}

#[test]
fn vw() {
    exercise("vw", bodies::vw, 6000);
}

#[test]
#[cfg(feature = "parquet")]
fn parquet() {
    exercise("parquet", bodies::parquet, 3000);
}

#[test]
fn numbers() {
    exercise("number", bodies::number, 10_000);
}

#[test]
fn names() {
    exercise("names", bodies::names, 10_000);
}

#[test]
fn position() {
    exercise("position", bodies::position, 6000);
}

#[test]
fn compressed_files() {
    let (seeds, mut random) = (corpus("csv"), Random(99));
    for i in 0..rounds(2000) {
        let seed = &seeds[i % seeds.len()][2..];
        let bytes = mutate(&if i % 2 == 0 { gzip(seed) } else { zstandard(seed) }, &mut random);
        let options = Options { skip_bad_rows: i % 3 == 0, one_hot: true, ..target("y") };
        bodies::check(&options, |options| Reader::of("file", Cursor::new(bytes.clone()), options));
    }
}
