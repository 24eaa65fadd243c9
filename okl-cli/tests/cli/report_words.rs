//! The words of the report: every label says what its number is.

use std::fmt::Write;

use crate::support::{Folder, Random, flat, json, succeed};

/// The report of a table, with further flags.
fn report(folder: &Folder, text: &str, flags: &[&str]) -> String {
    let (data, page) = (folder.write("t.csv", text), folder.path("r.html"));
    succeed(&[&["learn", &data, "--report", &page, "--quiet"][..], flags].concat());
    folder.read("r.html")
}

/// The tile of a label: its number, and the small words below it.
fn tile(page: &str, label: &str) -> [String; 2] {
    let (before, after) = page.split_once(&format!("<span>{label}</span>")).unwrap_or_else(|| panic!("{label}"));
    let number = before.rsplit("<b>").next().unwrap().split('<').next().unwrap();
    let small = after.split("</li>").next().unwrap().split("<small>").nth(1).unwrap_or_default();
    [number.into(), small.split('<').next().unwrap().into()]
}

fn ten_classes(rows: usize) -> String {
    let mut random = Random(7);
    let mut text = String::from("a,b,k\n");
    for _ in 0..rows {
        let [a, b] = [random.next(), random.next()];
        writeln!(text, "{a:.4},{b:.4},k{}", (10.0 * a) as usize).unwrap();
    }
    text
}

#[test]
fn an_accuracy_is_called_so() {
    let folder = Folder::new("words-accuracy");
    let page = report(&folder, &ten_classes(1500), &["--target", "k"]);
    let [repeated, frequent] = tile(&page, "accuracy by repeating the last label");
    let percent = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<f64>().unwrap();
    assert!((5.0..15.0).contains(&percent(&repeated)), "one in ten is right: {repeated}");
    assert!(frequent.starts_with("accuracy ") && frequent.ends_with("by the most frequent class"), "{frequent}");
}

/// Tile and terminal name one loss.
#[test]
fn the_average_loss_has_the_name_of_the_terminal() {
    let folder = Folder::new("words-loss");
    let mut random = Random(4);
    let text = (0..300).fold(String::from("a,y\n"), |all, _| all + &format!("{:.4},{:.4}\n", random.next(), random.next()));
    for (loss, name) in [("squared", "squared: half of the squared error"), ("quantile:0.9", "quantile:q=0.9")] {
        let page = report(&folder, &text, &["--target", "y", "--loss", loss]);
        assert_eq!(tile(&page, "average loss")[1], name);
        let said = flat(&succeed(&["learn", &folder.path("t.csv"), "--target", "y", "--loss", loss]).1);
        assert!(said.contains(name), "{said}");
    }
}

/// Targets that grow are above their scores: bias and histogram both count score minus target.
#[test]
fn residuals_and_bias_have_one_sign() {
    let folder = Folder::new("words-sign");
    let text = (0..400).fold(String::from("a,y\n"), |all, i| all + &format!("{},{}\n", f64::from(i) / 100.0, i * i));
    let page = report(&folder, &text, &["--target", "y"]);
    assert!(page.contains("score minus target") && !page.contains("target minus score"));
    let bias = json(&["learn", &folder.path("t.csv"), "--target", "y"])["summary"]["outputs"][0]["bias"].as_f64().unwrap();
    assert!(bias < 0.0);
    let caption = page.split("About half of the residuals lie on each side of ").nth(1).unwrap();
    assert!(caption.starts_with('\u{2212}'), "a number below 0: {}", &caption[..20]);
    // More of the bars are left of the middle, which is at 500.
    let bars = page.split("<path class=\"bars\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    let places: Vec<f64> = bars.split('M').skip(1).map(|bar| bar.split(' ').next().unwrap().parse().unwrap()).collect();
    let left = places.iter().filter(|place| **place < 490.0).count();
    assert!(2 * left > places.len(), "{places:?}");
}

/// One number of decimals in a column, and one colour for "all so far" in all charts.
#[test]
fn alerts_have_one_format_and_lines_one_colour() {
    let folder = Folder::new("words-alerts");
    let mut random = Random(5);
    let mut text = String::from("a,b\n");
    for i in 0..3000 {
        let far = if i % 100 == 99 { 1e4 } else { random.next() };
        writeln!(text, "{:.4},{far:.4}", random.next()).unwrap();
    }
    let page = report(&folder, &text, &["--task", "novelty"]);
    let table = page.split("below it by").nth(1).unwrap().split("</table>").next().unwrap();
    let cells: Vec<&str> =
        table.split("%").filter_map(|cell| cell.rsplit('>').next()).filter(|cell| cell.ends_with('\u{a0}')).collect();
    assert!(cells.len() == 20 && cells.iter().any(|cell| cell.starts_with("100")), "{cells:?}");
    assert!(cells.iter().all(|cell| cell.trim_end().rsplit_once('.').is_some_and(|(_, digits)| digits.len() == 2)), "{cells:?}");
    let other = report(&folder, &ten_classes(1500), &["--target", "k"]);
    for page in [page, other] {
        for (name, look) in [("all so far", "b"), ("last 1,000", "a")] {
            assert!(page.contains(&format!("<i class=\"key {look}\"></i>{name}")), "{name}");
        }
    }
}

/// The memory of a term is announced for the classes of the first rows, with and without --task, so there is nothing to correct at the end.
#[test]
fn the_announced_memory_counts_the_classes_of_the_first_rows() {
    let folder = Folder::new("words-memory");
    for task in [&[][..], &["--task", "classes"]] {
        let data = folder.write("t.csv", ten_classes(1500));
        let said = flat(&succeed(&[&["learn", &data, "--target", "k"][..], task].concat()).1);
        assert!(said.contains("if there are 10 classes") && !said.contains("it was estimated when learning began"), "{said}");
    }
    // Classes that come later: a sentence.
    let text = ten_classes(1500).replacen("k\n", "k\n0,0,x\n", 1) + "0.5,0.5,late\n".repeat(3).as_str();
    let more = (0..30).fold(text, |all, i| all + &format!("0.5,0.{i},late{i}\n"));
    let page = report(&folder, &more, &["--target", "k"]);
    let warning = page.split("A term takes ").nth(1).unwrap().split('<').next().unwrap();
    assert!(warning.ends_with("of memory."), "{warning}");
}

/// A bound above 1 is too large to be of use, and not unknown; and a norm that is an upper bound says so in JSON.
#[test]
fn inspect_says_the_same_in_words_and_in_json() {
    let folder = Folder::new("words-inspect");
    let (mut random, model) = (Random(6), folder.path("m.okl"));
    let mut rows = |count: usize| {
        (0..count).fold(String::from("a,y\n"), |all, _| all + &format!("{:.4},{:.4}\n", random.next(), 100.0 * random.next()))
    };
    let (few, many) = (folder.write("few.csv", rows(20)), folder.write("many.csv", rows(400)));
    let learn = ["--target", "y", "--loss", "nu_epsilon", "-o", &model, "--quiet"];
    succeed(&[&["learn", &few][..], &learn].concat());
    let all = json(&["inspect", &model]);
    assert!(all["outside_rate"]["bound"].as_f64().unwrap() > 1.0 && all["norm2_exact"] == true, "{all}");
    let said = flat(&succeed(&["inspect", &model]).0);
    assert!(said.contains("percentage points, is too large to be of use") && !said.contains("no bound is known"), "{said}");
    succeed(&[&["learn", &many, "--budget", "window:5"][..], &learn].concat());
    let all = json(&["inspect", &model]);
    assert!(all["truncation_error"].as_f64().unwrap() > 0.0 && all["norm2_exact"] == false, "{all}");
}

/// With the default budget a model with half of the terms is in the file while it is compared, with units of its own: the file is twice as large.
#[test]
fn a_file_of_hashed_names_is_as_large_as_is_said() {
    let folder = Folder::new("words-hashed");
    let mut random = Random(9);
    let mut text = String::from("t,y\n");
    for _ in 0..2200 {
        let words: Vec<String> = (0..8).map(|_| format!("w{}", (300.0 * random.next()) as usize)).collect();
        writeln!(text, "{},{}", words.join(" "), u8::from(random.next() < 0.5)).unwrap();
    }
    let (data, model) = (folder.write("t.csv", text), folder.path("m.okl"));
    let learn = ["learn", &data, "--target", "y", "--text", "t", "--hash-bits", "16", "--save-model", "recent", "-o", &model];
    let (columns, bytes) = (1u64 << 16, || std::fs::metadata(&model).unwrap().len());
    let said = flat(&succeed(&[&learn[..], &["--budget", "1000"]].concat()).1);
    assert!(!said.contains("both twice"), "{said}");
    let alone = bytes();
    assert!((48 * columns..56 * columns).contains(&alone), "{alone}");
    let said = flat(&succeed(&learn).1);
    assert!(
        said.contains("nearly as much in the model file; both twice while the model is compared with one of half of the terms"),
        "{said}"
    );
    assert!(bytes() > alone + 47 * columns, "{} and {alone}: the model it is compared with is in the file", bytes());
    assert!(flat(&succeed(&["inspect", &model]).0).contains("both twice while this model is compared"));
}

/// A loss with nu that is not one of a detector has no alerts: its share is called what it counts.
#[test]
fn the_share_of_a_loss_with_nu_is_called_what_it_counts() {
    let folder = Folder::new("words-nu");
    let mut random = Random(9);
    let rows = (0..600).fold(String::from("a,k,y\n"), |all, _| {
        let [a, b] = [random.next(), random.next()];
        all + &format!("{a:.4},{},{:.4}\n", if a + 0.3 * b > 0.6 { "up" } else { "down" }, a + b)
    });
    for (loss, target, ignored, section, title, axis, were) in [
        ("nu_hinge:0.2", "k", "y", "margin errors", "Margin errors", "examples inside the margin", "were inside the margin"),
        (
            "nu_epsilon:0.2",
            "y",
            "k",
            "targets outside the tube",
            "Targets outside the tube",
            "targets outside the tube",
            "had a target outside the tube",
        ),
        (
            "nu_huber:nu=0.2",
            "y",
            "k",
            "residuals beyond the scale",
            "Residuals beyond the scale",
            "residuals beyond the scale",
            "had a residual beyond the scale",
        ),
    ] {
        let page = report(&folder, &rows, &["--target", target, "--ignore", ignored, "--loss", loss]);
        assert!(page.contains(&format!("<h2>Theta and {section}</h2>")) && page.contains(title), "{loss}");
        assert!(page.contains(&format!("share of {axis}")) && page.contains(were), "{loss}");
        assert!(!page.to_lowercase().contains("alert rate") && !page.contains("were outside"), "{loss}");
    }
    let help = flat(&succeed(&["learn", "--help"]).0);
    assert!(help.contains("examples inside the margin (nu_hinge), targets outside the tube (nu_epsilon)"), "{help}");
}

/// With weights, the words at every error say that rows count by them.
#[test]
fn errors_by_weight_are_called_so() {
    let folder = Folder::new("words-weight");
    let mut random = Random(6);
    let rows = (0..600).fold(String::from("a,k,y,z,w\n"), |all, i| {
        let [a, b] = [random.next(), random.next()];
        all + &format!(
            "{a:.4},{},{:.4},{b:.4},{}\n",
            if a + 0.5 * b > 0.7 { "up" } else { "down" },
            a + b,
            0.5 + f64::from(i % 3)
        )
    });
    for (flags, words) in [
        (
            &["--target", "k", "--ignore", "y,z"][..],
            &["of all examples by weight were predicted wrongly before", "share of wrong predictions by weight"][..],
        ),
        (
            &["--target", "y", "--ignore", "k,z"],
            &["on average by weight, by", "the mean absolute error by weight was", "mean absolute error by weight, in the units"],
        ),
        (
            &["--target", "y,z", "--ignore", "k"],
            &["mean absolute error by weight, mean over the targets", "mean absolute error by weight (mean over the targets"],
        ),
        (
            &["--target", "y", "--ignore", "k,z", "--loss", "quantile:0.5"],
            &["mean pinball loss by weight", "the mean pinball loss by weight was", "mean pinball loss by weight, in the units"],
        ),
    ] {
        let page = report(&folder, &rows, &[flags, &["--weight", "w"]].concat());
        words.iter().for_each(|words| assert!(page.contains(words), "{flags:?}: {words}"));
        let ignored = format!("{},w", flags[3]);
        let unweighted = report(&folder, &rows, &[&flags[..3], &[ignored.as_str()], &flags[4..]].concat());
        assert!(!unweighted.contains("by weight"), "{flags:?}");
    }
}

/// On a phone the confusion matrix of many classes is wider than the screen: a sentence says that it scrolls.
#[test]
fn a_wide_confusion_matrix_says_that_it_scrolls() {
    let folder = Folder::new("words-sideways");
    let said = "columns: scroll it sideways";
    let page = report(&folder, &ten_classes(600), &["--target", "k"]);
    assert!(page.contains(&format!("The table has 10 {said}")) && page.contains(".sideways { display: block; }"));
    let two = (0..200).fold(String::from("a,k\n"), |all, i| all + &format!("{i},{}\n", i % 2));
    assert!(!report(&folder, &two, &["--target", "k"]).contains(said));
}
