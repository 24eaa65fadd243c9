//! `budget = auto`: the number of terms is doubled where that lowers the error, and nowhere else.

use crate::support::cases::Random;
use okl::growth::Verdict;
use okl::{Batch, Config, Learner};

/// Rows of the unit square and the colour of a board of `fields` x `fields` squares there.
fn board(rows: usize, fields: f64, noise: f64) -> (Vec<f32>, Vec<f64>) {
    let mut random = Random(5);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let (a, b) = (random.unit(), random.unit());
        let dark = ((a * fields).floor() + (b * fields).floor()) as i64 % 2 == 0;
        x.extend([a as f32, b as f32]);
        y.push(if dark != random.often(noise) { 1.0 } else { -1.0 });
    }
    (x, y)
}

fn learner(settings: &str) -> Learner {
    let kernel = if settings.contains("kernel") { "" } else { "kernel = 'gaussian:60'\n" };
    let common = "loss = 'hinge'\nstep = 'constant:1'\nlambda = 1e-4\nscale = 'none'\n";
    Learner::new(Config::from_toml(&format!("{common}{kernel}{settings}")).unwrap()).unwrap()
}

fn learned(settings: &str, (x, y): &(Vec<f32>, Vec<f64>)) -> Learner {
    let mut learner = learner(settings);
    learner.learn(&Batch::new(x, 2).numbers(y)).unwrap();
    learner
}

fn terms(learner: &Learner) -> usize {
    learner.config().budget().capacity().unwrap()
}

#[test]
fn terms_are_doubled_where_half_of_them_err_more() {
    let learner = learned("budget = 'merge:16'\nmemory = '1MB'", &board(4096, 4.0, 0.0));
    assert_eq!((terms(&learner), learner.terms()), (64, 64));
    assert_eq!(learner.growth(), Some((16, Verdict::Speed)));
}

/// One half plane: a few terms do.
#[test]
fn terms_are_not_doubled_where_half_of_them_do_as_well() {
    let (x, _) = board(4096, 1.0, 0.0);
    let y: Vec<f64> = x.chunks(2).map(|row| if row[0] > 0.5 { 1.0 } else { -1.0 }).collect();
    let learner = learned("kernel = 'gaussian:2'\nbudget = 'merge:100'\nmemory = '1MB'", &(x, y));
    assert_eq!((terms(&learner), learner.growth()), (100, Some((100, Verdict::HalfIsEnough))));
}

/// Twice as many terms with half of a shadow would fit; with a whole shadow they do not.
#[test]
fn memory_bounds_the_number_of_terms() {
    let learner = learned("budget = 'merge:16'\nmemory = '8kB'", &board(4096, 4.0, 0.0));
    let each = learner.config().bytes_per_term(2, 1);
    assert_eq!((terms(&learner), learner.growth()), (16, Some((16, Verdict::Memory))));
    assert!(32 * each < 8000 && 32 * (each + each / 2) > 8000, "{each}");
}

#[test]
fn a_budget_that_is_given_stays() {
    let learner = learned("budget = 'merge:16'", &board(4096, 4.0, 0.0));
    assert_eq!((terms(&learner), learner.growth()), (16, None));
    let default = Learner::new(Config::from_toml("budget = 'auto'").unwrap()).unwrap();
    assert_eq!((terms(&default), default.config().memory), (1000, Some(64_000_000)));
}

/// A comparison under way survives a save at every moment, whatever the cut.
#[test]
fn a_comparison_under_way_is_saved() {
    let (x, y) = board(600, 4.0, 0.0);
    let settings = "budget = 'transfer:16'\nmemory = '1MB'";
    let whole = learned(settings, &(x.clone(), y.clone()));
    assert_ne!(whole.growth(), Some((16, Verdict::Open)));
    let mut pieces = learner(settings);
    for (x, y) in x.chunks(2 * 7).zip(y.chunks(7)) {
        pieces.learn(&Batch::new(x, 2).numbers(y)).unwrap();
        pieces = Learner::from_bytes(&pieces.to_bytes()).unwrap();
        assert_eq!(pieces.publish().to_bytes(), pieces.to_bytes());
    }
    assert_eq!(pieces.to_bytes(), whole.to_bytes());
}

/// The caller's bytes stand once in a file: those of an earlier save are not in the copy that is compared.
#[test]
fn a_file_does_not_depend_on_earlier_positions() {
    let (x, y) = board(40, 4.0, 0.0);
    let settings = "budget = 'transfer:16'\nmemory = '1MB'";
    let (mut once, mut often) = (learner(settings), learner(settings));
    for (row, y) in x.chunks(2).zip(&y) {
        once.learn(&Batch::new(row, 2).numbers(&[*y])).unwrap();
        often.learn(&Batch::new(row, 2).numbers(&[*y])).unwrap();
        often.set_position(format!("row {}", often.examples()));
    }
    once.set_position("row 40");
    let file = once.to_bytes();
    assert!(String::from_utf8_lossy(&file).contains("growth.shadow"), "no comparison is under way");
    assert!(file == often.to_bytes(), "the files differ");
}

/// The copy that is compared counts in the stated bytes.
#[test]
fn the_stated_bytes_contain_the_copy_with_half_of_the_terms() {
    let (x, y) = board(48, 4.0, 0.0);
    let mut learner = learner("budget = 'merge:16'\nmemory = '1MB'");
    let bytes: Vec<usize> = x
        .chunks(2)
        .zip(&y)
        .map(|(x, y)| {
            learner.learn(&Batch::new(x, 2).numbers(&[*y])).unwrap();
            learner.bytes()
        })
        .collect();
    assert!(bytes[30] < bytes[31] && bytes[46] > bytes[47], "{bytes:?}");
}

/// Columns that are 0 in every row so far do not count in `memory`: a learner that knows 98 more columns decides as one that does not.
#[test]
fn columns_without_values_do_not_change_the_number_of_terms() {
    let (x, y) = board(4096, 4.0, 0.0);
    let wide: Vec<f32> = x.chunks(2).flat_map(|row| row.iter().copied().chain([0.0; 98])).collect();
    let settings = "budget = 'merge:16'\nmemory = '24kB'";
    let mut known = learner(settings);
    known.learn(&Batch::new(&wide, 100).numbers(&y)).unwrap();
    let mut widened = learned(settings, &(x, y));
    widened.widen(100).unwrap();
    assert!(64 * widened.config().bytes_per_term(100, 1) > 24_000, "100 columns would not fit");
    assert_eq!((terms(&widened), widened.growth()), (64, Some((16, Verdict::Speed))));
    assert_eq!(known.to_bytes(), widened.to_bytes());
}

/// Sparse terms count by their values and not by their columns. A learner of dense rows decides alike: its terms are stored sparsely where
/// only that fits.
#[test]
fn sparse_terms_count_by_their_values() {
    const COLUMNS: usize = 2_000;
    let (x, y) = board(4096, 4.0, 0.0);
    let settings = "budget = 'merge:16'\nmemory = '64kB'\nanchor = 'none'";
    let (starts, columns): (Vec<usize>, Vec<u32>) = ((0..=4096).map(|i| 2 * i).collect(), [7, 1_990].repeat(4096));
    let mut sparse = learner(settings);
    sparse.learn(&Batch::sparse(&starts, &columns, &x, COLUMNS).numbers(&y)).unwrap();
    assert!(32 * sparse.config().bytes_per_term(1_991, 1) > 64_000, "dense rows would not fit");
    assert_eq!((terms(&sparse), sparse.growth()), (64, Some((16, Verdict::Speed))));
    let mut rows = vec![0.0; 4096 * COLUMNS];
    for (row, x) in rows.chunks_exact_mut(COLUMNS).zip(x.chunks(2)) {
        (row[7], row[1_990]) = (x[0], x[1]);
    }
    let mut dense = learner(settings);
    dense.learn(&Batch::new(&rows, COLUMNS).numbers(&y)).unwrap();
    assert_eq!((terms(&dense), dense.growth()), (terms(&sparse), sparse.growth()));
    assert!(dense.bytes() < 64_000 && sparse.bytes() < 64_000, "{} and {}", dense.bytes(), sparse.bytes());
    let probe = &rows[..50 * COLUMNS];
    assert_eq!(dense.predict(&Batch::new(probe, COLUMNS)).unwrap(), sparse.predict(&Batch::new(probe, COLUMNS)).unwrap());
}
