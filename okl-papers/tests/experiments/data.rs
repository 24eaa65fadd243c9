//! Rows in memory.

use std::path::PathBuf;

use okl_papers::data::{A9A, IJCNN1, PARKINSON, Rows, Standard, USPS, WINE, normal};
use okl_papers::{Context, Size};

fn rows() -> Rows {
    Rows { features: 2, x: (0..10).map(|v| v as f32).collect(), width: 1, y: vec![0.0, 1.0, 0.0, 1.0, 2.0] }
}

#[test]
fn rows_are_gathered_split_and_chosen() {
    let gathered = rows().gather(&[4, 0]);
    assert_eq!((gathered.x, gathered.y), (vec![8.0, 9.0, 0.0, 1.0], vec![2.0, 0.0]));
    let (first, others) = rows().split(2);
    assert_eq!((first.len(), others.len(), others.row(0)), (2, 3, &[4.0f32, 5.0][..]));
    assert_eq!(rows().only(|y| y == 1.0), rows().gather(&[1, 3]));
    assert_eq!(rows().split(9).1.len(), 0);
}

#[test]
fn standard_columns_have_mean_0_and_deviation_1() {
    let mut rows = rows();
    rows.x.iter_mut().skip(1).step_by(2).for_each(|v| *v = 7.0);
    let (features, targets) = (Standard::of_features(&rows), Standard::of_targets(&rows));
    features.features(&mut rows);
    targets.targets(&mut rows);
    // 0, 2, 4, 6, 8: mean 4, variance 8; the second column is constant.
    let expected = [-4.0, -2.0, 0.0, 2.0, 4.0].map(|v: f32| v / 8.0f32.sqrt());
    for (i, first) in expected.into_iter().enumerate() {
        assert!((rows.row(i)[0] - first).abs() < 1e-6 && rows.row(i)[1] == 0.0);
    }
    let moments = rows.y.iter().fold((0.0, 0.0), |m, y| (m.0 + y / 5.0, m.1 + y * y / 5.0));
    assert!(moments.0.abs() < 1e-15 && (moments.1 - 1.0).abs() < 1e-12);
}

#[test]
fn stand_ins_have_the_shape_of_their_data_sets() {
    let context = Context::smoke(1);
    for (set, features, width) in [(&USPS, 256, 1), (&WINE, 10, 2), (&PARKINSON, 20, 2), (&A9A, 123, 1), (&IJCNN1, 22, 1)] {
        let data = context.load(set).expect("stand-ins");
        assert_eq!((data.train.features, data.train.width), (features, width), "{}", set.name);
        assert_eq!(data.test.is_empty(), set.files.len() == 1, "{}", set.name);
        assert!(data.train.y.windows(2).any(|y| y[0] != y[1]), "{} has one target only", set.name);
        assert_eq!(data.train, context.load(set).expect("stand-ins").train, "{}", set.name);
    }
}

/// LIBSVM text does not say how wide it is: both parts get the width of the wider one.
#[test]
fn both_parts_have_the_same_width() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("reproduce-width");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("a9a"), "-1 1:1 3:1\n+1 2:1\n").expect("a file");
    std::fs::write(folder.join("a9a.t"), "+1 5:1\n").expect("a file");
    let data = Context::new(Some(folder), Size::Usual, 1).load(&A9A).expect("both parts");
    assert_eq!(data.train.x, [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!((data.test.x, data.test.y, data.train.y), (vec![0.0, 0.0, 0.0, 0.0, 1.0], vec![1.0], vec![-1.0, 1.0]));
}

/// Of 10,000 values: mean within 5/100, share within one deviation 0.6827 within five deviations of that share.
#[test]
fn normal_numbers_are_normal() {
    let mut random = Context::smoke(1).random("normal");
    let values: Vec<f64> = (0..10_000).map(|_| normal(&mut random)).collect();
    let mean = values.iter().sum::<f64>() / 1e4;
    let within = values.iter().filter(|v| v.abs() < 1.0).count() as f64 / 1e4;
    assert!(mean.abs() < 0.05, "{mean}");
    assert!((within - 0.6827).abs() < 5.0 * (0.6827f64 * 0.3173 / 1e4).sqrt(), "{within}");
}
