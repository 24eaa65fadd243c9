//! Which model is saved: the one after the last row, or one that learned a sample of the rows once more in a random order.

use std::fmt::Write as _;

use crate::support::{Folder, Random, fail, flat, json, ring, succeed, succeed_with};

/// Three classes around three places, one class after the other.
fn sorted(rows: usize) -> String {
    let mut random = Random(5);
    let mut text = String::from("x,y,c\n");
    for i in 0..rows {
        let class = 3 * i / rows;
        let (x, y) = ([0.0, 1.0, 0.5][class] + 0.4 * random.next(), [0.0, 0.1, 1.0][class] + 0.4 * random.next());
        writeln!(text, "{x:.4},{y:.4},{}", ["a", "b", "c"][class]).unwrap();
    }
    text
}

/// The error of a saved model over all rows of a file, by `okl predict`.
fn error_of(model: &str, data: &str, text: &str) -> f64 {
    let said = succeed(&["predict", model, data]).0;
    let pairs = said.lines().zip(text.lines()).skip(1);
    let wrong = |(said, row): (&str, &str)| said.split(',').nth(1) != row.rsplit(',').next();
    pairs.clone().filter(|pair| wrong(*pair)).count() as f64 / pairs.count() as f64
}

/// One kernel, whose offset follows the class of the last rows.
const AS: [&str; 6] = ["--target", "c", "--task", "classes", "--kernel", "gaussian"];

#[test]
fn a_sorted_file_leaves_a_model_of_all_its_rows() {
    let folder = Folder::new("kept");
    let text = sorted(900);
    let (data, recent, auto) = (folder.write("s.csv", &text), folder.path("recent.okl"), folder.path("auto.okl"));
    succeed(&[&["learn", &data, "-o", &recent, "--save-model", "recent"], &AS[..]].concat());
    let report = folder.path("r.html");
    let learn = [&["learn", &data, "-o", &auto, "--test", &data, "--report", &report], &AS[..]].concat();
    let (out, said) = (json(&learn), succeed(&learn).1);
    let kept = &out["saved_model"];
    assert_eq!((kept["model"].as_str(), kept["replayed_rows"].as_u64()), (Some("all"), Some(900)), "{kept}");
    assert_eq!((kept["drawn_from"].as_u64(), kept["compared_rows"].as_u64()), (Some(900), Some(450)), "{kept}");
    let (of_recent, of_auto) = (error_of(&recent, &data, &text), error_of(&auto, &data, &text));
    assert!(of_recent > 0.3 && of_auto < 0.02, "{of_recent} {of_auto}");
    // Half of the rows, drawn at random, is compared: within four standard errors of all rows.
    let found = kept["recent_error"].as_f64().unwrap();
    assert!(
        (found - of_recent).abs() < 4.0 * (of_recent * (1.0 - of_recent) / 450.0).sqrt(),
        "{found}, over all rows {of_recent}"
    );
    // The held-out figures are those of the model in the file.
    assert!((out["held_out"]["error"].as_f64().unwrap() - of_auto).abs() < 1e-12, "{out}");
    let words = flat(&said);
    assert!(words.contains("900 of 900 learned rows were learned once more by a new learner, in a random order"), "{said}");
    assert!(words.contains("This learner is saved, not the final model") && said.contains("\nsaved model "), "{said}");
    // The last fifth of the rows are of the class c alone: both models are measured there, and the summary says when which one is better.
    let (last, rows) = (&kept["last_rows"], text.lines().skip(721).map(|line| format!("{line}\n")).collect::<String>());
    assert_eq!((last["rows"].as_u64(), last["sampled_rows"].as_u64()), (Some(180), Some(180)), "{last}");
    let of_last = error_of(&auto, &folder.write("last.csv", format!("x,y,c\n{rows}")), &format!("x,y,c\n{rows}"));
    assert!((last["all_error"].as_f64().unwrap() - of_last).abs() < 1e-12, "{last} {of_last}");
    // Not an error of the model `recent`, which has learned them.
    assert!(last.get("recent_error").is_none(), "{last}");
    assert!(last["error_while_learning"].as_f64().unwrap() < 0.1 && kept["trivial_error"].as_f64().unwrap() > 0.5, "{kept}");
    assert!(
        words.contains("--save-model recent saves the final model: measure both on later rows (--test FILE)")
            && said.contains("\n  last rows "),
        "{said}"
    );
    assert!(said.contains("s.csv, the saved model:") && said.contains("\nfinal model "), "{said}");
    assert!(!words.contains("learn with --shuffle 1"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let page = folder.read("r.html");
    assert!(page.contains("error of the saved model on past rows") && page.contains("error of the saved model on held-out rows"));
    let inspected = flat(&succeed(&["inspect", &auto]).0);
    assert!(inspected.contains("of 900 rows in a random order, not in that of the file"), "{inspected}");
    let (_, said) = succeed(&["learn", &data, "--resume", &auto, "-o", &folder.path("more.okl")]);
    assert!(said.contains("learned a sample of 900 rows in a random order"), "{said}");
}

/// With --test the model is chosen without -o, too: the held-out figures are those of the model that -o saves, and the run says that nothing is saved.
#[test]
fn without_an_output_the_held_out_file_measures_the_model_that_would_be_saved() {
    let folder = Folder::new("kept-unwritten");
    let (data, model, report) = (folder.write("s.csv", sorted(900)), folder.path("m.okl"), folder.path("r.html"));
    let learn = [&["learn", &data, "--test", &data, "--report", &report], &AS[..]].concat();
    let saved = [&learn[..], &["-o", &model]].concat();
    let (out, with_output, said) = (json(&learn), json(&saved), succeed(&learn).1);
    assert_eq!(out["held_out"], with_output["held_out"], "{said}");
    assert!(out["held_out"]["error"].as_f64().unwrap() < 0.02, "{out}");
    assert_eq!((&out["saved_model"]["model"], &out["saved_model"]["written"]), (&"all".into(), &false.into()), "{out}");
    assert!(with_output["saved_model"].get("written").is_none(), "{with_output}");
    let words = flat(&said);
    assert!(words.contains("This learner is chosen, not the final model") && said.contains("\nchosen model "), "{said}");
    assert!(words.contains("The chosen model is the one that --test measured and that -o would save."), "{said}");
    assert!(said.contains("s.csv, the chosen model:") && !words.contains("saved model"), "{said}");
    assert!(
        !words.contains("is saved") && folder.read("r.html").contains("error of the chosen model on held-out rows"),
        "{said}"
    );
    // The last model is measured if that is asked for; without both flags nothing is chosen.
    let recent = json(&[&learn[..], &["--save-model", "recent"]].concat());
    assert!(recent["held_out"]["error"].as_f64().unwrap() > 0.3, "{recent}");
    assert_eq!(recent["saved_model"], serde_json::json!({ "model": "recent", "written": false }));
    let plain = json(&[&["learn", &data], &AS[..]].concat());
    assert!(plain.get("saved_model").is_none(), "{plain}");
    fail(&[&["learn", &data, "--save-model", "all"], &AS[..]].concat(), 2, &["--save-model", "-o", "--test"]);
}

/// Half-way the two classes change places. On a sample of all rows every model is then wrong about half of the time, and the model after
/// the last row is the one for the next rows: it is saved.
#[test]
fn a_file_whose_classes_change_places_leaves_the_last_model() {
    let folder = Folder::new("kept-swap");
    let mut random = Random(8);
    let mut text = String::from("a,b,c\n");
    for i in 0..3000 {
        let (a, b) = (random.next() - 0.5, random.next() - 0.5);
        writeln!(text, "{a:.4},{b:.4},{}", if (a * b > 0.0) == (i < 1500) { "same" } else { "other" }).unwrap();
    }
    let (data, model) = (folder.write("swap.csv", &text), folder.path("m.okl"));
    let learn = ["learn", &data, "--target", "c", "-o", &model];
    let (out, said) = (json(&learn), succeed(&learn).1);
    let words = flat(&said);
    assert_eq!(out["saved_model"]["model"], "recent", "{said}");
    assert!(
        words.contains("The other one would have to be clearly better") && words.contains("the final model is saved"),
        "{said}"
    );
    let last: String = text.lines().take(1).chain(text.lines().skip(2501)).map(|line| format!("{line}\n")).collect();
    let error = error_of(&model, &folder.write("last.csv", &last), &last);
    assert!(error < 0.2, "{error}");
}

/// A boundary that turns once around: the re-learned model is better on past rows than the last one, but no model explains all of them. The
/// last model is the one for the next rows.
#[test]
fn a_boundary_that_turns_leaves_the_last_model() {
    let folder = Folder::new("kept-turn");
    let mut random = Random(3);
    let rows = |from: usize, to: usize, random: &mut Random| {
        let mut text = String::from("a,b,c\n");
        for i in from..to {
            let (a, b, t) = (random.next() - 0.5, random.next() - 0.5, std::f64::consts::TAU * i as f64 / 4800.0);
            writeln!(text, "{a:.4},{b:.4},{}", if t.cos() * a + t.sin() * b > 0.0 { "up" } else { "down" }).unwrap();
        }
        text
    };
    let (past, next) = (rows(0, 4000, &mut random), rows(4000, 4200, &mut random));
    let (data, model, next_file) = (folder.write("p.csv", &past), folder.path("m.okl"), folder.write("n.csv", &next));
    let out = json(&["learn", &data, "--target", "c", "-o", &model]);
    let kept = &out["saved_model"];
    assert!(kept["all_error"].as_f64() < kept["recent_error"].as_f64().map(|error| 0.9 * error), "{kept}");
    assert_eq!(kept["model"], "recent", "{kept}");
    // The reason is measured: models that stopped learning predicted later rows better if they were final models.
    let later = &kept["later_rows"];
    assert!(later["recent_error"].as_f64() < later["all_error"].as_f64().map(|error| 0.5 * error), "{later}");
    let error = error_of(&model, &next_file, &next);
    assert!(error < 0.3, "{error}");
}

/// Purchases of households, one household after the other: each prefers one of three brands, beside the prices.
fn purchases(rows: usize) -> Vec<String> {
    let (mut random, mut favourite) = (Random(3), 0);
    let mut row = |i: usize| {
        if i.is_multiple_of(40) {
            favourite = [0, 0, 1, 2][(4.0 * random.next()) as usize];
        }
        let prices = [(); 3].map(|()| random.next());
        let cost = |brand: &usize| prices[*brand] - [0.25, 0.0, 0.0][*brand] + if *brand == favourite { 0.0 } else { 0.2 };
        let cheapest = (0..3).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap();
        let brand = if random.next() < 0.3 { favourite } else { cheapest };
        prices.map(|price| format!("{price:.4},")).concat() + ["a", "b", "c"][brand] + "\n"
    };
    (0..rows).map(&mut row).collect()
}

/// Rows in stretches: in the order of the file new rows are predicted better, because their neighbours were learned just before. That speaks for a
/// model that goes on learning. The final model, which is fixed, is worse on the next rows than always the most frequent class. Fixed models
/// within the file show that, so a model of all rows is saved.
#[test]
fn rows_in_stretches_leave_a_model_of_all_rows() {
    let folder = Folder::new("kept-stretches");
    let rows = purchases(2400);
    let table = |rows: &[String]| String::from("p,q,r,c\n") + &rows.concat();
    let (data, next) = (folder.write("past.csv", table(&rows[..1800])), table(&rows[1800..]));
    let (next_file, auto, recent) = (folder.write("next.csv", &next), folder.path("auto.okl"), folder.path("recent.okl"));
    let learn = ["learn", &data, "--target", "c", "-o"];
    let (out, said) = (json(&[&learn[..], &[&auto]].concat()), succeed(&[&learn[..], &[&auto]].concat()).1);
    succeed(&[&learn[..], &[&recent, "--save-model", "recent"]].concat());
    let (kept, later) = (&out["saved_model"], &out["saved_model"]["later_rows"]);
    assert_eq!((kept["model"].as_str(), kept["clearly_better"].as_bool()), (Some("all"), Some(true)), "{kept}");
    assert!(kept["file_order_error"].as_f64() < kept["random_order_error"].as_f64(), "{kept}");
    assert!(2.0 * kept["all_error_on_last_tenth"].as_f64().unwrap() > kept["trivial_error"].as_f64().unwrap(), "{kept}");
    assert!(later["all_error"].as_f64() < later["recent_error"].as_f64(), "{later}");
    let (of_auto, of_recent) = (error_of(&auto, &next_file, &next), error_of(&recent, &next_file, &next));
    assert!(of_auto < 0.35 && of_recent > 0.5, "{of_auto} {of_recent}");
    // The copies are the final models of files that end there: their errors are those of such models on the rows after them.
    for stretch in later["stretches"].as_array().unwrap() {
        let [after, count] = ["after_rows", "rows"].map(|key| stretch[key].as_u64().unwrap() as usize);
        let (part, model) = (folder.write("part.csv", table(&rows[..after])), folder.path("part.okl"));
        succeed(&["learn", &part, "--target", "c", "-o", &model, "--save-model", "recent"]);
        let rest = table(&rows[after..after + count]);
        let error = error_of(&model, &folder.write("rest.csv", &rest), &rest);
        assert!((error - stretch["recent_error"].as_f64().unwrap()).abs() < 1e-12, "{stretch}: {error}");
    }
    assert_eq!(later["stretches"].as_array().unwrap().len(), 2, "{later}");
    let words = flat(&said);
    assert!(words.contains("learning was stopped after 1,024 and 1,536 rows, and 520 later rows were predicted"), "{said}");
    assert!(!words.contains("seem to tell more") && words.contains("So this learner is saved, not the final model"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    // About a tenth of the rows: JSON has the number.
    assert!((170..=190).contains(&kept["last_tenth_rows"].as_u64().unwrap()), "{kept}");
}

/// Where rows come in stretches, outliers are not the only cause that is named; and a run advises --save-model all only where it takes this flag.
#[test]
fn advice_about_a_poor_final_model_names_flags_that_are_taken() {
    let folder = Folder::new("kept-advice");
    let rows = purchases(2400);
    let table = |rows: &[String]| String::from("p,q,r,c\n") + &rows.concat();
    let (first, more) = (folder.write("a.csv", table(&rows[..600])), folder.write("b.csv", table(&rows[600..])));
    let (one, two) = (folder.path("1.okl"), folder.path("2.okl"));
    let words = |args: &[&str]| flat(&succeed(args).1);
    let all = "--save-model all saves a model of all rows";
    let learned = words(&["learn", &more, "--target", "c", "-o", &two, "--save-model", "recent"]);
    assert!(learned.contains("groups, seasons, time order") && learned.contains("Look for outliers, too"), "{learned}");
    assert!(learned.contains(all) && learned.contains("learn with --shuffle 1"), "{learned}");
    let without = words(&["learn", &more, "--target", "c"]);
    assert!(without.contains("groups, seasons, time order") && !without.contains(all), "{without}");
    succeed(&["learn", &first, "--target", "c", "-o", &one, "--save-model", "recent"]);
    let resumed = words(&["learn", &more, "--resume", &one, "-o", &two]);
    assert!(resumed.contains("groups, seasons, time order") && !resumed.contains(all), "{resumed}");
    assert!(resumed.contains("learn all of them in one new run with --shuffle 1"), "{resumed}");
    let whole = folder.write("a.csv", table(&rows));
    let continued = words(&["learn", &whole, "--resume", &one, "--continue", "-o", &two]);
    assert!(continued.contains("groups, seasons, time order") && !continued.contains(all), "{continued}");
}

/// Rows in no order whose boundary turns by 80 degrees at 60 % of the file: one model explains more than half of the file, but not
/// its last rows. Fixed models within the file show that the model after the last row is the better one for the next rows.
#[test]
fn a_change_that_one_model_does_not_explain_leaves_the_last_model() {
    let folder = Folder::new("kept-changed");
    let mut random = Random(4);
    let mut row = |i: usize| {
        let [a, b, c, d] = [(); 4].map(|()| 2.0 * random.next() - 1.0);
        let up = if i < 6000 { a + b > 0.0 } else { a > 0.7 * b };
        format!("{a:.4},{b:.4},{c:.4},{d:.4},{}\n", if up { "up" } else { "down" })
    };
    let rows: Vec<String> = (0..12_000).map(&mut row).collect();
    let table = |rows: &[String]| String::from("a,b,c,d,y\n") + &rows.concat();
    let (data, next) = (folder.write("past.csv", table(&rows[..10_000])), table(&rows[10_000..]));
    let (next_file, auto, all) = (folder.write("next.csv", &next), folder.path("auto.okl"), folder.path("all.okl"));
    let kept = json(&["learn", &data, "--target", "y", "-o", &auto])["saved_model"].clone();
    succeed(&["learn", &data, "--target", "y", "-o", &all, "--save-model", "all"]);
    let number = |name: &str| kept[name].as_f64().unwrap();
    // The case of the rule: the file is explained, its last rows are not, and the change is too small for a late change.
    assert!(2.0 * number("all_error_on_last_tenth") <= number("trivial_error") && kept["late_change"].is_null(), "{kept}");
    assert!(2.0 * kept["last_rows"]["all_error"].as_f64().unwrap() > number("trivial_error"), "{kept}");
    assert_eq!((kept["model"].as_str(), kept["clearly_better"].as_bool()), (Some("recent"), Some(true)), "{kept}");
    let (of_auto, of_all) = (error_of(&auto, &next_file, &next), error_of(&all, &next_file, &next));
    assert!(of_auto < 0.1 && of_all > 2.0 * of_auto, "{of_auto} {of_all}");
}

/// Rows in no order whose classes change places near the end of the file: one model explains most of the file, and the places where learning is
/// stopped are before the change. The last rows show it.
#[test]
fn a_change_near_the_end_leaves_the_last_model() {
    let folder = Folder::new("kept-late");
    let mut random = Random(8);
    let rows: Vec<String> = (0..5000)
        .map(|i| {
            let (x, y) = (random.next(), random.next());
            let class = if (x > y) != (i >= 3400) { "up" } else { "down" };
            format!("{x:.4},{y:.4},{class}\n")
        })
        .collect();
    let table = |rows: &[String]| String::from("x,y,c\n") + &rows.concat();
    let (data, next) = (folder.write("past.csv", table(&rows[..4000])), table(&rows[4000..]));
    let (next_file, auto, all) = (folder.write("next.csv", &next), folder.path("auto.okl"), folder.path("all.okl"));
    let learn = ["learn", &data, "--target", "c", "-o"];
    let (out, said) = (json(&[&learn[..], &[&auto]].concat()), succeed(&[&learn[..], &[&auto]].concat()).1);
    succeed(&[&learn[..], &[&all, "--save-model", "all"]].concat());
    let (kept, change) = (&out["saved_model"], &out["saved_model"]["late_change"]);
    assert_eq!((kept["model"].as_str(), kept["clearly_better"].as_bool()), (Some("recent"), Some(true)), "{kept}");
    let (of_auto, of_all) = (error_of(&auto, &next_file, &next), error_of(&all, &next_file, &next));
    assert!(of_auto < 0.2 && of_all > 0.8, "{of_auto} {of_all}");
    // The figures are those of the last rows.
    let count = change["rows"].as_u64().unwrap() as usize;
    let last = table(&rows[4000 - count..4000]);
    let up = last.matches("up").count() as f64 / count as f64;
    assert!((change["trivial_error"].as_f64().unwrap() - up.min(1.0 - up)).abs() < 1e-12, "{change}");
    let error = error_of(&all, &folder.write("last.csv", &last), &last);
    assert!((change["all_error"].as_f64().unwrap() - error).abs() < 1e-12, "{change}: {error}");
    assert!(change["error_while_learning"].as_f64().unwrap() < 0.5 * up, "{change}");
    let words = flat(&said);
    assert!(
        words.contains(&format!("On the last {count} rows the error of the model of all rows, which has learned them, is")),
        "{said}"
    );
    assert!(words.contains("the rows changed near the end of the file. So the final model is saved."), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    // Sorted by class but for a few rows, a file is no such case: its rows are in an order.
    let mut sorted = rows[..3400].to_vec();
    sorted.sort_by_key(|row| row.ends_with("up\n"));
    let sorted = folder.write("sorted.csv", table(&sorted));
    let kept = json(&["learn", &sorted, "--target", "c", "-o", &auto])["saved_model"].clone();
    assert_eq!((kept["model"].as_str(), kept["late_change"].is_null()), (Some("all"), true), "{kept}");
}

/// The same of numbers, whose level changes.
#[test]
fn a_level_that_changes_near_the_end_leaves_the_last_model() {
    let folder = Folder::new("kept-level");
    let mut random = Random(9);
    let mut table = |from: usize, to: usize| {
        let mut text = String::from("x,z,y\n");
        for i in from..to {
            let (x, z) = (random.next(), random.next());
            writeln!(text, "{x:.4},{z:.4},{:.4}", (6.0 * x).sin() + z + if i < 3100 { 0.0 } else { 20.0 }).unwrap();
        }
        text
    };
    let (data, next) = (folder.write("past.csv", table(0, 4000)), folder.write("next.csv", table(4000, 5000)));
    let (auto, all) = (folder.path("auto.okl"), folder.path("all.okl"));
    let learn = ["learn", &data, "--target", "y", "--task", "numbers", "-o"];
    let kept = json(&[&learn[..], &[&auto]].concat())["saved_model"].clone();
    assert_eq!((kept["model"].as_str(), kept["late_change"].is_object()), (Some("recent"), true), "{kept}");
    succeed(&[&learn[..], &[&all, "--save-model", "all"]].concat());
    let error = |model: &str| json(&["evaluate", model, &next])["summary"]["error"].as_f64().unwrap();
    assert!(10.0 * error(&auto) < error(&all), "{} {}", error(&auto), error(&all));
}

/// A number far from 0 is predicted as 0 in the first row. That one error does not decide which model is saved.
#[test]
fn the_first_row_does_not_hide_that_the_final_model_is_poor() {
    let folder = Folder::new("kept-far");
    let mut random = Random(4);
    let rows: Vec<[f64; 4]> = (0..3000)
        .map(|i| {
            let group = if i < 2400 { i / 600 } else { (4.0 * random.next()) as usize }.min(3);
            let [u, v, b, noise] = [(); 4].map(|()| (0..12).map(|_| random.next()).sum::<f64>() - 6.0);
            let (left, up) = ([0.0, 4.0, 0.0, 4.0][group], [0.0, 0.0, 4.0, 4.0][group]);
            [left + 0.3 * u, up + 0.3 * v, b, [2.0, -2.0, 1.0, -3.0][group] * b + 0.3 * noise]
        })
        .collect();
    for far in [0.0, 5_000.0] {
        let table = |rows: &[[f64; 4]]| {
            rows.iter()
                .fold(String::from("u,v,b,y\n"), |all, [u, v, b, y]| all + &format!("{u:.4},{v:.4},{b:.4},{:.4}\n", y + far))
        };
        let (data, next) = (folder.write("l.csv", table(&rows[..2400])), folder.write("n.csv", table(&rows[2400..])));
        let model = folder.path("m.okl");
        let learn = ["learn", &data, "--target", "y", "--task", "numbers", "-o", &model];
        let out = json(&learn);
        assert_eq!(out["saved_model"]["model"], "all", "{far}: {out}");
        assert_eq!(out["model_on_past_rows"]["expected_without_first_row"].as_bool().unwrap_or(false), far > 0.0);
        let error = json(&["evaluate", &model, &next])["summary"]["error"].as_f64().unwrap();
        assert!(error < 0.4, "{far}: {error}");
        let said = flat(&succeed(&learn).1);
        assert_eq!(said.contains("(without the first row)"), far > 0.0, "{said}");
    }
}

/// Rows whose features follow themselves, as those of weather do, and their classes by one rule with noise.
fn weather(rows: usize) -> Vec<String> {
    let mut random = Random(2);
    let mut z = [0.0_f64; 5];
    let mut noise = || (0..6).map(|_| random.next() - 0.5).sum::<f64>() * 2f64.sqrt();
    (0..rows)
        .map(|_| {
            z.iter_mut().for_each(|z| *z = 0.98 * *z + 0.2 * noise());
            let class = if (2.0 * z[0]).sin() + z[1] * z[2] + 0.5 * noise() > 0.0 { "rain" } else { "sun" };
            z.iter().map(|z| format!("{z:.4},")).collect::<String>() + class + "\n"
        })
        .collect()
}

/// The final model of a stretch of weather knows the last weeks best, and is only a little worse on past rows than all models were when the
/// rows were new. In a random order new rows are predicted better: the last rows do not tell more about the next ones than all rows do. So a
/// model of all rows is saved, which is better on the next rows.
#[test]
fn a_stretch_of_weather_leaves_a_model_of_all_its_rows() {
    let folder = Folder::new("kept-weather");
    let rows = weather(9000);
    let table = |rows: &[String]| String::from("a,b,c,d,e,y\n") + &rows.concat();
    let (data, next) = (folder.write("past.csv", table(&rows[..8000])), table(&rows[8000..]));
    let (next_file, auto, recent) = (folder.write("next.csv", &next), folder.path("auto.okl"), folder.path("recent.okl"));
    let learn = ["learn", &data, "--target", "y", "-o"];
    let (out, said) = (json(&[&learn[..], &[&auto]].concat()), succeed(&[&learn[..], &[&auto]].concat()).1);
    succeed(&[&learn[..], &[&recent, "--save-model", "recent"]].concat());
    let kept = &out["saved_model"];
    assert_eq!(kept["model"], "all", "{kept}");
    // This is not seen by the comparison of past rows with new ones.
    assert_eq!(out["model_on_past_rows"]["much_worse"], false, "{}", out["model_on_past_rows"]);
    assert!(kept["random_order_error"].as_f64() < kept["file_order_error"].as_f64(), "{kept}");
    assert_eq!(kept["file_order_error"], out["summary"]["error"]);
    let (of_auto, of_recent) = (error_of(&auto, &next_file, &next), error_of(&recent, &next_file, &next));
    assert!(of_auto + 0.03 < of_recent, "{of_auto} {of_recent}");
    let words = flat(&said);
    assert!(
        words.contains("in the order of the file and") && words.contains("This learner is saved, not the final model"),
        "{said}"
    );
    assert!(
        words.contains("error of a new model on 4,000 of the learned rows, in a random order, each predicted before"),
        "{said}"
    );
    assert!(words.contains("rows that it has learned; a model that goes on learning had"), "{said}");
    assert!(words.contains("describe the final model. The settings, the certificates and the warnings about columns"), "{said}");
}

/// A boundary that turns slowly: one model explains the past rows well, and better than the last one does, so it is saved. But new rows were
/// predicted much better in the order of the file, and the run says so, with the way to save the last model, which is better on the next rows.
#[test]
fn of_a_boundary_that_turns_slowly_the_run_says_which_model_is_for_the_next_rows() {
    let folder = Folder::new("kept-slowly");
    let mut random = Random(4);
    let mut rows = |from: usize, to: usize| {
        let mut text = String::from("a,b,c\n");
        for i in from..to {
            let (a, b, t) = (random.next() - 0.5, random.next() - 0.5, std::f64::consts::PI * i as f64 / 9000.0);
            writeln!(text, "{a:.4},{b:.4},{}", if t.cos() * a + t.sin() * b > 0.0 { "up" } else { "down" }).unwrap();
        }
        text
    };
    let (past, next) = (rows(0, 5000), rows(5000, 5500));
    let (data, model, next_file) = (folder.write("p.csv", &past), folder.path("m.okl"), folder.write("n.csv", &next));
    let learn = ["learn", &data, "--target", "c", "-o", &model];
    let (out, said) = (json(&learn), succeed(&learn).1);
    let kept = &out["saved_model"];
    assert_eq!((kept["clearly_better"].as_bool(), kept["model"].as_str()), (Some(true), Some("all")), "{kept}");
    assert!(kept["random_order_error"].as_f64() > kept["file_order_error"].as_f64().map(|error| 2.0 * error), "{kept}");
    let words = flat(&said);
    let advice = "If rows change with time, learn new rows as they come (--resume, or okl serve). --save-model recent saves the final model: measure \
                  both on later rows (--test FILE) before you choose it.";
    assert!(words.contains(advice), "{said}");
    let all = error_of(&model, &next_file, &next);
    succeed(&[&learn[..], &["--save-model", "recent"]].concat());
    let recent = error_of(&model, &next_file, &next);
    assert!(recent < 0.1 && all > 0.2, "{recent} {all}");
}

/// Rows that come from one rule, in no order: the last model is saved without a word, although classes overlap.
#[test]
fn rows_in_no_order_leave_the_last_model_without_a_word() {
    let folder = Folder::new("kept-still");
    for (name, noise) in [("clear", 0.02), ("noisy", 0.6), ("coin", 100.0)] {
        let mut random = Random(21);
        let mut text = String::from("a,b,c\n");
        for _ in 0..3000 {
            let (a, b) = (random.next() - 0.5, random.next() - 0.5);
            let class = if 4.0 * a * b + noise * (random.next() - 0.5) > 0.0 { "up" } else { "down" };
            writeln!(text, "{a:.4},{b:.4},{class}").unwrap();
        }
        let (data, model) = (folder.write("d.csv", &text), folder.path("m.okl"));
        let learn = ["learn", &data, "--target", "c", "-o", &model];
        let (out, said) = (json(&learn), succeed(&learn).1);
        assert_eq!(out["saved_model"], serde_json::json!({ "model": "recent" }), "{name}");
        assert!(!said.contains("--save-model") && !said.contains("once more"), "{name}: {said}");
    }
}

/// A continued run does not have the rows of the run before it, and says so.
#[test]
fn a_continued_run_says_why_it_saves_the_last_model() {
    let folder = Folder::new("kept-continued");
    let text = sorted(900);
    let half: String = text.lines().take(451).map(|line| format!("{line}\n")).collect();
    let (first, model) = (folder.write("s.csv", &half), folder.path("m.okl"));
    succeed(&[&["learn", &first, "-o", &model, "--save-model", "recent"], &AS[..]].concat());
    let data = folder.write("s.csv", &text);
    let said = succeed(&["learn", &data, "--resume", &model, "--continue", "-o", &folder.path("n.okl")]).1;
    let words = flat(&said);
    assert!(words.contains("When the rows of this run were new"), "{said}");
    assert!(words.contains("This run continues an earlier one") && words.contains("so the final model is saved"), "{said}");
}

/// Where the order does not matter, on standard input and with `recent`, the model after the last row is saved, bit for bit.
#[test]
fn the_last_model_is_saved_where_it_is_good_and_from_standard_input() {
    let folder = Folder::new("kept-recent");
    let (auto, recent) = (folder.path("auto.okl"), folder.path("recent.okl"));
    let good = folder.write("ring.csv", ring(600));
    let of = |data: &str, target: &[&str], model: &str, more: &[&str]| {
        json(&[&["learn", data, "-o", model], target, more].concat())["saved_model"]["model"].as_str().unwrap().to_string()
    };
    assert_eq!(of(&good, &["--target", "where"], &auto, &[]), "recent");
    of(&good, &["--target", "where"], &recent, &["--save-model", "recent"]);
    assert_eq!(std::fs::read(&auto).unwrap(), std::fs::read(&recent).unwrap());
    let text = sorted(900);
    let (out, _) = succeed_with(&[&["learn", "-", "-o", &auto, "--json"], &AS[..]].concat(), text.as_bytes());
    assert!(out.contains("\"saved_model\": {\n    \"model\": \"recent\"\n  }"), "{out}");
    assert_eq!(of(&folder.write("s.csv", &text), &AS, &recent, &["--save-model", "recent"]), "recent");
    let bits = |name: &str| okl::Learner::load(folder.path(name)).unwrap().coefficients();
    assert_eq!(bits("auto.okl"), bits("recent.okl"));
}

#[test]
fn rows_that_are_not_known_cannot_be_learned_once_more() {
    let folder = Folder::new("kept-refused");
    let (data, model) = (folder.write("s.csv", sorted(300)), folder.path("m.okl"));
    succeed(&[&["learn", &data, "-o", &model], &AS[..]].concat());
    fail(&["learn", &data, "--resume", &model, "-o", &model, "--save-model", "all"], 2, &["--save-model all", "--resume"]);
}

/// A model of all rows that is asked for is learned from any number of rows; with `auto`, a final model that is much worse on past rows is
/// reported for few rows, too.
#[test]
fn few_rows_are_learned_once_more_if_that_is_asked_for() {
    let folder = Folder::new("kept-few");
    let text = sorted(90);
    let (data, all, auto) = (folder.write("s.csv", &text), folder.path("all.okl"), folder.path("auto.okl"));
    let learn = |model: &str, save: &str| {
        let settings = ["--target", "c", "--task", "classes", "--kernel", "gaussian:1", "--step", "constant:1"];
        let args = [&["learn", &data, "-o", model, "--save-model", save], &settings[..]].concat();
        (json(&args), flat(&succeed(&args).1))
    };
    let (out, said) = learn(&all, "all");
    assert_eq!((&out["saved_model"]["model"], &out["saved_model"]["replayed_rows"]), (&"all".into(), &90.into()), "{out}");
    assert!(said.contains("90 of 90 learned rows were learned once more"), "{said}");
    assert!(error_of(&all, &data, &text) < 0.05);
    let (out, said) = learn(&auto, "auto");
    let past = &out["model_on_past_rows"];
    assert!(error_of(&auto, &data, &text) > 0.3 && past["much_worse"] == true, "{past}");
    assert!(said.contains("of past rows wrong (all 90 learned rows were tried)") && said.contains("--save-model all"), "{said}");
    // From standard input, and down to one row.
    let one: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    let learn = ["learn", "-", "--target", "c", "--task", "classes", "-o", &all, "--save-model", "all"];
    let said = succeed_with(&learn, one.as_bytes()).1;
    assert!(said.contains("1 of 1 learned rows were learned once more"), "{said}");
}
