//! Columns that become several features: times, words, categories; and names that are hashed.

use xxhash_rust::xxh3::xxh3_64;

use crate::input::{Options, Used, hash_feature};
use crate::support::{All, read, refusal, target};

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn times(text: &str) -> All {
    read("t.csv", text, Options { times: names(&["t"]), ..target("y") }).unwrap()
}

fn is_near(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12)
}

#[test]
fn a_time_is_elapsed_days_and_two_cycles() {
    // The first of January 2024 is a Monday.
    let all = times("t,y\n2024-01-01,1\n2024-01-01T06:00,1\n2024-01-02 12:00:00.000Z,1\n2024-01-07T23:00:00-01:00,1\n");
    let expected = ["t elapsed days", "t hour sin", "t hour cos", "t weekday sin", "t weekday cos"];
    assert_eq!(all.names, expected);
    let week = |days: f64| std::f64::consts::TAU * days / 7.0;
    let [quarter, noon, late] = [week(0.25), week(1.5), week(6.0 + 23.0 / 24.0)];
    let hour = std::f64::consts::TAU * 23.0 / 24.0;
    assert!(is_near(&all.x[0], &[0.0, 0.0, 1.0, 0.0, 1.0]), "{:?}", all.x);
    assert!(is_near(&all.x[1], &[0.25, 1.0, 0.0, quarter.sin(), quarter.cos()]), "{:?}", all.x);
    assert!(is_near(&all.x[2], &[1.5, 0.0, -1.0, noon.sin(), noon.cos()]), "{:?}", all.x);
    // The clock shows 23:00 on Sunday; in universal time it is Monday, seven days after the first row.
    assert!(is_near(&all.x[3], &[7.0, hour.sin(), hour.cos(), late.sin(), late.cos()]), "{:?}", all.x);
}

/// Elapsed days begin at the first row that has a time, also if that row has no target and is only predicted.
#[test]
fn elapsed_days_begin_at_the_first_row_of_the_data() {
    let all = times("t,y\n2024-01-01,\n2024-01-03,1\n2024-01-04,1\n");
    assert_eq!(all.x.iter().map(|row| row[0]).collect::<Vec<_>>(), [0.0, 2.0, 3.0]);
}

#[test]
fn times_of_every_spelling_are_the_same_moment() {
    // Seconds since 1970 of 2009-02-13T23:31:30Z are 1234567890.
    let all = times(
        "t,y\n1234567890,1\n1234567890000,1\n2009-02-13T23:31:30Z,1\n2009-02-13 23:31:30,1\n2009-02-14T01:01:30.0+0130,1\n\
         2009-02-13T13:31:30-10,1\n2009-02-13t23:31:30z,1\n",
    );
    assert!(all.x.iter().all(|row| row[0] == 0.0), "{:?}", all.x);
    let clock = [0, 1, 2, 3, 6].map(|row: usize| &all.x[row]);
    assert!(clock.iter().all(|row| *row == clock[0]), "{:?}", all.x);
    for (dates, days) in [("2024-02-28 2024-03-01", 2.0), ("1900-02-28 1900-03-01", 1.0), ("2000-01-01 2001-01-01", 366.0)] {
        let (from, to) = dates.split_once(' ').unwrap();
        assert_eq!(times(&format!("t,y\n{from},1\n{to},1\n")).x[1][0], days, "{dates}");
    }
    for wrong in
        ["2023-02-29", "2024-13-01", "2024-00-10", "2024-1-1", "20240131", "2024-01-01T24:00", "2024-01-01T10:60", "12:30", "5"]
    {
        let message = refusal("t.csv", format!("t,y\n{wrong},1\n"), Options { times: names(&["t"]), ..target("y") });
        assert!(message.contains("line 2, column 't'") && message.contains("expected a time such as"), "{message}");
    }
}

#[test]
fn logarithms_keep_the_sign() {
    let text = "a,n,y\n0,1,1\n1e300,2,1\n-3,3,1\n";
    let all = read("t.csv", text, Options { logs: names(&["a"]), ..target("y") }).unwrap();
    assert_eq!(all.names, ["n", "a log"]);
    let found: Vec<f64> = all.x.iter().map(|row| row[1]).collect();
    assert!(is_near(&found, &[0.0, 300.0 * 10f64.ln(), -(4f64.ln())]), "{found:?}");
    let wrong = Options { logs: names(&["a"]), ..target("y") };
    assert!(refusal("t.csv", "a,n,y\nx,1,1\n", wrong.clone()).contains("line 2, column 'a': found 'x', expected a number"));
    assert!(refusal("t.csv", "a,n,y\ninf,1,1\n", wrong).contains("line 2, column 'a': found inf"));
}

#[test]
fn words_are_counted() {
    let text = "t,n,y\n\"Good, GOOD movie!\",1,1\n,2,1\nnot good,3,1\n";
    let options = |ngrams| Options { texts: names(&["t"]), ngrams, chunk_rows: 2, ..target("y") };
    let all = read("t.csv", text, options(0)).unwrap();
    assert_eq!(all.names, ["n", "t: good", "t: movie", "t: not"]);
    assert_eq!(all.x, [[1.0, 2.0, 1.0, 0.0], [2.0, 0.0, 0.0, 0.0], [3.0, 1.0, 0.0, 1.0]]);
    let all = read("t.csv", text, options(2)).unwrap();
    assert_eq!(all.names, ["n", "t: good", "t: movie", "t: good good", "t: good movie", "t: not", "t: not good"]);
    assert_eq!(all.x[0], [1.0, 2.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn named_columns_are_categories_also_if_they_have_numbers() {
    let text = "zip,n,y\n10115,1,1\n20095,2,1\n10115,3,1\n";
    let all = read("t.csv", text, Options { categories: names(&["zip"]), ..target("y") }).unwrap();
    assert_eq!(all.names, ["n", "zip=10115", "zip=20095"]);
    assert_eq!(all.x, [[1.0, 1.0, 0.0], [2.0, 0.0, 1.0], [3.0, 1.0, 0.0]]);
    let json = "{\"zip\":10115,\"ok\":true,\"y\":1}\n{\"zip\":20095,\"ok\":false,\"y\":1}\n";
    let all = read("t.jsonl", json, Options { categories: names(&["zip"]), ..target("y") }).unwrap();
    assert_eq!(all.names, ["zip=10115", "ok", "zip=20095"]);
    assert_eq!(all.x, [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    for (named, words) in [("zip", "no column 'city'"), ("y", "--one-hot and --target both name the column 'y'")] {
        let categories = if named == "y" { names(&["y"]) } else { names(&["city"]) };
        assert!(refusal("t.csv", text, Options { categories, ..target("y") }).contains(words));
    }
}

/// The row of a hashed file: (column, value) pairs, ascending.
fn pairs(row: &[f64]) -> Vec<(u32, f64)> {
    row.chunks_exact(2).take_while(|pair| pair[1] != 0.0).map(|pair| (pair[0] as u32, pair[1])).collect()
}

#[test]
fn a_hash_is_that_of_namespace_zero_and_name() {
    assert_eq!(u64::from(hash_feature(b"ns", b"name", 28)), xxh3_64(b"ns\0name") & ((1 << 28) - 1));
    let long = [b"n".repeat(100), b"m".repeat(100)];
    assert_eq!(u64::from(hash_feature(&long[0], &long[1], 8)), xxh3_64(&long.join(&0)) & 255);
    let column = |bytes: &[u8]| (xxh3_64(bytes) & 0xffff) as u32;
    let hashed = Options { hash_bits: Some(16), ..Options::default() };
    let vw = read("t.vw", "1 |ns good:2 bad |n:3 x\n1 | x good:0.5\n", hashed.clone()).unwrap();
    let mut expected = vec![(column(b"ns\0good"), 2.0), (column(b"ns\0bad"), 1.0), (column(b"n\0x"), 3.0)];
    expected.sort_by_key(|pair| pair.0);
    assert_eq!(pairs(&vw.x[0]), expected);
    assert!(vw.names.is_empty() && vw.schema.len() == 1 << 16, "names are not kept");
    // The same words of a table and of JSON lines are in the same columns.
    let text = Options { texts: names(&["ns"]), ..target("y") };
    for (name, file) in
        [("t.csv", "ns,x,y\n\"bad good good\",3,1\n"), ("t.jsonl", "{\"ns\":\"bad good good\",\"x\":3,\"y\":1}\n")]
    {
        let all = read(name, file, Options { hash_bits: Some(16), ..text.clone() }).unwrap();
        let mut expected = vec![(column(b"ns\0good"), 2.0), (column(b"ns\0bad"), 1.0), (column(b"\0x"), 3.0)];
        expected.sort_by_key(|pair| pair.0);
        assert_eq!(pairs(&all.x[0]), expected, "{name}");
    }
    for (options, words) in [
        (Options { times: names(&["t"]), ..hashed.clone() }, "leave --time out"),
        (Options { one_hot: true, ..hashed.clone() }, "--one-hot country"),
        (Options { missing: "mean".parse().ok(), ..hashed.clone() }, "--missing zero"),
    ] {
        let message = refusal("t.csv", "a,t,y\n1,2,3\n", Options { targets: names(&["y"]), ..options });
        assert!(message.contains("--hash-bits 16") && message.contains(words), "{message}");
    }
    assert!(refusal("t.svm", "1 1:1\n", hashed).contains("numbers already"));
}

#[test]
fn collisions_are_estimated() {
    let row: String = (0..600).map(|i| format!(" w{i}")).collect();
    let mut reader = crate::input::Reader::of(
        "t.vw",
        std::io::Cursor::new(format!("1 |{row}\n1 |{row}\n")),
        Options { hash_bits: Some(10), format: Some(crate::input::Format::Vw), ..Options::default() },
    )
    .unwrap();
    let mut used = Used::new(10);
    while let Some(chunk) = reader.next().unwrap() {
        used.count(&chunk);
    }
    let distinct: std::collections::HashSet<u64> = (0..600).map(|i| xxh3_64(format!("\0w{i}").as_bytes()) & 1023).collect();
    assert_eq!(used.columns(), distinct.len() as u64);
    // The standard deviation of linear counting is below 5 % here.
    assert!((used.features().unwrap() - 600.0).abs() < 90.0, "{:?}", used.features());
    assert!(used.words().contains("of 2^10 hashed columns are in use"), "{}", used.words());
}
