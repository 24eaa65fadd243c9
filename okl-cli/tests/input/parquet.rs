//! Parquet files, written with the format's own column writers.

use std::sync::Arc;

use okl::Label;
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use crate::input::Options;
use crate::support::{read, read_stream, refusal, target};

/// One row group of a column.
enum Column<'a> {
    Bools(&'a [bool]),
    Ints(&'a [i32]),
    Longs(&'a [i64]),
    Floats(&'a [f32]),
    Doubles(&'a [f64]),
    /// Values that are there, and which are.
    Some(&'a [f64], &'a [i16]),
    Texts(&'a [&'a str]),
}

fn write(schema: &str, compression: Compression, groups: &[Vec<Column<'_>>]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {schema} }}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    for columns in groups {
        let mut group = file.next_row_group().unwrap();
        for column in columns {
            let mut out = group.next_column().unwrap().unwrap();
            match column {
                Column::Bools(v) => out.typed::<BoolType>().write_batch(v, None, None),
                Column::Ints(v) => out.typed::<Int32Type>().write_batch(v, None, None),
                Column::Longs(v) => out.typed::<Int64Type>().write_batch(v, None, None),
                Column::Floats(v) => out.typed::<FloatType>().write_batch(v, None, None),
                Column::Doubles(v) => out.typed::<DoubleType>().write_batch(v, None, None),
                Column::Some(v, there) => out.typed::<DoubleType>().write_batch(v, Some(there), None),
                Column::Texts(v) => {
                    let texts: Vec<ByteArray> = v.iter().map(|t| ByteArray::from(*t)).collect();
                    out.typed::<ByteArrayType>().write_batch(&texts, None, None)
                }
            }
            .unwrap();
            out.close().unwrap();
        }
        group.close().unwrap();
    }
    file.into_inner().unwrap()
}

const SCHEMA: &str =
    "required boolean flag; required int32 i; required int64 id; required float f; required binary c (UTF8); optional double y;";

fn sample() -> Vec<u8> {
    let group = |a: &'static [bool], y: &'static [f64], there: &'static [i16]| {
        let texts = Column::Texts(&["u", "v"]);
        vec![
            Column::Bools(a),
            Column::Ints(&[1, -2]),
            Column::Longs(&[i64::MAX, 7]),
            Column::Floats(&[0.5, 2.0]),
            texts,
            Column::Some(y, there),
        ]
    };
    write(SCHEMA, Compression::SNAPPY, &[group(&[true, false], &[3.0, 4.0], &[1, 1]), group(&[false, false], &[5.0], &[0, 1])])
}

#[test]
fn every_type_and_several_row_groups() {
    for name in ["t.parquet", "t"] {
        for chunk_rows in [1, 3, 100] {
            let options = Options { id: Some("id".into()), one_hot: true, chunk_rows, ..target("y") };
            let all = read(name, sample(), options).unwrap();
            assert_eq!(all.names, ["flag", "i", "f", "c=u", "c=v"]);
            assert_eq!(all.x, [[1., 1., 0.5, 1., 0.], [0., -2., 2., 0., 1.], [0., 1., 0.5, 1., 0.], [0., -2., 2., 0., 1.]]);
            assert_eq!((all.numbers, all.known), (Some(vec![3.0, 4.0, 0.0, 5.0]), vec![true, true, false, true]));
            assert_eq!((all.ids, all.lines), (vec![i64::MAX as u64, 7, i64::MAX as u64, 7], vec![1, 2, 3, 4]));
        }
    }
    let all = read("t.parquet", sample(), Options { features: vec!["i".into()], ..target("c") }).unwrap();
    assert_eq!(
        (all.x, all.labels[..2].to_vec()),
        (vec![vec![1.0], vec![-2.0], vec![1.0], vec![-2.0]], vec![Label::from("u"), "v".into()])
    );
}

#[test]
fn what_is_refused() {
    let text = "t.parquet, row 1, column 'c': found 'u', expected a number; use --one-hot c, --text c or --ignore c";
    assert_eq!(refusal("t.parquet", sample(), Options { ignore: vec!["id".into()], ..target("y") }), text);
    let missing = Options { features: vec!["y".into()], ..target("i") };
    assert!(refusal("t.parquet", sample(), missing).starts_with("t.parquet, row 3, column 'y': the value is missing"));
    assert!(refusal("t.parquet", "a,b\n1,2\n", target("b")).contains("not a Parquet file"));
    let stream = read_stream(sample(), target("y")).unwrap_err().to_string();
    assert!(stream.contains("cannot be read from a stream"), "{stream}");
    let infinite = write(
        "required double a; required double y;",
        Compression::UNCOMPRESSED,
        &[vec![Column::Doubles(&[1.0, f64::INFINITY]), Column::Doubles(&[1.0, 2.0])]],
    );
    assert!(refusal("t.parquet", &infinite, target("y")).contains("row 2, column 'a': found inf, expected a finite number"));
    let all = read("t.parquet", infinite, Options { skip_bad_rows: true, ..target("y") }).unwrap();
    assert_eq!((all.x, all.bad), (vec![vec![1.0]], vec![(1, 2)]));
}

/// A column of timestamps or dates is called one, and refused unless --time names it, as in text.
#[test]
fn timestamps_are_named() {
    // 2024-01-01.
    let seconds = 1_704_067_200_i64;
    let table = |kind: &str, per_second: i64| {
        let schema = format!("required int64 when ({kind}); required double y;");
        let cells = [seconds * per_second];
        write(&schema, Compression::UNCOMPRESSED, &[vec![Column::Longs(&cells), Column::Doubles(&[1.0])]])
    };
    for (kind, per_second, words) in [
        ("TIMESTAMP(NANOS,true)", 1_000_000_000, "timestamps, in nanoseconds since 1970"),
        ("TIMESTAMP(MICROS,false)", 1_000_000, "timestamps, in microseconds since 1970"),
        ("TIMESTAMP_MICROS", 1_000_000, "timestamps, in microseconds since 1970"),
    ] {
        let said = refusal("t.parquet", table(kind, per_second), target("y"));
        assert!(said.contains("column 'when'") && said.contains(words) && said.contains("--ignore when"), "{said}");
        assert!(!said.contains("rescale") && !said.contains("--on-bad-row"), "{said}");
    }
    let dates = vec![Column::Ints(&[19_723]), Column::Doubles(&[1.0])];
    let dates = write("required int32 when (DATE); required double y;", Compression::UNCOMPRESSED, &[dates]);
    let said =
        [refusal("t.parquet", table("TIMESTAMP(MILLIS,true)", 1000), target("y")), refusal("t.parquet", dates, target("y"))];
    assert!(said[0].contains("timestamps, in milliseconds since 1970, expected numbers; say --time when"), "{said:?}");
    assert!(said[1].contains("column 'when': the column has dates, expected numbers; say --time when"), "{said:?}");
    // A model that has learned the numbers reads them.
    let schema = read("t.csv", "when,y\n1,2\n", target("y")).unwrap().schema;
    let options = Options { schema: Some(schema), ..Options::default() };
    let all = read("t.parquet", table("TIMESTAMP(MILLIS,true)", 1000), options).unwrap();
    assert_eq!(all.x[0][0], 1000.0 * seconds as f64);
    // A number that is no timestamp is still to be rescaled.
    let schema = "required int64 when; required double y;";
    let large = write(schema, Compression::UNCOMPRESSED, &[vec![Column::Longs(&[i64::MAX]), Column::Doubles(&[1.0])]]);
    assert!(refusal("t.parquet", large, target("y")).contains("rescale this column"));
}

/// Times in every unit are the same moments as their texts; kept columns are copied, also those that are used otherwise.
#[test]
fn times_and_texts_are_passed_on() {
    let times = |name: &str, bytes: Vec<u8>| read(name, bytes, Options { times: vec!["when".into()], ..target("y") }).unwrap();
    let csv = times("t.csv", b"when,y\n2024-01-01,1\n2024-01-04T18:00,1\n".to_vec());
    // 2024-01-01, and three days and 18 hours later.
    let seconds = [1_704_067_200_i64, 1_704_067_200 + 90 * 3600];
    for (kind, per_second) in [
        ("TIMESTAMP(NANOS,true)", 1_000_000_000),
        ("TIMESTAMP_MICROS", 1_000_000),
        ("TIMESTAMP_MILLIS", 1000),
        ("", 1000),
        ("", 1),
    ] {
        let kind = if kind.is_empty() { String::new() } else { format!("({kind})") };
        let cells = seconds.map(|second| second * per_second);
        let schema = format!("required int64 when {kind}; required double y;");
        let file = write(&schema, Compression::UNCOMPRESSED, &[vec![Column::Longs(&cells), Column::Doubles(&[1.0, 1.0])]]);
        assert_eq!(times("t.parquet", file).x, csv.x, "{kind} {per_second}");
    }
    let dates = vec![Column::Ints(&[19_723, 19_724]), Column::Doubles(&[1.0, 1.0])];
    let file = write("required int32 when (DATE); required double y;", Compression::UNCOMPRESSED, &[dates]);
    assert_eq!(times("t.parquet", file).x.iter().map(|row| row[0]).collect::<Vec<_>>(), [0.0, 1.0]);
    // Times that are kept are texts: 1969-12-31 at 23:59:59.5, and a leap day.
    let cells = vec![Column::Longs(&[-500, 1_709_208_000_000]), Column::Ints(&[-1, 19_782]), Column::Doubles(&[1.0, 1.0])];
    let schema = "required int64 when (TIMESTAMP(MILLIS,true)); required int32 day (DATE); required double y;";
    let keep = ["when", "day"].map(ToString::to_string).to_vec();
    let options = Options { times: vec!["when".into()], ignore: vec!["day".into()], keep, ..target("y") };
    let kept = read("t.parquet", write(schema, Compression::UNCOMPRESSED, &[cells]), options).unwrap().kept;
    assert_eq!(kept, ["1969-12-31T23:59:59.500Z", "1969-12-31", "2024-02-29T12:00:00Z", "2024-02-29"]);
    let keep = ["c", "id", "y"].map(ToString::to_string).to_vec();
    let options = Options { ignore: vec!["id".into(), "c".into()], keep, ..target("y") };
    let plain = Options { keep: Vec::new(), ..options.clone() };
    let (all, plain) = (read("t.parquet", sample(), options).unwrap(), read("t.parquet", sample(), plain).unwrap());
    assert_eq!(all.kept[..6], ["u", "9223372036854775807", "3.0", "v", "7", "4.0"]);
    assert_eq!((all.x, all.numbers), (plain.x, plain.numbers));
}

#[test]
fn a_schema_reads_csv_and_parquet_alike() {
    let schema = read("t.csv", "f,i,y\n1,2,3\n", target("y")).unwrap().schema;
    let all = read("t.parquet", sample(), Options { schema: Some(schema), ..Options::default() }).unwrap();
    assert_eq!(all.x[1], [2.0, -2.0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_come_back(
        groups in prop::collection::vec(prop::collection::vec((-1e6f32..1e6, any::<f32>().prop_filter("taken", |v| v.abs() < 1e15)), 1..2500), 1..3),
        chunk_rows in 1usize..3000,
        which in 0usize..4,
    ) {
        let compression = [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default()), Compression::LZ4_RAW][which];
        let columns: Vec<(Vec<f32>, Vec<f64>)> = groups.iter().map(|g| g.iter().map(|(x, y)| (*x, f64::from(*y))).unzip()).collect();
        let written: Vec<Vec<Column<'_>>> = columns.iter().map(|(x, y)| vec![Column::Floats(x), Column::Doubles(y)]).collect();
        let bytes = write("required float a; required double y;", compression, &written);
        let all = read("t.parquet", bytes, Options { chunk_rows, ..target("y") }).unwrap();
        let (x, y): (Vec<Vec<f64>>, Vec<f64>) = groups.iter().flatten().map(|(x, y)| (vec![f64::from(*x)], f64::from(*y))).unzip();
        prop_assert_eq!((all.x, all.numbers), (x, Some(y)));
    }
}
