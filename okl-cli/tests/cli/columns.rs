//! Times, texts, categories and hashed names, from the file to the model and back.

use std::fmt::Write;
use std::fs;

use serde_json::json;

use crate::support::{Folder, Random, fail, flat, json, succeed};

/// Reviews with a time and a country: the target depends on a word and on the hour.
fn reviews(rows: usize) -> String {
    let mut random = Random(17);
    let words = ["good", "bad", "Film", "plot", "cast", "slow", "music"];
    (0..rows).fold(String::from("when,comment,country,stars,label\n"), |mut text, i| {
        let picked: Vec<&str> = (0..5).map(|_| words[(random.next() * 7.0) as usize]).collect();
        let label = if picked.contains(&"good") { "up" } else { "down" };
        let (day, hour, country) = (1 + i % 28, i % 24, ["DE", "FR", "IT"][i % 3]);
        writeln!(
            text,
            "2024-05-{day:02}T{hour:02}:30:00,\"{}, {}\",{country},{:.2},{label}",
            picked[0],
            picked[1..].join(" "),
            random.next()
        )
        .unwrap();
        text
    })
}

#[test]
fn a_table_with_times_texts_and_categories_is_learned_as_it_is() {
    let folder = Folder::new("reviews");
    let text = reviews(300);
    let whole = folder.write("whole.csv", &text);
    let half = folder.write("half.csv", text.lines().take(151).map(|line| format!("{line}\n")).collect::<String>());
    let [a, b, c] = ["a.okl", "b.okl", "c.okl"].map(|name| folder.path(name));
    let columns = ["--target", "label", "--time", "when", "--text", "comment", "--one-hot", "country", "--quiet", "-o"];
    succeed(&[&["learn", &whole], &columns[..], &[&a]].concat());
    let found = json(&["inspect", &a])["feature_names"].clone();
    for name in ["when elapsed days", "when weekday cos", "comment: good", "comment: film", "country=FR", "stars"] {
        assert!(found.as_array().unwrap().contains(&json!(name)), "{name}: {found}");
    }
    // An interruption changes no bit, and what was learned is about the words.
    succeed(&[&["learn", &half], &columns[..], &[&b]].concat());
    succeed(&["learn", &whole, "--resume", &b, "--continue", "--quiet", "-o", &c]);
    assert!(fs::read(&a).unwrap() == fs::read(&c).unwrap(), "the same model");
    let error = json(&["evaluate", &a, &whole, "--by", "country"])["summary"]["error"].as_f64().unwrap();
    assert!(error < 0.25, "{error}");
    // A word that the model has not seen is said; a time that is none is refused with its place.
    let new = folder.write("new.csv", "when,comment,country,stars\n2024-06-01,what a plot,ES,0.5\n");
    let (_, said) = succeed(&["predict", &a, &new]);
    assert!(said.contains("column 'comment': 1 row has a value that the model has not seen (what, a)"), "{said}");
    assert!(said.contains("column 'country': 1 row has a value that the model has not seen (ES)"), "{said}");
    let wrong = folder.write("wrong.csv", "when,comment,country,stars\nyesterday,plot,DE,0.5\n");
    fail(&["predict", &a, &wrong], 1, &["line 2, column 'when'", "'yesterday'", "2024-01-31T08:15:00Z"]);
    let lacking = folder.write("lacking.csv", "when,country,stars\n2024-06-01,DE,0.5\n");
    fail(&["predict", &a, &lacking], 2, &["column 'comment' is missing"]);
    let resumed = ["learn", &whole, "--resume", &a, "--time", "stars", "-o", &a];
    let before = fs::read(&a).unwrap();
    fail(&resumed, 2, &["--time: the model was trained with other columns"]);
    assert_eq!(fs::read(&a).unwrap(), before, "nothing is changed");
}

#[test]
fn settings_of_a_file_name_the_same_columns() {
    let folder = Folder::new("parts-config");
    let data = folder.write("s.csv", reviews(80));
    let [a, b] = ["a.okl", "b.okl"].map(|name| folder.path(name));
    let toml = "target = \"label\"\ntime = \"when\"\ntext = [\"comment\"]\nngrams = 2\none_hot = \"country\"\n";
    let table = folder.write("okl.toml", toml);
    succeed(&["learn", &data, "--config", &table, "--quiet", "-o", &a]);
    let flags = ["--target", "label", "--time", "when", "--text", "comment", "--ngrams", "2", "--one-hot", "country"];
    succeed(&[&["learn", &data], &flags[..], &["--quiet", "-o", &b]].concat());
    assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap(), "flags and keys are the same settings");
    fail(&["learn", &data, "--config", &folder.write("w.toml", "hash_bits = 40\n")], 2, &["hash_bits", "1 to 28"]);
}

#[test]
fn thousands_of_categories() {
    let folder = Folder::new("categories");
    let text = (0..3000).fold(String::from("user,y\n"), |text, i| text + &format!("u{},{}\n", i % 2000, i % 2));
    let (data, model) = (folder.write("s.csv", text), folder.path("m.okl"));
    let learn =
        ["learn", &data, "--target", "y", "--one-hot", "user", "--kernel", "linear", "--loss", "hinge", "--step", "constant:0.5"];
    succeed(&[&learn[..], &["--lambda", "0", "--quiet", "-o", &model]].concat());
    let found = json(&["inspect", &model]);
    assert_eq!((found["features"].as_u64(), found["feature_names"][1999].as_str()), (Some(2000), Some("user=u1999")));
    // Each user has one class, and has been seen.
    assert_eq!(json(&["evaluate", &model, &data])["summary"]["error"], 0.0);
}

/// VW text of words; those of one half belong to one class.
fn vw(rows: usize) -> String {
    let mut random = Random(4);
    (0..rows).fold(String::new(), |mut text, i| {
        let class = if random.next() < 0.5 { 1 } else { -1 };
        let word = |random: &mut Random| (random.next() * 200.0) as i32 * class;
        let [a, b, c] = [word(&mut random), word(&mut random), word(&mut random)];
        writeln!(text, "{class} 'row{i}|t w{a} w{b}:2 |u w{c}").unwrap();
        text
    })
}

#[test]
fn hashed_names_learn_like_named_ones() {
    let folder = Folder::new("hashed");
    let text = vw(500);
    let whole = folder.write("whole.vw", &text);
    let half = folder.write("half.vw", text.lines().take(250).map(|line| format!("{line}\n")).collect::<String>());
    let [a, b, c, named] = ["a.okl", "b.okl", "c.okl", "named.okl"].map(|name| folder.path(name));
    let setting = [
        "--kernel",
        "linear",
        "--loss",
        "hinge",
        "--step",
        "constant:0.3",
        "--lambda",
        "0",
        "--task",
        "classes",
        "--scale",
        "none",
        "-o",
    ];
    let with = ["--hash-bits", "18"];
    let all = json(&[&["learn", &whole], &with[..], &setting[..], &[&a]].concat());
    let plain = json(&[&["learn", &whole], &setting[..], &[&named]].concat());
    let used = &all["hashing"];
    assert!(used["words"].as_str().unwrap().contains("of 2^18 hashed columns are in use"), "{used}");
    let [mistakes, of_named] = [&all, &plain].map(|run| run["summary"]["error"].as_f64().unwrap());
    assert_eq!(mistakes, of_named, "without collisions the scores are the same");
    assert_eq!(used["columns_used"].as_u64(), plain_features(&named), "there is no collision here");
    assert_eq!(json(&["inspect", &a])["hash_bits"], 18);
    assert!(succeed(&["inspect", &a]).0.contains("hashed to 2^18 columns"), "and inspect says so");
    succeed(&[&["learn", &half, "--quiet"], &with[..], &setting[..], &[&b]].concat());
    succeed(&["learn", &whole, "--resume", &b, "--continue", "--quiet", "-o", &c]);
    assert!(fs::read(&a).unwrap() == fs::read(&c).unwrap(), "an interruption changes no bit");
    let (scores, _) = succeed(&["predict", &a, &whole, "--keep", "tag"]);
    assert!(scores.lines().nth(1).unwrap().starts_with("1,row0,"), "{scores}");
    // Another number of bits is another model.
    let before = fs::read(&a).unwrap();
    let more = |flags: &[&str]| {
        [&["learn", &whole, "--resume", &a, "-o", &a], flags].concat().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let refused = more(&["--hash-bits", "10"]);
    fail(&refused.iter().map(String::as_str).collect::<Vec<_>>(), 2, &["--hash-bits 10", "with --hash-bits 18"]);
    fail(&["learn", &whole, "--resume", &named, "--hash-bits", "18", "-o", &a], 2, &["trained without --hash-bits"]);
    fail(&["predict", &a, &folder.write("s.svm", "1 1:1\n")], 2, &["--hash-bits 18", "LIBSVM"]);
    assert_eq!(fs::read(&a).unwrap(), before, "nothing is changed");
}

fn plain_features(model: &str) -> Option<u64> {
    json(&["inspect", model])["features"].as_u64()
}

/// Tables of pandas have 0, 1, 2, ... above columns without names.
#[test]
fn a_first_line_that_counts_the_columns_is_said_to_be_the_header() {
    let folder = Folder::new("counted");
    let mut random = Random(4);
    let row = |random: &mut Random| {
        let [a, b, c] = [(); 3].map(|()| random.next() + 0.25);
        format!("{a:.4},{b:.4},{c:.4},{:.4}\n", a + b * c)
    };
    let rows = (0..60).map(|_| row(&mut random)).collect::<String>();
    let counted = folder.write("counted.csv", format!("0,1,2,3\n{rows}"));
    let bare = folder.write("bare.csv", &rows);
    let model = folder.path("m.okl");
    let (_, said) = succeed(&["learn", &counted, "--target", "3", "-o", &model]);
    let words = |said: &str| flat(said);
    assert!(words(&said).contains("line 1 (0, 1, 2, 3) was taken for the header"), "{said}");
    let (scores, said) = succeed(&["predict", &model, &counted]);
    assert!(words(&said).contains("was taken for the header"), "{said}");
    assert_eq!(scores.lines().count(), 61);
    // A model of a table without a header has no names, and takes the same columns in order.
    succeed(&["learn", &bare, "--target", "4", "--quiet", "-o", &model]);
    let values = |data: &str| {
        let scores = succeed(&["predict", &model, data]).0;
        scores.lines().skip(1).map(|line| line.split_once(',').unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(values(&counted), values(&bare));
    // Where all is whole numbers, the line is a row, which is said, too.
    let whole = folder.write("whole.csv", "0,1,2\n3,4,5\n6,7,9\n");
    let (_, said) = succeed(&["learn", &whole, "--target", "3", "--task", "numbers"]);
    assert!(words(&said).contains("line 1 (0, 1, 2) was taken for a row"), "{said}");
}
