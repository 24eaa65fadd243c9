//! An exponential moving average with a faster start.

/// The final weight of the newest number.
const MEMORY: f64 = 1e-3;

/// Updates the moving average with `newest`, the number with index `count` (from 1). At the start the newest number counts as
/// `young` numbers, so that the first ones, which are not typical, lose their influence soon.
pub(crate) fn follow(mean: &mut f64, newest: f64, count: f64, young: f64) {
    *mean += MEMORY.max(young / (count + young - 1.0)) * (newest - *mean);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_the_mean_and_is_forgotten() {
        let mut mean = 7.0;
        follow(&mut mean, 100.0, 1.0, 5.0);
        assert_eq!(mean, 100.0);
        (2..=10_000).for_each(|n| follow(&mut mean, 1.0, f64::from(n), 5.0));
        assert!((mean - 1.0).abs() < 1e-6);
    }
}
