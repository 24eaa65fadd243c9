//! Memory does not depend on the length of a stream, nor on the length of a line.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::support::{Folder, Random, okl};

/// The memory that a running process has needed at most, in KiB.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find(|line| line.starts_with("VmHWM:"))?.split_whitespace().nth(1)?.parse().ok()
}

/// The peak after so many rows, and after thirty times as many.
fn peaks(flags: &[&str], rows: usize) -> [u64; 2] {
    let args = [&["learn", "-", "--predictions", "-", "--quiet"][..], flags].concat();
    let mut child = okl(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut scores = BufReader::new(child.stdout.take().unwrap());
    let mut random = Random(2);
    // A header in, a header out.
    stdin.write_all(b"a,b,y\n0,0,down\n").unwrap();
    (0..2).for_each(|_| assert!(scores.read_line(&mut String::new()).unwrap() > 0));
    let peaks = [rows, 29 * rows].map(|more| {
        for _ in 0..more / 1000 {
            let row = |_| {
                let (a, b) = (random.next(), random.next());
                // One row in a thousand cannot be read, one is far out.
                let a = if b < 0.001 {
                    "?".into()
                } else if b > 0.999 {
                    "50".into()
                } else {
                    format!("{a:.3}")
                };
                format!("{a},{b:.3},{}\n", if b > 0.5 { "up" } else { "down" })
            };
            stdin.write_all((0..1000).map(row).collect::<String>().as_bytes()).unwrap();
            // Rows that were scored are behind it.
            (0..1000).for_each(|_| assert!(scores.read_line(&mut String::new()).unwrap() > 0));
        }
        peak(child.id()).unwrap()
    });
    drop(stdin);
    assert!(child.wait().unwrap().success());
    peaks
}

#[test]
fn a_long_stream_needs_no_more_memory_than_a_short_one() {
    let folder = Folder::new("memory");
    let (report, model) = (folder.path("r.html"), folder.path("m.okl"));
    let common = ["--on-bad-row", "skip", "--report", &report, "-o", &model, "--checkpoint-every", "100000"];
    for flags in [
        &["--target", "y", "--loss", "hinge", "--budget", "merge:50"][..],
        &["--task", "novelty", "--ignore", "y", "--budget", "window:50"],
    ] {
        let [short, long] = peaks(&[&common[..], flags].concat(), 10_000);
        assert!(long < short + 1024, "{flags:?}: {short} KiB after 10,000 rows, {long} KiB after 300,000");
    }
}

#[test]
fn a_line_of_100_mb_is_refused_in_bounded_memory() {
    for (format, start) in [("csv", "a,y\n1,"), ("libsvm", "1 1:"), ("jsonl", "{\"y\":"), ("vw", "1 | a:")] {
        let args = ["learn", "-", "--format", format, "--target", "y"];
        let mut child = okl(&args).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let (piece, mut most) = (vec![b'7'; 1 << 20], 0);
        stdin.write_all(start.as_bytes()).unwrap();
        for _ in 0..100 {
            most = most.max(peak(child.id()).unwrap_or(0));
            // It need not read to the end to know.
            if stdin.write_all(&piece).is_err() {
                break;
            }
        }
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && err.contains("longer than 16 MiB"), "{format}: {err}");
        assert!((1 << 10..100 << 10).contains(&most), "{format}: {most} KiB");
    }
}
