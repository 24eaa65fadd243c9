//! Models that are created without a loss, rows of weight 0, and what the server says of settings and targets.

use serde_json::{Value, json};

use crate::support::{Folder, Random, Served, call, json_call};

/// A server and its folder.
struct Api(Served, #[expect(dead_code, reason = "removed at the end")] Folder);

impl Api {
    fn start(name: &str, flags: &[&str]) -> Self {
        let folder = Folder::new(name);
        Api(Served::start(&folder, flags), folder)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        json_call(&self.0.address, method, &format!("/v1/models/{path}"), body).unwrap()
    }

    fn good(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.send(method, path, body);
        assert!(status < 300, "{path} {body}: {status} {answer}");
        answer
    }

    /// The message of a request that is refused.
    fn refused(&self, method: &str, path: &str, body: &Value) -> String {
        let (status, answer) = self.send(method, path, body);
        assert!((400..500).contains(&status), "{path} {body}: {status} {answer}");
        answer["error"]["message"].as_str().unwrap().to_owned()
    }

    fn inspect(&self, name: &str) -> Value {
        self.good("GET", &format!("{name}/inspect"), &Value::Null)
    }
}

/// Three classes around three points.
fn three(count: u64) -> (Vec<[f64; 2]>, Vec<&'static str>) {
    let mut random = Random(3);
    (0..count)
        .map(|i| {
            let class = i as usize % 3;
            let [x, y] = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]][class];
            ([x + 0.2 * random.number(), y + 0.2 * random.number()], ["a", "b", "c"][class])
        })
        .unzip()
}

#[test]
fn listed_classes_need_no_loss() {
    let api = Api::start("listed", &[]);
    let (rows, targets) = three(90);
    let classes = json!(["a", "b", "c"]);
    for (name, body) in [
        ("list", json!({ "config": { "classes": classes } })),
        ("both", json!({ "config": { "classes": classes }, "task": "classes" })),
        ("kernel", json!({ "config": { "classes": classes, "kernel": "gaussian", "gamma": 0.5 } })),
    ] {
        api.good("PUT", name, &body);
        // Numbers could be a task of their own; the list says what they are.
        let unknown = api.refused("POST", &format!("{name}/learn"), &json!({ "rows": [[1, 2]], "targets": [7.5] }));
        assert!(unknown.contains("7.5") && unknown.contains("class"), "{unknown}");
        api.good("POST", &format!("{name}/learn"), &json!({ "rows": rows, "targets": targets }));
        let found = api.good("POST", &format!("{name}/predict?fresh=true"), &json!({ "rows": rows }));
        let labels = found["labels"].as_array().unwrap();
        let right = labels.iter().zip(&targets).filter(|(label, target)| *label == *target).count();
        assert!(right >= 85, "{name}: {right} of 90");
    }
}

#[test]
fn classes_are_for_the_task_classes() {
    let api = Api::start("tasks", &[]);
    for task in ["novelty", "numbers"] {
        let said = api.refused("PUT", "m", &json!({ "config": { "classes": ["a", "b"] }, "task": task }));
        assert!(said.contains(&format!("\"task\" is \"{task}\"")) && !said.contains("this loss"), "{said}");
    }
    let said = api.refused("PUT", "m", &json!({ "config": { "class_weight": "balanced" }, "task": "numbers" }));
    assert!(said.contains("class_weight") && said.contains("\"task\": \"numbers\"") && !said.contains("this loss"), "{said}");
    let said = api.refused("PUT", "m", &json!({ "config": { "classes": [1, "1"] } }));
    assert!(said.contains("'1' comes twice"), "{said}");
    // Settings of one task do not need its name: the first rows may have this task.
    api.good("PUT", "scaled", &json!({ "config": { "target_scale": { "fixed": { "shift": [5], "factor": [0.1] } } } }));
    api.good("POST", "scaled/learn", &json!({ "rows": [[1], [2], [3]], "targets": [1.5, 2.5, 3.5] }));
    api.good("PUT", "rare", &json!({ "config": { "nu": 0.02 }, "task": "novelty" }));
    api.good("POST", "rare/learn", &json!({ "rows": [[1], [2], [3]] }));
    assert_eq!(api.inspect("rare")["config"]["loss"], json!({ "density": { "nu": 0.02 } }));
}

#[test]
fn refused_settings_are_named_before_the_number_of_models() {
    let api = Api::start("names", &["--most-models", "1"]);
    api.good("PUT", "one", &json!({}));
    let said = api.refused("PUT", "two", &json!({ "config": { "losss": "hinge" } }));
    assert!(said.contains("did you mean `loss`") && said.contains("missing"), "{said}");
    let (status, _) = api.send("PUT", "two", &json!({}));
    assert_eq!(status, 429);
    for (body, expected) in [
        (json!({ "task": "klasses" }), "unknown word 'klasses'; choose one of classes, numbers, novelty"),
        (json!({ "confg": {} }), "there is no 'confg' here"),
    ] {
        let said = api.refused("PUT", "two", &body);
        assert!(said.contains(expected) && !said.contains("uploaded"), "{said}");
    }
}

/// Targets of mean 5,000: the step sizes of `nu_epsilon` suit a deviation of 1. The setting to compare with helps here; the server cannot try it, so
/// it does not say that it helps.
#[test]
fn targets_far_from_the_unit_of_the_steps_are_found() {
    let api = Api::start("unit", &[]);
    let mut random = Random(9);
    let rows: Vec<[f64; 2]> = (0..600).map(|_| [random.number(), random.number()]).collect();
    let targets: Vec<f64> = rows.iter().map(|[x, y]| 5000.0 + 1000.0 * x + 200.0 * y).collect();
    let error = |name: &str, config: &Value| {
        api.good("PUT", name, &json!({ "config": config }));
        for at in [0, 300] {
            let part = json!({ "rows": rows[at..at + 300], "targets": targets[at..at + 300] });
            api.good("POST", &format!("{name}/learn"), &part);
        }
        api.good("GET", name, &Value::Null)["recent_error"].as_f64().unwrap()
    };
    let raw = error("raw", &json!({ "loss": "nu_epsilon" }));
    let health = api.inspect("raw")["health"].clone();
    let [said] = &health.as_array().unwrap()[..] else { panic!("{health}") };
    let said = said.as_str().unwrap();
    assert!(said.contains("mean near 0") && said.contains("compare their errors") && !said.contains("--"), "{said}");
    let setting = said.split_once("with \"target_scale\": ").unwrap().1.split_once(" in \"config\"").unwrap().0;
    let setting: Value = serde_json::from_str(setting).unwrap();
    let scaled = error("scaled", &json!({ "loss": "nu_epsilon", "target_scale": setting }));
    assert!(scaled < 0.2 * raw, "{scaled} {raw}");
    assert_eq!(api.inspect("scaled")["health"], json!([]));
    // The squared loss follows any unit, also where it is not named and where nothing can be predicted.
    let (noise, mut random) = (json!({ "task": "numbers" }), Random(5));
    api.good("PUT", "noise", &noise);
    let targets: Vec<f64> = rows.iter().map(|_| 5000.0 + 1000.0 * random.number()).collect();
    api.good("POST", "noise/learn", &json!({ "rows": rows, "targets": targets }));
    let file = call(&api.0.address, "GET", "/v1/models/noise/snapshot", "", b"").unwrap().1;
    let kind = "application/octet-stream";
    assert_eq!(call(&api.0.address, "PUT", "/v1/models/uploaded", kind, &file).unwrap().0, 201);
    api.good("POST", "uploaded/learn", &json!({ "rows": rows, "targets": targets }));
    for name in ["noise", "uploaded"] {
        assert_eq!(api.inspect(name)["health"], json!([]), "{name}");
    }
}

/// A row of weight 0 is only predicted, and what stands in the place of its target does not matter.
#[test]
fn rows_of_weight_zero_decide_nothing() {
    let api = Api::start("weightless", &[]);
    let (rows, targets) = three(60);
    for (name, first, targets) in [
        ("words", json!("zzz"), json!(targets)),
        ("flags", json!("unknown"), json!((0..60).map(|i| i % 3 == 0).collect::<Vec<_>>())),
        ("truth", json!(true), json!((0..60).map(|i| i % 3 % 2).collect::<Vec<_>>())),
        ("whole", json!(2.5), json!((0..60).map(|i| i % 3 % 2).collect::<Vec<_>>())),
        ("numbers", json!("unknown"), json!(rows.iter().map(|[x, y]| x + y).collect::<Vec<_>>())),
    ] {
        let with = |weightless: bool| {
            let model = format!("{name}-{weightless}");
            api.good("PUT", &model, &json!({}));
            let (mut x, mut y, mut w) = (json!(rows), targets.clone(), vec![1.0; 60]);
            if weightless {
                // Before all others, and once more in between.
                for at in [0, 5, 30] {
                    x.as_array_mut().unwrap().insert(at, json!([9.0, 9.0]));
                    y.as_array_mut().unwrap().insert(at, first.clone());
                    w.insert(at, 0.0);
                }
            }
            let mut answer = api.good("POST", &format!("{model}/learn"), &json!({ "rows": x, "targets": y, "weights": w }));
            let kept: Vec<Value> =
                answer["scores"].as_array().unwrap().iter().zip(&w).filter(|(_, w)| **w > 0.0).map(|(z, _)| z.clone()).collect();
            answer["scores"] = kept.into();
            let found = api.good("POST", &format!("{model}/predict?fresh=true"), &json!({ "rows": rows }));
            let (figures, told) = (api.good("GET", &model, &Value::Null), api.inspect(&model));
            [
                answer["scores"].clone(),
                answer["learned"].clone(),
                found["labels"].clone(),
                found["scores"].clone(),
                figures["classes"].clone(),
                figures["error"].clone(),
                figures["loss"].clone(),
                told["config"].clone(),
            ]
        };
        assert_eq!(with(true), with(false), "{name}");
    }
}

/// The same of a table, where one text makes text of all targets: numbers stay numbers, and two numbers stay two classes.
#[test]
fn text_of_weight_zero_leaves_numbers_numbers() {
    let api = Api::start("placeholder", &[]);
    for (name, [first, second]) in [("numbers", ["0.25", "1.5"]), ("classes", ["0", "1"])] {
        let learn = |placeholder: &str| {
            let model = format!("{name}-{placeholder}");
            api.good("PUT", &model, &json!({}));
            let table: String = (0..40).fold("a,w,y,z\n".into(), |table, i| match i % 5 {
                2 => table + &format!("{i},0,{placeholder},{placeholder}\n"),
                _ => table + &format!("{i},1,{},1\n", if i % 3 == 0 { first } else { second }),
            });
            let send = |targets: &str| {
                let path = format!("/v1/models/{model}/learn?weight=w&{targets}");
                let (status, answer) = call(&api.0.address, "POST", &path, "text/csv", table.as_bytes()).unwrap();
                assert_eq!(status, 200, "{}", String::from_utf8_lossy(&answer));
                serde_json::from_slice::<Value>(&answer).unwrap()["scores"].clone()
            };
            let scores = send("target=y&ignore=z");
            let model = format!("{model}-two");
            api.good("PUT", &model, &json!({ "task": "numbers" }));
            let path = format!("/v1/models/{model}/learn?weight=w&target=y,z");
            let two = call(&api.0.address, "POST", &path, "text/csv", table.as_bytes()).unwrap();
            [scores, serde_json::from_slice::<Value>(&two.1).unwrap()["scores"].clone()]
        };
        let expected = learn("7");
        assert_eq!(learn("unknown"), expected, "{name}");
        assert!(expected[1].is_array(), "{name}");
    }
}

#[test]
fn empty_cells_of_tables_lead_to_the_setting_that_fills_them() {
    let api = Api::start("empty", &[]);
    api.good("PUT", "m", &json!({}));
    let lines = "{\"a\":1,\"b\":2,\"y\":\"u\"}\n{\"a\":null,\"b\":2,\"y\":\"v\"}\n";
    for (kind, body) in [("text/csv", "a,b,y\n1,2,u\n,2,v\n"), ("application/x-ndjson", lines)] {
        let (status, answer) =
            call(&api.0.address, "POST", "/v1/models/m/learn?target=y", kind, body.as_bytes()).expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(status == 422 && said.contains("row 1, column 'a'") && said.contains("the setting \"missing\""), "{said}");
    }
}

/// The wrong one of several targets is named.
#[test]
fn a_word_among_several_targets_is_named() {
    let api = Api::start("several", &[]);
    for (table, row, column) in
        [("x,y,z\n1,2,3\n2,foo,3\n", 1, "y"), ("x,y,z\n1,2,3\n2,2,foo\n", 1, "z"), ("x,y,z\n1,2,foo\n2,2,3\n", 0, "z")]
    {
        api.send("PUT", "m", &json!({ "task": "numbers" }));
        let (status, answer) =
            call(&api.0.address, "POST", "/v1/models/m/learn?target=y,z", "text/csv", table.as_bytes()).expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let error = &answer["error"];
        assert_eq!((status, &error["row"], &error["column"]), (422, &json!(row), &json!(column)), "{error}");
        assert!(error["message"].as_str().unwrap().contains(&format!("row {row}, column '{column}': target 'foo'")), "{error}");
    }
}

/// A frozen model says after how many examples it was frozen, and the offset of `inspect` is that of predictions and explanations.
#[test]
fn inspect_says_what_predictions_use() {
    let api = Api::start("inspected", &[]);
    api.good("PUT", "m", &json!({ "task": "numbers" }));
    let mut random = Random(4);
    let rows: Vec<[f64; 2]> = (0..400).map(|_| [random.number(), random.number()]).collect();
    let targets: Vec<f64> = rows.iter().map(|[x, y]| 3.0 + x * y).collect();
    api.good("POST", "m/learn", &json!({ "rows": rows, "targets": targets }));
    api.good("POST", "m/predict?fresh=true", &json!({ "rows": [[0, 0]] }));
    let explained = api.good("POST", "m/explain", &json!({ "rows": [[0.5, 0.5]] }));
    assert_eq!(api.inspect("m")["offset"], explained["rows"][0]["offset"]);
    api.good("POST", "m/freeze?to=plain", &Value::Null);
    assert_eq!((&api.inspect("m")["frozen_after"], &api.inspect("plain")["frozen_after"]), (&Value::Null, &json!(400)));
}

/// A finding of `inspect` and a refusal have the same number for the same column.
#[test]
fn findings_count_columns_without_names_from_0() {
    let api = Api::start("counted", &[]);
    api.good("PUT", "m", &json!({ "config": { "loss": "squared", "scale": "standard" } }));
    let rows: Vec<[f64; 3]> = (0..1500).map(|i| [f64::from(i % 97) / 97.0, f64::from(i), f64::from(i % 89) / 89.0]).collect();
    let targets: Vec<f64> = rows.iter().map(|x| x[0] + x[1] / 300.0).collect();
    api.good("POST", "m/learn", &json!({ "rows": rows, "targets": targets }));
    let health = api.inspect("m")["health"].to_string();
    assert!(health.contains("column 1:") && !health.contains("column 2"), "{health}");
    let said = api.refused("POST", "m/predict", &json!({ "rows": [[0.5, null, 0.5]] }));
    assert!(said.contains("column 1"), "{said}");
}
