//! Labels of other types than those of the model, weights of classes that do not occur, and targets that are much too large.

use okl::{Batch, Config, Label, Learner};

use crate::support::{Folder, Random, fail, json, ring, succeed};

/// Rows with the first column positive for the first label.
fn rows(count: usize) -> Vec<([f64; 2], bool)> {
    let mut random = Random(4);
    let row = |_| [(); 2].map(|()| 2.0 * random.next() - 1.0);
    (0..count).map(row).map(|x| (x, x[0] > 0.0)).collect()
}

fn table(rows: &[([f64; 2], bool)], names: [&str; 2]) -> String {
    let line = |(x, y): &([f64; 2], bool)| format!("{},{},{}\n", x[0], x[1], names[usize::from(*y)]);
    "a,b,y\n".to_owned() + &rows.iter().map(line).collect::<String>()
}

/// A Python model that has learned truth values has the classes 0 and 1, one that has learned text "0" and "1"; a table from pandas has False
/// and True.
#[test]
fn a_model_of_truth_values_is_used_with_words_and_numbers() {
    used_with_words_and_numbers([0.into(), 1.into()]);
    used_with_words_and_numbers(["0".into(), "1".into()]);
}

fn used_with_words_and_numbers(names: [Label; 2]) {
    let folder = Folder::new("truth-values");
    let rows = rows(300);
    let (x, y): (Vec<[f64; 2]>, Vec<Label>) = rows.iter().map(|(x, y)| (*x, names[usize::from(*y)].clone())).unzip();
    let mut learner = Learner::new(Config::from_toml("loss = 'hinge'\nkernel = 'gaussian:1'").unwrap()).unwrap();
    learner.learn(&Batch::of_f64(x.as_flattened(), 2).labels(&y)).unwrap();
    let (model, words) = (folder.path("m.okl"), folder.write("words.csv", table(&rows, ["False", "True"])));
    learner.save(std::path::Path::new(&model)).unwrap();
    let numbers = folder.write("numbers.csv", table(&rows, ["0", "1"]));
    let error = |data: &str| json(&["evaluate", &model, data, "--target", "y"])["summary"]["error"].as_f64().unwrap();
    assert!(error(&words) < 0.1 && error(&words) == error(&numbers), "{} {}", error(&words), error(&numbers));
    let (more, same) = (folder.path("more.okl"), folder.path("same.okl"));
    succeed(&["learn", &words, "--target", "y", "--resume", &model, "-o", &more, "--quiet"]);
    succeed(&["learn", &numbers, "--target", "y", "--resume", &model, "-o", &same, "--quiet"]);
    let classes = |file: &str| Learner::load(std::path::Path::new(file)).unwrap().classes().to_vec();
    assert_eq!(classes(&more), learner.classes());
    assert_eq!(succeed(&["predict", &more, &words]).0, succeed(&["predict", &same, &words]).0);
}

#[test]
fn a_weight_of_a_class_that_does_not_occur_is_said() {
    let folder = Folder::new("absent-class");
    let data = folder.write("ring.csv", ring(60));
    let warned = |weights: &str| {
        let all = json(&["learn", &data, "--target", "where", "--class-weight", weights]);
        all["warnings"].as_array().unwrap().iter().any(|text| text.as_str().unwrap().contains("yes: no row had this class"))
    };
    assert!(warned("yes=10") && warned("yes=10,inside=2") && !warned("inside=10"));
}

/// The errors after a target of 1e9 under the squared loss.
#[test]
fn one_target_that_is_much_too_large_is_said() {
    let folder = Folder::new("large-target");
    let learned = |at: Option<usize>| {
        let target = |i: usize, x: &[f64; 2]| if at == Some(i) { 1e9 } else { x[0] + x[1] };
        let line = |(i, (x, _)): (usize, &([f64; 2], bool))| format!("{},{},{}\n", x[0], x[1], target(i, x));
        let text: String = rows(600).iter().enumerate().map(line).collect();
        let data = folder.write("t.csv", "a,b,t\n".to_owned() + &text);
        let all = json(&["learn", &data, "--target", "t", "--loss", "squared", "--task", "numbers"]);
        let warnings = all["warnings"].as_array().unwrap().clone();
        warnings.into_iter().map(|text| text.as_str().unwrap().to_owned()).find(|text| text.contains("set loss to huber"))
    };
    // Row 300 of the rows is line 302 of the file.
    let said = learned(Some(300)).unwrap_or_default();
    assert!(
        said.starts_with("the target of line 302 is 1e9,") && said.contains("the mean error of the 299 rows afterwards is"),
        "{said}"
    );
    assert_eq!(learned(None), None);
}

/// A run that finds no rows says of the model what `okl inspect` says.
#[test]
fn a_run_without_rows_says_what_inspect_says() {
    let folder = Folder::new("no-rows");
    let (data, model, next) = (folder.write("ring.csv", ring(400)), folder.path("m.okl"), folder.path("n.okl"));
    let settings = ["--loss", "hinge", "--gamma", "1", "--step", "constant:0.1", "--lambda", "0.01", "--scale", "none"];
    succeed(&[&["learn", &data, "--target", "where", "--budget", "window:126", "--quiet", "-o", &model], &settings[..]].concat());
    let run = json(&["learn", &data, "--resume", &model, "--continue", "-o", &next]);
    assert_eq!(run["certificates"], json(&["inspect", &model])["certificates"]);
}

/// The columns of a file without a header have numbers for names.
#[test]
fn a_target_of_a_file_without_a_header_is_explained() {
    let folder = Folder::new("no-header");
    let text = table(&rows(40), ["0", "1"]);
    let (with, without) = (folder.write("with.csv", &text), folder.write("without.csv", text.split_once('\n').unwrap().1));
    let model = folder.path("m.okl");
    succeed(&["learn", &without, "--target", "3", "--quiet", "-o", &model]);
    fail(&["evaluate", &model, &with, "--target", "y"], 2, &["not what the model learned: 3", "remove the header line"]);
}

/// --classes and --class-weight are about classes, so whole numbers are classes then; values may begin with a minus sign.
#[test]
fn flags_about_classes_make_whole_numbers_classes() {
    let folder = Folder::new("flags-of-classes");
    let rows = |values: &[i32]| (0..60).map(|i| format!("{},{}\n", (i * 37) % 11, values[i % values.len()])).collect::<String>();
    let three = folder.write("three.csv", format!("x,y\n{}", rows(&[0, 1, 2])));
    let signs = folder.write("signs.csv", format!("x,y\n{}", rows(&[-1, 1])));
    for (data, flags) in [
        (&three, &["--classes", "0,1,2"][..]),
        (&three, &["--class-weight", "balanced"]),
        (&three, &["--class-weight", "0=2,1=1,2=1"]),
        (&signs, &["--classes", "-1,1"]),
        (&signs, &["--classes=-1,1"]),
        (&signs, &["--class-weight", "-1=2,1=1"]),
    ] {
        let out = json(&[&["learn", data, "--target", "y"], flags].concat());
        assert_eq!(out["summary"]["task"], "classes", "{flags:?}: {}", out["summary"]);
    }
    let out = json(&["learn", &three, "--target", "y", "--class-weight", "none"]);
    assert_eq!(out["summary"]["task"], "numbers");
}
