//! Streams that try to hurt: scales, offsets, orders, near-duplicates.

use crate::case::{Row, Target};
use crate::rng::Rng;

/// What targets a loss reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// -1 or +1.
    Sign,
    /// One of two classes, for a loss that reads a sign.
    Label,
    /// A class out of so many.
    Class(usize),
    /// So many numbers.
    Numbers(usize),
    /// Nothing.
    Nothing,
}

/// How rows are laid out.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Normal,
    Clusters,
    NearDuplicates,
    Line,
    Constant,
    WithZeros,
    Grid,
    Growing,
    OtherUnits,
}

/// What is drawn once per stream.
struct Plan {
    layout: Layout,
    scale: f64,
    offset: f64,
    spread: f64,
    centres: Vec<Vec<f64>>,
    target_scale: f64,
}

/// Draws a stream of `n` rows of `d` features. `mild` keeps features within the usual sizes; features that are not `wide` are numbers of f32.
pub fn draw(rng: &mut Rng, n: usize, d: usize, reads: Reads, mild: bool, wide: bool) -> Vec<Row> {
    let plan = plan(rng, d, mild);
    let mut rows: Vec<Row> = Vec::with_capacity(n);
    for t in 0..n {
        let mut x = features(rng, &plan, &rows, t, n, d);
        x.iter_mut().filter(|_| !wide).for_each(|v| *v = f64::from(*v as f32));
        let y = target(rng, &plan, &x, reads);
        rows.push(Row { x, y, known: true, weight: 1.0, id: t as u64 });
    }
    reorder(rng, &mut rows);
    rows
}

fn plan(rng: &mut Rng, d: usize, mild: bool) -> Plan {
    use Layout::*;
    let layout = *rng.pick(&[Normal, Normal, Clusters, NearDuplicates, NearDuplicates, Line, Constant, WithZeros, Grid, Growing]);
    let layout = if matches!(layout, Growing) && rng.chance(0.5) { OtherUnits } else { layout };
    let hostile = !mild && rng.chance(0.5);
    let scale = if hostile { *rng.pick(&[1e-20, 1e-10, 1e-4, 1e3, 1e7, 1e14]) } else { *rng.pick(&[1.0, 1.0, 0.3, 3.0]) };
    let offset = if !mild && rng.chance(0.2) { *rng.pick(&[1e6, -1e6, 1e3, 30.0]) } else { 0.0 };
    let spread = rng.log_between(1e-7, 1e-2);
    let count = 1 + rng.below(4);
    let centres = (0..count).map(|_| (0..d).map(|_| rng.normal()).collect()).collect();
    let target_scale = if !mild && rng.chance(0.3) { *rng.pick(&[1e-8, 1e-3, 1e3, 1e6, 1e-60, 1e60, 1e200]) } else { 1.0 };
    Plan { layout, scale, offset, spread, centres, target_scale }
}

fn features(rng: &mut Rng, plan: &Plan, before: &[Row], t: usize, n: usize, d: usize) -> Vec<f64> {
    if matches!(plan.layout, Layout::NearDuplicates) && !before.is_empty() && rng.chance(0.8) {
        let from = &before[rng.below(before.len())].x;
        return from.iter().map(|&v| (v + plan.scale * plan.spread * rng.normal()).clamp(-9e14, 9e14)).collect();
    }
    let mut x: Vec<f64> = (0..d).map(|_| rng.normal()).collect();
    match plan.layout {
        Layout::Clusters => {
            let centre = rng.pick(&plan.centres).clone();
            x.iter_mut().zip(centre).for_each(|(x, c)| *x = 3.0 * c + 0.3 * *x);
        }
        Layout::Line => x.iter_mut().for_each(|x| *x = t as f64 / n as f64 * 6.0 - 3.0),
        Layout::Constant => x.iter_mut().for_each(|x| *x = 0.7),
        Layout::WithZeros if rng.chance(0.5) => x.iter_mut().for_each(|x| *x = 0.0),
        Layout::Grid => x.iter_mut().for_each(|x| *x = x.round().clamp(-2.0, 2.0)),
        Layout::Growing => x.iter_mut().for_each(|x| *x *= 1.0 + 5.0 * t as f64 / n as f64),
        Layout::OtherUnits if t > n / 3 => x.iter_mut().for_each(|x| *x *= 1000.0),
        _ => {}
    }
    x.iter().map(|x| (x * plan.scale + plan.offset).clamp(-9e14, 9e14)).collect()
}

fn target(rng: &mut Rng, plan: &Plan, x: &[f64], reads: Reads) -> Target {
    let x: Vec<f64> = x.iter().map(|v| (v - plan.offset) / plan.scale).collect();
    let signal = (2.0 * x[0]).sin() + x.iter().skip(1).sum::<f64>().cos() - 0.5;
    match reads {
        Reads::Nothing => Target::Nothing,
        Reads::Sign => {
            let sign = if signal + 0.3 * rng.normal() > 0.0 { 1.0 } else { -1.0 };
            Target::Numbers(vec![sign])
        }
        Reads::Label if signal + 0.3 * rng.normal() > 0.0 => Target::Class(3),
        Reads::Label => Target::Class(-2),
        Reads::Class(count) => Target::Class(((signal * 2.0 + 0.5 * rng.normal()).floor() as i64).rem_euclid(count as i64)),
        Reads::Numbers(outputs) => {
            Target::Numbers((0..outputs).map(|o| plan.target_scale * (signal + 0.3 * o as f64 + 0.2 * rng.normal())).collect())
        }
    }
}

fn key(row: &Row) -> f64 {
    match &row.y {
        Target::Numbers(y) => y[0],
        Target::Class(c) => *c as f64,
        Target::Nothing => row.x[0],
    }
}

/// Orders that are hard: sorted by a feature, one class after the other, alternating.
fn reorder(rng: &mut Rng, rows: &mut [Row]) {
    match rng.below(6) {
        0 => rows.sort_by(|a, b| a.x[0].total_cmp(&b.x[0])),
        1 => rows.sort_by(|a, b| key(a).total_cmp(&key(b))),
        2 => {
            rows.sort_by(|a, b| key(a).total_cmp(&key(b)));
            let sorted = rows.to_vec();
            let half = sorted.len().div_ceil(2);
            for (i, row) in rows.iter_mut().enumerate() {
                let from = if i % 2 == 0 { i / 2 } else { half + i / 2 };
                *row = sorted[from.min(sorted.len() - 1)].clone();
            }
        }
        _ => {}
    }
}

/// Weights: none, tiny, huge, zero.
pub fn weigh(rng: &mut Rng, rows: &mut [Row], mild: bool) {
    for row in rows {
        row.weight = match rng.below(if mild { 4 } else { 6 }) {
            0 => 0.0,
            1 => rng.between(0.1, 3.0),
            2 | 3 => 1.0,
            4 => 1e-9,
            _ => 1e4,
        };
    }
}

/// Ids with revisits: a revisit has the features of the first visit.
pub fn revisit(rng: &mut Rng, rows: &mut [Row], takeovers: bool) {
    for t in 0..rows.len() {
        rows[t].id = t as u64;
        if t > 0 && rng.chance(0.4) {
            let from = rng.below(t);
            rows[t].id = rows[from].id;
            if !(takeovers && rng.chance(0.2)) {
                let x = rows[..t].iter().rev().find(|row| row.id == rows[from].id).map(|row| row.x.clone());
                rows[t].x = x.unwrap_or_else(|| rows[from].x.clone());
            }
        }
    }
}
