//! SVMD's trace, and the norms N, pi and M.

use super::*;

// ------------------------------------------------------------------------------------------------- (a) SVMD's trace, E16

/// v, w and q are the derivatives of f, b and theta in ln eta: coefficient by coefficient, by central differences.
fn trace_is_derivative(loss: &str, more: &str, stream: &Stream) {
    const H: f64 = 1e-4;
    let at = |factor: f64| {
        let mut learner = learner(&format!(
            "loss = '{loss}'\nkernel = 'gaussian:0.5'\nlambda = 0.02\nbudget = 'unlimited'\n{more}step = {{ smd = {{ eta = {}, mu = 1e-300, decay = 1.0 }} }}",
            0.1 * factor
        ));
        run(&mut learner, stream);
        assert_eq!(learner.eta(), 0.1 * factor, "mu is so small that eta stays put");
        learner
    };
    let (down, here, up) = (at(libm::exp(-H)), at(1.0), at(libm::exp(H)));
    assert_eq!((births(&down), births(&up)), (births(&here), births(&here)), "{loss}: no decision flips");
    let slope = |up: f64, down: f64| (up - down) / (2.0 * H);
    let mut moved = 0.0_f64;
    for (((_, v), (_, up)), (_, down)) in trace_of(&here).iter().zip(f_of(&up)).zip(f_of(&down)) {
        for o in 0..v.len() {
            near(v[o], slope(up[o], down[o]), 1e-6, loss);
            moved = moved.max(v[o].abs());
        }
    }
    assert!(moved > 0.01, "{loss}: there is a trace to compare");
    let [here, up, down] = [&here, &up, &down].map(|l| &l.engine().heads()[0]);
    for o in 0..here.offset().len() {
        near(here.offset_trace()[o], slope(up.offset()[o], down.offset()[o]), 1e-6, "offset");
    }
    near(here.theta_trace(), slope(up.theta(), down.theta()), 1e-6, "theta");
}

#[test]
fn trace_of_margins() {
    let signs = streams::two_classes(150, 3, 5);
    for (loss, more) in [
        ("logistic", "offset = true\n"),
        ("hinge:1", "offset = true\n"),
        ("perceptron", ""),
        ("nu_hinge:0.4", "offset = true\n"),
        ("nu_hinge:0.9", ""),
    ] {
        trace_is_derivative(loss, more, &signs);
    }
    let classes = streams::classes(150, 3, 3, 5);
    let j = format!("operator = {:?}\n", equicorrelated(3, 0.3).concat());
    for loss in ["softmax", "max_margin"] {
        trace_is_derivative(loss, "classes = [0, 1, 2]\noffset = true\n", &classes);
        trace_is_derivative(loss, &format!("classes = [0, 1, 2]\n{j}"), &classes);
    }
    let points = streams::novelty(150, 3, 5);
    trace_is_derivative("novelty:1", "", &points);
    trace_is_derivative("nu_novelty:0.3", "", &points);
}

#[test]
fn trace_of_residuals() {
    let numbers = streams::regression(150, 3, 6);
    for loss in ["squared", "huber:0.5", "epsilon:0.2", "absolute", "quantile:0.8", "nu_epsilon:0.3"] {
        trace_is_derivative(loss, "offset = true\n", &numbers);
    }
    let vectors = streams::vector_regression(150, 3, 3, 6);
    let j = format!("operator = {:?}\n", equicorrelated(3, 0.3).concat());
    for loss in ["squared", "huber:0.5", "epsilon:0.2", "absolute", "nu_epsilon:0.3"] {
        trace_is_derivative(loss, &format!("offset = true\n{j}"), &vectors);
    }
}

/// Where the projection holds theta (E9) it does not move with eta: the trace there is 0.
#[test]
fn trace_at_the_projection() {
    let signs = streams::two_classes(12, 3, 9);
    let mut held = 0;
    for n in 1..=12 {
        let at = |eta: f64| {
            let mut l = learner(&format!(
                "loss = 'nu_hinge:0.1'\nkernel = 'gaussian:0.5'\nlambda = 0.02\nbudget = 'unlimited'\nstep = {{ smd = {{ eta = {eta}, mu = 1e-300, decay = 1.0 }} }}"
            ));
            run(&mut l, &signs[..n].to_vec());
            l
        };
        let (down, here, up) = (at(0.1 * libm::exp(-1e-4)), at(0.1), at(0.1 * libm::exp(1e-4)));
        held += usize::from(here.theta() == 0.0 && here.terms() > 0);
        near(here.engine().heads()[0].theta_trace(), (up.theta() - down.theta()) / 2e-4, 1e-6, "theta");
    }
    assert!(held > 0, "the projection was at work");
}

// --------------------------------------------------------------------------------------------- (b) N, pi and M, section 3.2

#[derive(Clone, Copy, PartialEq)]
enum Norm {
    Exact,
    Bound,
}

fn norms_agree(toml: &str, norm: Norm, kernel: &Kernel, j: &Matrix, stream: &Stream) {
    let mut learner = learner(&format!("{toml}\nanchor = 'none'"));
    let mut dropped = false;
    for (t, (x, y)) in stream.iter().enumerate() {
        learn_one(&mut learner, x, y);
        dropped |= learner.truncation_error() > 0.0;
        if t % 50 != 49 {
            continue;
        }
        let (head, f) = (&learner.engine().heads()[0], f_of(&learner));
        let (n, size) = product(kernel, j, &f, &f);
        match norm {
            Norm::Exact => {
                assert!((head.norm2() - n).abs() <= 2e-6 * size, "step {t}: |f|² is {n}, cached {}\n{toml}", head.norm2())
            }
            Norm::Bound => assert!(head.norm2() >= n - 2e-6 * size, "step {t}: |f|² is {n}, bounded by {}\n{toml}", head.norm2()),
        }
        if head.expansion().riders().trace {
            let v = trace_of(&learner);
            let ((pi, pi_size), (m, m_size)) = (product(kernel, j, &f, &v), product(kernel, j, &v, &v));
            assert!(
                (head.trace_product() - pi).abs() <= 2e-6 * pi_size,
                "step {t}: <f, v> is {pi}, cached {}\n{toml}",
                head.trace_product()
            );
            assert!(
                (head.trace_norm2() - m).abs() <= 2e-6 * m_size,
                "step {t}: |v|² is {m}, cached {}\n{toml}",
                head.trace_norm2()
            );
        }
    }
    assert!(toml.contains("unlimited") || dropped, "something was dropped\n{toml}");
}

/// Exact without drops, an upper bound with drops, exact again under smd, whatever the budget (law 5).
#[test]
fn cached_norms() {
    let (signs, k, one) = (streams::two_classes(600, 3, 61), kernels::gaussian(0.5), identity(1));
    for budget in ["unlimited", "window:60", "age:90", "weight:0.05", "certified:0.5", "transfer:60", "merge:60"] {
        let norm = if budget == "unlimited" { Norm::Exact } else { Norm::Bound };
        for loss in ["hinge", "logistic"] {
            let toml = |step: &str| {
                format!(
                    "loss = '{loss}'\nkernel = 'gaussian:0.5'\nlambda = 0.02\noffset = true\nbudget = '{budget}'\nstep = '{step}'"
                )
            };
            norms_agree(&toml("constant:0.2"), norm, &k, &one, &signs);
            norms_agree(&toml("smd:eta=0.2"), Norm::Exact, &k, &one, &signs);
        }
    }
    norms_agree(
        "loss = 'perceptron'\nkernel = 'gaussian:0.5'\nlambda = 0\nstep = 'constant:1'\nbudget = 'forgetron:30'",
        Norm::Bound,
        &k,
        &one,
        &signs,
    );
    norms_agree(
        "loss = 'hinge'\nkernel = 'gaussian:0.5'\nlambda = 0.02\nstep = 'constant:0.2'\nimplicit = true\nbudget = 'unlimited'",
        Norm::Exact,
        &k,
        &one,
        &signs,
    );
}

/// The same for several outputs under an operator, and for OLOK's truncation.
#[test]
fn cached_norms_of_operators() {
    let (vectors, classes, k, j) = (
        streams::vector_regression(600, 3, 3, 62),
        streams::classes(600, 3, 3, 62),
        kernels::gaussian(0.5),
        equicorrelated(3, 0.3),
    );
    let operator = format!("operator = {:?}", j.concat());
    for budget in ["unlimited", "window:60", "age:90", "transfer:60", "merge:60", "weight:0.02"] {
        let toml = |loss: &str, more: &str, step: &str| {
            format!(
                "loss = '{loss}'\nkernel = 'gaussian:0.5'\nlambda = 0.02\nbudget = '{budget}'\nstep = '{step}'\n{operator}\n{more}"
            )
        };
        norms_agree(&toml("huber:0.5", "offset = true", "smd:eta=0.1"), Norm::Exact, &k, &j, &vectors);
        norms_agree(&toml("softmax", "classes = [0, 1, 2]", "smd:eta=0.1"), Norm::Exact, &k, &j, &classes);
        let norm = if budget == "unlimited" { Norm::Exact } else { Norm::Bound };
        norms_agree(&toml("max_margin", "classes = [0, 1, 2]", "inverse_sqrt:0.3"), norm, &k, &j, &classes);
    }
    let olok = format!(
        "loss = 'squared'\nkernel = 'gaussian:0.5'\nlambda = 0.9\nbudget = 'olok:0.4'\nstep = 'inverse_sqrt:1'\n{operator}"
    );
    norms_agree(&olok, Norm::Bound, &k, &j, &vectors);
}
