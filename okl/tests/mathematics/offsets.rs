//! Offsets whose steps are not those of f.

use crate::support::cases::Random;
use okl::step::AnyStep;
use okl::{Batch, Config, Label, Learner};

const ROWS: usize = 120;

fn rows(shift: f64) -> (Vec<f32>, Vec<f64>) {
    let mut random = Random(7);
    let x: Vec<f32> = (0..2 * ROWS).map(|_| (2.0 * random.unit() - 1.0) as f32).collect();
    let y = x.chunks(2).map(|r| f64::from(r[0] * r[1]) + shift).collect();
    (x, y)
}

fn learner(settings: &str) -> Learner {
    Learner::new(Config::from_toml(settings).unwrap()).unwrap()
}

/// Without a regulariser, an offset with the step s is a function over the constant kernel s, in every kind of step. A Gaussian of
/// width 1e-30 is 1 for all pairs.
#[test]
fn an_offset_is_a_function_over_a_constant_kernel() {
    let (x, y) = rows(0.3);
    for (loss, step) in [
        ("squared", "implicit = true\nstep = 'constant:2'"),
        ("hinge", "implicit = true\nstep = 'decay:eta=5,tau=50'"),
        ("squared", "step = 'normalised:eta=0.5'"),
        ("logistic", "step = 'constant:0.5'"),
        ("squared", "step = 'smd:eta=0.1,mu=0.2'"),
    ] {
        let common = format!("loss = '{loss}'\n{step}\nlambda = 0\nbudget = 'unlimited'\nscale = 'none'");
        let y: Vec<f64> = y.iter().map(|y| if loss == "squared" { *y } else { y.signum() }).collect();
        for s in [0.0, 0.25, 1.0, 4.0] {
            let with = format!("{common}\noffset = true\noffset_step = {s}\nkernel = 'gaussian:0.5'");
            let constant = format!("{{ scaled = {{ weight = {s}, of = {{ gaussian = {{ gamma = 1e-30 }} }} }} }}");
            let sum = match s > 0.0 {
                true => format!("{common}\nkernel = {{ sum = [{{ gaussian = {{ gamma = 0.5 }} }}, {constant}] }}"),
                false => format!("{common}\nkernel = 'gaussian:0.5'"),
            };
            let [a, b] = [with, sum].map(|text| learner(&text).learn(&Batch::new(&x, 2).numbers(&y)).unwrap().values);
            let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 2e-5, "{loss}, {step}, {s}: {apart}");
        }
    }
}

/// In the bank of `kernel = auto`, heads with the large step have the offset of their first rows for ever, the small step moves it as it
/// moves f, and only classes have a head that forgets. `heads = selected` has neither.
#[test]
fn heads_of_the_automatic_bank_are_varied() {
    let members = |text: &str| Config::from_toml(&format!("kernel = 'auto'\noffset = true\n{text}")).unwrap().members();
    let steps = |text: &str| {
        let of_step = |step: AnyStep| members(text).into_iter().find(|m| m.step == step).map(|m| m.offset_step);
        let constant = |eta: f64| AnyStep::Constant { eta };
        [AnyStep::Decay { eta: 2.0, tau: 1000.0 }, constant(20.0), constant(0.2), constant(1.0)].map(of_step)
    };
    assert_eq!(steps("loss = 'hinge'"), [Some(0.1), Some(0.0), Some(1.0), Some(0.0)]);
    assert_eq!(steps("loss = 'max_margin'"), steps("loss = 'hinge'"));
    assert_eq!(steps("loss = 'squared'"), [Some(0.1), Some(0.0), Some(1.0), None]);
    assert_eq!(steps("loss = 'hinge'\nheads = 'selected'"), [Some(1.0), Some(1.0), Some(1.0), None]);
    assert_eq!(steps("loss = 'squared'\noffset_step = 0.5"), [Some(0.5), Some(0.5), Some(0.5), None]);

    let (x, y) = rows(100.0);
    let mut bank = learner("kernel = 'auto'\nloss = 'squared'\noffset = true\nwarmup = 32");
    bank.learn(&Batch::new(&x, 2).numbers(&y)).unwrap();
    let mut first = y[..32].to_vec();
    first.sort_by(f64::total_cmp);
    let mut rules = bank.config().members();
    rules.retain(|rule| !bank.config().is_weight_vector(rule));
    rules.dedup_by(|a, b| a.step == b.step && a.width == b.width);
    assert_eq!(rules.len(), bank.engine().heads().len());
    for (head, rule) in bank.engine().heads().iter().zip(&rules) {
        let moved = (head.offset()[0] - first[15]).abs();
        let stays = rule.step == AnyStep::Constant { eta: 20.0 };
        assert!(moved < 0.5 && stays == (moved < 1e-12), "{:?}: {moved}", rule.step);
    }
}

/// A plain learner made of a bank goes on as the head did that led it: here its offset stays.
#[test]
fn a_frozen_head_keeps_the_step_of_its_offset() {
    let (x, y) = rows(0.0);
    let labels: Vec<Label> = y.iter().map(|y| Label::from(i64::from(*y > 0.0))).collect();
    let mut bank = learner("kernel = 'auto'\nloss = 'max_margin'\noffset = true\nwarmup = 32");
    bank.learn(&Batch::new(&x, 2).labels(&labels)).unwrap();
    let (leader, _) = &bank.members()[0];
    let mut plain = bank.freeze().unwrap();
    assert_eq!(plain.members()[0].0.offset_step, leader.offset_step);
    assert_eq!((leader.offset_step, plain.config().offset_step), (0.0, Some(0.0)));
    let (offset, before) = (plain.offset().to_vec(), plain.norm2());
    plain.learn(&Batch::new(&x, 2).labels(&labels)).unwrap();
    assert!(plain.offset() == offset && plain.norm2() != before);
}

/// The loss that is reported is that of the scores that are reported: of the average, where there is one.
#[test]
fn the_loss_of_a_row_is_that_of_its_scores() {
    let (x, y) = rows(3.0);
    for average in ["none", "uniform", "exponential:0.05"] {
        let mut plain = learner(&format!(
            "loss = 'squared'\nkernel = 'gaussian:0.5'\nscale = 'none'\nstep = 'constant:0.3'\nlambda = 0.001\naverage = '{average}'"
        ));
        let mut differs = 0;
        plain
            .learn_with(&Batch::new(&x, 2).numbers(&y), |i, row| {
                let expected = 0.5 * (row.scores[0] - y[i]).powi(2);
                let found = row.loss.unwrap();
                differs += usize::from((found - expected).abs() > 1e-12 * expected.max(1.0));
            })
            .unwrap();
        assert_eq!(differs, 0, "{average}");
    }
}
