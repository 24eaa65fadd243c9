//! Rows that are given by their kernel values: the cut does not matter, and given inner products give the bits of the linear kernel.

use super::*;
use crate::support::cases::{self, accepted};
use okl::config::Widths;
use okl::{Config, KernelRows};

/// The rows of a stream as objects with numbers; their kernel is the inner product.
struct Objects {
    stream: Stream,
    features: usize,
}

impl Objects {
    /// Inner products of multiples of 1/64 are exact in single precision, so the order of a sum does not matter. The Forgetron needs
    /// k(x, x) <= 1: rows are divided by a power of two, which keeps the products exact.
    fn of(stream: &Stream, config: &Config) -> Self {
        let mut x: Vec<f32> = stream.x.iter().map(|v| (v * 4.0).round() / 64.0).collect();
        if matches!(config.budget(), BudgetRule::Forgetron { .. }) {
            let squares = x.chunks(stream.features).map(|row| row.iter().map(|v| v * v).sum::<f32>());
            let largest = squares.fold(1.0, f32::max);
            let unit = (0..).map(|k| 2f32.powi(k)).find(|unit| unit * unit >= largest).unwrap();
            x.iter_mut().for_each(|v| *v /= unit);
        }
        let doubles = x.iter().map(|v| f64::from(*v)).collect();
        Objects { features: stream.features, stream: Stream { x, doubles, ..stream.clone() } }
    }

    /// The value that is computed for row `row` against item `item`. If the item comes later, the value is slightly wrong: it must not be
    /// used.
    fn value(&self, row: usize, item: usize) -> f64 {
        let x = |i: usize| &self.stream.x[i * self.features..(i + 1) * self.features];
        let dot: f64 = x(row).iter().zip(x(item)).map(|(a, b)| f64::from(a * b)).sum();
        if item > row { dot * (1.0 + 1e-6) } else { dot }
    }

    /// The numbers of the columns that the learner needs for some rows, and the values.
    fn values(&self, learner: &Learner, rows: std::ops::Range<usize>) -> (Vec<u64>, Vec<f64>) {
        let columns: Vec<u64> = learner.items().into_iter().chain(rows.clone().map(|i| i as u64)).collect();
        let values = rows.flat_map(|i| columns.iter().map(move |item| self.value(i, *item as usize))).collect();
        (columns, values)
    }

    fn learn(&self, config: &Config, ends: &[usize], saved_at: Option<usize>) -> Trace {
        let (mut learner, mut trace, mut from) = (Learner::new(config.clone()).unwrap(), Trace::default(), 0);
        for to in ends.iter().copied() {
            let (columns, values) = self.values(&learner, from..to);
            let items: Vec<u64> = (from as u64..to as u64).collect();
            let rows = KernelRows::new(&items, &columns, &values).unwrap();
            learn(&mut learner, &self.stream.labelled(Batch::of_kernel_values(&rows), from..to), &mut trace.rows);
            if saved_at == Some(to) {
                learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
            }
            from = to;
        }
        trace.learner(&learner);
        trace
    }
}

/// The drawn configuration with precomputed values.
fn precomputed(config: &Config) -> Config {
    let budget = match config.budget() {
        BudgetRule::Merge { terms } => BudgetRule::Transfer { terms },
        budget => budget,
    };
    let mut drawn = config.clone();
    if let Choice::Given(AnyStep::Smd { per, .. }) = &mut drawn.step {
        *per = None; // there are no weights
    }
    let operator = drawn.operator.filter(|operator| !matches!(operator, OperatorRule::Sum(_)));
    accepted(Config {
        kernel: KernelRule::Precomputed {}.into(),
        budget: Some(budget),
        form: Choice::Auto,
        scale: Scale::None,
        memory: None,
        widths: Choice::Given(Widths::Fixed),
        warmup_passes: None,
        operator,
        ..drawn
    })
}

/// The same settings with the linear kernel over the rows themselves; none under a budget that it does not have.
fn linear(config: &Config) -> Option<Config> {
    let linear = Config { kernel: KernelRule::Linear {}.into(), form: Form::Terms.into(), ..config.clone() };
    linear.check().is_ok().then_some(linear)
}

fn of_dense_rows(config: &Config, objects: &Objects) -> Trace {
    let (mut learner, mut trace) = (Learner::new(config.clone()).unwrap(), Trace::default());
    learn(&mut learner, &objects.stream.batch(0..objects.stream.rows()), &mut trace.rows);
    trace.learner(&learner);
    trace
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases::count(100), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_cut_does_not_matter_for_kernel_values(case in cases::small()) {
        let config = precomputed(&case.config);
        let objects = Objects::of(&case.stream, &config);
        let rows = objects.stream.rows();
        let single: Vec<usize> = (1..=rows).collect();
        let one_by_one = objects.learn(&config, &single, None);
        let mut at = 0;
        let cuts: Vec<usize> = case.cuts.iter().cycle().map(|cut| { at += cut; at.min(rows) }).take_while(|&to| to < rows).chain([rows]).collect();
        for (ends, saved) in [(&cuts[..], None), (&[rows], None), (&single, Some(rows / 2)), (&cuts, Some(cuts[0]))] {
            let difference = one_by_one.difference(&objects.learn(&config, ends, saved));
            prop_assert!(difference.is_none(), "{ends:?}: {} under {}", difference.unwrap_or_default(), config.to_json());
        }
        if let Some(dense) = linear(&config).map(|config| of_dense_rows(&config, &objects)) {
            prop_assert_eq!(&one_by_one.rows, &dense.rows, "{}", config.to_json());
            for (given, dense) in one_by_one.state.iter().zip(&dense.state).filter(|(given, _)| !["centres", "shape"].contains(&given.0)) {
                prop_assert_eq!(given, dense, "{}", config.to_json());
            }
        }
    }
}

/// Every budget but merge, smd and a bank of steps are among the cases above.
#[test]
fn every_budget_is_drawn_with_kernel_values() {
    let configs: Vec<Config> = cases::fixed_cases(300).iter().map(|case| precomputed(&case.config)).collect();
    let json: Vec<String> = configs.iter().map(|config| serde_json::to_string(&config.budget).unwrap()).collect();
    for budget in ["unlimited", "window", "age", "olok", "weight", "certified", "transfer", "forgetron"] {
        assert!(json.iter().any(|text| text.contains(budget)), "{budget}");
    }
    assert!(configs.iter().any(|config| matches!(config.step, Choice::Given(AnyStep::Smd { .. })) && linear(config).is_some()));
    assert!(configs.iter().any(|config| config.members().len() > 1 && linear(config).is_some()));
}
