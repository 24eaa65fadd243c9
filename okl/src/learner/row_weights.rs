//! The weights of the learned rows: a weight multiplies the step of its row, so weights that are all far from 1 make all steps too short or too
//! long. Weights that add up to 1 are the usual case.

use super::health::grouped;
use super::large_targets::shown;

/// The fewest rows whose mean weight says something.
const FEWEST: u64 = 20;
/// A mean weight is far from 1 if it is larger than this, and the largest weight if it is smaller than one over this.
const FAR: f64 = 10.0;

/// The sum of the weights, the largest one and the number of the rows that were learned since the learner was made or loaded: a model file does not
/// have them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RowWeights {
    sum: f64,
    largest: f64,
    rows: u64,
}

impl RowWeights {
    /// Adds a learned row.
    pub fn add(&mut self, weight: f64) {
        self.sum += weight;
        self.largest = self.largest.max(weight);
        self.rows += 1;
    }

    /// A sentence, if all weights are small or their mean is large. Small weights of some rows are meant, as those of a common class.
    pub fn finding(&self) -> Option<String> {
        let (mean, rows) = (self.sum / self.rows as f64, grouped(self.rows));
        if self.rows < FEWEST {
            None
        } else if self.largest < 1.0 / FAR {
            let largest = shown(self.largest);
            Some(format!(
                "the weights of {rows} learned rows are at most {largest}; a weight multiplies the step of its row, so the model hardly learns: divide \
                 all weights by the largest one"
            ))
        } else {
            (mean > FAR).then(|| {
                format!(
                    "the weights of {rows} learned rows have a mean of {}; a weight multiplies the step of its row, so steps are that many times \
                     as long, which can spoil the model: compare with the weights divided by their mean",
                    shown(mean)
                )
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_far_from_one_are_said() {
        let said = |weights: &[f64], rows: usize| {
            let mut all = RowWeights::default();
            weights.iter().cycle().take(rows).for_each(|weight| all.add(*weight));
            all.finding()
        };
        assert_eq!(
            [
                said(&[1.0], 100),
                said(&[0.2, 5.0], 100),
                said(&[0.001], 19),
                said(&[0.11], 100),
                said(&[9.0], 100),
                said(&[1.0, 0.001, 0.001, 0.001], 100)
            ],
            [const { None }; 6]
        );
        assert!(
            said(&[0.001, 0.0001], 1000)
                .unwrap()
                .contains("the weights of 1,000 learned rows are at most 0.001; a weight multiplies")
        );
        assert!(
            said(&[1000.0, 500.0], 20)
                .unwrap()
                .contains("a mean of 750; a weight multiplies the step of its row, so steps are that many times as long")
        );
    }
}
