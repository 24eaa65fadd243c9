//! Long calls: rows are checked, read and learned in blocks, and a call may be stopped between two of them.

use std::ops::Range;

use crate::support::cases::{self, Answers, Case};
use okl::batch::RowSource;
use okl::{Batch, Label, Learner, Targets};
use proptest::prelude::*;

/// The rows of a learner's call are asked about after so many.
const BLOCK: usize = 256;

/// The rows of a case as columns of doubles: nothing is where the engine wants it.
#[derive(Debug)]
struct Columns {
    rows: usize,
    columns: Vec<Vec<f64>>,
}

impl Columns {
    fn of(x: &[f64], features: usize) -> Self {
        let column = |c| x.iter().skip(c).step_by(features).copied().collect();
        Columns { rows: x.len() / features, columns: (0..features).map(column).collect() }
    }
}

impl RowSource for Columns {
    fn rows(&self) -> usize {
        self.rows
    }
    fn features(&self) -> usize {
        self.columns.len()
    }
    fn read(&self, rows: Range<usize>, to: &mut Vec<f64>) {
        to.extend(rows.flat_map(|i| self.columns.iter().map(move |c| c[i])));
    }
}

/// The same batch with its rows read from elsewhere.
fn read_from<'a>(case: &'a Case, source: &'a Columns) -> Batch<'a> {
    let stream = &case.stream;
    let mut batch = Batch::read_from(source).targets(match &stream.answers {
        Answers::None => Targets::None,
        Answers::Numbers(_, y) => Targets::Numbers(y),
        Answers::Labels(labels) => Targets::Labels(labels),
    });
    if let Some(known) = &stream.known {
        batch = batch.known(known);
    }
    if let Some(weights) = &stream.weights {
        batch = batch.weights(weights);
    }
    if let Some(ids) = &stream.ids {
        batch = batch.ids(ids);
    }
    batch
}

/// Learns as long as there is a next block among the first `blocks`; the state left behind, and how many rows that took. A call
/// that is refused (drawn values may be beyond single precision) changes nothing.
fn stopped(case: &Case, batch: &Batch<'_>, blocks: usize) -> Result<(Vec<u8>, usize), String> {
    let (mut learner, mut asked, mut seen) = (Learner::new(case.config.clone()).unwrap(), 0, 0);
    let before = learner.to_bytes();
    let go_on = || {
        asked += 1;
        asked < blocks
    };
    match learner.learn_while(batch, |_, _| seen += 1, go_on) {
        Ok(learned) => {
            assert_eq!(seen, learned);
            Ok((learner.to_bytes(), learned))
        }
        Err(error) => {
            assert!(seen == 0 && learner.to_bytes() == before, "{error}");
            Err(error.to_string())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases::count(50), failure_persistence: None, max_shrink_iters: 100, ..ProptestConfig::default() })]
    #[test]
    fn a_stopped_call_leaves_the_state_of_its_rows(case in cases::long()) {
        let rows = case.stream.rows();
        let source = Columns::of(&case.stream.doubles, case.stream.features);
        for blocks in 1..=rows.div_ceil(BLOCK) {
            let found = stopped(&case, &case.stream.batch(0..rows), blocks);
            prop_assert!(found == stopped(&case, &read_from(&case, &source), blocks), "read from elsewhere, {} blocks", blocks);
            let (state, learned) = match found {
                Ok(found) => found,
                Err(words) => {
                    prop_assert!(words.contains("beyond single precision"), "{}", words);
                    return Ok(());
                }
            };
            prop_assert_eq!(learned, rows.min(blocks * BLOCK));
            let mut alone = Learner::new(case.config.clone()).unwrap();
            alone.learn(&case.stream.batch(0..learned)).unwrap();
            prop_assert!(state == alone.to_bytes(), "stopped after {} rows", learned);
        }
    }
}

#[test]
fn a_class_that_is_named_after_the_stop_does_not_exist() {
    let mut learner = Learner::new(okl::Config::from_toml("loss = 'softmax'\nkernel = 'gaussian:1'").unwrap()).unwrap();
    let x: Vec<f32> = (0..300).map(|i| (i as f32).sin()).collect();
    let labels: Vec<Label> = (0..300).map(|i| Label::Int(if i < 290 { i % 2 } else { i })).collect();
    assert_eq!(learner.learn_while(&Batch::new(&x, 1).labels(&labels), |_, _| {}, || false).unwrap(), BLOCK);
    assert_eq!(learner.classes(), [Label::Int(0), Label::Int(1)]);
    assert_eq!(learner.outputs(), 2);
}

#[test]
fn what_is_wrong_in_the_last_block_is_found_before_the_first() {
    let x: Vec<f64> = (0..3 * 700).map(|i| if i == 3 * 650 + 2 { f64::NAN } else { (i as f64).cos() }).collect();
    let y = vec![1.0; 700];
    let mut learner = Learner::new(okl::Config::default()).unwrap();
    let before = learner.to_bytes();
    let source = Columns::of(&x, 3);
    let single: Vec<f32> = x.iter().map(|v| *v as f32).collect();
    for batch in [Batch::new(&single, 3), Batch::of_f64(&x, 3), Batch::read_from(&source)] {
        let error = learner.learn(&batch.numbers(&y)).unwrap_err();
        assert_eq!(error.to_string(), "row 650, column 2: found NaN, expected a finite number");
        assert_eq!(learner.to_bytes(), before);
    }
    let mut ids: Vec<u64> = (0..700).collect();
    ids[699] = u64::MAX;
    let good = Columns::of(&x.iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect::<Vec<_>>(), 3);
    let error = learner.learn(&Batch::read_from(&good).numbers(&y).ids(&ids)).unwrap_err();
    assert!(error.to_string().starts_with("row 699: id 18446744073709551615 is reserved"), "{error}");
    assert_eq!(learner.to_bytes(), before);
}
