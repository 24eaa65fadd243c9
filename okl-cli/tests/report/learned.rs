//! What a model file says about its terms and about the rows that it has learned.

use okl::growth::Verdict;
use okl_cli::inspect::doubled;
use okl_cli::learned_rows::{DROPPED, LearnedRows, MOST};

#[test]
fn the_number_of_doublings_is_said() {
    let said = |most| doubled(Verdict::Doubled.words(), 1000, most);
    assert!(said(2000).ends_with("so the number was doubled"));
    assert!(said(4000).ends_with("so the number was doubled twice"));
    assert!(said(8000).ends_with("so the number was doubled 3 times"));
    assert_eq!(doubled(Verdict::HalfIsEnough.words(), 1000, 4000), Verdict::HalfIsEnough.words());
}

/// The sample depends on the set of rows alone, and has at most its number of them.
#[test]
fn the_sample_has_the_smallest_fingerprints() {
    let marks = |from: u64, to: u64| (from..to).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> DROPPED);
    let (mut all, mut parts) = (LearnedRows::default(), LearnedRows::default());
    marks(0, 5000).for_each(|mark| all.insert(mark));
    marks(3000, 5000).chain(marks(0, 3500)).for_each(|mark| parts.insert(mark));
    let mut sorted: Vec<u64> = marks(0, 5000).collect();
    sorted.sort_unstable();
    assert_eq!(all, parts);
    assert_eq!(all.marks().collect::<Vec<_>>(), sorted[..MOST]);
}
