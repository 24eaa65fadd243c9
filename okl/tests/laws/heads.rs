//! Several heads over one set of terms, and SVMD's trace starting anew.

use okl::basis::terms::Terms;
use okl::basis::{Dense, Points};
use okl::budget::{AnyBudget, BudgetRule};
use okl::engine::head::{Average, HeadParts, Rules, Shrink};
use okl::engine::{Engine, Labels, Parts};
use okl::gram::{Backend, Matrix, square};
use okl::kernel::AnyKernel;
use okl::loss::AnyLoss;
use okl::output::Output;
use okl::regulariser::AnyRegulariser;
use okl::step::AnyStep;
use okl::{Batch, Config, Learner};

const FEATURES: usize = 3;

type DenseEngine = Engine<Terms<Dense<AnyKernel>>, AnyLoss, AnyStep, AnyBudget>;

fn stream(rows: usize) -> (Vec<f32>, Vec<f64>) {
    let mut seed = 41u64;
    let mut uniform = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f32 / (1u64 << 31) as f32 - 0.5
    };
    let x: Vec<f32> = (0..rows * FEATURES).map(|_| uniform()).collect();
    let y = x.chunks(FEATURES).map(|r| if (r[0] * r[1] > 0.0) ^ (r[2] > 0.4) { 1.0 } else { -1.0 }).collect();
    (x, y)
}

fn heads() -> Vec<HeadParts<AnyStep>> {
    let smd = AnyStep::Smd { eta: 0.3, mu: 0.05, decay: 0.9, floor: None, cap: None, preset: None, per: None };
    [(AnyStep::Constant { eta: 0.5 }, 0.01), (AnyStep::InverseSqrt { eta: 1.0 }, 0.05), (smd, 0.02)]
        .map(|(step, lambda)| HeadParts { average: Average::Uniform, ..HeadParts::new(step, lambda) })
        .to_vec()
}

fn engine(loss: AnyLoss, budget: BudgetRule, heads: Vec<HeadParts<AnyStep>>) -> DenseEngine {
    let rules = Rules {
        regulariser: AnyRegulariser::Square,
        offset: true,
        implicit: false,
        allow_overshoot: false,
        shrink: Shrink::Always,
    };
    let space = Dense::new(vec![AnyKernel::Gaussian { gamma: 2.0 }], FEATURES, Backend::best());
    let budget = AnyBudget::new(budget, 0.0);
    Engine::new(Parts {
        basis: Terms::new(space),
        losses: vec![loss],
        budget,
        heads,
        output: Output::Identity,
        outputs: 1,
        theta0: None,
        rules,
    })
}

fn learn(engine: &mut DenseEngine, x: &[f32], y: &[f64], cut: usize) {
    for (x, y) in x.chunks(cut * FEATURES).zip(y.chunks(cut)) {
        let squares: Vec<f32> = x.chunks(FEATURES).map(square).collect();
        let points = Points { rows: Matrix::new(FEATURES, x), squares: &squares };
        engine.learn_block(points, &Labels { y, width: 1, ..Labels::default() }, |_, _| {});
    }
}

/// Everything a head is, as bits.
fn bits(engine: &DenseEngine, head: usize) -> Vec<u64> {
    let head = &engine.heads()[head];
    let of_terms = engine.terms().live().flat_map(|slot| {
        [Some(head.expansion().alpha(0, slot)), head.expansion().mean(0, slot), head.expansion().trace(0, slot)]
    });
    let scalars = [head.offset()[0], head.eta(), head.norm2(), head.trace_product(), head.trace_norm2(), head.truncation_error()];
    of_terms.flatten().chain(scalars).map(f64::to_bits).collect()
}

#[test]
fn heads_that_share_terms_are_the_learners_they_would_be_alone() {
    // A smooth loss appends every example for every head, so that slots agree and equality is to the last bit.
    let (x, y) = stream(400);
    let mut together = engine(AnyLoss::Logistic {}, BudgetRule::Window { terms: 150 }, heads());
    learn(&mut together, &x, &y, 64);
    for (h, head) in heads().into_iter().enumerate() {
        let mut alone = engine(AnyLoss::Logistic {}, BudgetRule::Window { terms: 150 }, vec![head]);
        learn(&mut alone, &x, &y, 64);
        if h < 2 {
            // With an smd head among them every norm is kept exactly; alone, these two keep an upper bound.
            let coefficients = |e: &DenseEngine, h: usize| {
                e.terms().live().map(|s| e.heads()[h].expansion().alpha(0, s).to_bits()).collect::<Vec<_>>()
            };
            assert_eq!(coefficients(&together, h), coefficients(&alone, 0), "head {h}");
            assert!(together.heads()[h].norm2() <= alone.heads()[0].norm2());
        } else {
            assert_eq!(bits(&together, h), bits(&alone, 0), "head {h}");
        }
    }
}

#[test]
fn the_cut_does_not_matter_for_several_heads() {
    let (x, y) = stream(500);
    for budget in [
        BudgetRule::Unlimited {},
        BudgetRule::Window { terms: 60 },
        BudgetRule::Transfer { terms: 60 },
        BudgetRule::Merge { terms: 60 },
        BudgetRule::Age { steps: 90 },
    ] {
        let run = |cut: usize| {
            let mut engine = engine(AnyLoss::Hinge { margin: 1.0 }, budget.clone(), heads());
            learn(&mut engine, &x, &y, cut);
            (0..3).map(|h| bits(&engine, h)).collect::<Vec<_>>()
        };
        let one_by_one = run(1);
        assert_ne!(one_by_one[0], one_by_one[1], "the heads differ from each other");
        for cut in [7, 64, 500] {
            assert_eq!(one_by_one, run(cut), "{budget:?}, cut {cut}");
        }
    }
}

#[test]
fn a_trace_that_starts_anew_leaves_the_function_alone() {
    let (x, y) = stream(300);
    let config =
        "loss = 'logistic'\nkernel = 'gaussian:2'\nstep = 'smd:eta=0.3'\nlambda = 0.02\noffset = true\nbudget = 'unlimited'";
    let mut learner = Learner::new(Config::from_toml(config).unwrap()).unwrap();
    learner.learn(&Batch::new(&x[..200 * FEATURES], FEATURES).numbers(&y[..200])).unwrap();
    let head = |l: &Learner| (l.engine().heads()[0].trace_norm2(), l.engine().heads()[0].trace_product());
    assert!(head(&learner).0 > 0.0);
    let scores = |l: &Learner| l.predict(&Batch::new(&x, FEATURES)).unwrap();
    let (before, eta) = (scores(&learner), learner.eta());
    learner.reset_trace();
    assert_eq!(head(&learner), (0.0, 0.0));
    assert_eq!(before, scores(&learner));
    // <g, v> = 0: the next step size is the last one.
    learner.learn(&Batch::new(&x[200 * FEATURES..201 * FEATURES], FEATURES).numbers(&y[200..201])).unwrap();
    assert_eq!(learner.eta(), eta);
    assert!(head(&learner).0 > 0.0);
}
