//! A place elsewhere changes no bit: of the scores, of the model, of predictions. Nor does a place that is full or that fails.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::cases::Random;
use crate::support::plain::plain;
use okl::gram::{Backend, Packed, Panels, kernel_rows};
use okl::kernel::AnyKernel;
use okl::place::{CHUNK, Chunk, Place, Request, Shape};
use okl::{Batch, Label, Learner};

/// The centres of a chunk, their squared norms, and the coefficients.
type Stored = (Panels, Vec<f32>, Vec<f64>);

/// A place on the processor. Requests are computed when they start, with the chunks as they are then.
struct Here {
    rows: usize,
    capacity: usize,
    /// The number of requests after which it fails.
    fails_after: usize,
    /// The multiplications that opening costs.
    opening: f64,
    /// How often the place is not ready yet.
    opens_after: usize,
    /// The number of requests that are kept under way.
    under_way: usize,
    requests: Arc<AtomicUsize>,
    shape: Option<Shape>,
    chunks: Vec<Option<Stored>>,
    totals: VecDeque<Vec<f64>>,
}

impl Here {
    fn new(rows: usize) -> Self {
        Here {
            rows,
            capacity: 1000,
            fails_after: usize::MAX,
            opening: 0.0,
            opens_after: 0,
            under_way: 1,
            requests: Arc::default(),
            shape: None,
            chunks: Vec::new(),
            totals: VecDeque::new(),
        }
    }

    /// The totals of all rows and columns over one chunk; NaN for a chunk that was never sent.
    fn totals_of(&self, chunk: usize, request: &Request<'_>) -> Vec<f64> {
        let shape = self.shape.as_ref().unwrap();
        let (count, columns) = (request.rows.squares.len(), shape.planes.len());
        let mut totals = vec![f64::NAN; count * columns];
        let Some((panels, squares, coefficients)) = &self.chunks[chunk] else { return totals };
        for (plane, kernel) in shape.kernels.iter().enumerate() {
            let mut values = vec![0.0; count * CHUNK];
            let terms = Packed { panels, squares };
            kernel_rows(Backend::best(), 1, std::slice::from_ref(kernel), request.rows, terms, &mut [&mut values], CHUNK);
            for column in (0..columns).filter(|&column| shape.planes[column] == plane) {
                for (row, k) in values.chunks_exact(CHUNK).enumerate() {
                    let a = &coefficients[column * CHUNK..(column + 1) * CHUNK];
                    Backend::best().weighted_sums(k, &[a], &mut totals[row * columns + column..][..1]);
                }
            }
        }
        totals
    }
}

impl Place for Here {
    fn name(&self) -> String {
        "here".into()
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn pays(&self, multiplications: f64) -> bool {
        multiplications > 0.0
    }

    fn opening(&self) -> f64 {
        if self.shape.is_none() { self.opening } else { 0.0 }
    }

    fn is_ready(&mut self) -> bool {
        let ready = self.opens_after == 0;
        self.opens_after = self.opens_after.saturating_sub(1);
        ready
    }

    fn under_way(&self, _: f64) -> usize {
        self.under_way
    }

    fn begin(&mut self, shape: &Shape) -> Result<usize, String> {
        self.shape = Some(shape.clone());
        self.chunks.clear();
        self.chunks.resize_with(self.capacity, || None);
        Ok(self.capacity)
    }

    fn put(&mut self, index: usize, chunk: Chunk<'_>) -> Result<(), String> {
        let features = self.shape.as_ref().unwrap().features;
        assert_eq!((chunk.centres.len(), chunk.squares.len()), (CHUNK * features, CHUNK));
        let mut panels = Panels::new(features);
        panels.reserve(CHUNK);
        for slot in 0..CHUNK {
            let centre: Vec<f32> = (0..features).map(|feature| chunk.centres[feature * CHUNK + slot]).collect();
            panels.put(slot, &centre);
        }
        self.chunks[index] = Some((panels, chunk.squares.to_vec(), chunk.coefficients.to_vec()));
        Ok(())
    }

    fn start(&mut self, request: Request<'_>) -> Result<(), String> {
        if self.requests.fetch_add(1, Ordering::Relaxed) >= self.fails_after {
            return Err("it has broken down".into());
        }
        let numbers = request.rows.squares.len() * self.shape.as_ref().unwrap().planes.len();
        let mut answer = vec![0.0; numbers];
        for chunk in 0..request.chunks {
            let totals = self.totals_of(chunk, &request);
            match chunk < request.folded {
                true => answer[..numbers].iter_mut().zip(totals).for_each(|(sum, total)| *sum += total),
                false => answer.extend(totals),
            }
        }
        self.totals.push_back(answer);
        assert!(self.totals.len() <= 2, "at most two requests are under way");
        Ok(())
    }

    fn finish(&mut self, totals: &mut Vec<f64>) -> Result<(), String> {
        *totals = self.totals.pop_front().ok_or("nothing is under way")?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        0
    }
}

pub const ROWS: usize = 2500;

/// Rows of three features; classes or numbers; a third class that comes late; ids that name an early row again.
pub struct Stream {
    pub x: Vec<f32>,
    pub y: Vec<f64>,
    pub labels: Vec<Label>,
    ids: Vec<u64>,
}

pub fn stream() -> Stream {
    let mut random = Random(7);
    let x: Vec<f32> = (0..3 * ROWS).map(|_| random.unit() as f32 * 4.0 - 2.0).collect();
    let y: Vec<f64> = (0..ROWS).map(|i| f64::from((x[3 * i] * 3.0).sin()) + 0.5 * random.unit()).collect();
    let class = |i: usize, random: &mut Random| if i > 1700 && i.is_multiple_of(3) { "c" } else { ["a", "b"][random.below(2)] };
    let labels = (0..ROWS).map(|i| Label::from(class(i, &mut random))).collect();
    // From row 2,000 on, every fortieth row is an early row again, and its term changes.
    let again = |i: usize| i > 2000 && i.is_multiple_of(40);
    let ids: Vec<u64> = (0..ROWS).map(|i| if again(i) { (i - 2000) as u64 } else { i as u64 }).collect();
    let mut x = x;
    for i in (0..ROWS).filter(|&i| again(i)) {
        let early = ids[i] as usize;
        x.copy_within(3 * early..3 * early + 3, 3 * i);
    }
    Stream { x, y, labels, ids }
}

/// The scores of every row and of all rows at the end, and the model.
fn run(settings: &str, stream: &Stream, place: Option<Here>, cut: usize) -> (Vec<u64>, Vec<u8>, Learner) {
    let mut learner = Learner::new(plain(settings).unwrap()).unwrap();
    learner.set_place(place.map(|place| Box::new(place) as Box<dyn Place>));
    let mut scores = Vec::new();
    for from in (0..ROWS).step_by(cut) {
        let to = ROWS.min(from + cut);
        let batch = Batch::new(&stream.x[3 * from..3 * to], 3);
        let batch = match settings.contains("softmax") {
            true => batch.labels(&stream.labels[from..to]),
            false => batch.numbers(&stream.y[from..to]),
        };
        let batch = if settings.contains("huber") { batch.ids(&stream.ids[from..to]) } else { batch };
        learner.learn_with(&batch, |_, step| scores.extend(step.scores.iter().map(|z| z.to_bits()))).unwrap();
    }
    let predicted = learner.predict(&Batch::new(&stream.x[..3 * 300], 3)).unwrap();
    scores.extend(predicted.values.iter().map(|z| z.to_bits()));
    (scores, learner.to_bytes(), learner)
}

const SETTINGS: [&str; 8] = [
    "loss = 'squared'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'unlimited'",
    "loss = 'softmax'\nkernel = 'matern32:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'unlimited'\naverage = 'uniform'",
    "loss = 'squared'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'window:2100'",
    "loss = 'squared'\nkernel = 'exponential:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'age:2100'",
    "loss = 'squared'\nkernel = 'gaussian:0.7'\nstep = 'inverse_sqrt:0.3'\nlambda = 0.001\nbudget = 'olok:0.48'",
    "loss = 'huber:1'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'unlimited'",
    "loss = 'squared'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.3\nallow_overshoot = true\nbudget = 'unlimited'\naverage = 'exponential:0.05'",
    "loss = 'squared'\nkernel = ['gaussian:0.7', 'matern32:0.5']\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'unlimited'",
];

#[test]
fn a_place_elsewhere_changes_no_bit() {
    let stream = stream();
    for settings in SETTINGS {
        let (scores, model, learner) = run(settings, &stream, None, ROWS);
        assert!(learner.terms() > 1100, "{} terms under {settings}", learner.terms());
        for (rows, cut, under_way) in [(100, ROWS, 1), (47, 611, 1), (100, ROWS, 2), (31, 700, 2)] {
            let place = Here { under_way, ..Here::new(rows) };
            let (theirs, other, away) = run(settings, &stream, Some(place), cut);
            assert!(theirs == scores && other == model, "{under_way} requests of {rows} rows, calls of {cut}: {settings}");
            let report = away.place().unwrap();
            let learned = if settings.contains('[') { 300 } else { 1000 };
            assert!(report.rows >= learned, "{} rows were summed there: {settings}", report.rows);
            assert_eq!(report.processor.is_some(), settings.contains('['), "{:?}", report.processor);
        }
    }
}

#[test]
fn a_place_that_is_full_or_fails_changes_no_bit_and_says_so() {
    let stream = stream();
    let (scores, model, _) = run(SETTINGS[0], &stream, None, ROWS);
    let (theirs, other, away) = run(SETTINGS[0], &stream, Some(Here { capacity: 1, ..Here::new(100) }), 700);
    assert!(theirs == scores && other == model, "room for one chunk");
    assert_eq!(away.place().unwrap().processor, None);
    for (fails_after, under_way) in [(0, 1), (1, 1), (5, 1), (13, 1), (1, 2), (2, 2), (5, 2), (13, 2)] {
        let place = Here { fails_after, under_way, ..Here::new(100) };
        let (theirs, other, away) = run(SETTINGS[0], &stream, Some(place), ROWS);
        assert!(theirs == scores && other == model, "fails after {fails_after} requests, {under_way} under way");
        assert_eq!(away.place().unwrap().processor.as_deref(), Some("it has broken down"));
    }
}

/// 1,400 rows come when there is a whole chunk of terms, and predictions of 300 rows.
#[test]
fn a_place_is_opened_when_there_is_enough_to_do_or_was_enough_without_it() {
    let stream = stream();
    let (scores, model, _) = run(SETTINGS[0], &stream, None, ROWS);
    let row = 1024.0 * Shape { features: 3, kernels: vec![AnyKernel::Linear], planes: vec![0] }.work();
    for (opening, cut, expected) in [(1000.0, ROWS, 1000..ROWS), (1000.0, 100, 100..1000), (1e6, ROWS, 0..1), (1e6, 100, 0..1)] {
        let place = Here { opening: opening * row, ..Here::new(100) };
        let (theirs, other, away) = run(SETTINGS[0], &stream, Some(place), cut);
        assert!(theirs == scores && other == model, "opening costs {opening} rows, calls of {cut}");
        let rows = away.place().unwrap().rows as usize;
        assert!(expected.contains(&rows), "opening costs {opening} rows, calls of {cut}: {rows} rows were summed there");
    }
}

/// The rows that are learned while the place opens are summed on the processor: 32 rows per look. There are 1,476 rows behind the first chunk of
/// terms, and 300 rows are predicted, which wait for the place.
#[test]
fn a_learner_goes_on_while_a_place_opens() {
    let stream = stream();
    let (scores, model, _) = run(SETTINGS[0], &stream, None, ROWS);
    for (opens_after, expected) in [(0, 1700..1777), (10, 1380..1457), (usize::MAX, 300..301)] {
        let place = Here { opens_after, ..Here::new(100) };
        let (theirs, other, away) = run(SETTINGS[0], &stream, Some(place), ROWS);
        assert!(theirs == scores && other == model, "opens after {opens_after} looks");
        let rows = away.place().unwrap().rows as usize;
        assert!(expected.contains(&rows), "opens after {opens_after} looks: {rows} rows were summed there");
    }
}

#[test]
fn a_copy_of_a_learner_computes_on_the_processor() {
    let (_, _, away) = run(SETTINGS[0], &stream(), Some(Here::new(100)), ROWS);
    assert!(away.place().is_some() && away.clone().place().is_none() && away.publish().place().is_none());
}

/// A linear kernel without a budget is a weight vector.
#[test]
fn a_weight_vector_stays_on_the_processor_and_says_so() {
    let stream = stream();
    let settings = "loss = 'squared'\nkernel = 'linear'\nstep = 'constant:0.01'\nlambda = 0.001";
    let (scores, model, _) = run(settings, &stream, None, ROWS);
    let (theirs, other, away) = run(settings, &stream, Some(Here::new(100)), ROWS);
    assert!(theirs == scores && other == model);
    let report = away.place().unwrap();
    assert!(report.rows == 0 && report.processor.unwrap().contains("weight vector"));
}
