//! What the tests of figures and of the report share.

/// Uniform numbers in [0, 1).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }

    pub fn signed(&mut self) -> f64 {
        (0..6).map(|_| self.next() - 0.5).sum()
    }
}

pub fn names(n: usize) -> Vec<String> {
    (0..n).map(|i| format!("class {i}")).collect()
}

/// A label that would like to be obeyed.
pub const HOSTILE: &str = "<script>alert('x')</script>\u{1b}[31m\"&|\u{202e}";
