//! The command as people type it.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

use okl_papers::data::{Rows, USPS};
use okl_papers::{Context, names};

fn okl_papers(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_okl-papers")).args(arguments).output().expect("okl-papers starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An empty folder of its own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("reproduce-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn without_a_name_it_lists_the_experiments() {
    let output = okl_papers(&[]);
    assert_eq!(output.status.code(), Some(0));
    names().for_each(|name| assert!(text(&output.stdout).contains(name), "{name}"));
}

#[test]
fn an_unknown_name_is_a_wrong_command() {
    assert_eq!(okl_papers(&["norma"]).status.code(), Some(2));
}

#[test]
fn without_data_it_says_what_it_wants_and_where_it_comes_from() {
    let empty = folder("empty");
    for arguments in [&["norma-novelty"][..], &["norma-novelty", "--data", &empty.to_string_lossy()]] {
        let output = okl_papers(arguments);
        assert_eq!(output.status.code(), Some(1));
        for word in USPS.files.iter().chain(&[USPS.form, USPS.origin]) {
            assert!(text(&output.stderr).contains(word), "{word} is not in {}", text(&output.stderr));
        }
    }
}

fn csv(rows: &Rows) -> String {
    let mut out = (0..rows.features).map(|j| format!("p{j},")).collect::<String>() + "digit\n";
    for i in 0..rows.len() {
        rows.row(i).iter().for_each(|v| write!(out, "{v},").expect("text"));
        writeln!(out, "{}", rows.target(i)[0]).expect("text");
    }
    out
}

/// Stand-ins for USPS, written as files: the command reads them, runs and leaves a page.
#[test]
fn with_data_it_leaves_a_page() {
    let (folder, data) = (folder("page"), Context::smoke(5).load(&USPS).expect("stand-ins"));
    std::fs::write(folder.join("usps_train.csv"), csv(&data.train)).expect("a file");
    std::fs::write(folder.join("usps_test.csv"), csv(&data.test)).expect("a file");
    let page = folder.join("page.html");
    let output =
        okl_papers(&["norma-novelty", "--data", &folder.to_string_lossy(), "--out", &page.to_string_lossy(), "--seed", "9"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("page.html"));
    let html = std::fs::read_to_string(&page).expect("a page");
    assert!(html.contains("cargo run --release -p okl-papers -- norma-novelty --data DIR --seed 9"));
    assert!(html.contains(USPS.origin));
    assert!(!html.contains(&*folder.to_string_lossy()), "the page names a folder of this machine");
}
