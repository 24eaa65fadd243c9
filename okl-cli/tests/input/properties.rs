//! Tables of any shape come back as they were written, in every format and however they are cut; the fast parts agree with naive twins.

use std::fmt::Write;

use proptest::prelude::*;

use crate::input::Options;
use crate::support::{All, gzip, read, read_stream, target, zstandard};

#[derive(Clone, Debug)]
struct Table {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0f64),
        (-1000i32..1000).prop_map(|v| v as f64),
        (-1000i32..1000).prop_map(|v| v as f64 / 64.0),
        any::<f64>().prop_filter("taken", |v| v.abs() <= 1e15),
    ]
}

fn table() -> impl Strategy<Value = Table> {
    (1usize..6, 1usize..40).prop_flat_map(|(width, rows)| {
        let x = prop::collection::vec(prop::collection::vec(number(), width), rows);
        (x, prop::collection::vec(number().prop_map(f64::from), rows)).prop_map(|(x, y)| Table { x, y })
    })
}

impl Table {
    fn csv(&self, delimiter: char, header: bool) -> String {
        let mut text = String::new();
        if header {
            (0..self.x[0].len()).for_each(|i| write!(text, "f{i}{delimiter}").unwrap());
            text += "y\n";
        }
        for (row, y) in self.x.iter().zip(&self.y) {
            row.iter().for_each(|v| write!(text, "{v}{delimiter}").unwrap());
            writeln!(text, "{y:e}").unwrap();
        }
        text
    }

    fn libsvm(&self) -> String {
        let pairs = |row: &[f64]| {
            (1..).zip(row).filter(|(i, v)| **v != 0.0 || *i == row.len()).map(|(i, v)| format!(" {i}:{v:e}")).collect::<String>()
        };
        self.x.iter().zip(&self.y).map(|(row, y)| format!("{y}{}\n", pairs(row))).collect()
    }

    fn vw(&self) -> String {
        let pairs = |row: &[f64]| row.iter().enumerate().map(|(i, v)| format!(" f{i}:{v}")).collect::<String>();
        self.x.iter().zip(&self.y).map(|(row, y)| format!("{y} |{}\n", pairs(row))).collect()
    }

    fn jsonl(&self) -> String {
        let pairs = |row: &[f64]| row.iter().enumerate().map(|(i, v)| format!("\"f{i}\":{v:e},")).collect::<String>();
        self.x.iter().zip(&self.y).map(|(row, y)| format!("{{{}\"y\":{y}}}\n", pairs(row))).collect()
    }

    fn is(&self, all: &All) {
        assert_eq!((&all.x, all.numbers.as_ref()), (&self.x, Some(&self.y)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_come_back(t in table(), chunk_rows in 1usize..50, delimiter in prop::sample::select(vec![',', ';', '\t', '|']), header: bool) {
        let with = |options: Options| Options { chunk_rows, ..options };
        let csv = t.csv(delimiter, header);
        let y = if header { "y".to_string() } else { (t.x[0].len() + 1).to_string() };
        t.is(&read("t.csv", &csv, with(target(&y))).unwrap());
        t.is(&read_stream(csv, with(target(&y))).unwrap());
        t.is(&read("t.svm.gz", gzip(t.libsvm().as_bytes()), with(Options::default())).unwrap());
        t.is(&read("t.vw", t.vw(), with(Options::default())).unwrap());
        t.is(&read("t.jsonl.zst", zstandard(t.jsonl().as_bytes()), with(target("y"))).unwrap());
    }

    /// The twin: the csv crate's fields, one by one through `str::parse`.
    #[test]
    fn fields_are_those_of_the_csv_crate(rows in prop::collection::vec(prop::collection::vec("[a-c \",;\n1]{0,6}", 3), 1..8), chunk_rows in 1usize..4) {
        let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
        writer.write_record(["p", "q", "r", "f"]).unwrap();
        rows.iter().for_each(|row| writer.write_record(row.iter().map(String::as_str).chain(["1"])).unwrap());
        let text = writer.into_inner().unwrap();
        let options = Options { features: vec!["f".into()], chunk_rows, ..target("q") };
        let all = read("t.csv", &text, options).unwrap();
        let twin: Vec<String> = csv::Reader::from_reader(&text[..]).records().map(|r| r.unwrap()[1].trim_matches(|c: char| c.is_ascii_whitespace()).to_string()).collect();
        for ((label, known), text) in all.labels.iter().zip(&all.known).zip(&twin) {
            prop_assert_eq!(*known, !text.is_empty());
            if let (true, Err(_)) = (*known, text.parse::<f64>()) {
                prop_assert_eq!(&label.to_string(), text);
            }
        }
        prop_assert_eq!(all.labels.len(), rows.len());
    }

    /// The same text as a target, and as a feature that others follow: each has its own path.
    #[test]
    fn numbers_are_those_of_the_standard_library(text in "[+-]?[0-9]{0,20}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?") {
        crate::bodies::number(text.as_bytes());
    }

    #[test]
    fn short_numbers_too(text in "[+-]?[0-9]{0,5}(\\.[0-9]{0,4})?") {
        crate::bodies::number(text.as_bytes());
    }
}
