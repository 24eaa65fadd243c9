//! Exported files say which columns they were learned from.

use std::fs;

use okl::{Batch, Config, Learner};
use serde_json::{Value, json};

use crate::support::{Folder, fail, numbers, ring, succeed};

/// The fields of a protobuf message that have a length: their numbers and bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (tag, value) = (varint(&mut bytes), varint(&mut bytes));
        match tag & 7 {
            0 => {}
            2 => {
                let (field, rest) = bytes.split_at(value as usize);
                found.push((tag >> 3, field));
                bytes = rest;
            }
            other => panic!("wire type {other}"),
        }
    }
    found
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let (number, rest) = bytes.split_at(length);
    *bytes = rest;
    number.iter().rev().fold(0, |all, byte| all << 7 | u64::from(byte & 0x7f))
}

/// The first field with this number, as text.
fn text(message: &[u8], number: u64) -> Option<String> {
    let (_, bytes) = fields(message).into_iter().find(|(field, _)| *field == number)?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

/// The metadata of an ONNX file under a key, as JSON; null if it is absent.
fn metadata(model: &[u8], key: &str) -> Value {
    let entries = fields(model).into_iter().filter(|(field, _)| *field == 14).map(|(_, entry)| entry);
    let entry = entries.into_iter().find(|entry| text(entry, 1).as_deref() == Some(key));
    entry.map_or(Value::Null, |entry| serde_json::from_str(&text(entry, 2).unwrap()).unwrap())
}

/// The documentation of the input of an ONNX file.
fn documentation(model: &[u8]) -> String {
    let (_, graph) = fields(model).into_iter().find(|(field, _)| *field == 7).unwrap();
    let (_, input) = fields(graph).into_iter().find(|(field, _)| *field == 11).unwrap();
    assert_eq!(text(input, 1).as_deref(), Some("x"));
    text(input, 3).unwrap()
}

#[test]
fn features_and_targets_have_their_names() {
    let folder = Folder::new("exports-names");
    let (ring, numbers) = (folder.write("r.csv", ring(60)), folder.write("n.csv", numbers(60)));
    let svm = folder.write("s.svm", "1 1:2 3:1\n-1 2:1\n1 1:1\n-1 3:2\n");
    let words = "x,word,y\n1,red,0\n2,blue,1\n3,red,0\n4,blue,1\n";
    let words = folder.write("w.csv", words);
    let cases: [(&[&str], Value, Value); 5] = [
        (&[&ring, "--target", "where"], json!(["x", "y"]), json!("where")),
        (&[&numbers, "--target", "u,v"], json!(["a", "b", "c"]), json!(["u", "v"])),
        (&[&words, "--target", "y", "--one-hot"], json!(["x", "word=red", "word=blue"]), json!("y")),
        // LIBSVM text has no name for its labels; okl calls them so.
        (&[&svm], json!(["1", "2", "3"]), json!("label")),
        (&[&ring, "--ignore", "where", "--task", "novelty"], json!(["x", "y"]), Value::Null),
    ];
    let (model, file) = (folder.path("m.okl"), folder.path("m"));
    for (data, features, target) in cases {
        succeed(&[&["learn", "-o", &model, "--quiet"], data].concat());
        let read = |to: &str| {
            succeed(&["export", &model, "--to", to, "-o", &file]);
            fs::read(&file).unwrap()
        };
        let json: Value = serde_json::from_slice(&read("json")).unwrap();
        assert_eq!((&json["features"], &json["target"]), (&features, &target));
        let onnx = read("onnx");
        assert_eq!((metadata(&onnx, "okl.features"), metadata(&onnx, "okl.target")), (features.clone(), target));
        let names: Vec<&str> = features.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert!(documentation(&onnx).ends_with(&format!("in this order: {}", names.join(", "))), "{}", documentation(&onnx));
    }
}

/// A frozen model keeps the names of its columns.
#[test]
fn a_frozen_model_has_the_same_names() {
    let folder = Folder::new("exports-frozen");
    let (data, model, plain) = (folder.write("r.csv", ring(300)), folder.path("m.okl"), folder.path("p.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--quiet"]);
    succeed(&["freeze", &model, "-o", &plain]);
    let exported: Value = serde_json::from_str(&succeed(&["export", &plain, "--to", "json", "-o", "-"]).0).unwrap();
    assert_eq!((&exported["features"], &exported["target"]), (&json!(["x", "y"]), &json!("where")));
}

/// `okl inspect` names the target, too.
#[test]
fn the_description_of_a_model_names_its_targets() {
    let folder = Folder::new("exports-inspect");
    let (data, model) = (folder.write("n.csv", numbers(30)), folder.path("m.okl"));
    for (given, line, names) in
        [("u", "\n  target            u\n", json!(["u"])), ("u,v", "\n  targets           u, v\n", json!(["u", "v"]))]
    {
        succeed(&["learn", &data, "--target", given, "-o", &model, "--quiet"]);
        let words = succeed(&["inspect", &model]).0;
        assert!(words.contains(line), "{words}");
        let described: Value = serde_json::from_str(&succeed(&["inspect", &model, "--json"]).0).unwrap();
        assert_eq!(described["targets"], names);
    }
}

/// The terms and the columns of an explanation add up to the score, and so do those that are listed and the rest.
#[test]
fn explanations_of_terms_and_weight_vectors_add_up() {
    let config = Config::from_toml("loss = 'squared'\nkernel = 'auto'\noffset = true\nwarmup = 32\nbudget = 'merge:20'").unwrap();
    let mut learner = Learner::new(config).unwrap();
    let x: Vec<f64> = (0..600).map(|i| f64::from(i * i % 17) * if i % 2 == 0 { 1.0 } else { 100.0 }).collect();
    let y: Vec<f64> = x.chunks(2).map(|x| 2.0 * x[0] + (x[1] / 300.0).sin()).collect();
    learner.learn(&Batch::of_f64(&x, 2).numbers(&y)).unwrap();
    let row = [12.0, 90_000.0]; // far beyond the limit of the kernels
    let score = learner.predict(&Batch::of_f64(&row, 2)).unwrap().values[0];
    let sum = |list: &serde_json::Value| list.as_array().unwrap().iter().map(|one| one["adds"][0].as_f64().unwrap()).sum::<f64>();
    for top in [3, 1000] {
        let explained = okl_cli::explain::explain(&learner, &row, &["a".into(), "b".into()], top).unwrap().remove(0);
        let [offset, others] = ["offset", "others_add"].map(|key| explained[key][0].as_f64().unwrap());
        assert!(explained["columns"][0]["column"].is_string());
        assert!(sum(&explained["columns"]) != 0.0 && sum(&explained["terms"]) != 0.0);
        let all = offset + sum(&explained["terms"]) + sum(&explained["columns"]) + others;
        assert!((all - score).abs() < 1e-5 * score.abs().max(1.0), "{top}: {all}, {score}");
        assert_eq!(others == 0.0, top == 1000);
    }
}

/// LIBSVM has no form for weights of products, and no column explains them alone; tests/export.rs has the other formats.
#[test]
fn weights_of_products_are_neither_libsvm_text_nor_explained() {
    let folder = Folder::new("exports-products");
    let (data, model) = (folder.write("r.csv", ring(300)), folder.path("m.okl"));
    let learn =
        ["learn", &data, "--target", "where", "--kernel", "polynomial", "--degree", "2", "--form", "weights", "-o", &model];
    succeed(&learn);
    let inspected = succeed(&["inspect", &model]).0;
    assert!(inspected.contains("6 of 2 features"), "{inspected}");
    fail(&["export", &model, "--to", "libsvm", "-o", "-"], 1, &["product of two columns", "--to onnx", "--form terms"]);
    let exported: Value = serde_json::from_str(&succeed(&["export", &model, "--to", "json", "-o", "-"]).0).unwrap();
    assert_eq!(exported["polynomial"]["products"].as_array().map(Vec::len), Some(2), "{exported}");
    let learner = okl::Learner::from_bytes(&fs::read(&model).unwrap()).unwrap();
    let said = okl_cli::explain::explain(&learner, &[0.0, 0.0], &[], 3).unwrap_err().to_string();
    assert!(said.contains("products of columns") && said.contains("form = terms"), "{said}");
}
