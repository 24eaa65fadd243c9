//! Compares every loop with a naive version, bit for bit, on every backend of this machine (and with NEON's tiles, which run on
//! every machine).

use super::*;
use crate::parts::kernel::{AnyKernel, DotKernel};

/// Reproducible pseudorandom numbers between -1 and 1.
struct XorShift(u64);

impl XorShift {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn many(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }
}

fn backends() -> Vec<Backend> {
    let mut all = Backend::available();
    all.push(Backend::Neon);
    all
}

fn chain(x: &[f32], y: &[f32]) -> f32 {
    x.iter().zip(y).fold(0.0, |acc, (x, y)| x.mul_add(*y, acc))
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Random terms, as rows and in panels.
fn terms(random: &mut XorShift, dim: usize, slots: usize) -> (Vec<f32>, Panels) {
    let data = random.many(dim * slots);
    let mut panels = Panels::new(dim);
    panels.reserve(slots);
    let list: Vec<_> = (0..slots).map(|j| (j, &data[j * dim..(j + 1) * dim])).collect();
    panels.put_many(&list);
    (data, panels)
}

const DIMS: [usize; 10] = [0, 1, 2, 3, 16, 33, 54, 130, 256, 515];

#[test]
fn dots_are_the_plain_chain() {
    let mut random = XorShift(1);
    for dim in DIMS {
        let (data, panels) = terms(&mut random, dim, 7 * LANES);
        for count in 1..=20 {
            let x = random.many(dim * count);
            let rows = Matrix::with_len(dim, count, &x);
            for backend in backends() {
                check_dots(backend, rows, &data, &panels, 0..7);
                check_dots(backend, rows, &data, &panels, 2..5);
            }
        }
    }
}

fn check_dots(backend: Backend, rows: Matrix<'_>, data: &[f32], panels: &Panels, range: Range<usize>) {
    let (dim, width) = (rows.dim(), range.len() * LANES);
    let stride = width + 5;
    let mut out = vec![f32::NAN; rows.len() * stride];
    backend.dots(rows, panels, range.clone(), &mut out, stride);
    for i in 0..rows.len() {
        for j in 0..width {
            let slot = range.start * LANES + j;
            let expected = chain(rows.row(i), &data[slot * dim..(slot + 1) * dim]);
            assert_eq!(out[i * stride + j].to_bits(), expected.to_bits(), "{backend:?} {dim} row {i} slot {slot}");
        }
        assert!(out[i * stride + width..(i + 1) * stride].iter().all(|v| v.is_nan()), "wrote beyond the row");
    }
}

#[test]
fn a_row_alone_gives_the_bits_it_has_in_a_block() {
    let mut random = XorShift(2);
    let (_, panels) = terms(&mut random, 54, 6 * LANES);
    let x = random.many(54 * 19);
    let rows = Matrix::new(54, &x);
    let mut block = vec![0.0; 19 * 192];
    let mut alone = vec![0.0; 192];
    for backend in backends() {
        backend.dots(rows, &panels, 0..6, &mut block, 192);
        for i in 0..19 {
            backend.dots(rows.range(i..i + 1), &panels, 0..6, &mut alone, 192);
            assert_eq!(bits(&alone), bits(&block[i * 192..(i + 1) * 192]));
        }
    }
}

#[test]
fn squares_are_the_same_chain() {
    let mut random = XorShift(3);
    for dim in DIMS {
        let x = random.many(dim * 21);
        let rows = Matrix::with_len(dim, 21, &x);
        let expected: Vec<f32> = (0..21).map(|i| chain(rows.row(i), rows.row(i))).collect();
        assert!((0..21).all(|i| square(rows.row(i)).to_bits() == expected[i].to_bits()));
        for backend in backends() {
            let mut out = [0.0; 21];
            backend.squares(rows, &mut out);
            assert_eq!(bits(&out), bits(&expected));
        }
    }
}

/// A direct implementation of the order stated at [`Backend::weighted_sums`].
fn naive_sum(k: &[f32], column: &[f64]) -> f64 {
    let mut total = 0.0;
    for (k, column) in k.chunks(CHUNK).zip(column.chunks(CHUNK)) {
        let mut lanes = [0.0f64; LANES];
        for j in 0..k.len() {
            lanes[j % LANES] = f64::from(k[j]).mul_add(column[j], lanes[j % LANES]);
        }
        for half in [16, 8, 4, 2, 1] {
            for l in 0..half {
                lanes[l] += lanes[l + half];
            }
        }
        total += lanes[0];
    }
    total
}

#[test]
fn sums_keep_the_documented_order() {
    let mut random = XorShift(4);
    for slots in [0, 32, 64, 992, 1024, 1056, 2048, 5024] {
        let k = random.many(slots);
        let columns: Vec<Vec<f64>> = (0..11).map(|_| (0..slots).map(|_| f64::from(random.next()) * 1.1).collect()).collect();
        let expected: Vec<u64> = columns.iter().map(|c| naive_sum(&k, c).to_bits()).collect();
        for count in 0..=11 {
            let views: Vec<&[f64]> = columns[..count].iter().map(Vec::as_slice).collect();
            for backend in backends() {
                let mut out = vec![f64::NAN; count];
                backend.weighted_sums(&k, &views, &mut out);
                let found: Vec<u64> = out.iter().map(|v| v.to_bits()).collect();
                assert_eq!(found, expected[..count], "{backend:?} {slots} slots");
            }
        }
    }
}

/// The lanes of the first slots of a chunk are computed for several rows at once, and continued row by row.
#[test]
fn lanes_of_rows_that_are_continued_give_the_totals_of_chunks() {
    let mut random = XorShift(8);
    let (slots, stride, apart) = (CHUNK, CHUNK + 5, 13);
    for (rows, columns, first) in [(1, 1, 32), (3, 2, 0), (7, 4, 96), (8, 5, 512), (13, 11, 1024)] {
        let k = random.many(rows * stride);
        let data: Vec<Vec<f64>> =
            (0..columns).map(|_| random.many(slots).iter().map(|a| f64::from(*a) / 3.0).collect()).collect();
        let [begin, end]: [Vec<&[f64]>; 2] = [0..first, first..slots].map(|part| data.iter().map(|a| &a[part.clone()]).collect());
        for backend in backends() {
            // What the lanes held before does not matter, and nothing behind those of a row is written.
            let mut lanes = vec![[7.0; LANES]; rows * apart];
            backend.lanes_of_rows((&k, stride), &begin, (&mut lanes, apart), rows);
            for (row, lanes) in lanes.chunks_exact(apart).enumerate() {
                let (values, mut totals) = (&k[row * stride..][..slots], vec![0.0; columns]);
                backend.totals_from(&lanes[..columns], &values[first..], &end, &mut totals);
                for (total, a) in totals.iter().zip(&data) {
                    assert_eq!(
                        total.to_bits(),
                        naive_sum(values, a).to_bits(),
                        "{backend:?}, {rows} rows, {columns} columns, {first}"
                    );
                }
                assert!(lanes[columns..].iter().all(|lanes| *lanes == [7.0; LANES]));
            }
        }
    }
}

fn some_kernels() -> Vec<AnyKernel> {
    vec![
        AnyKernel::Gaussian { gamma: 0.3 },
        AnyKernel::Polynomial { degree: 3, gamma: 0.5, coef0: 1.0 },
        AnyKernel::Sum(vec![AnyKernel::Linear, AnyKernel::Matern52 { gamma: 0.7 }]),
    ]
}

/// Minus half the Manhattan distance, one feature after the other.
fn naive_differences(x: &[f32], y: &[f32], weights: &[f32]) -> f32 {
    let weight = |k: usize| weights.get(k).copied().unwrap_or(-0.5);
    x.iter().zip(y).enumerate().fold(0.0, |acc, (k, (x, y))| (x - y).abs().mul_add(weight(k), acc))
}

#[test]
fn differences_have_the_documented_bits() {
    let mut random = XorShift(9);
    for (dim, count, slots) in [(1, 3, 32), (3, 1, 64), (40, 21, 320), (16, 1, 1056), (301, 7, 96), (301, 21, 96)] {
        let (data, panels) = terms(&mut random, dim, slots);
        let x = random.many(dim * count);
        let rows = Matrix::with_len(dim, count, &x);
        let halves: Vec<f32> = (0..dim).map(|k| -0.5 * (0.3 + k as f32).sqrt()).collect();
        for weights in [&[][..], &halves] {
            let pairs = (0..count).flat_map(|i| (0..slots).map(move |j| (i, j)));
            let value = |(i, j): (usize, usize)| naive_differences(rows.row(i), &data[j * dim..(j + 1) * dim], weights);
            let expected: Vec<u32> = pairs.map(value).map(f32::to_bits).collect();
            for backend in Backend::available() {
                let mut out = vec![f32::NAN; count * slots];
                let window = Window::new(&mut out, slots, count, slots);
                backend.chains_into(Chain::Differences(weights), rows, &panels, 0..panels.panels(), window);
                assert!(out.iter().map(|v| v.to_bits()).eq(expected.iter().copied()), "{backend:?} {dim} {count} {slots}");
            }
        }
    }
}

/// Kernel values, computed one pair at a time.
fn naive_rows(kernels: &[AnyKernel], rows: Matrix<'_>, data: &[f32], slots: usize) -> Vec<Vec<f32>> {
    let dim = rows.dim();
    let term = |j: usize| &data[j * dim..(j + 1) * dim];
    let value = |kernel: &AnyKernel, x: &[f32], y: &[f32]| kernel.eval(chain(x, y), square(x), square(y));
    let of_row = |kernel, i| (0..slots).map(move |j| value(kernel, rows.row(i), term(j)));
    kernels.iter().map(|kernel| (0..rows.len()).flat_map(|i| of_row(kernel, i)).collect()).collect()
}

fn fast_rows(backend: Backend, threads: usize, kernels: &[AnyKernel], rows: Matrix<'_>, panels: &Panels) -> Vec<Vec<f32>> {
    let slots = panels.slots();
    let mut term = vec![0.0; panels.dim()];
    let mut term_sq = vec![0.0; slots];
    for (j, square_of) in term_sq.iter_mut().enumerate() {
        panels.get(j, &mut term);
        *square_of = square(&term);
    }
    let mut row_sq = vec![0.0; rows.len()];
    backend.squares(rows, &mut row_sq);
    let mut out = vec![vec![f32::NAN; rows.len() * slots]; kernels.len()];
    let mut views: Vec<&mut [f32]> = out.iter_mut().map(Vec::as_mut_slice).collect();
    let (rows, terms) = (Points { rows, squares: &row_sq }, Packed { panels, squares: &term_sq });
    kernel_rows(backend, threads, kernels, rows, terms, &mut views, slots);
    out
}

#[test]
fn kernel_rows_do_not_depend_on_backend_threads_or_cut() {
    let mut random = XorShift(5);
    for (dim, count, slots) in [(0, 3, 32), (3, 1, 64), (40, 70, 320), (16, 1, 1056), (500, 3, 1024), (700, 70, 32)] {
        let (data, panels) = terms(&mut random, dim, slots);
        let x = random.many(dim * count);
        let rows = Matrix::with_len(dim, count, &x);
        let kernels = some_kernels();
        let expected = naive_rows(&kernels, rows, &data, slots);
        for backend in Backend::available() {
            for threads in [1, 2, 3, 8] {
                assert!(expected == fast_rows(backend, threads, &kernels, rows, &panels), "{backend:?} x{threads}");
            }
            check_cuts(backend, &kernels, rows, &panels, &expected);
        }
    }
}

fn check_cuts(backend: Backend, kernels: &[AnyKernel], rows: Matrix<'_>, panels: &Panels, expected: &[Vec<f32>]) {
    let slots = panels.slots();
    for size in [1, 5, 33] {
        for start in (0..rows.len()).step_by(size) {
            let end = rows.len().min(start + size);
            let part = fast_rows(backend, 1, kernels, rows.range(start..end), panels);
            assert!(part.iter().zip(expected).all(|(a, b)| *a == b[start * slots..end * slots]));
        }
    }
}

#[test]
fn work_is_shared_when_it_is_large() {
    let mut random = XorShift(6);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for (dim, count, slots) in [(256, 16, 2048), (1500, 200, 32)] {
        let (_, panels) = terms(&mut random, dim, slots);
        let x = random.many(dim * count);
        let kernels = some_kernels();
        let [one, two] =
            [1, 2].map(|threads| pool.install(|| fast_rows(Backend::best(), threads, &kernels, Matrix::new(dim, &x), &panels)));
        assert!(one == two);
    }
}

#[test]
fn a_row_is_at_distance_zero_from_itself() {
    let mut random = XorShift(7);
    let (data, panels) = terms(&mut random, 54, LANES);
    let rows = Matrix::new(54, &data);
    for backend in Backend::available() {
        let values = fast_rows(backend, 1, &[AnyKernel::Gaussian { gamma: 1e6 }], rows, &panels);
        assert!((0..LANES).all(|i| values[0][i * LANES + i] == 1.0));
    }
}

#[test]
fn panels_give_back_what_was_put() {
    let mut random = XorShift(8);
    let (data, mut panels) = terms(&mut random, 19, 70);
    assert_eq!((panels.slots(), panels.panels(), panels.dim()), (96, 3, 19));
    let read = |panels: &Panels, slot| {
        let mut term = vec![f32::NAN; panels.dim()];
        panels.get(slot, &mut term);
        term
    };
    assert!((0..70).all(|j| read(&panels, j) == data[j * 19..(j + 1) * 19]));
    assert!((70..96).all(|j| read(&panels, j) == [0.0; 19]));
    panels.put(40, &data[..19]);
    panels.put_many(&[(95, &data[..19]), (3, &data[19..38]), (95, &data[38..57])]);
    assert_eq!((read(&panels, 40), read(&panels, 3)), (data[..19].to_vec(), data[19..38].to_vec()));
    assert_eq!(read(&panels, 95), data[38..57], "the later of two writes stays");
    panels.widen(40);
    assert_eq!(read(&panels, 3), [&data[19..38], &[0.0; 21]].concat());
    assert!(panels.bytes() >= 96 * 40 * 4);
    panels.truncate(33);
    panels.reserve(10);
    assert_eq!(panels.slots(), 64);
}

#[test]
#[should_panic(expected = "rows and terms have the same features")]
fn other_features_are_refused() {
    let mut panels = Panels::new(3);
    panels.reserve(1);
    Backend::Scalar.dots(Matrix::new(2, &[0.0; 2]), &panels, 0..1, &mut [0.0; 32], 32);
}

#[test]
#[should_panic(expected = "places")]
fn a_short_output_is_refused() {
    let mut panels = Panels::new(3);
    panels.reserve(1);
    Backend::Scalar.dots(Matrix::new(3, &[0.0; 6]), &panels, 0..1, &mut [0.0; 63], 32);
}

#[test]
fn backends_have_names() {
    assert_eq!(Backend::available()[0], Backend::Scalar);
    assert_eq!(Backend::available().last(), Some(&Backend::best()));
    assert_eq!(Backend::named("scalar"), Ok(Backend::Scalar));
    let unknown = Backend::named("mmx").unwrap_err();
    assert!(unknown.contains("OKL_BACKEND=mmx is no backend") && unknown.contains("scalar"), "{unknown}");
}

/// The first one of the least scores, for numbers of slots around the lengths of the inner loops, with ties.
#[test]
fn the_first_least_is_found() {
    #[derive(Clone, Copy)]
    struct Product;
    impl Score<1, 1> for Product {
        type Bits = u64;
        fn at(self, [a]: [f64; 1], [k]: [f32; 1]) -> u64 {
            (a * a * f64::from(k)).to_bits()
        }
    }
    for backend in Backend::available() {
        for slots in [1, 2, 31, 32, 33, 127, 128, 129, 600] {
            for seed in 0..20 {
                let number = |i: usize| ((i * 37 + seed * 101) % 53 + 1) as f64;
                let (mut a, mut k): (Vec<f64>, Vec<f32>) = (0..slots).map(|i| (-number(i), number(i + 7) as f32)).unzip();
                // Slots that do not exist, up to whole panels, have a smaller score.
                a.resize(slots.next_multiple_of(LANES), 0.0);
                k.resize(slots.next_multiple_of(LANES), 0.0);
                let score = |i: &usize| number(*i) * number(*i) * number(i + 7);
                let least = |score: &dyn Fn(&usize) -> f64| (0..slots).min_by(|i, j| score(i).total_cmp(&score(j)));
                assert_eq!(Some(backend.first_least([&a], [&k], slots, Product)), least(&score), "{backend:?}, {slots} slots");
                let found = backend.first_least([], [&k], slots, Number);
                assert_eq!(Some(found), least(&|i| number(i + 7)), "{backend:?}, {slots} slots");
            }
        }
        assert_eq!(backend.first_least([], [&[f32::INFINITY; 64]], 40, Number), 0);
        assert_eq!(backend.first_least([], [&[0.0; 64]], 0, Number), 0);
    }
}
