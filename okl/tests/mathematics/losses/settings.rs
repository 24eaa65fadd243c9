//! Large scores, names, parameters, structured outputs.

use std::collections::BTreeSet;

use super::*;

#[test]
fn nothing_overflows_at_large_scores() {
    let z = [1e4, -1e4, 0.0];
    for y in 0..3 {
        let (e, xi) = eval(&AnyLoss::Softmax {}, &z, &[f64::from(y)], 0.0);
        assert_eq!(e.loss, 1e4 - z[y as usize]);
        let expected: Vec<f64> = (0..3).map(|i| f64::from(u8::from(i == 0)) - f64::from(u8::from(i == y))).collect();
        assert_eq!(xi, expected);
        let mut hu = [f64::NAN; 3];
        AnyLoss::Softmax {}.curvature(&z, &[f64::from(y)], 0.0, &[1.0, 2.0, 3.0], &mut hu);
        assert_eq!(hu, [0.0; 3]);
        assert!(AnyLoss::Softmax {}.prox(&z, &[f64::from(y)], 0.0, &Metric { c: &[2.0; 3], basis: None }, &mut hu));
        assert!(apart(&hu, &expected) < 1e-12, "{hu:?} {expected:?}");
    }
    let logistic = |z: f64, y: f64| eval(&AnyLoss::Logistic {}, &[z], &[y], 0.0);
    assert_eq!(logistic(-1e4, 1.0), (Eval { loss: 1e4, dtheta: 0.0, outside: false }, vec![-1.0]));
    assert_eq!(logistic(1e4, 1.0), (Eval::default(), vec![-0.0]));
    assert!(logistic(40.0, 1.0).0.loss > 0.0, "small losses keep their digits");
    for c in [1e-3, 1.0, 1e6] {
        let mut xi = [f64::NAN];
        assert!(AnyLoss::Logistic {}.prox(&[-1e4], &[1.0], 0.0, &Metric { c: &[c], basis: None }, &mut xi));
        assert!(xi[0] < 0.0 && xi[0] >= -1.0, "{xi:?}");
    }
}

#[test]
fn configurations_read_back_by_name() {
    let names = [
        (r#"{"hinge":{"margin":1.0}}"#, r#"{"hinge":{}}"#),
        (r#"{"nu_hinge":{"nu":0.1}}"#, r#"{"nu_hinge":{}}"#),
        (r#"{"perceptron":{}}"#, r#"{"perceptron":{}}"#),
        (r#"{"logistic":{}}"#, r#"{"logistic":{}}"#),
        (r#"{"max_margin":{}}"#, r#"{"max_margin":{}}"#),
        (r#"{"softmax":{}}"#, r#"{"softmax":{}}"#),
        (r#"{"novelty":{"margin":1.0}}"#, r#"{"novelty":{}}"#),
        (r#"{"nu_novelty":{"nu":0.05}}"#, r#"{"nu_novelty":{}}"#),
        (r#"{"density":{"nu":0.05}}"#, r#"{"density":{}}"#),
        (r#"{"squared":{}}"#, r#"{"squared":{}}"#),
        (r#"{"absolute":{}}"#, r#"{"absolute":{}}"#),
        (r#"{"epsilon":{"epsilon":0.1}}"#, r#"{"epsilon":{}}"#),
        (r#"{"nu_epsilon":{"nu":0.1}}"#, r#"{"nu_epsilon":{}}"#),
        (r#"{"huber":{"sigma":1.0}}"#, r#"{"huber":{}}"#),
        (r#"{"nu_huber":{"nu":0.1,"sigma_rule":"quantile"}}"#, r#"{"nu_huber":{}}"#),
        (r#"{"nu_huber":{"nu":0.3,"sigma_rule":"concomitant"}}"#, r#"{"nu_huber":{"nu":0.3,"sigma_rule":"concomitant"}}"#),
        (r#"{"quantile":{"q":0.5}}"#, r#"{"quantile":{}}"#),
    ];
    let (mut read, mut tested) = (BTreeSet::new(), BTreeSet::new());
    for (full, short) in names {
        let loss: AnyLoss = serde_json::from_str(short).unwrap();
        read.insert(listed(&loss).name);
        assert_eq!(serde_json::to_string(&loss).unwrap(), full);
        assert_eq!(serde_json::from_str::<AnyLoss>(full).unwrap(), loss);
        assert_eq!(loss.check(), Ok(()));
    }
    for loss in every_loss() {
        tested.insert(listed(&loss).name);
        let text = serde_json::to_string(&loss).unwrap();
        assert_eq!(serde_json::from_str::<AnyLoss>(&text).unwrap(), loss);
    }
    // Every loss of a configuration is in both lists.
    let all: BTreeSet<&str> = family("loss").unwrap().names().collect();
    assert_eq!((&read, &tested), (&all, &all));
    for bad in
        [r#"{"hinge":{"nu":0.1}}"#, r#"{"hing":{}}"#, r#"{"perceptron":{"margin":1}}"#, r#"{"nu_huber":{"sigma_rule":"mean"}}"#]
    {
        assert!(serde_json::from_str::<AnyLoss>(bad).is_err(), "{bad}");
    }
}

#[test]
fn bad_parameters_are_named() {
    use AnyLoss::*;
    let concomitant = |nu| NuHuber { nu, sigma_rule: SigmaRule::Concomitant };
    for (loss, name) in [
        (Hinge { margin: 0.0 }, "margin"),
        (Hinge { margin: f64::NAN }, "margin"),
        (Novelty { margin: f64::INFINITY }, "margin"),
        (NuHinge { nu: 0.0 }, "nu"),
        (NuHinge { nu: 1.0 }, "nu"),
        (NuNovelty { nu: -0.1 }, "nu"),
        (Density { nu: 1.0 }, "nu"),
        (NuEpsilon { nu: f64::NAN }, "nu"),
        (NuHuber { nu: 1.5, sigma_rule: SigmaRule::Quantile }, "nu"),
        (concomitant(0.5), "nu"),
        (Epsilon { epsilon: -1.0 }, "epsilon"),
        (Huber { sigma: 0.0 }, "sigma"),
        (Quantile { q: 1.0 }, "q"),
    ] {
        let message = loss.check().unwrap_err();
        assert!(message.starts_with(&format!("{name} must ")), "{loss:?}: {message}");
    }
    assert_eq!(concomitant(0.49).check(), Ok(()));
    assert!(Hinge { margin: -2.5 }.check().unwrap_err().contains("-2.5"));
}

/// The classes as a structured output: one part per class, any two classes at distance 1.
struct Classes(usize);

impl Oracle for Classes {
    fn outputs(&self) -> usize {
        self.0
    }

    fn reads(&self) -> Reads {
        Reads::Class
    }

    fn argmax(&self, z: &[f64], y: &[f64], psi: &mut [f64]) -> f64 {
        let value = |c: usize| z[c] + f64::from(u8::from(c as f64 != y[0]));
        let others = (0..self.0).filter(|&c| c as f64 != y[0]);
        let best = others.reduce(|best, c| if value(c) > value(best) { c } else { best }).unwrap_or(y[0] as usize);
        psi.fill(0.0);
        psi[best] = 1.0;
        f64::from(u8::from(best as f64 != y[0]))
    }

    fn features(&self, y: &[f64], weight: f64, psi: &mut [f64]) {
        psi[y[0] as usize] += weight;
    }
}

#[test]
fn multiclass_margin_is_a_structured_margin() {
    let mut random = Random(10);
    for classes in [2, 3, 7] {
        let structured = Structured { oracle: Classes(classes) };
        assert_eq!((structured.outputs(), structured.reads()), (classes, Reads::Class));
        let mut seen = [0; 2];
        for _ in 0..1000 {
            let z = random.vector(classes, 1.5);
            let y = [random.below(classes) as f64];
            let (a, b) = (eval(&structured, &z, &y, 0.0), eval(&AnyLoss::MaxMargin {}, &z, &y, 0.0));
            assert_eq!(a, b, "z {z:?} y {y:?}");
            seen[usize::from(a.0.outside)] += 1;
        }
        assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
    }
}

#[test]
fn a_structured_margin_over_sequences_is_the_brute_force_one() {
    /// Three binary tags; parts: tag i is on (0..3), neighbours agree (3..5); delta: the number of wrong tags.
    struct Tags;
    fn parts(tags: usize) -> [f64; 5] {
        let on = |i: usize| (tags >> i & 1) as f64;
        let same = |i: usize| f64::from(u8::from(on(i) == on(i + 1)));
        [on(0), on(1), on(2), same(0), same(1)]
    }
    fn wrong(a: usize, b: usize) -> f64 {
        f64::from((a ^ b).count_ones())
    }
    impl Oracle for Tags {
        fn outputs(&self) -> usize {
            5
        }
        fn argmax(&self, z: &[f64], y: &[f64], psi: &mut [f64]) -> f64 {
            let y = y[0] as usize;
            let value = |t: usize| wrong(y, t) + dot(z, &parts(t));
            let best = (0..8).reduce(|best, t| if value(t) > value(best) { t } else { best }).unwrap_or(y);
            psi.copy_from_slice(&parts(best));
            wrong(y, best)
        }
        fn features(&self, y: &[f64], weight: f64, psi: &mut [f64]) {
            psi.iter_mut().zip(parts(y[0] as usize)).for_each(|(p, part)| *p += weight * part);
        }
    }
    let (mut random, loss) = (Random(11), Structured { oracle: Tags });
    let mut zero = 0;
    for _ in 0..1000 {
        let z = random.vector(5, 2.0);
        let y = random.below(8);
        let (e, xi) = eval(&loss, &z, &[y as f64], 0.0);
        let worst = (0..8).map(|t| wrong(y, t) + dot(&z, &parts(t)) - dot(&z, &parts(y))).fold(0.0, f64::max);
        assert!((e.loss - worst).abs() < 1e-14, "{} {worst}", e.loss);
        let other = random.vector(5, 2.0);
        let step: Vec<f64> = other.iter().zip(&z).map(|(o, z)| o - z).collect();
        assert!(eval(&loss, &other, &[y as f64], 0.0).0.loss >= e.loss + dot(&xi, &step) - 1e-14);
        assert_eq!(e.outside, xi.iter().any(|&x| x != 0.0) || e.loss > 0.0);
        zero += usize::from(!e.outside);
    }
    assert!(zero > 10 && zero < 990, "{zero}");
    assert!(!loss.can_prox(5, true));
}
