//! Alert rates.

use super::*;

/// N(0, I) rows in two dimensions, whose mean jumps to (3, 3) at row `shift`.
fn cloud(rows: usize, shift: usize, seed: u64) -> Data {
    let mut rng = Rng::new(seed);
    let x = (0..2 * rows).map(|i| (rng.normal() + if i / 2 >= shift { 3.0 } else { 0.0 }) as f32).collect();
    Data { features: 2, x, width: 0, y: vec![], classes: false }
}

/// What the test itself counted over a run.
struct Counted {
    l: Learner,
    examples: f64,
    outside: f64,
    /// The thresholds before the first counted example and after the last.
    ends: (f64, f64),
    projected: bool,
}

impl Counted {
    fn rate(&self) -> f64 {
        self.outside / self.examples
    }
}

/// Runs row by row; an example is outside by its score and the threshold shown before its update.
fn count(text: &str, data: &Data, outside: impl Fn(&[f64], &[f64], f64) -> bool, eta: Option<f64>) -> Counted {
    let l = learner(text);
    let nu = l.config().to_json().split("\"nu\":").nth(1).unwrap().split([',', '}']).next().unwrap().parse::<f64>().unwrap();
    let novelty = text.contains("novelty") || text.contains("density");
    let tube = !novelty && !text.contains("nu_hinge");
    let mut run = Counted { l, examples: 0.0, outside: 0.0, ends: (f64::NAN, f64::NAN), projected: false };
    for i in 0..data.rows() {
        let (before, theta) = (if novelty { run.l.threshold() } else { Some(run.l.theta()) }, run.l.theta());
        let z = data.teach(&mut run.l, i, None);
        let Some(threshold) = before else { continue };
        if run.examples == 0.0 {
            run.ends.0 = threshold;
        }
        let out = outside(&z, data.target(i), threshold);
        (run.examples, run.outside) = (run.examples + 1.0, run.outside + f64::from(u8::from(out)));
        if let Some(eta) = eta {
            let moved = (f64::from(u8::from(out)) - nu) * if tube { eta } else { -eta };
            run.projected |= (run.l.theta() - theta - moved).abs() > 1e-12;
        }
    }
    run.ends.1 = if novelty { run.l.threshold().unwrap() } else { run.l.theta() };
    run
}

fn below(z: &[f64], _: &[f64], threshold: f64) -> bool {
    z[0] < threshold
}

/// |rate - nu| <= bound < nu/2 after 20,000 examples, stationary and with a jump of the distribution half way. Steps are
/// of the scale of nu: scores are of size nu/lambda, and a step near that keeps theta at its projection (3.5).
#[test]
fn novelty_rates_are_what_was_asked_for() {
    for nu in [0.01, 0.05, 0.2] {
        for shift in [usize::MAX, 10_000] {
            let data = cloud(20_000, shift, 31);
            for step in [format!("constant:{}", nu / 20.0), format!("inverse_sqrt:{}", 4.0 * nu)] {
                for threshold in ["norma", "tracker", "tracker:0.05"] {
                    let text =
                        format!("loss='nu_novelty:{nu}'\nstep='{step}'\nlambda=1\nbudget='window:300'\nthreshold='{threshold}'");
                    let run = count(&text, &data, below, None);
                    let stated = run.l.alert_rate().unwrap();
                    println!(
                        "nu {nu} shift {} {step} {threshold}: rate {:.5} bound {:.5}",
                        shift < 20_000,
                        run.rate(),
                        stated.bound
                    );
                    assert!(
                        (stated.rate - run.rate()).abs() < 1e-12 && stated.nu == nu,
                        "{text}: the engine counts {} and the test {}",
                        stated.rate,
                        run.rate()
                    );
                    assert!((run.rate() - nu).abs() <= stated.bound + 1e-12, "{text}: |{} - nu| > {}", run.rate(), stated.bound);
                    assert!(stated.bound < 0.5 * nu, "{text}: the bound {} says something", stated.bound);
                    if threshold != "norma" {
                        assert_eq!(run.examples, 20_000.0 - 256.0, "the first 256 set the threshold");
                    }
                    if threshold == "tracker:0.05" {
                        let identity = nu - (run.ends.1 / run.ends.0).ln() / (0.05 * run.examples);
                        assert!((run.rate() - identity).abs() < 1e-12, "{text}: {} is not {identity}", run.rate());
                    }
                }
            }
        }
    }
}

/// With nothing set but nu: |rate - nu| <= bound < nu/2, stationary, with a jump, and where every row is one of two points.
#[test]
fn a_density_has_the_rate_that_was_asked_for() {
    let mut two_points = cloud(20_000, usize::MAX, 32);
    two_points.x.iter_mut().for_each(|x| *x = x.signum());
    for data in [cloud(20_000, usize::MAX, 31), cloud(20_000, 10_000, 31), two_points] {
        for nu in [0.01, 0.05, 0.2] {
            let run = count(&format!("loss='density:{nu}'\nkernel='gaussian'"), &data, below, None);
            let stated = run.l.alert_rate().unwrap();
            println!("nu {nu}: rate {:.5} {stated:?}", run.rate());
            assert!((stated.rate - run.rate()).abs() < 1e-12 && stated.nu == nu, "{stated:?}, counted {}", run.rate());
            assert!((run.rate() - nu).abs() <= stated.bound + 1e-12 && stated.bound < 0.5 * nu, "{}: {stated:?}", run.rate());
        }
    }
}

/// Scores of a linear kernel have both signs. The alert rate is held as asked for, and its certificate is true.
#[test]
fn negative_scores_have_the_rate_that_was_asked_for() {
    let data = cloud(10_000, usize::MAX, 35);
    for kernel in ["linear", "polynomial:degree=3", "{ sum = ['linear', 'gaussian:1'] }"] {
        for threshold in ["tracker", "tracker:0.05"] {
            let kernel = if kernel.starts_with('{') { kernel.into() } else { format!("'{kernel}'") };
            let text = format!(
                "loss='nu_novelty:0.1'\nkernel={kernel}\nstep='constant:0.01'\nlambda=0.1\nbudget='window:100'\nthreshold='{threshold}'"
            );
            let run = count(&text, &data, below, None);
            let stated = run.l.alert_rate().unwrap();
            println!("{text}: rate {} {stated:?}", run.rate());
            assert!((stated.rate - run.rate()).abs() < 1e-12, "{text}: {stated:?}, counted {}", run.rate());
            assert!((run.rate() - 0.1).abs() <= stated.bound, "{text}: rate {}, {stated:?}", run.rate());
            assert!((run.rate() - 0.1).abs() <= 0.02, "{text}: rate {}", run.rate());
        }
    }
}

/// Random features approximate a kernel with values of both signs: far from all rows, scores are small and of any sign.
#[test]
fn random_features_have_the_rate_that_was_asked_for() {
    let mut data = cloud(6000, usize::MAX, 37);
    data.x[6000..].iter_mut().for_each(|x| *x = 4.0 * *x + 5.0);
    let run = count("loss='density:0.05'\nkernel='gaussian'\nform='fourier:100'", &data, below, None);
    let stated = run.l.alert_rate().unwrap();
    assert!((stated.rate - run.rate()).abs() < 1e-12, "{stated:?}, counted {}", run.rate());
    assert!((run.rate() - 0.05).abs() <= stated.bound.min(0.015), "rate {}, {stated:?}", run.rate());
}

/// A step so small that theta does not move in f64 holds no rate, and the certificate says so.
#[test]
fn a_threshold_that_cannot_move_certifies_nothing() {
    let text = "loss='nu_novelty:0.1'\nkernel='gaussian:1'\nstep='constant:1e-20'\nlambda=1\nbudget='window:20'\ntheta0=1";
    let run = count(text, &cloud(500, usize::MAX, 36), below, None);
    let stated = run.l.alert_rate().unwrap();
    assert_eq!((run.rate(), run.l.theta()), (1.0, 1.0), "f stays at 0, below theta = 1");
    assert!((0.9 - 1e-9..1.0).contains(&stated.bound), "{stated:?}");
}

/// With a constant step and no projection: rate = nu - (theta_T - theta_1)/(eta T) for a threshold from above (novelty, margin),
/// + for a tube or scale; whatever the data. And the bounds for the other losses that adapt theta.
#[test]
fn rates_are_exact_while_nothing_is_projected() {
    let t = 20_000;
    // Separable: with more than nu of wrong labels no margin rho >= 0 has the rate nu, and the projection holds it at 0.
    let mut signs = Data::make(t, 2, 1, 41, |_, x| vec![f64::from(x[0].signum())]);
    signs.x.iter_mut().step_by(2).for_each(|x| *x += x.signum());
    let wave = Data::wave(t, 42);
    let jump =
        Data { y: wave.y.iter().enumerate().map(|(i, y)| if i < t / 2 { *y } else { 3.0 * y + 2.0 }).collect(), ..wave.clone() };
    let margin = |z: &[f64], y: &[f64], rho: f64| y[0] * z[0] < rho;
    let residual = |z: &[f64], y: &[f64], width: f64| (y[0] - z[0]).abs() > width;
    for nu in [0.01, 0.05, 0.2] {
        let common = |loss: &str, eta: f64, lambda: f64, more: &str| {
            format!("loss='{loss}:nu={nu}'\nstep='constant:{eta}'\nlambda={lambda}\nbudget='window:300'\n{more}")
        };
        let runs = [
            (
                count(&common("nu_novelty", nu / 100.0, 1.0, &format!("theta0={nu}")), &cloud(t, t, 33), below, Some(nu / 100.0)),
                nu / 100.0,
                -1.0,
                "nu_novelty",
            ),
            (
                count(&common("nu_hinge", 0.002, 0.1, "offset=true\ntheta0=0.05"), &signs, margin, Some(0.002)),
                0.002,
                -1.0,
                "nu_hinge",
            ),
            (count(&common("nu_epsilon", 0.02, 0.1, "theta0=1"), &wave, residual, Some(0.02)), 0.02, 1.0, "nu_epsilon"),
            (
                count(&common("nu_epsilon", 0.02, 0.1, "theta0=1"), &jump, residual, Some(0.02)),
                0.02,
                1.0,
                "nu_epsilon with a jump",
            ),
            (count(&common("nu_huber", 0.02, 0.1, ""), &wave, residual, Some(0.02)), 0.02, 1.0, "nu_huber"),
        ];
        for (run, eta, sign, name) in runs {
            let (stated, moved) = (run.l.alert_rate().unwrap(), (run.ends.1 - run.ends.0) / (eta * run.examples));
            println!(
                "{name} nu {nu}: rate {:.5} bound {:.5} theta {:.4} projected {}",
                run.rate(),
                stated.bound,
                run.ends.1,
                run.projected
            );
            assert!(!run.projected, "{name} nu {nu}: theta was projected");
            assert!(
                stated.bound < if name.contains("jump") { 1.5 } else { 0.5 } * nu,
                "{name} nu {nu}: the bound {} says something",
                stated.bound
            );
            assert!(
                (run.rate() - (nu + sign * moved)).abs() < 1e-9,
                "{name} nu {nu}: {} is not {}",
                run.rate(),
                nu + sign * moved
            );
            assert!(
                (run.rate() - stated.rate).abs() < 1e-12 && (run.rate() - nu).abs() <= stated.bound + 1e-12,
                "{name} nu {nu}"
            );
        }
    }
}

/// 3.5: the rate is right in both cases, but the averaged score finds more of the true tail. N(0, I_2), |x|² > -2 ln nu.
#[test]
fn the_tracker_finds_more_of_the_tail() {
    let (nu, data) = (0.05f64, cloud(20_000, usize::MAX, 51));
    for eta in [0.02, 0.005, 0.001] {
        let precision = ["norma", "tracker"].map(|threshold| {
            let mut l = learner(&format!(
                "loss='nu_novelty:{nu}'\nstep='constant:{eta}'\nlambda=1\nbudget='window:1200'\nthreshold='{threshold}'"
            ));
            let (mut alerts, mut right) = (0.0, 0.0);
            for i in 0..data.rows() {
                let threshold = l.threshold();
                let z = data.teach(&mut l, i, None);
                if i >= 5_000 && z[0] < threshold.unwrap() {
                    let r2: f64 = data.row(i).iter().map(|v| f64::from(v * v)).sum();
                    (alerts, right) = (alerts + 1.0, right + f64::from(u8::from(r2 > -2.0 * nu.ln())));
                }
            }
            // A coarse step keeps theta at 0 part of the time, and the rate of `norma` rises; the tracker's does not.
            let most = if threshold == "tracker" { 900.0 } else { 1500.0 };
            assert!(alerts > 600.0 && alerts < most, "{threshold} {eta}: {alerts} alerts in 15,000, 750 asked for");
            right / alerts
        });
        println!("eta {eta}: precision norma {:.3}, tracker {:.3}", precision[0], precision[1]);
        assert!(precision[1] > precision[0] + 0.1, "eta {eta}: {precision:?}");
    }
}

/// A young f grows, and a narrow kernel has a long lower tail: a tracker that follows both raises what was asked for from its first
/// hundreds of examples on, where a given step lags behind.
#[test]
fn alerts_come_as_asked_for_while_scores_grow() {
    for (nu, settings) in [(0.05, "lambda=0.03\nkernel='gaussian:0.1'"), (0.01, "lambda=1\nkernel='gaussian:4'")] {
        let rows = (40.0 / nu) as usize;
        let data = cloud(256 + rows, usize::MAX, 71);
        let rate = |threshold: &str| {
            let text =
                format!("loss='nu_novelty:{nu}'\nstep='constant:0.1'\n{settings}\nbudget='window:1200'\nthreshold='{threshold}'");
            count(&text, &data, below, None).rate() / nu
        };
        let (follows, given) = (rate("tracker"), rate("tracker:0.05"));
        println!("nu {nu}: {follows:.3} and {given:.3} of what was asked for");
        assert!((0.85..1.15).contains(&follows) && given < 0.85, "nu {nu}: {follows} and {given} of what was asked for");
    }
}

// Every budget

/// The rate is that of what was reported of every row when it came, also where a warm-up learned rows again and decided otherwise;
/// the bound holds for it.
#[test]
fn the_alert_rate_is_the_one_that_was_reported() {
    let mut differs = 0;
    for (loss, seed) in [("nu_novelty:0.1", 1), ("nu_novelty:0.05", 2), ("nu_epsilon:0.2", 3), ("nu_hinge:0.2", 4)] {
        let mut rng = Rng::new(seed);
        let x: Vec<f32> = (0..1400).map(|_| rng.normal() as f32).collect();
        let y: Vec<f64> = x
            .chunks(2)
            .map(|x| if loss.starts_with("nu_hinge") { f64::from(x[0]).signum() } else { f64::from(x[0] * x[1]) })
            .collect();
        let mut last = None;
        for cut in [700, 1, 37] {
            let mut learner = Learner::new(okl::Config::from_toml(&format!("loss = '{loss}'\nwarmup = 100")).unwrap()).unwrap();
            let (mut outside, mut rows) = (0, 0);
            for (x, y) in x.chunks(2 * cut).zip(y.chunks(cut)) {
                let batch = okl::Batch::new(x, 2);
                let batch = if loss.starts_with("nu_novelty") { batch } else { batch.numbers(y) };
                learner
                    .learn_with(&batch, |_, step| (outside, rows) = (outside + usize::from(step.outside.unwrap()), rows + 1))
                    .unwrap();
                if rows < 300 {
                    learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
                }
                let rate = learner.alert_rate().unwrap();
                assert_eq!(rate.rate, outside as f64 / rows as f64, "{loss}, {rows} rows");
                assert!((rate.rate - rate.nu).abs() <= rate.bound, "{rate:?}");
            }
            // What was learned in the warm-up, counted anew by a learner that has its settings from the start.
            let mut again = Learner::new(learner.config().clone()).unwrap();
            let batch = okl::Batch::new(&x, 2);
            again.learn(&if loss.starts_with("nu_novelty") { batch } else { batch.numbers(&y) }).unwrap();
            differs += usize::from(again.alert_rate().unwrap().rate != learner.alert_rate().unwrap().rate);
            assert_eq!(last.get_or_insert(learner.to_bytes()), &learner.to_bytes());
        }
    }
    assert!(differs > 0, "no case tells the two counts apart");
}

/// Whether an example is outside is a fact of the reported scores, also where these are averaged while theta follows the last hypothesis:
/// by the formulas of the losses, in the reported loss, and in the alert rate with its bound.
#[test]
fn what_is_outside_is_outside_by_the_reported_scores() {
    let row = |i: usize| [(i * 37 % 101) as f32 / 50.0 - 1.0, (i * 53 % 97) as f32 / 48.0 - 1.0];
    let target = |x: [f32; 2]| f64::from(x[0] * x[1]);
    type Rule = fn(f64, f64, f64) -> (bool, f64);
    let margin: Rule = |z, y, theta| (y * z < theta, (theta - y * z).max(0.0));
    let tube: Rule = |z, y, theta| ((z - y).abs() > theta, ((z - y).abs() - theta).max(0.0));
    // Loss, the number that z is compared with (none: theta), the share that the loss charges for theta, targets, rule.
    let cases: [(&str, Option<f64>, f64, bool, Rule); 5] = [
        ("hinge", Some(1.0), 0.0, true, margin),
        ("nu_hinge:0.2", None, 0.2, true, margin),
        ("epsilon:0.1", Some(0.1), 0.0, false, tube),
        ("nu_epsilon:0.2", None, -0.2, false, tube),
        ("nu_novelty:0.2", None, 0.2, true, |z, _, theta| (z < theta, (theta - z).max(0.0))),
    ];
    for (loss, fixed, charged, signs, rule) in cases {
        for average in ["none", "uniform", "exponential:0.01"] {
            let text = format!(
                "loss='{loss}'\nkernel='gaussian:1'\nstep='constant:0.05'\nlambda=0.1\naverage='{average}'\nbudget='unlimited'\nthreshold='norma'"
            );
            let text = if loss.contains("novelty") { text } else { text.replace("\nthreshold='norma'", "") };
            let mut l = learner(&text);
            let mut outside = 0.0;
            for i in 0..1500 {
                let y = if signs { target(row(i)).signum() } else { target(row(i)) };
                let theta = fixed.or(l.threshold()).unwrap_or(l.theta());
                let novelty = loss.contains("novelty");
                let (x, ys) = (row(i), [y]);
                let batch = if novelty { Batch::new(&x, 2) } else { Batch::new(&x, 2).numbers(&ys) };
                let mut seen = None;
                l.learn_with(&batch, |_, o| seen = Some((o.scores[0], o.loss.unwrap(), o.outside.unwrap(), o.threshold)))
                    .unwrap();
                let (z, lost, out, threshold) = seen.unwrap();
                let (expected, excess) = rule(z, y, theta);
                assert_eq!(out, expected, "{text}, row {i}: z = {z}, y = {y}, theta = {theta}");
                assert!(
                    (lost - (excess - charged * theta)).abs() < 1e-12,
                    "{text}, row {i}: loss {lost}, z = {z}, theta = {theta}"
                );
                assert_eq!(threshold, novelty.then_some(theta), "{text}, row {i}");
                outside += f64::from(u8::from(out));
            }
            assert!(outside > 0.0, "{text}: no row is outside, so nothing was tested");
            let Some(stated) = l.alert_rate() else { continue };
            assert!((stated.rate - outside / 1500.0).abs() < 1e-12, "{text}: {stated:?}, counted {}", outside / 1500.0);
            assert!((stated.rate - stated.nu).abs() <= stated.bound + 1e-12, "{text}: {stated:?}");
            if average == "none" {
                assert!(stated.bound < 0.1, "{text}: {stated:?}");
            }
        }
    }
}
