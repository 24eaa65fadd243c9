//! A header of numbers, as of years.

use std::fmt::Write as _;

use super::support::{Folder, Random, fail, flat, json, succeed};

/// Rows with a number per year, which follows from those before, below a header of years. `text`: with a first column of text.
fn years(rows: usize, text: bool) -> String {
    let mut random = Random(21);
    let mut table = format!("{}1960,1961,1962,1963,1964\n", if text { "grp," } else { "" });
    for row in 0..rows {
        let [a, b, c] = [(); 3].map(|()| 2.0 + 5.0 * random.next());
        let group = if text { format!("g{},", row % 3) } else { String::new() };
        writeln!(table, "{group}{a:.3},{b:.3},{c:.3},{:.3},{:.3}", a + 0.1 * b, 0.5 * (a + c)).unwrap();
    }
    table
}

fn examples(args: &[&str]) -> u64 {
    json(args)["summary"]["examples"].as_u64().unwrap()
}

#[test]
fn a_year_that_is_named_makes_line_1_a_header() {
    let folder = Folder::new("years");
    let (bare, grouped) = (folder.write("bare.csv", years(80, false)), folder.write("grouped.csv", years(80, true)));
    let model = folder.path("m.okl");
    assert_eq!(examples(&["learn", &bare, "--target", "1964", "-o", &model, "--save-model", "recent"]), 80);
    assert_eq!(json(&["inspect", &model])["feature_names"], serde_json::json!(["1960", "1961", "1962", "1963"]));
    // The commands that use the model agree with it.
    assert_eq!(succeed(&["predict", &model, &bare]).0.lines().count(), 81);
    assert_eq!(examples(&["evaluate", &model, &bare]), 80);
    assert_eq!(examples(&["learn", &bare, &bare, "--target", "1964"]), 160);
    assert_eq!(examples(&["learn", &bare, "--resume", &model]), 80);
    // A file without the header: a row that has one of these numbers is no header.
    let (_, rows) = years(80, false).split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let rows = rows.lines().map(|row| row.rsplit_once(',').unwrap().0.to_owned() + "\n").collect::<String>();
    let few = folder.write("few.csv", format!("1960,1.5,2,3\n{rows}"));
    assert_eq!(succeed(&["predict", &model, &few]).0.lines().count(), 82);
    for flags in [&["--ignore", "1960"][..], &["--features", "1961,1962"], &["--weight", "1960"], &["--log", "1961"]] {
        let learn = [&["learn", &bare, "--target", "1964"][..], flags].concat();
        assert_eq!(examples(&learn), 80, "{flags:?}");
    }
    assert_eq!(examples(&["learn", &bare, "--ignore", "1960", "--task", "novelty"]), 80);
    assert_eq!(examples(&["learn", &grouped, "--target", "1964", "--one-hot"]), 80);
}

/// A number from 1 to the number of columns is the number of a column, also if it is a cell of line 1. --header decides.
#[test]
fn a_number_names_a_column_unless_the_flag_says_otherwise() {
    let folder = Folder::new("header-flag");
    let rows = years(40, false).lines().skip(1).map(|row| row.to_owned() + "\n").collect::<String>();
    let (small, model) = (folder.write("small.csv", format!("5,4,3,2,1\n{rows}")), folder.path("m.okl"));
    assert_eq!(examples(&["learn", &small, "--target", "5", "-o", &model]), 41);
    assert_eq!(succeed(&["predict", &model, &small]).0.lines().count(), 42);
    assert_eq!(examples(&["learn", &small, "--target", "5", "--header", "yes", "-o", &model]), 40);
    // Here 5 is the name of the first column. The model says how its files are read.
    assert_eq!(json(&["inspect", &model])["feature_names"], serde_json::json!(["4", "3", "2", "1"]));
    assert_eq!(succeed(&["predict", &model, &small]).0.lines().count(), 41);
    assert_eq!(examples(&["evaluate", &model, &small]), 40);
    assert_eq!(examples(&["learn", &small, "--resume", &model]), 40);
    let config = folder.write("c.toml", "target = 5\nheader = true");
    assert_eq!(examples(&["learn", &small, "--config", &config]), 40);
    let config = folder.write("c.toml", "target = 5\nheader = \"yes\"");
    assert_eq!(examples(&["learn", &small, "--config", &config]), 40);
    let named = folder.write("named.csv", years(40, false));
    assert_eq!(examples(&["learn", &named, "--target", "5", "--header", "no", "-o", &model]), 41);
    assert_eq!(succeed(&["predict", &model, &named]).0.lines().count(), 42);
    let lines = folder.write("t.jsonl", "{\"a\":1,\"y\":2}\n{\"a\":2,\"y\":3}\n");
    fail(&["learn", &lines, "--target", "y", "--header", "yes"], 2, &["--header", "has a header line"]);
}

#[test]
fn errors_and_notes_say_what_line_1_was_taken_for() {
    let folder = Folder::new("line-1");
    let bare = folder.write("bare.csv", years(40, false));
    fail(&["learn", &bare, "--target", "1977"], 2, &["no column '1977'", "line 1 was taken for a row", "--header yes"]);
    fail(&["learn", &bare], 2, &["which column is the target?", "line 1 was taken for a row", "--header yes"]);
    let named = folder.write("named.csv", "a,b\n1,2\n3,4\n");
    fail(&["learn", &named, "--target", "2"], 2, &["no column '2'", "line 1 was taken for the header", "--header no"]);
    let (_, said) = succeed(&["learn", &bare, "--target", "5"]);
    assert!(flat(&said).contains("line 1 (1960, 1961, 1962, 1963, ...) was taken for a row, but it is unlike"), "{said}");
    assert!(flat(&said).contains("--header yes"), "{said}");
    // Numbers that are far from the others, without an order; and large numbers below years.
    let rows = years(40, false).lines().skip(1).map(|row| row.to_owned() + "\n").collect::<String>();
    let far = folder.write("far.csv", format!("700,300,900,200,100\n{rows}"));
    assert!(flat(&succeed(&["learn", &far, "--target", "5"]).1).contains("unlike the next rows"));
    let large = rows.replace('.', "");
    let large = folder.write("large.csv", format!("1960,1961,1962,1963,1964\n{large}"));
    assert!(flat(&succeed(&["learn", &large, "--target", "5"]).1).contains("unlike the next rows"));
    let usual = folder.write("usual.csv", &rows);
    assert!(!succeed(&["learn", &usual, "--target", "5"]).1.contains("unlike"));
    // Two or three columns that count from 1 above decimal numbers; above whole numbers they may be a row.
    let narrow = |columns: usize, point: &str| -> String {
        let row =
            |i: usize| (0..columns).map(|c| format!("{}{point}{}", (i * 7 + c * 3) % 5, i % 7)).collect::<Vec<_>>().join(",");
        let first = (1..=columns).map(|c| c.to_string()).collect::<Vec<_>>().join(",");
        format!("{first}\n{}", (0..40).map(|i| row(i) + "\n").collect::<String>())
    };
    for columns in [2, 3] {
        let target = columns.to_string();
        let decimals = folder.write("decimals.csv", narrow(columns, "."));
        assert!(flat(&succeed(&["learn", &decimals, "--target", &target]).1).contains("unlike the next rows"), "{columns}");
        let whole = folder.write("whole.csv", narrow(columns, "1"));
        assert!(!succeed(&["learn", &whole, "--target", &target]).1.contains("unlike"), "{columns}");
    }
    let quiet = succeed(&["learn", &bare, "--target", "5", "--header", "no"]).1;
    assert!(!quiet.contains("unlike"), "the flag has decided: {quiet}");
}
