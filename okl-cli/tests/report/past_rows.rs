//! The sample of past rows: uniform, bounded, and the same however the rows were cut.

use std::fmt::Write as _;
use std::io::Cursor;

use okl_cli::input::{Chunk, Options, Reader};
use okl_cli::learn::Copies;
use okl_cli::past_rows::{FEWEST, MOST_ROWS, Reservoir, much_larger, much_smaller};

use crate::support::Random;

/// JSON lines whose keys appear one after the other: rows grow wider.
fn growing(rows: usize) -> String {
    let mut random = Random(5);
    let mut text = String::new();
    for i in 0..rows {
        let key = random.below(1 + i / 200);
        writeln!(text, "{{\"x\":{:.3},\"k{key}\":1,\"y\":\"c{}\"}}", random.signed(), key % 3).unwrap();
    }
    text
}

fn chunks(text: &str, chunk_rows: usize) -> Vec<Chunk> {
    let options = Options { targets: vec!["y".into()], sparse: true, chunk_rows, ..Options::default() };
    let mut reader = Reader::of("rows", Cursor::new(text.as_bytes().to_vec()), options).unwrap();
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

fn sample(chunks: &[Chunk], mut reservoir: Reservoir) -> Reservoir {
    chunks.iter().for_each(|chunk| (0..chunk.rows).for_each(|row| reservoir.offer(chunk, row)));
    reservoir
}

#[test]
fn the_sample_does_not_depend_on_the_cut() {
    let text = growing(3000);
    let whole = sample(&chunks(&text, 1024), Reservoir::default());
    assert_eq!((whole.len(), whole.seen()), (MOST_ROWS, 3000));
    for rows in [1, 7, 100] {
        let cut = sample(&chunks(&text, rows), Reservoir::default());
        assert!(cut.chunk() == whole.chunk(), "chunks of {rows} rows");
    }
}

/// Rows with their targets as they stand in the file.
#[test]
fn the_sample_has_rows_of_the_stream() {
    let all = chunks(&growing(40), 1024);
    let sampled = sample(&all, Reservoir::default()).chunk();
    assert_eq!((sampled.rows, sampled.lines.clone()), (40, (1..=40).collect()));
    let features = all.iter().map(|c| c.features).max().unwrap();
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for chunk in &all {
        for row in 0..chunk.rows {
            x.extend_from_slice(&chunk.x[row * chunk.features..(row + 1) * chunk.features]);
            x.resize(x.len() + features - chunk.features, 0.0);
        }
        labels.extend(chunk.targets.labels());
    }
    assert!(sampled.x == x && sampled.targets.labels() == labels);
}

/// Every row is as likely: by chi squared over 20 stretches, 19 degrees of freedom, of 20 streams of other lengths.
#[test]
fn every_row_is_as_likely() {
    let text: String = (0..4019).map(|i| format!("{i},{i}\n")).collect();
    let all = Reader::of("rows", Cursor::new(text.into_bytes()), Options { targets: vec!["2".into()], ..Options::default() });
    let mut reader = all.unwrap();
    let all: Vec<Chunk> = std::iter::from_fn(|| reader.next().unwrap()).collect();
    let mut chi = 0.0;
    for cut in 0..20 {
        // The first 20 - cut rows are left out.
        let mut reservoir = Reservoir::within(100, usize::MAX);
        let rows = all.iter().flat_map(|chunk| (0..chunk.rows).map(move |row| (chunk, row)));
        rows.skip(cut).take(4000).for_each(|(chunk, row)| reservoir.offer(chunk, row));
        let mut counts = [0.0; 20];
        reservoir.chunk().lines.iter().for_each(|line| counts[(*line as usize - 1 - cut) / 200] += 1.0);
        chi += counts.iter().map(|n: &f64| (n - 5.0) * (n - 5.0) / 5.0).sum::<f64>() / 20.0;
    }
    // The draws are the same in each: 100 rows over 20 stretches, mean 19, deviation 6.2.
    assert!(chi < 45.0, "chi squared {chi}");
}

#[test]
fn of_wide_rows_fewer_are_kept() {
    let wide: String = (0..300).map(|i| format!("{}\n", vec![(i % 7 + 1).to_string(); 51].join(","))).collect();
    let options = Options { targets: vec!["51".into()], header: Some(false), ..Options::default() };
    let mut reader = Reader::of("rows", Cursor::new(wide.into_bytes()), options).unwrap();
    let all: Vec<Chunk> = std::iter::from_fn(|| reader.next().unwrap()).collect();
    let reservoir = sample(&all, Reservoir::within(1000, 50_000));
    assert!(reservoir.bytes() <= 50_000 && (20..200).contains(&reservoir.len()), "{} rows", reservoir.len());
    assert_eq!(reservoir.seen(), 300);
    assert!(*reservoir.chunk().lines.iter().max().unwrap() > 200, "late rows still come in");
}

/// The rule for k mistakes in a sample of n.
fn rule(k: u32, n: u32, expected: f64) -> bool {
    let (n, share) = (f64::from(n), f64::from(k) / f64::from(n));
    much_larger(share, (share * (1.0 - share) / (n - 1.0)).sqrt(), expected)
}

/// The probability that the rule speaks although the model is as good as expected: exact, by the binomial distribution.
#[test]
fn chance_alone_is_rarely_called_a_difference() {
    for n in [FEWEST as u32, 300, 1000] {
        for p in [0.001f64, 0.01, 0.03, 0.1, 0.3, 0.5] {
            let (mut log_pmf, mut alarm) = (f64::from(n) * (-p).ln_1p(), 0.0);
            for k in 0..=n {
                alarm += if rule(k, n, p) { log_pmf.exp() } else { 0.0 };
                log_pmf += (f64::from(n - k) / f64::from(k + 1)).ln() + (p / (1.0 - p)).ln();
            }
            assert!(alarm < 0.002, "{n} rows, error {p}: {alarm}");
        }
    }
}

/// The same for a share that is too small.
#[test]
fn chance_alone_is_rarely_called_a_small_share() {
    for n in [FEWEST as u32, 300, 1000] {
        for p in [0.001f64, 0.01, 0.05, 0.2, 0.5] {
            let (mut log_pmf, mut alarm) = (f64::from(n) * (-p).ln_1p(), 0.0);
            for k in 0..=n {
                alarm += if much_smaller(f64::from(k) / f64::from(n), f64::from(n), p) { log_pmf.exp() } else { 0.0 };
                log_pmf += (f64::from(n - k) / f64::from(k + 1)).ln() + (p / (1.0 - p)).ln();
            }
            assert!(alarm < 0.002, "{n} rows, share {p}: {alarm}");
        }
    }
    // 0 of 1,000 where 50 are expected; 0 of 1,000 where 1 is expected may be chance.
    assert!(much_smaller(0.0, 1000.0, 0.05) && !much_smaller(0.0, 1000.0, 0.001));
}

/// Differences that matter are found in 1,000 rows, small ones are not called large.
#[test]
fn large_differences_are_found() {
    assert!(rule(930, 1000, 0.044) && rule(248, 1000, 0.072) && rule(80, 1000, 0.032));
    assert!(!rule(230, 1000, 0.2) && !rule(45, 1000, 0.032) && !rule(300, 1000, 0.25));
}

/// The copies of the model that are compared at the end (`--save-model auto`).
#[test]
fn copies_are_taken_after_powers_of_two_and_half_as_many_more() {
    let counts: Vec<u64> = std::iter::successors(Some(32), |rows| Some(Copies::next_after(*rows))).take(8).collect();
    assert_eq!(counts, [32, 48, 64, 96, 128, 192, 256, 384]);
    assert!((0..32).all(|rows| Copies::next_after(rows) == 32));
}
