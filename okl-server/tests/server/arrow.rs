//! Arrow streams that pyarrow has written (arrow.py), read into rows.

use std::path::Path;

use okl_server::arrow;
use okl_server::options::Options;
use okl_server::refusal::Refusal;
use okl_server::rows::{Rows, Target};
use okl_server::surface::TableColumns;
use serde_json::json;

use crate::support::{Folder, Running, config};

fn file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/server_arrow").join(name)).unwrap()
}

fn columns(targets: &[&str], weight: Option<&str>, id: Option<&str>, ignore: &[&str]) -> TableColumns {
    let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let (weight, id) = (weight.map(str::to_owned), id.map(str::to_owned));
    TableColumns { targets: all(targets), weight, id, ignore: all(ignore), ..TableColumns::default() }
}

fn read(name: &str, columns: &TableColumns) -> Result<Rows, Refusal> {
    arrow::rows(&file(name), columns, &Options::default())
}

#[test]
fn every_type_of_number_is_read() {
    let rows = read("types", &columns(&[], None, None, &["day"])).unwrap();
    let names = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "flag"];
    assert_eq!((rows.count, rows.names.as_ref().unwrap().as_slice()), (3, &names.map(str::to_owned)[..]));
    let row = |signed: f64, unsigned: f64, last: [f64; 3]| [&[signed; 4][..], &[unsigned; 4], &last].concat();
    let expected =
        [row(-1.0, 250.0, [0.5, 0.1, 1.0]), row(2.0, 0.0, [-2.25, -1e300, 0.0]), row(3.0, 7.0, [f64::from(1e10f32), 3.0, 1.0])];
    assert_eq!(rows.x, expected.concat());
    let refused = read("types", &columns(&[], None, None, &[])).unwrap_err();
    assert!(refused.text.contains("'day'"), "{refused}");
}

#[test]
fn targets_weights_ids_and_absent_numbers_are_read_over_batches() {
    let rows = read("batches", &columns(&["y"], Some("w"), Some("k"), &[])).unwrap();
    let text = |name: &str| Target::Text(name.into());
    assert_eq!(rows.targets.values, [text("cat"), text("dög"), Target::Missing, text(""), text("cat")]);
    assert_eq!((rows.weights.unwrap(), rows.ids.unwrap()), (vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![9, 8, 7, 6, 5]));
    assert_eq!((rows.x, rows.absent), (vec![1.5, 0.0, 3.5, 4.5, 5.5], vec![1]));
    let rows = read("large", &columns(&["y", "b"], None, None, &[])).unwrap();
    assert_eq!(rows.targets.values, [text("a"), Target::Flag(false)]);
    assert_eq!(read("empty", &columns(&[], None, None, &[])).unwrap().count, 0);
}

#[test]
fn what_is_not_read_is_named() {
    let none = columns(&[], None, None, &[]);
    let status = |name: &str, columns: &TableColumns, words: &str| {
        let refused = read(name, columns).unwrap_err();
        assert!(refused.text.contains(words), "{name}: {refused}");
        refused.status
    };
    assert_eq!(status("dictionary", &columns(&["y"], None, None, &[]), "dictionary"), 422);
    assert_eq!(status("compressed", &none, "without compression"), 415);
    assert_eq!(status("nested", &none, "'x'"), 422);
    assert_eq!(status("batches", &none, "'y': found text"), 422);
    assert_eq!(status("batches", &columns(&["z"], None, None, &["y"]), "no column 'z'"), 422);
    assert_eq!(status("batches", &columns(&["y"], Some("x"), None, &[]), "row 1: 'x' is absent"), 422);
    let few = Options { most_cells: 4, most_features: 3, ..Options::default() };
    assert_eq!(arrow::rows(&file("batches"), &columns(&["y"], None, None, &["w", "k"]), &few).unwrap_err().status, 413);
    assert_eq!(arrow::rows(&file("types"), &none, &few).unwrap_err().status, 413);
    // Every beginning of a stream that is not a whole number of messages is refused.
    let whole = file("batches");
    let taken = (1..whole.len())
        .filter(|cut| arrow::rows(&whole[..*cut], &columns(&["y"], None, None, &[]), &Options::default()).is_ok());
    assert!(taken.count() <= 4, "after the schema and after each batch");
}

#[test]
fn a_stream_is_learned_as_the_same_rows_in_json() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    for name in ["arrow", "json"] {
        server.put(&format!("/v1/models/{name}"), &json!({ "config": config() })).good();
    }
    let kind = [("content-type", "application/vnd.apache.arrow.stream")];
    let by_arrow = server.call("POST", "/v1/models/arrow/learn?target=flag&ignore=day,f64", &kind, &file("types")).good();
    let row = |i: f64, u: f64, f: f64| [[i; 4], [u; 4]].as_flattened().iter().copied().chain([f]).collect::<Vec<f64>>();
    // As text, because a map of names would be sorted.
    let names = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32"];
    let object =
        |row: &Vec<f64>| names.iter().zip(row).map(|(name, x)| format!("\"{name}\": {x}")).collect::<Vec<_>>().join(", ");
    let rows = [row(-1.0, 250.0, 0.5), row(2.0, 0.0, -2.25), row(3.0, 7.0, 1e10)];
    let rows = rows.iter().map(|row| format!("{{{}}}", object(row))).collect::<Vec<_>>().join(", ");
    let body = format!("{{\"rows\": [{rows}], \"targets\": [true, false, true]}}");
    let by_json = server.call("POST", "/v1/models/json/learn", &[], body.as_bytes()).good();
    assert_eq!(by_arrow["scores"], by_json["scores"]);
    assert!(server.model_file("arrow") == server.model_file("json"));
    let damaged = server.call("POST", "/v1/models/arrow/learn", &kind, b"ARROW1");
    assert_eq!((damaged.status, damaged.message().contains("Arrow")), (400, true), "{damaged:?}");
    let unknown = server.call("POST", "/v1/models/arrow/predict?ignore=y", &kind, &file("batches"));
    assert_eq!((unknown.status, unknown.message().contains("row 0: unknown column 'x'")), (422, true), "{unknown:?}");
}
