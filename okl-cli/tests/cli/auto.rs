//! Settings that nobody gives: said in words, frozen, and bounded in memory.

use crate::support::{Folder, fail, flat, json, okl, ring, succeed};

#[test]
fn what_it_settled_on_is_said_and_can_be_frozen() {
    let folder = Folder::new("freeze");
    let (data, bank, plain) = (folder.write("ring.csv", ring(1500)), folder.path("bank.okl"), folder.path("plain.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &bank]);
    let (words, _) = succeed(&["inspect", &bank]);
    assert!(words.contains("41 settings in parallel:") && words.contains("gamma"), "{words}");
    let (_, said) = succeed(&["freeze", &bank, "-o", &plain]);
    assert!(said.contains(", which had "), "{said}");
    let (words, _) = succeed(&["inspect", &plain]);
    assert!(!words.contains("in parallel") && !words.contains("auto"), "{words}");
    // A plain model has nothing to freeze.
    let said = flat(&succeed(&["freeze", &plain, "-o", &folder.path("copy.okl")]).1);
    assert!(said.contains("is a plain model already") && !said.contains(", which had "), "{said}");
    // The plain model goes on where the bank stood.
    let again = json(&["learn", &data, "--resume", &plain]);
    assert!(again["summary"]["error"].as_f64().unwrap() < 0.02, "{again}");
}

#[test]
fn nothing_is_frozen_before_it_has_settled() {
    let folder = Folder::new("early");
    let (data, bank) = (folder.write("ring.csv", ring(100)), folder.path("bank.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &bank]);
    fail(&["freeze", &bank, "-o", &folder.path("plain.okl")], 2, &["final after 256 examples"]);
}

#[test]
fn memory_stands_for_terms() {
    let folder = Folder::new("megabytes");
    let (data, model) = (folder.write("ring.csv", ring(1500)), folder.path("m.okl"));
    let learn = ["learn", &data, "--target", "where"];
    let (_, said) = succeed(&[&learn[..], &["--memory", "20kB", "-o", &model]].concat());
    // (4 + 8) * 2 features + 24 + 4 of weighted columns + 8 * 31 functions + 128 * 6 kernels + 36 of `merge`, and 1/32 of it: 1,139 bytes, and 17 terms take 19,363.
    assert!(said.contains("budget = merge:terms=17") && said.contains("at most 17 terms, 20 kB of memory"), "{said}");
    assert!(succeed(&["inspect", &model]).0.contains("17 of 2 features"));
    let refuse = |more: &[&str], words: &str| fail(&[&learn[..], more].concat(), 2, &["memory", words]);
    refuse(&["--memory", "5kB", "--budget", "age:100"], "window, transfer, merge");
    refuse(&["--memory", "100B"], "takes 1139 bytes");
    refuse(&["--memory", "5kB", "--resume", &model], "remove this flag");
    for (more, words) in [(&["5kB", "--terms", "7"][..], "cannot be used with"), (&["5"], "64MB")] {
        let refused = okl(&[&learn[..], &["--memory"], more].concat()).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(2) && said.contains(words), "{said}");
    }
}

/// A weight vector of whitened rows that leads a bank is a plain model, too: its file loads, and it predicts what the member predicted.
#[test]
fn a_frozen_weight_vector_of_whitened_rows_predicts() {
    let folder = Folder::new("freeze-whitened");
    let row = |i: usize| {
        let (a, b, c) = ((i * 37 % 101) as f64 / 50.0, (i * 53 % 97) as f64 / 48.0, (i * 71 % 89) as f64 / 44.0);
        format!("{a},{},{c},{}\n", a + 0.2 * b, 5.0 * a - 3.0 * b + 2.0 * c)
    };
    let data = folder.write("d.csv", (0..1500).fold(String::from("a,b,c,y\n"), |all, i| all + &row(i)));
    let [bank, plain, predicted] = ["bank.okl", "plain.okl", "p.csv"].map(|name| folder.path(name));
    succeed(&["learn", &data, "--target", "y", "--scale", "whiten", "-o", &bank, "--save-model", "recent"]);
    succeed(&["freeze", &bank, "-o", &plain]);
    let learner = okl::Learner::load(&plain).unwrap();
    assert!(learner.config().uses_weights() && learner.whitening().len() == 6, "the case occurs");
    succeed(&["predict", &plain, &data, "-o", &predicted]);
    let found: Vec<f64> =
        folder.read("p.csv").lines().skip(1).map(|line| line.split(',').next_back().unwrap().parse().unwrap()).collect();
    let frozen = okl::Learner::load(&bank).unwrap().freeze().unwrap();
    let x: Vec<f64> = folder
        .read("d.csv")
        .lines()
        .skip(1)
        .flat_map(|line| line.split(',').take(3).map(|x| x.parse::<f64>().unwrap()).collect::<Vec<_>>())
        .collect();
    assert_eq!(found, frozen.predict(&okl::Batch::of_f64(&x, 3)).unwrap().values);
}
