//! Explanations: the parts of a score, against values computed by hand and against `predict`.

use okl::{Batch, Config, Label, Learner};
use okl_cli::explain::explain;
use serde_json::{Value, json};

use crate::support::{Folder, Random, Served, call, json_call};

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// One step of 0.5 towards each target, far apart: f(x) = exp(-x²) + 2 exp(-(x - 5)²).
#[test]
fn a_score_is_the_sum_of_its_terms() {
    let folder = Folder::new("explain");
    let served = Served::start(&folder, &[]);
    let config = json!({ "loss": "squared", "kernel": "gaussian:1", "step": "constant:0.5", "lambda": 0, "scale": "none", "average": "none" });
    json_call(&served.address, "PUT", "/v1/models/m", &json!({ "config": config })).unwrap();
    let body = json!({ "rows": [{ "t": 0 }, { "t": 5 }], "targets": [2, 4] });
    assert_eq!(json_call(&served.address, "POST", "/v1/models/m/learn", &body).unwrap().0, 200);
    let ask = |top: &str| {
        json_call(&served.address, "POST", &format!("/v1/models/m/explain?top={top}"), &json!({ "rows": [{ "t": 4 }] })).unwrap()
    };
    let (status, told) = ask("1");
    assert_eq!(status, 200, "{told}");
    let row = &told["rows"][0];
    let (near, far) = (2.0 * (-1f64).exp(), (-16f64).exp());
    let close =
        |found: &Value, expected: f64| assert!((found.as_f64().unwrap() - expected).abs() < 1e-6, "{found} {expected}: {row}");
    close(&row["terms"][0]["adds"][0], near);
    close(&row["others_add"][0], far);
    close(&row["score"][0], near + far);
    close(&row["offset"][0], 0.0);
    close(&row["nearest"]["distance"], 1.0);
    assert_eq!(row["nearest"]["columns"], json!([{ "column": "t", "value": 4.0, "stored": 5.0, "difference": -1.0 }]));
    assert_eq!(row["terms"].as_array().unwrap().len(), 1);
    assert_eq!((ask("0").0, ask("many").0), (422, 422));
}

/// Models of every form: the listed parts and the offset add up to the score of `predict`.
#[test]
fn the_parts_of_any_model_add_up() {
    let mut random = Random(7);
    let x: Vec<f64> = (0..120 * 3).map(|_| 10.0 * random.number()).collect();
    let classes: Vec<Label> = x.chunks(3).map(|x| Label::Int((x[0] > 3.0) as i64 + (x[1] > 0.0) as i64)).collect();
    let signs: Vec<Label> = x.chunks(3).map(|x| Label::Int((x[0] * x[1] > 0.0) as i64)).collect();
    let y: Vec<f64> = x.chunks(3).flat_map(|x| [x[0] - x[1] * 0.1, x[2]]).collect();
    let first: Vec<f64> = y.iter().step_by(2).copied().collect();
    let batch = || Batch::of_f64(&x, 3);
    let cases = [
        ("loss = 'max_margin'", batch().labels(&classes)),
        (
            "loss = 'hinge'\nkernel = 'gaussian:0.01'\noffset = true\nstep = 'constant:0.1'\nlambda = 0.01\nbudget = 'merge:20'",
            batch().labels(&signs),
        ),
        ("loss = 'squared'\nkernel = 'linear'", batch().numbers(&first)),
        (
            "loss = 'squared'\nkernel = 'polynomial:degree=2,gamma=1,coef0=1'\nscale = 'standard'\naverage = 'uniform'\nstep = 'constant:0.01'\nlambda = 0.001",
            batch().numbers(&first),
        ),
        (
            "loss = 'squared'\noperator = [1, 0.5, 0.5, 1]\nkernel = 'gaussian:0.01'\nstep = 'constant:0.1'\nlambda = 0.001",
            batch().numbers(&y),
        ),
        ("loss = 'density:0.1'\nscale = 'whiten'\nwarmup = 64", batch()),
    ];
    for (settings, batch) in cases {
        let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
        learner.learn(&batch).unwrap();
        let scores = learner.predict(&batch).unwrap();
        let explained = explain(&learner, &x, &[], 1000).unwrap();
        for (row, score) in explained.iter().zip(scores.iter()) {
            let parts = row.get("terms").or(row.get("columns")).unwrap().as_array().unwrap();
            let mut sums = numbers(&row["offset"]);
            let size = parts.iter().flat_map(|part| numbers(&part["adds"])).fold(1.0, |sum: f64, c| sum + c.abs());
            parts.iter().for_each(|part| sums.iter_mut().zip(numbers(&part["adds"])).for_each(|(sum, c)| *sum += c));
            assert_eq!(numbers(&row["score"]), score);
            let apart = sums.iter().zip(score).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
            assert!(apart <= 1e-12 * size, "{settings}: {sums:?} {score:?}");
        }
    }
}

/// Where rows are whitened, the part of a column is that of the column in the data: if one column changes, the score changes by as much as its
/// part, and the parts of the other columns stay. For a weight vector, and for weight vectors beside terms whose kernels see nothing of the rows.
#[test]
fn columns_of_whitened_rows_are_those_of_the_data() {
    let mut random = Random(11);
    let x: Vec<f64> = (0..300)
        .flat_map(|_| {
            let a = random.number();
            [a, 0.8 * a + 0.3 * random.number(), random.number() - 0.5 * a]
        })
        .collect();
    let y: Vec<f64> = x.chunks(3).map(|x| 3.0 * x[0] - 2.0 * x[1] + x[2]).collect();
    let fixed = "scale = { fixed = { shift = [0.1, 0, 0.2], factor = [2, 1, 0.5], whiten = [0.8, -0.5, 1.2] } }";
    let settings = [
        format!("loss = 'squared'\nkernel = 'linear'\noffset = true\n{fixed}"),
        "loss = 'squared'\nkernel = 'auto'\noffset = true\nscale = 'whiten'".into(),
    ];
    for settings in settings {
        let mut learner = Learner::new(Config::from_toml(&settings).unwrap()).unwrap();
        learner.learn(&Batch::of_f64(&x, 3).numbers(&y)).unwrap();
        let of = |x: &[f64]| explain(&learner, x, &[], 1000).unwrap().remove(0);
        let adds = |row: &Value| {
            let mut found = [0.0; 3];
            for column in row["columns"].as_array().unwrap() {
                found[column["column"].as_str().unwrap().parse::<usize>().unwrap() - 1] = column["adds"][0].as_f64().unwrap();
            }
            found
        };
        let terms = |row: &Value| {
            row.get("terms")
                .map_or(0.0, |terms| terms.as_array().unwrap().iter().map(|term| term["adds"][0].as_f64().unwrap()).sum())
        };
        for j in 0..3 {
            let (before, mut moved) = (of(&x[..3]), x[..3].to_vec());
            moved[j] += 0.25;
            let after = of(&moved);
            let score = |row: &Value| row["score"][0].as_f64().unwrap() - terms(row);
            let (a, b) = (adds(&before), adds(&after));
            assert!((score(&after) - score(&before) - (b[j] - a[j])).abs() < 1e-5, "{settings} {j}: {before} {after}");
            assert!((0..3).all(|other| other == j || a[other] == b[other]), "{settings} {j}: {before} {after}");
            assert!((b[j] - a[j]).abs() > 1e-3, "{settings} {j}: {before} {after}");
        }
    }
}

/// With nothing set, weight vectors learn beside the terms: the answer has `terms` and `columns`, and `others_add` has what is not listed of
/// both, as docs/serve.md says.
#[test]
fn with_nothing_set_terms_and_columns_add_up() {
    let folder = Folder::new("both");
    let served = Served::start(&folder, &[]);
    call(&served.address, "PUT", "/v1/models/m", "", b"").unwrap();
    let mut random = Random(3);
    let rows: Vec<[f64; 3]> = (0..400).map(|_| [random.number(), random.number(), random.number()]).collect();
    let targets: Vec<f64> = rows.iter().map(|[a, b, c]| 3.0 * a - b + (4.0 * c).sin()).collect();
    let learned = json!({ "rows": rows, "targets": targets });
    assert_eq!(json_call(&served.address, "POST", "/v1/models/m/learn", &learned).unwrap().0, 200);
    let asked = json!({ "rows": [[0.3, -0.2, 0.1]] });
    let score = json_call(&served.address, "POST", "/v1/models/m/predict?fresh=true", &asked).unwrap().1["scores"][0].clone();
    let explained = |top: usize| {
        let (status, answer) = json_call(&served.address, "POST", &format!("/v1/models/m/explain?top={top}"), &asked).unwrap();
        assert_eq!(status, 200, "{answer}");
        answer["rows"][0].clone()
    };
    let adds =
        |row: &Value, of: &str| -> Vec<f64> { row[of].as_array().unwrap().iter().flat_map(|e| numbers(&e["adds"])).collect() };
    let (one, many) = (explained(1), explained(100));
    let score = score.as_f64().unwrap_or_else(|| numbers(&score)[0]);
    for (row, columns) in [(&one, 1), (&many, 3)] {
        let listed = [numbers(&row["offset"]), adds(row, "terms"), adds(row, "columns"), numbers(&row["others_add"])];
        assert_eq!((listed[2].len(), listed[2].iter().all(|c| *c != 0.0)), (columns, true), "{row}");
        let sum: f64 = listed.iter().flatten().sum();
        let size: f64 = listed.iter().flatten().fold(1.0, |sum, c| sum + c.abs());
        assert!((sum - score).abs() <= 1e-12 * size, "{sum} {score}");
    }
}
