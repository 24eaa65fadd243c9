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
    // Why there are more terms than at first, and why not more still.
    let then = |verdict: Verdict, most| doubled(verdict.words(), 1000, most);
    let once = "half of the terms made more errors, so the number was doubled; later, half of the terms did as well";
    assert_eq!(then(Verdict::HalfIsEnough, 2000), once);
    assert_eq!(then(Verdict::HalfIsEnough, 4000), once.replace("doubled", "doubled twice"));
    assert!(
        then(Verdict::Speed, 4000)
            .starts_with("half of the terms made more errors, so the number was doubled twice; twice as many would")
    );
    assert!(then(Verdict::Memory, 2000).ends_with("so the number was doubled; twice as many do not fit into the memory allowed"));
    for verdict in [Verdict::Open, Verdict::HalfIsEnough, Verdict::Memory, Verdict::Speed] {
        assert_eq!(then(verdict, 1000), verdict.words());
    }
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
