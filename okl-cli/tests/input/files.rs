//! Several files as one stream, lists of names, nested JSON, comments.

use super::support::{Temp, read, refusal};
use crate::input::{Chunk, Files, Format, InputError, Options, Reader, names, read_ahead};

fn target(name: &str) -> Options {
    Options { targets: vec![name.into()], ..Options::default() }
}

fn drain(mut files: Files) -> Result<Vec<Chunk>, InputError> {
    std::iter::from_fn(|| files.next().transpose()).collect()
}

fn open(files: &[&Temp], options: Options) -> Result<Files, InputError> {
    Files::open(&files.iter().map(|file| file.path().to_string()).collect::<Vec<_>>(), options)
}

#[test]
fn several_files_are_one_stream() {
    let first = Temp::new("a.csv", "a,b,y\n1,2,x\n3,4,z\n");
    let second = Temp::new("b.csv", "y,b,a\nx,6,5\n\nz,8,7\n");
    let chunks = drain(open(&[&first, &second], target("y")).unwrap()).unwrap();
    let x: Vec<_> = chunks.iter().flat_map(|chunk| chunk.x.clone()).collect();
    assert_eq!(x, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let lines: Vec<u64> = chunks.iter().flat_map(|chunk| chunk.lines.clone()).collect();
    assert_eq!(lines, [2, 3, 5, 7], "lines are counted through all files");
    let mut ahead = read_ahead(open(&[&first, &second], target("y")).unwrap(), 2).unwrap();
    assert_eq!(ahead.by_ref().count(), 2);
    assert_eq!([2, 3, 5, 7].map(|line| ahead.places().of(line)), [(0, 2), (0, 3), (1, 2), (1, 4)]);
}

#[test]
fn levels_and_features_grow_from_file_to_file() {
    let (first, second) = (Temp::new("a.csv", "c,y\nred,1\n"), Temp::new("b.csv", "c,y\nblue,2\nred,3\n"));
    let chunks = drain(open(&[&first, &second], Options { one_hot: true, ..target("y") }).unwrap()).unwrap();
    let x: Vec<_> = chunks.iter().map(|chunk| (chunk.features, chunk.x.clone())).collect();
    assert_eq!(x, [(1, vec![1.0]), (2, vec![0.0, 1.0, 1.0, 0.0])]);
}

#[test]
fn a_file_that_does_not_fit_is_named_with_its_own_lines() {
    let first = Temp::new("a.csv", "a,y\n1,2\n");
    let (other, bad) = (Temp::new("b.csv", "b,y\n1,2\n"), Temp::new("c.csv", "a,y\n1,2\noops,3\n"));
    let refused = |files: &[&Temp]| open(files, target("y")).and_then(drain).unwrap_err().to_string();
    let text = refused(&[&first, &other]);
    assert!(text.contains("b.csv: column 'a' is missing"), "{text}");
    let text = refused(&[&first, &bad]);
    assert!(text.contains("c.csv, line 3, column 'a'"), "{text}");
    let none = Files::open(&[first.path().into(), "none.csv".into()], target("y"));
    assert!(none.err().unwrap().to_string().contains("none.csv: no such file"), "known before the first file is read");
}

/// The fingerprint after the last of some lines.
fn print_of(text: &str) -> u64 {
    let reader = Reader::of("t", std::io::Cursor::new(text.to_string()), Options { format: Some(Format::Csv), ..target("y") });
    *drain(reader.unwrap().into()).unwrap().last().unwrap().prints.last().unwrap()
}

#[test]
fn rows_that_were_consumed_are_known_again() {
    let rows: Vec<String> = (0..300).map(|i| format!("{i},{}\n", i * i)).collect();
    let file = |rows: &[String]| format!("a,y\n{}", rows.concat());
    let print = print_of(&file(&rows[..200]));
    let whole = file(&rows);
    let resumed = |text: &str| {
        let options = Options { format: Some(Format::Csv), after_line: 201, consumed: Some(print), ..target("y") };
        Reader::of("t", std::io::Cursor::new(text.to_string()), options).and_then(|reader| drain(reader.into()))
    };
    assert_eq!(resumed(&whole).unwrap().iter().map(|chunk| chunk.rows).sum::<usize>(), 100);
    assert_eq!(resumed(&file(&rows[..200])).unwrap().len(), 0, "all of it is consumed");
    assert_eq!(resumed(&whole.replace('\n', "\r\n")).unwrap().len(), resumed(&whole).unwrap().len(), "other line ends");
    let text = resumed(&file(&rows[..150])).unwrap_err().to_string();
    assert!(text.contains("ends before line 201") && text.contains("same data"), "{text}");
    let mut shuffled = rows.clone();
    shuffled.swap(10, 250);
    let text = resumed(&file(&shuffled)).unwrap_err().to_string();
    assert!(text.contains("line 201") && text.contains("differ from the rows that the model has learned"), "{text}");
    let mut last = rows.clone();
    last.swap(299, 298);
    resumed(&file(&last)).unwrap();
    // The same over two files, wherever the boundary is.
    for cut in [1, 150, 199, 200, 201, 299] {
        let (first, second) = (Temp::new("a.csv", file(&rows[..cut])), Temp::new("b.csv", file(&rows[cut..])));
        let header = u64::from(cut < 200);
        let options = Options { after_line: 201 + header, consumed: Some(print), ..target("y") };
        let chunks = open(&[&first, &second], options.clone()).and_then(drain).unwrap();
        assert_eq!(chunks.iter().map(|chunk| chunk.rows).sum::<usize>(), 100, "{cut}");
        assert!(open(&[&second, &first], options).and_then(drain).is_err(), "{cut}: the other order");
    }
}

#[test]
fn lists_of_names_are_quoted_as_in_csv() {
    assert_eq!(names("a,b"), ["a", "b"]);
    assert_eq!(names("\"a,b\",c"), ["a,b", "c"]);
    assert_eq!(names("\"say \"\"hi\"\"\",x y"), ["say \"hi\"", "x y"]);
    assert_eq!(names(""), [""; 0]);
    let text = refusal("t.csv", "\"a,b\",c\n1,2\n", Options { ignore: vec!["a".into(), "b".into()], ..target("c") });
    assert!(text.contains("no column 'a'") && text.contains("into quotes"), "{text}");
}

#[test]
fn arrays_and_objects_in_json() {
    let rows =
        "{\"y\": 1, \"a\": 2, \"tags\": [1, 2], \"o\": {\"p\": 3}}\n{\"y\": 1, \"a\": 2, \"tags\": [1], \"o\": {\"p\": 3}}\n";
    let text = refusal("t.jsonl", rows, target("y"));
    assert!(text.contains("line 2, column 'tags.1'") && text.contains("--ignore tags"), "{text}");
    let ignoring = Options { ignore: vec!["tags".into()], ..target("y") };
    assert_eq!(read("t.jsonl", rows, ignoring).unwrap().x, [[2.0, 3.0], [2.0, 3.0]]);
    let choosing = Options { features: vec!["o".into()], ..target("y") };
    assert_eq!(read("t.jsonl", rows, choosing).unwrap().x, [[3.0], [3.0]]);
    for (options, word) in
        [(target("tags"), "tags.0"), (target("o"), "o.key"), (Options { id: Some("tags".into()), ..target("y") }, "tags.0")]
    {
        let text = refusal("t.jsonl", rows, options);
        assert!(text.contains("line 1") && text.contains("expected a number or text") && text.contains(word), "{text}");
    }
}

#[test]
fn comments() {
    let rows = "# made by hand\n# twice\n1 1:2 # a comment\n\n# between\n-1 2:3\n";
    let all = read("t.libsvm", rows, Options::default()).unwrap();
    assert_eq!(all.x, [[2.0, 0.0], [0.0, 3.0]]);
    assert_eq!(read("t.txt", rows, Options::default()).unwrap(), all, "found from the content");
    let text = refusal("t.csv", "# made by hand\na,b,y\n1,2,3\n", target("y"));
    assert!(text.contains("first line begins with '#'") && text.contains("CSV has no comments"), "{text}");
    let text = refusal("t.csv", "a,b,y\n1,2,3\n# between\n", target("y"));
    assert!(text.contains("line 3") && text.contains("CSV has no comments"), "{text}");
    assert_eq!(read("t.csv", "#a,b,y\n1,2,3\n", target("y")).unwrap().x, [[1.0, 2.0]], "a name may begin with it");
}
