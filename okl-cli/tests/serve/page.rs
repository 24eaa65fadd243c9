//! The live page in a browser.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{Folder, Served, config, json_call};

/// The live page in headless Chromium, where it is installed: the figures of the models are drawn from the server's answers.
#[test]
fn the_page_shows_the_models_in_a_browser() {
    let folder = Folder::new("page");
    let served = Served::start(&folder, &[]);
    json_call(&served.address, "PUT", "/v1/models/boiler", &json!({ "config": config() })).unwrap();
    let body = json!({ "rows": [[0.5, 1.5], [-1, 2], [1, 1]], "targets": [1, -1, 1] });
    json_call(&served.address, "POST", "/v1/models/boiler/learn", &body).unwrap();
    let profile = folder.0.join("profile");
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--virtual-time-budget=3000",
        "--dump-dom",
    ]);
    browser.arg(format!("--user-data-dir={}", profile.display())).arg(format!("http://{}/", served.address));
    let Ok(output) = browser.stderr(Stdio::null()).output() else {
        eprintln!("chromium is not installed: the live page is not tested");
        return;
    };
    let page = String::from_utf8_lossy(&output.stdout);
    for shown in [
        "<h2>boiler</h2>",
        "1 model, updated",
        "<dt>rows</dt><dd>3</dd>",
        "No term has been dropped or merged: the model is exact.",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}
