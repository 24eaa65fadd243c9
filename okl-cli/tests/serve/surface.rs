//! What the command line lends to the server: readers of tables, tokens.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use okl::Learner;
use serde_json::{Value, json};

use crate::support::{Folder, Served, call, config, json_call};

#[test]
fn tables_are_read_as_okl_learn_reads_them() {
    let folder = Folder::new("tables");
    let served = Served::start(&folder, &[]);
    let post = |path: &str, kind: &str, body: &str| {
        let (status, body) = call(&served.address, "POST", path, kind, body.as_bytes()).unwrap();
        (status, serde_json::from_slice::<Value>(&body).unwrap())
    };
    for name in ["csv", "lines", "json"] {
        json_call(&served.address, "PUT", &format!("/v1/models/{name}"), &json!({ "config": config() })).unwrap();
    }
    let csv = "a,b,y,w\n0.5,1.5,cat,1\n-1,2,dog,0.5\n1,1,cat,2\n";
    let (status, by_csv) = post("/v1/models/csv/learn?target=y&weight=w", "text/csv", csv);
    assert_eq!(status, 200, "{by_csv}");
    let lines = "{\"a\":0.5,\"b\":1.5,\"y\":\"cat\",\"w\":1}\n{\"w\":0.5,\"y\":\"dog\",\"b\":2,\"a\":-1}\n{\"a\":1,\"b\":1,\"y\":\"cat\",\"w\":2}\n";
    let (status, by_lines) = post("/v1/models/lines/learn?target=y&weight=w", "application/x-ndjson", lines);
    assert_eq!(status, 200, "{by_lines}");
    let rows = json!({ "rows": [[0.5, 1.5], [-1, 2], [1, 1]], "targets": ["cat", "dog", "cat"], "weights": [1, 0.5, 2] });
    let by_json = post("/v1/models/json/learn", "application/json", &rows.to_string()).1;
    assert_eq!((&by_csv["scores"], &by_lines["scores"]), (&by_json["scores"], &by_json["scores"]));
    let file = |name: &str| call(&served.address, "GET", &format!("/v1/models/{name}/snapshot"), "", b"").unwrap().1;
    let without_names = |bytes: &[u8]| {
        let mut learner = Learner::from_bytes(bytes).unwrap();
        learner.set_position([]);
        learner.to_bytes()
    };
    assert!(file("csv") == file("lines") && without_names(&file("csv")) == file("json"));
    let (status, refused) = post("/v1/models/csv/learn?target=y&weight=w", "text/csv", "a,b,y,w\n1,2,cat,1\n1,x,cat,1\n");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(status == 422 && message.contains("row 1, column 'b'"), "rows are counted from 0: {message}");
    assert_eq!((&refused["error"]["row"], &refused["error"]["column"]), (&json!(1), &json!("b")));
    let late = "{\"a\":1,\"b\":2,\"y\":\"cat\"}\n{\"a\":1,\"b\":2,\"z\":1,\"y\":\"cat\"}\n";
    let (status, unknown) = post("/v1/models/lines/learn?target=y", "application/x-ndjson", late);
    assert_eq!((status, &unknown["error"]["row"], &unknown["error"]["column"]), (422, &json!(1), &json!("z")), "{unknown}");
    assert!(
        !message.contains("--") && message.ends_with("correct it, or leave the row out"),
        "advice that holds here: {message}"
    );
    let (_, refused) = post("/v1/models/csv/learn?target=y&weight=w", "text/csv", "a,b,y,w\n1,,cat,1\n");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("the value is missing") && !message.contains("--"), "{message}");
    let described = call(&served.address, "GET", "/v1/models/csv/inspect", "", b"").unwrap().1;
    let described: Value = serde_json::from_slice(&described).unwrap();
    assert_eq!((&described["feature_names"], &described["examples"]), (&json!(["a", "b"]), &json!(3)));
    assert!(described["certificates"].as_array().is_some_and(|lines| !lines.is_empty()));
}

/// pandas names the columns of an array 0, 1, 2: the first line is the header all the same, and `target=2` is the third column.
#[test]
fn a_header_of_numbers_is_a_header() {
    let folder = Folder::new("numbers");
    let served = Served::start(&folder, &[]);
    json_call(&served.address, "PUT", "/v1/models/m", &json!({ "task": "numbers" })).unwrap();
    let post = |path: &str, body: &str| {
        let (status, body) = call(&served.address, "POST", path, "text/csv", body.as_bytes()).unwrap();
        (status, serde_json::from_slice::<Value>(&body).unwrap())
    };
    let (status, learned) = post("/v1/models/m/learn?target=2", "0,1,2\n1.5,10,0.25\n2.5,20,0.5\n");
    assert_eq!((status, &learned["learned"]), (200, &json!(2)), "{learned}");
    let told = json_call(&served.address, "GET", "/v1/models/m", &json!({})).unwrap().1;
    assert_eq!((&told["feature_names"], &told["rows"]), (&json!(["0", "1"]), &json!(2)));
    let (status, predicted) = post("/v1/models/m/predict", "1,0\n10,1.5\n");
    assert_eq!((status, predicted["scores"].as_array().unwrap().len()), (200, 1), "{predicted}");
    let by_name = json!({ "rows": [{ "0": 1.5, "1": 10.0 }] });
    let by_name = json_call(&served.address, "POST", "/v1/models/m/predict", &by_name).unwrap().1;
    assert_eq!(predicted["scores"], by_name["scores"]);
}

/// The file that the server gives away, and a frozen copy of the model, know the columns: `okl predict` finds them in any order.
#[test]
fn a_downloaded_model_knows_its_columns() {
    let folder = Folder::new("downloaded");
    let served = Served::start(&folder, &[]);
    let post = |path: &str, body: &str| call(&served.address, "POST", path, "text/csv", body.as_bytes()).unwrap();
    call(&served.address, "PUT", "/v1/models/m", "", b"").unwrap();
    let row = |i: i32| (f64::from(i % 17) - 8.0, f64::from(i % 23) - 11.0);
    let rows: String = (0..600)
        .map(|i| (row(i), i))
        .map(|((a, b), _)| format!("{a},{b},{}\n", if a > 0.3 * b { "yes" } else { "no" }))
        .collect();
    assert_eq!(post("/v1/models/m/learn?target=y", &format!("a,b,y\n{rows}")).0, 200);
    assert_eq!(post("/v1/models/m/freeze?to=frozen", "").0, 201);
    for name in ["m", "frozen"] {
        let model = folder.0.join(format!("{name}.okl"));
        std::fs::write(&model, call(&served.address, "GET", &format!("/v1/models/{name}/snapshot"), "", b"").unwrap().1).unwrap();
        let predicted = |file: &str, text: &str| {
            let file = folder.0.join(file);
            std::fs::write(&file, text).unwrap();
            let output = Command::new(env!("CARGO_BIN_EXE_okl")).arg("predict").args([&model, &file]).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let forward = predicted("forward.csv", "a,b\n1,5\n-3,2\n7,-7\n");
        assert_eq!(forward, predicted("backward.csv", "b,a\n5,1\n2,-3\n-7,7\n"), "{name}");
        assert!(forward.contains("yes") && forward.contains("no"), "{forward}");
    }
}

/// Examples that a server learned are counted apart: the figures of `okl learn` are not those of the last rows any more.
#[test]
fn inspect_says_what_the_server_learned() {
    let folder = Folder::new("apart");
    let served = Served::start(&folder, &[]);
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    let okl = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_okl")).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let rows: String =
        (0..40).map(|i| format!("{},{}\n", f64::from(i * 7 % 11) - 5.0, if i * 7 % 11 > 5 { "yes" } else { "no" })).collect();
    let (table, model, after) = (path("t.csv"), path("m.okl"), path("after.okl"));
    std::fs::write(&table, format!("a,y\n{rows}")).unwrap();
    okl(&["learn", &table, "--target", "y", "-o", &model]);
    assert!(!okl(&["inspect", &model]).contains("another program"));
    let file = std::fs::read(&model).unwrap();
    assert_eq!(call(&served.address, "PUT", "/v1/models/m", "application/octet-stream", &file).unwrap().0, 201);
    let body = json!({ "rows": [[1], [2], [-3]], "targets": ["no", "no", "no"] });
    json_call(&served.address, "POST", "/v1/models/m/learn", &body).unwrap();
    let only_predicted = json!({ "rows": [[1]], "targets": [null] });
    json_call(&served.address, "POST", "/v1/models/m/learn", &only_predicted).unwrap();
    std::fs::write(&after, call(&served.address, "GET", "/v1/models/m/snapshot", "", b"").unwrap().1).unwrap();
    let (words, resumed) = (okl(&["inspect", &after]), path("resumed.okl"));
    assert!(
        words.contains("over 40 examples") && words.contains("of these; 3 examples were learned by another program"),
        "{words}"
    );
    okl(&["learn", &table, "--target", "y", "--resume", &after, "-o", &resumed]);
    let words = okl(&["inspect", &resumed]);
    assert!(words.contains("over 80 examples") && words.contains("3 examples were learned by another program"), "{words}");
    let described = json_call(&served.address, "GET", "/v1/models/m/inspect", &json!(null)).unwrap().1;
    assert_eq!((&described["progressive"]["examples"], &described["on_this_server"]["examples"]), (&json!(40), &json!(3)));
    // Rows are those of the figures, also the one without a target. A file counts the rows of `okl learn` alone, so it has no number of all rows.
    let figures = json_call(&served.address, "GET", "/v1/models/m", &json!(null)).unwrap().1;
    assert_eq!((&figures["rows"], &described["rows"], &described["on_this_server"]["rows"]), (&json!(44), &json!(44), &json!(4)));
    assert_eq!((&figures["examples"], &described["examples"]), (&json!(43), &json!(43)));
    let rows = |path: &str| serde_json::from_str::<Value>(&okl(&["inspect", path, "--json"])).unwrap()["rows"].clone();
    assert_eq!([rows(&model), rows(&after), rows(&resumed)], [json!(40), Value::Null, Value::Null]);
}

/// The server does not apply the rules of a table, and says so when a model file has some.
#[test]
fn a_file_with_rules_for_columns_is_refused_unless_features_are_finished() {
    let folder = Folder::new("rules");
    let served = Served::start(&folder, &[]);
    let (table, model) = (folder.0.join("t.csv"), folder.0.join("m.okl"));
    std::fs::write(&table, "q,y\n1,1\n10,2\n100,3\n1000,4\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_okl"))
        .arg("learn")
        .arg(&table)
        .args(["--target", "y", "--task", "numbers", "--log", "q", "-o"])
        .arg(&model)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = std::fs::read(&model).unwrap();
    let upload = |path: &str| call(&served.address, "PUT", path, "application/octet-stream", &file).unwrap();
    let (status, said) = upload("/v1/models/m");
    let said = String::from_utf8(said).unwrap();
    assert!(status == 422 && said.contains("--log") && said.contains("?finished=true"), "{said}");
    assert_eq!(upload("/v1/models/m?finished=true").0, 201);
}

#[test]
fn a_token_is_made_and_used() {
    let folder = Folder::new("tokens");
    std::fs::create_dir_all(&folder.0).unwrap();
    let tokens = folder.0.join("tokens");
    let file = tokens.to_str().unwrap();
    let new = |rights: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_okl"));
        let output =
            command.args(["token", "new", "--name", "t", "--rights", rights, "--models", "*", "--file", file]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    assert_eq!(new("fly").0, Some(2));
    let (code, secret) = new("admin");
    assert!(code == Some(0) && !std::fs::read_to_string(&tokens).unwrap().contains(&secret));
    let models = Folder(folder.0.join("models"));
    let served = Served::start(&models, &["--token-file", file]);
    let with = |secret: &str| {
        let mut stream = TcpStream::connect(&served.address).unwrap();
        write!(stream, "GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {secret}\r\n\r\n")
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text[9..12].to_owned()
    };
    assert_eq!((with(&secret), with("okl_wrong")), ("200".into(), "401".into()));
    let open = Command::new(env!("CARGO_BIN_EXE_okl"))
        .arg("serve")
        .arg(folder.0.join("other"))
        .args(["--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert!(!open.status.success() && String::from_utf8_lossy(&open.stderr).contains("loopback"), "{open:?}");
}

/// Tables that mean harm: refused with a message, and the server goes on.
#[test]
fn hostile_tables_are_refused() {
    let folder = Folder::new("hostile");
    let served = Served::start(&folder, &[]);
    json_call(&served.address, "PUT", "/v1/models/m", &json!({ "config": config() })).unwrap();
    let wide =
        format!("{}\n{}\n", (0..1 << 20).map(|i| i.to_string()).collect::<Vec<_>>().join(","), vec!["1"; 1 << 20].join(","));
    let deep = format!("{{\"a\": {}", "[".repeat(1 << 20));
    let cases: [(&str, &[u8]); 8] = [
        ("text/csv", b"\x1f\x8b\x08\x00\x00\x00\x00\x00"),
        ("text/csv", b"\x28\xb5\x2f\xfd\x00\x00\x00\x00"),
        ("text/csv", wide.as_bytes()),
        ("text/csv", b"a,y\n1,2,3\n"),
        ("application/x-ndjson", deep.as_bytes()),
        ("application/x-ndjson", b"{\"a\": \"\xff\xfe\"}\n"),
        ("application/x-ndjson", b"{\"a\": 1, \"a\": 2}\n"),
        ("application/vnd.apache.arrow.stream", b"\xff\xff\xff\xff\xff\xff\xff\x7f"),
    ];
    for (kind, body) in cases {
        let (status, answer) = call(&served.address, "POST", "/v1/models/m/learn?target=y", kind, body).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!((400..500).contains(&status) && (10..1000).contains(&message.len()), "{kind}: {status} {message}");
    }
    assert_eq!(json_call(&served.address, "GET", "/v1/models/m", &json!({})).unwrap().1["rows"], 0);
}

/// Rows of zeros have scores of 0 under a linear kernel. The first row of a class is a mistake; with one class before a row it is predicted;
/// of two equal scores the earlier class is predicted: a is right, b is wrong.
#[test]
fn equal_scores_count_as_in_okl_learn() {
    let folder = Folder::new("ties");
    let served = Served::start(&folder, &[]);
    let table = folder.0.join("ties.csv");
    std::fs::write(&table, "x,y\n0,a\n0,a\n0,b\n0,a\n0,b\n").unwrap();
    let given = [("kernel", "linear"), ("step", "constant:0.3"), ("lambda", "0.001"), ("scale", "none"), ("offset", "false")];
    for loss in ["hinge", "max_margin"] {
        let config = json!({ "loss": loss, "kernel": "linear", "step": "constant:0.3", "lambda": 0.001, "scale": "none" });
        let path = format!("/v1/models/{loss}");
        json_call(&served.address, "PUT", &path, &json!({ "config": config })).unwrap();
        let rows = json!({ "rows": [[0], [0], [0], [0], [0]], "targets": ["a", "a", "b", "a", "b"] });
        json_call(&served.address, "POST", &format!("{path}/learn"), &rows).unwrap();
        let told = json_call(&served.address, "GET", &path, &json!({})).unwrap().1;
        let settings = given.iter().flat_map(|(name, value)| [format!("--{name}"), (*value).to_owned()]);
        let learn = ["learn", table.to_str().unwrap(), "--target", "y", "--json", "--loss", loss];
        let said = Command::new(env!("CARGO_BIN_EXE_okl")).args(learn).args(settings).output().unwrap();
        let said: Value = serde_json::from_slice(&said.stdout).unwrap();
        assert_eq!((&told["error"], &said["summary"]["error"]), (&json!(0.6), &json!(0.6)), "{loss}");
    }
}

/// Scores stay at 0 (the step is 1e-300), so the errors are |y|: 1, 2, 3, and by weight (1 * 1 + 2 * 3 + 3 * 0.5) / 4.5. The row of weight 0
/// and the row without a target do not count.
#[test]
fn errors_are_weighted_as_in_okl_learn() {
    let folder = Folder::new("weighted");
    let served = Served::start(&folder, &[]);
    let table = folder.0.join("weighted.csv");
    let text = "x,w,y\n1,1,1\n2,3,-2\n3,0,50\n4,2,\n5,0.5,3\n";
    std::fs::write(&table, text).unwrap();
    let config = json!({ "loss": "squared", "kernel": "linear", "step": "constant:1e-300", "lambda": 0, "scale": "none", "target_scale": "none" });
    json_call(&served.address, "PUT", "/v1/models/m", &json!({ "config": config })).unwrap();
    let learned = call(&served.address, "POST", "/v1/models/m/learn?target=y&weight=w", "text/csv", text.as_bytes()).unwrap();
    assert_eq!(learned.0, 200, "{}", String::from_utf8_lossy(&learned.1));
    let told = json_call(&served.address, "GET", "/v1/models/m", &json!({})).unwrap().1;
    let settings = folder.0.join("okl.json");
    std::fs::write(&settings, config.to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_okl"))
        .args(["learn", table.to_str().unwrap(), "--target", "y", "--task", "numbers", "--weight", "w", "--json", "--config"])
        .arg(&settings)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let error = json!((1.0 + 3.0 * 2.0 + 0.5 * 3.0) / 4.5);
    // The squared loss is half the square of the error.
    let loss = json!((0.5 + 3.0 * 2.0 + 0.5 * 4.5) / 4.5);
    let summary = &said["summary"];
    let of_server = (&told["error"], &told["recent_error"], &told["loss"], &told["examples"]);
    assert_eq!(of_server, (&error, &error, &loss, &json!(3)));
    assert_eq!(of_server, (&summary["error"], &summary["windowed_error"], &summary["average_loss"], &summary["examples"]));
}

/// Advice in a message works, and the row and the column of a wrong value are fields of the error.
#[test]
fn advice_about_tables_can_be_followed() {
    let folder = Folder::new("advice");
    let served = Served::start(&folder, &[]);
    json_call(&served.address, "PUT", "/v1/models/m", &json!({ "task": "numbers" })).unwrap();
    let post = |query: &str, kind: &str, body: &str| {
        let path = format!("/v1/models/m/learn?target=y{query}");
        let (status, answer) = call(&served.address, "POST", &path, kind, body.as_bytes()).unwrap();
        (status, serde_json::from_slice::<Value>(&answer).unwrap()["error"].clone())
    };
    let csv = |query: &str, body: &str| post(query, "text/csv", body);
    let note = csv("", "a,b,note,y\n1,2,x,0.5\n2,3,x,1.5\n").1;
    assert!(note["message"].as_str().unwrap().contains("?ignore=note"), "{note}");
    assert_eq!(csv("&ignore=note", "a,b,note,y\n1,2,x,0.5\n2,3,x,1.5\n").0, 200);
    let refused = [
        ("&weight=w", "a,b,w,y\n1,2,1,0.5\n1,2,-1,0.5\n", json!(1), json!("w")),
        ("", "a,b,y\n1,2,0.5\n1,x,0.5\n", json!(1), json!("b")),
        ("", "a,b,y\n1,,0.5\n", json!(0), json!("b")),
        ("", "a,b,y\n1,2,0.5\n3,4,z\n", json!(1), json!("y")),
    ];
    for (query, body, row, column) in refused {
        let (status, error) = csv(query, body);
        assert_eq!((status, &error["row"], &error["column"]), (422, &row, &column), "{body}: {error}");
        assert!(!error["message"].as_str().unwrap().contains("ignore"), "{error}");
    }
    let mixed = post("", "application/x-ndjson", "{\"a\": 1, \"b\": 2, \"y\": 0.5}\n[1, 2, 0.5]\n").1;
    assert!(
        mixed["row"] == 1 && mixed["message"].as_str().unwrap().contains("an array, but the rows before are objects"),
        "{mixed}"
    );
}

/// A model that has learned lists of numbers takes a table by the order of its columns, as `okl predict` does.
#[test]
fn a_model_without_names_takes_a_table_in_the_order_of_its_columns() {
    let folder = Folder::new("order");
    let served = Served::start(&folder, &[]);
    for name in ["listed", "table"] {
        json_call(&served.address, "PUT", &format!("/v1/models/{name}"), &json!({ "config": config() })).unwrap();
        let first = json!({ "rows": [[1, 2], [-3, 4]], "targets": [1, -1] });
        json_call(&served.address, "POST", &format!("/v1/models/{name}/learn"), &first).unwrap();
    }
    let post = |path: &str, body: &str| {
        let (status, answer) = call(&served.address, "POST", path, "text/csv", body.as_bytes()).unwrap();
        (status, serde_json::from_slice::<Value>(&answer).unwrap())
    };
    let rows = json!({ "rows": [[0.5, 1], [2, -1]], "targets": [-1, 1] });
    let listed = json_call(&served.address, "POST", "/v1/models/listed/learn", &rows).unwrap().1;
    let (status, table) = post("/v1/models/table/learn?target=y", "a,b,y\n0.5,1,-1\n2,-1,1\n");
    assert_eq!((status, &table["scores"]), (200, &listed["scores"]), "{table}");
    let one = json_call(&served.address, "POST", "/v1/models/listed/predict?fresh=true", &json!({ "rows": [[1, 1]] })).unwrap().1;
    let (status, of_table) = post("/v1/models/table/predict?fresh=true", "p,q\n1,1\n");
    assert_eq!((status, &of_table["scores"]), (200, &one["scores"]), "{of_table}");
    let (status, wide) = post("/v1/models/table/predict", "p,q,r\n1,1,1\n");
    let message = wide["error"]["message"].as_str().unwrap();
    assert!(status == 422 && message.contains("3 columns of numbers (p, q, r)") && message.contains("takes 2"), "{message}");
    assert_eq!(post("/v1/models/table/predict?ignore=r", "p,q,r\n1,1,1\n").1["scores"], one["scores"]);
}

/// A number with a fraction is no new class in a table either, whatever the other rows of the table have; text of NDJSON is a name.
#[test]
fn fractions_in_a_table_are_not_new_classes() {
    let folder = Folder::new("fractions");
    let served = Served::start(&folder, &[]);
    json_call(&served.address, "PUT", "/v1/models/m", &json!({})).unwrap();
    let learn = |kind: &str, body: &str| {
        let (status, answer) = call(&served.address, "POST", "/v1/models/m/learn?target=y", kind, body.as_bytes()).unwrap();
        (status, serde_json::from_slice::<Value>(&answer).unwrap())
    };
    let refused = |kind: &str, body: &str, row: usize| {
        let (status, answer) = learn(kind, body);
        assert_eq!((status, &answer["error"]["row"]), (422, &json!(row)), "{body}: {answer}");
    };
    let lines = "application/x-ndjson";
    refused("text/csv", "a,y\n1,1.5\n2,unknown\n3,2.5\n", 1);
    refused(lines, "{\"a\":1,\"y\":\"unknown\"}\n{\"a\":2,\"y\":2.5}\n", 0);
    let named = learn(lines, "{\"a\":1,\"y\":\"u\"}\n{\"a\":2,\"y\":\"2.5\"}\n");
    assert_eq!(named.0, 200, "{named:?}");
    assert_eq!(learn("text/csv", "a,y\n1,u\n2,2.5\n").0, 200);
    refused("text/csv", "a,y\n1,u\n2,2.5\n3,3.5\n", 2);
    refused("text/csv", "a,y\n2,2.5\n3,3.5\n", 1);
    let told = json_call(&served.address, "GET", "/v1/models/m", &json!({})).unwrap().1;
    assert_eq!(told["classes"], json!(["u", "2.5"]));
}

/// The certificate starts again at 0 when the units of the columns change: the live page must not say that the model is exact, and a bound holds
/// from that example on. The sentence is that of `okl inspect`.
#[test]
fn what_was_dropped_is_said_since_the_units_changed() {
    let folder = Folder::new("dropped");
    let served = Served::start(&folder, &[]);
    let ask = |path: &str| json_call(&served.address, "GET", path, &json!({})).unwrap().1;
    let detector = json!({ "loss": "density:0.05", "kernel": "gaussian", "scale": "auto", "budget": "window:100" });
    json_call(&served.address, "PUT", "/v1/models/m", &json!({ "config": detector })).unwrap();
    let mut seen = [false; 4];
    for block in 0..120 {
        let scale = if block < 40 { 1.0 } else { 50.0 };
        let number = |i: u64| f64::from(u32::try_from(i).unwrap());
        let rows: Vec<[f64; 2]> =
            (64 * block..64 * (block + 1)).map(|i| [scale * (0.7 * number(i)).sin(), scale * (0.31 * number(i)).cos()]).collect();
        json_call(&served.address, "POST", "/v1/models/m/learn", &json!({ "rows": rows })).unwrap();
        let told = ask("/v1/models/m");
        let (lost, since) = (told["truncation_error"].as_f64().unwrap(), told["certified_since"].as_u64().unwrap());
        let said = told["truncation"].as_str().unwrap();
        let at = match since {
            0..1000 => format!(" since example {since}"),
            _ => format!(" since example {},{:03}", since / 1000, since % 1000),
        };
        match (lost == 0.0, since == 0) {
            (true, true) => assert_eq!(said, "Scores have no truncation error."),
            (true, false) => assert!(said.starts_with(&format!("The updates{at} have no truncation error.")), "{told}"),
            (false, true) => assert!(said.starts_with("Terms dropped or merged") && !said.contains("since"), "{told}"),
            (false, false) => assert!(said.starts_with("Terms dropped or merged"), "{told}"),
        }
        assert!(lost == 0.0 || since == 0 || said.contains(&at), "{told}");
        assert_eq!(ask("/v1/models/m/inspect")["certificates"][0], told["truncation"]);
        seen[2 * usize::from(lost == 0.0) + usize::from(since == 0)] = true;
    }
    assert_eq!(seen, [true; 4], "every case occurs");
}
