//! The parts one by one, with criterion: `cargo bench --bench parts`. For ratios within one run see `table.rs`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use okl::gram::{Backend, Matrix, Packed, Panels, Points, kernel_rows};
use okl::kernel::AnyKernel;
use okl::{Batch, Config, Learner, Workspace};

const TERMS: usize = 1024;

fn uniform(count: usize) -> Vec<f32> {
    let mut s = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

fn panels(features: usize) -> (Panels, Vec<f32>) {
    let x = uniform(TERMS * features);
    let mut panels = Panels::new(features);
    panels.reserve(TERMS);
    x.chunks(features).enumerate().for_each(|(i, row)| panels.put(i, row));
    let mut squares = vec![0.0; TERMS];
    Backend::best().squares(Matrix::new(features, &x), &mut squares);
    (panels, squares)
}

fn gram(c: &mut Criterion) {
    let mut group = c.benchmark_group("gram");
    for features in [16, 54, 256, 784] {
        let (panels, squares) = panels(features);
        for rows in [1usize, 32] {
            let x = uniform(rows * features);
            let x = Matrix::new(features, &x);
            let mut row_squares = vec![0.0; rows];
            Backend::best().squares(x, &mut row_squares);
            let mut out = vec![0.0; rows * TERMS];
            group.throughput(Throughput::Elements((rows * TERMS) as u64));
            group.bench_function(BenchmarkId::new(format!("dots/{rows}"), features), |b| {
                b.iter(|| Backend::best().dots(x, &panels, 0..panels.panels(), &mut out, TERMS));
            });
            let (points, terms) = (Points { rows: x, squares: &row_squares }, Packed { panels: &panels, squares: &squares });
            let kernel = [AnyKernel::Gaussian { gamma: 1.0 / features as f64 }];
            group.bench_function(BenchmarkId::new(format!("gaussian/{rows}"), features), |b| {
                b.iter(|| kernel_rows(Backend::best(), 1, &kernel, points, terms, &mut [&mut out], TERMS));
            });
        }
    }
    let (k, a) = (uniform(TERMS), vec![0.5; TERMS]);
    for columns in [1usize, 10] {
        let (columns, mut out) = (vec![a.as_slice(); columns], vec![0.0; columns]);
        group.throughput(Throughput::Elements((TERMS * columns.len()) as u64));
        group.bench_function(BenchmarkId::new("weighted_sums", columns.len()), |b| {
            b.iter(|| Backend::best().weighted_sums(&k, &columns, &mut out))
        });
    }
    group.finish();
}

fn learning(c: &mut Criterion) {
    let mut group = c.benchmark_group("learn");
    let (features, rows) = (64, 512);
    let x = uniform(rows * features);
    let y: Vec<f64> = x.chunks(features).map(|r| r.iter().sum::<f32>().signum().into()).collect();
    group.throughput(Throughput::Elements(rows as u64));
    for budget in ["window:1000", "transfer:1000", "merge:1000", "age:3000"] {
        for step in ["constant:0.1", "smd:eta=0.1"] {
            let text = format!(
                "loss = 'hinge'\nkernel = 'gaussian:0.05'\nstep = '{step}'\nbudget = '{budget}'\nlambda = 1e-3\nscale = 'none'"
            );
            let mut learner = Learner::new(Config::from_toml(&text).unwrap()).unwrap();
            for _ in 0..8 {
                learner.learn(&Batch::new(&x, features).numbers(&y)).unwrap();
            }
            group.bench_function(BenchmarkId::new(step, budget), |b| {
                b.iter(|| learner.learn(&Batch::new(&x, features).numbers(&y)).unwrap())
            });
        }
    }
    let mut learner = Learner::new(
        Config::from_toml(
            "loss = 'hinge'\nkernel = 'gaussian:0.05'\nstep = 'constant:0.1'\nlambda = 1e-3\nbudget = 'window:1000'",
        )
        .unwrap(),
    )
    .unwrap();
    for _ in 0..8 {
        learner.learn(&Batch::new(&x, features).numbers(&y)).unwrap();
    }
    let mut workspace = Workspace::default();
    group.bench_function("predict", |b| b.iter(|| learner.predict_with(&mut workspace, &Batch::new(&x, features)).unwrap()));
    group.bench_function("save and load", |b| b.iter(|| Learner::from_bytes(&learner.to_bytes()).unwrap()));
    group.finish();
}

criterion_group!(benches, gram, learning);
criterion_main!(benches);
