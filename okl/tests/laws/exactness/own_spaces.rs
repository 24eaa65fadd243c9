//! Spaces of one's own.

use super::*;
use crate::support::cases;

/// A kernel over anyone's own rows, whose sum over features may run backwards.
struct Sums {
    backwards: bool,
}

impl Kernel<Vec<f32>> for Sums {
    fn eval(&self, a: &Vec<f32>, b: &Vec<f32>) -> f64 {
        let square = |i: usize| (a[i] - b[i]) * (a[i] - b[i]);
        let order = 0..a.len();
        let r2: f32 = if self.backwards { order.rev().map(square).sum() } else { order.map(square).sum() };
        libm::exp(-0.3 * f64::from(r2))
    }
}

/// A space that has a second path: what a single row is worth against the terms comes from `single`.
struct SecondPath {
    blocks: Items<Vec<f32>, Sums>,
    single: Items<Vec<f32>, Sums>,
}

impl Space for SecondPath {
    type Rows<'a> = &'a [Vec<f32>];

    fn count(rows: &[Vec<f32>]) -> usize {
        rows.len()
    }
    fn range<'a>(rows: Self::Rows<'a>, from: usize, to: usize) -> Self::Rows<'a> {
        &rows[from..to]
    }
    fn planes(&self) -> usize {
        1
    }
    fn reserve(&mut self, slots: usize) {
        self.blocks.reserve(slots);
        self.single.reserve(slots);
    }
    fn put(&mut self, slot: usize, rows: &[Vec<f32>], i: usize) {
        self.blocks.put(slot, rows, i);
        self.single.put(slot, rows, i);
    }
    fn is(&mut self, slot: usize, rows: &[Vec<f32>], i: usize) -> bool {
        self.blocks.is(slot, rows, i)
    }
    fn against_terms(&self, rows: &[Vec<f32>], slots: usize, tile: &mut Block) {
        let space = if rows.len() == 1 { &self.single } else { &self.blocks };
        space.against_terms(rows, slots, tile);
    }
    fn among_rows(&self, rows: &[Vec<f32>], tile: &mut Block) {
        self.blocks.among_rows(rows, tile);
    }
    fn self_values(&self, rows: &[Vec<f32>], i: usize, out: &mut [f64]) {
        self.blocks.self_values(rows, i, out);
    }
    fn term_self_values(&self, slot: usize, out: &mut [f64]) {
        self.blocks.term_self_values(slot, out);
    }
    fn term_row(&mut self, slot: usize, slots: usize, planes: std::ops::Range<usize>, out: &mut [f32]) {
        self.blocks.term_row(slot, slots, planes, out);
    }
    fn pairs(&mut self, slot: usize, rows: &[Vec<f32>], i: usize, out: &mut [Pair]) {
        self.blocks.pairs(slot, rows, i, out);
    }
}

/// Rows and signs for spaces of one's own.
fn own_rows() -> (Vec<Vec<f32>>, Vec<f64>) {
    let mut random = cases::Random(5);
    let rows: Vec<Vec<f32>> = (0..150).map(|_| (0..9).map(|_| random.unit() as f32).collect()).collect();
    let y = rows.iter().map(|x| if x[0] > x[1] { 1.0 } else { -1.0 }).collect();
    (rows, y)
}

/// What a space learns of these rows in blocks of `cut`.
fn learned<P: for<'a> Space<Rows<'a> = &'a [Vec<f32>]>>(
    space: P,
    output: Output,
    loss: AnyLoss,
    outputs: usize,
    cut: usize,
) -> Trace {
    let (rows, y) = own_rows();
    let y: Vec<f64> = y.into_iter().flat_map(|y| vec![y; outputs]).collect();
    let budget = AnyBudget::new(BudgetRule::Window { terms: 60 }, 0.0);
    let rules = Rules {
        regulariser: AnyRegulariser::Square,
        offset: true,
        implicit: false,
        allow_overshoot: false,
        shrink: Shrink::Always,
    };
    let heads = vec![HeadParts { average: Average::Uniform, ..HeadParts::new(AnyStep::Constant { eta: 0.3 }, 0.01) }];
    let mut engine =
        Engine::new(Parts { basis: Terms::new(space), losses: vec![loss], budget, heads, output, outputs, theta0: None, rules });
    let mut trace = Trace::default();
    for (rows, y) in rows.chunks(cut).zip(y.chunks(cut * outputs)) {
        let labels = Labels { y, width: outputs, ..Labels::default() };
        engine.learn_block(rows, &labels, |_, step| trace.rows.push(Row::of(step)));
    }
    trace.engine(&engine, engine.terms());
    trace
}

/// The control: a space that sums single rows in another order is caught by the same comparison, and an honest one passes.
#[test]
fn another_summation_for_single_rows_is_caught() {
    let run = |backwards: bool, cut: usize| {
        let space = SecondPath { blocks: Items::new(Sums { backwards: false }), single: Items::new(Sums { backwards }) };
        learned(space, Output::Identity, AnyLoss::Logistic {}, 1, cut)
    };
    for cut in [7, 64, 150] {
        assert_eq!(run(false, 1).difference(&run(false, cut)), None);
        assert!(run(true, 1).difference(&run(true, cut)).is_some());
    }
}

/// A general operator-valued kernel, not symmetric as a matrix: the cut does not matter there either.
struct Rotating;

impl OperatorKernel<Vec<f32>> for Rotating {
    fn outputs(&self) -> usize {
        2
    }
    fn eval(&self, a: &Vec<f32>, b: &Vec<f32>, out: &mut [f64]) {
        let (k, turn) = (Sums { backwards: false }.eval(a, b), f64::from(a[2] - b[2]));
        out.copy_from_slice(&[k * libm::cos(turn), -k * libm::sin(turn), k * libm::sin(turn), k * libm::cos(turn)]);
    }
}

#[test]
fn the_cut_does_not_matter_for_operators() {
    let run = |cut: usize| learned(Operators::of(Rotating), Output::Full, AnyLoss::Huber { sigma: 0.5 }, 2, cut);
    for cut in [7, 64, 150] {
        assert_eq!(run(1).difference(&run(cut)), None);
    }
}
