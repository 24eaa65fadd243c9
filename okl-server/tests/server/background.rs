//! Threads that give way to predictions.
#![cfg(target_os = "linux")]

use okl_server::background::{Background, leave_a_processor};

/// The nice value of this thread: the 19th field of its `stat`, the 17th after the name.
fn nice() -> i32 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, after) = stat.rsplit_once(") ").unwrap();
    after.split(' ').nth(16).unwrap().parse().unwrap()
}

#[test]
fn requests_that_learn_run_at_low_priority_and_survive_a_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let background = Background::default();
    let inside = || (nice(), std::thread::current().name().map(str::to_owned));
    assert_eq!(runtime.block_on(background.run(inside)).unwrap(), (nice().max(10), Some("okl-rows".into())));
    let threads = std::thread::available_parallelism().unwrap().get();
    for _ in 0..threads {
        let ended = runtime.block_on(background.run(|| panic!("expected here"))).map(|()| 0).unwrap_err();
        assert_eq!((ended.status, ended.code), (500, "internal"));
    }
    assert_eq!(runtime.block_on(background.run(|| 7)).unwrap(), 7);
}

#[test]
fn learning_leaves_a_processor_to_predictions() {
    let processors = || std::thread::available_parallelism().unwrap().get();
    let before = processors();
    let after = std::thread::spawn(move || {
        leave_a_processor();
        // A thread that the learner starts, too.
        std::thread::spawn(processors).join().unwrap()
    });
    assert_eq!((after.join().unwrap(), processors()), ((before - 1).max(1), before));
}
