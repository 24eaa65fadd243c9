//! Sparse rows of many columns: what is said of their memory, limits and exports.

use std::fmt::Write;

use crate::support::{Folder, Random, fail, flat, json, succeed};

/// Short texts of 400 words, of two kinds.
fn texts(rows: usize) -> String {
    let mut random = Random(4);
    let mut text = String::from("name,y\n");
    for _ in 0..rows {
        let kind = usize::from(random.next() < 0.5);
        let mut word = || 150 * kind + (250.0 * random.next()) as usize;
        writeln!(text, "w{} w{} w{},{}", word(), word(), word(), ["plant", "animal"][kind]).unwrap();
    }
    text
}

/// The number before a word.
fn number_before(text: &str, word: &str) -> f64 {
    let at = text.find(word).unwrap_or_else(|| panic!("{word:?} is missing from {text}"));
    text[..at].split_whitespace().next_back().unwrap().replace(',', "").parse().unwrap()
}

const BITS: [&str; 4] = ["--text", "name", "--hash-bits", "18"];

/// The memory that is announced is that of sparse rows, and a limit holds as many terms as fit.
#[test]
fn the_announced_memory_is_that_of_sparse_rows() {
    let folder = Folder::new("sparse-memory");
    let (data, model) = (folder.write("t.csv", texts(1500)), folder.path("m.okl"));
    let learn = [&["learn", &data, "--target", "y", "-o", &model][..], &BITS].concat();
    let (_, err) = succeed(&[&learn[..], &["--budget", "merge:terms=500", "--memory", "1MB"]].concat());
    let said = flat(&err);
    let (terms, stated) = (number_before(&said, " terms, about"), number_before(&said, " kB of memory for rows with 3 values"));
    assert!(terms > 400.0 && (900.0..=1000.0).contains(&stated), "{terms} terms of {stated} kB: {said}");
    let held = json(&["inspect", &model])["bytes"].as_f64().unwrap();
    assert!(held <= 1e6, "{held}");
    // What every column takes is said, used or not.
    assert!(said.contains("14.7 MB for the units of 262,144 columns, used or not"), "{said}");
    let (out, _) = succeed(&["inspect", &model]);
    assert!(flat(&out).contains("units of 262,144 columns, used or not: 14.7 MB"), "{out}");
    let file = std::fs::metadata(&model).unwrap().len() as f64;
    assert!((0.75..1.0).contains(&(file / 14.7e6)), "the file has {file} bytes");
}

/// The advice of a limit that is too small works.
#[test]
fn the_advised_memory_is_enough() {
    let folder = Folder::new("sparse-advice");
    let data = folder.write("t.csv", texts(300));
    let learn = |memory: &str| [&["learn", &data, "--target", "y", "--memory", memory][..], &BITS].concat().join(" ");
    let small = learn("500B");
    let small: Vec<&str> = small.split(' ').collect();
    fail(&small, 2, &["500 bytes hold 0 terms", "--memory 1MB"]);
    succeed(&learn("1MB").split(' ').collect::<Vec<_>>());
}

/// More columns than a frame can have are refused as such, with the number of bits that works.
#[test]
fn too_many_columns_are_refused_as_such() {
    let folder = Folder::new("sparse-bits");
    let data = folder.write("t.csv", texts(50));
    for more in [&[][..], &["--kernel", "linear"]] {
        let learn = [&["learn", &data, "--target", "y", "--text", "name", "--hash-bits", "28"][..], more].concat();
        let output = crate::support::okl(&learn).output().unwrap();
        let err = flat(&String::from_utf8(output.stderr).unwrap());
        assert!(!output.status.success() && !err.contains("orthogonal"), "{err}");
        assert!(err.contains("rows of 268435456 columns") && err.contains("--hash-bits 24"), "{err}");
    }
}

/// JSON has the values of a sparse term that are not 0, and computes the scores; formats that write all columns refuse in words.
#[test]
fn json_writes_sparse_terms_sparsely() {
    let folder = Folder::new("sparse-json");
    let (data, model, scores) = (folder.write("t.csv", texts(400)), folder.path("m.okl"), folder.path("p.csv"));
    let set =
        ["--kernel", "gaussian:0.5", "--loss", "hinge", "--step", "constant:0.3", "--lambda", "0.001", "--scale", "standard"];
    let learn = ["learn", &data, "--target", "y", "--text", "name", "--hash-bits", "22", "--quiet", "-o", &model];
    succeed(&[&learn[..], &set].concat());
    let path = folder.path("m.json");
    succeed(&["export", &model, "--to", "json", "-o", &path]);
    let text = folder.read("m.json");
    assert!(text.len() < 2_000_000, "{} bytes", text.len());
    let exported: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&exported["version"], &exported["features"]), (&7.into(), &(1 << 22).into()));
    succeed(&["predict", &model, &data, "-o", &scores]);
    let column = |row: &str| row.split(',').nth(2).unwrap().parse::<f64>().unwrap();
    assert!(folder.read("p.csv").starts_with("line,class,score"));
    let given: Vec<f64> = folder.read("p.csv").lines().skip(1).map(column).collect();
    for (row, score) in texts(400).lines().skip(1).zip(given).take(40) {
        let expected = score_of(&exported, row.split_once(',').unwrap().0);
        assert!((expected - score).abs() < 1e-4 * score.abs().max(1.0), "{row}: {expected}, {score}");
    }
    fail(&["export", &model, "--to", "onnx", "-o", &folder.path("m.onnx")], 1, &["4194304 columns", "GB", "--to json"]);
}

/// The score of a text by the exported numbers: a Gaussian kernel over hashed words.
fn score_of(model: &serde_json::Value, text: &str) -> f64 {
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let list = |value: &serde_json::Value| value.as_array().unwrap().iter().map(number).collect::<Vec<f64>>();
    let sparse = |value: &serde_json::Value| -> std::collections::BTreeMap<u64, f64> {
        list(&value["columns"]).iter().map(|column| *column as u64).zip(list(&value["values"])).collect()
    };
    let factors = sparse(&model["frame"]["factor"]);
    let (others, limit) = (number(&model["frame"]["factor"]["others"]), number(&model["frame"]["limit"]));
    let mut u = std::collections::BTreeMap::<u64, f64>::new();
    for word in text.split(' ') {
        *u.entry(u64::from(okl_cli::input::hash_feature(b"name", word.as_bytes(), 22))).or_default() += 1.0;
    }
    u.iter_mut().for_each(|(column, value)| *value = (*value * factors.get(column).unwrap_or(&others)).clamp(-limit, limit));
    let gamma = number(&model["parts"][0]["kernel"]["gaussian"]["gamma"]);
    let terms = model["centres"].as_array().unwrap().iter().zip(model["coefficients"][0].as_array().unwrap());
    let sum: f64 = terms
        .map(|(centre, a)| {
            let c = sparse(centre);
            let columns: std::collections::BTreeSet<u64> = c.keys().chain(u.keys()).copied().collect();
            let of = |row: &std::collections::BTreeMap<u64, f64>, column| row.get(column).copied().unwrap_or(0.0);
            let d2: f64 = columns.iter().map(|column| (of(&c, column) - of(&u, column)).powi(2)).sum();
            number(&a[0]) * (-gamma * d2).exp()
        })
        .sum();
    sum + number(&model["offset"][0])
}
