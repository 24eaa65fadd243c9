//! What is refused, with the file, the row, the column, what was found and what to do.

use crate::input::{Bad, Format, LONGEST_LINE, Options, Reader, Trouble};
use crate::support::{Temp, gzip, read, read_stream, refusal, target};

/// What every message about a row that could be left out ends with.
const ADVICE: &str = "; --on-bad-row skip leaves such rows out";

fn skip(options: Options) -> Options {
    Options { skip_bad_rows: true, ..options }
}

#[test]
fn tables_that_are_none() {
    assert_eq!(refusal("t.csv", "", target("y")), "t.csv: empty; there is nothing to read");
    assert_eq!(refusal("t.csv", "\n \n", target("y")), "t.csv: empty; there is nothing to read");
    assert_eq!(refusal("t.csv", "a,y\n", target("y")), "t.csv: a header and no rows");
    assert_eq!(refusal("t.svm", "# nothing\n", Options::default()), "t.svm: no rows; there is nothing to read");
    let garbage: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for name in ["t.csv", "t.svm", "t.jsonl", "t.vw", "t"] {
        assert!(refusal(name, &garbage, target("y")).contains("binary data"));
    }
    assert!(refusal("t.csv.gz", &gzip(b"a,y\n1,2\n")[..15], target("y")).contains("ends in the middle"));
    assert!(refusal("t.csv.gz", [0x1f, 0x8b, 9, 9, 9, 9, 9, 9, 9, 9, 9], target("y")).contains("damaged"));
    let none = Reader::open("/no/such/file.csv", target("y")).err().unwrap();
    assert_eq!((none.to_string().as_str(), none.trouble()), ("/no/such/file.csv: no such file", Trouble::Io));
}

#[test]
fn a_line_without_end() {
    for start in ["1,2,", "{\"a\":", "1 1:", "1 | a:", "a,y\n1,2\n1,"] {
        let mut text = start.as_bytes().to_vec();
        text.resize(2 * LONGEST_LINE, b'1');
        let row = start.matches('\n').count() + 1;
        let message = read_stream(text, target(if start.starts_with("1,") { "1" } else { "y" })).unwrap_err().to_string();
        assert_eq!(message, format!("standard input, line {row}: longer than 16 MiB; is this text with line ends?"));
    }
    for rows in [10, 5_000_000] {
        let text = format!("a,y\n1,2\n\"3,4\n{}", "5,6\n".repeat(rows));
        let why = "t.csv, line 3: a quote (\") is opened here and not closed; close or double it";
        assert_eq!(refusal("t.csv", text, target("y")), why);
    }
    let text = format!("a,y\n1,{}\n", "x".repeat(3 << 20));
    assert_eq!(read("t.csv", text, target("y")).unwrap().x, [[1.0]]);
}

#[test]
fn ragged_rows() {
    assert_eq!(
        refusal("t.csv", "a,b,y\n1,2,3\n1,2\n", target("y")),
        format!("t.csv, line 3: found 2 columns, expected 3 as in the first line (delimiter ','){ADVICE}")
    );
    assert!(refusal("t.csv", "a,b,y\n1,2,3\n1,2,3,\n", target("y")).contains("found 4 columns, expected 3"));
    assert!(refusal("t.csv", "a,b,y\n1,2,3\n\"1\",2,3,4\n", target("y")).contains("found 4 columns, expected 3"));
    let all = read("t.csv", "a,b,y\n1,2,3\n1,2\n4,5,6\n", skip(target("y"))).unwrap();
    assert_eq!((all.lines, all.bad), (vec![2, 4], vec![(1, 3)]));
}

#[test]
fn names() {
    // What a terminal would obey is written out, and counts as what is written.
    let odd = refusal("t.csv", format!("{},b\n1,2\n", "\u{7f}".repeat(300)), target("z"));
    assert!(odd.contains("the columns are \\u{7f}\\u{7f}") && odd.ends_with("..."), "{odd}");
    assert_eq!(refusal("t.csv", "a,b,a\n1,2,3\n", target("b")), "t.csv: columns 1 and 3 are both named 'a'; rename one");
    assert_eq!(refusal("t.csv", "a,b\n1,2\n", target("z")), "t.csv: no column 'z'; the columns are a, b");
    assert_eq!(
        refusal("t.csv", "a,b\n1,2\n", Options::default()),
        "t.csv: which column is the target? Say --target NAME; the columns are a, b"
    );
    assert!(refusal("t.csv", "a,b\n1,2\n", Options { ignore: vec!["q".into()], ..target("b") }).contains("no column 'q'"));
    assert!(
        refusal("t.csv", "a,b\n1,2\n", Options { ignore: vec!["a".into()], ..target("b") }).contains("no feature column is left")
    );
    assert!(refusal("t.jsonl", "{\"a\":1}\n", target("y")).contains("no row so far has the target 'y'; the other keys are a"));
    assert!(refusal("t.jsonl", "{\"a\":1}\n", Options::default()).contains("which key is the target?"));
    let schema = read("t.csv", "a,b,y\n1,2,3\n", target("y")).unwrap().schema;
    let with = Options { schema: Some(schema), want_target: false, ..Options::default() };
    let message = "t.csv: column 'b' is missing, and the model was trained with it; the columns are a, c";
    assert_eq!(refusal("t.csv", "a,c\n1,2\n", with.clone()), message);
    assert!(refusal("t.jsonl", "{\"a\":1}\n", with.clone()).starts_with("t.jsonl, line 1, column 'b': the value is missing"));
    assert!(
        refusal("t.csv", "a,b\n1,2\n", Options { targets: vec!["q".into()], ..with }).contains("not what the model learned: y")
    );
    let nothing = Options { want_target: false, ..Options::default() };
    let schema = read("t.csv", "a,b\n1,2\n", nothing.clone()).unwrap().schema;
    let with = Options { schema: Some(schema), targets: vec!["b".into()], ..nothing };
    assert_eq!(
        refusal("t.csv", "a,b\n1,2\n", with),
        "t.csv: --target b: the model was learned without a target, as a detector; remove this flag"
    );
}

#[test]
fn text_where_numbers_belong() {
    let text = "a,city,y\n1,Paris,1\n";
    let message =
        "t.csv, line 2, column 'city': found 'Paris', expected a number; use --one-hot city, --text city or --ignore city";
    assert_eq!(refusal("t.csv", text, target("y")), message);
    // A name that the shell would cut is in quotes.
    for (name, typed) in [("unit price", "'unit price'"), ("\"a,b\"", "'\"a,b\"'"), ("it's", "'it'\\''s'"), ("größe", "größe")]
    {
        let told = refusal("t.csv", format!("a,{name},y\n1,Paris,1\n"), target("y"));
        assert!(told.ends_with(&format!("use --one-hot {typed}, --text {typed} or --ignore {typed}")), "{told}");
    }
    // A number with other signs is no category, nor is a number as text.
    for found in ["$28.38", "-80.2%", "1 200 €", "$ 1_", "12°"] {
        let told = refusal("t.csv", format!("a,city,y\n1,{found},1\n"), target("y"));
        let number = !found.contains('_');
        assert_eq!(
            told.contains(&format!("found '{found}', a number with other signs: write the number alone, as 1234.5")),
            number,
            "{told}"
        );
    }
    let thousands = refusal("t.csv", "a;city;y\n1;1,234.5;1\n", target("y"));
    assert!(thousands.contains("found '1,234.5', a number with other signs"), "{thousands}");
    let later = refusal("t.csv", "a,city,y\n1,2,1\n1,3%,1\n", target("y"));
    assert!(later.contains("line 3, column 'city': found '3%', a number with other signs"), "{later}");
    let quoted = refusal("t.jsonl", "{\"c\":\"28.4\",\"y\":1}\n", target("y"));
    assert!(quoted.contains("found '28.4', a number in quotes: write it without quotes"), "{quoted}");
    // Too few or too many fields are the error, not the text that stands in another column for this reason.
    for row in ["1,yes", "1,2,yes,3"] {
        let ragged = refusal("t.csv", format!("a,b,y\n1,2,yes\n{row}\n"), target("y"));
        assert!(ragged.contains("line 3: found ") && ragged.contains("columns, expected 3"), "{ragged}");
    }
    // Nothing can be learned from a column of text: skipping rows would skip them all. Whether the column is one is not known from one row.
    let delete = "; if other rows have a number here, delete this row: the first row says what a column has, so --on-bad-row skip does not leave it out";
    assert_eq!(refusal("t.csv", text, skip(target("y"))), format!("{message}{delete}"));
    assert_eq!(refusal("t.csv", "a,city,y\n1,Paris,1\n2,3,1\n2,Rome,1\n2,Oslo,1\n", target("y")), message);
    assert!(refusal("t.jsonl", "{\"c\":\"Paris\",\"y\":1}\n", target("y")).contains("column 'c': found 'Paris'"));
    assert!(refusal("t.vw", "1 | a:x\n", Options::default()).contains("line 1, column 'a': found 'x', expected a finite number"));
    assert!(refusal("t.svm", "1 1:x\n", Options::default()).contains("line 1, column '1': found 'x', expected a finite number"));
    let all = read("t.csv", "a,y\n1,1\noops,1\n3,1\n", skip(target("y"))).unwrap();
    assert_eq!((all.x, all.bad), (vec![vec![1.0], vec![3.0]], vec![(1, 3)]));
}

/// A row of units or a text in the first row, above numbers: a bad row like any other.
#[test]
fn a_first_row_of_text_above_numbers_is_skipped() {
    let rest = "1,1,2\n2,2,4\n3,3,6\n4,4,8\n";
    for (first, column, found) in
        [("kg,cm,9", "a", "'kg'"), ("kg,cm,g", "a", "'kg'"), ("1,n.a.,2", "b", "'n.a.'"), ("2024-01-31,1,2", "a", "'2024-01-31'")]
    {
        let text = format!("a,b,y\n{first}\n{rest}");
        let message = format!(
            "t.csv, line 2, column '{column}': found {found}, expected a number, as in most of the next rows; correct it{ADVICE}"
        );
        assert_eq!(refusal("t.csv", &text, target("y")), message);
        let all = read("t.csv", &text, skip(target("y"))).unwrap();
        assert_eq!((all.x.len(), all.bad, &all.lines[..2]), (4, vec![(0, 2)], &[3, 4][..]), "{first}");
        assert_eq!(all.x[0], [1.0, 1.0], "the columns keep their order");
        // Two such rows.
        let text = format!("a,b,y\n{first}\n{first}\n{rest}");
        assert_eq!(read("t.csv", &text, skip(target("y"))).unwrap().bad.len(), 2, "{first}");
    }
    let texts = "a,city,y\n1,Paris,1\n2,3,1\n2,Rome,1\n2,4,1\n2,Oslo,1\n2,5,1\n2,Bern,1\n";
    assert!(
        refusal("t.csv", texts, skip(target("y"))).contains("use --one-hot city, --text city or --ignore city; if other rows")
    );
}

#[test]
fn missing_features() {
    for missing in ["", " ", "NA", "NaN", "?", "null", "n/a"] {
        let text = format!("a,b,y\n1,2,1\n3,{missing},1\n5,6,1\n");
        let message = format!(
            "t.csv, line 3, column 'b': the value is missing; fill it in, or learn with --missing mean, zero or last{ADVICE}"
        );
        assert_eq!(refusal("t.csv", &text, target("y")), message);
        let all = read("t.csv", &text, skip(target("y"))).unwrap();
        assert_eq!((all.x.len(), all.bad, all.lines), (2, vec![(1, 3)], vec![2, 4]));
    }
    assert!(
        refusal("t.jsonl", "{\"a\":1,\"y\":1}\n{\"y\":1}\n", target("y")).contains("line 2, column 'a': the value is missing")
    );
    assert!(refusal("t.jsonl", "{\"a\":null,\"y\":1}\n", target("y")).contains("line 1, column 'a': the value is missing"));
    let file = Temp::new("t.csv", "a,y\n1,1\n?,1\n");
    let mut reader = Reader::open(file.path(), Options { chunk_rows: 1, ..skip(target("y")) }).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().bad, []);
    let last = reader.next().unwrap().unwrap();
    assert_eq!((last.rows, last.bad, last.first_bad.unwrap().line()), (0, vec![Bad { line: 3, ..Bad::default() }], Some(3)));
    assert!(refusal("t.csv", "a,y\n?,1\nNA,2\n", skip(target("y"))).contains("none of its 2 rows can be read; the first: "));
    assert!(!refusal("t.csv", "a,y\n?,1\nNA,2\n", skip(target("y"))).contains(ADVICE), "they are left out already");
}

#[test]
fn a_bad_row_leaves_nothing_behind() {
    let all = read("t.vw", "1 | a\n1 | new:1 b:x\n1 | c\n", skip(Options::default())).unwrap();
    assert_eq!((all.names, all.bad), (vec!["a".to_string(), "c".into()], vec![(1, 2)]));
    let all = read("t.svm", "1 1:1\n1 9:1 8:1\n1 2:1\n", skip(Options::default())).unwrap();
    assert_eq!(all.names, ["1", "2"]);
    let one_hot = Options { one_hot: true, ..target("y") };
    let all = read("t.csv", "c,v,y\nbad,?,1\n7,u,z\n8,v,z\n", skip(one_hot)).unwrap();
    assert_eq!((all.names, all.lines), (vec!["c".to_string(), "v=u".into(), "v=v".into()], vec![3, 4]));
    // A text target in a row that is taken back does not make the others text.
    let all = read("t.csv", "y,a\n1,1\nno,?\n2,2\n", skip(target("y"))).unwrap();
    assert_eq!(all.numbers, Some(vec![1.0, 2.0]));
}

#[test]
fn numbers_that_are_none() {
    for bad in ["inf", "-Infinity", "1e999", "1e16", "-1e15000"] {
        assert!(
            refusal("t.csv", format!("a,b,y\n1,2,1\n3,{bad},1\n"), target("y")).starts_with("t.csv, line 3, column 'b': found "),
            "{bad}"
        );
    }
    assert!(
        refusal("t.csv", "a,y\n1,2\n1,inf\n", target("y")).contains("line 3, column 'y': found inf, expected a finite target")
    );
    assert!(refusal("t.svm", "1 1:1e300\n", Options::default()).contains("line 1, column '1'"));
    assert!(refusal("t.svm", "1 1:nan\n", Options::default()).contains("column '1': found 'nan', expected a finite number"));
    assert!(refusal("t.vw", "1 | a:1e300\n", Options::default()).contains("line 1, column 'a'"));
    assert!(refusal("t.jsonl", "{\"a\":1e999,\"y\":1}\n", target("y")).contains("line 1: not JSON: number out of range"));
    let weight = Options { weight: Some("w".into()), ..target("y") };
    assert!(refusal("t.csv", "a,w,y\n1,-2,1\n", weight).contains("column 'w': found -2, expected a weight"));
}

#[test]
fn libsvm_indices() {
    let of = |text: &str| refusal("t.svm", text, Options::default());
    assert!(of("1 0:1\n").contains("column '0': found index 0, but LIBSVM counts from 1"));
    assert!(of("1 2:1 2:1\n").contains("index 2 comes twice"));
    assert!(of("1 2:1 1:1\n").contains("index 1 comes after 2; sort each row"));
    assert!(of("1 1:1\n1 99999999999999999999999:1\n").contains("indices beyond 4294967296 are not taken"));
    assert!(of("1 1:1\n1,2 1:1\n").contains("line 2, column 'label': found 2 labels '1,2', expected 1"));
    assert!(of("1 1:1\n1 x\n").contains("line 2: found 'x', expected index:value"));
}

#[test]
fn json_that_is_none() {
    let of = |text: &str| refusal("t.jsonl", text, target("y"));
    assert!(of("{\"a\":1,\"y\":1}\n{\"a\":1,\n").contains("line 2: not JSON: EOF while parsing"));
    assert!(of("{\"a\":1,\"y\":1}\n5\n").contains("line 2: found '5', expected a JSON object"));
    assert!(of("{\"a\":1,\"a\":2,\"y\":1}\n").contains("column 'a': the key comes twice"));
    assert!(of(&format!("{{\"a\":{}\n", "[".repeat(100_000))).contains("recursion limit"));
}

#[test]
fn rows_without_features() {
    let message = format!("t.vw, line 1: no feature in this row or in any row before it; at least one is needed{ADVICE}");
    assert_eq!(refusal("t.vw", "1 |\n1 | a\n1 |\n", Options::default()), message);
    let all = read("t.vw", "1 |\n1 | a\n1 |\n", skip(Options::default())).unwrap();
    assert_eq!((all.x, all.lines), (vec![vec![1.0], vec![0.0]], vec![2, 3]));
    assert_eq!(
        read("t.svm", "1\n1 2:1\n", Options { format: Some(Format::Libsvm), ..Options::default() }).unwrap().x,
        [[0.0, 0.0], [0.0, 1.0]]
    );
}

#[test]
fn too_much() {
    let levels: String = std::iter::once("c,y\n".to_string()).chain((0..10_001).map(|i| format!("l{i},1\n"))).collect();
    let message = refusal("t.csv", levels, Options { one_hot: true, chunk_rows: 100, ..target("y") });
    assert!(message.contains("line 10002, column 'c': more than 10000 different texts; use --ignore c, or --id c"), "{message}");
    assert!(refusal("t.csv", format!("{}\n", "1,".repeat(2 << 20)), target("1")).contains("more than 1048576 columns"));
}
