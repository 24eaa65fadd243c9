//! SVMD's experiment: the stream is the paper's, step sizes are what their rules say, and tuning tunes.

use okl::{Batch, Config, Learner};
use okl_papers::Context;
use okl_papers::data::{Rows, USPS};
use okl_papers::svmd::scan::{Bench, Cell};
use okl_papers::svmd::{Course, GAMMA, LAMBDA, Reading, Rule, Stream, TAUS, measure};

use super::frame::{SEED, page};

fn digits(context: &Context) -> Rows {
    context.load(&USPS).expect("stand-ins need no file").train
}

#[test]
fn the_digits_change_halfway_and_the_sign_is_that_of_the_digit() {
    let context = Context::smoke(SEED);
    let stream = Stream::new(&context, &digits(&context), 90, 0, 0.0);
    assert_eq!(stream.rows.len(), 180);
    for (i, digit) in stream.rows.y.iter().enumerate() {
        let expected: [f64; 2] = if i < 90 { [0.0, 1.0] } else { [2.0, 3.0] };
        assert!(expected.contains(digit), "digit {digit} at {i}");
        assert_eq!(stream.signs[i], if *digit == expected[1] { 1.0 } else { -1.0 });
    }
    assert_eq!(stream.told, stream.signs);
    let other = Stream::new(&context, &digits(&context), 90, 1, 0.0);
    assert_ne!(stream.rows, other.rows, "every shuffle has an order of its own");
}

#[test]
fn about_the_asked_share_of_labels_is_told_wrong() {
    let context = Context::smoke(SEED);
    let rows = digits(&context);
    let streams = (0..10).map(|shuffle| Stream::new(&context, &rows, 90, shuffle, 0.1));
    let wrong = |s: Stream| s.told.iter().zip(&s.signs).filter(|(told, sign)| told != sign).count();
    let wrong: usize = streams.map(wrong).sum();
    // 1,800 labels: 180 expected, deviation 12.7.
    assert!((130..230).contains(&wrong), "{wrong} of 1800");
}

#[test]
fn a_schedule_has_the_step_sizes_of_its_formula() {
    let context = Context::smoke(SEED);
    let stream = Stream::new(&context, &digits(&context), 40, 0, 0.0);
    let course = Course::run(Rule::Schedule(30.0), Reading::Sign, LAMBDA, &stream).unwrap();
    for (i, eta) in course.eta.iter().enumerate() {
        let t = (i + 1) as f64;
        assert!((eta - (30.0 / (30.0 + t)).sqrt()).abs() < 1e-15, "at {t}");
    }
}

#[test]
fn safeguards_hold_the_step_size_within_limits() {
    let context = Context::smoke(SEED);
    let stream = Stream::new(&context, &digits(&context), 90, 0, 0.1);
    for lambda in [0.3, LAMBDA] {
        for rule in [Rule::Limited, Rule::Guarded] {
            let course = Course::run(rule, Reading::Sign, lambda, &stream).unwrap();
            let mut last = 1.0;
            for eta in course.eta {
                assert!(
                    (1e-6..=0.5 / lambda).contains(&eta) && eta <= 2.0 * last && eta >= last / 2.0,
                    "{rule:?}: {eta} after {last}"
                );
                last = eta;
            }
        }
    }
}

/// E19: two classes under V(8) with eta and lambda are the hinge loss with 2 eta and lambda / 2.
#[test]
fn two_classes_are_the_hinge_loss_with_twice_the_step() {
    let context = Context::smoke(SEED);
    let stream = Stream::new(&context, &digits(&context), 90, 0, 0.0);
    let classes = Course::run(Rule::Schedule(100.0), Reading::TwoClasses, 0.02, &stream).unwrap();
    let settings =
        format!("loss = 'hinge'\nkernel = 'gaussian:{GAMMA}'\nstep = 'decay:eta=2,tau=100'\nlambda = 0.01\nbudget = 'unlimited'");
    let mut hinge = Learner::new(Config::from_toml(&settings).unwrap()).unwrap();
    for i in 0..stream.rows.len() {
        let score = hinge.learn(&Batch::new(stream.rows.row(i), 256).numbers(&stream.signs[i..=i])).unwrap().values[0];
        if score.abs() > 1e-9 {
            assert_eq!(classes.mistaken[i], score * stream.signs[i] < 0.0, "row {i}, score {score}");
        }
    }
}

#[test]
fn the_chosen_tau_is_the_best_on_the_shuffles_for_tuning() {
    let context = Context::smoke(SEED);
    let bench = Bench::new(&context, &digits(&context), 0.1);
    let tuned = bench.tune(Reading::Sign, LAMBDA).unwrap();
    let error = |tau: f64, n: usize| -> f64 {
        let run = |s: &Stream| Course::run(Rule::Schedule(tau), Reading::Sign, LAMBDA, s).unwrap().error(n);
        bench.tuning.iter().map(run).sum()
    };
    for tau in TAUS {
        assert!(error(tuned.whole, 2 * bench.half) <= error(tau, 2 * bench.half), "whole stream, tau {tau}");
        assert!(error(tuned.first_half, bench.half) <= error(tau, bench.half), "first half, tau {tau}");
    }
    let apart = |a: &Stream| bench.shown.iter().all(|b| a.rows != b.rows);
    assert!(bench.tuning.iter().all(apart), "what is shown was not tuned on");
}

#[test]
fn shuffles_are_won_and_lost_one_by_one() {
    let cell = |errors: &[f64]| Cell { rule: Rule::Guarded, errors: errors.to_vec(), last: 1.0 };
    let (a, b) = (cell(&[0.1, 0.2, 0.3, 0.4]), cell(&[0.2, 0.2, 0.1, 0.5]));
    assert_eq!((a.against(&b), b.against(&a)), ((2, 1), (1, 2)));
}

#[test]
fn every_rule_is_measured_on_every_shuffle() {
    let outcome = measure(&Context::smoke(SEED)).unwrap();
    for row in outcome.clean.iter().chain(&outcome.noisy).chain(&outcome.two_classes) {
        for cell in [&row.whole, &row.first_half, &row.published, &row.limited, &row.guarded] {
            assert_eq!(cell.errors.len(), outcome.shuffles);
            assert!(cell.errors.iter().all(|e| (0.0..=0.6).contains(e)), "{:?} at {}: {:?}", cell.rule, row.lambda, cell.errors);
        }
    }
    assert!(outcome.classes.iter().all(|row| row.test.mean < 0.5), "ten classes are told apart better than by chance");
    let html = page("svmd");
    for heading in ["Figure 1", "Figure 2", "Over λ", "With wrong labels", "Other readings", "All ten digits", "Without labels"]
    {
        assert!(html.contains(heading), "no {heading}");
    }
}
