//! What okl states about a run holds, measured from outside: truncation (N(11), 3.6), regret (E25, Theorems N1-N3, O1),
//! norms (Propositions O2.1, O2.2), alert rates (3.5), bytes (law 4). Every measured side is recomputed in f64.
mod common_cert;
mod plain;

use common_cert::{Data, Function, Rng, dot, gauss, learner, loss, predict};
use okl::Learner;

// Truncation: N(11)

/// Every update with its coefficient, as it was written: (step, centre, alpha).
struct Record {
    updates: Vec<(u64, usize, f64)>,
}

impl Record {
    /// Learns row `i` and notes what was appended.
    fn teach(&mut self, l: &mut Learner, data: &Data, i: usize) {
        let before = l.examples();
        data.teach(l, i, None);
        let t = l.examples();
        assert_eq!(t, before + 1);
        let newest = l.engine().terms().live().find(|&slot| l.engine().terms().birth(slot) == Some(t));
        if let Some(slot) = newest {
            self.updates.push((t, i, l.engine().heads()[0].expansion().alpha(0, slot)));
        }
    }

    /// |f_full - f|: f_full has every update, shrunk by c once per later step; f is what the learner holds.
    fn lost(&self, l: &Learner, data: &Data, gram: &[f64], c: f64) -> f64 {
        let (t, m) = (l.examples(), data.rows());
        let mut rest = vec![0.0; m];
        self.updates.iter().for_each(|(s, i, alpha)| rest[*i] += alpha * c.powi((t - s) as i32));
        for slot in l.engine().terms().live() {
            let (i, alpha) =
                (l.engine().terms().birth(slot).unwrap() as usize - 1, l.engine().heads()[0].expansion().alpha(0, slot));
            assert!(
                (rest[i] - alpha).abs() <= 1e-12 * alpha.abs(),
                "what is kept is what was written, shrunk: {} {alpha}",
                rest[i]
            );
            rest[i] = 0.0;
        }
        quadratic(&rest, gram)
    }
}

/// sqrt(a^T G a).
fn quadratic(a: &[f64], gram: &[f64]) -> f64 {
    let m = a.len();
    let at: Vec<usize> = (0..m).filter(|&i| a[i] != 0.0).collect();
    let row = |&i: &usize| a[i] * at.iter().map(|&j| gram[i * m + j] * a[j]).sum::<f64>();
    at.iter().map(row).sum::<f64>().max(0.0).sqrt()
}

fn gram(data: &Data) -> Vec<f64> {
    let m = data.rows();
    (0..m * m).map(|i| gauss(data.row(i / m), data.row(i % m))).collect()
}

/// Proposition N1: true loss <= truncation_error() <= lambda^-1 (1 - lambda eta)^tau C X, for |xi| <= C = 1.
#[test]
fn age_stays_below_n11() {
    let (eta, lambda, m) = (0.2, 0.05, 800);
    for (loss, seed) in [("hinge", 1), ("logistic", 2)] {
        let data = Data::signs(m, seed);
        let gram = gram(&data);
        for tau in [1u64, 10, 60, 200, 500] {
            let mut l = learner(&format!("loss='{loss}'\nstep='constant:{eta}'\nlambda={lambda}\nbudget='age:{tau}'"));
            let (mut record, mut most) = (Record { updates: vec![] }, 0.0f64);
            for i in 0..m {
                record.teach(&mut l, &data, i);
                let (stated, bound) = (l.truncation_error(), (1.0f64 - lambda * eta).powi(tau as i32) / lambda);
                assert!(stated <= bound, "{loss} tau {tau} t {}: {stated} > {bound}", i + 1);
                assert!(stated == 0.0 || i as u64 + 1 > tau, "nothing is lost before it is tau old");
                if i % 40 == 39 {
                    let lost = record.lost(&l, &data, &gram, 1.0 - lambda * eta);
                    assert!(lost <= stated * (1.0 + 1e-12), "{loss} tau {tau} t {}: {lost} > {stated}", i + 1);
                    most = most.max(lost / stated);
                }
            }
            assert!(most > 0.01, "{loss} tau {tau}: something real was lost, {most}");
        }
    }
}

/// The value of N(11): with |xi| = 1 and k = 1 at every step the certificate is the middle of N(11),
/// sum_{i <= t - tau} eta (1 - lambda eta)^(t - i) = ((1 - lambda eta)^tau - (1 - lambda eta)^t)/lambda,
/// and for one point with one sign the true loss is that number too: the bound is attained.
#[test]
fn n11_is_reproduced() {
    let (eta, lambda) = (0.2f64, 0.05f64);
    let c = 1.0 - lambda * eta;
    for tau in [1i32, 7, 100, 400] {
        let mut l = learner(&format!("loss='hinge:1000000'\nstep='constant:{eta}'\nlambda={lambda}\nbudget='age:{tau}'"));
        let data = Data { y: vec![1.0; 1500], x: vec![0.5; 3000], ..Data::signs(1, 1) };
        for t in 1..=1500 {
            data.teach(&mut l, t - 1, None);
            let t = t as i32;
            let middle = if t > tau { (c.powi(tau) - c.powi(t)) / lambda } else { 0.0 };
            assert!(
                (l.truncation_error() - middle).abs() <= 1e-12 * middle,
                "tau {tau} t {t}: {} {middle}",
                l.truncation_error()
            );
            let (full, kept) = ((1.0 - c.powi(t)) / lambda, l.coefficients().iter().sum::<f64>());
            assert!((full - kept - middle).abs() <= 1e-11 * full, "tau {tau} t {t}: the bound is attained");
        }
        let limit = c.powi(tau) / lambda;
        assert!((l.truncation_error() / limit - 1.0).abs() < c.powi(1500 - tau) * 1.001, "N(11)'s right side is the limit");
    }
}

// Truncation: the distance to the untruncated run (3.6)

/// The largest |f_truncated run - f_untruncated run| / truncation_error over a stream.
fn worst_distance(settings: &str, budget: &str, data: &Data) -> f64 {
    let mut cut = learner(&format!("{settings}\nbudget='{budget}'"));
    let mut whole = learner(&format!("{settings}\nbudget='unlimited'"));
    let mut worst = 0.0f64;
    for i in 0..data.rows() {
        data.teach(&mut cut, i, None);
        data.teach(&mut whole, i, None);
        let distance = Function::of(&cut).distance(&Function::of(&whole));
        match cut.truncation_error() {
            0.0 => assert!(distance <= 1e-12, "nothing lost yet, the runs are one"),
            // Two runs add the same numbers in another order: that much is rounding.
            stated => worst = worst.max((distance - 1e-12) / stated),
        }
    }
    assert!(cut.truncation_error() > 0.0, "{settings} {budget}: the budget never acted");
    worst
}

#[test]
fn trajectories_stay_within_the_certificate() {
    let data = Data::signs(250, 3);
    // logistic: L = 1/4, kappa = 1: eta (L + 2 lambda) is 0.29, 0.9 and 1.95.
    let smooth = [(1.0, 0.02), (2.0, 0.1), (3.0, 0.2)].map(|(eta, lambda)| {
        assert!(eta * (0.25 + 2.0 * lambda) <= 2.0);
        format!("loss='logistic'\nstep='constant:{eta}'\nlambda={lambda}")
    });
    let implicit = [(0.3, 0.05), (5.0, 0.02)]
        .map(|(eta, lambda)| format!("loss='hinge'\nimplicit=true\nstep='inverse_sqrt:{eta}'\nlambda={lambda}"));
    for settings in smooth.iter().chain(&implicit) {
        for budget in ["window:12", "age:15", "transfer:12", "merge:12", "weight:0.05", "certified:0.4"] {
            let worst = worst_distance(settings, budget, &data);
            // The first drop attains the bound; a transfer knows 1 - k² from k in single precision.
            assert!(worst <= 1.0 + 1e-5, "{settings} {budget}: distance is {worst} of the certificate");
        }
    }
}

/// E22: the explicit hinge has no such bound (one kink that flips moves f by eta), so the test above can fail.
#[test]
fn the_explicit_hinge_leaves_the_certificate() {
    let data = Data { x: vec![0.5; 800], y: vec![1.0; 400], ..Data::signs(1, 1) };
    let worst = worst_distance("loss='hinge'\nstep='constant:0.5'\nlambda=0.05", "age:100", &data);
    assert!(worst > 2.0, "{worst}");
}

/// A light term merged into a heavy one close by: the loss is a small difference of large numbers, and is stated all the same.
#[test]
fn a_merge_states_what_it_loses() {
    for (light, apart) in [(1e-3, 0.3f32), (1e-5, 0.3), (1e-6, 1.0), (1.0, 0.01)] {
        let x = [0.0f32, 0.0, apart, 0.1, -1.5, 1.5];
        let settings = "loss='hinge'\nstep='constant:0.5'\nlambda=0.1\n";
        let [cut, whole] = ["merge:2", "unlimited"].map(|budget| {
            let mut l = learner(&format!("{settings}budget='{budget}'"));
            l.learn(&okl::Batch::new(&x, 2).numbers(&[1.0, 1.0, -1.0]).weights(&[1.0, light, 1.0])).unwrap();
            l
        });
        let (lost, stated) = (Function::of(&cut).distance(&Function::of(&whole)), cut.truncation_error());
        assert!((stated / lost - 1.0).abs() < 1e-3, "light {light} apart {apart}: lost {lost}, stated {stated}");
    }
}

// Regret

/// Comparators over the data: zero, random expansions, and what many passes with ids find.
fn comparators(name: &str, lambda: f64, offset: bool, data: &Data) -> Vec<Function> {
    let outputs = if data.classes { 3 } else { 1 };
    let mut rng = Rng::new(77);
    let mut list = vec![Function::zero(2, outputs)];
    for size in [0.02, 0.3] {
        let coefficients = (0..40 * outputs).map(|_| size * rng.normal()).collect();
        let offset = (0..outputs).map(|_| if offset { rng.normal() } else { 0.0 }).collect();
        list.push(Function { centres: data.x[..80].to_vec(), coefficients, offset, ..Function::zero(2, outputs) });
    }
    let step = if name == "squared" { "inverse_sqrt:0.5" } else { "inverse_sqrt:2" };
    let mut best = learner(&settings(name, step, lambda, offset, "unlimited"));
    for _ in 0..60 {
        (0..data.rows()).for_each(|i| _ = data.teach(&mut best, i, Some(i as u64)));
    }
    assert!(best.terms() <= data.rows(), "an id adds onto its term");
    list.push(Function::of(&best));
    let risk = |u: &Function| risks(name, lambda, u, data).iter().sum::<f64>();
    assert!(risk(&list[3]) < 0.9 * risk(&list[0]), "{name}: many passes beat zero: {} {}", risk(&list[3]), risk(&list[0]));
    list
}

fn settings(name: &str, step: &str, lambda: f64, offset: bool, budget: &str) -> String {
    let classes = if ["max_margin", "softmax"].contains(&name) { "classes=[0,1,2]\n" } else { "" };
    format!("loss='{name}'\nstep='{step}'\nlambda={lambda}\noffset={offset}\nbudget='{budget}'\n{classes}")
}

/// l_t(u) + lambda/2 |u|² for every t.
fn risks(name: &str, lambda: f64, u: &Function, data: &Data) -> Vec<f64> {
    let half = 0.5 * lambda * u.norm2();
    (0..data.rows()).map(|i| loss(name, &u.at(data.row(i)), data.target(i)) + half).collect()
}

/// R_t(f_t) = l_t(f_t) + lambda/2 |f_t|² along a run, f_t before update t; the norm from the expansion, not from the engine.
fn run_risks(l: &mut Learner, name: &str, lambda: f64, data: &Data, gram: &[f64], mut each: impl FnMut(&Learner, usize, f64)) {
    let merges = l.config().to_json().contains("merge");
    for i in 0..data.rows() {
        let norm2 = if merges { Function::of(l).norm2() } else { norm2(l, gram, data.rows()) };
        let z = data.teach(l, i, None);
        each(l, i, loss(name, &z, data.target(i)) + 0.5 * lambda * norm2);
    }
}

/// |f|² of a learner whose centres are rows of the data, each learned once.
fn norm2(l: &Learner, gram: &[f64], m: usize) -> f64 {
    let (terms, f) = (l.engine().terms(), l.engine().heads()[0].expansion());
    let live: Vec<(usize, usize)> = terms.live().map(|slot| (slot, terms.birth(slot).unwrap() as usize - 1)).collect();
    let column = |o: usize| live.iter().map(|&(slot, _)| f.alpha(o, slot)).collect::<Vec<_>>();
    (0..l.outputs())
        .map(|o| {
            let a = column(o);
            live.iter()
                .zip(&a)
                .map(|((_, i), a_i)| a_i * live.iter().zip(&a).map(|((_, j), a_j)| gram[i * m + j] * a_j).sum::<f64>())
                .sum::<f64>()
        })
        .sum()
}

const LOSSES: [(&str, f64); 7] = [
    ("hinge", 0.05),
    ("logistic", 0.02),
    ("max_margin", 0.05),
    ("softmax", 0.02),
    ("squared", 0.5),
    ("epsilon:0.1", 0.05),
    ("huber:0.5", 0.05),
];

fn data_for(name: &str, rows: usize, seed: u64) -> Data {
    match name {
        "hinge" | "logistic" => Data::signs(rows, seed),
        "max_margin" | "softmax" => Data::thirds(rows, seed),
        _ => Data::wave(rows, seed),
    }
}

/// At every t the regret against every comparator is below `regret_bound`; returns regret/bound against the best one at the end.
#[allow(clippy::too_many_arguments)]
fn check_regret(
    name: &str,
    lambda: f64,
    step: &str,
    offset: bool,
    budget: &str,
    data: &Data,
    gram: &[f64],
    list: &[Function],
) -> f64 {
    let mut l = learner(&settings(name, step, lambda, offset, budget));
    let others: Vec<_> =
        list.iter().map(|u| (risks(name, lambda, u, data), u.norm(), dot(&u.offset, &u.offset).sqrt())).collect();
    let (mut ours, mut theirs, mut last) = (0.0, vec![0.0; list.len()], 0.0);
    run_risks(&mut l, name, lambda, data, gram, |l, i, risk| {
        ours += risk;
        for (which, (risks, norm, b)) in others.iter().enumerate() {
            theirs[which] += risks[i];
            let (regret, bound) = (ours - theirs[which], l.regret_bound(*norm, *b).expect("explicit, square, convex"));
            assert!(regret <= bound, "{name} {step} offset {offset} {budget} t {} u {which}: {regret} > {bound}", i + 1);
            last = regret / bound;
        }
    });
    last
}

#[test]
fn regret_is_below_its_certificate() {
    let m = 250;
    for (name, lambda) in LOSSES {
        let data = data_for(name, m, 5);
        let gram = gram(&data);
        for offset in [false, true] {
            let list = comparators(name, lambda, offset, &data);
            let theorem1 = format!("theorem1:bound=3,radius=1,horizon={m}");
            for step in [theorem1.as_str(), "theorem2", "pegasos:1", "constant:0.3", "smd:eta=0.3,mu=0.1"] {
                let share = check_regret(name, lambda, step, offset, "unlimited", &data, &gram, &list);
                println!("{name:12} offset {offset:5} {step:36} regret/bound {share:.3}");
            }
        }
    }
}

#[test]
fn regret_with_a_budget_is_below_its_certificate() {
    let m = 250;
    for (name, lambda) in [("hinge", 0.05), ("softmax", 0.02), ("huber:0.5", 0.05)] {
        let data = data_for(name, m, 6);
        let gram = gram(&data);
        for offset in [false, true] {
            let list = comparators(name, lambda, offset, &data);
            for budget in ["window:15", "window:1", "age:20", "transfer:15", "merge:15", "weight:0.05", "certified:0.5"] {
                for step in ["pegasos:1", "constant:0.3", "smd:eta=0.3,mu=0.1"] {
                    check_regret(name, lambda, step, offset, budget, &data, &gram, &list);
                }
            }
        }
    }
}

/// 7.1: with `shrink = on_update` the bound is on the losses plus the regulariser of the examples with an update. These losses have a
/// gradient exactly where they are not 0.
#[test]
fn regret_is_bounded_when_shrinking_on_update() {
    let (m, mut quiet) = (150, 0);
    for (name, lambda, offset) in [("hinge", 0.05, true), ("epsilon:0.1", 0.05, false), ("max_margin", 0.05, true)] {
        let data = data_for(name, m, 7);
        let (gram, list) = (gram(&data), comparators(name, lambda, offset, &data));
        let others: Vec<_> =
            list.iter().map(|u| (risks(name, 0.0, u, &data), u.norm(), dot(&u.offset, &u.offset).sqrt())).collect();
        for (budget, step) in [("unlimited", "pegasos:1"), ("age:20", "constant:0.3"), ("window:15", "smd:eta=0.3,mu=0.1")] {
            let mut l = learner(&(settings(name, step, lambda, offset, budget) + "shrink='on_update'\n"));
            let mut regret = vec![0.0; list.len()];
            for i in 0..m {
                let norm2 = norm2(&l, &gram, m);
                let ours = loss(name, &data.teach(&mut l, i, None), data.target(i));
                let counts = if ours > 0.0 { 0.5 * lambda } else { 0.0 };
                quiet += usize::from(ours == 0.0);
                for (regret, (losses, norm, b)) in regret.iter_mut().zip(&others) {
                    *regret += ours + counts * norm2 - losses[i] - counts * norm * norm;
                    let bound = l.regret_bound(*norm, *b).unwrap();
                    assert!(*regret <= bound, "{name} {step} {budget} t {}: {regret} > {bound}", i + 1);
                }
            }
        }
    }
    assert!(quiet > 200, "only {quiet} examples without an update");
}

/// What is dropped enters the certificate with 1/eta, and with lambda for the norm that the drop may raise. One point,
/// alternating signs, one term: every step is f' = c f + new = 0 and then drops c f, so that f'' = new; all is linear and
/// E25's inequality an equality. With 1/L' in place of 1/eta + lambda (as 3.6 prints it) the bound breaks at t = 5.
#[test]
fn a_drop_counts_in_full() {
    let data = Data { x: vec![0.5; 80], y: (0..40).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect(), ..Data::signs(1, 1) };
    let gram = gram(&data);
    let mut l = learner(&settings("hinge", "pegasos:1", 1.0, false, "window:1"));
    let mut regret = 0.0;
    run_risks(&mut l, "hinge", 1.0, &data, &gram, |l, i, risk| {
        regret += risk - 1.0;
        let bound = l.regret_bound(0.0, 0.0).unwrap();
        assert!(regret <= bound, "t {}: {regret} > {bound}", i + 1);
    });
}

/// What is dropped counts against |u| too: one point, one sign, one term; f cannot grow, and a large u is better at every step.
/// smd for its exact norm, with a mu that leaves eta where it is.
#[test]
fn a_drop_counts_against_u_too() {
    let (eta, lambda, data) = (0.1, 0.001, Data { x: vec![0.5; 400], y: vec![1.0; 200], ..Data::signs(1, 1) });
    let mut l = learner(&format!("loss='hinge:1000'\nstep='smd:eta={eta},mu=1e-12'\nlambda={lambda}\nbudget='window:1'"));
    let mut regrets = [0.0; 3];
    for i in 0..data.rows() {
        let f = data.teach(&mut l, i, None)[0];
        for (regret, u) in regrets.iter_mut().zip([0.5, 1.0, 5.0]) {
            *regret += (u - f) + 0.5 * lambda * (f * f - u * u);
            let bound = l.regret_bound(u, 0.0).unwrap();
            assert!(*regret <= bound, "u {u} t {}: {regret} > {bound}", i + 1);
        }
    }
    let of_f_alone = l.regret_bound(0.0, 0.0).unwrap() + 5.0 * 5.0 / (2.0 * eta);
    assert!(regrets[2] > of_f_alone, "without its share in |u| the bound would break: {} {of_f_alone}", regrets[2]);
}

/// A class named again after a later one changes nothing about the number of outputs.
#[test]
fn an_earlier_class_keeps_the_outputs() {
    let data = Data { x: vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0], y: vec![0.0, 1.0, 2.0, 0.0], ..Data::thirds(1, 1) };
    for classes in ["", "classes=[0,1,2]\n"] {
        let mut l = learner(&format!("loss='max_margin'\nstep='constant:0.5'\noffset=true\nbudget='unlimited'\n{classes}"));
        (0..4).for_each(|i| _ = data.teach(&mut l, i, None));
        assert_eq!((l.outputs(), l.offset().len()), (3, 3));
    }
}

/// With |xi| = k = 1 at every step the certificate under Theorem 1's step is, to rounding,
/// B X sqrt m + lambda B²/2 * lambda eta/(1 - lambda eta): (22) with its O(1) written out, never more.
#[test]
fn theorem1_in_closed_form() {
    for (m, b, lambda) in [(100u64, 3.0f64, 0.05f64), (400, 1.0, 0.5), (2000, 10.0, 0.02)] {
        let eta = b / (m as f64).sqrt();
        let closed = b * (m as f64).sqrt() + 0.5 * lambda * b * b * (lambda * eta / (1.0 - lambda * eta));
        assert!(closed <= b * (m as f64).sqrt() + 0.5 * lambda * b * b);
        for (margin, equal) in [(1.0, false), (1e9, true)] {
            let mut l = learner(&format!(
                "loss='hinge:{margin}'\nstep='theorem1:bound={b},radius=1,horizon={m}'\nlambda={lambda}\nbudget='unlimited'"
            ));
            let data = Data::signs(m as usize, 8);
            l.learn(&okl::Batch::new(&data.x, 2).numbers(&data.y)).unwrap();
            let bound = l.regret_bound(b, 0.0).unwrap();
            assert!(bound <= closed * (1.0 + 1e-9), "m {m}: {bound} > {closed}");
            assert!(!equal || (bound / closed - 1.0).abs() < 1e-9, "m {m}: {bound} is not {closed}");
        }
    }
}

/// Under Theorem 2's step the certificate is below (23) without its O(1), 2 lambda (B + X/lambda)² sqrt m, from m = 1 on.
#[test]
fn theorem2_is_below_23() {
    for lambda in [0.01, 0.1, 1.0] {
        let mut l = learner(&format!("loss='hinge:1000000000'\nstep='theorem2'\nlambda={lambda}\nbudget='unlimited'"));
        let data = Data::signs(1000, 9);
        for i in 0..data.rows() {
            data.teach(&mut l, i, None);
            let root = ((i + 1) as f64).sqrt();
            for b in [0.0, 0.1, 1.0, 10.0, 100.0] {
                let (bound, closed) = (l.regret_bound(b, 0.0).unwrap(), 2.0 * lambda * (b + 1.0 / lambda).powi(2) * root);
                assert!(bound <= closed, "lambda {lambda} B {b} m {}: {bound} > {closed}", i + 1);
            }
        }
        // E25: lambda B² + O(1) + X² sqrt m/(3 lambda) + O(ln m)
        let (bound, leading) = (l.regret_bound(1.0, 0.0).unwrap(), lambda + 1000f64.sqrt() / (3.0 * lambda));
        assert!(bound < leading + (1.0 + 1000f64.ln()) / lambda, "{bound} {leading}");
    }
}

#[test]
fn no_regret_bound_where_none_is_known() {
    let after = |text: &str, data: &Data| {
        let mut l = learner(text);
        (0..data.rows()).for_each(|i| _ = data.teach(&mut l, i, None));
        l.regret_bound(1.0, 0.0)
    };
    let (signs, wave) = (Data::signs(30, 1), Data::wave(30, 1));
    let nothing = Data { y: vec![], width: 0, ..signs.clone() };
    assert!(after("loss='hinge'\nstep='constant:0.5'\nlambda=0.1\nbudget='window:5'", &signs).is_some());
    for text in [
        "loss='nu_hinge:0.1'",
        "loss='hinge'\nimplicit=true",
        "loss='hinge'\nregulariser='norm'",
        "loss='hinge'\nregulariser='power:3'",
        "loss='hinge'\nstep='inverse_sqrt:3'\nlambda=1\nallow_overshoot=true",
        "loss='perceptron'\nstep='constant:1'\nlambda=0\nbudget='forgetron:5'",
    ] {
        assert_eq!(after(text, &signs), None, "{text}");
    }
    for text in [
        "loss='nu_epsilon:0.1'",
        "loss='nu_huber:nu=0.1'",
        "loss='nu_huber:nu=0.1,sigma_rule=concomitant'",
        "loss='squared'\nimplicit=true",
    ] {
        assert_eq!(after(text, &wave), None, "{text}");
    }
    assert_eq!(after("loss='nu_novelty:0.1'", &nothing), None);
    // Overshoot ends the certificate when it happens, not when it is allowed; a perceptron has one until the Forgetron scales.
    assert!(after("loss='hinge'\nstep='inverse_sqrt:0.5'\nlambda=1\nallow_overshoot=true", &signs).is_some());
    assert!(after("loss='perceptron'\nstep='constant:1'\nlambda=0\nbudget='unlimited'", &signs).is_some());
}

/// Theorem N3: theorem2's step, f^ = the mean of f_1 .. f_m. Mean over draws of R[f^] <= R[g] + 2 lambda (B + X/lambda)² m^(-1/2),
/// and <= R[g] + certificate/m, which is far sharper; R measured on 20,000 fresh rows, the same ones for f^ and g.
#[test]
fn averaged_hypotheses_generalise() {
    let (m, lambda, fresh) = (1500, 0.05, Data::signs(20_000, 1234));
    let risk = |z: &[f64], norm2: f64| {
        let losses = z.iter().zip(&fresh.y).map(|(z, y)| loss("hinge", &[*z], &[*y]));
        losses.sum::<f64>() / fresh.rows() as f64 + 0.5 * lambda * norm2
    };
    // g: many passes over a sample of its own.
    let mut g = learner(&format!(
        "loss='hinge'\nstep='inverse_sqrt:2'\nlambda={lambda}\naverage='exponential:0.001'\nbudget='unlimited'"
    ));
    let own = Data::signs(400, 99);
    for _ in 0..40 {
        (0..own.rows()).for_each(|i| _ = own.teach(&mut g, i, Some(i as u64)));
    }
    let g_norm = Function::mean_of(&g).norm();
    let g_risk = risk(&predict(&g, &fresh), g_norm * g_norm);
    let seeds = 4;
    let (mut mean_risk, mut certified) = (0.0, 0.0);
    for seed in 0..seeds {
        let mut l = learner(&format!("loss='hinge'\nstep='theorem2'\nlambda={lambda}\naverage='uniform'\nbudget='unlimited'"));
        let data = Data::signs(m, 500 + seed);
        l.learn(&okl::Batch::new(&data.x, 2).numbers(&data.y)).unwrap();
        mean_risk += risk(&predict(&l, &fresh), Function::mean_of(&l).norm2()) / seeds as f64;
        certified += l.regret_bound(g_norm, 0.0).unwrap() / m as f64 / seeds as f64;
    }
    let (paper, slack) = (2.0 * lambda * (g_norm + 1.0 / lambda).powi(2) / (m as f64).sqrt(), 0.005);
    println!("R[g] {g_risk:.4} |g| {g_norm:.3}; mean R[f^] {mean_risk:.4}; certificate/m {certified:.4}; (24) {paper:.4}");
    assert!(g_risk < 0.7, "f = 0 has risk 1; g is a comparator worth meeting: {g_risk}");
    assert!(mean_risk <= g_risk + paper + slack, "(24): {mean_risk} > {g_risk} + {paper}");
    assert!(mean_risk <= g_risk + certified + slack, "certificate/m: {mean_risk} > {g_risk} + {certified}");
}

/// f^_m = (1/m) sum_{t <= m} f_t: f_1 = 0 is in it, f_{m+1} is not. What `predict` returns is the mean of the hypotheses' own scores.
#[test]
fn the_uniform_average_is_theorem_3s() {
    let (data, fresh) = (Data::signs(80, 12), Data::signs(25, 13));
    let text = "loss='hinge'\nstep='theorem2'\nlambda=0.05\nbudget='unlimited'\noffset=true\n";
    let (mut plain, mut averaged) = (learner(text), learner(&format!("{text}average='uniform'")));
    let mut sum = vec![0.0; fresh.rows()];
    for i in 0..data.rows() {
        if i > 0 {
            sum.iter_mut().zip(predict(&plain, &fresh)).for_each(|(s, z)| *s += z);
        }
        data.teach(&mut plain, i, None);
        data.teach(&mut averaged, i, None);
        for (s, z) in sum.iter().zip(predict(&averaged, &fresh)) {
            let mean = s / (i + 1) as f64;
            assert!((z - mean).abs() <= 1e-9 * mean.abs().max(1.0), "t {}: {z} is not {mean}", i + 1);
        }
    }
}

// Norms: |f_t| <= C X/lambda; OLOK

/// |f_t| <= C X/lambda, whatever the step size, for every Lipschitz loss; the norm recomputed.
#[test]
fn norms_stay_in_the_ball() {
    for (name, lambda, c) in [
        ("hinge", 0.3, 1.0),
        ("logistic", 0.3, 1.0),
        ("max_margin", 0.3, 2f64.sqrt()),
        ("softmax", 0.3, 2f64.sqrt()),
        ("absolute", 0.5, 1.0),
        ("epsilon:0.1", 0.5, 1.0),
        ("huber:0.5", 0.5, 1.0),
    ] {
        let data = data_for(name, 150, 11);
        for step in ["constant:1.9", "theorem2", "pegasos:1", "inverse_sqrt:1.5", "smd:eta=0.5,mu=0.5"] {
            for budget in ["unlimited", "window:10"] {
                let mut l = learner(&settings(name, step, lambda, false, budget));
                for i in 0..data.rows() {
                    data.teach(&mut l, i, None);
                    let (norm, ball) = (Function::of(&l).norm(), c / lambda);
                    assert!(norm <= ball * (1.0 + 1e-6), "{name} {step} {budget}: {norm} > {ball}");
                }
            }
        }
    }
    // One point, one target: the ball is reached.
    let mut l = learner("loss='hinge:1000'\nstep='constant:0.5'\nlambda=0.5\nbudget='unlimited'");
    let one = Data { x: vec![0.5; 100], y: vec![1.0; 50], ..Data::signs(1, 1) };
    (0..50).for_each(|i| _ = one.teach(&mut l, i, None));
    assert!((Function::of(&l).norm() - 2.0).abs() < 1e-5);
}

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

/// N(0, I) rows in two dimensions, whose mean jumps to (3, 3) at row `shift`.
fn cloud(rows: usize, shift: usize, seed: u64) -> Data {
    let mut rng = Rng::new(seed);
    let x = (0..2 * rows).map(|i| (rng.normal() + if i / 2 >= shift { 3.0 } else { 0.0 }) as f32).collect();
    Data { features: 2, x, width: 0, y: vec![], classes: false }
}

/// What the test itself counted over a run.
struct Counted {
    l: Learner,
    examples: f64,
    outside: f64,
    /// The thresholds before the first counted example and after the last.
    ends: (f64, f64),
    projected: bool,
}

impl Counted {
    fn rate(&self) -> f64 {
        self.outside / self.examples
    }
}

/// Runs row by row; an example is outside by its score and the threshold shown before its update.
fn count(text: &str, data: &Data, outside: impl Fn(&[f64], &[f64], f64) -> bool, eta: Option<f64>) -> Counted {
    let l = learner(text);
    let nu = l.config().to_json().split("\"nu\":").nth(1).unwrap().split([',', '}']).next().unwrap().parse::<f64>().unwrap();
    let tube = !text.contains("novelty") && !text.contains("nu_hinge");
    let mut run = Counted { l, examples: 0.0, outside: 0.0, ends: (f64::NAN, f64::NAN), projected: false };
    for i in 0..data.rows() {
        let (before, theta) = (if text.contains("novelty") { run.l.threshold() } else { Some(run.l.theta()) }, run.l.theta());
        let z = data.teach(&mut run.l, i, None);
        let Some(threshold) = before else { continue };
        if run.examples == 0.0 {
            run.ends.0 = threshold;
        }
        let out = outside(&z, data.target(i), threshold);
        (run.examples, run.outside) = (run.examples + 1.0, run.outside + f64::from(u8::from(out)));
        if let Some(eta) = eta {
            let moved = (f64::from(u8::from(out)) - nu) * if tube { eta } else { -eta };
            run.projected |= (run.l.theta() - theta - moved).abs() > 1e-12;
        }
    }
    run.ends.1 = if text.contains("novelty") { run.l.threshold().unwrap() } else { run.l.theta() };
    run
}

fn below(z: &[f64], _: &[f64], threshold: f64) -> bool {
    z[0] < threshold
}

/// |rate - nu| <= bound < nu/2 after 20,000 examples, stationary and with a jump of the distribution half way. Steps are
/// of the scale of nu: scores are of size nu/lambda, and a step near that keeps theta at its projection (3.5).
#[test]
fn novelty_rates_are_what_was_asked_for() {
    for nu in [0.01, 0.05, 0.2] {
        for shift in [usize::MAX, 10_000] {
            let data = cloud(20_000, shift, 31);
            for step in [format!("constant:{}", nu / 20.0), format!("inverse_sqrt:{}", 4.0 * nu)] {
                for threshold in ["norma", "tracker", "tracker:0.05"] {
                    let text =
                        format!("loss='nu_novelty:{nu}'\nstep='{step}'\nlambda=1\nbudget='window:300'\nthreshold='{threshold}'");
                    let run = count(&text, &data, below, None);
                    let stated = run.l.alert_rate().unwrap();
                    println!(
                        "nu {nu} shift {} {step} {threshold}: rate {:.5} bound {:.5}",
                        shift < 20_000,
                        run.rate(),
                        stated.bound
                    );
                    assert!(
                        (stated.rate - run.rate()).abs() < 1e-12 && stated.nu == nu,
                        "{text}: the engine counts {} and the test {}",
                        stated.rate,
                        run.rate()
                    );
                    assert!((run.rate() - nu).abs() <= stated.bound + 1e-12, "{text}: |{} - nu| > {}", run.rate(), stated.bound);
                    assert!(stated.bound < 0.5 * nu, "{text}: the bound {} says something", stated.bound);
                    if threshold != "norma" {
                        assert_eq!(run.examples, 20_000.0 - 256.0, "the first 256 set the threshold");
                    }
                    if threshold == "tracker:0.05" {
                        let identity = nu - (run.ends.1 / run.ends.0).ln() / (0.05 * run.examples);
                        assert!((run.rate() - identity).abs() < 1e-12, "{text}: {} is not {identity}", run.rate());
                    }
                }
            }
        }
    }
}

/// Scores of a linear kernel have both signs. The alert rate is held as asked for, and its certificate is true.
#[test]
fn negative_scores_have_the_rate_that_was_asked_for() {
    let data = cloud(10_000, usize::MAX, 35);
    for kernel in ["linear", "polynomial:degree=3", "{ sum = ['linear', 'gaussian:1'] }"] {
        for threshold in ["tracker", "tracker:0.05"] {
            let kernel = if kernel.starts_with('{') { kernel.into() } else { format!("'{kernel}'") };
            let text = format!(
                "loss='nu_novelty:0.1'\nkernel={kernel}\nstep='constant:0.01'\nlambda=0.1\nbudget='window:100'\nthreshold='{threshold}'"
            );
            let run = count(&text, &data, below, None);
            let stated = run.l.alert_rate().unwrap();
            println!("{text}: rate {} {stated:?}", run.rate());
            assert!((stated.rate - run.rate()).abs() < 1e-12, "{text}: {stated:?}, counted {}", run.rate());
            assert!((run.rate() - 0.1).abs() <= stated.bound, "{text}: rate {}, {stated:?}", run.rate());
            assert!((run.rate() - 0.1).abs() <= 0.02, "{text}: rate {}", run.rate());
        }
    }
}

/// A step so small that theta does not move in f64 holds no rate, and the certificate says so.
#[test]
fn a_threshold_that_cannot_move_certifies_nothing() {
    let text = "loss='nu_novelty:0.1'\nkernel='gaussian:1'\nstep='constant:1e-20'\nlambda=1\nbudget='window:20'\ntheta0=1";
    let run = count(text, &cloud(500, usize::MAX, 36), below, None);
    let stated = run.l.alert_rate().unwrap();
    assert_eq!((run.rate(), run.l.theta()), (1.0, 1.0), "f stays at 0, below theta = 1");
    assert!((0.9 - 1e-9..1.0).contains(&stated.bound), "{stated:?}");
}

/// With a constant step and no projection: rate = nu - (theta_T - theta_1)/(eta T) for a threshold from above (novelty, margin),
/// + for a tube or scale; whatever the data. And the bounds for the other losses that adapt theta.
#[test]
fn rates_are_exact_while_nothing_is_projected() {
    let t = 20_000;
    // Separable: with more than nu of wrong labels no margin rho >= 0 has the rate nu, and the projection holds it at 0.
    let mut signs = Data::make(t, 2, 1, 41, |_, x| vec![f64::from(x[0].signum())]);
    signs.x.iter_mut().step_by(2).for_each(|x| *x += x.signum());
    let wave = Data::wave(t, 42);
    let jump =
        Data { y: wave.y.iter().enumerate().map(|(i, y)| if i < t / 2 { *y } else { 3.0 * y + 2.0 }).collect(), ..wave.clone() };
    let margin = |z: &[f64], y: &[f64], rho: f64| y[0] * z[0] < rho;
    let residual = |z: &[f64], y: &[f64], width: f64| (y[0] - z[0]).abs() > width;
    for nu in [0.01, 0.05, 0.2] {
        let common = |loss: &str, eta: f64, lambda: f64, more: &str| {
            format!("loss='{loss}:nu={nu}'\nstep='constant:{eta}'\nlambda={lambda}\nbudget='window:300'\n{more}")
        };
        let runs = [
            (
                count(&common("nu_novelty", nu / 100.0, 1.0, &format!("theta0={nu}")), &cloud(t, t, 33), below, Some(nu / 100.0)),
                nu / 100.0,
                -1.0,
                "nu_novelty",
            ),
            (
                count(&common("nu_hinge", 0.002, 0.1, "offset=true\ntheta0=0.05"), &signs, margin, Some(0.002)),
                0.002,
                -1.0,
                "nu_hinge",
            ),
            (count(&common("nu_epsilon", 0.02, 0.1, "theta0=1"), &wave, residual, Some(0.02)), 0.02, 1.0, "nu_epsilon"),
            (
                count(&common("nu_epsilon", 0.02, 0.1, "theta0=1"), &jump, residual, Some(0.02)),
                0.02,
                1.0,
                "nu_epsilon with a jump",
            ),
            (count(&common("nu_huber", 0.02, 0.1, ""), &wave, residual, Some(0.02)), 0.02, 1.0, "nu_huber"),
        ];
        for (run, eta, sign, name) in runs {
            let (stated, moved) = (run.l.alert_rate().unwrap(), (run.ends.1 - run.ends.0) / (eta * run.examples));
            println!(
                "{name} nu {nu}: rate {:.5} bound {:.5} theta {:.4} projected {}",
                run.rate(),
                stated.bound,
                run.ends.1,
                run.projected
            );
            assert!(!run.projected, "{name} nu {nu}: theta was projected");
            assert!(
                stated.bound < if name.contains("jump") { 1.5 } else { 0.5 } * nu,
                "{name} nu {nu}: the bound {} says something",
                stated.bound
            );
            assert!(
                (run.rate() - (nu + sign * moved)).abs() < 1e-9,
                "{name} nu {nu}: {} is not {}",
                run.rate(),
                nu + sign * moved
            );
            assert!(
                (run.rate() - stated.rate).abs() < 1e-12 && (run.rate() - nu).abs() <= stated.bound + 1e-12,
                "{name} nu {nu}"
            );
        }
    }
}

/// 3.5: the rate is right in both cases, but the averaged score finds more of the true tail. N(0, I_2), |x|² > -2 ln nu.
#[test]
fn the_tracker_finds_more_of_the_tail() {
    let (nu, data) = (0.05f64, cloud(20_000, usize::MAX, 51));
    for eta in [0.02, 0.005, 0.001] {
        let precision = ["norma", "tracker"].map(|threshold| {
            let mut l = learner(&format!(
                "loss='nu_novelty:{nu}'\nstep='constant:{eta}'\nlambda=1\nbudget='window:1200'\nthreshold='{threshold}'"
            ));
            let (mut alerts, mut right) = (0.0, 0.0);
            for i in 0..data.rows() {
                let threshold = l.threshold();
                let z = data.teach(&mut l, i, None);
                if i >= 5_000 && z[0] < threshold.unwrap() {
                    let r2: f64 = data.row(i).iter().map(|v| f64::from(v * v)).sum();
                    (alerts, right) = (alerts + 1.0, right + f64::from(u8::from(r2 > -2.0 * nu.ln())));
                }
            }
            // A coarse step keeps theta at 0 part of the time, and the rate of `norma` rises; the tracker's does not.
            let most = if threshold == "tracker" { 900.0 } else { 1500.0 };
            assert!(alerts > 600.0 && alerts < most, "{threshold} {eta}: {alerts} alerts in 15,000, 750 asked for");
            right / alerts
        });
        println!("eta {eta}: precision norma {:.3}, tracker {:.3}", precision[0], precision[1]);
        assert!(precision[1] > precision[0] + 0.1, "eta {eta}: {precision:?}");
    }
}

/// A young f grows, and a narrow kernel has a long lower tail: a tracker that follows both raises what was asked for from its first
/// hundreds of examples on, where a given step lags behind.
#[test]
fn alerts_come_as_asked_for_while_scores_grow() {
    for (nu, settings) in [(0.05, "lambda=0.03\nkernel='gaussian:0.1'"), (0.01, "lambda=1\nkernel='gaussian:4'")] {
        let rows = (40.0 / nu) as usize;
        let data = cloud(256 + rows, usize::MAX, 71);
        let rate = |threshold: &str| {
            let text =
                format!("loss='nu_novelty:{nu}'\nstep='constant:0.1'\n{settings}\nbudget='window:1200'\nthreshold='{threshold}'");
            count(&text, &data, below, None).rate() / nu
        };
        let (follows, given) = (rate("tracker"), rate("tracker:0.05"));
        println!("nu {nu}: {follows:.3} and {given:.3} of what was asked for");
        assert!((0.85..1.15).contains(&follows) && given < 0.85, "nu {nu}: {follows} and {given} of what was asked for");
    }
}

// Every budget

/// f_full: every update, shrunk as f is, nothing dropped; |f_full - f| <= truncation_error for every budget.
#[test]
fn truncation_is_stated_for_every_budget() {
    let data = Data::signs(400, 61);
    for budget in [
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
    ] {
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

/// The rate is that of what was reported of every row when it came, also where a warm-up learned rows again and decided otherwise;
/// the bound holds for it.
#[test]
fn the_alert_rate_is_the_one_that_was_reported() {
    let mut differs = 0;
    for (loss, seed) in [("nu_novelty:0.1", 1), ("nu_novelty:0.05", 2), ("nu_epsilon:0.2", 3), ("nu_hinge:0.2", 4)] {
        let mut rng = Rng::new(seed);
        let x: Vec<f32> = (0..1400).map(|_| rng.normal() as f32).collect();
        let y: Vec<f64> = x
            .chunks(2)
            .map(|x| if loss.starts_with("nu_hinge") { f64::from(x[0]).signum() } else { f64::from(x[0] * x[1]) })
            .collect();
        let mut last = None;
        for cut in [700, 1, 37] {
            let mut learner = Learner::new(okl::Config::from_toml(&format!("loss = '{loss}'\nwarmup = 100")).unwrap()).unwrap();
            let (mut outside, mut rows) = (0, 0);
            for (x, y) in x.chunks(2 * cut).zip(y.chunks(cut)) {
                let batch = okl::Batch::new(x, 2);
                let batch = if loss.starts_with("nu_novelty") { batch } else { batch.numbers(y) };
                learner
                    .learn_with(&batch, |_, step| (outside, rows) = (outside + usize::from(step.outside.unwrap()), rows + 1))
                    .unwrap();
                if rows < 300 {
                    learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
                }
                let rate = learner.alert_rate().unwrap();
                assert_eq!(rate.rate, outside as f64 / rows as f64, "{loss}, {rows} rows");
                assert!((rate.rate - rate.nu).abs() <= rate.bound, "{rate:?}");
            }
            // What was learned in the warm-up, counted anew by a learner that has its settings from the start.
            let mut again = Learner::new(learner.config().clone()).unwrap();
            let batch = okl::Batch::new(&x, 2);
            again.learn(&if loss.starts_with("nu_novelty") { batch } else { batch.numbers(&y) }).unwrap();
            differs += usize::from(again.alert_rate().unwrap().rate != learner.alert_rate().unwrap().rate);
            assert_eq!(last.get_or_insert(learner.to_bytes()), &learner.to_bytes());
        }
    }
    assert!(differs > 0, "no case tells the two counts apart");
}
