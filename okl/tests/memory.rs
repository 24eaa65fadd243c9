//! Law 4: memory is bounded and stated, and nothing is allocated in the loop. An allocator that counts shows both.

// A global allocator cannot be written without it.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use okl::config::families::family;
use okl::{Batch, Config, Learner};

/// Counts what the thread that asks has allocated.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(calls: u64, bytes: i64) {
    // A thread that is ending has no counters any more.
    _ = CALLS.try_with(|c| c.set(c.get() + calls));
    _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call goes to the system's allocator as it is; the counters are the thread's own and allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Rows and targets that keep every learner busy: two noisy rings, the same in every run.
struct Stream {
    x: Vec<f32>,
    y: Vec<f64>,
    features: usize,
}

fn stream(rows: usize, features: usize, seed: u64) -> Stream {
    let mut state = seed;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let x: Vec<f32> = (0..rows * features).map(|_| 2.0 * unit() - 1.0).collect();
    let y = x.chunks_exact(features).map(|x| if (x[0] * 3.0).sin() > 0.2 * unit() { 1.0 } else { -1.0 }).collect();
    Stream { x, y, features }
}

impl Stream {
    fn batch(&self) -> Batch<'_> {
        Batch::new(&self.x, self.features).numbers(&self.y)
    }
}

/// Each budget, step and kind of learner whose terms are bounded.
const BOUNDED: [(&str, &str); 12] = [
    ("window", "loss = 'hinge'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'window:100'"),
    ("transfer", "loss = 'hinge'\nkernel = 'matern32:0.5'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'transfer:100'"),
    ("transfer, linear", "loss = 'hinge'\nkernel = 'linear'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'transfer:100'"),
    ("merge", "loss = 'hinge'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'merge:100'"),
    ("merge, matern52", "loss = 'hinge'\nkernel = 'matern52:0.5'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'merge:100'"),
    (
        "merge, exponential",
        "loss = 'hinge'\nkernel = 'exponential:0.5'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'merge:100'",
    ),
    ("forgetron", "loss = 'perceptron'\nkernel = 'gaussian:0.5'\nstep = 'constant:1'\nlambda = 0\nbudget = 'forgetron:100'"),
    ("bank", "loss = 'hinge'\noffset = true\nbudget = 'merge:100'"),
    ("bank of transfer", "loss = 'logistic'\nkernel = 'matern52'\nbudget = 'transfer:100'"),
    ("smd", "loss = 'logistic'\nkernel = 'gaussian:0.5'\nstep = 'smd'\nlambda = 1e-3\nbudget = 'merge:100'\naverage = 'uniform'"),
    ("age", "loss = 'hinge'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'age:150'"),
    (
        "sum of operators",
        "loss = 'squared'\noperator = [{ kernel = 'linear', operator = [1.0] }, { kernel = 'gaussian:1', operator = [0.5] }]\nstep = 'constant:0.1'\nlambda = 1e-3\nbudget = 'window:100'",
    ),
];

/// After the budget is full, 10,000 rows are learned between the first and the last call of the observer without one allocation.
#[test]
fn nothing_is_allocated_in_the_loop() {
    for budget in family("budget").unwrap().variants.iter().filter(|budget| budget.parameters == ["terms"]) {
        let text = format!("budget = '{}:", budget.name);
        assert!(BOUNDED.iter().any(|(_, settings)| settings.contains(&text)), "{} is not tried", budget.name);
    }
    for (name, settings) in BOUNDED {
        let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
        learner.learn_with(&stream(3_000, 5, 1).batch(), |_, _| {}).unwrap();
        let data = stream(10_000, 5, 2);
        let (mut first, mut last) = (0, 0);
        learner
            .learn_with(&data.batch(), |row, _| {
                last = CALLS.get();
                first = if row == 0 { last } else { first };
            })
            .unwrap();
        assert!(learner.terms() >= 90, "{name}: {} terms", learner.terms());
        assert_eq!(last - first, 0, "{name}: allocations while 9,999 rows were learned");
    }
}

/// A weight vector allocates nothing while it learns, and takes the bytes that are stated.
#[test]
fn weights_take_what_is_stated() {
    let settings = [
        "step = 'constant:0.3'\nlambda = 1e-3",
        "step = 'smd'\nlambda = 1e-3\naverage = 'uniform'",
        "step = 'smd:eta=0.01,per=coordinate'\nlambda = 1e-3\naverage = 'uniform'",
        "kernel = 'polynomial:degree=2'\nstep = 'constant:0.0001'\nlambda = 1e-3",
        "scale = 'none'",
    ];
    for settings in settings {
        // 62 columns have 2,016 products.
        let (kernel, columns) =
            if settings.contains("polynomial") { ("form = 'weights'", 62) } else { ("kernel = 'linear'", 2_000) };
        let config = Config::from_toml(&format!("loss = 'hinge'\n{kernel}\n{settings}")).unwrap();
        let mut learner = Learner::new(config.clone()).unwrap();
        learner.learn_with(&stream(300, columns, 1).batch(), |_, _| {}).unwrap();
        let data = stream(300, columns, 2);
        let (mut first, mut last) = (0, 0);
        let count = |row: usize, _: &okl::engine::Outcome<'_>| {
            last = CALLS.get();
            first = if row == 0 { last } else { first };
        };
        learner.learn_with(&data.batch(), count).unwrap();
        assert_eq!(last - first, 0, "{settings}: allocations while 299 rows were learned");
        let (held, stated) = (learner.bytes(), config.bytes_of_weights(columns, 1));
        assert!(held <= stated + 4096 && held * 10 >= stated * 9, "{settings}: {held} bytes, {stated} stated");
    }
}

/// Learners of several shapes: (settings, features, outputs).
const SHAPES: [(&str, usize, usize); 8] = [
    ("loss = 'hinge:1000000'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.1'\nlambda = 1e-3\nbudget = 'window:1'", 4, 1),
    ("loss = 'hinge:1000000'\nkernel = 'gaussian:0.01'\nstep = 'constant:0.1'\nlambda = 1e-3\nbudget = 'window:1'", 200, 1),
    ("loss = 'hinge:1000000'\nkernel = 'gaussian:0.5'\nstep = 'smd:eta=0.1'\nlambda = 1e-3\nbudget = 'window:1'", 20, 1),
    (
        "loss = 'hinge:1000000'\nkernel = 'gaussian:0.5'\nstep = 'smd:eta=0.1'\nlambda = 1e-3\nbudget = 'window:1'\naverage = 'exponential:0.01'",
        8,
        1,
    ),
    ("loss = 'squared'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.1'\nlambda = 1e-3\nbudget = 'window:1'", 10, 30),
    ("loss = 'hinge:1000000'\nbudget = 'window:1'\noffset = true", 12, 1),
    ("loss = 'hinge:1000000'\nkernel = 'matern32:0.5'\nstep = 'constant:0.1'\nlambda = 1e-3\nbudget = 'transfer:1'", 6, 1),
    ("loss = 'hinge:1000000'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.1'\nlambda = 1e-3\nbudget = 'merge:1'", 6, 1),
];

/// `within` means that the heap grows by so much at most, beside the stated constant, at any time; at a full budget the stated bytes
/// per term are used, within 5 %.
#[test]
fn the_heap_stays_within_what_was_asked_for() {
    const ASKED: usize = 2_000_000;
    for (settings, features, outputs) in SHAPES {
        let name = format!("{features} features, {outputs} outputs, {settings}");
        let config = Config::from_toml(settings).unwrap().within(ASKED, features, outputs).unwrap();
        let terms = config.budget().capacity().unwrap();
        let (stated, beside) = (terms * config.bytes_per_term(features, outputs), config.bytes_beside_terms(features, outputs));
        let data = stream(64, features, 3);
        let targets: Vec<f64> = data.y.iter().flat_map(|y| vec![*y; outputs]).collect();
        let before = LIVE.get();
        PEAK.set(before);
        let mut learner = Learner::new(config).unwrap();
        let mut rows = 0u64;
        while learner.terms() < terms || rows < terms as u64 + 64 {
            // Rows that differ from all before: the first feature counts.
            let mut x = data.x.clone();
            x.chunks_exact_mut(features).for_each(|x| (rows, x[0]) = (rows + 1, (rows % 4096) as f32 * 0.01));
            let batch = Batch::new(&x, features);
            let batch = if outputs > 1 { batch.targets(okl::Targets::Numbers(&targets)) } else { batch.numbers(&data.y) };
            learner.learn_with(&batch, |_, _| {}).unwrap();
        }
        let (used, peak) = ((LIVE.get() - before) as usize, (PEAK.get() - before) as usize);
        println!("{name}: asked {ASKED}, stated {stated} + {beside}, used {used}, peak {peak}, counted {}", learner.bytes());
        assert!(peak <= ASKED + beside, "{name}: peak {peak}, asked {ASKED} and {beside}");
        let ratio = learner.bytes() as f64 / stated as f64;
        assert!((ratio - 1.0).abs() <= 0.05, "{name}: {} bytes of terms, {stated} stated", learner.bytes());
        assert!(used.abs_diff(learner.bytes()) <= beside, "{name}: {used} bytes used, {} counted", learner.bytes());
    }
}

/// A published model shares the centres: what it copies does not depend on the number of features, and stays below what is stated.
#[test]
fn publishing_copies_no_centre() {
    const TERMS: usize = 2_000;
    let settings = format!(
        "loss = 'hinge:1000000'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'window:{TERMS}'"
    );
    for features in [4, 400] {
        let mut learner = Learner::new(Config::from_toml(&settings).unwrap()).unwrap();
        let data = stream(3_000, features, 4);
        learner.learn(&data.batch()).unwrap();
        assert_eq!(learner.terms(), TERMS);
        let before = LIVE.get();
        let model = learner.publish();
        let copied = (LIVE.get() - before) as usize;
        println!("{features} features: {copied} bytes copied of {}", learner.bytes());
        // 20 bytes per term, 8 for its one coefficient, one part in 32 held ahead; pointers to panels; per column the frame (16 bytes) and
        // the counts of clipped values (24) and lost digits (40); settings.
        let pointers = TERMS.div_ceil(32) * 16;
        assert!(copied <= TERMS * 28 * 33 / 32 + pointers + 80 * features + 8192, "{copied} bytes for {features} features");
        // Writing a centre copies the panel that it shares, once: 32 centres.
        let before = LIVE.get();
        learner.learn(&Batch::new(&data.x[..features], features).numbers(&[-data.y[0]])).unwrap();
        let copied = (LIVE.get() - before) as usize;
        assert!(copied <= 4 * 32 * features + 4096, "{copied} bytes for one row of {features} features");
        drop(model);
    }
}

/// A model file is written without a second copy of the model.
#[test]
fn saving_takes_little_memory() {
    let settings =
        "loss = 'hinge:1000000'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'window:2000'";
    let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
    learner.learn(&stream(3_000, 400, 5).batch()).unwrap();
    let size = learner.to_bytes().len();
    let path = std::env::temp_dir().join(format!("okl-memory-{}.okl", std::process::id()));
    let before = LIVE.get();
    PEAK.set(before);
    learner.save(&path).unwrap();
    let peak = PEAK.get() - before;
    println!("{peak} bytes to save a file of {size}");
    assert_eq!(std::fs::read(&path).unwrap(), learner.to_bytes());
    std::fs::remove_file(&path).unwrap();
    // 8 kB of buffer twice, the header, and per feature the frame (16 bytes) and one centre.
    assert!(size > 3_000_000 && peak < 65_536, "{peak} bytes");
}

/// Rows like those of a text: 70 columns of 20,000, a few of them in most rows.
fn sparse_stream(rows: usize) -> (Vec<usize>, Vec<u32>, Vec<f32>) {
    let mut state = 7u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..rows {
        let mut row: Vec<u32> = (0..70).map(|_| (20_000f64.powf(unit()) - 1.0) as u32).collect();
        row.sort_unstable();
        row.dedup();
        values.extend(row.iter().map(|_| 0.1 + unit() as f32));
        columns.extend(row);
        starts.push(columns.len());
    }
    (starts, columns, values)
}

/// `Learner::bytes` of sparse terms is what is held, within 10 %: 8 bytes for every value in its row and 8 in its column, room to grow,
/// and the bookkeeping of rows and columns.
#[test]
fn sparse_terms_take_what_is_stated() {
    let (starts, columns, values) = sparse_stream(3000);
    let y: Vec<f64> = (0..3000).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let settings =
        "loss = 'hinge'\nkernel = 'gaussian:0.01'\nstep = 'constant:0.5'\nlambda = 1e-3\nbudget = 'window:1500'\nanchor = 'none'";
    let before = LIVE.with(Cell::get);
    let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
    learner.learn(&Batch::sparse(&starts, &columns, &values, 20_000).numbers(&y)).unwrap();
    let held = (LIVE.with(Cell::get) - before) as f64;
    let (stated, terms) = (learner.bytes() as f64, learner.terms());
    let each = (held - 32.0 * 4.0 * terms as f64) / terms as f64;
    println!("{held} bytes held, {stated} stated; {each:.0} per term of {:.1} values", values.len() as f64 / 3000.0);
    assert!(terms == 1500 && (held - stated).abs() < 0.1 * held, "{held} held, {stated} stated");
    // What the settings say of sparse terms is a bound, and not more than half as much again.
    let last = &columns[starts[1500]..];
    let different = last.iter().collect::<std::collections::HashSet<_>>().len();
    let foreseen = learner.config().bytes_per_sparse_term(last.len().div_ceil(1500), different.div_ceil(1500), 1) * terms;
    assert!((stated..1.5 * stated).contains(&(foreseen as f64)), "{foreseen} foreseen, {stated} stated");
}

/// Merged sparse rows do not fill up: a blend that would have more than 1,024 values that are not zero is one of the two rows, a blend of
/// 1,024 is stored. Dense and sparse rows give the same bits. The third row is far from the others, so these are merged.
#[test]
fn a_blend_with_many_values_is_one_of_the_rows() {
    let settings = "loss = 'squared'\nkernel = 'gaussian:0.001'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'merge:2'\nanchor = 'none'\nscale = 'none'";
    for (each, blended) in [(512, true), (513, false)] {
        let features = 2 * each + 1;
        let columns: Vec<u32> = (0..features as u32).collect();
        let value = |i: usize| if i + 1 == features { 1000.0 } else { 0.5 + (i % 7) as f32 / 8.0 };
        let values: Vec<f32> = (0..features).map(value).collect();
        let row_of = |column: usize| column / each;
        let dense: Vec<f32> =
            (0..3 * features).map(|i| if row_of(i % features) == i / features { values[i % features] } else { 0.0 }).collect();
        let learned = |batch: Batch<'_>| {
            let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
            learner.learn(&batch.numbers(&[1.0, 0.9, 5.0])).unwrap();
            (learner.centres(), learner.coefficients())
        };
        let sparse = learned(Batch::sparse(&[0, each, 2 * each, features], &columns, &values, features));
        assert_eq!(learned(Batch::new(&dense, features)), sparse);
        let rows: Vec<Vec<f64>> = dense.chunks(features).map(|row| row.iter().map(|v| f64::from(*v)).collect()).collect();
        let kept = sparse.0.chunks(features).filter(|centre| rows.iter().any(|row| row == centre)).count();
        assert_eq!((sparse.1.len(), kept), (2, if blended { 1 } else { 2 }), "{each} values each");
    }
}
