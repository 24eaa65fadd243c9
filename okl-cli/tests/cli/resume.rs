//! Stopping and going on: more data, the same data, checkpoints, kill -9, Ctrl-C.

use std::fs;
use std::io::{BufRead as _, Read as _, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Folder, fail, flat, gzip, json, killed, late_classes, numbers, okl, ring, skipped, succeed};

fn bytes(path: &str) -> Vec<u8> {
    fs::read(path).unwrap()
}

/// What a model is, without what it remembers of files: the scores it gives.
fn scores(model: &str, data: &str) -> String {
    succeed(&["predict", model, data]).0
}

#[test]
fn more_data_and_the_same_data() {
    let folder = Folder::new("resume");
    let text = ring(1200);
    let half: String = text.lines().take(601).map(|l| format!("{l}\n")).collect();
    let rest: String = text.lines().take(1).chain(text.lines().skip(601)).map(|l| format!("{l}\n")).collect();
    let (whole, half, rest) = (folder.write("whole.csv", &text), folder.write("half.csv", half), folder.write("rest.csv", rest));
    let [a, b, c, d] = ["a.okl", "b.okl", "c.okl", "d.okl"].map(|n| folder.path(n));
    succeed(&["learn", &whole, "--target", "where", "--quiet", "-o", &a]);
    succeed(&["learn", &half, "--target", "where", "--quiet", "-o", &b]);
    succeed(&["learn", "--resume", &b, &rest, "--quiet", "-o", &c]);
    assert_eq!(scores(&a, &whole), scores(&c, &whole), "more.csv is new data");
    succeed(&["learn", "--resume", &b, "--continue", &whole, "--quiet", "-o", &d]);
    assert_eq!(bytes(&a), bytes(&d), "the same stream goes on where the model stopped");
    let (_, err) = succeed(&["learn", "--resume", &a, "--continue", &whole, "-o", &d]);
    assert!(err.contains("no rows after those that the model has consumed") && bytes(&a) == bytes(&d), "{err}");
}

#[test]
fn continuing_over_other_data_is_refused() {
    let folder = Folder::new("other-data");
    let (text, model, end) = (ring(600), folder.path("m.okl"), folder.path("end.okl"));
    let whole = folder.write("whole.csv", &text);
    let lines: Vec<&str> = text.lines().collect();
    let half = folder.write("half.csv", lines[..401].join("\n"));
    succeed(&["learn", &half, "--target", "where", "--quiet", "-o", &model]);
    let mut rows = lines.clone();
    rows.swap(5, 590);
    let (shorter, shuffled) =
        (folder.write("shorter.csv", lines[..300].join("\n")), folder.write("shuffled.csv", rows.join("\n")));
    let going_on = |data: &str| ["learn", "--resume", &model, "--continue", data, "-o", &end].map(str::to_owned);
    let fails = |data: &str, words: &[&str]| fail(&going_on(data).iter().map(String::as_str).collect::<Vec<_>>(), 1, words);
    fails(&shorter, &["shorter.csv", "ends before line 401", "same data"]);
    fails(&shuffled, &["shuffled.csv, line 401", "differ from the rows that the model has learned"]);
    assert!(!Path::new(&end).exists(), "nothing was learned");
    succeed(&["learn", "--resume", &model, "--continue", &whole, "--quiet", "-o", &end]);
    // All rows count where a pass is shuffled.
    succeed(&["learn", &whole, "--target", "where", "--quiet", "--shuffle", "3", "-o", &model]);
    fails(&shuffled, &["shuffled.csv", "differ from the rows that the model has learned"]);
}

#[test]
fn a_position_without_a_fingerprint_is_accepted_with_a_word() {
    let folder = Folder::new("no-print");
    let (data, model) = (folder.write("ring.csv", ring(100)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &model]);
    let mut learner = okl::Learner::load(&model).unwrap();
    let mut position: serde_json::Value = serde_json::from_slice(learner.position()).unwrap();
    assert!(position.as_object_mut().unwrap().remove("print").is_some());
    learner.set_position(position.to_string().into_bytes());
    learner.save(&model).unwrap();
    let (_, said) = succeed(&["learn", "--resume", &model, "--continue", &data, "-o", &model]);
    assert!(said.contains("no fingerprint"), "{said}");
}

#[test]
fn several_files_are_learned_as_one() {
    let folder = Folder::new("several");
    let text = ring(500);
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let part = |rows: &[&str]| format!("{header}\n{}\n", rows.join("\n"));
    let (whole, a, b) =
        (folder.write("whole.csv", &text), folder.write("a.csv", part(&rows[..200])), folder.write("b.csv", part(&rows[200..])));
    let [one, two, half, on] = ["one.okl", "two.okl", "half.okl", "on.okl"].map(|name| folder.path(name));
    for flags in [&["--passes", "2"][..], &["--shuffle", "5"], &[]] {
        succeed(&[&["learn", &whole, "--target", "where", "--quiet", "-o", &one], flags].concat());
        succeed(&[&["learn", &a, &b, "--target", "where", "--quiet", "-o", &two], flags].concat());
        assert_eq!(scores(&one, &whole), scores(&two, &whole), "{flags:?}");
    }
    succeed(&["learn", &a, "--target", "where", "--quiet", "-o", &half]);
    succeed(&["learn", "--resume", &half, "--continue", &a, &b, "--quiet", "-o", &on]);
    assert_eq!(bytes(&two), bytes(&on));
    let bad = folder.write("bad.csv", part(&["1,2,inside", "1,oops,inside"]));
    fail(&["learn", &a, &bad, "--target", "where", "--quiet"], 1, &["bad.csv, line 3, column 'y'"]);
    let third = folder.write("third.csv", part(&["1,2,inside", "1,2,between"]));
    fail(
        &["learn", &a, &third, "--target", "where", "--quiet", "--classes", "inside,outside"],
        1,
        &["third.csv, line 3", "between"],
    );
    fail(&["learn", &a, &third, "--target", "where", "--quiet", "-o", &third], 2, &["overwrite the data"]);
}

/// A stream, its flags, and every how many rows it is saved.
struct Case {
    name: &'static str,
    data: String,
    flags: Vec<&'static str>,
    every: &'static str,
}

fn cases(folder: &Folder) -> Vec<Case> {
    let weighted: String = ring(20_000)
        .lines()
        .enumerate()
        .map(|(i, l)| format!("{l},{}\n", if i == 0 { "w".into() } else { (i % 3).to_string() }))
        .collect();
    let flags = |text: &'static str| text.split(' ').collect::<Vec<_>>();
    vec![
        Case {
            name: "csv",
            data: folder.write("ring.csv", ring(60_000)),
            flags: flags("--target where --budget merge:200 --kernel gaussian"),
            every: "1000",
        },
        Case {
            name: "gzip, and the warm-up not done at the first checkpoints",
            data: folder.write("ring.csv.gz", gzip(&ring(30_000))),
            flags: flags("--target where --warmup 5000 --budget window:100"),
            every: "300",
        },
        Case {
            name: "classes and features that appear late, step sizes that adapt",
            data: folder.write("late.jsonl", late_classes(20_000)),
            flags: flags("--target class --loss max_margin --step smd --budget merge:150"),
            every: "500",
        },
        Case {
            name: "weights, and bad rows that are skipped",
            data: folder.write("weighted.csv", weighted.replacen("\n", "\n?,1,inside,1\n", 1)),
            flags: flags("--target where --weight w --on-bad-row skip --budget merge:100"),
            every: "700",
        },
        Case {
            name: "several passes, each in an order of its own",
            data: folder.write("numbers.csv", numbers(5_000)),
            flags: flags("--target u,v --shuffle 5 --passes 4 --budget merge:200"),
            every: "900",
        },
        Case {
            name: "several passes in the file's order",
            data: folder.write("numbers.csv", numbers(5_000)),
            flags: flags("--target u,v --passes 4 --budget merge:200"),
            every: "900",
        },
    ]
}

#[test]
fn killed_at_any_moment_the_last_checkpoint_goes_on_to_the_same_bits() {
    let folder = Folder::new("kill");
    let (whole, model, end) = (folder.path("whole.okl"), folder.path("m.okl"), folder.path("end.okl"));
    let (all, begun) = (folder.path("all.csv"), folder.path("begun.csv"));
    for Case { name, data, flags, every } in cases(&folder) {
        succeed(&[&["learn", &data, "--quiet", "-o", &whole, "--predictions", &all][..], &flags].concat());
        let mut cut_short = 0;
        for wait in [0, 2, 5, 15, 40] {
            drop(fs::remove_file(&model));
            let files = ["-o", &model, "--predictions", &begun, "--checkpoint-every", every];
            let args = [&["learn", &data, "--quiet"][..], &files, &flags].concat();
            let mut child = okl(&args).spawn().unwrap();
            // Once the first checkpoint is there, a little longer, then no mercy.
            while !Path::new(&model).exists() && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(wait));
            child.kill().unwrap();
            cut_short += usize::from(!child.wait().unwrap().success());
            succeed(&["learn", "--resume", &model, "--continue", &data, "--quiet", "-o", &end, "--predictions", &begun]);
            assert!(bytes(&whole) == bytes(&end), "{name}: killed after {wait} ms");
            assert!(bytes(&all) == bytes(&begun), "{name}: predictions, killed after {wait} ms");
        }
        assert!(cut_short > 0, "{name}: every run was done before it was killed");
    }
}

#[test]
fn checkpoints_are_as_frequent_as_asked_for_and_leave_nothing_else() {
    let folder = Folder::new("checkpoints");
    let (data, model) = (folder.write("ring.csv", ring(2000)), folder.path("m.okl"));
    // A stream that stops in the middle: what is there then is the last checkpoint.
    let mut child =
        okl(&["learn", "-", "--target", "where", "--loss", "hinge", "--quiet", "-o", &model, "--checkpoint-every", "7"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let rows: String = ring(100).lines().map(|l| format!("{l}\n")).collect();
    std::io::Write::write_all(&mut stdin, rows.as_bytes()).unwrap();
    let consumed = |path: &str| {
        let value: serde_json::Value = serde_json::from_str(&succeed(&["inspect", path, "--json"]).0).unwrap();
        value["rows"].as_u64().unwrap()
    };
    // 99 rows, of which the last checkpoint has 14 times 7.
    while !Path::new(&model).exists() || consumed(&model) < 98 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(consumed(&model), 98);
    child.kill().unwrap();
    child.wait().unwrap();
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &model, "--checkpoint-every", "1"]);
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 2, "no temporary file is left");
    let none = ["learn", &data, "--target", "where", "--checkpoint-every", "5"];
    assert_eq!(okl(&none).output().unwrap().status.code(), Some(2), "a checkpoint needs a place");
    assert_eq!(okl(&["learn", &data, "-o", &model, "--checkpoint-every", "0"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn what_contradicts_the_model_is_refused() {
    let folder = Folder::new("contradict");
    let (data, shorter) = (folder.write("ring.csv", ring(300)), folder.write("shorter.csv", ring(200)));
    let (model, shuffled) = (folder.path("m.okl"), folder.path("s.okl"));
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &model]);
    succeed(&["learn", &data, "--target", "where", "--quiet", "--shuffle", "4", "-o", &shuffled]);
    fail(&["learn", "--resume", &model, &data, "--lambda", "0.1"], 2, &["--lambda", "settings"]);
    fail(&["learn", "--resume", &model, &data, "--target", "x"], 2, &["--target x", "where"]);
    fail(&["learn", "--resume", &model, "--continue", &data, "--shuffle", "4"], 2, &["--shuffle", "no --shuffle"]);
    fail(&["learn", "--resume", &shuffled, "--continue", &data, "--shuffle", "5"], 2, &["--shuffle 4"]);
    fail(&["learn", "--resume", &shuffled, "--continue", &shorter], 1, &["200 rows", "300", "same file"]);
    fail(&["learn", "--resume", &folder.path("none.okl"), &data], 1, &["none.okl", "cannot be read"]);
    assert_eq!(okl(&["learn", "--continue", &data]).output().unwrap().status.code(), Some(2));
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

/// Ctrl-C, as a terminal sends it.
fn interrupt(pid: u32) {
    signal("-INT", pid);
}

/// Reads what a command says until the table has begun: then it is learning.
fn until_the_table(said: &mut String, from: &mut impl std::io::BufRead) {
    while !said.contains("avg loss") {
        assert!(from.read_line(said).unwrap() > 0, "{said}");
    }
}

/// A signal between two passes: the next pass has no row and no figures. The run waits at the end of the second pass, because the pipe of its messages
/// is full.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_between_two_passes_ends_the_run_in_the_earlier_one() {
    let folder = Folder::new("between-passes");
    let data = folder.write("n.csv", numbers(1500));
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = okl(&["learn", &data, "--target", "u", "--ignore", "v", "--passes", "3"])
        .stderr(writer.try_clone().unwrap())
        .spawn()
        .unwrap();
    let (mut reader, mut said) = (std::io::BufReader::new(reader), String::new());
    while !said.contains(" 2048 ") {
        assert!(reader.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let filler = std::thread::spawn(move || (&writer).write_all(" \n".repeat(1 << 16).as_bytes()));
    let waits = || fs::read_to_string(format!("/proc/{}/stat", child.id())).is_ok_and(|stat| stat.contains(") S "));
    let mut still = 0;
    while still < 20 {
        std::thread::sleep(Duration::from_millis(50));
        still = if waits() { still + 1 } else { 0 };
    }
    interrupt(child.id());
    std::thread::sleep(Duration::from_millis(300));
    reader.read_to_string(&mut said).unwrap();
    filler.join().unwrap().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    let said: String = said.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("{line}\n")).collect();
    assert!(said.contains("in pass 2, of rows that had been learned before") && !said.contains("in pass 3"), "{said}");
}

/// The sample of past rows is drawn from the rows of this run, or with --continue from those of the data.
#[test]
fn the_table_says_from_which_rows_the_sample_is_drawn() {
    let folder = Folder::new("past-legend");
    let (data, model) = (folder.write("n.csv", numbers(400)), folder.path("m.okl"));
    let longer = folder.write("l.csv", numbers(500));
    for (settings, figure) in [
        (&["--target", "u", "--ignore", "v", "--loss", "quantile:0.9"][..], "past: pinball"),
        (&["--target", "u", "--ignore", "v"], "past |r|: error"),
        (&["--task", "novelty"], "past %: alerts"),
    ] {
        succeed(&[&["learn", &data, "-o", &model, "--quiet"][..], settings].concat());
        for (more, rows) in [(&data, "rows of this run"), (&longer, "rows of the data")] {
            let resume = ["learn", more, "--resume", &model];
            let continued: &[&str] = if more == &longer { &["--continue"] } else { &[] };
            let said = succeed(&[&resume[..], continued].concat()).1;
            let legend = format!("{figure} of the current model on up to 1,000 {rows}, as learned\n");
            assert!(said.contains(&legend), "{legend}: {said}");
            assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
        }
    }
}

/// Whether this process, and with it its children, ignores SIGHUP.
fn hangup_is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[test]
fn sigterm_and_sighup_save_the_model_too() {
    let folder = Folder::new("signals");
    let model = folder.path("m.okl");
    // The terminal and the shell may both send SIGHUP: two at once are one.
    for (signals, code) in [(&["-TERM"][..], 143), (&["-HUP"], 129), (&["-HUP", "-HUP"], 129)] {
        if signals.contains(&"-HUP") && hangup_is_ignored() {
            skipped("SIGHUP is ignored here, as under nohup, and so it is by the program");
            continue;
        }
        drop(fs::remove_file(&model));
        let mut child = okl(&["learn", "-", "--target", "y", "--loss", "squared", "-o", &model])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, b"a,y\n1,1\n2,2\n3,3\n4,4\n").unwrap();
        let (mut said, mut table) = (String::new(), std::io::BufReader::new(child.stderr.take().unwrap()));
        until_the_table(&mut said, &mut table);
        signals.iter().for_each(|name| signal(name, child.id()));
        std::io::Read::read_to_string(&mut table, &mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signals:?}: {said}");
        let model: serde_json::Value = serde_json::from_str(&succeed(&["inspect", &model, "--json"]).0).unwrap();
        assert!(model["examples"].as_u64() >= Some(1), "{signals:?}: {said}");
        drop(stdin);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nohup_is_respected() {
    let folder = Folder::new("nohup");
    let model = folder.path("m.okl");
    let args = ["learn", "-", "--target", "y", "--loss", "squared", "-o", &model];
    let mut child = Command::new("nohup")
        .arg(env!("CARGO_BIN_EXE_okl"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"a,y\n1,1\n2,2\n").unwrap();
    let (mut said, mut table) = (String::new(), std::io::BufReader::new(child.stderr.take().unwrap()));
    until_the_table(&mut said, &mut table);
    signal("-HUP", child.id());
    std::io::Write::write_all(&mut stdin, b"3,3\n").unwrap();
    drop(stdin);
    std::io::Read::read_to_string(&mut table, &mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    let model: serde_json::Value = serde_json::from_str(&succeed(&["inspect", &model, "--json"]).0).unwrap();
    assert_eq!(model["examples"], 3);
}

#[test]
fn two_processes_may_write_the_same_model() {
    let folder = Folder::new("writers");
    let (data, model) = (folder.write("ring.csv", ring(3000)), folder.path("m.okl"));
    let learn = |seed: &'static str| {
        let args = ["learn", &data, "--target", "where", "--quiet", "--shuffle", seed, "-o", &model, "--checkpoint-every", "5"];
        okl(&[&args[..], &["--budget", "window:20", "--gamma", "1", "--step", "constant:1", "--lambda", "0"]].concat())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    for child in ["1", "2", "3"].map(learn) {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    succeed(&["inspect", &model]);
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn ctrl_c_finishes_the_block_writes_the_model_and_says_so() {
    let folder = Folder::new("interrupt");
    let (data, model, end, whole) =
        (folder.write("ring.csv", ring(400_000)), folder.path("m.okl"), folder.path("end.okl"), folder.path("whole.okl"));
    let args = ["learn", &data, "--target", "where", "--budget", "merge:300", "-o", &model];
    let mut child = okl(&args).stderr(Stdio::piped()).spawn().unwrap();
    let mut table = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    until_the_table(&mut said, &mut table);
    interrupt(child.id());
    std::io::Read::read_to_string(&mut table, &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("interrupted: the block was finished, the model is written"), "{said}");
    succeed(&["learn", "--resume", &model, "--continue", &data, "--quiet", "-o", &end]);
    succeed(&["learn", &data, "--target", "where", "--budget", "merge:300", "--quiet", "-o", &whole]);
    assert!(bytes(&end) == bytes(&whole));
}

/// A command that is fed row by row and read line by line.
struct Piped {
    child: std::process::Child,
    stdin: Option<std::process::ChildStdin>,
    out: std::io::Lines<std::io::BufReader<std::process::ChildStdout>>,
}

impl Piped {
    fn new(args: &[&str]) -> Self {
        let mut child = okl(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
        Piped { stdin: child.stdin.take(), out, child }
    }

    fn send(&mut self, text: &str) {
        std::io::Write::write_all(self.stdin.as_mut().unwrap(), text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        self.out.next().unwrap().unwrap()
    }
}

#[test]
fn rows_flow_as_soon_as_the_task_is_clear() {
    let three = "a,b,y\n1,2,red\n2,1,blue\n3,3,green\n";
    let numbers = "a,b,y\n1,2,0.5\n2,1,1.5\n3,3,2.5\n";
    let two = "a,b,y\n1,2,0\n2,1,1\n3,3,0\n";
    let both = "a,b,y\n1,2,0\n2,1,1\n";
    for (rows, flags) in [
        (three, &["--target", "y"][..]),
        (numbers, &["--target", "y"]),
        (both, &["--target", "b,y"]),
        (two, &["--target", "y", "--task", "classes"]),
        (two, &["--target", "y", "--task", "numbers"]),
        (two, &["--target", "y", "--loss", "hinge"]),
        (two, &["--task", "novelty", "--ignore", "y"]),
    ] {
        let mut piped = Piped::new(&[&["learn", "-", "--quiet", "--predictions", "-"], flags].concat());
        piped.send(rows);
        // The writer is still there: each row is answered before the next one comes.
        assert!(piped.line().starts_with("line,"), "{flags:?}");
        for row in 1..rows.lines().count() {
            assert!(piped.line().starts_with(&format!("{},", row + 1)), "{flags:?}");
        }
        piped.send("4,4,1\n");
        assert!(piped.line().starts_with(&format!("{},", rows.lines().count() + 1)), "{flags:?}");
        drop(piped.stdin.take());
        assert!(piped.child.wait().unwrap().success(), "{flags:?}");
    }
}

#[test]
fn rows_that_were_only_looked_at_are_learned_after_a_signal() {
    let folder = Folder::new("looked");
    let model = folder.path("m.okl");
    let rows: String = (0..500).map(|i| format!("{},{},{}\n", i % 7, i % 5, i % 2)).collect();
    let mut piped = Piped::new(&["learn", "-", "--target", "y", "-o", &model, "--predictions", "-"]);
    piped.send(&format!("a,b,y\n{rows}"));
    // Two values may be classes or the first of many numbers: it says that it waits for more.
    let mut said = std::io::BufReader::new(piped.child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert!(line.contains("waiting for up to 1,024 rows"), "{line}");
    interrupt(piped.child.id());
    assert_eq!(piped.child.wait().unwrap().code(), Some(130));
    assert_eq!(piped.out.by_ref().count(), 501, "a header and every row");
    let model: serde_json::Value = serde_json::from_str(&succeed(&["inspect", &model, "--json"]).0).unwrap();
    assert!(model["rows"] == 500 && model["examples"].as_u64() >= Some(499), "{model}");
}

#[test]
fn ctrl_c_is_heard_while_nothing_comes() {
    let folder = Folder::new("silence");
    let model = folder.path("m.okl");
    let mut child = okl(&["learn", "-", "--target", "y", "--loss", "squared", "-o", &model])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"a,y\n1,1\n2,2\n").unwrap();
    let mut table = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    until_the_table(&mut said, &mut table);
    // The writer is still there, and silent.
    interrupt(child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(Path::new(&model).exists());
    drop(stdin);
}

/// `-` is standard input, also in a folder that has a file of this name: the stream is read once, from its beginning.
#[test]
fn a_stream_is_continued_beside_a_file_named_dash() {
    let folder = Folder::new("resume-dash");
    folder.write("-", "x");
    let (all, model, data) = (ring(300), folder.path("m.okl"), folder.write("d.csv", ring(200)));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--quiet"]);
    let args = ["learn", "-", "--resume", &model, "--continue", "-o", &model, "--quiet"];
    let mut command = okl(&args);
    let mut child = command.current_dir(folder.path(".")).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(all.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(json(&["inspect", &model])["examples"], 300);
}

#[test]
fn a_task_that_is_not_that_of_the_model_is_refused() {
    let folder = Folder::new("resume-task");
    let (data, model) = (folder.write("d.csv", ring(60)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--quiet"]);
    for task in ["numbers", "novelty"] {
        let words = [&format!("--task {task}: the model is one for classes"), "without --resume"];
        fail(&["learn", &data, "--resume", &model, "--task", task, "-o", &folder.path("n.okl")], 2, &words);
    }
    succeed(&["learn", &data, "--resume", &model, "--task", "classes", "-o", &model, "--quiet"]);
}

/// Rows that the resumed model had learned before are not new: the summary, JSON, the report and `okl inspect` say how many they are.
#[test]
fn rows_that_were_learned_before_are_named() {
    let folder = Folder::new("resume-again");
    let text = ring(400);
    let part = |from: usize, to: usize| {
        let rows = text.lines().skip(1 + from).take(to - from);
        rows.fold(String::from("x,y,where\n"), |all, row| all + row + "\n")
    };
    let (first, both, new) =
        (folder.write("a.csv", part(0, 200)), folder.write("b.csv", part(100, 300)), folder.write("c.csv", part(300, 400)));
    let (one, two, page) = (folder.path("1.okl"), folder.path("2.okl"), folder.path("r.html"));
    let words = |text: &str| flat(text);
    for shuffle in [&[][..], &["--shuffle", "2"]] {
        succeed(&["learn", &first, "--target", "where", "-o", &one, "--save-model", "recent"]);
        let learn = [&["learn", &both, "--resume", &one, "-o", &two, "--report", &page], shuffle].concat();
        let (out, said) = (json(&learn), succeed(&learn).1);
        assert_eq!(out["rows_learned_again"], serde_json::json!({ "rows": 100, "compared": 200 }), "{out}");
        let sentence = "100 of these 200 rows are equal to rows that the model had learned before these data: on new rows the model may be worse";
        assert!(words(&said).contains(sentence) && words(&said).contains("--continue goes on after them"), "{said}");
        assert!(out["warnings"].to_string().contains(sentence), "{out}");
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
        let report = folder.read("r.html");
        let except = "each predicted before it was learned, except 100 that are equal to rows of an earlier run";
        assert!(report.contains(&format!("200 examples, {except}")) && report.contains(sentence), "{report}");
        let inspected = succeed(&["inspect", &two]).0;
        assert!(words(&inspected).contains(&format!("over 400 examples, {except}")), "{inspected}");
        // The number stays in the file when new rows are learned, which are not equal to any.
        let (out, said) = (json(&["learn", &new, "--resume", &two, "-o", &one]), succeed(&["inspect", &one]).0);
        assert_eq!(out["rows_learned_again"]["rows"], 0, "{out}");
        assert!(words(&said).contains(&format!("over 500 examples, {except}")), "{said}");
    }
    // An interruption changes nothing: the run that continues counts on.
    let cut = folder.write("cut.csv", part(100, 180));
    succeed(&["learn", &first, "--target", "where", "-o", &one, "--save-model", "recent"]);
    assert_eq!(json(&["learn", &cut, "--resume", &one, "-o", &two])["rows_learned_again"]["rows"], 80);
    folder.write("cut.csv", part(100, 300));
    let out = json(&["learn", &cut, "--resume", &two, "--continue", "-o", &two]);
    assert_eq!(out["rows_learned_again"]["rows"], 100, "{out}");
    assert!(
        words(&succeed(&["inspect", &two]).0).contains("over 400 examples, each predicted before it was learned, except 100")
    );
    // A model of many rows has the fingerprints of a sample of them: the number is a lower bound, and those that were compared are counted.
    let (many, half) =
        (folder.write("many.csv", ring(4000)), ring(4000).lines().take(2001).fold(String::new(), |all, row| all + row + "\n"));
    let half = folder.write("half.csv", half);
    succeed(&["learn", &half, "--target", "where", "-o", &one, "--save-model", "recent", "--kernel", "linear"]);
    let out = json(&["learn", &many, "--resume", &one, "-o", &two]);
    let [again, compared] = ["rows", "compared"].map(|key| out["rows_learned_again"][key].as_u64().unwrap());
    assert!(
        (400..=512).contains(&again) && (again..4000).contains(&compared) && out["rows_learned_again"]["at_least"] == true,
        "{out}"
    );
    let said = words(&succeed(&["inspect", &two]).0);
    assert!(said.contains(&format!("except at least {again} that are equal to rows of an earlier run (")), "{said}");
}

/// A run of several passes is complete, and its file has grown: the further rows are new, have progressive figures and all passes. The rows before them are
/// not learned again.
#[test]
fn rows_that_are_appended_after_several_passes_are_new() {
    let folder = Folder::new("resume-grown");
    let note = "n".repeat(1000);
    let row = |i: usize| match i % 7 {
        3 => format!(",{},{:.2},{note}\n", i % 11, (i % 11) as f64 * 0.5),
        _ => format!("{},{},{:.2},{note}\n", i % 13, i % 11, (i % 13) as f64 + (i % 11) as f64 * 0.5),
    };
    let rows = |many: usize| (0..many).map(row).fold(String::from("a,b,y,note\n"), |all, row| all + &row);
    let (first, grown) = (folder.write("first.csv", rows(300)), folder.write("grown.csv", rows(500)));
    let [model, two, end, cut, predictions] = ["m.okl", "2.okl", "end.okl", "cut.okl", "p.csv"].map(|name| folder.path(name));
    let learn =
        ["learn", &first, "--target", "y", "--task", "numbers", "--ignore", "note", "--missing", "mean", "--passes", "2", "-o"];
    succeed(&[&learn[..], &[&model, "--predictions", &predictions]].concat());
    let on = ["learn", &grown, "--resume", &model, "--continue"];
    let out = json(&[&on[..], &["-o", &end, "--predictions", &predictions]].concat());
    assert_eq!((&out["summary"]["examples"], &out["training"]["pass"]), (&200.into(), &2.into()), "{out}");
    assert_eq!(out["training"]["summary"]["examples"], 200, "{out}");
    let lines: Vec<String> = folder.read("p.csv").lines().skip(1).map(|line| line.split(',').next().unwrap().into()).collect();
    assert!(lines.into_iter().eq((2..502).map(|line| line.to_string())), "every row once");
    let inspected = json(&["inspect", &end]);
    assert_eq!((&inspected["progressive"]["examples"], &inspected["rows"]), (&500.into(), &500.into()), "{inspected}");
    assert_eq!(inspected["examples"], 1000, "both passes over all rows");
    let said = flat(&succeed(&[&on[..], &["-o", &end]].concat()).1);
    assert!(!said.contains("had been learned before.") && said.contains("in pass 2"), "{said}");
    // The first figure of a new row is that of the model before it.
    let more = folder.write(
        "more.csv",
        rows(500).lines().enumerate().filter(|(i, _)| *i == 0 || *i > 300).map(|(_, l)| format!("{l}\n")).collect::<String>(),
    );
    let alone = json(&["learn", &more, "--resume", &model, "--passes", "1"]);
    assert_eq!(out["summary"]["error"], alone["summary"]["error"]);
    // Nothing is new: the model stays as it is.
    succeed(&[&["learn", &grown, "--resume", &end, "--continue", "-o", &two][..]].concat());
    assert!(bytes(&end) == bytes(&two));
    // An interruption in either pass changes nothing.
    for pass in [0, 1] {
        if pass == 1 {
            killed(&on, &cut, |position| position["pass"] == 1 && position["rows"].as_u64() > Some(301));
        } else {
            // A bad row ends the first pass: the last checkpoint stays.
            let bad = folder.write("bad.csv", rows(420) + "1,2,no number,n\n" + &row(421));
            let on = ["learn", &bad, "--resume", &model, "--continue", "-o", &cut, "--checkpoint-every", "50", "--quiet"];
            fail(&on, 1, &["line 422", "the last checkpoint, after 50 rows"]);
        }
        succeed(&["learn", &grown, "--resume", &cut, "--continue", "--quiet", "-o", &two]);
        assert!(bytes(&end) == bytes(&two), "pass {pass}");
    }
}

/// The file grows while a later pass over its first rows is not complete: this pass ends where the first one ended, and the run says so.
#[test]
fn rows_that_are_appended_before_the_last_pass_are_left_for_the_next_run() {
    let folder = Folder::new("resume-grown-before");
    let (first, grown) = (folder.write("first.csv", numbers(300)), folder.write("grown.csv", numbers(500)));
    let [model, three, end, whole] = ["m.okl", "3.okl", "end.okl", "w.okl"].map(|name| folder.path(name));
    let learn = ["learn", &first, "--target", "u", "--ignore", "v", "--passes"];
    succeed(&[&learn[..], &["2", "-o", &model]].concat());
    succeed(&[&learn[..], &["3", "-o", &whole]].concat());
    let said = flat(&succeed(&["learn", &grown, "--resume", &model, "--continue", "--passes", "3", "-o", &three]).1);
    assert!(
        said.contains("The data have rows after line 301, where the first pass ended. They are new, and are not learned yet"),
        "{said}"
    );
    assert_eq!(scores(&three, &grown), scores(&whole, &grown));
    let out = json(&["learn", &grown, "--resume", &three, "--continue", "-o", &end]);
    assert_eq!((&out["summary"]["examples"], &out["training"]["pass"]), (&200.into(), &3.into()), "{out}");
    assert_eq!(json(&["inspect", &end])["examples"], 1500);
    assert!(!out["warnings"].to_string().contains("not learned yet"), "{out}");
}

/// A file of predictions with other columns of the data is not extended: the message names the flag.
#[test]
fn predictions_with_other_kept_columns_are_refused_with_the_flag() {
    let folder = Folder::new("resume-keep");
    let rows = |many: usize| {
        let text = ring(many);
        let rows = text.lines().skip(1).enumerate();
        rows.fold(String::from("x,y,where,tag,class\n"), |all, (i, row)| all + &format!("{row},t{i},c{i}\n"))
    };
    let (first, more, model) = (folder.write("a.csv", rows(60)), folder.write("b.csv", rows(90)), folder.path("m.okl"));
    for name in ["p.csv", "p.jsonl"] {
        let to = folder.path(name);
        let learn = |keep: &[&str]| {
            succeed(
                &[&["learn", &first, "--target", "where", "--ignore", "tag,class", "-o", &model, "--predictions", &to], keep]
                    .concat(),
            );
        };
        let on = ["learn", &more, "--resume", &model, "--continue", "--predictions", &to];
        learn(&["--keep", "tag,class"]);
        fail(
            &on,
            1,
            &["the earlier run had --keep", "tag", "class", "this command has no --keep", "give --keep ", "another file"],
        );
        let before = bytes(&to);
        fail(&[&on[..], &["--keep", "tag"]].concat(), 1, &["this command has --keep tag;", "give --keep "]);
        assert!(before == bytes(&to));
        succeed(&[&on[..], &["--keep", "tag,class"]].concat());
        learn(&[]);
        fail(&[&on[..], &["--keep", "tag"]].concat(), 1, &["had no --keep", "leave --keep out"]);
        succeed(&on);
    }
}
