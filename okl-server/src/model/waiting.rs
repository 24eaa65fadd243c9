//! Rows that wait for their targets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A waiting row, in the columns of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingRow {
    /// Its numbers; NaN for a cell that is filled when the row is learned.
    #[serde(with = "null_for_nan")]
    pub x: Vec<f64>,
    /// When it expires, in seconds since 1970.
    pub until: u64,
}

/// JSON has no NaN: null stands for it.
mod null_for_nan {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(x: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(x.iter().map(|value| (!value.is_nan()).then_some(*value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let numbers = Vec::<Option<f64>>::deserialize(from)?;
        Ok(numbers.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }
}

/// All waiting rows by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    rows: BTreeMap<u64, WaitingRow>,
    /// The id of the next row.
    pub next: u64,
}

impl Waiting {
    /// The number of waiting rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row waits.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A waiting row.
    pub fn get(&self, id: u64) -> Option<&WaitingRow> {
        self.rows.get(&id)
    }

    /// The most numbers of a waiting row.
    pub fn width(&self) -> usize {
        self.rows.values().map(|row| row.x.len()).max().unwrap_or(0)
    }

    /// Adds a row under the next id.
    pub fn add(&mut self, id: u64, row: WaitingRow) {
        self.rows.insert(id, row);
        self.next = self.next.max(id + 1);
    }

    /// Removes a row.
    pub fn remove(&mut self, id: u64) -> Option<WaitingRow> {
        self.rows.remove(&id)
    }

    /// The ids of the rows that expire before `now`.
    pub fn expired(&self, now: u64) -> Vec<u64> {
        self.rows.iter().filter(|(_, row)| row.until < now).map(|(id, _)| *id).collect()
    }

    /// The bytes that the rows take, approximately.
    pub fn bytes(&self) -> usize {
        self.rows.values().map(|row| 8 * row.x.len() + 64).sum()
    }
}
