//! The median of the last numbers of a stream: a prediction that is a constant and follows no single number.

use std::collections::VecDeque;

use okl::means::WINDOW;

/// The last [`WINDOW`] numbers, in the order in which they came and by size.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentMedian {
    latest: VecDeque<f64>,
    sorted: Vec<f64>,
}

impl RecentMedian {
    /// Adds one number and drops the oldest one if there are too many.
    pub fn add(&mut self, number: f64) {
        if self.latest.len() == WINDOW
            && let Some(oldest) = self.latest.pop_front()
        {
            self.sorted.remove(self.place(oldest));
        }
        self.latest.push_back(number);
        self.sorted.insert(self.place(number), number);
    }

    /// The median; 0 before the first number.
    pub fn value(&self) -> f64 {
        match self.sorted.len() {
            0 => 0.0,
            count => 0.5 * (self.sorted[(count - 1) / 2] + self.sorted[count / 2]),
        }
    }

    /// The place of the first number that is not smaller.
    fn place(&self, number: f64) -> usize {
        self.sorted.partition_point(|other| other.total_cmp(&number).is_lt())
    }
}
