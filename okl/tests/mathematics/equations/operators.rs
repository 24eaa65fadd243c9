//! Regularisers, operators, inputs of other types.

use super::*;

// -------------------------------------------------------------------------------- (g) regularisers, operators, other inputs

/// c = max(0, 1 - eta lambda omega'(|f|)/|f|) with |f| from the Gram matrix.
#[test]
fn general_regularisers() {
    let k = kernels::gaussian(0.5);
    type Pull = fn(f64) -> f64;
    let cases: [(&str, f64, Pull); 5] = [
        ("norm", 0.05, |r| 1.0 / r),
        ("norm", 2.0, |r| 1.0 / r),
        ("power:1.5", 0.1, |r| libm::pow(r, -0.5)),
        ("power:3", 0.05, |r| r),
        ("power:4", 0.5, |r| r * r),
    ];
    for (name, lambda, pull) in cases {
        let mut learner = learner(&format!(
            "loss = 'huber:0.5'\nkernel = 'gaussian:0.5'\nlambda = {lambda}\nregulariser = '{name}'\nstep = 'inverse_sqrt:0.4'\noffset = true\nbudget = 'unlimited'"
        ));
        let (mut f, mut b, mut gram): (Expansion, f64, Matrix) = (vec![], 0.0, vec![]);
        let (mut cleared, mut shrunk) = (false, false);
        for (t, (x, y)) in streams::regression(300, 3, 74).iter().enumerate() {
            let (x, eta) = (wide(x), 0.4 / ((t + 1) as f64).sqrt());
            gram.push(f.iter().map(|(xi, _)| k(xi, &x)).chain([1.0]).collect());
            let z = f.iter().zip(&gram[t]).map(|((_, a), k)| a[0] * k).sum::<f64>() + b;
            near(z, learn_one(&mut learner, &stream_row(&x), y)[0], 1e-4, name);
            let entry = |i: usize, j: usize| gram[i.max(j)][i.min(j)];
            let norm2: f64 = (0..f.len()).map(|i| (0..f.len()).map(|j| f[i].1[0] * f[j].1[0] * entry(i, j)).sum::<f64>()).sum();
            let norm = norm2.max(0.0).sqrt();
            let c = if norm == 0.0 { 1.0 } else { (1.0 - eta * lambda * pull(norm)).max(0.0) };
            (cleared, shrunk) = (cleared | (c == 0.0), shrunk | (c < 1.0));
            let xi = -((y[0] - z) / 0.5).clamp(-1.0, 1.0);
            f.iter_mut().for_each(|(_, a)| a[0] *= c);
            f.push((x, vec![-eta * xi]));
            b -= eta * xi;
        }
        let n = product(&k, &identity(1), &f, &f).0;
        near(n, learner.norm2(), 1e-4, "norm");
        assert!(shrunk && (cleared || lambda < 2.0), "{name}: the clip at 0 was at work");
    }
}

fn stream_row(x: &[f64]) -> Vec<f32> {
    x.iter().map(|x| *x as f32).collect()
}

/// K(x, x') for a naive double sum: f(x) = sum_i K(x, x_i) a_i (E12).
type MatrixKernel<'a> = &'a dyn Fn(&[f64], &[f64]) -> Matrix;

/// The vector-valued step written out: squared loss, f <- (1 - eta lambda) f - eta K(., x)(z - y).
fn naive_operator(kernel: MatrixKernel<'_>, eta: f64, lambda: f64, window: usize, stream: &Stream) -> (Matrix, Expansion) {
    let (mut f, mut scores): (Expansion, Matrix) = (vec![], vec![]);
    for (x, y) in stream {
        let x = wide(x);
        let mut z = vec![0.0; y.len()];
        for (xi, a) in &f {
            z.iter_mut().zip(times(&kernel(&x, xi), a)).for_each(|(z, v)| *z += v);
        }
        f.iter_mut().for_each(|(_, a)| a.iter_mut().for_each(|a| *a *= 1.0 - eta * lambda));
        f.push((x, z.iter().zip(y).map(|(z, y)| -eta * (z - y)).collect()));
        if f.len() > window {
            f.remove(0);
        }
        scores.push(z);
    }
    (scores, f)
}

fn naive_norm2(kernel: MatrixKernel<'_>, f: &Expansion) -> f64 {
    f.iter().map(|(x, a)| f.iter().map(|(y, b)| inner(a, &times(&kernel(x, y), b))).sum::<f64>()).sum()
}

fn same_scores(a: &Matrix, b: &Matrix, tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).for_each(|(a, b)| near(*a, *b, tolerance, what));
    }
}

/// sum_m k_m J_m against the naive double sum; a sum of one part is the operator itself, bit for bit.
#[test]
fn sums_of_separable_kernels() {
    let (j1, j2) = (equicorrelated(3, 0.5), vec![vec![0.5, 0.0, -0.2], vec![0.0, 0.3, 0.0], vec![-0.2, 0.0, 0.4]]);
    let (k1, k2) = (kernels::gaussian(0.5), kernels::matern32(1.0));
    let kernel = |x: &[f64], y: &[f64]| -> Matrix {
        (0..3).map(|a| (0..3).map(|b| k1(x, y) * j1[a][b] + k2(x, y) * j2[a][b]).collect()).collect()
    };
    let stream = streams::vector_regression(500, 3, 3, 75);
    let common = "loss = 'squared'\nlambda = 0.05\nstep = 'constant:0.2'\n";
    for (budget, window) in [("unlimited", 500), ("window:50", 50)] {
        let mut learner = learner(&format!(
            "{common}budget = '{budget}'\noperator = [{{ kernel = 'gaussian:0.5', operator = {:?} }}, {{ kernel = {{ matern32 = {{ gamma = 1.0 }} }}, operator = {:?} }}]",
            j1.concat(),
            j2.concat()
        ));
        let (scores, f) = naive_operator(&kernel, 0.2, 0.05, window, &stream);
        same_scores(&run(&mut learner, &stream), &scores, 1e-4, "sum of separable kernels");
        let exact = naive_norm2(&kernel, &f);
        assert!(learner.norm2() >= exact * (1.0 - 1e-4));
        if window == 500 {
            near(learner.norm2(), exact, 1e-4, "norm");
        }
    }
    let mut part = learner(&format!(
        "{common}budget = 'window:50'\noperator = [{{ kernel = 'gaussian:0.5', operator = {:?} }}]",
        j1.concat()
    ));
    let mut matrix = learner(&format!("{common}budget = 'window:50'\nkernel = 'gaussian:0.5'\noperator = {:?}", j1.concat()));
    assert_eq!(run(&mut part, &stream), run(&mut matrix, &stream));
}

/// A user's operator-valued kernel; `eval` writes the matrix row by row.
struct User<F>(F);

impl<F: Fn(&[f64], &[f64]) -> Matrix + Send + Sync> OperatorKernel<Vec<f64>> for User<F> {
    fn outputs(&self) -> usize {
        2
    }
    fn eval(&self, a: &Vec<f64>, b: &Vec<f64>, out: &mut [f64]) {
        out.copy_from_slice(&self.0(a, b).concat());
    }
}

/// Phi(x) Phi(y)^T k(x, y) with Phi = [1 x_0; x_1 1]: positive semidefinite, and not symmetric as a matrix.
fn twisted(x: &[f64], y: &[f64]) -> Matrix {
    let k = libm::exp(-0.5 * x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum::<f64>());
    let phi = |x: &[f64]| vec![vec![1.0, 0.5 * x[0]], vec![0.5 * x[1], 1.0]];
    phi(x).iter().map(|row| phi(y).iter().map(|other| k * inner(row, other)).collect()).collect()
}

/// General operator-valued kernels against the naive double sum, N, pi and M under smd and drops included.
#[test]
fn general_operator_kernels() {
    let stream = streams::vector_regression(400, 3, 2, 76);
    for (budget, window) in [(BudgetRule::Unlimited {}, 400), (BudgetRule::Window { terms: 40 }, 40)] {
        let mut engine = engine_of(
            Operators::of(User(twisted)),
            AnyLoss::Squared {},
            budget.clone(),
            vec![(AnyStep::Constant { eta: 0.1 }, 0.05)],
            Output::Full,
            2,
        );
        let scores: Matrix = stream.iter().map(|(x, y)| step_of(&mut engine, &[wide(x)], y)).collect();
        let (naive, f) = naive_operator(&twisted, 0.1, 0.05, window, &stream);
        same_scores(&scores, &naive, 1e-4, "general operator kernel");
        assert!(engine.heads()[0].norm2() >= naive_norm2(&twisted, &f) * (1.0 - 1e-4));

        let smd = AnyStep::Smd { eta: 0.05, mu: 0.05, decay: 0.9, floor: None, cap: None, preset: None, per: None };
        let mut engine =
            engine_of(Operators::of(User(twisted)), AnyLoss::Huber { sigma: 0.5 }, budget, vec![(smd, 0.05)], Output::Full, 2);
        stream.iter().for_each(|(x, y)| _ = step_of(&mut engine, &[wide(x)], y));
        let (terms, head) = (engine.terms(), &engine.heads()[0]);
        let x_of = |slot: usize| wide(&stream[terms.birth(slot).unwrap() as usize - 1].0);
        let all = |get: &dyn Fn(usize, usize) -> f64| -> Expansion {
            terms.live().map(|s| (x_of(s), vec![get(0, s), get(1, s)])).collect()
        };
        let (f, v) = (all(&|o, s| head.expansion().alpha(o, s)), all(&|o, s| head.expansion().trace(o, s).unwrap()));
        let double = |a: &Expansion, b: &Expansion| {
            a.iter().map(|(x, a)| b.iter().map(|(y, b)| inner(a, &times(&twisted(x, y), b))).sum::<f64>()).sum::<f64>()
        };
        near(head.norm2(), double(&f, &f), 1e-5, "N");
        near(head.trace_product(), double(&f, &v), 1e-5, "pi");
        near(head.trace_norm2(), double(&v, &v), 1e-5, "M");
    }
}

/// A separable kernel as an operator J of the configuration and as a user's operator-valued kernel: the same function.
#[test]
fn separable_both_ways() {
    let j = [vec![1.0, 0.4], vec![0.4, 0.8]];
    let separable = |x: &[f64], y: &[f64]| -> Matrix {
        let k = libm::exp(-0.5 * x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum::<f64>());
        vec![vec![k, 0.4 * k], vec![0.4 * k, 0.8 * k]]
    };
    let stream = streams::vector_regression(400, 3, 2, 77);
    let mut engine = engine_of(
        Operators::of(User(separable)),
        AnyLoss::Huber { sigma: 0.5 },
        BudgetRule::Age { steps: 100 },
        vec![(AnyStep::Constant { eta: 0.1 }, 0.05)],
        Output::Full,
        2,
    );
    let ours: Matrix = stream.iter().map(|(x, y)| step_of(&mut engine, &[wide(x)], y)).collect();
    let mut learner = learner(&format!(
        "loss = 'huber:0.5'\nkernel = 'gaussian:0.5'\noperator = {:?}\nlambda = 0.05\nstep = 'constant:0.1'\nbudget = 'age:100'",
        j.concat()
    ));
    same_scores(&ours, &run(&mut learner, &stream), 1e-5, "separable both ways");
    near(engine.heads()[0].norm2(), learner.norm2(), 1e-5, "norm");
    near(engine.heads()[0].truncation_error(), learner.truncation_error(), 1e-5, "truncation");
}

/// The number of pairs of letters two words share, normalised.
struct Bigrams;

impl AnyTypeKernel<String> for Bigrams {
    fn eval(&self, a: &String, b: &String) -> f64 {
        let count = |x: &str, y: &str| {
            x.as_bytes().windows(2).map(|u| y.as_bytes().windows(2).filter(|v| u == *v).count()).sum::<usize>() as f64
        };
        count(a, b) / (count(a, a) * count(b, b)).sqrt()
    }
}

/// A user's kernel over strings: hinge against a naive sum, whole and in blocks, with a window and with transfer.
#[test]
fn strings() {
    let mut random = streams::Random::new(78);
    let words: Vec<String> = (0..700).map(|_| (0..6).map(|_| char::from(b'a' + random.below(4) as u8)).collect()).collect();
    let y: Vec<f64> = words.iter().map(|w| if w.contains("ab") || w.contains("cc") { 1.0 } else { -1.0 }).collect();
    let engine = |budget: BudgetRule| {
        engine_of(
            Items::new(Bigrams),
            AnyLoss::Hinge { margin: 1.0 },
            budget,
            vec![(AnyStep::Constant { eta: 0.2 }, 0.05)],
            Output::Identity,
            1,
        )
    };
    let run = |budget: BudgetRule, block: usize| {
        let (mut engine, mut scores) = (engine(budget), vec![]);
        for (words, y) in words.chunks(block).zip(y.chunks(block)) {
            engine.learn_block(words, &Labels { y, width: 1, ..Labels::default() }, |_, step| scores.push(step.scores[0]));
        }
        scores
    };
    let scores = run(BudgetRule::Window { terms: 60 }, 700);
    assert_eq!(scores, run(BudgetRule::Window { terms: 60 }, 1));
    assert_eq!(run(BudgetRule::Transfer { terms: 60 }, 700), run(BudgetRule::Transfer { terms: 60 }, 9));
    let mut f: Vec<(&String, f64)> = vec![];
    for (t, (word, y)) in words.iter().zip(&y).enumerate() {
        let z: f64 = f.iter().map(|(w, a)| a * Bigrams.eval(w, word)).sum();
        near(z, scores[t], 1e-5, word);
        f.iter_mut().for_each(|(_, a)| *a *= 0.99);
        if y * z < 1.0 {
            f.push((word, 0.2 * y));
        }
        if f.len() > 60 {
            f.remove(0);
        }
    }
}
