//! Signals that ask a command to end: SIGINT (Ctrl-C), SIGTERM and SIGHUP. A command finishes its block, saves and ends.
//!
//! A closed terminal may send SIGHUP twice, from the system and from the shell. So a second signal within `PATIENCE` of the first
//! is ignored; a later one ends the process at once. SIGHUP stays ignored if the process was started with SIGHUP ignored
//! (`nohup`).

use std::sync::atomic::{AtomicU8, Ordering};
#[cfg(unix)]
use std::time::Duration;

/// The exit code of the first signal; 0 before it.
static RECEIVED: AtomicU8 = AtomicU8::new(0);

/// A second signal within this time of the first is ignored.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether a signal has asked the process to end.
pub fn received() -> bool {
    exit_code() != 0
}

/// The exit code of the signal that came: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP; 0 if none came.
pub fn exit_code() -> u8 {
    RECEIVED.load(Ordering::Relaxed)
}

/// Installs the signal handlers. If the system does not allow it, signals keep their default action.
#[cfg(unix)]
pub fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut wanted = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let Ok(mut signals) = signal_hook::iterator::Signals::new(&wanted) else { return };
    let work = move || {
        let mut first = None;
        for signal in signals.forever() {
            let code = 128 + signal as u8;
            if first.get_or_insert_with(std::time::Instant::now).elapsed() >= PATIENCE {
                std::process::exit(code.into());
            }
            let _ = RECEIVED.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
        }
    };
    drop(std::thread::Builder::new().name("okl-signals".into()).spawn(work));
}

/// Starts to listen for Ctrl-C; a second one ends the process at once.
#[cfg(not(unix))]
pub fn listen() {
    let _ = ctrlc::set_handler(|| {
        if RECEIVED.swap(130, Ordering::Relaxed) != 0 {
            std::process::exit(130);
        }
    });
}

/// Whether the process was started with this signal ignored. Known only on Linux.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
