//! `form = fourier` against random Fourier features and weights in f64.

use okl::{Batch, Config, Learner};

const FEATURES: usize = 4;
const ROWS: usize = 300;

fn rows() -> Vec<f32> {
    (0..ROWS * FEATURES).map(|i| libm::sin(0.7 * i as f64 + 0.01 * (i * i % 97) as f64) as f32).collect()
}

/// z(x) in f64: cosines, then sines, over the square root of their number.
fn features(frequencies: &[f64], x: &[f32]) -> Vec<f64> {
    let angle = |w: &[f64]| w.iter().zip(x).map(|(w, x)| w * f64::from(*x)).sum::<f64>();
    let angles: Vec<f64> = frequencies.chunks_exact(FEATURES).map(angle).collect();
    let scale = (angles.len() as f64).sqrt();
    angles.iter().map(|a| a.cos() / scale).chain(angles.iter().map(|a| a.sin() / scale)).collect()
}

fn sign(x: &[f32]) -> f64 {
    if f64::from(x[0] * x[1]) + 0.3 * f64::from(x[2]) > 0.0 { 1.0 } else { -1.0 }
}

fn learner(settings: &str) -> Learner {
    Learner::new(Config::from_toml(settings).unwrap()).unwrap()
}

type Gradient = fn(f64, f64) -> f64;

/// w <- (1 - eta lambda) w - eta xi z(x), b <- b - eta xi: the scores of every row before its step, and of the mean of the hypotheses.
#[test]
fn weights_are_those_of_the_formula() {
    let losses: [(&str, Gradient); 3] = [
        ("squared", |z, y| z - y),
        ("hinge", |z, y| if y * z < 1.0 { -y } else { 0.0 }),
        ("logistic", |z, y| -y / (1.0 + (y * z).exp())),
    ];
    let x = rows();
    let y: Vec<f64> = x.chunks_exact(FEATURES).map(sign).collect();
    for (loss, gradient) in losses {
        for kernel in ["gaussian:0.8", "exponential:0.5", "matern32:0.7", "matern52:0.9"] {
            for (average, averaged) in [("none", false), ("uniform", true)] {
                let settings = format!(
                    "loss = '{loss}'\nkernel = '{kernel}'\nform = 'fourier:size=60,seed=5'\nstep = 'constant:0.4'\nlambda = 0.02\n\
                     offset = true\nanchor = 'none'\naverage = '{average}'"
                );
                let mut learner = learner(&settings);
                let scores = learner.learn(&Batch::new(&x, FEATURES).numbers(&y)).unwrap().values;
                let frequencies = learner.engine().basis().fourier().unwrap().frequencies(0);
                let (mut w, mut b) = (vec![0.0; 60], 0.0);
                let (mut mean, mut b_mean) = (w.clone(), 0.0);
                for (t, (x, y)) in x.chunks_exact(FEATURES).zip(&y).enumerate() {
                    let z = features(&frequencies, x);
                    let read = |w: &[f64]| w.iter().zip(&z).map(|(w, z)| w * z).sum::<f64>();
                    let expected = if averaged { read(&mean) + b_mean } else { read(&w) + b };
                    assert!((scores[t] - expected).abs() < 2e-5, "{settings}, row {t}: {} for {expected}", scores[t]);
                    let xi = gradient(read(&w) + b, *y);
                    let share = 1.0 / (t + 1) as f64;
                    mean.iter_mut().zip(&w).for_each(|(mean, w)| *mean += share * (w - *mean));
                    b_mean += share * (b - b_mean);
                    w.iter_mut().zip(&z).for_each(|(w, z)| *w = (1.0 - 0.4 * 0.02) * *w - 0.4 * xi * z);
                    b -= 0.4 * xi;
                }
                let norm2: f64 = w.iter().map(|w| w * w).sum();
                assert!((learner.norm2() - norm2).abs() < 1e-4 * norm2, "{settings}: {} for {norm2}", learner.norm2());
                assert!(scores.iter().any(|z| z.abs() > 0.4));
            }
        }
    }
}

/// Random features are features: learning them as rows under a linear kernel gives the same scores, for every kind of head and for banks
/// of several widths one of which is alone.
#[test]
fn random_features_are_learned_as_features() {
    let x = rows();
    let y: Vec<f64> = x.chunks_exact(FEATURES).map(sign).collect();
    for settings in [
        "loss = 'hinge'\nstep = 'smd:eta=0.3'\nlambda = 0.01",
        "loss = 'logistic'\nstep = 'normalised:eta=0.5'\nlambda = 0.01\nimplicit = true",
        "loss = 'nu_hinge:0.3'\nstep = 'inverse_sqrt:0.5'\nlambda = 0.01",
        "loss = 'squared'\nstep = 'constant:0.3'\nlambda = 0.01\nregulariser = 'norm'",
        "loss = 'huber:0.5'\nlambda = 0.01\nstep = 'decay:eta=0.5,tau=50'\nshrink = 'on_update'",
        "loss = 'perceptron'\nstep = 'pegasos'\nlambda = 0.05\naverage = 'exponential:0.05'",
    ] {
        let mut waves =
            learner(&format!("{settings}\nkernel = 'gaussian:0.8'\nform = 'fourier:40'\noffset = true\nanchor = 'none'"));
        let found = waves.learn(&Batch::new(&x, FEATURES).numbers(&y)).unwrap().values;
        let frequencies = waves.engine().basis().fourier().unwrap().frequencies(0);
        let z: Vec<f64> = x.chunks_exact(FEATURES).flat_map(|x| features(&frequencies, x)).collect();
        let mut plain = learner(&format!("{settings}\nkernel = 'linear'\nform = 'weights'\nscale = 'none'\noffset = true"));
        let expected = plain.learn(&Batch::of_f64(&z, 40).numbers(&y)).unwrap().values;
        let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-3, "{settings}: {apart}");
        assert!((waves.norm2() - plain.norm2()).abs() < 1e-3 * plain.norm2(), "{settings}");
        assert_eq!(waves.truncation_error(), 0.0);
    }
}

/// With many features the score of a new row is near that of terms: f differs by about 1/sqrt(frequencies).
#[test]
fn many_random_features_are_near_the_kernel() {
    let x = rows();
    let y: Vec<f64> = x.chunks_exact(FEATURES).map(sign).collect();
    let settings = "loss = 'squared'\nkernel = 'gaussian:0.8'\nstep = 'constant:0.3'\nlambda = 0.01\nanchor = 'none'";
    let scores =
        |form: &str| learner(&format!("{settings}\n{form}")).learn(&Batch::new(&x, FEATURES).numbers(&y)).unwrap().values;
    let exact = scores("budget = 'unlimited'");
    let apart = |size: usize| {
        let found = scores(&format!("form = 'fourier:{size}'"));
        (found.iter().zip(&exact).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / exact.len() as f64).sqrt()
    };
    let [few, many] = [apart(64), apart(4096)];
    assert!(many < 0.05 && many < few / 4.0, "{few} {many}");
}
