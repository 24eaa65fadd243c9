//! The fuzz targets of `/fuzz` that belong to the server, over their corpus and over mutations of it, the same ones every time.

use std::path::Path;

#[path = "../../../fuzz/src/server.rs"]
mod targets;

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

fn mutate(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        match random.below(5) {
            0 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 => bytes.truncate(at),
            3 => bytes.extend_from_within(at..),
            _ => bytes.insert(at, b"[]{},\"0-e\xff"[random.below(10)]),
        }
    }
    bytes
}

fn run(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let rounds = std::env::var("OKL_FUZZ_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let mut random = Random(20_261_116);
    for file in std::fs::read_dir(folder).unwrap() {
        let seed = std::fs::read(file.unwrap().path()).unwrap();
        check(&seed);
        (0..rounds).for_each(|_| check(&mutate(&seed, &mut random)));
    }
}

#[test]
fn journals() {
    run("journal", targets::journal);
}

#[test]
fn bodies() {
    run("server_body", targets::server_body);
}

#[test]
fn arrow_streams() {
    run("server_arrow", targets::server_arrow);
}
