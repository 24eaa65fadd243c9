//! Rows of kernel values (`kernel = precomputed`).

use super::*;
use okl::KernelRows;

const SETTINGS: &str = "kernel = 'precomputed'\nstep = 'constant:0.5'";

/// Learns item 0 with k(x, x) = 4.
fn one_term(settings: &str) -> Learner {
    let mut learner = learner(settings);
    learner.learn(&Batch::of_kernel_values(&KernelRows::new(&[0], &[0], &[4.0]).unwrap()).numbers(&[1.0])).unwrap();
    assert_eq!(learner.items(), [0]);
    learner
}

/// The words with which two further rows are refused, given their values against the items 0, 1 and 2.
fn refused_values(values: [f64; 6], words: &[&str]) -> ErrorKind {
    let rows = KernelRows::of_first(&[1, 2], 3, &values).unwrap();
    refused(&mut one_term(SETTINGS), &Batch::of_kernel_values(&rows).numbers(&[1.0, -1.0]), words)
}

#[test]
fn values_that_no_kernel_has_are_refused() {
    let good = [2.0, 1.0, 0.5, -2.0, 0.5, 1.0];
    let rows = KernelRows::of_first(&[1, 2], 3, &good).unwrap();
    one_term(SETTINGS).learn(&Batch::of_kernel_values(&rows).numbers(&[1.0, -1.0])).unwrap();
    let with = |place: usize, value: f64| {
        let mut values = good;
        values[place] = value;
        values
    };
    let kind = refused_values(with(3, f64::NAN), &["row 1", "item 0", "NaN", "finite"]);
    assert!(matches!(kind, ErrorKind::KernelValue { row: 1, item: 0, .. }));
    refused_values(with(2, f64::INFINITY), &["row 0", "item 2", "inf"]);
    refused_values(with(0, 1e38), &["row 0", "item 0", "1e37"]);
    refused_values(with(1, -0.5), &["row 0", "item 1", "k(x, x) >= 0"]);
    refused_values(with(4, 0.4), &["row 1", "item 1", "0.4", "0.5", "symmetric"]);
    refused_values(with(3, -2.1), &["row 1", "item 0", "-2.1", "at most 2", "distance"]);
    // Distances: 0 from itself.
    refused_values([2.0, 0.0, 0.5, 2.0, 0.5, 0.0], &["row 0", "item 0", "at most 0"]);
}

#[test]
fn missing_columns_are_refused() {
    let mut learner = one_term(SETTINGS);
    let [no_term, no_row] = [[1, 7], [0, 7]].map(|columns| KernelRows::new(&[1], &columns, &[1.0, 1.0]).unwrap());
    let batch = |rows| Batch::of_kernel_values(rows).numbers(&[1.0]);
    refused(&mut learner, &batch(&no_term), &["columns of kernel values", "item 0", "a term", "found 2"]);
    says(&learner.predict(&batch(&no_term)).unwrap_err(), &["item 0", "a term"]);
    refused(&mut learner, &batch(&no_row), &["item 1", "a row of this call"]);
    learner.predict(&batch(&no_row)).unwrap();
    let few = KernelRows::of_first(&[9], 2, &[1.0, 1.0]).unwrap();
    refused(&mut learner, &batch(&few), &["item 9", "a row of this call", "found 2"]);
}

#[test]
fn rows_that_do_not_fit_together_are_refused() {
    let said = |items: &[u64], columns: &[u64]| KernelRows::new(items, columns, &[1.0; 4]).unwrap_err();
    says(&said(&[1], &[0, 1]), &["kernel values", "expected 2", "2 for each of 1 rows", "found 4"]);
    says(&said(&[1, 2], &[5, 5]), &["item 5", "columns 0 and 1", "expected one"]);
    says(&said(&[1, u64::MAX], &[0, 1]), &["reserved"]);
}

#[test]
fn the_two_kinds_of_rows_are_told_apart() {
    let rows = KernelRows::new(&[0], &[0], &[1.0]).unwrap();
    let words = ["kernel", "precomputed"];
    refused(&mut learner("kernel = 'gaussian:1'"), &Batch::of_kernel_values(&rows).numbers(&[1.0]), &words);
    for x in [&[1.0][..], &[1.0, 2.0]] {
        refused(&mut one_term(SETTINGS), &Batch::new(x, x.len()).numbers(&[1.0]), &[words[0], words[1], "not rows of features"]);
        says(&one_term(SETTINGS).predict(&Batch::new(x, x.len())).unwrap_err(), &words);
    }
}

/// Values that were computed before other rows became terms do not cover these.
#[test]
fn values_of_earlier_terms_are_refused() {
    let mut learner = one_term(SETTINGS);
    let [one, two] = [1, 2].map(|item| KernelRows::new(&[item], &[0, item], &[1.0, 2.0]).unwrap());
    let late = learner.check(&Batch::of_kernel_values(&one).numbers(&[1.0])).unwrap();
    learner.learn(&Batch::of_kernel_values(&two).numbers(&[-1.0])).unwrap();
    let before = learner.to_bytes();
    says(&learner.learn_checked(late).unwrap_err(), &["item 2", "a term"]);
    assert_eq!(learner.to_bytes(), before);
}

#[test]
fn the_forgetron_needs_a_normalised_kernel() {
    let mut learner =
        learner("kernel = 'precomputed'\nloss = 'perceptron'\nbudget = 'forgetron:2'\nstep = 'constant:1'\nlambda = 0");
    let [large, normal] = [4.0, 1.0].map(|own| vec![own]);
    let rows = KernelRows::new(&[0], &[0], &large).unwrap();
    refused(&mut learner, &Batch::of_kernel_values(&rows).numbers(&[1.0]), &["row 0", "k(x, x) <= 1", "normalise"]);
    let rows = KernelRows::new(&[0], &[0], &normal).unwrap();
    learner.learn(&Batch::of_kernel_values(&rows).numbers(&[1.0])).unwrap();
}

/// Rows that are the same object by their values update its term; others with the same id do not.
#[test]
fn an_id_is_recognised_by_the_values() {
    let mut learner = learner("kernel = 'precomputed'\nloss = 'squared'\nstep = 'constant:0.05'");
    let mut learn = |item: u64, columns: &[u64], values: &[f64]| {
        let rows = KernelRows::new(&[item], columns, values).unwrap();
        learner.learn(&Batch::of_kernel_values(&rows).numbers(&[1.0]).ids(&[5])).unwrap();
        (learner.items(), learner.health().ids_taken_over)
    };
    assert_eq!(learn(0, &[0], &[4.0]), (vec![0], 0));
    assert_eq!(learn(1, &[0, 1], &[4.0, 4.0]), (vec![0], 0));
    assert_eq!(learn(2, &[0, 2], &[3.9, 4.0]), (vec![0, 2], 1));
}
