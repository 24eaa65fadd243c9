//! The streams: public data in the order of their files, and generated ones that drift.

use okl::Label;

use crate::Context;
use crate::data::{A9A, ELEC2, IJCNN1, PARKINSON, Rows, USPS, WINE, normal};
use okl_cli::random::Random;

/// Rows in an order, and the loss they are for.
pub struct Stream {
    /// Its name.
    pub name: &'static str,
    /// As in a configuration.
    pub loss: &'static str,
    /// The rows.
    pub rows: Rows,
}

impl Stream {
    /// Whether the targets are numbers.
    pub fn numbers(&self) -> bool {
        self.loss == "squared"
    }

    /// The names of the classes; none for numbers.
    pub fn labels(&self) -> Vec<Label> {
        if self.numbers() { Vec::new() } else { self.rows.labels() }
    }
}

/// How the names of the groups change.
#[derive(Clone, Copy, Debug)]
pub enum Drift {
    /// Four times, from one row to the next.
    Sudden,
    /// From one concept to another, over the whole stream.
    Gradual,
    /// To and fro.
    Recurring,
}

/// All of them.
///
/// # Errors
/// If a file cannot be read.
pub fn all(context: &Context) -> anyhow::Result<Vec<Stream>> {
    let mut streams = Vec::new();
    for (name, set, loss) in [
        ("usps", &USPS, "max_margin"),
        ("ijcnn1", &IJCNN1, "hinge"),
        ("a9a", &A9A, "hinge"),
        ("elec2", &ELEC2, "hinge"),
        ("wine", &WINE, "squared"),
        ("parkinsons", &PARKINSON, "squared"),
    ] {
        let rows = context.load(set)?.train;
        streams.push(Stream { name, loss, rows: if context.is_smoke() { rows.split(SMOKE).0 } else { rows } });
    }
    for (name, drift) in [("sudden", Drift::Sudden), ("gradual", Drift::Gradual), ("recurring", Drift::Recurring)] {
        let rows = drifting(context.sized(20_000, SMOKE), drift, &mut context.random("drift"));
        streams.push(Stream { name, loss: "hinge", rows });
    }
    Ok(streams)
}

/// Rows of a stream in a smoke test.
const SMOKE: usize = 300;
const FEATURES: usize = 10;
const GROUPS: u64 = 24;
const NOISE: f64 = 0.03;

/// Groups of points whose names depend on the concept of the moment.
pub fn drifting(count: usize, drift: Drift, random: &mut Random) -> Rows {
    let centres: Vec<f64> = (0..GROUPS as usize * FEATURES).map(|_| 1.2 * normal(random)).collect();
    let mut rows = Rows { features: FEATURES, width: 1, ..Rows::default() };
    for t in 0..count {
        let concept = match drift {
            Drift::Sudden => (4 * t / count) as u64,
            Drift::Gradual => u64::from(random.uniform() < t as f64 / count as f64),
            Drift::Recurring => (8 * t / count) as u64 % 2,
        };
        let group = random.below(GROUPS);
        let centre = &centres[group as usize * FEATURES..][..FEATURES];
        rows.x.extend(centre.iter().map(|c| (c + 0.8 * normal(random)) as f32));
        let name = (group * 7 + concept * 5 + group / 3 * concept) % 4 < 2;
        rows.y.push(if name ^ (random.uniform() < NOISE) { 1.0 } else { -1.0 });
    }
    rows
}
