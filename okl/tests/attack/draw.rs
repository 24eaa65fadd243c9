//! Draws cases: every part of a configuration, mixed at random.

use std::collections::BTreeMap;

use crate::case::Case;
use crate::rng::Rng;
use crate::stream::{Reads, draw as draw_stream, revisit, weigh};

/// The parts of the generator.
pub const FAMILIES: [&str; 6] = ["plain", "bank", "rates", "ids", "classes", "outputs"];

type Settings = BTreeMap<&'static str, String>;

/// The case of a seed; draws again until the settings are not refused. Returns also how many were refused.
pub fn draw(seed: u64) -> (Case, usize) {
    let mut rng = Rng::new(seed);
    let family = FAMILIES[rng.below(FAMILIES.len())];
    for refused in 0.. {
        let case = one(&mut rng, family, seed);
        if case.config().is_ok() {
            return (case, refused);
        }
    }
    unreachable!()
}

pub fn one(rng: &mut Rng, family: &'static str, seed: u64) -> Case {
    let mild = rng.chance(0.6);
    let mut settings = Settings::new();
    let reads = loss(rng, family, &mut settings);
    kernel(rng, family, &mut settings);
    let lambda = if rng.chance(0.15) { 0.0 } else { rng.log_between(1e-5, 0.5) };
    settings.insert("lambda", format!("{lambda:?}"));
    settings.insert("step", quoted(&step(rng, lambda)));
    budget(rng, &mut settings);
    let mut reads = suit_budget(rng, lambda, reads, &mut settings);
    extras(rng, family, reads, &mut settings);
    if family == "bank" {
        leave_out(rng, &mut settings);
        if rng.chance(0.1) {
            diverging(&mut settings);
            reads = Reads::Numbers(1);
        }
    }
    let mut reads = operator(rng, family, reads, &mut settings);
    if reads == Reads::Sign && rng.chance(0.3) {
        reads = Reads::Label;
    }
    let longest = if rng.chance(0.1) { 300 } else { 90 };
    let n = if family == "rates" { 60 + rng.below(if longest > 100 { 1500 } else { 400 }) } else { 5 + rng.below(longest) };
    let d = if rng.chance(0.1) { 20 + rng.below(30) } else { 1 + rng.below(6) };
    let wide = rng.chance(0.3);
    let mut rows = draw_stream(rng, n, d, reads, mild, wide);
    let weights = rng.chance(0.25);
    if weights {
        weigh(rng, &mut rows, mild);
    }
    let ids = family == "ids";
    if ids {
        let takeovers = rng.chance(0.3);
        revisit(rng, &mut rows, takeovers);
    }
    if rng.chance(0.15) {
        rows.iter_mut().for_each(|row| row.known = rng.chance(0.8));
    }
    // Drawn from a generator of their own, so that the other cases of a seed stay as they are.
    let mut apart = Rng::new(seed ^ 0x7765_6967_6874_7321);
    if apart.chance(0.1) {
        as_weights(&mut settings);
    }
    if matches!(reads, Reads::Sign | Reads::Label | Reads::Class(_)) && apart.chance(0.15) {
        let text = if apart.chance(0.5) { quoted("balanced") } else { "{\"0\": 0.3, \"1\": 2.0, \"-1\": 0.7}".into() };
        settings.insert("class_weight", text);
    }
    let mut apart = Rng::new(seed ^ 0x6561_6368_2073_7465);
    if apart.chance(0.06) {
        as_steps_per_coordinate(&mut apart, &mut settings);
    }
    let mut apart = Rng::new(seed ^ 0x7761_7665_7320_6f66);
    if apart.chance(0.12) {
        as_features(&mut apart, &mut settings);
    }
    let cuts = (0..1 + rng.below(5)).map(|_| rng.below(n + 1)).collect();
    let case = Case { seed, family, settings, rows, wide, ids, weights, cuts };
    let mut apart = Rng::new(seed ^ 0x636f_6c75_6d6e_7321);
    let mut weighted = case.clone();
    let list: Vec<f64> = (0..1 + apart.below(d)).map(|_| apart.log_between(0.02, 50.0)).collect();
    weighted.settings.insert("relevance", format!("{list:?}"));
    // Not every kernel can weigh columns.
    if apart.chance(0.25) && weighted.config().is_ok() { weighted } else { case }
}

/// A linear kernel as a weight vector.
fn as_weights(settings: &mut Settings) {
    if settings.contains_key("operator") && !settings.contains_key("kernel") {
        return; // a sum of operator kernels has its own kernels
    }
    settings.insert("kernel", "{\"linear\": {}}".into());
    settings.insert("form", quoted("weights"));
    for name in ["budget", "memory", "terms", "widths", "heads"] {
        settings.remove(name);
    }
}

/// A weight vector over random features or over products of two columns, in place of the kernel.
fn as_features(rng: &mut Rng, settings: &mut Settings) {
    as_weights(settings);
    if !settings.contains_key("form") {
        return; // a sum of operator kernels has its own kernels
    }
    if rng.chance(0.3) {
        let (gamma, coef0) = (rng.log_between(0.01, 2.0), rng.pick(&[0.0, 0.5, 1.0]));
        settings.insert("kernel", format!("{{\"polynomial\": {{\"degree\": 2, \"gamma\": {gamma}, \"coef0\": {coef0}}}}}"));
        return;
    }
    let name = rng.pick(&["gaussian", "exponential", "matern32", "matern52"]);
    settings.insert("kernel", format!("{{{name:?}: {{\"gamma\": {}}}}}", rng.log_between(0.01, 5.0)));
    let orthogonal = if rng.chance(0.3) { ",orthogonal=true" } else { "" };
    settings.insert("form", quoted(&format!("fourier:size={},seed={}{orthogonal}", 2 * (1 + rng.below(15)), rng.below(100))));
}

/// A weight vector with a step size for each weight.
fn as_steps_per_coordinate(rng: &mut Rng, settings: &mut Settings) {
    as_weights(settings);
    for name in ["operator", "implicit", "regulariser", "allow_overshoot"] {
        settings.remove(name);
    }
    let (mu, decay) = (rng.pick(&[0.01, 0.05, 0.5]), rng.pick(&[0.0, 0.5, 0.9, 0.99, 1.0]));
    settings.insert("step", quoted(&format!("smd:eta={},mu={mu},decay={decay},per=coordinate", rng.log_between(1e-3, 0.5))));
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn nu(rng: &mut Rng) -> f64 {
    *rng.pick(&[0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 0.99, 1e-4])
}

fn loss(rng: &mut Rng, family: &str, settings: &mut Settings) -> Reads {
    let nu = nu(rng);
    let signs = [
        ("hinge:1".to_string(), Reads::Sign),
        ("hinge:0.3".into(), Reads::Sign),
        ("perceptron".into(), Reads::Sign),
        ("logistic".into(), Reads::Sign),
    ];
    let numbers = [
        ("squared".to_string(), Reads::Numbers(1)),
        ("absolute".into(), Reads::Numbers(1)),
        ("epsilon:0.1".into(), Reads::Numbers(1)),
        ("huber:0.5".into(), Reads::Numbers(1)),
        ("quantile:0.8".into(), Reads::Numbers(1)),
    ];
    let rates = [
        (format!("nu_hinge:{nu}"), Reads::Sign),
        (format!("nu_novelty:{nu}"), Reads::Nothing),
        (format!("nu_novelty:{nu}"), Reads::Nothing),
        (format!("density:{nu}"), Reads::Nothing),
        (format!("nu_epsilon:{nu}"), Reads::Numbers(1)),
        (format!("nu_huber:nu={nu}"), Reads::Numbers(1)),
        (format!("nu_huber:nu={nu},sigma_rule=concomitant"), Reads::Numbers(1)),
    ];
    let classes =
        [("max_margin".to_string(), Reads::Class(2 + rng.below(6))), ("softmax".into(), Reads::Class(2 + rng.below(6)))];
    let vectors = [numbers[0].clone(), numbers[0].clone(), numbers[1].clone(), numbers[3].clone(), rates[4].clone()];
    let novelty = [("novelty:1".to_string(), Reads::Nothing)];
    let from: Vec<(String, Reads)> = match family {
        "rates" => rates.to_vec(),
        "classes" => classes.to_vec(),
        "outputs" => vectors.to_vec(),
        "bank" => [&signs[..], &numbers[..], &classes[..]].concat(),
        _ => [&signs[..], &numbers[..], &rates[..], &classes[..], &novelty[..]].concat(),
    };
    let (text, mut reads) = rng.pick(&from).clone();
    if family == "outputs" {
        reads = Reads::Numbers(2 + rng.below(3));
    }
    settings.insert("loss", quoted(&text));
    if matches!(family, "rates" | "plain") && (text.starts_with("nu_novelty") || text.starts_with("density")) && rng.chance(0.5) {
        let text = if rng.chance(0.5) { "tracker".to_string() } else { format!("tracker:{}", rng.pick(&[0.01, 0.05, 0.5])) };
        settings.insert("threshold", quoted(&text));
    }
    if text.starts_with("nu_") && rng.chance(0.3) {
        settings.insert("theta0", format!("{:?}", rng.between(0.0, 2.0)));
    }
    reads
}

/// A kernel that can be a part of a sum or product.
fn part(rng: &mut Rng) -> String {
    simple_kernel(rng).replace("manhattan", "exponential")
}

fn simple_kernel(rng: &mut Rng) -> String {
    let gamma = if rng.chance(0.05) { rng.log_between(1e-30, 1e30) } else { rng.log_between(0.01, 30.0) };
    match rng.below(10) {
        0..=2 => format!("{{\"gaussian\": {{\"gamma\": {gamma}}}}}"),
        3 => format!("{{\"exponential\": {{\"gamma\": {gamma}}}}}"),
        4 => format!("{{\"matern32\": {{\"gamma\": {gamma}}}}}"),
        5 => format!("{{\"matern52\": {{\"gamma\": {gamma}}}}}"),
        6 => format!("{{\"rational_quadratic\": {{\"gamma\": {gamma}, \"alpha\": {}}}}}", rng.log_between(0.2, 5.0)),
        7 => format!("{{\"manhattan\": {{\"gamma\": {gamma}}}}}"),
        8 => "{\"linear\": {}}".to_string(),
        _ => format!(
            "{{\"polynomial\": {{\"degree\": {}, \"gamma\": {}, \"coef0\": {}}}}}",
            1 + rng.below(4),
            rng.log_between(0.1, 2.0),
            rng.pick(&[0.0, 0.5, 1.0])
        ),
    }
}

fn kernel(rng: &mut Rng, family: &str, settings: &mut Settings) {
    let text = match rng.below(12) {
        0 => format!("{{\"sum\": [{}, {}]}}", part(rng), part(rng)),
        1 => format!("{{\"product\": [{}, {}]}}", part(rng), part(rng)),
        2 => format!("{{\"scaled\": {{\"weight\": {}, \"of\": {}}}}}", rng.log_between(1e-3, 1e3), simple_kernel(rng)),
        3 if family == "bank" => {
            let text = rng.pick::<&str>(&["auto", "gaussian,matern32", "exponential,gaussian", "gaussian,manhattan"]);
            if text == &"auto" {
                // The shadow follows heads over terms, not weight vectors beside them.
                settings.insert("heads", quoted(rng.pick::<&str>(&["weighted", "varied"])));
            }
            quoted(text)
        }
        3 => "{\"scaled\": {\"weight\": 25.0, \"of\": {\"gaussian\": {\"gamma\": 0.5}}}}".to_string(),
        _ => simple_kernel(rng),
    };
    settings.insert("kernel", text);
}

fn step(rng: &mut Rng, lambda: f64) -> String {
    let eta = match rng.below(20) {
        0 | 1 => rng.log_between(1e-6, 1e-2),
        2 => rng.log_between(1.5, 1e4),
        _ => rng.log_between(0.01, 1.5),
    };
    let eta = if lambda * eta >= 1.0 { 0.9 / lambda } else { eta };
    match rng.below(11) {
        0..=2 => format!("constant:{eta}"),
        9 => format!("normalised:eta={},tau={}", rng.between(0.05, 1.9), rng.pick(&[1.0, 1000.0])),
        3 => format!("inverse_sqrt:{eta}"),
        4 => format!("theorem1:bound=3,radius=1,horizon={}", 10 + rng.below(500)),
        5 if lambda > 0.0 => "theorem2".to_string(),
        6 => format!("decay:eta={eta},tau={}", rng.pick(&[10.0, 100.0])),
        7 => format!("linear:eta={eta},horizon={}", 10 + rng.below(200)),
        8 if lambda > 0.0 => format!("pegasos:{}", rng.pick(&[1.0, 10.0])),
        _ => format!("smd:eta={eta},mu={},decay={}", rng.pick(&[0.01, 0.05, 0.5]), rng.pick(&[0.5, 0.9, 0.99, 1.0])),
    }
}

fn budget(rng: &mut Rng, settings: &mut Settings) {
    let terms = *rng.pick(&[1, 2, 3, 5, 8, 16, 33, 40]);
    let which = rng.below(13);
    let text = match which {
        0 => "unlimited".to_string(),
        1 | 2 => format!("window:{terms}"),
        3 => format!("age:{}", *rng.pick(&[1, 2, 5, 20, 70])),
        4 => format!("olok:{}", rng.between(0.1, 0.45)),
        5 => format!("weight:{}", rng.log_between(1e-4, 0.5)),
        6 => format!("certified:{}", rng.log_between(1e-4, 3.0)),
        7 | 8 => format!("transfer:{terms}"),
        9..=11 => format!("merge:{terms}"),
        _ => format!("forgetron:{terms}"),
    };
    if terms > 3 && (7..=11).contains(&which) && rng.chance(0.3) {
        settings.insert("memory", "1000000".to_string());
    }
    settings.insert("budget", quoted(&text));
}

/// Most budgets with conditions get what they need; the others are refused and drawn again.
fn suit_budget(rng: &mut Rng, lambda: f64, reads: Reads, settings: &mut Settings) -> Reads {
    let budget = settings["budget"].clone();
    if budget.starts_with("\"merge") && rng.chance(0.6) {
        let gamma = rng.log_between(0.01, 30.0);
        let weight = if rng.chance(0.2) { rng.log_between(0.01, 100.0) } else { 1.0 };
        let text = format!("{{\"scaled\": {{\"weight\": {weight}, \"of\": {{\"gaussian\": {{\"gamma\": {gamma}}}}}}}}}");
        settings.insert("kernel", text);
    }
    if budget.starts_with("\"olok") && lambda > 0.0 {
        settings.insert("step", quoted(&format!("inverse_sqrt:{}", 0.9f64.min(0.9 / lambda))));
    }
    if budget.starts_with("\"forgetron") && rng.chance(0.7) && matches!(reads, Reads::Sign | Reads::Numbers(1)) {
        settings.insert("loss", quoted("perceptron"));
        settings.insert("lambda", "0.0".into());
        settings.insert("step", quoted(&format!("constant:{}", rng.pick(&[1.0, 0.3]))));
        settings.remove("theta0");
        return Reads::Sign;
    }
    reads
}

fn extras(rng: &mut Rng, family: &str, reads: Reads, settings: &mut Settings) {
    if reads != Reads::Nothing && rng.chance(0.5) {
        settings.insert("offset", "true".into());
        if rng.chance(0.3) {
            settings.insert("offset_step", format!("{:?}", rng.pick(&[0.0, 0.1, 3.0])));
        }
    }
    if rng.chance(0.2) {
        settings.insert("implicit", "true".into());
    }
    if rng.chance(0.3) && family != "bank" {
        let text = if rng.chance(0.5) { "uniform".to_string() } else { format!("exponential:{}", rng.pick(&[0.001, 0.01, 0.2])) };
        settings.insert("average", quoted(&text));
    }
    if rng.chance(0.15) {
        let shape = *rng.pick(&["norm", "power:1.5", "power:3", "power:1"]);
        settings.insert("regulariser", quoted(shape));
    }
    if rng.chance(0.2) {
        settings.insert("shrink", quoted("on_update"));
    }
    if rng.chance(0.1) {
        settings.insert("anchor", quoted("none"));
    }
    if rng.chance(0.05) {
        settings.insert("allow_overshoot", "true".into());
    }
    if rng.chance(0.1) {
        settings.insert("scale", quoted("standard"));
    }
    settings.insert("warmup", format!("{}", rng.pick(&[2, 4, 16, 32])));
}

/// A bank of which some heads diverge: those whose kernel is wide.
fn diverging(settings: &mut Settings) {
    for (name, value) in [
        ("loss", "\"squared\""),
        ("kernel", "{\"gaussian\": {\"gamma\": [0.001, 1000.0]}}"),
        ("step", "\"constant:300\""),
        ("lambda", "1e-5"),
    ] {
        settings.insert(name, value.to_string());
    }
    for name in ["implicit", "theta0", "threshold", "operator", "classes"] {
        settings.remove(name);
    }
}

/// What a bank is left to choose.
fn leave_out(rng: &mut Rng, settings: &mut Settings) {
    let what = 1 + rng.below(7);
    if what & 1 != 0 {
        settings.remove("step");
    }
    if what & 2 != 0 {
        settings.remove("lambda");
    }
    if what & 4 != 0 {
        let widths: Vec<String> = (0..2 + rng.below(2)).map(|_| format!("{}", rng.log_between(0.02, 20.0))).collect();
        let radial = *rng.pick(&["gaussian", "exponential", "matern52", "manhattan"]);
        let text = match rng.below(3) {
            0 => format!("{{\"{radial}\": {{\"gamma\": \"auto\"}}}}"),
            1 => format!("{{\"{radial}\": {{\"gamma\": \"median\"}}}}"),
            _ => format!("{{\"{radial}\": {{\"gamma\": [{}]}}}}", widths.join(", ")),
        };
        settings.insert("kernel", text);
    }
}

/// J, or a sum of operator kernels, for several outputs.
fn operator(rng: &mut Rng, family: &str, reads: Reads, settings: &mut Settings) -> Reads {
    let size = match reads {
        Reads::Numbers(n) if n > 1 => n,
        Reads::Class(n) if rng.chance(0.2) => n,
        Reads::Numbers(1) if family == "bank" && rng.chance(0.15) => 1,
        _ => return reads,
    };
    if matches!(reads, Reads::Class(_)) {
        let classes: Vec<String> = (0..size).map(|c| c.to_string()).collect();
        settings.insert("classes", format!("[{}]", classes.join(", ")));
    }
    if rng.chance(0.35) || size == 1 {
        let part = |rng: &mut Rng| format!("{{\"kernel\": {}, \"operator\": {}}}", simple_kernel(rng), matrix(rng, size));
        let parts = format!("[{}, {}]", part(rng), part(rng));
        settings.insert("operator", parts);
        settings.remove("kernel");
    } else if rng.chance(0.8) {
        settings.insert("operator", matrix(rng, size));
    }
    reads
}

/// A positive semidefinite matrix: a multiple of the identity plus a few outer products.
fn matrix(rng: &mut Rng, size: usize) -> String {
    let mut j = vec![0.0; size * size];
    let diagonal = *rng.pick(&[0.0, 0.1, 1.0, 5.0]);
    for i in 0..size {
        j[i * size + i] += diagonal;
    }
    for _ in 0..1 + rng.below(2) {
        let v: Vec<f64> = (0..size).map(|_| (rng.normal() * 4.0).round() / 4.0).collect();
        for (i, a) in v.iter().enumerate() {
            for (k, b) in v.iter().enumerate() {
                j[i * size + k] += a * b;
            }
        }
    }
    format!("{j:?}")
}
