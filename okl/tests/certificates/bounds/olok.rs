//! OLOK's bounds.

use super::*;

/// Outputs that depend on each other: J = (1, 0.1; 0.1, 1), kappa² = 1.1.
const J: [f64; 4] = [1.0, 0.1, 0.1, 1.0];
const KAPPA2: f64 = 1.1;

fn two_outputs(rows: usize, seed: u64) -> Data {
    Data::make(rows, 2, 2, seed, |rng, x| {
        let (a, b) = (f64::from(x[0]), f64::from(x[1]));
        vec![(1.5 * a).sin() + 0.2 * rng.normal(), 0.5 * (a * b).tanh() + 0.2 * rng.normal()]
            .into_iter()
            .map(|y| y.clamp(-1.5, 1.5))
            .collect()
    })
}

fn coupled(l: &Learner) -> Function {
    Function { operator: J.to_vec(), ..Function::of(l) }
}

/// R_reg(g, t) of the expansion `c` over the first t rows, and the coefficients of its gradient in H.
fn batch_risk(name: &str, lambda: f64, c: &[f64], data: &Data, gram: &[f64]) -> (f64, Vec<f64>) {
    let (t, m) = (c.len() / 2, data.rows());
    let mut gradient = vec![0.0; 2 * t];
    let mut risk = 0.0;
    for i in 0..t {
        let mut s = [0.0; 2];
        (0..t).for_each(|j| (0..2).for_each(|o| s[o] += gram[i * m + j] * c[2 * j + o]));
        let (z, y) = ([J[0] * s[0] + J[1] * s[1], J[2] * s[0] + J[3] * s[1]], data.target(i));
        let (r, own) = ([z[0] - y[0], z[1] - y[1]], &c[2 * i..2 * i + 2]);
        let tau = if name == "squared" { 1.0 } else { dot(&r, &r).sqrt().max(0.5) };
        (0..2).for_each(|o| gradient[2 * i + o] = lambda * own[o] + r[o] / tau / t as f64);
        risk += loss(name, &z, y) / t as f64 + 0.5 * lambda * dot(own, &z);
    }
    (risk, gradient)
}

/// A lower bound on inf_g R_reg(g, t) by gradient descent in H: R(g) - |gradient|²/(2 lambda), R being lambda-strongly convex; and g.
fn batch_optimum(name: &str, lambda: f64, t: usize, data: &Data, gram: &[f64]) -> (f64, Function) {
    let mut c = vec![0.0; 2 * t];
    let step = 1.0 / (lambda + 2.0 * KAPPA2);
    for _ in 0..600 {
        let (_, gradient) = batch_risk(name, lambda, &c, data, gram);
        c.iter_mut().zip(&gradient).for_each(|(c, g)| *c -= step * g);
    }
    let (risk, gradient) = batch_risk(name, lambda, &c, data, gram);
    let g = Function { centres: data.x[..2 * t].to_vec(), coefficients: c, operator: J.to_vec(), ..Function::zero(2, 2) };
    let gap = Function { coefficients: gradient, ..g.clone() }.norm2() / (2.0 * lambda);
    assert!(gap < 1e-6 * risk, "{name}: the batch problem is solved, gap {gap}");
    (risk - gap, g)
}

/// Propositions O2.1 and O2.2 and Theorem O1 (constants of 1.4, f_{i-1} as E12 asks) along one run.
fn check_olok(name: &str, lambda: f64, eta: f64, budget: &str, c: f64, u: f64) {
    let (m, data) = (300, two_outputs(300, 21));
    let gram = gram(&data);
    let mut l =
        learner(&format!("loss='{name}'\nstep='inverse_sqrt:{eta}'\nlambda={lambda}\nbudget='{budget}'\noperator=[1,0.1,0.1,1]"));
    let (mut sum, mut most) = (0.0, 0.0f64);
    let truncates = budget != "unlimited";
    for i in 0..m {
        let norm2 = coupled(&l).norm2();
        assert!(norm2.sqrt() <= u * (1.0 + 1e-6), "{name} {budget}: |f_{i}| = {} > U = {u}", norm2.sqrt());
        let z = data.teach(&mut l, i, None);
        sum += loss(name, &z, data.target(i)) + 0.5 * lambda * norm2;
        let (t, root) = ((i + 1) as f64, ((i + 1) as f64).sqrt());
        let engine = l.engine();
        let newest =
            engine.terms().live().find(|&slot| engine.terms().birth(slot) == Some(i as u64 + 1)).expect("every example enters");
        let alpha = [0, 1].map(|o| engine.heads()[0].expansion().alpha(o, newest));
        let (size, largest) = (dot(&alpha, &alpha).sqrt(), eta / root * c);
        assert!(size <= largest * (1.0 + 1e-12), "{name} {budget}: |alpha_tt| = {size} > eta_t C = {largest}");
        most = most.max(size / largest);
        if [20, 75, 150, 300].contains(&(i + 1)) {
            let (least, g) = batch_optimum(name, lambda, i + 1, &data, &gram);
            assert!(g.norm() <= u, "|g_t| <= U");
            let factor = if truncates { 10.0 } else { 2.0 };
            let bound = 2.0 * lambda * u * u * (factor * eta * lambda + 1.0 / (eta * lambda)) / root + u * u / (2.0 * eta) / t;
            println!(
                "{name} {budget} t {t}: mean R_inst {:.4} inf R_reg {least:.4} bound {bound:.4} terms {}",
                sum / t,
                l.terms()
            );
            assert!(sum / t <= least + bound, "{name} {budget} t {t}: {} > {least} + {bound}", sum / t);
        }
    }
    assert!(most > 0.3, "{name}: C is of the right size, {most}");
    assert_eq!(l.terms() < m, truncates, "{budget}: {} terms", l.terms());
}

#[test]
fn olok_lipschitz() {
    let lambda = 0.6;
    for (eta, budget) in [(1.5, "unlimited"), (0.5, "unlimited"), (1.5, "olok:0.3"), (1.5, "olok:0.4")] {
        check_olok("huber:0.5", lambda, eta, budget, 1.0, KAPPA2.sqrt() / lambda);
    }
}

/// Least squares: lambda > 2 kappa², U = C_y/kappa, |xi| <= 2 C_y.
#[test]
fn olok_least_squares() {
    let (lambda, data) = (2.3, two_outputs(300, 21));
    let c_y = data.y.chunks(2).map(|y| dot(y, y).sqrt()).fold(0.0, f64::max);
    let kappa = KAPPA2.sqrt();
    for (eta, budget) in [(0.4, "unlimited"), (0.1, "unlimited"), (0.4, "olok:0.3")] {
        check_olok("squared", lambda, eta, budget, 2.0 * c_y, c_y / kappa);
    }
    // E15: |g_t| <= kappa C_y/lambda for the batch solution, which is the one that descent finds.
    let gram = gram(&data);
    for t in [1usize, 10, 100, 300] {
        let square: Vec<f64> = (0..t * t).map(|i| gram[i / t * 300 + i % t]).collect();
        let c = okl::rls::solve(&square, &data.y[..2 * t], &J, 2, lambda).unwrap();
        let g =
            Function { centres: data.x[..2 * t].to_vec(), coefficients: c.clone(), operator: J.to_vec(), ..Function::zero(2, 2) };
        assert!(g.norm() <= kappa * c_y / lambda, "t {t}: {} > {}", g.norm(), kappa * c_y / lambda);
        let (risk, gradient) = batch_risk("squared", lambda, &c, &data, &gram);
        assert!(gradient.iter().all(|g| g.abs() < 1e-12), "t {t}: stationary");
        assert!((risk - batch_optimum("squared", lambda, t, &data, &gram).0).abs() < 1e-6 * risk);
    }
    // One point many times over comes within a factor of two of the bound.
    let c = okl::rls::solve(&[1.0f64; 100], &[1.0; 20], &J, 2, lambda).unwrap();
    let one = Function { centres: vec![0.5; 20], coefficients: c, operator: J.to_vec(), ..Function::zero(2, 2) };
    assert!(one.norm() > 0.5 * kappa * 2f64.sqrt() / lambda);
}

/// The table of E14, and what t_0 means: the three conditions hold from there on, and not just before.
#[test]
fn olok_t0_table() {
    use okl::budget::olok_t0;
    let exact = [
        (0.3, 0.3, 25_152.0),
        (0.3, 0.4, 933.0),
        (0.3, 0.45, 337.0),
        (1.0, 0.2, 3.0),
        (1.0, 0.25, 4.0),
        (1.0, 0.3, 5.0),
        (1.0, 0.4, 18.0),
        (3.0, 0.1, 10.0),
        (3.0, 0.2, 10.0),
        (3.0, 0.3, 10.0),
        (3.0, 0.4, 18.0),
    ];
    for (eta_lambda, exponent, t0) in exact {
        assert_eq!(olok_t0(eta_lambda, exponent), t0, "eta lambda {eta_lambda} epsilon {exponent}");
        let holds = |t: f64| {
            eta_lambda < t.sqrt()
                && (-eta_lambda * t.powf(exponent)).exp() <= eta_lambda / t.sqrt()
                && t.powf(0.5 + exponent) <= 0.75 * t
        };
        assert!(!holds(t0 - 1.0), "least: {eta_lambda} {exponent}");
        assert!((0..20_000).all(|i| holds(t0 + f64::from(i))), "for all: {eta_lambda} {exponent}");
        assert!((0..200).all(|i| holds(t0 * 1.2f64.powi(i))), "for all: {eta_lambda} {exponent}");
    }
    for (eta_lambda, exponent, t0) in [(0.3, 0.2, 4.0e7), (0.3, 0.25, 4.3e5), (1.0, 0.1, 1.1e11)] {
        let found = olok_t0(eta_lambda, exponent);
        assert!((found / t0 - 1.0).abs() < 0.05, "{eta_lambda} {exponent}: {found}");
    }
}

// Alert rates
