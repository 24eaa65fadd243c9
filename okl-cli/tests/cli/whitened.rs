//! Words about whitening: what is done is said, at the beginning and at the end, and that it cannot be done.

use std::fmt::Write as _;

use crate::support::{Folder, Random, flat, json, succeed};

/// Rows of random numbers; the columns from `varying` on are constant.
fn rows(columns: usize, varying: usize) -> String {
    let mut random = Random(11);
    let names: Vec<String> = (0..columns).map(|j| format!("c{j}")).collect();
    let mut text = names.join(",") + "\n";
    for _ in 0..100 {
        let cells: Vec<String> =
            (0..columns).map(|j| if j < varying { format!("{:.3}", random.next()) } else { "1".into() }).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

const REMOVED: &str = "their correlations are removed (whiten)";
const UNLESS: &str = " unless a column after the 256th varies";
const DONE: &str = "Columns are whitened: their correlations over the first 64 examples are removed";
const NOT_DONE: &str = "Columns are not whitened, because a column after the 256th varies";

#[test]
fn the_end_says_what_the_beginning_said() {
    let folder = Folder::new("whitened");
    for (columns, varying, done) in [(10, 10, true), (256, 256, true), (257, 257, false), (300, 200, true)] {
        let data = folder.write("w.csv", rows(columns, varying));
        let learn = ["learn", &data, "--task", "novelty", "--warmup", "64"];
        let model = folder.path("m.okl");
        let said = flat(&succeed(&[&learn[..], &["-o", &model]].concat()).1);
        // The frame decides what is true.
        assert_eq!(okl::Learner::load(&model).unwrap().whitening().is_empty(), !done, "{columns}");
        assert!(said.contains(REMOVED), "{said}");
        assert_eq!(said.contains(&format!("{REMOVED}{UNLESS}")), columns > 256, "{said}");
        assert_eq!((said.contains(DONE), said.contains(NOT_DONE)), (done, !done), "{said}");
        let warned = |more: &[&str]| json(&[&learn[..], more].concat())["warnings"].to_string().contains(NOT_DONE);
        for more in [&[][..], &["--scale", "whiten"], &["--scale", "whiten", "--loss", "density"]] {
            assert_eq!(warned(more), !done, "{columns} {more:?}");
        }
    }
    // No column varies: there is nothing to remove.
    let data = folder.write("w.csv", rows(3, 0));
    let said = json(&["learn", &data, "--task", "novelty", "--warmup", "64", "--scale", "whiten"])["warnings"].to_string();
    assert!(said.contains("Columns are not whitened, because no column varies"), "{said}");
}
