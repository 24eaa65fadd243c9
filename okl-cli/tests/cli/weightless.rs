//! A row of weight 0 is only predicted: the run says the same of all other rows as if it were not there.

use serde_json::Value;

use crate::support::{Folder, Random, flat, json, succeed};

/// Rows of `classes` classes around as many centres, with their weights. The first rows are of the classes in `hidden`, with weight 0, and then
/// one of the last class is learned. Up to row 60 a third of the weights is 0.
fn rows(classes: usize, hidden: &[usize], seed: u64) -> Vec<(String, String, bool)> {
    let mut random = Random(seed);
    let mut met = vec![0; classes];
    (0..300)
        .map(|i| {
            let drawn = (random.next() * classes as f64) as usize;
            let class = if i == hidden.len() { classes - 1 } else { hidden.get(i).copied().unwrap_or(drawn) };
            let (x, y) = (class as f64 + 0.5 * random.next(), (class * class % 3) as f64 + 0.5 * random.next());
            met[class] += 1;
            let later = hidden.contains(&class) && met[class] <= 2 || i < 60 && random.next() < 0.3;
            let zero = i < hidden.len() || i > hidden.len() && later;
            (format!("{x:.4},{y:.4}"), format!("class {}", ["b", "c", "a", "d"][class]), zero)
        })
        .collect()
}

/// The table of all rows, and that of the rows whose weight is not 0.
fn tables(rows: &[(String, String, bool)]) -> [String; 2] {
    let line = |(x, class, zero): &(String, String, bool)| format!("{x},{class},{}\n", u8::from(!zero));
    let head = "x,y,class,w\n".to_string();
    [
        head.clone() + &rows.iter().map(line).collect::<String>(),
        head + &rows.iter().filter(|row| !row.2).map(line).collect::<String>(),
    ]
}

/// The predictions without the numbers of their lines.
fn predictions(text: &str) -> Vec<String> {
    text.lines().skip(1).map(|line| line.split_once(',').unwrap().1.to_string()).collect()
}

/// The figures of a run and of its model, without the counts of rows.
fn figures(out: &Value) -> Vec<Value> {
    let summary = &out["summary"];
    let names = ["error", "average_loss", "windowed_error", "no_change_error", "classes", "examples", "weight"];
    names.iter().map(|name| summary[*name].clone()).chain([out["model_on_past_rows"]["error"].clone()]).collect()
}

/// The classes of the figures are in the order of the learner, whichever rows it learns: a permuted class would change the predictions.
#[test]
fn classes_are_those_of_the_learner() {
    let folder = Folder::new("weightless");
    let [p, q] = ["p.csv", "q.csv"].map(|name| folder.path(name));
    for (classes, losses) in [(2, &["hinge", "logistic", "nu_hinge:0.1"][..]), (4, &["max_margin", "softmax"])] {
        for hidden in [&[0][..], &[1], &[0, 1]] {
            let rows = rows(classes, hidden, 7 + hidden.len() as u64);
            let [all, learned] = tables(&rows);
            let (all, learned) = (folder.write("all.csv", all), folder.write("learned.csv", learned));
            let kept: Vec<usize> = (0..rows.len()).filter(|i| !rows[*i].2).collect();
            for loss in losses {
                for more in [&[][..], &["--passes", "2"]] {
                    let learn = |data: &str, to: &str| {
                        let common = ["learn", data, "--target", "class", "--weight", "w", "--loss", loss, "--predictions", to];
                        figures(&json(&[&common[..], more].concat()))
                    };
                    let name = format!("{loss} {hidden:?} {more:?}");
                    assert_eq!(learn(&all, &p), learn(&learned, &q), "{name}");
                    let said = predictions(&folder.read("p.csv"));
                    let without: Vec<String> = kept.iter().map(|row| said[*row].clone()).collect();
                    assert_eq!(without, predictions(&folder.read("q.csv")), "{name}");
                }
            }
        }
    }
}

/// The same where a model of two classes meets two more.
#[test]
fn a_resumed_model_names_new_classes_as_its_learner_does() {
    let folder = Folder::new("weightless-resumed");
    let [p, q, model] = ["p.csv", "q.csv", "m.okl"].map(|name| folder.path(name));
    let [first, _] = tables(&rows(2, &[], 3));
    let first = folder.write("first.csv", first);
    succeed(&["learn", &first, "--target", "class", "--weight", "w", "--task", "classes", "--quiet", "-o", &model]);
    let more = rows(4, &[2], 5);
    let [all, learned] = tables(&more);
    let (all, learned) = (folder.write("all.csv", all), folder.write("learned.csv", learned));
    let learn = |data: &str, to: &str| json(&["learn", data, "--resume", &model, "--weight", "w", "--predictions", to]);
    assert_eq!(figures(&learn(&all, &p)), figures(&learn(&learned, &q)));
    let said = predictions(&folder.read("p.csv"));
    let without: Vec<&String> = said.iter().zip(&more).filter(|(_, row)| !row.2).map(|(said, _)| said).collect();
    let alone = predictions(&folder.read("q.csv"));
    assert_eq!(without, alone.iter().collect::<Vec<_>>());
}

/// The importance of VW text is a weight.
#[test]
fn an_importance_of_0_hides_a_class_until_it_is_learned() {
    let folder = Folder::new("weightless-vw");
    let rows = rows(2, &[0], 2);
    let vw = |rows: &[(String, String, bool)]| -> String {
        let line = |(x, class, zero): &(String, String, bool)| {
            let (x, y) = x.split_once(',').unwrap();
            format!("{} {} | x:{x} y:{y}\n", if class.ends_with('b') { 1 } else { -1 }, u8::from(!zero))
        };
        rows.iter().map(line).collect()
    };
    let learned: Vec<_> = rows.iter().filter(|row| !row.2).cloned().collect();
    let (all, learned) = (folder.write("all.vw", vw(&rows)), folder.write("learned.vw", vw(&learned)));
    let learn = |data: &str| figures(&json(&["learn", data, "--task", "classes"]));
    assert_eq!(learn(&all), learn(&learned));
}

/// The target of a row that is only predicted says nothing about the task.
#[test]
fn targets_of_weight_zero_do_not_choose_the_task() {
    let folder = Folder::new("weightless-task");
    let rows = |placeholder: &str| {
        (0..60).fold(String::from("a,w,y\n"), |text, i| match i % 10 {
            7 => text + &format!("{i},0,{placeholder}\n"),
            _ => text + &format!("{i},1,{}\n", i % 2),
        })
    };
    for placeholder in ["", "-9", "2.5", "unknown"] {
        let data = folder.write("s.csv", rows(placeholder));
        let (_, said) = succeed(&["learn", &data, "--target", "y", "--weight", "w"]);
        assert!(said.contains("the target has two values"), "{placeholder}: {said}");
    }
}

/// A text in place of the target of such a row, as "unknown", does not stop a run of numbers.
#[test]
fn a_text_in_place_of_the_target_of_a_row_of_weight_0_is_no_error() {
    let folder = Folder::new("weightless-text");
    let mut random = Random(9);
    let mut rows: Vec<String> = (0..200).map(|_| random.next()).map(|x| format!("{x:.4},{:.4},1\n", x * x)).collect();
    let table = |rows: &[String]| "x,y,w\n".to_string() + &rows.concat();
    let without = folder.write("without.csv", table(&rows));
    rows.insert(100, "0.5,unknown,0\n".into());
    rows.insert(0, "0.1,n/k,0\n".into());
    let with = folder.write("with.csv", table(&rows));
    let model = folder.path("m.okl");
    for task in [&[][..], &["--task", "numbers"]] {
        let of = |data: &str| {
            json(&[&["learn", data, "--target", "y", "--weight", "w", "-o", &model], task].concat())["summary"].clone()
        };
        let (with, without) = (of(&with), of(&without));
        assert_eq!((with["error"].as_f64(), with["examples"].as_u64()), (without["error"].as_f64(), Some(200)), "{with}");
        assert_eq!(with["not_learned"]["of_weight_zero"], 2, "{with}");
    }
    assert!(succeed(&["evaluate", &model, &with]).0.contains("200"));
}

/// Where all weights are 0 there is no model, and the run says so.
#[test]
fn a_file_in_which_all_weights_are_0_is_named_as_such() {
    let folder = Folder::new("weightless-all");
    let data = folder.write("d.csv", "x,y,w\n1,2.5,0\n2,3.5,0\n3,4.5,0\n");
    let said = succeed(&["learn", &data, "--target", "y", "--weight", "w"]).1;
    let words = flat(&said);
    assert!(words.contains("No row was learned (3 rows of weight 0: only predicted)"), "{said}");
    assert!(
        words.contains("no row so far has a target and a weight above 0") && !words.contains("has one value so far"),
        "{said}"
    );
}

/// The report of a detector counts alerts on learned rows; it says how many of the alerts in the predictions are on rows of weight 0.
#[test]
fn alerts_on_rows_of_weight_0_are_named_in_the_report() {
    let folder = Folder::new("weightless-alerts");
    let mut random = Random(4);
    let weight = |i: usize| usize::from(!i.is_multiple_of(5));
    let rows: String = (0..1500).map(|i| format!("{:.4},{:.4},{}\n", random.next(), random.next(), weight(i))).collect();
    let data = folder.write("d.csv", format!("a,b,w\n{rows}"));
    let (predictions, page) = (folder.path("p.csv"), folder.path("r.html"));
    let learn = ["learn", &data, "--task", "novelty", "--nu", "0.1", "--weight", "w"];
    succeed(&[&learn[..], &["--predictions", &predictions, "--report", &page]].concat());
    let text = folder.read("p.csv");
    let alerts: Vec<usize> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|cells| cells[1] == "1")
        .map(|cells| cells[0].parse::<usize>().unwrap() - 2)
        .collect();
    let left_out = alerts.iter().filter(|row| weight(**row) == 0).count();
    assert!(left_out > 1 && left_out < alerts.len());
    let report = folder.read("r.html");
    assert!(report.contains(&format!("strongest of {} alerts", alerts.len() - left_out)), "{left_out} of {}", alerts.len());
    assert!(report.contains(&format!("{left_out} alerts are on rows of weight 0: they are neither counted nor listed here.")));
    assert!(report.contains(&format!("without {left_out} on rows of weight 0")));
}
