//! Truncation under every budget.

use super::*;
use okl::config::families::family;

/// f_full: every update, shrunk as f is, nothing dropped; |f_full - f| <= truncation_error for every budget.
#[test]
fn truncation_is_stated_for_every_budget() {
    let data = Data::signs(400, 61);
    let budgets = [
        "window:20",
        "age:30",
        "olok:0.4",
        "weight:0.02",
        "certified:0.6",
        "transfer:20",
        "merge:20",
        "window:1",
        "transfer:1",
        "merge:2",
    ];
    // Nothing is dropped without a limit; the Forgetron has its own test; auto is merge or transfer.
    let left_out = ["unlimited", "forgetron", "auto"];
    for name in family("budget").unwrap().names().filter(|name| !left_out.contains(name)) {
        assert!(budgets.iter().any(|budget| budget.split(':').next() == Some(name)), "{name} is not compared");
    }
    for budget in budgets {
        for step in ["constant:0.3", "inverse_sqrt:9", "smd:eta=0.3"] {
            if budget.starts_with("olok") && !step.starts_with("inverse_sqrt") {
                continue;
            }
            let lambda = 0.1;
            let mut l = learner(&format!("loss='hinge'\nstep='{step}'\nlambda={lambda}\nbudget='{budget}'"));
            let mut full = Function::zero(2, 1);
            let mut share = 0.0f64;
            for i in 0..data.rows() {
                let z = data.teach(&mut l, i, None);
                full.coefficients.iter_mut().for_each(|a| *a *= 1.0 - l.eta() * lambda);
                if data.y[i] * z[0] < 1.0 {
                    full.centres.extend(data.row(i));
                    full.coefficients.push(l.eta() * data.y[i]);
                }
                if i % 20 == 19 && l.truncation_error() > 0.0 {
                    let lost = full.distance(&Function::of(&l));
                    // 1e-5: a transfer knows 1 - k² from k in single precision.
                    assert!(
                        lost <= l.truncation_error() * (1.0 + 1e-5) + 1e-12,
                        "{budget} {step} t {}: {lost} > {}",
                        i + 1,
                        l.truncation_error()
                    );
                    share = share.max(lost / l.truncation_error());
                    let (norm2, stated) = (Function::of(&l).norm2(), l.norm2());
                    let exact = (stated / norm2 - 1.0).abs() < 1e-5;
                    assert!(
                        if step.starts_with("smd") { exact } else { stated >= norm2 * (1.0 - 1e-6) },
                        "{budget} {step} t {}: |f|² {norm2}, stated {stated}",
                        i + 1
                    );
                }
            }
            assert!(share > 0.01, "{budget} {step}: something was lost, {share}");
            if let Some(most) = budget.strip_prefix("certified:") {
                assert!(l.truncation_error() <= most.parse().unwrap());
            }
        }
    }
}

/// Law 5 for what predicts: with an average, what the average has lost.
#[test]
fn truncation_is_stated_for_the_average() {
    let (data, eta, lambda, rate) = (Data::signs(400, 63), 0.3, 0.02, 0.05_f64);
    for budget in ["window:25", "merge:25", "age:60"] {
        let mut l = learner(&format!(
            "loss='hinge'\nstep='constant:{eta}'\nlambda={lambda}\nbudget='{budget}'\naverage='exponential:{rate}'"
        ));
        let (mut full, mut mean) = (Function::zero(2, 1), Function::zero(2, 1));
        let (mut share, mut t) = (0.0_f64, 0);
        for i in 0..data.rows() {
            data.teach(&mut l, i, None);
            t += 1;
            let omega = rate.max(1.0 / t as f64);
            for (m, f) in mean.coefficients.iter_mut().zip(&full.coefficients) {
                *m += omega * (f - *m);
            }
            full.coefficients.iter_mut().for_each(|a| *a *= 1.0 - eta * lambda);
            let (terms, f) = (l.engine().terms(), l.engine().heads()[0].expansion());
            if let Some(slot) = terms.live().find(|slot| terms.birth(*slot) == Some(t)) {
                full.centres.extend(data.row(i));
                full.coefficients.push(f.alpha(0, slot));
                mean.centres.extend(data.row(i));
                mean.coefficients.push(0.0);
            }
            if i % 20 == 19 && l.truncation_error() > 0.0 {
                let lost = mean.distance(&Function::mean_of(&l));
                assert!(lost <= l.truncation_error() * (1.0 + 1e-5) + 1e-12, "{budget} t {t}: {lost} > {}", l.truncation_error());
                share = share.max(lost / l.truncation_error());
            }
        }
        assert!(share > 0.01, "{budget}: something was lost, {share}");
    }
}

/// The Forgetron scales everything by phi, what is lost included; phi is read off a term that stays.
#[test]
fn truncation_is_stated_for_the_forgetron() {
    let data = Data::signs(400, 62);
    let mut l = learner("loss='perceptron'\nstep='constant:1'\nlambda=0\nbudget='forgetron:30'");
    let mut full = Function::zero(2, 1);
    let alphas = |l: &Learner| -> std::collections::BTreeMap<u64, f64> {
        let (terms, f) = (l.engine().terms(), l.engine().heads()[0].expansion());
        terms.live().map(|slot| (terms.birth(slot).unwrap(), f.alpha(0, slot))).collect()
    };
    for i in 0..data.rows() {
        let before = alphas(&l);
        let z = data.teach(&mut l, i, None);
        if data.y[i] * z[0] <= 0.0 {
            full.centres.extend(data.row(i));
            full.coefficients.push(data.y[i]);
        }
        let phi = alphas(&l).iter().find_map(|(birth, a)| before.get(birth).map(|b| a / b)).unwrap_or(1.0);
        full.coefficients.iter_mut().for_each(|a| *a *= phi);
        let lost = full.distance(&Function::of(&l));
        assert!(lost <= l.truncation_error() * (1.0 + 1e-9) + 1e-12, "t {}: {lost} > {}", i + 1, l.truncation_error());
    }
    assert!(l.truncation_error() > 0.0 && l.terms() == 30);
}
