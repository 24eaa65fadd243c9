//! A kernel over strings of one's own: the spectrum kernel, and the same loop that runs everything else.
//!
//! Words of two invented languages are told apart after one pass. `cargo run --release --example strings`

use std::collections::HashMap;

use okl::basis::Items;
use okl::basis::terms::Terms;
use okl::budget::{AnyBudget, BudgetRule};
use okl::engine::head::{HeadParts, Rules};
use okl::engine::{Engine, Labels, Parts};
use okl::kernel::Kernel;
use okl::loss::AnyLoss;
use okl::output::Output;
use okl::regulariser::AnyRegulariser;
use okl::step::AnyStep;

/// k(s, t) = <counts of s, counts of t> / (|.| |.|), over all substrings of `length` letters.
struct Spectrum {
    length: usize,
}

impl Spectrum {
    fn counts<'a>(&self, text: &'a str) -> HashMap<&'a [u8], f64> {
        let mut counts = HashMap::new();
        text.as_bytes().windows(self.length).for_each(|w| *counts.entry(w).or_insert(0.0) += 1.0);
        counts
    }
}

impl Kernel<String> for Spectrum {
    fn eval(&self, a: &String, b: &String) -> f64 {
        let (a, b) = (self.counts(a), self.counts(b));
        // Counts are whole numbers: these sums are exact, so the order of the maps does not matter.
        let shared: f64 = a.iter().filter_map(|(w, n)| b.get(w).map(|m| n * m)).sum();
        let square = |c: &HashMap<&[u8], f64>| c.values().map(|n| n * n).sum::<f64>();
        if shared == 0.0 { 0.0 } else { shared / (square(&a) * square(&b)).sqrt() }
    }
}

fn words(count: usize) -> (Vec<String>, Vec<f64>) {
    const SYLLABLES: [[&str; 8]; 2] =
        [["ka", "lo", "mi", "tu", "na", "re", "so", "vi"], ["str", "ach", "ung", "ber", "elt", "orn", "ist", "kra"]];
    let mut seed = 7u64;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    let word = |_| {
        let language = below(2);
        // One syllable in five is borrowed from the other language.
        let text = (0..2 + below(3)).map(|_| SYLLABLES[if below(5) == 0 { 1 - language } else { language }][below(8)]).collect();
        (text, 2.0 * language as f64 - 1.0)
    };
    (0..count).map(word).unzip()
}

fn main() {
    let (x, y) = words(2000);
    let mut engine = Engine::new(Parts {
        basis: Terms::new(Items::new(Spectrum { length: 2 })),
        losses: vec![AnyLoss::Hinge { margin: 1.0 }],
        budget: AnyBudget::new(BudgetRule::Transfer { terms: 100 }, 0.0),
        heads: vec![HeadParts::new(AnyStep::InverseSqrt { eta: 1.0 }, 1e-3)],
        output: Output::Identity,
        outputs: 1,
        theta0: None,
        rules: Rules::<AnyRegulariser> { offset: true, ..Rules::default() },
    });
    let mut mistakes = [0; 4];
    engine.learn_block(&x, &Labels { y: &y, width: 1, ..Labels::default() }, |i, step| {
        mistakes[i / 500] += usize::from(step.scores[0] * y[i] <= 0.0);
    });
    for (quarter, mistakes) in mistakes.iter().enumerate() {
        println!(
            "words {:4} to {:4}: {:4.1} % mistaken before they were learned",
            500 * quarter,
            500 * quarter + 499,
            *mistakes as f64 / 5.0
        );
    }
    let mut heaviest: Vec<(f64, &String)> = engine
        .terms()
        .live()
        .filter_map(|slot| Some((engine.heads()[0].expansion().alpha(0, slot), engine.terms().space().centre(slot)?)))
        .collect();
    heaviest.sort_by(|a, b| a.0.total_cmp(&b.0));
    let name = |range: &[(f64, &String)]| range.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>().join(" ");
    println!(
        "{} words are kept; most of the one language: {}; of the other: {}",
        engine.terms().len(),
        name(&heaviest[..4]),
        name(&heaviest[heaviest.len() - 4..])
    );
}
