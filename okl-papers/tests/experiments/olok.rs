//! OLOK's experiment: the data are as described, vv-RLS solves its equation, OLOK goes where vv-RLS is.

use okl_papers::Context;
use okl_papers::data::Rows;
use okl_papers::olok::batch::{Rls, cross_validated};
use okl_papers::olok::online::{Keep, Setting, equicorrelated, mean_square};
use okl_papers::olok::table::{Kind, Method};
use okl_papers::olok::{click, measure, problem, tune};

use super::frame::{SEED, page};

/// y = (sin 3x, cos 3x) on [0, 1].
fn waves(n: usize) -> Rows {
    let x: Vec<f32> = (0..n).map(|i| ((i * 7919) % n) as f32 / n as f32).collect();
    let y = x.iter().flat_map(|x| [f64::from(3.0 * x).sin(), f64::from(3.0 * x).cos()]).collect();
    Rows { features: 1, x, width: 2, y }
}

/// Least squares of each output on the first `used` features and a constant, by normal equations.
fn residual_deviation(rows: &Rows, used: usize) -> f64 {
    let m = used + 1;
    let mut square = 0.0;
    for output in 0..rows.width {
        let mut a = vec![vec![0.0; m + 1]; m];
        for i in 0..rows.len() {
            let mut f: Vec<f64> = rows.row(i)[..used].iter().map(|v| f64::from(*v)).collect();
            f.extend([1.0, rows.target(i)[output]]);
            for r in 0..m {
                (0..=m).for_each(|c| a[r][c] += f[r] * f[c]);
            }
        }
        for p in 0..m {
            for r in (0..m).filter(|r| *r != p) {
                let factor = a[r][p] / a[p][p];
                (0..=m).for_each(|c| a[r][c] -= factor * a[p][c]);
            }
        }
        let w: Vec<f64> = (0..m).map(|r| a[r][m] / a[r][r]).collect();
        for i in 0..rows.len() {
            let h = rows.row(i)[..used].iter().zip(&w).map(|(x, w)| f64::from(*x) * w).sum::<f64>() + w[used];
            square += (rows.target(i)[output] - h).powi(2);
        }
    }
    (square / (rows.len() * rows.width) as f64).sqrt()
}

#[test]
fn the_synthetic_set_is_linear_in_five_features_with_noise_of_a_tenth() {
    let rows = problem::synthetic(&mut Context::smoke(SEED).random("test"), 2000);
    assert_eq!((rows.features, rows.width, rows.len()), (50, 20, 2000));
    assert!(rows.x.iter().all(|v| (0.0..1.0).contains(v)));
    // 40,000 residuals: the deviation of a deviation is 0.00035.
    let five = residual_deviation(&rows, 5);
    assert!((five - 0.1).abs() < 0.003, "{five}");
    assert!(residual_deviation(&rows, 4) > 0.12, "the fifth feature counts");
}

#[test]
fn the_click_stream_has_sixteen_outputs_in_scale() {
    let rows = problem::click(&mut Context::smoke(SEED).random("test"), 500);
    assert_eq!((rows.features, rows.width), (120, 16));
    for output in 0..16 {
        let y: Vec<f64> = (0..500).map(|i| rows.target(i)[output]).collect();
        assert!(y.iter().sum::<f64>().abs() < 1e-9 && (y.iter().map(|v| v * v).sum::<f64>() / 500.0 - 1.0).abs() < 1e-9);
    }
}

/// One example: C (J + lambda I) = y, h(x) = k(x, x_1) J C.
#[test]
fn vv_rls_solves_its_equation() {
    let one = Rows { features: 2, x: vec![0.5, -1.0], width: 2, y: vec![1.0, 0.0] };
    let rls = Rls::fit(&one, 4.0, 0.5).unwrap();
    let determinant = 1.5 * 1.5 - 0.1 * 0.1;
    let c = [1.5 / determinant, -0.1 / determinant];
    let h = [c[0] + 0.1 * c[1], 0.1 * c[0] + c[1]];
    let there = rls.predict(&one);
    let away = rls.predict(&Rows { x: vec![1.5, 1.0], ..one });
    for o in 0..2 {
        assert!((there[o] - h[o]).abs() < 1e-7);
        assert!((away[o] - h[o] * (-5.0f64 / 4.0).exp()).abs() < 1e-7);
    }
}

#[test]
fn cross_validation_holds_every_row_out_once() {
    // A regulariser that forbids everything leaves the mean of the held-out squares, whatever the folds.
    let rows = waves(50);
    let nothing = cross_validated(&rows, 1.0, 1e12).unwrap();
    assert!((nothing - mean_square(&rows.y, &vec![0.0; 100])).abs() < 1e-9);
    assert!(cross_validated(&rows, 0.1, 1e-6).unwrap() < 1e-3);
}

#[test]
fn passes_add_onto_their_terms_and_lead_to_the_batch_solution() {
    let rows = waves(60);
    let (mu, lambda) = (0.1, 0.01);
    let batch = Rls::fit(&rows, mu, lambda).unwrap().predict(&rows);
    let distance = |passes: u64| {
        let setting = Setting { falling: false, implicit: true, average: 1e-3, ..Setting::plain(mu, lambda, 0.1) };
        let learner = setting.fit(&rows, passes).unwrap();
        assert_eq!(learner.terms(), 60);
        mean_square(&learner.predict(&okl::Batch::new(&rows.x, 1)).unwrap().values, &batch).sqrt()
    };
    let [few, many] = [3, 300].map(distance);
    assert!(many < 0.01 && few > 5.0 * many, "{few} after 3 passes, {many} after 300");
}

#[test]
fn the_operator_is_that_of_the_paper() {
    assert_eq!(equicorrelated(3), [1.0, 0.1, 0.1, 0.1, 1.0, 0.1, 0.1, 0.1, 1.0]);
}

#[test]
fn settings_of_the_theorem_do_truncate() {
    let rows = waves(400);
    let settings = tune::truncated(&[1.0], 400);
    assert!(!settings.is_empty());
    for setting in settings {
        assert!(setting.fit(&rows, 1).unwrap().terms() < 400, "{setting:?}");
    }
}

#[test]
fn tuning_takes_the_setting_with_the_least_error_on_rows_held_out() {
    let rows = waves(200);
    let tuning = tune::Tuning::new(&rows, 200);
    let good = Setting { falling: false, implicit: true, ..Setting::plain(0.1, 1e-6, 3.0) };
    let useless = Setting { lambda: 1e3, ..good };
    assert_eq!(tuning.best(&[useless, good]).unwrap().0, good);
    assert_eq!(tuning.best_in_passes(&[useless, good], 1e-3, 24).unwrap().0, good);
    assert_eq!(tuning.best_in_passes(&[useless, good], 0.0, 24).unwrap().1, 24, "what cannot be reached takes all passes");
    assert_eq!(tuning.best_in_passes(&[useless, good], 10.0, 24).unwrap().1, 1, "what is easy takes one");
}

#[test]
fn an_exponent_is_found_from_the_end_of_the_curve() {
    let times: Vec<(f64, f64)> = (1..=64).map(|i| f64::from(i) * 1000.0).map(|n| (n, 3e-9 * n.powf(1.8))).collect();
    assert!((click::exponent(&times) - 1.8).abs() < 1e-9);
}

#[test]
fn every_method_is_in_the_table() {
    let outcome = measure(&Context::smoke(SEED)).unwrap();
    for set in &outcome.sets {
        assert!(matches!(set.rows[0].method, Method::Rls(_)));
        let row = |kind: Kind| set.row(kind).unwrap_or_else(|| panic!("{}: no {kind:?}", set.source.name));
        for kind in [Kind::Second, Kind::SecondTruncated, Kind::Plain, Kind::Truncated] {
            row(kind);
        }
        assert!(set.rows.iter().all(|r| r.errors.len() == 2 && r.errors.iter().all(|e| e.is_finite())));
        assert!(row(Kind::Free).spread().mean < row(Kind::First).spread().mean, "{}: tuning helps", set.source.name);
        let (n, terms) = (set.sizes.0, (set.sizes.0 as f64).powf(0.8).round() as usize);
        assert_eq!([Kind::Free, Kind::Newest, Kind::Merged].map(|k| row(k).terms), [n, terms, terms]);
        for (kind, points) in &set.courses {
            let last = points[points.len() - 1];
            assert_eq!(last.0, n as f64);
            assert_eq!(last.1, row(*kind).errors[0], "{}: a course ends where the table is", set.source.name);
        }
    }
    assert!(outcome.sets.iter().any(|set| !set.passes.is_empty()), "one pass is not always enough");
    assert!(matches!(outcome.click.passes[1].setting.keep, Keep::Theorem(_)));
    assert!(outcome.click.passes.iter().all(|p| p.errors.len() == p.times.len() && p.test.is_finite()));
}

#[test]
fn the_page_quotes_the_paper() {
    let html = page("olok");
    for text in ["9.1e-2 ± 1e-4", "paper: truncated OLOK", "30 min", "Figure 1", "Click", "Over the kernel"] {
        assert!(html.contains(text), "no {text}");
    }
}
