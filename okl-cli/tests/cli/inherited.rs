//! What a model takes over from the data it has learned: columns of weights and ids, and the order of columns without names.

use std::fmt::Write;

use crate::support::{Folder, Random, fail, flat, json, succeed};

/// A table with weights and ids; every third row has the weight 0 and no use.
fn weighted(rows: usize, seed: u64, columns: &str) -> String {
    let mut random = Random(seed);
    let mut text = format!("{columns}\n");
    for i in 0..rows {
        let [a, b] = [(); 2].map(|()| random.next());
        let y = if a > b { "up" } else { "down" };
        for (at, name) in columns.split(',').enumerate() {
            let cell = match name {
                "a" => format!("{a:.4}"),
                "b" => format!("{b:.4}"),
                "w" => (if i % 3 == 0 { "0" } else { "1.5" }).into(),
                "id" => (i % 40).to_string(),
                _ => y.into(),
            };
            write!(text, "{}{cell}", if at > 0 { "," } else { "" }).unwrap();
        }
        text.push('\n');
    }
    text
}

/// `--resume` learns as if the columns had been named again, and says so.
#[test]
fn weights_and_ids_stay_in_use() {
    let folder = Folder::new("inherited");
    let columns = "a,b,w,id,y";
    let (first, more) = (folder.write("a.csv", weighted(120, 1, columns)), folder.write("b.csv", weighted(90, 2, columns)));
    let [model, said, named] = ["m.okl", "said.okl", "named.okl"].map(|name| folder.path(name));
    succeed(&["learn", &first, "--target", "y", "--weight", "w", "--id", "id", "--quiet", "-o", &model]);
    let (_, err) = succeed(&["learn", &more, "--resume", &model, "-o", &said]);
    let err = flat(&err);
    assert!(err.contains("weights are taken from the column 'w'") && err.contains("ids are taken from the column 'id'"), "{err}");
    succeed(&["learn", &more, "--resume", &model, "--weight", "w", "--id", "id", "--quiet", "-o", &named]);
    assert_eq!(std::fs::read(&said).unwrap(), std::fs::read(&named).unwrap());
    let counts = |more_flags: &[&str]| {
        let out = json(&[&["learn", &more, "--resume", &model], more_flags].concat());
        [&out["summary"]["examples"], &out["summary"]["not_learned"]["of_weight_zero"]].map(|count| count.as_u64().unwrap())
    };
    assert_eq!(counts(&[]), [60, 30]);
    // They can be left out.
    assert_eq!(counts(&["--ignore", "w"]), [90, 0]);
    // The order of the rows does not matter for what is said.
    let (_, err) = succeed(&["learn", &more, "--resume", &model, "--shuffle", "1"]);
    assert!(flat(&err).contains("weights are taken from the column 'w'"), "{err}");
}

/// A file without these columns is learned without them, which is said; the model remembers them.
#[test]
fn columns_that_are_not_there_are_named() {
    let folder = Folder::new("inherited-absent");
    let columns = "a,b,w,id,y";
    let (first, more) = (folder.write("a.csv", weighted(120, 1, columns)), folder.write("b.csv", weighted(90, 2, "a,b,y")));
    let [model, next] = ["m.okl", "next.okl"].map(|name| folder.path(name));
    succeed(&["learn", &first, "--target", "y", "--weight", "w", "--id", "id", "--quiet", "-o", &model]);
    let (_, err) = succeed(&["learn", &more, "--resume", &model, "--test", &more, "-o", &next]);
    let err = flat(&err);
    assert!(err.contains("there is no column 'w', from which the model took its weights: every row has the weight 1"), "{err}");
    assert!(err.contains("there is no column 'id', from which the model took its ids: rows have no ids"), "{err}");
    let jsonl: String = (0..50).map(|i| format!("{{\"a\":{},\"b\":0.5,\"y\":\"up\"}}\n", f64::from(i) / 50.0)).collect();
    let (_, err) = succeed(&["learn", &folder.write("c.jsonl", jsonl), "--resume", &model]);
    assert!(flat(&err).contains("none of the first 50 rows has the key 'w', from which the model took its weights"), "{err}");
    let again = json(&["learn", &first, "--resume", &next]);
    assert_eq!(again["summary"]["not_learned"]["of_weight_zero"], 40);
    // A later file is read as the first one.
    fail(&["learn", &first, &more, "--resume", &model, "--quiet"], 2, &["b.csv", "no column 'id'"]);
}

/// Columns without names are taken in their order by a model that has names. That is said by every command.
#[test]
fn columns_that_are_taken_by_position_are_named() {
    let folder = Folder::new("inherited-position");
    let (data, model) = (folder.write("a.csv", weighted(120, 1, "a,b,y")), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "y", "--quiet", "-o", &model]);
    let bare = folder.write("bare.csv", "0.5,0.1\n0.2,0.9\n0.4,0.6\n");
    let (_, err) = succeed(&["predict", &model, &bare]);
    assert!(
        flat(&err).contains("no header: its columns are taken by position, in the order of the model's features: a, b"),
        "{err}"
    );
    let svm = folder.write("a.svm", "up 1:0.5 2:0.1\ndown 1:0.2 2:0.9\n");
    for command in [&["predict", &model, &svm][..], &["evaluate", &model, &svm], &["learn", &svm, "--resume", &model]] {
        let (_, err) = succeed(command);
        assert!(flat(&err).contains("LIBSVM text has no names of columns: feature 1 is taken for 'a'"), "{command:?}: {err}");
    }
    let (_, err) = succeed(&["predict", &model, &data]);
    assert!(!err.contains("position") && !err.contains("no names"), "{err}");
    // A model without names takes columns in their order by design.
    let (plain, numbered) = (folder.path("n.okl"), folder.write("n.csv", "0.5,0.1,1\n0.2,0.9,0\n0.3,0.8,0\n"));
    succeed(&["learn", &numbered, "--target", "3", "--task", "classes", "--quiet", "-o", &plain]);
    let (_, err) = succeed(&["predict", &plain, &numbered]);
    assert!(err.is_empty(), "{err}");
}

/// A model that makes features from texts cannot take them from numbers.
#[test]
fn features_that_are_made_from_texts_are_not_taken_by_number() {
    let folder = Folder::new("inherited-made");
    let text: String = (0..60).map(|i| format!("{},{},{}\n", ["red", "blue", "green"][i % 3], i % 7, i % 3)).collect();
    let (data, model) = (folder.write("a.csv", format!("colour,n,y\n{text}")), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "y", "--task", "classes", "--one-hot", "--quiet", "-o", &model]);
    let svm = folder.write("a.svm", "1 1:1 2:3\n");
    fail(&["predict", &model, &svm], 2, &["a.svm", "'colour=red' from the column 'colour'", "colour, n"]);
}

/// A feature of the model cannot be a column of weights or ids; it used to stay a feature, and the flag did nothing.
#[test]
fn a_feature_gives_no_weights() {
    let folder = Folder::new("inherited-features");
    let (data, model) = (folder.write("a.csv", weighted(120, 1, "a,b,w,id,y")), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "y", "--quiet", "-o", &model]);
    fail(&["evaluate", &model, &data, "--weight", "w"], 2, &["--weight w: this column is a feature of the model"]);
    for flag in ["--weight", "--id"] {
        let words = format!("{flag} a: this column is a feature of the model; name another column");
        fail(&["learn", &data, "--resume", &model, flag, "a"], 2, &[&words]);
        let words = format!("{flag} and --features both name the column 'a'");
        fail(&["learn", &data, "--target", "y", flag, "a", "--features", "a,b"], 2, &[&words]);
    }
}

/// `okl evaluate` takes the weights of the rows from the column from which the model took them, unless the file has none, or it is left out.
#[test]
fn evaluate_takes_weights_over() {
    let folder = Folder::new("inherited-evaluate");
    let (data, model) = (folder.write("a.csv", weighted(120, 1, "a,b,w,y")), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "y", "--weight", "w", "--quiet", "-o", &model]);
    let (weighted_rows, bare) =
        (folder.write("b.csv", weighted(90, 2, "a,b,w,y")), folder.write("c.csv", weighted(90, 2, "a,b,y")));
    let evaluated = |args: &[&str]| {
        let out = json(&[&["evaluate", &model][..], args].concat());
        (out["summary"]["examples"].as_u64().unwrap(), out["warnings"].to_string())
    };
    let (examples, said) = evaluated(&[&weighted_rows]);
    assert!(examples == 60 && said.contains("weights are taken from the column 'w'"), "{examples} {said}");
    let (examples, said) = evaluated(&[&weighted_rows, "--ignore", "w"]);
    assert!(examples == 90 && !said.contains("weights"), "{examples} {said}");
    let (examples, said) = evaluated(&[&bare]);
    assert!(examples == 90 && said.contains("every row has the weight 1"), "{examples} {said}");
}
