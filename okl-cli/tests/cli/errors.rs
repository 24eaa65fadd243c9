//! What is refused: one or two lines that name file, row, column, what was found and what to do; and no panic on any input.

use crate::support::{Folder, fail, json, ring, succeed};

#[test]
fn settings_and_names() {
    let folder = Folder::new("errors");
    let good = folder.write("good.csv", ring(20));
    let bad = folder.write("bad.csv", "x,y,where\n1,2,a\n1,oops,b\n");
    fail(&["learn", &folder.path("none.csv"), "--target", "y"], 1, &["none.csv", "no such file"]);
    fail(&["learn", &good], 2, &["--target"]);
    fail(&["learn", &good, "--target", "nowhere"], 2, &["nowhere", "x, y, where"]);
    fail(&["learn", &bad, "--target", "where"], 1, &["bad.csv, row 3, column 'y'", "'oops'", "--one-hot"]);
    fail(&["learn", &good, "--target", "where", "--loss", "nu_novelty", "--offset"], 2, &["offset"]);
    fail(&["learn", &good, "--target", "where", "--step", "constantt:1"], 2, &["constantt", "constant"]);
    let names: Vec<String> = (0..50).map(|i| format!("p{i}")).collect();
    let many = folder.write("many.csv", format!("{},digit\n{}7\n", names.join(","), "0,".repeat(50)));
    fail(&["learn", &many, "--target", "label"], 2, &["no column 'label'", "p0, p1, ", ", digit (51 in all)"]);
    let wide = folder.write("wide.csv", "a,b,c\n1,2,3\n");
    fail(&["learn", &wide, "--target", "a,b", "--task", "classes"], 2, &["--target a,b", "one target"]);
    fail(&["learn", &good, "--target", "where", "--config", &folder.path("no.toml")], 1, &["no.toml", "cannot be read"]);
    fail(&["inspect", &good], 1, &["not a model"]);
    let model = folder.path("m.okl");
    succeed(&["learn", &good, "--target", "where", "--quiet", "-o", &model]);
    fail(&["export", &model, "--to", "libsvm", "-o", &folder.path("m.txt")], 1, &["onnx"]);
    fail(&["predict", &model, &folder.write("other.csv", "x,z\n1,2\n")], 2, &["column 'y' is missing", "x, z"]);
}

#[test]
fn files_that_are_no_tables() {
    let folder = Folder::new("tables");
    let args = |path: &str| vec!["learn".to_owned(), path.to_owned(), "--target".into(), "y".into()];
    let refuse = |name: &str, bytes: &[u8], words: &[&str]| {
        let args = args(&folder.write(name, bytes));
        fail(&args.iter().map(String::as_str).collect::<Vec<_>>(), 1, &[&[name][..], words].concat());
    };
    let garbage: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for name in ["g.csv", "g.svm", "g.jsonl", "g.vw", "g", "g.parquet", "g.csv.gz"] {
        refuse(name, &garbage, &[]);
        refuse(name, b"", &[]);
    }
    refuse("b.csv", &garbage, &["binary data"]);
    refuse("e.csv", b"", &["empty"]);
    refuse("h.csv", b"a,y\n", &["a header and no rows"]);
    refuse("r.csv", b"a,b,y\n1,2,3\n1,2\n", &["row 3", "found 2 columns, expected 3", "--on-bad-row skip"]);
    refuse("i.csv", b"a,y\n1,2\ninf,3\n", &["row 3, column 'a'", "inf", "a finite number", "--on-bad-row skip"]);
    refuse("n.csv", b"a,y\n1,2\nNaN,3\n", &["row 3, column 'a'", "missing", "--on-bad-row skip"]);
    refuse("l.csv", b"a,y\n1,2\n1e300,3\n", &["row 3, column 'a'", "1e300", "1e15", "rescale"]);
    let twice = folder.write("d.csv", "a,a,y\n1,2,3\n");
    fail(&["learn", &twice, "--target", "y"], 2, &["columns 1 and 2 are both named 'a'", "rename"]);
}

#[test]
fn labels_that_appear_late() {
    let folder = Folder::new("late");
    let rows: String =
        (0..2000).map(|i| format!("{},{}\n", i % 10, if i == 1900 { "third" } else { ["a", "b"][i % 2] })).collect();
    let data = folder.write("late.csv", format!("x,y\n{rows}"));
    fail(&["learn", &data, "--target", "y", "--quiet"], 1, &["late.csv, row 1902, column 'y': found third", "max_margin"]);
    let out = json(&["learn", &data, "--target", "y", "--loss", "max_margin"]);
    assert_eq!(out["summary"]["classes"]["known"], 3);
    fail(
        &["learn", &data, "--target", "y", "--quiet", "--loss", "max_margin", "--classes", "a,b"],
        1,
        &["row 1902", "third", "a, b"],
    );
}

#[test]
fn a_target_that_is_constant() {
    let folder = Folder::new("constant");
    for (name, value) in [("text.csv", "same"), ("number.csv", "2.5")] {
        let data = folder.write(name, format!("x,y\n{}", (0..50).map(|i| format!("{i},{value}\n")).collect::<String>()));
        assert_eq!(json(&["learn", &data, "--target", "y"])["summary"]["examples"], 50);
        let (_, err) = succeed(&["learn", &data, "--target", "y"]);
        assert!(err.contains("the target has only one value"), "{err}");
    }
    let data = folder.path("number.csv");
    assert!(json(&["learn", &data, "--target", "y", "--task", "numbers"])["summary"]["outputs"][0]["r2"].is_null());
}

#[test]
fn targets_that_do_not_fit_the_loss() {
    let folder = Folder::new("fit");
    let data = folder.write("t.csv", "x,y\n1,2\n2,two\n");
    fail(
        &["learn", &data, "--target", "y", "--loss", "squared", "--quiet"],
        1,
        &["t.csv, row 3, column 'y': found 'two'", "a number"],
    );
    let ids = folder.write("ids.csv", "x,y,id\n1,2,7\n2,3,7\n");
    fail(
        &["learn", &ids, "--target", "y", "--task", "numbers", "--id", "id", "--quiet"],
        1,
        &["ids.csv, row 3: id 7", "another row"],
    );
}

#[test]
fn rows_without_a_target_are_only_predicted() {
    let folder = Folder::new("predict-only");
    let data = folder.write("t.csv", "x,y\n1,1\n2,\n3,3\n4,?\n");
    let out = json(&["learn", &data, "--target", "y", "--task", "numbers"]);
    assert_eq!((&out["summary"]["rows"], &out["summary"]["examples"]), (&4.into(), &2.into()));
}
