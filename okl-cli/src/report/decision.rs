//! Decision regions over two features: scores on a grid, as rectangles of equal colour merged into one path per colour.

use std::collections::{BTreeMap, VecDeque};

use maud::{Markup, html};

use super::axis::{Axis, Unit, range};
use super::chart::frame;
use super::text;
use crate::metrics;

/// Cells of the grid along each side.
pub const GRID: usize = 120;
/// Samples that are kept.
pub const MOST_SAMPLES: usize = 400;
/// Shades of a colour, from pale to full.
const SHADES: usize = 6;
/// Colours of the style sheet; further classes share them.
const COLOURS: usize = 8;
/// Classes in the legend.
const MOST_NAMED: usize = 24;

/// A row of two features, and its class, target, or whether it raised an alert (1 or 0).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The two features.
    pub at: [f64; 2],
    /// Its class, target, or 1 for an alert and 0 for none.
    pub value: f64,
}

/// The last 400 rows of a run, in the order of learning, to be drawn over the regions.
#[derive(Clone, Debug, Default)]
pub struct Samples(VecDeque<Sample>);

impl Samples {
    /// Adds one row and drops the oldest one if there are 400.
    pub fn push(&mut self, at: [f64; 2], value: f64) {
        if self.0.len() == MOST_SAMPLES {
            self.0.pop_front();
        }
        self.0.push_back(Sample { at, value });
    }

    /// The range of a feature, with a margin.
    fn extent(&self, feature: usize) -> Axis {
        let (low, high) = range(self.0.iter().map(|s| s.at[feature]));
        let margin = 0.08 * (high - low).max(1e-6 * low.abs().max(1.0));
        Axis::exact(low - margin, high + margin, Unit::Plain)
    }
}

/// The meaning of the scores.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Classes with these names. One score for two classes: positive for the second.
    Classes(Vec<String>),
    /// A number with this name: the first score.
    Numbers(String),
    /// Novelty: a row is novel if its score is below this threshold.
    Novelty(f64),
}

/// The number of a colour and of its shade.
type Look = (usize, usize);

/// The predictions of a learner over the plane of two features.
#[derive(Clone, Debug)]
pub struct Decision {
    names: [String; 2],
    axes: [Axis; 2],
    reading: Reading,
    /// From the lower left, row by row.
    cells: Vec<Look>,
    samples: Vec<(Sample, Look)>,
    /// The smallest and the largest number shown.
    span: (f64, f64),
}

impl Decision {
    /// Evaluates `score` on a grid over the samples' extent: it gets all 14,400 rows of two features at once and returns
    /// their scores row by row. None without samples, or if there are not the same number of scores for each row.
    pub fn evaluate<E>(
        names: [String; 2],
        samples: &Samples,
        reading: Reading,
        score: impl FnOnce(&[f64]) -> Result<Vec<f64>, E>,
    ) -> Result<Option<Self>, E> {
        let axes = [samples.extent(0), samples.extent(1)];
        let scores = score(&rows(&axes))?;
        let outputs = scores.len() / (GRID * GRID);
        if samples.0.is_empty() || outputs == 0 || scores.len() != outputs * GRID * GRID {
            return Ok(None);
        }
        let values: Vec<(usize, f64)> = scores.chunks_exact(outputs).map(|z| read(&reading, z)).collect();
        let targets = samples.0.iter().map(|s| s.value).filter(|_| matches!(reading, Reading::Numbers(_)));
        let span = range(values.iter().map(|v| v.1).chain(targets));
        let look = |(colour, value): (usize, f64)| (colour % COLOURS, shade(&reading, span, value));
        let sample = |s: &Sample| {
            (*s, if let Reading::Numbers(_) = reading { look((0, s.value)) } else { (s.value as usize % COLOURS, SHADES - 1) })
        };
        let cells = values.into_iter().map(look).collect();
        Ok(Some(Decision { names, axes, cells, samples: samples.0.iter().map(sample).collect(), span, reading }))
    }

    /// An HTML figure with legend and caption.
    pub fn html(&self) -> Markup {
        let [x, y] = &self.axes;
        let drawing =
            format!("<g class=\"cells\" transform=\"scale({:.6})\">{}</g>{}", 1000.0 / GRID as f64, self.paths(), self.dots());
        let label = format!("decision regions over {} and {}", self.names[0], self.names[1]);
        html! {
            figure.chart.regions {
                p.measures { "↑ " (metrics::shortened(&self.names[1], 40)) }
                (frame(&drawing, &x.ticks(6), &y.ticks(6), &metrics::shortened(&self.names[0], 40), None, &label))
            }
            div.beside {
                ul.legend {
                    @for (look, name) in self.legend() {
                        li { i class={ "swatch " (self.class(look)) } {} (metrics::shortened(&name, 40)) }
                    }
                    @if let Some(left) = self.classes().checked_sub(MOST_NAMED).filter(|left| *left > 0) {
                        li { "and " (left) " more" }
                    }
                }
                p { (self.caption()) }
            }
        }
    }

    fn paths(&self) -> String {
        let path = |(look, d): (Look, String)| format!("<path class=\"{}\" d=\"{d}\"/>", self.class(look));
        merge(&self.cells).into_iter().map(path).collect()
    }

    /// The CSS class of a look; numbers have a wider range of shades.
    fn class(&self, (colour, shade): Look) -> String {
        let ramp = if self.is_number() { 'n' } else { 's' };
        format!("c{colour} {ramp}{shade}")
    }

    fn is_number(&self) -> bool {
        matches!(self.reading, Reading::Numbers(_))
    }

    /// One path per look: a halo below, the dots above. Classes also differ by their shape; numbers are shaded as their
    /// surroundings should be, in a ring.
    fn dots(&self) -> String {
        let mut paths: BTreeMap<Look, String> = BTreeMap::new();
        for (sample, look) in &self.samples {
            let place = |i: usize| 1000.0 * self.axes[i].place(sample.at[i]);
            *paths.entry(*look).or_default() += &format!("M{:.0} {:.0}h0", place(0), 1000.0 - place(1));
        }
        let below = if self.is_number() { "ring" } else { "halo" };
        let draw = |(look, d): (&Look, &String)| {
            let shape = if look.0 % 2 == 1 { "square" } else { "round" };
            let above = self.class(*look);
            format!("<path class=\"{below} {shape}\" d=\"{d}\"/><path class=\"sample {above} {shape}\" d=\"{d}\"/>")
        };
        paths.iter().map(draw).collect()
    }

    /// The looks with their names.
    fn legend(&self) -> Vec<(Look, String)> {
        let full = |colour: usize| (colour % COLOURS, SHADES - 1);
        match &self.reading {
            Reading::Classes(names) => {
                names.iter().take(MOST_NAMED).enumerate().map(|(i, name)| (full(i), name.clone())).collect()
            }
            Reading::Novelty(_) => vec![(full(0), "usual".into()), (full(1), "novel: below the threshold".into())],
            Reading::Numbers(name) => {
                let value = |shade: usize| self.span.0 + (self.span.1 - self.span.0) * (shade as f64 + 0.5) / SHADES as f64;
                (0..SHADES).map(|s| ((0, s), format!("{} about {}", name, text::figure(value(s))))).collect()
            }
        }
    }

    /// The number of classes; 0 for numbers and alerts.
    fn classes(&self) -> usize {
        if let Reading::Classes(names) = &self.reading { names.len() } else { 0 }
    }

    fn caption(&self) -> String {
        let last = format!("the last {} rows of this run are drawn over it", text::count(self.samples.len() as f64));
        match &self.reading {
            Reading::Classes(names) => {
                let shared = match names.len() > COLOURS {
                    true => format!(
                        " There are {} classes and {COLOURS} colours: every {COLOURS}th class has the same colour, so a point in a region of its own colour can be predicted wrongly, too.",
                        names.len()
                    ),
                    false => String::new(),
                };
                format!(
                    "The predicted class at the end of the run, over the plane of the two features; {last}, each in the colour of its own label. The paler the colour, the smaller the margin. The final model predicts a wrong class for a point in a region of another colour.{shared}"
                )
            }
            Reading::Numbers(_) => format!(
                "The score at the end of the run over the plane of the two features; {last}, shaded by their targets on the same scale. Where the shade of a point differs from its surroundings, the model has an error."
            ),
            Reading::Novelty(threshold) => format!(
                "The region of usual rows at the end of the run; {last}, those that raised an alert when they came as squares. The border is where the score equals the threshold, {}.",
                text::figure(*threshold)
            ),
        }
    }
}

/// The centre of every cell.
fn rows(axes: &[Axis; 2]) -> Vec<f64> {
    let middle = |axis: &Axis, i: usize| axis.low + (axis.high - axis.low) * (i as f64 + 0.5) / GRID as f64;
    (0..GRID * GRID).flat_map(|cell| [middle(&axes[0], cell % GRID), middle(&axes[1], cell / GRID)]).collect()
}

/// The colour of a cell, and its margin or value, from which the shade is computed.
fn read(reading: &Reading, z: &[f64]) -> (usize, f64) {
    match reading {
        Reading::Numbers(_) => (0, z[0]),
        Reading::Novelty(threshold) => (usize::from(z[0] < *threshold), (z[0] - threshold).abs()),
        Reading::Classes(_) if z.len() == 1 => (usize::from(z[0] > 0.0), z[0].abs()),
        Reading::Classes(_) => {
            let best = (1..z.len()).fold(0, |best, i| if z[i] > z[best] { i } else { best });
            let second = (0..z.len()).filter(|i| *i != best).map(|i| z[i]).fold(f64::MIN, f64::max);
            (best, z[best] - second)
        }
    }
}

/// The shade: linear in the value for numbers, by the square root of the margin for classes, so that small margins differ visibly.
fn shade(reading: &Reading, (low, high): (f64, f64), value: f64) -> usize {
    let share = match reading {
        Reading::Numbers(_) => (value - low) / (high - low).max(f64::MIN_POSITIVE),
        _ => (value / high.max(f64::MIN_POSITIVE)).sqrt(),
    };
    ((share * SHADES as f64) as usize).min(SHADES - 1)
}

/// Rectangles of equal cells as one path per look: a run of cells in a line is extended downwards while the next line has it, too.
fn merge(cells: &[Look]) -> BTreeMap<Look, String> {
    let mut paths: BTreeMap<Look, String> = BTreeMap::new();
    let mut open: Vec<(Run, usize)> = Vec::new();
    for line in 0..=GRID {
        // SVG counts rows from the top.
        let runs = if line < GRID { runs(&cells[(GRID - 1 - line) * GRID..(GRID - line) * GRID]) } else { Vec::new() };
        let mut next: Vec<(Run, usize)> = Vec::new();
        for run in &runs {
            let since = open.iter().find(|(other, _)| other == run).map_or(line, |(_, since)| *since);
            next.push((*run, since));
        }
        for ((from, to, look), since) in open.iter().filter(|(run, _)| !runs.contains(run)) {
            *paths.entry(*look).or_default() += &format!("M{from} {since}H{to}V{line}H{from}z");
        }
        open = next;
    }
    paths
}

/// From, to, look.
type Run = (usize, usize, Look);

fn runs(row: &[Look]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (i, look) in row.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if run.2 == *look => run.1 = i + 1,
            _ => runs.push((i, i + 1, *look)),
        }
    }
    runs
}
