//! Models that came out of a program: their columns have no names, and where they stopped is not for us to know.

use okl::{Batch, Config, Learner};

use crate::support::{Folder, Random, fail, flat, json, numbers, ring, succeed};

const X: [f32; 8] = [0.0, 0.5, 1.0, -1.0, 0.25, 2.0, -0.5, 0.75];

/// A learner of two features as a program would make it, with a note of the program's own in its position.
fn learner(position: &[u8]) -> Learner {
    let config = "loss = 'squared'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.5'\nbudget = 'unlimited'";
    let mut learner = Learner::new(Config::from_toml(config).unwrap()).unwrap();
    learner.learn(&Batch::new(&X, 2).numbers(&[1.0, 2.0, 3.0, 4.0])).unwrap();
    learner.set_position(position);
    learner
}

/// The same rows with a column before and one behind.
fn table() -> String {
    let rows = X.chunks(2).enumerate().map(|(i, x)| format!("{i},{},{},{}\n", x[0], x[1], i + 1));
    std::iter::once("id,a,b,y\n".to_owned()).chain(rows).collect()
}

#[test]
fn columns_are_chosen_for_a_model_that_has_no_names_for_them() {
    let folder = Folder::new("nameless");
    let data = folder.write("t.csv", table());
    for note in [&b""[..], b"row 17 of Tuesday"] {
        let learner = learner(note);
        let model = folder.write("m.okl", learner.to_bytes());
        let expected = learner.predict(&Batch::new(&X, 2)).unwrap().values;
        let refused = ["t.csv: has 4 columns", "(id, a, b, y)", "takes 2", "--features", "--ignore"];
        fail(&["predict", &model, &data], 2, &refused);
        fail(&["predict", &model, &data, "--ignore", "id,why"], 2, &["no column 'why'", "id, a, b, y"]);
        for flags in [["--ignore", "id,y"], ["--features", "a,b"]] {
            let (csv, _) = succeed(&[&["predict", &model, &data], &flags[..]].concat());
            let scores: Vec<f64> = csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
            assert_eq!(scores, expected, "{flags:?}");
        }
        succeed(&["inspect", &model]);
        fail(
            &["learn", "--resume", &model, "--continue", &data, "--target", "y", "--ignore", "id"],
            2,
            &["--continue", "no position in the data"],
        );
        fail(&["learn", "--resume", &model, &data, "--target", "y"], 2, &["t.csv: has 3 columns", "takes 2", "--ignore"]);
        let (_, err) = succeed(&["learn", "--resume", &model, &data, "--target", "y", "--ignore", "id"]);
        assert!(err.lines().any(|line| line.starts_with("  y  ")), "the target has its name: {err}");
    }
}

#[test]
fn a_model_that_knows_its_columns_keeps_to_them() {
    let folder = Folder::new("named");
    let (data, model) = (folder.write("n.csv", numbers(100)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "u", "--features", "a,b", "--quiet", "-o", &model]);
    let (plain, _) = succeed(&["predict", &model, &data]);
    for flags in [["--ignore", "c,v"], ["--features", "a,b"]] {
        assert_eq!(succeed(&[&["predict", &model, &data], &flags[..]].concat()).0, plain, "{flags:?}");
    }
    fail(&["predict", &model, &data, "--ignore", "b"], 2, &["--ignore b", "trained with this column"]);
    fail(&["predict", &model, &data, "--features", "a,c"], 2, &["--features", "finds its columns by name"]);
}

#[test]
fn what_a_newer_okl_remembers_is_not_guessed() {
    let folder = Folder::new("newer");
    let model = folder.write("m.okl", learner(br#"{"rows": "seven"}"#).to_bytes());
    fail(&["predict", &model, &folder.write("ring.csv", ring(5))], 1, &["m.okl", "written by an incompatible version of okl"]);
}

#[test]
fn one_message_says_what_libsvm_cannot_express_and_what_it_says_works() {
    let folder = Folder::new("libsvm");
    let text = ring(300).replace("inside", "7").replace("outside", "-3");
    let (data, model, out) = (folder.write("ring.csv", text), folder.path("m.okl"), folder.path("m.model"));
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &model]);
    fail(
        &["export", &model, "--to", "libsvm", "-o", &out],
        1,
        &["several kernels", "own scale", "--gamma NUMBER --scale none", "onnx"],
    );
    succeed(&["learn", &data, "--target", "where", "--quiet", "--gamma", "1", "--scale", "none", "-o", &model]);
    succeed(&["export", &model, "--to", "libsvm", "-o", &out]);
    assert!(folder.read("m.model").contains("\nlabel 7 -3\n") || folder.read("m.model").contains("\nlabel -3 7\n"));
}

/// A number in a file is the class that a model has as a text with the same spelling.
#[test]
fn classes_that_are_texts_are_the_numbers_of_a_file() {
    let folder = Folder::new("models-spelling");
    let text = ring(300).replace("outside", "7").replace("inside", "-3");
    let (data, config) = (folder.write("r.csv", &text), folder.write("c.json", r#"{"classes": ["-3", "7"]}"#));
    let (named, plain) = (folder.path("n.okl"), folder.path("p.okl"));
    let learn = ["learn", &data, "--target", "where", "--test", &data];
    let of_texts = json(&[&learn[..], &["--config", &config, "-o", &named]].concat());
    let of_numbers = json(&[&learn[..], &["--classes=-3,7", "-o", &plain]].concat());
    assert_eq!(of_texts["summary"], of_numbers["summary"]);
    assert_eq!(of_texts["held_out"], of_numbers["held_out"]);
    assert_eq!(succeed(&["predict", &named, &data]).0, succeed(&["predict", &plain, &data]).0);
    succeed(&["learn", &data, "--resume", &named, "--quiet"]);
}

/// A file that is cut off and a file that is no model are told apart.
#[test]
fn files_that_cannot_be_loaded_say_what_they_are() {
    let folder = Folder::new("models-wrong");
    let (data, model) = (folder.write("r.csv", ring(60)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--quiet"]);
    let bytes = std::fs::read(&model).unwrap();
    for length in [bytes.len() - 1, bytes.len() / 2, 100] {
        let cut = folder.write("cut.okl", &bytes[..length]);
        fail(&["inspect", &cut], 1, &["cut.okl", "damaged or cut off"]);
    }
    fail(&["predict", &data, &model], 1, &["r.csv", "not a model file", "okl COMMAND MODEL DATA"]);
}

/// Before the warm-up has ended there is nothing to freeze: the message says what is missing, in the words of the command line.
#[test]
fn freezing_too_early_says_what_to_do() {
    let folder = Folder::new("models-early");
    let (data, model) = (folder.write("r.csv", ring(100)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--quiet"]);
    let words = ["after 256 examples (--warmup)", "has learned 100", "learn more"];
    fail(&["freeze", &model, "-o", &folder.path("f.okl")], 2, &words);
}

/// A linear kernel has weights and no terms, in settings, table, summary and report.
#[test]
fn a_weight_vector_is_not_said_to_have_terms() {
    let folder = Folder::new("models-weights");
    let (data, report) = (folder.write("n.csv", numbers(300)), folder.path("r.html"));
    let learn = ["learn", &data, "--target", "u", "--ignore", "v", "--report", &report];
    let (_, said) = succeed(&[&learn[..], &["--kernel", "linear"]].concat());
    assert!(!said.contains("terms") && said.contains(" weights "), "{said}");
    let page = folder.read("r.html");
    assert!(!page.contains("terms kept in memory") && !page.contains("number of terms"), "a chart of terms");
    let (_, said) = succeed(&learn);
    assert!(said.contains(" terms ") && folder.read("r.html").contains("terms kept in memory"), "{said}");
}

/// A quantile is not meant to be close to the target: `inspect` shows its own loss. And it names both sizes of a model.
#[test]
fn inspect_shows_the_loss_of_a_quantile_and_the_memory_of_learning() {
    let folder = Folder::new("models-quantile");
    let (data, model) = (folder.write("n.csv", numbers(300)), folder.path("m.okl"));
    let learn =
        ["learn", &data, "--target", "u", "--ignore", "v", "--loss", "quantile:0.9", "-o", &model, "--save-model", "recent"];
    let pinball = json(&learn)["summary"]["outputs"][0]["pinball"].as_f64().unwrap();
    let found = json(&["inspect", &model]);
    let shown = found["progressive"]["pinball_loss"].as_f64().unwrap();
    assert!((shown - pinball).abs() < 1e-9 * pinball && found["progressive"]["r2"].is_null(), "{found}");
    let words = flat(&succeed(&["inspect", &model]).0);
    assert!(words.contains("mean quantile (pinball) loss") && !words.contains("R²") && !words.contains("absolute"), "{words}");
    let [loaded, learning] = ["bytes", "bytes_while_learning"].map(|name| found[name].as_u64().unwrap());
    assert!(loaded < learning && words.contains("as loaded, up to ") && words.contains("while it learns"), "{words}");
}

/// A model in its warm-up also needs more memory while it learns than as loaded. The bound holds for a model that continues to learn.
#[test]
fn a_model_takes_no_less_memory_while_it_learns() {
    let folder = Folder::new("models-memory");
    let model = folder.path("m.okl");
    let mut random = Random(4);
    for rows in [3, 40, 120, 300, 2500] {
        let data = folder.write("n.csv", numbers(rows));
        let columns = ["--target", "u", "--ignore", "v", "--task", "numbers"];
        succeed(&[&["learn", &data, "-o", &model, "--save-model", "recent", "--quiet"][..], &columns].concat());
        let found = json(&["inspect", &model]);
        let [loaded, learning] = ["bytes", "bytes_while_learning"].map(|name| found[name].as_u64().unwrap());
        assert!(loaded <= learning, "{rows} rows: {loaded} as loaded, {learning} while it learns");
        let mut learner = okl::Learner::load(&model).unwrap();
        for _ in 0..20 {
            let row = [(); 3].map(|()| random.next());
            learner.learn(&okl::Batch::of_f64(&row, 3).numbers(&[row[0]])).unwrap();
            let bound = okl_cli::memory::while_learning(&learner).unwrap();
            assert!(learner.bytes() <= bound, "{rows} rows: {} bytes, at most {bound} were announced", learner.bytes());
        }
    }
}
