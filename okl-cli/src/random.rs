//! Random numbers that are the same on every machine.

/// SplitMix64 (Steele, Lea, Flood 2014): the state grows by the golden ratio, and a number is a mixture of its bits.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers depend only on the seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below `n`, each as likely as any other (Lemire 2019).
    pub fn below(&mut self, n: u64) -> u64 {
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            // Rejects the lowest 2^64 mod n products, so that every number is equally likely.
            if product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }
}

/// The order of the rows in one pass over a shuffled file, for `--shuffle SEED`: Fisher and Yates from the last row down,
/// with the numbers of a generator that is seeded by number `pass` (from 0) of a generator that is seeded by SEED.
pub fn order(rows: usize, seed: u64, pass: u64) -> Vec<u32> {
    let mut seeds = Random::new(seed);
    let mut random = (0..=pass).fold(Random::new(0), |_, _| Random::new(seeds.bits()));
    let mut order: Vec<u32> = (0..rows as u32).collect();
    for last in (1..rows).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}
