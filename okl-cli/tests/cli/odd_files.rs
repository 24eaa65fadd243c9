//! Odd files, and what is said of them: every figure, name and advice is true.

use std::path::Path;

use crate::support::{Folder, fail, flat, json, okl, ring, succeed};

/// A column of whole numbers, row by row.
fn table(header: &str, rows: usize, row: impl Fn(usize) -> String) -> String {
    (0..rows).fold(format!("{header}\n"), |text, i| text + &row(i) + "\n")
}

/// The first residual is 1e17, the others are near 20: the RMSE of the others is theirs, computed here from the predictions.
#[test]
fn the_error_without_the_first_row_is_that_of_the_other_rows() {
    let folder = Folder::new("odd-first");
    let target = |i: usize| 1e17 + 64.0 * (i % 5) as f64;
    let data = folder.write("t.csv", table("a,y", 60, |i| format!("{},{:.0}", i % 7, target(i))));
    let scores = folder.path("p.csv");
    let said = json(&["learn", &data, "--target", "y", "--task", "numbers", "--predictions", &scores]);
    let scores = folder.read("p.csv");
    let squares = scores.lines().skip(2).zip(1..).map(|(line, i)| {
        let score: f64 = line.split(',').nth(1).unwrap().parse().unwrap();
        (score - target(i)).powi(2)
    });
    let expected = (squares.sum::<f64>() / 59.0).sqrt();
    let found = said["summary"]["outputs"][0]["rmse_after_first"].as_f64().unwrap();
    assert!(expected > 1.0 && (found - expected).abs() < 1e-9 * expected, "{found}, not {expected}");
}

/// In sparse formats columns are not centred, and their unit is not a standard deviation.
#[test]
fn the_units_of_columns_are_the_ones_that_are_said() {
    let folder = Folder::new("odd-units");
    let row = |i: usize, unit: &dyn Fn(usize) -> usize| {
        let cells: String = (1..=20).filter(|c| (i * 7 + c * c).is_multiple_of(3)).map(|c| format!(" {c}:{}", unit(c))).collect();
        format!("{}{cells} 21:{}\n", 2 * (i % 2) as i32 - 1, unit(21))
    };
    let file = |name: &str, unit: &dyn Fn(usize) -> usize| folder.write(name, (0..300).map(|i| row(i, unit)).collect::<String>());
    for (data, said) in [
        (file("ones.libsvm", &|_| 1), "Columns are taken as they are; gamma is in the units of the data."),
        (file("units.libsvm", &|c| c * c * c), "divided by the root mean square of their entries that are not 0"),
    ] {
        let found = flat(&succeed(&["learn", &data]).1);
        assert!(found.contains(said) && !found.contains("centred; gamma is in the units of the data"), "{found}");
    }
}

/// Models of few rows: no setting leads, one row is one row, and a detector has no threshold.
#[test]
fn a_few_rows_are_said_to_be_few() {
    let folder = Folder::new("odd-few");
    let model = folder.path("m.okl");
    let one = folder.write("one.csv", "a,b,y\n1,2,yes\n");
    let said = flat(&succeed(&["learn", &one, "--target", "y", "-o", &model]).1);
    assert!(said.contains("error on the one learned row"), "{said}");
    let inspected = flat(&succeed(&["inspect", &model]).0);
    assert!(inspected.contains("settings in parallel; none of them has 10.00 % of the weight"), "{inspected}");
    let bad = folder.write("bad.csv", "a,y\n1,no\n2,yes,3\n");
    fail(&["learn", &bad, "--target", "y", "--loss", "hinge", "--quiet"], 1, &["line 3", "1 row was learned before"]);
    let column = |rows: usize| folder.write("v.csv", table("v", rows, |i| format!("{}", i * i % 31)));
    let said = flat(&succeed(&["learn", &column(60), "--task", "novelty"]).1);
    assert!(said.contains("the threshold is found from the first 256 examples (--warmup), and there are 60 so far"), "{said}");
    let scores = folder.path("p.csv");
    let said = flat(&succeed(&["learn", &column(400), "--task", "novelty", "--predictions", &scores]).1);
    let scores = folder.read("p.csv");
    let judged = scores.lines().skip(1).filter(|line| line.split(',').nth(1) != Some("")).count();
    assert_eq!(judged, 144);
    assert!(
        said.contains("% of judged rows; ") && said.contains("judged 144 rows; the first 256 had no threshold yet"),
        "{said}"
    );
}

/// Names with line breaks do not look like other lines.
#[test]
fn a_line_break_in_a_class_stays_in_its_line() {
    let folder = Folder::new("odd-break");
    let model = folder.path("m.okl");
    let data = folder.write("q.csv", table("a,y", 40, |i| format!("{},\"{}\nline\"", i % 7, ["no", "yes"][i % 2])));
    succeed(&["learn", &data, "--target", "y", "-o", &model, "--quiet"]);
    let inspected = succeed(&["inspect", &model]).0;
    assert!(inspected.contains("no?line, yes?line") && inspected.contains("yes?line (scores above 0)"), "{inspected}");
}

/// What is wrong with a cell or a header, and what helps.
#[test]
fn numbers_with_commas_and_columns_with_spaces_get_advice_that_works() {
    let folder = Folder::new("odd-advice");
    let thousands = folder.write("t.csv", "a,y\n\"1,220\",yes\n");
    fail(&["learn", &thousands, "--target", "y"], 2, &["found '1,220'", "decimal points, and nothing between thousands"]);
    let rows = "{\"a\":1,\"y\":2},\n{\"a\":1,\"y\":2}";
    for array in [format!("[\n{rows}\n]\n"), format!("[{rows}]\n"), format!("[{}]\n", rows.replace('\n', " "))] {
        let array = folder.write("a.json", array);
        fail(&["learn", &array, "--target", "y", "--format", "jsonl"], 2, &["line 1", "one object per line: jq -c '.[]' FILE"]);
    }
    let commas = folder.write("c.json", format!("{rows}\n"));
    fail(&["learn", &commas, "--target", "y", "--format", "jsonl"], 2, &["line 1", "one object per line", "sed 's/,$//' FILE"]);
    // A row may be an array of numbers.
    succeed(&["learn", &folder.write("n.jsonl", "[1,2]\n[3,4]\n"), "--target", "2", "--quiet"]);
    let spaces = folder.write("s.txt", "a b y\n1 2 yes\n");
    fail(&["learn", &spaces, "--target", "y"], 2, &["no column 'y'", "separate columns by a comma, semicolon, tab or |"]);
    let (good, model) = (folder.write("g.csv", ring(40)), folder.path("m.okl"));
    succeed(&["learn", &good, "--target", "where", "-o", &model, "--quiet"]);
    // The first row of this file: numbers stood in the rows that were learned.
    let text = folder.write("x.csv", "x,y\n0.5,abc\n");
    fail(&["predict", &model, &text], 1, &["line 2, column 'y'", "expected a number, as in earlier rows; correct it"]);
    // In VW text an absent feature is 0, also for a model of a table.
    let other = folder.write("o.vw", "1 | q:0.5\n");
    fail(&["predict", &model, &other], 1, &["none of the features that the model knows", "knows x, y", "has q"]);
    assert_eq!(succeed(&["predict", &model, &folder.write("k.vw", "1 | x:0.5\n")]).0.lines().count(), 2);
}

/// A held-out file without rows is noticed before learning. A bad row in it costs its figures, and not those of the data.
#[test]
fn a_bad_held_out_file_costs_its_own_figures_alone() {
    let folder = Folder::new("odd-test");
    let (data, model, report) = (folder.write("d.csv", ring(300)), folder.path("m.okl"), folder.path("r.html"));
    let learn = ["learn", &data, "--target", "where", "-o", &model];
    let empty = folder.write("e.csv", "x,y,where\n");
    fail(&[&learn[..], &["--quiet", "--test", &empty]].concat(), 1, &["--test", "a header and no rows"]);
    assert!(!Path::new(&model).exists());
    let bad = folder.write("b.csv", ring(200) + "1,nought,inside\n");
    let output = okl(&[&learn[..], &["--test", &bad, "--report", &report]].concat()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && said.contains("\naccuracy ") && said.contains("b.csv, line 202, column 'y'"),
        "{said}"
    );
    assert!(Path::new(&model).exists() && folder.read("r.html").contains("The held-out file was not scored: "));
    let output = okl(&[&learn[..], &["--test", &bad, "--json"]].concat()).output().unwrap();
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(all["held_out_error"].as_str().unwrap().contains("line 202") && all["held_out"].is_null(), "{all}");
}

/// Step sizes of a loss with an adaptive tube suit targets of mean 0 and deviation 1: the advice is a line that helps.
#[test]
fn the_advice_on_the_unit_of_targets_helps() {
    let folder = Folder::new("odd-unit");
    let data = folder.write(
        "f.csv",
        table("x,y", 1500, |i| format!("{},{}", i * 37 % 100, 50_000.0 + 20_000.0 * ((i * 37 % 100) as f64 / 9.0).sin())),
    );
    let error = |all: &serde_json::Value| all["summary"]["windowed_error"].as_f64().unwrap();
    // The losses whose gradient is bounded: their steps do not reach a target that is far away.
    for loss in ["nu_epsilon", "absolute", "huber", "quantile:0.5"] {
        let learn = ["learn", &data, "--target", "y", "--loss", loss];
        let all = json(&learn);
        let warnings = all["warnings"].to_string();
        let line = warnings.split("has the line ").nth(1).unwrap_or_else(|| panic!("{loss}: {warnings}"));
        let line = line.split('"').next().unwrap();
        let scaled = json(&[&learn[..], &["--config", &folder.write("c.toml", line)]].concat());
        // The mean of |20,000 sin| is 12,700: what the mean of the targets is off by.
        assert!(
            error(&scaled) < 12_700.0 && error(&all) > 2.0 * error(&scaled),
            "{loss}: {} and {}",
            error(&all),
            error(&scaled)
        );
        assert!(!scaled["warnings"].to_string().contains("target_scale"));
    }
}

/// Skewed targets: a few values make the deviation. Units from mean and deviation would make these losses worse, so they are not advised; and
/// whatever is advised lowers the error.
#[test]
fn skewed_targets_get_no_advice_that_does_harm() {
    let folder = Folder::new("odd-skewed");
    let mut random = crate::support::Random(21);
    let mut text = String::from("a,b,y\n");
    for _ in 0..2000 {
        let [a, b] = [(); 2].map(|()| random.next());
        let normal: f64 = (0..12).map(|_| random.next()).sum::<f64>() - 6.0;
        let y = if random.next() < 0.2 { 0.0 } else { (2.5 + a + 1.6 * normal).exp() };
        text += &format!("{a:.4},{b:.4},{y:.4}\n");
    }
    let data = folder.write("s.csv", text);
    for loss in ["absolute", "huber", "quantile:0.1"] {
        let learn = ["learn", &data, "--target", "y", "--task", "numbers", "--loss", loss];
        let all = json(&learn);
        let warnings = all["warnings"].to_string();
        let Some(line) = warnings.split("has the line ").nth(1) else { continue };
        let scaled = json(&[&learn[..], &["--config", &folder.write("c.toml", line.split('"').next().unwrap())]].concat());
        let name = if loss.starts_with('q') { "pinball" } else { "mae" };
        let error = |all: &serde_json::Value| all["summary"]["outputs"][0][name].as_f64().unwrap();
        assert!(error(&scaled) < error(&all), "{loss}: {} with the advice, {} without", error(&scaled), error(&all));
    }
}

/// The squared loss follows 30 outliers. A robust loss is named with the figures that it had on a sample, and it is better on the other rows.
#[test]
fn outliers_under_the_squared_loss_are_said_with_a_loss_that_helps() {
    let folder = Folder::new("odd-outliers");
    let table = |outliers: usize| {
        let mut random = crate::support::Random(31);
        let mut text = String::from("a,b,y\n");
        for i in 0..3000 {
            let [a, b, c] = [(); 3].map(|()| 2.0 * random.next() - 1.0);
            let y = (3.0 * a).sin() + 0.5 * b + 0.3 * c;
            let far = if outliers > 0 && i % (3000 / outliers) == 7 { 60.0 * c.signum() } else { 0.0 };
            text += &format!("{a:.4},{b:.4},{:.4}\n", y + far);
        }
        folder.write(&format!("o{outliers}.csv"), text)
    };
    let warnings = |data: &str, more: &[&str]| json(&[&["learn", data, "--target", "y"], more].concat())["warnings"].to_string();
    let said = warnings(&table(30), &[]);
    assert!(said.contains("robust standard deviations away from the median of y") && said.contains("--loss huber:"), "{said}");
    assert!(said.contains("These figures leave out the rows with far targets. The rows of a sample are no neighbours"), "{said}");
    let loss = said.split("--loss ").nth(1).unwrap().split(' ').next().unwrap();
    // The median of the residuals is that of the ordinary rows.
    let middle = |more: &[&str]| {
        let all = json(&[&["learn", &table(30), "--target", "y"], more].concat());
        let shares = all["summary"]["outputs"][0]["mae"].as_f64().unwrap();
        shares - 30.0 * 60.0 / 3000.0
    };
    assert!(middle(&["--loss", loss]) < 0.8 * middle(&[]), "{} {}", middle(&["--loss", loss]), middle(&[]));
    assert!(!warnings(&table(30), &["--loss", "absolute"]).contains("target_scale"), "outliers are no unit");
    assert!(!warnings(&table(0), &[]).contains("huber"));
}
