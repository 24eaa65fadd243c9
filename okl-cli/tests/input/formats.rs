//! Each format as people write it.

use std::io::{Cursor, Read};
use std::sync::mpsc;

use okl::Label;

use crate::input::{Features, Format, Options, Reader, Schema, read_ahead};
use crate::support::{All, Temp, drain, gzip, read, read_stream, target, zstandard};

fn labels(names: &[&str]) -> Vec<Label> {
    names.iter().map(|n| Label::from(*n)).collect()
}

const ROWS: [[f64; 2]; 3] = [[1.0, 2.5], [-3.0, 4e-1], [0.0, 6.0]];

fn same_rows(all: &All) {
    assert_eq!(all.x, ROWS);
    assert_eq!(all.numbers.as_deref(), Some(&[1.0, -1.0, 1.0][..]));
    assert_eq!(all.known, [true; 3]);
}

const CSV: &str = "a,b,y\n1,2.5,1\n-3,4e-1,-1\n0,6.,1\n";
const LIBSVM: &str = "+1 1:1 2:2.5\n-1 1:-3 2:4e-1 # comment\n\n1 qid:7 2:6\n";
const JSONL: &str = "{\"a\":1,\"b\":2.5,\"y\":1}\n{\"b\":4e-1,\"a\":-3,\"y\":-1}\n\n{\"y\":1,\"a\":0,\"b\":6}\n";
const VW: &str = "1 | a:1 b:2.5\n-1 'tag| b:.4 a:-3\n1 2.0 | b:6\n";

#[test]
fn every_format_plain_and_compressed() {
    for (name, text, options) in [
        ("t.csv", CSV, target("y")),
        ("t.svm", LIBSVM, Options::default()),
        ("t.jsonl", JSONL, target("y")),
        ("t.vw", VW, Options::default()),
    ] {
        same_rows(&read(name, text, options.clone()).unwrap());
        same_rows(&read("sniffed", text, options.clone()).unwrap());
        same_rows(&read(&format!("{name}.gz"), gzip(text.as_bytes()), options.clone()).unwrap());
        same_rows(&read(&format!("{name}.zst"), zstandard(text.as_bytes()), options.clone()).unwrap());
        same_rows(&read(name, gzip(text.as_bytes()), options.clone()).unwrap());
        same_rows(&read_stream(text, options.clone()).unwrap());
        same_rows(&read_stream(zstandard(text.as_bytes()), options.clone()).unwrap());
        same_rows(&read(name, text.replace('\n', "\r\n"), options.clone()).unwrap());
        same_rows(&read(name, format!("\u{feff}{text}"), options.clone()).unwrap());
        same_rows(&read(name, text.trim_end(), options).unwrap());
    }
}

#[test]
fn gzip_and_zstd_in_several_members() {
    let (one, two) = CSV.as_bytes().split_at(9);
    same_rows(&read("t.csv.gz", [gzip(one), gzip(two)].concat(), target("y")).unwrap());
    same_rows(&read("t.csv.zst", [zstandard(one), zstandard(two)].concat(), target("y")).unwrap());
}

#[test]
fn csv_delimiters_quotes_and_headers() {
    for delimiter in [";", "\t", "|"] {
        same_rows(&read("t.csv", CSV.replace(',', delimiter), target("y")).unwrap());
        same_rows(&read("t", CSV.replace(',', delimiter), target("y")).unwrap());
    }
    same_rows(&read("t.csv", CSV.strip_prefix("a,b,y\n").unwrap(), target("3")).unwrap());
    let quoted = "\"first, of all\",\"b\"\"q\"\"\",y\n\"1\", 2.5 ,\"new\nline\"\n-3,\"4e-1\",b\n";
    let all = read("t.csv", quoted, target("y")).unwrap();
    assert_eq!((all.names, all.lines), (vec!["first, of all".into(), "b\"q\"".into()], vec![2, 4]));
    assert_eq!((all.x, all.labels), (ROWS[..2].iter().map(|r| r.to_vec()).collect(), labels(&["new\nline", "b"])));
    let given = Options { header: Some(true), ..target("3") };
    assert_eq!(read("t.csv", "1,2,3\n4,5,6\n", given).unwrap().names, ["1", "2"]);
    let iris = "5.1,3.5,setosa\n4.9,3.0,virginica\n";
    assert_eq!(read("iris.csv", iris, target("3")).unwrap().labels, labels(&["setosa", "virginica"]));
}

/// pandas writes 0, 1, 2, ... for columns without names.
#[test]
fn a_first_line_that_counts_the_columns_is_a_header() {
    let all = read("t.csv", "0,1,2\n1.5,2,3\n4,5.5,6\n", target("2")).unwrap();
    assert_eq!((all.names, all.lines), (vec!["0".to_owned(), "1".into()], vec![2, 3]));
    assert_eq!(all.x, [[1.5, 2.0], [4.0, 5.5]]);
    // Whole numbers, a row that does not count, a series of two columns, and one row: these are rows.
    for text in ["0,1,2\n4,5,6\n", "0,2,1\n1.5,2,3\n", "1,2,3\n1.5,2,3\n", "0,1,2\n", "0.0,1,2\n1.5,2,3\n"] {
        assert_eq!(read("t.csv", text, target("3")).unwrap().names, ["1", "2"], "{text}");
    }
    assert_eq!(read("t.csv", "0,1\n0.1,1.2\n", target("2")).unwrap().lines, [1, 2]);
    let given = Options { header: Some(false), ..target("3") };
    assert_eq!(read("t.csv", "0,1,2\n1.5,2,3\n", given).unwrap().lines, [1, 2]);
}

#[test]
fn chosen_columns_ids_and_weights() {
    let text = "id,a,b,c,w,y\nu1,1,x,3,0.5,1\n17,4,y,6,2,\n";
    let options = Options { id: Some("id".into()), weight: Some("w".into()), ignore: vec!["b".into()], ..target("y") };
    let all = read("t.csv", text, options).unwrap();
    assert_eq!((all.names, all.weights), (vec!["a".to_string(), "c".into()], vec![0.5, 2.0]));
    assert_eq!((all.ids, all.known), (vec![0x08c4_7b07_b567_47f3, 17], vec![true, false]));
    let all = read("t.csv", text, Options { features: vec!["c".into()], ..target("y") }).unwrap();
    assert_eq!(all.x, [[3.0], [6.0]]);
    let svm = "1 1:1 2:2 3:3\n";
    let all = read("t.svm", svm, Options { ignore: vec!["2".into()], ..Options::default() }).unwrap();
    assert_eq!(all.x, [[1.0, 0.0, 3.0]]);
    let again = read("t.svm", svm, Options { schema: Some(all.schema), ..Options::default() }).unwrap();
    assert_eq!(again.x, all.x);
}

#[test]
fn several_targets_and_missing_ones() {
    let all = read("t.csv", "a,p,q\n1,2,3\n4,,6\n5,NA,\n", target("p,q")).unwrap();
    assert_eq!((all.numbers, all.known), (Some(vec![2.0, 3.0, 0.0, 6.0, 0.0, 0.0]), vec![true, false, false]));
    let all = read("t.svm", "1,2 1:1\n3,4 1:2\n", Options::default()).unwrap();
    assert_eq!((all.numbers, all.schema.targets), (Some(vec![1.0, 2.0, 3.0, 4.0]), vec!["label1".to_string(), "label2".into()]));
    let all = read("t.svm", "1 1:1\n1:2\n", Options::default()).unwrap();
    assert_eq!(all.known, [true, false]);
    let all = read("t.vw", "1 | a\n| a\n", Options::default()).unwrap();
    assert_eq!(all.known, [true, false]);
    let all = read("t.jsonl", "{\"a\":1,\"y\":1}\n{\"a\":1}\n{\"a\":1,\"y\":null}\n", target("y")).unwrap();
    assert_eq!(all.known, [true, false, false]);
    let none = Options { want_target: false, ..Options::default() };
    assert_eq!(read("t.csv", "a,b\n1,2\n", none.clone()).unwrap().x, [[1.0, 2.0]]);
    assert_eq!(read("t.svm", "1 1:1\n", none).unwrap().labels, []);
}

/// A label is an integer only if it is written as one is printed; everything else keeps its text.
#[test]
fn labels_that_look_like_numbers_keep_their_text() {
    let written = [
        "9007199254740992",
        "9007199254740993",
        "007",
        "7",
        "1e3",
        "1000",
        "02139",
        "2E5",
        "0.50",
        "1.0",
        "-3",
        "99999999999999999999",
    ];
    let (big, text) = (9_007_199_254_740_992, |t: &str| Label::Text(t.into()));
    let expected = [
        Label::Int(big),
        Label::Int(big + 1),
        text("007"),
        Label::Int(7),
        text("1e3"),
        Label::Int(1000),
        text("02139"),
        text("2E5"),
        text("0.50"),
        Label::Int(1),
        Label::Int(-3),
        text("99999999999999999999"),
    ];
    let csv: String = written.iter().map(|y| format!("1,{y}\n")).collect();
    assert_eq!(read("t.csv", format!("a,y\n{csv}"), target("y")).unwrap().labels, expected);
    let svm: String = written.iter().map(|y| format!("{y} 1:1\n")).collect();
    assert_eq!(read("t.svm", svm, Options::default()).unwrap().labels, expected);
    let vw: String = written.iter().map(|y| format!("{y} | a:1\n")).collect();
    assert_eq!(read("t.vw", vw, Options::default()).unwrap().labels, expected);
    let json = format!("{{\"a\":1,\"y\":{big}}}\n{{\"a\":1,\"y\":{}}}\n", big + 1);
    assert_eq!(read("t.jsonl", json, target("y")).unwrap().labels, expected[..2]);
}

/// Zero with a minus sign is zero; a text is the class of the number with the same spelling.
#[test]
fn one_spelling_is_one_label() {
    let csv = "a,y\n1,0\n2,-0\n3,0.0\n4,-0.0\n5,1\n";
    assert_eq!(read("t.csv", csv, target("y")).unwrap().labels, [0, 0, 0, 0, 1].map(Label::Int));
    let svm = "0 1:1\n-0 1:2\n+0 1:3\n-0.5 1:4\n";
    let half = Label::Text("-0.5".into());
    assert_eq!(read("t.svm", svm, Options::default()).unwrap().labels, [Label::Int(0), Label::Int(0), Label::Int(0), half]);
    let written =
        ["1", "\"1\"", "1.0", "\"1.0\"", "\"+1\"", "-0", "\"-0\"", "0.5", "\"0.5\"", "\"007\"", "\"1e3\"", "true", "\"true\""];
    let json: String = written.iter().map(|y| format!("{{\"a\":1,\"y\":{y}}}\n")).collect();
    let text = |t: &str| Label::Text(t.into());
    let expected = [
        [1; 5].map(Label::Int).to_vec(),
        [0; 2].map(Label::Int).to_vec(),
        ["0.5", "0.5", "007", "1e3", "true", "true"].map(text).to_vec(),
    ];
    for chunk_rows in [1, 3, 100] {
        let all = read("t.jsonl", &json, Options { chunk_rows, ..target("y") }).unwrap();
        assert_eq!(all.labels, expected.concat(), "{chunk_rows}");
    }
}

#[test]
fn labels_may_be_text_that_appears_late() {
    let mut text = String::from("a,y\n");
    (0..10).for_each(|i| text += &format!("{i},{}\n", i % 2));
    text += "10,other\n11,0.5\n12,1.0\n";
    for chunk_rows in [1, 4, 100] {
        let all = read("t.csv", &text, Options { chunk_rows, ..target("y") }).unwrap();
        assert_eq!(all.numbers, None);
        assert_eq!(all.labels[9..], [Label::Int(1), "other".into(), "0.5".into(), Label::Int(1)]);
    }
    let mut reader = Reader::open(Temp::new("t.csv", &text).path(), target("y")).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().targets.first_text(), Some((10, 0, "other")));
}

#[test]
fn one_hot_levels_may_appear_late() {
    let text = "size,city,y\n1,Paris,0\n2,Rome,1\n3,Paris,1\n4,\"Oslo\",0\n";
    let options = |chunk_rows| Options { one_hot: true, chunk_rows, ..target("y") };
    for chunk_rows in [1, 2, 3, 10] {
        let all = read("t.csv", text, options(chunk_rows)).unwrap();
        assert_eq!(all.names, ["size", "city=Paris", "city=Rome", "city=Oslo"]);
        assert_eq!(all.x[3], [4.0, 0.0, 0.0, 1.0]);
        assert_eq!(all.x[2], [3.0, 1.0, 0.0, 0.0]);
    }
    let first = read("t.csv", text, options(2)).unwrap().schema;
    let later = "city,y,size\nRome,1,7\nBern,0,8\n";
    let all = read("later.csv", later, Options { schema: Some(first), ..Options::default() }).unwrap();
    assert_eq!(all.x, [[7.0, 0.0, 1.0, 0.0, 0.0], [8.0, 0.0, 0.0, 0.0, 1.0]]);
    assert_eq!(all.names[4], "city=Bern");
    let json = "{\"c\":\"x\",\"v\":2,\"y\":0}\n{\"c\":\"z\",\"v\":3,\"y\":1}\n";
    assert_eq!(read("t.jsonl", json, options(1)).unwrap().x, [[1.0, 2.0, 0.0], [0.0, 3.0, 1.0]]);
}

#[test]
fn features_grow() {
    for chunk_rows in [1, 2, 9] {
        let grow = |options| Options { chunk_rows, ..options };
        let rows = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 0.0, 3.0]];
        assert_eq!(read("t.svm", "1 1:1\n1 2:2\n1 1:1 3:3\n", grow(Options::default())).unwrap().x, rows);
        assert_eq!(read("t.vw", "1 | a\n1 |n b:2\n1 | a |n:3 c:1\n", grow(Options::default())).unwrap().x, rows);
        let json = "{\"y\":1,\"a\":1}\n{\"y\":1,\"b\":2}\n{\"y\":1,\"a\":1,\"c\":3}\n";
        let sparse = Options { sparse: true, ..target("y") };
        assert_eq!(read("t.jsonl", json, grow(sparse)).unwrap().x, rows);
        let json = "{\"y\":1,\"a\":1}\n{\"y\":1,\"a\":0,\"b\":2}\n{\"y\":1,\"a\":1,\"c\":3}\n";
        assert_eq!(read("t.jsonl", json, grow(target("y"))).unwrap().x, rows);
    }
    let mut reader =
        Reader::open(Temp::new("t.svm", "1 1:1\n1 5:2\n").path(), Options { chunk_rows: 1, ..Options::default() }).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().features, 1);
    assert_eq!(reader.next().unwrap().unwrap().features, 5);
}

/// Rows with many features stay sparse: a chunk has the values that are given, by column, and those of one column are added up.
#[test]
fn wide_rows_stay_sparse() {
    let file = Temp::new("t.svm", "1 3:2 4000000000:1\n-1\n1 1:0.5\n");
    let chunk = Reader::open(file.path(), Options::default()).unwrap().next().unwrap().unwrap();
    let values = |row| chunk.values(row).collect::<Vec<_>>();
    assert_eq!((chunk.rows, chunk.features, chunk.x.len()), (3, 4_000_000_000, 3));
    assert_eq!([values(0), values(1), values(2)], [vec![(2, 2.0), (3_999_999_999, 1.0)], vec![], vec![(0, 0.5)]]);
    let names: String = (0..300).map(|i| format!(" f{i}")).collect();
    let file = Temp::new("t.vw", format!("1 |{names}\n1 | f9:2 f1 f9:0.5\n"));
    let chunk = Reader::open(file.path(), Options::default()).unwrap().next().unwrap().unwrap();
    let second: Vec<(usize, f64)> = chunk.values(1).collect();
    assert!(chunk.entries.is_some() && chunk.features >= 300);
    assert!(second.windows(2).all(|pair| pair[0].0 < pair[1].0) && second.iter().any(|(_, value)| *value == 2.5));
}

#[test]
fn json_nests() {
    let all = read("t.jsonl", "{\"a\":{\"b\":[1,true]},\"y\":false}\n", target("y")).unwrap();
    assert_eq!((all.names, all.x), (vec!["a.b.0".to_string(), "a.b.1".into()], vec![vec![1.0, 1.0]]));
    assert_eq!(all.labels, labels(&["false"]));
    assert_eq!(read("t.jsonl", "[1,2,3]\n[4,5,6]\n", target("3")).unwrap().x, [[1.0, 2.0], [4.0, 5.0]]);
}

#[test]
fn vw_importance_tags_and_namespaces() {
    let text = "1 0.5 'one|x a:2 b\n-1 two|x:2 a:3 |y a:1 a:1\n";
    let all = read("t.vw", text, Options { id: Some("tag".into()), ..Options::default() }).unwrap();
    assert_eq!(all.names, ["x^a", "x^b", "y^a"]);
    assert_eq!(all.x, [[2.0, 1.0, 0.0], [6.0, 0.0, 2.0]]);
    assert_eq!((all.weights, all.ids.len()), (vec![0.5, 1.0], 2));
}

#[test]
fn a_schema_survives_json_and_another_order() {
    let first = read("t.csv", CSV, target("y")).unwrap();
    let text = serde_json::to_string(&first.schema).unwrap();
    let schema: Schema = serde_json::from_str(&text).unwrap();
    assert_eq!(schema, first.schema);
    let with = || Options { schema: Some(schema.clone()), want_target: false, ..Options::default() };
    let all = read("t.csv", "extra,b,a\n9,2.5,1\nx,0.4,-3\n", with()).unwrap();
    assert_eq!((all.x, all.known), (ROWS[..2].iter().map(|r| r.to_vec()).collect(), vec![false; 2]));
    same_rows(&read("t.jsonl", JSONL, with()).unwrap());
    same_rows(&read("t.csv", CSV, with()).unwrap());
    // Without a header: exactly the model's feature columns, in its order.
    assert_eq!(read("t.csv", "1,2.5\n-3,0.4\n", with()).unwrap().x, ROWS[..2]);
    let sparse = read("t.svm", LIBSVM, Options::default()).unwrap().schema;
    assert_eq!((sparse.sparse, &sparse.features), (true, &Features::Indexed(2)));
    let wider = read("t.svm", "1 3:1\n", Options { schema: Some(sparse), ..Options::default() }).unwrap();
    assert_eq!(wider.x, [[0.0, 0.0, 1.0]]);
}

#[test]
fn a_stream_continues_after_a_line() {
    let all = read("t.csv", CSV, target("y")).unwrap();
    let options = Options { schema: Some(all.schema), after_line: all.lines[1], ..Options::default() };
    assert_eq!(read("t.csv", CSV, options).unwrap().x, ROWS[2..]);
}

/// A writer that is slower than the reader.
struct Slow(mpsc::Receiver<&'static str>);

impl Read for Slow {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let text = self.0.recv().unwrap_or("");
        Cursor::new(text).read(into)
    }
}

#[test]
fn rows_that_have_arrived_are_not_held_back() {
    let (send, receive) = mpsc::channel();
    send.send("a,y\n1,2\n3,4\n5,").unwrap();
    let mut reader = Reader::stream("-", Slow(receive), target("y")).unwrap();
    let first = reader.next().unwrap().unwrap();
    assert_eq!((first.rows, first.x), (2, vec![1.0, 3.0]));
    send.send("6\n").unwrap();
    assert_eq!(reader.next().unwrap().unwrap().lines, [4]);
    drop(send);
    assert!(reader.next().unwrap().is_none());
}

#[test]
fn reading_ahead_gives_the_same() {
    let text: String = std::iter::once("a,c,y\n".to_string())
        .chain((0..1000).map(|i| format!("{i},{},{}\n", ["u", "v", "w"][i % 3], i % 2)))
        .collect();
    let file = Temp::new("t.csv", &text);
    let options = Options { chunk_rows: 7, one_hot: true, ..target("y") };
    let mut reader = Reader::open(file.path(), options.clone()).unwrap();
    let mut ahead = read_ahead(Reader::open(file.path(), options).unwrap(), 4).unwrap();
    while let Some(chunk) = reader.next().unwrap() {
        assert_eq!(ahead.next().unwrap().unwrap(), chunk);
        assert_eq!(ahead.schema(), reader.schema());
    }
    assert!(ahead.next().is_none());
    let bad = Temp::new("t.csv", "a,y\n1,2\nx,3\n");
    let mut ahead = read_ahead(Reader::open(bad.path(), Options { chunk_rows: 1, ..target("y") }).unwrap(), 1).unwrap();
    assert!(ahead.next().unwrap().is_ok() && ahead.next().unwrap().is_err() && ahead.next().is_none());
    drop(read_ahead(
        Reader::open(file.path(), target("y")).unwrap_or_else(|_| Reader::open(bad.path(), target("y")).unwrap()),
        1,
    ));
}

#[test]
fn formats_are_found() {
    let format = |name: &str, text: &str| {
        Reader::open(Temp::new(name, text).path(), Options { want_target: false, ..Options::default() }).unwrap().format()
    };
    assert_eq!(format("x", "1|2|3\n4|5|6\n"), Format::Csv);
    assert_eq!(format("x", "1 |n a b\n"), Format::Vw);
    assert_eq!(format("x", "1 |n a:3 b\n"), Format::Vw);
    assert_eq!(format("x", "# c\n-1.0 6:1 11:-0.7\n"), Format::Libsvm);
    assert_eq!(format("x", "{\"a\":1}\n"), Format::Jsonl);
    assert_eq!(format("x.csv", "12:30,1\n13:30,2\n"), Format::Csv);
    let open = drain(
        Reader::stream("-", Cursor::new(b"1 1:2\n".to_vec()), Options { format: Some(Format::Libsvm), ..Options::default() })
            .unwrap(),
    );
    assert_eq!(open.unwrap().x, [[2.0]]);
}
