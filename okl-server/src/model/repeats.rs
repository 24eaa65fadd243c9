//! Requests that are sent again: what they were answered, so that nothing is learned twice.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::state::Answer;
use crate::codec::Key;
use crate::refusal::{Answered, Refusal};

/// The number of rows of a stream whose scores are kept for repeats.
pub const KEPT_ROWS: usize = 4096;
/// The number of scores of a stream that are kept: fewer rows if each has more than 16 scores.
pub const KEPT_SCORES: usize = 16 * KEPT_ROWS;
/// The number of keys whose answers are kept.
pub const KEPT_KEYS: usize = 1000;
/// The number of rows and scores in the answers to all keys: beyond it, the oldest answers lose their scores. The last answer is whole.
pub const KEPT_NUMBERS: usize = 1 << 20;

/// A numbered stream of rows of one client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// The offset of the next row.
    pub next: u64,
    /// The entry and the scores of each of the last rows.
    kept: VecDeque<(u64, Vec<f64>)>,
    /// The offsets of those among them that are alerts.
    #[serde(default)]
    alerts: VecDeque<u64>,
    /// The class of positive scores, each from the offset on at which it became that.
    #[serde(default)]
    positive: VecDeque<(u64, Value)>,
}

impl Stream {
    /// The rows that a request repeats: how many of its rows have been learned before.
    ///
    /// # Errors
    /// If rows are missing between the stream and the request.
    pub fn repeated(&self, name: &str, offset: u64, rows: usize) -> Answered<usize> {
        if offset > self.next {
            let text =
                format!("stream '{name}': the next offset is {}, found {offset}; send the rows in between first", self.next);
            return Err(Refusal::new(409, "gap", text).with(json!({ "expected_offset": self.next })));
        }
        Ok(usize::try_from(self.next - offset).unwrap_or(usize::MAX).min(rows))
    }

    /// The answer to the first rows of a request, which were learned before.
    pub fn answer(&self, offset: u64, rows: usize) -> Answer {
        let end = offset + rows as u64;
        let alerts = self.alerts.iter().filter(|at| (offset..end).contains(at)).map(|at| (at - offset) as usize).collect();
        let until = self.positive.partition_point(|(from, _)| *from < end);
        let last = self.positive.range(..until).next_back();
        let before = until.checked_sub(2).and_then(|at| self.positive.get(at));
        let changed = last.zip(before).filter(|((from, _), _)| *from >= offset);
        let mut answer = Answer {
            entry: end.checked_sub(1).and_then(|last| self.row(last)).map_or(0, |(entry, _)| *entry),
            scores: (offset..end).map(|at| self.scores(at)).collect(),
            repeated: rows,
            alerts,
            not_learned: 0,
            positive: last.map(|(_, class)| class.clone()),
            positive_before: changed.map(|((from, _), (_, class))| ((from - offset) as usize, class.clone())),
            ..Answer::default()
        };
        answer.widen();
        answer
    }

    /// The entry and the scores of a row, if they are kept.
    fn row(&self, offset: u64) -> Option<&(u64, Vec<f64>)> {
        let back = usize::try_from(self.next.checked_sub(offset)?).ok()?;
        self.kept.len().checked_sub(back).and_then(|at| self.kept.get(at))
    }

    /// The scores of a row; none if they are not kept, or the model had no configuration at this row.
    fn scores(&self, offset: u64) -> Option<Vec<f64>> {
        self.row(offset).map(|(_, scores)| scores.clone()).filter(|scores| !scores.is_empty())
    }

    /// Adds rows that were learned with an entry.
    pub fn advance(&mut self, offset: u64, answer: &Answer) {
        self.next = offset + answer.scores.len() as u64;
        self.kept.extend(answer.scores.iter().map(|row| (answer.entry, row.clone().unwrap_or_default())));
        let width = self.kept.back().map_or(1, |(_, scores)| scores.len().max(1));
        let most = (KEPT_SCORES / width).clamp(1, KEPT_ROWS);
        self.kept.drain(..self.kept.len().saturating_sub(most));
        self.alerts.extend(answer.alerts.iter().map(|row| offset + *row as u64));
        if let Some(class) = answer.positive.as_ref().filter(|class| self.positive.back().map(|(_, last)| last) != Some(class)) {
            let (row, before) = answer.positive_before.clone().unzip();
            if let Some(before) = before.filter(|_| self.positive.is_empty()) {
                self.positive.push_back((offset, before));
            }
            self.positive.push_back((offset + row.unwrap_or(0) as u64, class.clone()));
        }
        let first = self.next - self.kept.len() as u64;
        self.alerts.retain(|at| *at >= first);
        let old = self.positive.partition_point(|(from, _)| *from <= first).saturating_sub(1);
        self.positive.drain(..old);
    }
}

/// All streams of a model.
pub type Streams = BTreeMap<String, Stream>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    name: String,
    body: u64,
    answer: Answer,
}

/// The answers to the last requests with a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Keys(VecDeque<Kept>);

impl Keys {
    /// The answer to an earlier request with this key.
    ///
    /// # Errors
    /// If the earlier request had another body.
    pub fn find(&self, key: &Key) -> Answered<Option<&Answer>> {
        match self.0.iter().rev().find(|kept| kept.name == key.name) {
            Some(kept) if kept.body != key.body => Err(Refusal::new(
                409,
                "key_reused",
                "this idempotency key was used for another body; use a new key for every body",
            )),
            found => Ok(found.map(|kept| &kept.answer)),
        }
    }

    /// Keeps an answer.
    pub fn keep(&mut self, key: Key, answer: Answer) {
        self.0.push_back(Kept { name: key.name, body: key.body, answer });
        self.0.drain(..self.0.len().saturating_sub(KEPT_KEYS));
        let mut numbers = 0;
        for (age, kept) in self.0.iter_mut().rev().enumerate() {
            numbers += kept.answer.size();
            if numbers > KEPT_NUMBERS && age > 0 {
                kept.answer.forget_scores();
            }
        }
    }
}
