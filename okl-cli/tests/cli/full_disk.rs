//! A disk that is full, and places that cannot be written.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Folder, fail, okl, ring, skipped, succeed};

#[test]
fn predictions_that_do_not_fit_are_an_error() {
    if !Path::new("/dev/full").exists() {
        return skipped("no /dev/full here");
    }
    let folder = Folder::new("full");
    let (data, model) = (folder.write("ring.csv", ring(9000)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &model]);
    let full = ["/dev/full: cannot be written", "No space left"];
    fail(&["learn", &data, "--target", "where", "--quiet", "--predictions", "/dev/full"], 1, &full);
    fail(&["predict", &model, &data, "-o", "/dev/full"], 1, &full);
    fail(&["learn", &data, "--target", "where", "--quiet", "-o", "/dev/full"], 1, &full);
    fail(&["learn", &data, "--target", "where", "--quiet", "--report", "/dev/full"], 1, &full);
    fail(&["export", &model, "--to", "onnx", "-o", "/dev/full"], 1, &full);
    for args in [
        vec!["predict", &model, &data],
        vec!["inspect", &model],
        vec!["learn", &data, "--target", "where", "--quiet", "--json"],
        vec!["export", &model, "--to", "json", "-o", "-"],
        vec!["man"],
        vec!["completions", "bash"],
    ] {
        let output = okl(&args).stdout(File::options().write(true).open("/dev/full").unwrap()).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && err.contains("No space left"), "{args:?}: {err}");
    }
    // Predictions that do not fit do not cost the model; the error is still one.
    fs::remove_file(&model).unwrap();
    fail(&["learn", &data, "--target", "where", "--quiet", "--predictions", "/dev/full", "-o", &model], 1, &full);
    assert!(Path::new(&model).exists());
    // Nobody reads what is said beside: the model is written all the same.
    fs::remove_file(&model).unwrap();
    let args = ["learn", &data, "--target", "where", "-o", &model];
    let status = okl(&args).stderr(File::options().write(true).open("/dev/full").unwrap()).status().unwrap();
    assert!(status.success() && Path::new(&model).exists());
}

#[test]
fn what_is_no_file_is_written_and_not_replaced() {
    let folder = Folder::new("devices");
    let data = folder.write("ring.csv", ring(50));
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", "/dev/null"]);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    fail(&["learn", &data, "--target", "where", "-o", &folder.path("")], 1, &["cannot be written", "directory"]);
    fail(&["learn", &data, "--target", "where", "-o", &folder.path("no/such/folder.okl")], 1, &["folder.okl: cannot be written"]);
    fail(&["learn", &data, "--target", "where", "--report", &folder.path("no/r.html")], 1, &["r.html: cannot be written"]);
    #[cfg(unix)]
    {
        let (link, file) = (folder.path("link.okl"), folder.path("file.okl"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &link]);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "a link stays a link");
        succeed(&["inspect", &file]);
    }
}

/// A file system with room for a small file only; nothing where one may not mount.
struct Small(String);

impl Small {
    fn mount(path: String) -> Option<Small> {
        fs::create_dir_all(&path).unwrap();
        let args = ["-t", "tmpfs", "-o", "size=32k", "okl-test", &path];
        let mounted = Command::new("mount").args(args).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
        mounted.then_some(Small(path))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).status());
    }
}

#[test]
fn a_full_disk_leaves_the_old_model() {
    let folder = Folder::new("tmpfs");
    let Some(small) = Small::mount(folder.path("small")) else {
        return skipped("a file system cannot be mounted here, which the full disk needs");
    };
    let data = folder.write("ring.csv", ring(4000));
    let (model, report) = (format!("{}/m.okl", small.0), format!("{}/r.html", small.0));
    let run = |budget: &str, to: [&str; 2]| {
        let args = ["learn", &data, "--target", "where", "--quiet", "--margin", "100", "--budget", budget];
        // One model: there is no room for a second one beside it.
        let recent: &[&str] = if to[0] == "-o" { &["--save-model", "recent"] } else { &[] };
        okl(&[&args[..], &to, recent].concat()).output().unwrap()
    };
    assert!(run("window:50", ["-o", &model]).status.success());
    let before = fs::read(&model).unwrap();
    for (more, file) in [(["-o", &model], "m.okl"), (["--report", &report], "r.html")] {
        let output = run("window:3000", more);
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && err.contains(file) && err.contains("No space left"), "{err}");
    }
    assert_eq!(fs::read(&model).unwrap(), before, "the old model is still there");
    assert_eq!(fs::read_dir(&small.0).unwrap().count(), 1, "and nothing else");
}
