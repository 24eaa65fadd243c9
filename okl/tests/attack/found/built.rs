//! Cases whose streams are computed.

use crate::case::{Case, Row, Target};
use crate::rng::Rng;
use crate::stream::{Reads, draw};

/// All of them, with their names.
pub(super) fn cases() -> Vec<(&'static str, Case)> {
    let mut cases: Vec<(&str, Case)> =
        [1e-60, 1e-20, 1.0].map(|size| ("residuals of any size under a singular operator", small_residuals(size))).to_vec();
    cases.push(("a head that diverges does not stop a bank", diverging_head()));
    cases.push(("rows far from zero under a singular operator", far_rows()));
    cases.push(("the alert rate of a detector with a linear kernel", linear_detector()));
    cases
}

/// A proximal step under an operator with the eigenvalue 0: what a term adds to |f|² is 0 there, and its rounding may lie below 0.
fn singular_operator(own: &[(&'static str, &str)], rows: Vec<Row>) -> Case {
    let shared = [("implicit", "true"), ("step", "\"constant:0.012\""), ("lambda", "0.02"), ("scale", "\"none\"")];
    let settings = shared.iter().chain(own).map(|(k, v)| (*k, (*v).to_string())).collect();
    Case { seed: 7, family: "found", settings, rows, wide: false, ids: false, weights: false, cuts: vec![100] }
}

/// Residuals of a given size.
fn small_residuals(size: f64) -> Case {
    let target = |i: usize| Target::Numbers(vec![-0.5 * size, 0.3 * (i % 3) as f64 * size, size]);
    let rows = (0..200).map(|i| Row { x: vec![f64::from(0.3 * ((7 * i) % 5) as f32)], y: target(i), ..row() });
    let own = [
        ("loss", "\"absolute\""),
        ("kernel", "\"gaussian:0.5\""),
        ("operator", "[0.25, -0.125, 0.375, -0.125, 1.625, -0.5, 0.375, -0.5, 0.625]"),
        ("budget", "\"window:20\""),
    ];
    singular_operator(&own, rows.collect())
}

/// Rows at zero and rows far from it, where a linear kernel is 1e28: all but one direction of the outputs is rounding.
fn far_rows() -> Case {
    let x = |i: usize| if i % 3 == 1 { 0.0 } else { (((29 * i) % 31) as f64 - 15.0) * 1e13 };
    let target = |i: usize| Target::Numbers((0..3).map(|o| 0.3 * (((7 * i) % 5) as f64 - 1.0) + 0.4 * o as f64).collect());
    let rows = (0..60).map(|i| Row { x: vec![f64::from(x(i) as f32)], y: target(i), ..row() });
    let own = [
        ("loss", "\"squared\""),
        ("kernel", "{\"sum\": [\"linear\", {\"gaussian\": {\"gamma\": 0.026}}]}"),
        ("operator", "[0.5625, 0.375, 0.1875, 0.375, 0.25, 0.125, 0.1875, 0.125, 0.0625]"),
        ("offset", "true"),
        ("budget", "\"age:5\""),
    ];
    singular_operator(&own, rows.collect())
}

/// A head whose steps are too long for its kernel diverges; the others go on.
fn diverging_head() -> Case {
    let mut rng = Rng::new(3);
    let parts = "[{\"kernel\": \"gaussian:1\", \"operator\": [1]}, {\"kernel\": \"linear\", \"operator\": [1]}]";
    let settings =
        [("loss", "\"squared\""), ("operator", parts), ("warmup", "2"), ("budget", "\"window:20\""), ("scale", "\"none\"")];
    let rows = draw(&mut rng, 500, 3, Reads::Numbers(1), true, false);
    let settings = settings.iter().map(|(k, v)| (*k, (*v).to_string())).collect();
    Case { seed: 7, family: "found", settings, rows, wide: false, ids: false, weights: false, cuts: vec![100, 300] }
}

/// A detector with a linear kernel, whose scores have both signs.
fn linear_detector() -> Case {
    let mut rng = Rng::new(4);
    let settings = [
        ("loss", "\"nu_novelty:0.1\""),
        ("kernel", "\"linear\""),
        ("threshold", "\"tracker\""),
        ("step", "\"constant:0.01\""),
        ("lambda", "0.1"),
        ("budget", "\"window:30\""),
        ("warmup", "64"),
    ];
    let normal = |rng: &mut Rng| Row { x: (0..3).map(|_| f64::from(rng.normal() as f32)).collect(), ..row() };
    let rows = (0..1500).map(|_| normal(&mut rng)).collect();
    let settings = settings.iter().map(|(k, v)| (*k, (*v).to_string())).collect();
    Case { seed: 7, family: "found", settings, rows, wide: false, ids: false, weights: false, cuts: vec![100, 300] }
}

fn row() -> Row {
    Row { x: Vec::new(), y: Target::Nothing, known: true, weight: 1.0, id: 0 }
}
