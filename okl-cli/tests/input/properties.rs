//! Tables of any shape come back as they were written, in every format and however they are cut; the fast parts agree with naive twins.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;

use crate::input::{Options, hash_feature};
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

/// The name and the value of a feature.
type VwFeature = (String, Option<i32>);

/// A line of VW text: namespaces with a scale, and their features; `bad` is a word that cannot be read.
#[derive(Clone, Debug)]
struct VwLine {
    spaces: Vec<(String, Option<i32>, Vec<VwFeature>)>,
    gap: &'static str,
    bad: Option<&'static str>,
}

impl VwLine {
    fn text(&self) -> String {
        let mut text = "1".to_string();
        for (space, scale, features) in &self.spaces {
            let scale = scale.filter(|_| !space.is_empty()).map_or(String::new(), |scale| format!(":{scale}"));
            write!(text, "{}|{space}{scale}", self.gap).unwrap();
            for (name, value) in features {
                let value = value.map_or(String::new(), |value| format!(":{}", f64::from(value) / 8.0));
                write!(text, "{}{name}{value}", self.gap).unwrap();
            }
        }
        text + &self.bad.map_or(String::new(), |bad| format!(" | {bad}"))
    }

    /// Namespace, name and value of every feature.
    fn features(&self) -> impl Iterator<Item = (&str, &str, f64)> {
        self.spaces.iter().flat_map(|(space, scale, features)| {
            let scale = scale.filter(|_| !space.is_empty()).map_or(1.0, f64::from);
            features.iter().map(move |(name, value)| {
                (space.as_str(), name.as_str(), scale * value.map_or(1.0, |value| f64::from(value) / 8.0))
            })
        })
    }
}

fn vw_line() -> impl Strategy<Value = VwLine> {
    let name = prop_oneof!["[a-dé^]{1,2}", "[0-9]{1,3}", "x{21,26}"];
    let feature = (name, prop::option::of(-99_999i32..99_999));
    let space = ("[a-bü]{0,2}", prop::option::of(-9i32..9), prop::collection::vec(feature, 0..6));
    let gaps = prop::sample::select(vec![" ", "\t", "  "]);
    let bad = prop::sample::select(vec![None, None, None, Some("new:x"), Some(":1"), Some("a:1e99")]);
    (prop::collection::vec(space, 1..4), gaps, bad).prop_map(|(spaces, gap, bad)| VwLine { spaces, gap, bad })
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

    /// The twin: words split by the standard library, names in a plain map. Rows that cannot be read add no names.
    #[test]
    fn vw_text_is_that_of_a_naive_twin(lines in prop::collection::vec(vw_line(), 1..30), chunk_rows in 1usize..8) {
        let text: String = lines.iter().map(|line| format!("{}\n", line.text())).collect();
        let with = |hash_bits| Options { hash_bits, chunk_rows, skip_bad_rows: true, ..Options::default() };
        let good: Vec<&VwLine> = lines.iter().filter(|line| line.bad.is_none()).collect();
        prop_assume!(good.first().is_some_and(|line| line.features().next().is_some()));
        let (mut names, mut rows) = (Vec::<String>::new(), Vec::new());
        for line in &good {
            let mut row = BTreeMap::<usize, f64>::new();
            for (space, name, value) in line.features() {
                let full = if space.is_empty() { name.to_string() } else { format!("{space}^{name}") };
                let at = names.iter().position(|known| *known == full).unwrap_or_else(|| {
                    names.push(full);
                    names.len() - 1
                });
                *row.entry(at).or_default() += value;
            }
            rows.push(row);
        }
        let all = read("t.vw", &text, with(None)).unwrap();
        prop_assert_eq!(&all.names, &names);
        let dense = |row: &BTreeMap<usize, f64>, width: usize| (0..width).map(|at| row.get(&at).copied().unwrap_or(0.0)).collect::<Vec<f64>>();
        prop_assert_eq!(all.x, rows.iter().map(|row| dense(row, names.len())).collect::<Vec<_>>());
        for bits in [3, 9] {
            let hashed = |line: &&VwLine| line.features().fold(BTreeMap::<usize, f64>::new(), |mut row, (space, name, value)| {
                *row.entry(hash_feature(space.as_bytes(), name.as_bytes(), bits) as usize).or_default() += value;
                row
            });
            // A row that stays sparse is given as its columns and values.
            let given = |row: BTreeMap<usize, f64>| match bits {
                3 => dense(&row, 8),
                _ => {
                    let mut pairs: Vec<f64> =
                        row.into_iter().filter(|(_, value)| *value != 0.0).flat_map(|(at, value)| [at as f64, value]).collect();
                    pairs.resize(512, 0.0);
                    pairs
                }
            };
            let all = read("t.vw", &text, with(Some(bits))).unwrap();
            prop_assert_eq!(all.x, good.iter().map(|line| given(hashed(line))).collect::<Vec<_>>());
        }
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
