//! The place on a card gives the bits of the processor. Without a card, these tests check what is said about that.

use okl::basis::Points;
use okl::gram::{Backend, Matrix, Packed, Panels, kernel_rows};
use okl::kernel::AnyKernel;
use okl::place::{CHUNK, Chunk, Place, Request, Shape};
use okl::{Batch, Config, Label, Learner};
use okl_cuda::Cuda;

/// The card, if there is one; otherwise the reason must be one that a user understands.
fn card() -> Option<Cuda> {
    Cuda::find(0).inspect_err(|reason| assert!(reason.contains("driver") || reason.contains("card"), "{reason}")).ok()
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.unit() as f32 * 2.0 - 1.0).collect()
    }
}

#[test]
fn a_device_that_does_not_exist_is_refused_with_a_reason() {
    for name in ["gpu", "cuda:", "cuda:one", "cuda0"] {
        assert!(okl_cuda::open(name).err().unwrap().contains("cuda:N"), "{name}");
    }
    let reason = okl_cuda::open("cuda:4711").err().unwrap();
    assert!(reason.contains("no NVIDIA driver") || reason.contains("no card number 4711"), "{reason}");
}

fn kernels() -> Vec<AnyKernel> {
    use AnyKernel::*;
    let gaussian = Gaussian { gamma: 0.4 };
    vec![
        Linear,
        Polynomial { degree: 3, gamma: 0.5, coef0: 1.0 },
        gaussian.clone(),
        Exponential { gamma: 0.4 },
        Matern32 { gamma: 0.4 },
        Matern52 { gamma: 0.4 },
        RationalQuadratic { gamma: 0.4, alpha: 0.5 },
        Product(vec![Matern32 { gamma: 0.1 }, Sum(vec![Scaled { weight: 2.5, of: Box::new(gaussian) }, Linear])]),
    ]
}

/// Totals of random chunks, computed on the processor: running ones, then those of the chunks behind `folded`.
struct Twin {
    shape: Shape,
    panels: Vec<Panels>,
    squares: Vec<Vec<f32>>,
    coefficients: Vec<Vec<f64>>,
}

impl Twin {
    fn new(random: &mut Random, shape: Shape, chunks: usize) -> Self {
        let mut twin = Twin { shape, panels: Vec::new(), squares: Vec::new(), coefficients: Vec::new() };
        for _ in 0..chunks {
            let rows = random.numbers(CHUNK * twin.shape.features);
            let rows = Matrix::with_len(twin.shape.features, CHUNK, &rows);
            let (mut panels, mut squares) = (Panels::new(rows.dim()), vec![0.0; CHUNK]);
            panels.reserve(CHUNK);
            panels.put_rows(rows);
            Backend::best().squares(rows, &mut squares);
            twin.panels.push(panels);
            twin.squares.push(squares);
            twin.coefficients.push((0..CHUNK * twin.shape.planes.len()).map(|_| random.unit() - 0.5).collect());
        }
        twin
    }

    fn send(&self, place: &mut impl Place) {
        assert!(place.begin(&self.shape).unwrap() >= self.panels.len());
        for (index, panels) in self.panels.iter().enumerate() {
            let mut centres = vec![0.0; CHUNK * self.shape.features];
            let mut centre = vec![0.0; self.shape.features];
            for slot in 0..CHUNK {
                panels.get(slot, &mut centre);
                centre.iter().enumerate().for_each(|(feature, value)| centres[feature * CHUNK + slot] = *value);
            }
            let (squares, coefficients) = (&self.squares[index], &self.coefficients[index]);
            place.put(index, Chunk { centres: &centres, squares, coefficients }).unwrap();
        }
    }

    fn totals(&self, rows: Points<'_>, folded: usize) -> Vec<f64> {
        let (count, columns) = (rows.squares.len(), self.shape.planes.len());
        let mut all = vec![0.0; count * columns];
        for chunk in 0..self.panels.len() {
            let mut totals = vec![0.0; count * columns];
            for (plane, kernel) in self.shape.kernels.iter().enumerate() {
                let mut values = vec![0.0; count * CHUNK];
                let terms = Packed { panels: &self.panels[chunk], squares: &self.squares[chunk] };
                kernel_rows(Backend::best(), 1, std::slice::from_ref(kernel), rows, terms, &mut [&mut values], CHUNK);
                for (row, k) in values.chunks_exact(CHUNK).enumerate() {
                    for column in (0..columns).filter(|&column| self.shape.planes[column] == plane) {
                        let a = &self.coefficients[chunk][column * CHUNK..(column + 1) * CHUNK];
                        Backend::best().weighted_sums(k, &[a], &mut totals[row * columns + column..][..1]);
                    }
                }
            }
            match chunk < folded {
                true => all[..count * columns].iter_mut().zip(totals).for_each(|(sum, total)| *sum += total),
                false => all.extend(totals),
            }
        }
        all
    }
}

#[test]
fn totals_on_the_card_have_the_bits_of_the_processor() {
    let Some(mut place) = card() else { return };
    let mut random = Random(3);
    // Features, columns of each kernel, chunks, rows, folded chunks.
    let shapes =
        [(1, 1, 1, 1, 1), (3, 2, 3, 33, 2), (8, 5, 2, 128, 0), (13, 17, 2, 200, 2), (120, 16, 3, 700, 1), (257, 3, 2, 64, 2)];
    for (features, columns, chunks, count, folded) in shapes {
        let all = kernels();
        let banks = [all.clone(), vec![all[2].clone()], vec![all[0].clone(), all[4].clone()]];
        for kernels in banks.into_iter().chain(all.iter().map(|kernel| vec![kernel.clone()])) {
            let planes = (0..kernels.len()).flat_map(|plane| std::iter::repeat_n(plane, columns)).collect();
            let twin = Twin::new(&mut random, Shape { features, kernels, planes }, chunks);
            twin.send(&mut place);
            let (rows, mut squares) = (random.numbers(count * features), vec![0.0; count]);
            let rows = Matrix::with_len(features, count, &rows);
            Backend::best().squares(rows, &mut squares);
            let rows = Points { rows, squares: &squares };
            place.start(Request { rows, chunks, folded }).unwrap();
            let mut found = Vec::new();
            place.finish(&mut found).unwrap();
            let expected = twin.totals(rows, folded);
            assert_eq!(found.len(), expected.len());
            let differ = found.iter().zip(&expected).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
            assert_eq!(differ, 0, "of {} totals: {features} features, {columns} columns, {:?}", found.len(), twin.shape.kernels);
        }
    }
}

const ROWS: usize = 5000;

/// How a stream is cut into calls, and after which call the model is written and read again.
struct Cut<'a> {
    rows: &'a mut dyn FnMut() -> usize,
    reloaded: Option<usize>,
}

/// The scores of all rows and of predictions, the model, and the number of rows that were summed elsewhere.
fn run(settings: &str, threads: usize, place: &dyn Fn() -> Option<Cuda>, cut: Cut<'_>) -> (Vec<u64>, Vec<u8>, u64) {
    let mut random = Random(7);
    let features = 11;
    let x = random.numbers(features * ROWS);
    let y: Vec<f64> = (0..ROWS).map(|i| f64::from((x[features * i] * 3.0).sin()) + 0.5 * random.unit()).collect();
    let class = |i: usize, random: &mut Random| (random.unit() * (2.0 + (i / 700) as f64)) as usize;
    let labels: Vec<Label> =
        (0..ROWS).map(|i| Label::from(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"][class(i, &mut random)])).collect();
    let away = |mut learner: Learner| {
        learner.set_threads(threads).unwrap();
        learner.set_place(place().map(|place| Box::new(place) as Box<dyn Place>));
        learner
    };
    let mut learner = away(Learner::new(Config::from_toml(settings).unwrap()).unwrap());
    let (signs, named) = (settings.contains("hinge") || settings.contains("logistic"), settings.contains("softmax"));
    let y: Vec<f64> = if signs { y.iter().map(|y| (y - 0.25).signum()).collect() } else { y };
    let (mut scores, mut from) = (Vec::new(), 0);
    for call in 0.. {
        let to = ROWS.min(from + (cut.rows)());
        let batch = Batch::new(&x[features * from..features * to], features);
        let batch = if named { batch.labels(&labels[from..to]) } else { batch.numbers(&y[from..to]) };
        learner.learn_with(&batch, |_, step| scores.extend(step.scores.iter().map(|z| z.to_bits()))).unwrap();
        if to == ROWS {
            break;
        }
        if cut.reloaded == Some(call) {
            learner = away(Learner::from_bytes(&learner.to_bytes()).unwrap());
        }
        from = to;
    }
    let predicted = learner.predict(&Batch::new(&x, features)).unwrap();
    scores.extend(predicted.values.iter().map(|z| z.to_bits()));
    (scores, learner.to_bytes(), learner.place().map_or(0, |report| report.rows))
}

fn whole() -> usize {
    ROWS
}

#[test]
fn learning_and_predicting_on_the_card_change_no_bit() {
    if card().is_none() {
        return;
    }
    let common = "step = 'constant:0.3'\nlambda = 0.001\nscale = 'none'\n";
    for settings in [
        "loss = 'squared'\nkernel = 'gaussian:0.7'\nbudget = 'unlimited'",
        "loss = 'softmax'\nkernel = 'gaussian:0.7'\nbudget = 'unlimited'",
        "loss = 'softmax'\nkernel = 'matern52:0.7'\nbudget = 'window:3000'\naverage = 'uniform'",
        "loss = 'squared'\nkernel = 'rational_quadratic:gamma=0.7,alpha=2'\nbudget = 'age:3000'\naverage = 'exponential:0.01'",
        "loss = 'squared'\nkernel = ['gaussian:0.7', 'exponential:0.5']\nbudget = 'window:4000'",
    ] {
        let settings = format!("{common}{settings}");
        let (scores, model, _) = run(&settings, 1, &|| None, Cut { rows: &mut whole, reloaded: None });
        for (rows, threads, cut) in [(256, 1, ROWS), (100, 3, 777)] {
            let place = || card().map(|card| card.always(rows));
            let (theirs, other, summed) = run(&settings, threads, &place, Cut { rows: &mut || cut, reloaded: None });
            assert!(theirs == scores && other == model, "requests of {rows} rows, calls of {cut}: {settings}");
            assert!(summed >= ROWS as u64, "{summed} rows were summed on the card: {settings}");
        }
    }
}

/// Settings that the card is used for, drawn.
fn drawn(random: &mut Random) -> String {
    fn one(random: &mut Random, of: &[&'static str]) -> &'static str {
        of[(random.unit() * of.len() as f64) as usize]
    }
    let losses = ["squared", "huber:0.5", "quantile:0.3", "epsilon:0.05", "hinge", "logistic", "softmax"];
    let kernels = [
        "gaussian:0.7",
        "exponential:0.5",
        "matern32:0.4",
        "matern52:0.4",
        "rational_quadratic:gamma=0.7,alpha=0.8",
        "polynomial:degree=2,gamma=0.1,coef0=1",
        "gaussian:0.7+0.5*matern32:0.3",
        "gaussian:0.3*exponential:0.2",
    ];
    let budgets = ["unlimited", "window:2100", "window:3333", "age:2500"];
    let averages = ["none", "uniform", "exponential:0.01"];
    let steps = ["constant:0.1", "inverse_sqrt:0.3"];
    format!(
        "loss = '{}'\nkernel = '{}'\nbudget = '{}'\naverage = '{}'\nstep = '{}'\nlambda = 0.001\noffset = {}\nscale = '{}'",
        one(random, &losses),
        one(random, &kernels),
        one(random, &budgets),
        one(random, &averages),
        one(random, &steps),
        random.unit() < 0.5,
        one(random, &["none", "standard"]),
    )
}

/// Law 1 over the card: settings, cuts, threads, lengths of requests, and where the model is written and read again, are drawn.
#[test]
fn drawn_learners_have_the_bits_of_the_processor() {
    if card().is_none() {
        return;
    }
    let (mut random, mut there) = (Random(20_261_117), 0);
    let draws =
        std::env::var("OKL_CASES").map_or(40, |text| text.parse::<f64>().map_or(40, |times| (40.0 * times).ceil() as usize));
    for _ in 0..draws {
        let settings = drawn(&mut random);
        let (scores, model, _) = run(&settings, 1, &|| None, Cut { rows: &mut whole, reloaded: None });
        let (rows, threads) = (1 + (random.unit() * 400.0) as usize, 1 + (random.unit() * 4.0) as usize);
        let (reloaded, longest) = (Some((random.unit() * 6.0) as usize), [40.0, 900.0, 3000.0][(random.unit() * 3.0) as usize]);
        let place = || card().map(|card| card.always(rows));
        let mut cut = || 1 + (random.unit() * longest) as usize;
        let (theirs, other, summed) = run(&settings, threads, &place, Cut { rows: &mut cut, reloaded });
        assert!(theirs == scores && other == model, "requests of {rows} rows, {threads} threads, calls of {longest}: {settings}");
        there += usize::from(summed > 0);
    }
    assert!(2 * there > draws, "the card summed in {there} of {draws} draws");
}
