//! Algorithms that are the same under some settings.

use super::*;

// ----------------------------------------------------------------------------------------- (c) equivalences, section 5 item 8

/// E19: two classes of max_margin under (eta, lambda) are NORMA's hinge under (2 eta, lambda/2); |F|² = 2 |f|².
#[test]
fn two_classes_are_one_margin() {
    for (budget, step, twice) in [
        ("unlimited", "constant:0.1", "constant:0.2"),
        ("window:50", "inverse_sqrt:0.25", "inverse_sqrt:0.5"),
        ("unlimited", "decay:eta=0.25,tau=50", "decay:eta=0.5,tau=50"),
    ] {
        let common = format!("kernel = 'gaussian:0.5'\noffset = true\nbudget = '{budget}'\n");
        let mut two = learner(&format!("{common}loss = 'max_margin'\nclasses = [0, 1]\nlambda = 0.04\nstep = '{step}'"));
        let mut one = learner(&format!("{common}loss = 'hinge'\nlambda = 0.02\nstep = '{twice}'"));
        for (x, y) in &streams::two_classes(1000, 3, 4) {
            let z = learn_one(&mut two, x, &[if y[0] > 0.0 { 1.0 } else { 0.0 }]);
            near(z[1] - z[0], learn_one(&mut one, x, y)[0], 1e-10, "score");
        }
        assert_eq!(births(&one), births(&two));
        near(one.norm2(), 2.0 * two.norm2(), 1e-9, "norm");
    }
}

/// 3.4: with J = U S U^T and squared loss, each U-component is a scalar run under s_j k on the rotated targets.
#[test]
fn operators_decouple_under_squared_loss() {
    let j = [vec![2.0, 0.5, 0.0], vec![0.5, 1.0, -0.3], vec![0.0, -0.3, 0.7]];
    let eigen = okl::rls::eigen_symmetric(&j.concat(), 3);
    let rotate = |z: &[f64], c: usize| (0..3).map(|o| eigen.vectors[o * 3 + c] * z[o]).sum::<f64>();
    let common = "loss = 'squared'\nlambda = 0.05\nstep = 'inverse_sqrt:0.3'\noffset = true\nbudget = 'unlimited'\n";
    let mut whole = learner(&format!("{common}kernel = 'gaussian:0.5'\noperator = {:?}", j.concat()));
    let scalar = |s: f64| learner(&format!("{common}kernel = {{ scaled = {{ weight = {s}, of = 'gaussian:0.5' }} }}"));
    let mut parts: Vec<Learner> = eigen.values.iter().map(|s| scalar(*s)).collect();
    for (x, y) in &streams::vector_regression(600, 3, 3, 63) {
        let z = learn_one(&mut whole, x, y);
        for (c, part) in parts.iter_mut().enumerate() {
            near(rotate(&z, c), learn_one(part, x, &[rotate(y, c)])[0], 1e-5, "component");
        }
    }
    near(whole.norm2(), parts.iter().map(Learner::norm2).sum(), 1e-5, "norm");
}

/// vv-RLS through eigenvectors against the dense Kronecker system; and it is stationary where OLOK's risk is.
#[test]
fn batch_solution() {
    let stream = streams::vector_regression(40, 3, 3, 65);
    let (xs, ys): (Vec<_>, Vec<_>) = stream.iter().map(|(x, y)| (wide(x), y.clone())).unzip();
    let k = kernels::gaussian(0.5);
    let gram: Vec<f64> = xs.iter().flat_map(|x| xs.iter().map(|y| k(x, y)).collect::<Vec<_>>()).collect();
    for j in [equicorrelated(3, 0.3), identity(3), vec![vec![1.0, 1.0, 0.0], vec![1.0, 1.0, 0.0], vec![0.0, 0.0, 0.5]]] {
        for lambda in [1e-3, 0.1] {
            let ours = okl::rls::solve(&gram, &ys.concat(), &j.concat(), 3, lambda).unwrap();
            let dense = crate::twin::olok::vv_rls(&k, &j, &xs, &ys, lambda).concat();
            ours.iter().zip(&dense).for_each(|(a, b)| near(*a, *b, 1e-8, "vv-RLS"));
        }
    }
}

/// lambda = 0 and eta = 1: the textbook kernel perceptron; S(4)-(5) is the squared loss. Written out once more, in full.
#[test]
fn perceptron_and_sumitra_in_full() {
    let k = kernels::gaussian(0.5);
    let mut perceptron =
        learner("loss = 'perceptron'\nkernel = 'gaussian:0.5'\nlambda = 0\nstep = 'constant:1'\nbudget = 'unlimited'");
    let mut mistakes: Vec<(Vec<f64>, f64)> = vec![];
    for (x, y) in &streams::two_classes(1000, 3, 67) {
        let f: f64 = mistakes.iter().map(|(xi, yi)| yi * k(xi, &wide(x))).sum();
        near(f, learn_one(&mut perceptron, x, y)[0], 1e-5, "score");
        if y[0] * f <= 0.0 {
            mistakes.push((wide(x), y[0]));
        }
        assert_eq!(perceptron.terms(), mistakes.len());
    }
    let (eta, mu) = (0.1, 0.05);
    let mut squared =
        learner("loss = 'squared'\nkernel = 'gaussian:0.5'\nlambda = 0.05\nstep = 'constant:0.1'\nbudget = 'unlimited'");
    let mut terms: Vec<(Vec<f64>, f64)> = vec![];
    for (x, y) in &streams::regression(600, 3, 67) {
        let f: f64 = terms.iter().map(|(xi, a)| a * k(xi, &wide(x))).sum();
        near(f, learn_one(&mut squared, x, y)[0], 1e-5, "score");
        terms.iter_mut().for_each(|(_, a)| *a *= 1.0 - eta * mu);
        terms.push((wide(x), -eta * (f - y[0])));
    }
}

/// 3.4: f = L h, coefficients L^T alpha, for any loss and any step; SVMD's trace included.
#[test]
fn whitening() {
    let l = vec![vec![1.0, 0.0, 0.0], vec![0.3, 0.9, 0.0], vec![-0.2, 0.4, 0.8]];
    let lt = crate::twin::olok::transpose(&l);
    let j: Matrix = l.iter().map(|row| l.iter().map(|other| inner(row, other)).collect()).collect();
    let stream = streams::vector_regression(400, 3, 3, 64);
    let smd = AnyStep::Smd { eta: 0.1, mu: 0.05, decay: 0.9, floor: None, cap: None, preset: None, per: None };
    // |f|² is exact under smd and where nothing is dropped; elsewhere it is a bound whose rounding depends on J.
    for (step, budget) in [(AnyStep::InverseSqrt { eta: 0.3 }, BudgetRule::Unlimited {}), (smd, BudgetRule::Window { terms: 60 })]
    {
        let output = Output::Separable(vec![okl::output::Operator::new(&j.concat()).unwrap()]);
        let mut whole = engine_of(
            Items::new(Gaussian(0.5)),
            AnyLoss::Huber { sigma: 0.5 },
            budget.clone(),
            vec![(step.clone(), 0.05)],
            output,
            3,
        );
        let white = Whitened { l: l.clone(), loss: AnyLoss::Huber { sigma: 0.5 } };
        let mut white = engine_of(Items::new(Gaussian(0.5)), white, budget, vec![(step, 0.05)], Output::Identity, 3);
        for (x, y) in &stream {
            let z = step_of(&mut whole, &[wide(x)], y);
            let h = step_of(&mut white, &[wide(x)], y);
            z.iter().zip(times(&l, &h)).for_each(|(a, b)| near(*a, b, 1e-9, "f = L h"));
        }
        let (a, b) = (whole.heads()[0].expansion(), white.heads()[0].expansion());
        for slot in whole.terms().live() {
            let alpha: Vec<f64> = (0..3).map(|o| a.alpha(o, slot)).collect();
            times(&lt, &alpha).iter().enumerate().for_each(|(o, v)| near(*v, b.alpha(o, slot), 1e-9, "L^T alpha"));
        }
        near(whole.heads()[0].norm2(), white.heads()[0].norm2(), 1e-8, "|f|");
        near(whole.heads()[0].eta(), white.heads()[0].eta(), 1e-9, "eta");
    }
}

/// E11: for nu-classification and novelty only lambda eta matters; everything else scales, to the bit when by a power of two.
/// For the tube it does not hold: y fixes the scale.
#[test]
fn lambda_eta() {
    let scores = |loss: &str, lambda: f64, eta: f64, stream: &Stream| {
        let mut learner = learner(&format!(
            "loss = '{loss}'\nkernel = 'gaussian:0.5'\nlambda = {lambda}\nstep = 'constant:{eta}'\nbudget = 'unlimited'\n{}",
            if loss.contains("novelty") { "" } else { "offset = true" }
        ));
        (run(&mut learner, stream).concat(), births(&learner), learner.theta())
    };
    let times_8 = |z: &[f64]| z.iter().map(|z| 8.0 * z).collect::<Vec<_>>();
    for (loss, stream) in [("nu_hinge:0.4", streams::two_classes(1500, 3, 68)), ("nu_novelty:0.1", streams::novelty(1500, 3, 68))]
    {
        let (small, large) = (scores(loss, 1.0, 1.0 / 256.0, &stream), scores(loss, 0.125, 1.0 / 32.0, &stream));
        assert!(!small.1.is_empty());
        assert_eq!((times_8(&small.0), 8.0 * small.2), (large.0, large.2), "{loss}");
        assert_eq!(small.1, large.1, "{loss}: the same alerts");
    }
    let stream = streams::regression(1500, 3, 68);
    let (small, large) =
        (scores("nu_epsilon:0.3", 1.0, 1.0 / 256.0, &stream), scores("nu_epsilon:0.3", 0.125, 1.0 / 32.0, &stream));
    assert_ne!(small.1, large.1);
}

/// OLOK with d = 1 and J = 1 is NORMA with squared loss, bit for bit.
#[test]
fn scalar_olok_is_norma() {
    let toml = "loss = 'squared'\nkernel = 'gaussian:0.5'\nlambda = 0.9\nstep = 'inverse_sqrt:1'\nbudget = 'olok:0.4'\n";
    let stream = streams::regression(1000, 3, 66);
    let (mut olok, mut norma) = (learner(&format!("{toml}operator = [1.0]")), learner(toml));
    assert_eq!(run(&mut olok, &stream), run(&mut norma, &stream));
    assert_eq!((olok.coefficients(), olok.norm2()), (norma.coefficients(), norma.norm2()));
}

/// l(L h, y) as a loss of h: a J = I run under it is a J = L L^T run under l.
struct Whitened<T> {
    l: Matrix,
    loss: T,
}

impl<T: Loss> Loss for Whitened<T> {
    fn reads(&self) -> Reads {
        Reads::Vector
    }
    fn eval(&self, h: &[f64], y: &[f64], theta: f64, xi: &mut [f64]) -> Eval {
        let mut inner_xi = vec![0.0; self.l.len()];
        let eval = self.loss.eval(&times(&self.l, h), y, theta, &mut inner_xi);
        xi.copy_from_slice(&times(&crate::twin::olok::transpose(&self.l), &inner_xi));
        eval
    }
    fn curvature(&self, h: &[f64], y: &[f64], theta: f64, u: &[f64], hu: &mut [f64]) {
        let mut inner_hu = vec![0.0; self.l.len()];
        self.loss.curvature(&times(&self.l, h), y, theta, &times(&self.l, u), &mut inner_hu);
        hu.copy_from_slice(&times(&crate::twin::olok::transpose(&self.l), &inner_hu));
    }
}
