//! auto, small.

use okl_cli::random::Random;
use okl_papers::Context;
use okl_papers::auto::streams::{Drift, Stream, all, drifting};
use okl_papers::auto::{learn, measure};

use super::frame::page;

#[test]
fn a_drifting_stream_is_learned_without_settings() {
    let context = Context::smoke(1);
    let rows = drifting(3000, Drift::Sudden, &mut Random::new(3));
    let stream = Stream { name: "sudden", loss: "hinge", rows };
    let outcome = measure(&context, &stream).unwrap();
    assert!(outcome.auto.error < 0.4 && outcome.ratio(false) < 1.15, "{} {}", outcome.auto.error, outcome.ratio(false));
    assert_eq!(outcome.cost(), [1.0, 1.0], "in a smoke test the clock stands still");
    // What wins in a grid is a plain learner, and errs as it is said to.
    assert!(outcome.best.iter().all(|(_, run)| run.learner.members().len() == 1 && run.error < 0.4));
    let worse = learn(&context, &stream, "gamma = 1000.0\nlambda = 0.01\nstep = 'constant:0.1'").unwrap();
    assert!(worse.error > outcome.best[0].1.error);
}

#[test]
fn concepts_differ() {
    for drift in [Drift::Sudden, Drift::Gradual, Drift::Recurring] {
        let rows = drifting(400, drift, &mut Random::new(5));
        assert_eq!((rows.len(), rows.features, rows.y.len()), (400, 10, 400));
        assert!(rows.y.iter().filter(|y| **y > 0.0).count() > 40);
    }
}

#[test]
fn every_stream_is_on_the_page() {
    let html = page("auto");
    for stream in all(&Context::smoke(1)).unwrap() {
        assert!(html.contains(&format!("<td>{}</td>", stream.name)) || html.contains(stream.name), "{}", stream.name);
    }
    assert!(html.contains("settings in parallel"));
}

/// The names of the groups change, and not the columns: units stay, so the model has the bits of one whose units are fixed.
#[test]
fn the_units_of_drifting_streams_stay() {
    for drift in [Drift::Sudden, Drift::Gradual, Drift::Recurring] {
        let rows = drifting(6000, drift, &mut Random::new(3));
        let stream = Stream { name: "drift", loss: "hinge", rows };
        let outcome = learn(&Context::smoke(1), &stream, "").unwrap();
        assert_eq!(outcome.learner.unit_changes(), Some((0, 0)), "{drift:?}");
    }
}
