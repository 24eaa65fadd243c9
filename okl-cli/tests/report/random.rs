//! Random numbers and orders of rows.

use okl_cli::random::{Random, order};

/// The first numbers after seed 1234567, as the generator's authors give them.
#[test]
fn splitmix64_is_the_published_one() {
    let mut random = Random::new(1_234_567);
    let published = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    assert_eq!(published.map(|_| random.bits()), published);
}

#[test]
fn every_pass_has_a_permutation_of_its_own() {
    let orders: Vec<Vec<u32>> = (0..3).map(|pass| order(1000, 7, pass)).collect();
    for order in &orders {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..1000));
    }
    assert!(orders[0] != orders[1] && orders[1] != orders[2] && orders[0] != order(1000, 8, 0));
    assert_eq!((order(0, 7, 0), order(1, 7, 0)), (vec![], vec![0]));
}

/// All 24 orders of four rows, by chi squared with 23 degrees of freedom: beyond 60 once in 35,000 seeds.
#[test]
fn every_permutation_is_as_likely() {
    let mut counts = std::collections::HashMap::new();
    (0..24_000u64).for_each(|seed| *counts.entry(order(4, seed, 0)).or_insert(0.0) += 1.0);
    let chi: f64 = counts.values().map(|n: &f64| (n - 1000.0) * (n - 1000.0) / 1000.0).sum();
    assert!(counts.len() == 24 && chi < 60.0, "{chi} over {}", counts.len());
}
