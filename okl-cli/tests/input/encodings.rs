//! Text that is not UTF-8: refused where it stands, or decoded.

use super::support::{read, read_stream, refusal};
use crate::input::{Encoding, Format, Options};
use okl::Label;

fn target(name: &str) -> Options {
    Options { targets: vec![name.into()], ..Options::default() }
}

fn encoded(encoding: Encoding) -> Options {
    Options { encoding: Some(encoding), ..target("y") }
}

const TEXT: &str = "a,größe,y\n1,2,thé\n3,4,thè\n5,6,\u{20ac}uro\n";

fn utf16(text: &str, big: bool, mark: bool) -> Vec<u8> {
    let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
    units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

/// Every letter one byte: its code, which is what Latin-1 is.
fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
}

#[test]
fn bytes_that_are_not_utf_8_are_refused_with_line_and_column() {
    let rows = latin1("a,y\n1,thé\n2,thè\n");
    let text = refusal("t.csv", &rows, target("y"));
    assert!(text.contains("t.csv, line 2, column 'y': found 'th\\xe9'") && text.contains("--encoding latin1"), "{text}");
    let text = refusal("t.csv", latin1("a,größe,y\n1,2,x\n"), target("y"));
    assert!(text.contains("line 1, column 2") && text.contains("gr\\xf6\\xdfe") && text.contains("--encoding latin1"), "{text}");
    let one_hot = Options { one_hot: true, ..target("y") };
    let text = refusal("t.csv", latin1("a,y\nthé,1\n"), one_hot);
    assert!(text.contains("line 2, column 'a'") && text.contains("--encoding latin1"), "{text}");
    for (name, line) in [("t.jsonl", "{\"a\": 1, \"y\": \"thé\"}\n"), ("t.vw", "1 | thé:2\n"), ("t.libsvm", "thé 1:2\n")] {
        let text = refusal(
            name,
            latin1(line),
            Options { targets: Vec::from_iter((name == "t.jsonl").then(|| "y".into())), ..Options::default() },
        );
        assert!(text.contains("line 1") && text.contains("--encoding latin1"), "{text}");
    }
    // A column that nobody reads may hold anything.
    let ignoring = Options { ignore: vec!["b".into()], ..target("y") };
    assert_eq!(read("t.csv", latin1("a,b,y\n1,thé,2\n"), ignoring).unwrap().x, [[1.0]]);
}

#[test]
fn every_encoding_reads_the_same_text() {
    let plain = read("t.csv", TEXT, target("y")).unwrap();
    assert_eq!(plain.labels, ["thé", "thè", "\u{20ac}uro"].map(Label::from));
    for (big, mark, options) in [(false, true, target("y")), (true, true, target("y")), (false, false, encoded(Encoding::Utf16))]
    {
        assert_eq!(read("t.csv", utf16(TEXT, big, mark), options.clone()).unwrap(), plain, "{big} {mark}");
        assert_eq!(read_stream(utf16(TEXT, big, mark), Options { format: Some(Format::Csv), ..options }).unwrap(), plain);
    }
    let marked = [b"\xef\xbb\xbf".as_slice(), TEXT.as_bytes()].concat();
    assert_eq!(read("t.csv", marked, target("y")).unwrap(), plain);
    // In Windows-1252 the euro sign is 0x80, which Latin-1 does not have.
    let windows = latin1(&TEXT.replace('\u{20ac}', "\u{80}"));
    assert_eq!(read("t.csv", windows, encoded(Encoding::Windows1252)).unwrap(), plain);
    let narrow = TEXT.replace('\u{20ac}', "e");
    assert_eq!(read("t.csv", latin1(&narrow), encoded(Encoding::Latin1)).unwrap(), read("t.csv", &narrow, target("y")).unwrap());
}

#[test]
fn letters_beyond_the_first_plane_and_halves_of_them() {
    let text = format!("a,y\n{}1,x\u{1f600}\n", "1,b\n".repeat(20_000));
    let all = read("t.csv", utf16(&text, false, true), target("y")).unwrap();
    assert_eq!((all.x.len(), all.labels.last()), (20_001, Some(&Label::from("x\u{1f600}"))));
    let mut half = utf16("a,y\n1,x", false, true);
    half.extend_from_slice(&[0x3d, 0xd8]);
    assert!(refusal("t.csv", &half, target("y")).contains("not UTF-8"));
    half.pop();
    assert!(refusal("t.csv", &half, target("y")).contains("not UTF-8"));
}
