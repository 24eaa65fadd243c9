//! A mean that forgets, in one number and a count.

/// The weight of the newest number in the long run.
const MEMORY: f64 = 1e-3;

/// Takes the newest of `count` numbers into their recent mean. While there are few it counts for `young` of them: the first ones
/// are not like what is to come, and are forgotten soon.
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
