//! The fuzz targets of `/fuzz`, on any machine: over their corpus, and over some thousands of mutations of it.
//!
//! What a fuzzer finds is put into `fuzz/corpus/TARGET/` and stays found.

#[path = "../../../fuzz/src/engine.rs"]
#[allow(missing_docs)]
mod bodies;
use crate::support::cases::Random;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Some bytes changed, inserted, removed, doubled or brought over from another seed.
fn mutate(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        let len = random.below(9).min(bytes.len() - at);
        match random.below(7) {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << random.below(8)),
            1 => bytes.iter_mut().skip(at).take(len).for_each(|b| *b = random.bits() as u8),
            2 => bytes.iter_mut().skip(at).take(len).for_each(|b| *b = [0, 0xff, 0x7f, b'9'][at % 4]),
            3 => drop(bytes.drain(at..at + len)),
            4 => bytes.insert(at, random.bits() as u8),
            5 => {
                let part = bytes[at..at + len].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                let to = (from + random.below(40)).min(other.len());
                let end = (at + to - from).min(bytes.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
    bytes
}

fn exercise(target: &str, body: fn(&[u8]), mutations: usize) {
    let seeds = corpus(target);
    seeds.iter().for_each(|seed| body(seed));
    let mut random = Random(7);
    for i in 0..mutations {
        let bytes = mutate(&seeds, &mut random);
        if std::panic::catch_unwind(|| body(&bytes)).is_err() {
            let path = std::env::temp_dir().join(format!("okl-fuzz-{target}-{i}"));
            std::fs::write(&path, &bytes).unwrap();
            panic!("mutation {i} of {target} is left in {}", path.display());
        }
    }
}

#[test]
fn snapshots() {
    exercise("snapshot", bodies::snapshot, 30_000);
}

#[test]
fn configurations() {
    exercise("config", bodies::config, 30_000);
}

#[test]
fn batches() {
    exercise("batch", bodies::batch, 10_000);
}
