//! Thousands of damaged text files (Parquet files are damaged where they are written), the same ones every time: errors or rows, never a panic, and the cut does not matter.

use std::io::Cursor;
use std::path::Path;

use crate::input::{Format, InputError, Options, Reader, Schema};
use crate::support::{All, gzip, read_stream, target, zstandard};

/// xorshift64*
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n.max(1)
    }
}

const TOKENS: [&str; 24] = [
    "\"",
    "\n",
    "\r\n",
    ",",
    ";",
    "|",
    ":",
    "#",
    "'",
    "{",
    "}",
    "[",
    "null",
    "NaN",
    "inf",
    "1e400",
    "-",
    ".",
    "e",
    "99999999999",
    "\u{feff}",
    "\0",
    "\t",
    "é",
];

/// How many mutations; `OKL_FUZZ_ROUNDS` asks for more.
pub fn rounds(usual: usize) -> usize {
    std::env::var("OKL_FUZZ_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

pub fn mutate(seed: &[u8], random: &mut Random) -> Vec<u8> {
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
            _ => drop(bytes.splice(at..at, TOKENS[random.below(TOKENS.len())].bytes())),
        }
    }
    bytes
}

fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs");
    let mut seeds: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    seeds.sort();
    seeds.into_iter().map(|p| (p.file_name().unwrap().to_str().unwrap().to_string(), std::fs::read(&p).unwrap())).collect()
}

fn options(random: &mut Random) -> Options {
    let formats = [None, Some(Format::Csv), Some(Format::Libsvm), Some(Format::Jsonl), Some(Format::Vw)];
    let y = |name: &str| target(name).targets;
    Options {
        format: formats[random.below(9).saturating_sub(4)],
        targets: [y("y"), y("y,a"), vec![], y("1")][random.below(6).saturating_sub(2)].clone(),
        id: (random.below(6) == 0).then(|| "id".into()),
        one_hot: random.below(2) == 0,
        sparse: random.below(4) == 0,
        skip_bad_rows: random.below(2) == 0,
        want_target: random.below(3) > 0,
        ..Options::default()
    }
}

#[test]
fn nothing_panics_and_the_cut_does_not_matter() {
    let seeds = seeds();
    assert!(seeds.len() >= 8, "the seed corpus is there");
    let mut random = Random(0x006f_6b6c);
    let mut good = 0;
    for round in 0..rounds(6000) {
        let (name, seed) = &seeds[round % seeds.len()];
        let text = mutate(seed, &mut random);
        let options = options(&mut random);
        let bytes = match random.below(8) {
            0 => mutate(&gzip(&text), &mut random),
            1 => mutate(&zstandard(&text), &mut random),
            _ => text,
        };
        let cut = Options { chunk_rows: 1 + random.below(5), ..options.clone() };
        let (one, two) = (read_stream(bytes.clone(), options).ok(), read_stream(bytes.clone(), cut.clone()).ok());
        assert_eq!(one, two, "{name} {round}");
        good += usize::from(one.is_some());
        if let Some(all) = one {
            let first = continues(&bytes, &cut, &all).unwrap_or_else(|e| panic!("{name} {round}: {e}"));
            assert!(first, "{name} {round}: reading on differs from reading at once");
        }
    }
    assert!(good > rounds(6000) / 12, "some of them can still be read: {good}");
}

/// Is what a model remembers after the first chunk enough to read on as if nothing had happened?
fn continues(bytes: &[u8], options: &Options, all: &All) -> Result<bool, InputError> {
    let mut reader = Reader::stream("-", Cursor::new(bytes.to_vec()), options.clone())?;
    let Some(first) = reader.next()? else { return Ok(false) };
    let after_line = first.lines.last().copied().unwrap_or(0);
    let schema: Schema = serde_json::from_str(&serde_json::to_string(reader.schema()).unwrap()).unwrap();
    let rest = read_stream(bytes, Options { schema: Some(schema), targets: vec![], after_line, ..options.clone() })?;
    let from = first.rows;
    let same_numbers =
        all.numbers.is_none() || rest.numbers.as_deref() == all.numbers.as_ref().map(|n| &n[from * all.schema.targets.len()..]);
    let same_labels = rest.labels == all.labels[if all.labels.is_empty() { 0 } else { from }..];
    Ok(rest.x == all.x[from..] && rest.lines == all.lines[from..] && rest.names == all.names && same_numbers && same_labels)
}
