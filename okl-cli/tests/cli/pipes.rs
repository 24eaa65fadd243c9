//! Data that can be read only once: pipes with a name.

use std::fs;
use std::process::Command;
use std::thread;

use crate::support::{Folder, fail, gzip, json, ring, succeed, succeed_with};

/// A named pipe; a thread writes the bytes into it once.
fn pipe(folder: &Folder, name: &str, bytes: &[u8]) -> String {
    let path = folder.path(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let (to, bytes) = (path.clone(), bytes.to_vec());
    thread::spawn(move || drop(fs::write(to, bytes)));
    path
}

/// A run over a pipe, which must not wait for ever: the pipe has one writer, so a program that opens it twice would.
fn summary(args: &[&str]) -> serde_json::Value {
    json(args)["summary"].clone()
}

#[test]
fn a_named_pipe_is_read_once_and_from_its_first_byte() {
    let folder = Folder::new("fifo");
    let (rows, file) = (ring(60), folder.write("s.csv", ring(60)));
    let plain = json(&["learn", &file, "--target", "where", "--test", &file, "-o", &folder.path("m.okl")]);
    let data = pipe(&folder, "data", rows.as_bytes());
    let test = pipe(&folder, "test", &gzip(&rows));
    let piped = json(&["learn", &data, "--target", "where", "--test", &test]);
    assert_eq!((&piped["summary"], &piped["held_out"]), (&plain["summary"], &plain["held_out"]));
    let packed = pipe(&folder, "packed", &gzip(&rows));
    assert_eq!(summary(&["learn", &packed, "--target", "where"]), plain["summary"]);
    let asked = pipe(&folder, "asked", rows.as_bytes());
    let model = folder.path("m.okl");
    assert_eq!(succeed(&["predict", &model, &asked]).0, succeed(&["predict", &model, &file]).0);
}

#[test]
fn standard_input_by_its_path_keeps_its_first_bytes() {
    let folder = Folder::new("dev-stdin");
    let (rows, file) = (ring(60), folder.write("s.csv", ring(60)));
    let args = |data| ["learn", data, "--target", "where", "--json"];
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["summary"].clone();
    let plain = read(&succeed(&args(&file)).0);
    for input in [rows.as_bytes(), &gzip(&rows)] {
        assert_eq!(read(&succeed_with(&args("/dev/stdin"), input).0), plain);
    }
}

#[test]
fn what_needs_a_file_refuses_a_pipe() {
    let folder = Folder::new("fifo-refused");
    let data = folder.path("data");
    assert!(Command::new("mkfifo").arg(&data).status().unwrap().success());
    let learn = ["learn", &data, "--target", "where"];
    for flag in [["--passes", "2"], ["--shuffle", "1"]] {
        fail(&[&learn[..], &flag].concat(), 2, &[flag[0], "is a pipe", "give a file"]);
    }
    fail(&[&learn[..], &["--test", &data]].concat(), 2, &["--test", "pipe", "give a file"]);
    fail(&[&learn[..], &["--format", "parquet"]].concat(), 2, &["Parquet", "give it as a file"]);
    fail(&["learn", &data, &data, "--target", "where"], 2, &["only once", "give it as a file"]);
}
