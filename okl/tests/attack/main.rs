//! The attack: random cases with a shadow in f64 beside them that keeps every term, and all that the engine certifies held against it.
//!
//! A case is a configuration and a stream, drawn from a seed (`draw`, `stream`). Its rows are learned one at a time; `follow` moves the
//! shadow of every head by `Head::last_update`, f <- keep f + k(x, .) alpha, and nothing is ever dropped from it. `checks` then asks:
//!
//! - is |f_full - f| at most the truncation error plus rounding, in H by the Gram matrix and at points by the scores, for heads, their
//!   averages, and a bank's combined score? (`kernels` derives the rounding.)
//! - does `certified:E` stay below E, `window:n` below n terms, `age:n` below n examples?
//! - is the alert rate, counted here, within its bound of nu?
//! - is the regret against functions chosen in hindsight at most what is certified, for heads and for a bank? (`regret`)
//! - is |f|² what it claims: exact, or an upper bound after a drop? Does f shrink by the true |f|? (`norms` derives the rounding.)
//! - are scores f(x) + b of the terms held, and finite? Is b where its updates lead it? Are steps skipped only where they may leave
//!   numbers beyond 1e150? (`steps`)
//! - does `predict` say what `learn` says, and does bad input change nothing? (`insults`)
//! - does the stream in other cuts, with a save and load in between, leave the same bytes? (`laws`)
//!
//! The seed of every case that fails is printed. The first three of a check are made small (`shrink`) and printed as tests that can be
//! pasted. Cases that failed once are in `found`.
//!
//! `OKL_ATTACK_CASES` cases are run (a few hundred unless told), or as many as `OKL_ATTACK_SECONDS` allow, from `OKL_ATTACK_SEED` on;
//! `make soak` does so for hours and appends to benchmarks/attack.md what it has run and found.

mod case;
mod checks;
mod draw;
mod follow;
mod found;
mod insults;
mod kernels;
mod laws;
mod losses;
mod norms;
mod points;
mod regret;
mod rng;
mod sharp;
mod shrink;
mod steps;
mod stream;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

use okl::config::families::family;
use okl::loss::Loss;

/// Checks that are known to fail, with the reason: counted, not failed on.
const SWITCHED_OFF: &[(&str, &str)] = &[];

/// What was run and found.
#[derive(Default)]
struct Tally {
    families: BTreeMap<&'static str, usize>,
    refused: usize,
    found: BTreeMap<&'static str, usize>,
    shown: Vec<String>,
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn switched_off(check: &str) -> bool {
    SWITCHED_OFF.iter().any(|(name, _)| *name == check) && setting("OKL_ATTACK_ALL").is_none()
}

impl Tally {
    fn run(&mut self, seed: u64) {
        let (case, refused) = draw::draw(seed);
        *self.families.entry(case.family).or_default() += 1;
        self.refused += refused;
        let Err(failure) = shrink::outcome(&case) else { return };
        println!("seed {seed}, family {}: {}, row {}: {}", case.family, failure.check, failure.row, failure.text);
        let count = self.found.entry(failure.check).or_default();
        *count += 1;
        if *count <= 3 && !switched_off(failure.check) {
            let (small, why) = shrink::shrink(&case, &failure);
            let text = small.as_test(&format!("{}: {}", why.check, why.text));
            println!("{text}");
            self.shown.push(text);
        }
    }

    /// One row of the record.
    fn record(&self, seed: u64, seconds: f64) -> String {
        let list = |of: &BTreeMap<&str, usize>| {
            let items: Vec<String> = of.iter().map(|(name, n)| format!("{name} {n}")).collect();
            if items.is_empty() { "nothing".to_string() } else { items.join(", ") }
        };
        let cases: usize = self.families.values().sum();
        let date = std::env::var("OKL_ATTACK_DATE").unwrap_or_default();
        format!("| {date} | {seed} | {seconds:.0} | {cases} | {} | {} |", list(&self.families), list(&self.found))
    }
}

#[test]
fn the_certificates_survive() {
    let seed = setting("OKL_ATTACK_SEED").unwrap_or(0);
    let time = setting("OKL_ATTACK_SECONDS").map(Duration::from_secs);
    let cases = setting("OKL_ATTACK_CASES").unwrap_or(300);
    let start = Instant::now();
    let mut tally = Tally::default();
    let go_on = |done: u64| time.map_or(done < cases, |time| start.elapsed() < time);
    let mut done = 0;
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    while go_on(done) {
        tally.run(seed + done);
        done += 1;
    }
    std::panic::set_hook(quiet);
    let record = tally.record(seed, start.elapsed().as_secs_f64());
    println!("{record}");
    if let Some(path) = std::env::var_os("OKL_ATTACK_RECORD") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(file, "{record}").unwrap();
    }
    assert!(tally.shown.is_empty(), "{} cases fail:\n{}", tally.shown.len(), tally.shown.join("\n"));
}

/// Weight vectors, and weights of classes in both forms.
#[test]
fn weight_vectors_and_weights_of_classes_are_drawn() {
    let drawn: Vec<okl::Config> = (0..600).map(|seed| draw::draw(seed).0.config().expect("accepted")).collect();
    let some = |has: &dyn Fn(&okl::Config) -> bool| drawn.iter().any(has);
    assert!(some(&|config| config.uses_weights() && config.form != okl::config::Choice::Auto));
    let each = |config: &okl::Config| config.to_json().contains("\"per\":\"coordinate\"");
    assert!(some(&|config| each(config) && config.offset) && some(&|config| each(config) && config.loss.nu().is_some()));
    let has = |config: &okl::Config, word: &str| config.to_json().contains(word);
    for word in ["\"fourier\":{\"size\"", "orthogonal", "\"form\":\"weights\""] {
        let kernel = if word.contains("weights") { "polynomial" } else { "kernel" };
        assert!(some(&|config| has(config, word) && has(config, kernel)), "{word}");
        assert!(some(&|config| has(config, word) && has(config, kernel) && has(config, "smd")), "{word} with smd");
    }
    assert!(some(&|config| config.class_weight == okl::config::ClassWeight::Balanced));
    assert!(some(&|config| matches!(config.class_weight, okl::config::ClassWeight::Table(_))));
}

/// The attack would say nothing of a part that is never drawn.
#[test]
fn every_kernel_loss_step_and_budget_is_drawn() {
    let draw = |seed| draw::draw(seed).0.config().expect("accepted").to_json();
    let drawn: Vec<serde_json::Value> = (0..600).map(|seed| serde_json::from_str(&draw(seed)).expect("JSON")).collect();
    for family in ["kernel", "loss", "step", "budget"].map(|key| family(key).expect("a family")) {
        // `budget = auto` is a budget with `memory`; `kernel = auto` is a list of kernels.
        let is_auto = |config: &serde_json::Value, name: &str| match (family.key, name) {
            ("budget", "auto") => !config["memory"].is_null(),
            ("kernel", "auto") => config["kernel"] == "auto" || config["kernel"].is_array(),
            _ => false,
        };
        let has = |config: &serde_json::Value, name| {
            config[family.key] == name || config[family.key].get(name).is_some() || is_auto(config, name)
        };
        // Precomputed values have no rows to attack.
        let names = family.names().filter(|name| *name != "precomputed");
        let missing: Vec<_> = names.filter(|name| !drawn.iter().any(|config| has(config, *name))).collect();
        assert!(missing.is_empty(), "{}: {missing:?} not drawn", family.key);
    }
}
