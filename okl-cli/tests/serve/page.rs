//! The live page in a browser: Chromium without a window, steered by chromedriver.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Folder, Served, call, config};

/// A browser; ended at the end.
struct Browser {
    driver: Child,
    address: String,
    session: String,
}

impl Browser {
    /// None if chromedriver is not installed.
    fn start(folder: &Folder) -> Option<Self> {
        let mut command = Command::new("chromedriver");
        let mut driver = command.args(["--port=0"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let said = BufReader::new(driver.stdout.take()?).lines().map_while(Result::ok);
        let port = said
            .filter(|line| line.contains("started successfully on port"))
            .find_map(|line| line.rsplit(' ').next()?.trim_end_matches('.').parse::<u16>().ok());
        let mut browser = Browser { driver, address: format!("127.0.0.1:{}", port?), session: String::new() };
        let profile = format!("--user-data-dir={}", folder.0.join("profile").display());
        let args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", &profile];
        let options = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": { "args": args } } } });
        browser.session = browser.ask("/session", &options)["sessionId"].as_str().unwrap().to_owned();
        Some(browser)
    }

    fn ask(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = call(&self.address, "POST", path, "application/json", body.to_string().as_bytes()).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(status, 200, "{path}: {answer}");
        answer["value"].clone()
    }

    fn command(&self, name: &str, body: &Value) -> Value {
        self.ask(&format!("/session/{}/{name}", self.session), body)
    }

    /// The value of an expression on the page.
    fn value(&self, expression: &str) -> Value {
        self.command("execute/sync", &json!({ "script": format!("return {expression};"), "args": [] }))
    }

    fn developer(&self, command: &str, parameters: &Value) {
        self.command("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    /// Waits until the text of the page contains some words.
    fn wait_for(&self, words: &str) {
        let mut text = Value::Null;
        for _ in 0..600 {
            text = self.value("document.body.innerText");
            if text.as_str().is_some_and(|text| text.contains(words)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("'{words}' does not appear: {text}");
    }

    /// Writes a picture of the page into the folder `OKL_PICTURES`, if it is set.
    fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("OKL_PICTURES") else { return };
        let path = format!("/session/{}/screenshot", self.session);
        let answer: Value = serde_json::from_slice(&call(&self.address, "GET", &path, "", b"").unwrap().1).unwrap();
        let text = answer["value"].as_str().unwrap();
        std::fs::write(std::path::Path::new(&folder).join(name), text).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = call(&self.address, "DELETE", &format!("/session/{}", self.session), "", b"");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// A server with a token for everything.
fn guarded(folder: &Folder) -> (Served, String) {
    std::fs::create_dir_all(&folder.0).unwrap();
    let tokens = folder.0.join("tokens");
    let file = tokens.to_str().unwrap();
    let new = ["token", "new", "--name", "t", "--rights", "admin", "--models", "*", "--file", file];
    let output = Command::new(env!("CARGO_BIN_EXE_okl")).args(new).output().unwrap();
    let secret = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    (Served::start(&Folder(folder.0.join("models")), &["--token-file", file]), secret)
}

/// Sign-in with a token, then the figures of the models at two widths, light and dark; they change without a reload.
#[test]
fn the_page_shows_the_models_in_a_browser() {
    let folder = Folder::new("page");
    let (served, secret) = guarded(&folder);
    let send = |method: &str, path: &str, body: &Value| {
        let kind = format!("application/json\r\nauthorization: Bearer {secret}");
        let (status, answer) = call(&served.address, method, path, &kind, body.to_string().as_bytes()).unwrap();
        assert!(status < 300, "{}", String::from_utf8_lossy(&answer));
    };
    send("PUT", "/v1/models/boiler", &json!({ "config": config() }));
    let detector =
        json!({ "loss": "nu_novelty:0.1", "kernel": "gaussian:1", "step": "constant:0.1", "lambda": 0.1, "theta0": 0.5 });
    send("PUT", "/v1/models/valve-7", &json!({ "config": detector }));
    let three = json!({ "rows": [[0.5, 1.5], [-1, 2], [1, 1]], "targets": [1, -1, 1] });
    send("POST", "/v1/models/boiler/learn", &three);
    let readings = json!({ "rows": [{ "flow": 0.0 }, { "flow": 0.1 }, { "flow": 50.0 }] });
    send("POST", "/v1/models/valve-7/learn", &readings);
    let Some(browser) = Browser::start(&folder) else {
        eprintln!("chromedriver is not installed: the live page is not tested");
        return;
    };
    browser.command("url", &json!({ "url": format!("http://{}/", served.address) }));
    browser.wait_for("Sign in to see the models");
    let sign_in = |token: &str| {
        let script = "document.getElementById('token').value = arguments[0]; document.querySelector('form button').click();";
        browser.command("execute/sync", &json!({ "script": script, "args": [token] }));
    };
    sign_in("okl_wrong");
    browser.wait_for("This token is not valid.");
    sign_in(&secret);
    browser.wait_for("2 models, updated");
    browser.wait_for("Scores have no truncation error.");
    browser.wait_for("largest scaled values: flow +50");
    browser.wait_for("since this page was opened: ");
    assert_eq!(browser.value("[...document.querySelectorAll('polyline')].length"), 2, "one value is a line, too");
    let alerts = "[...document.querySelectorAll('dt')].filter((name) => name.textContent === 'alerts').length";
    assert_eq!(browser.value(alerts), 1, "only a detector has alerts");
    assert_eq!(browser.value("document.cookie"), "", "scripts cannot read the cookie");
    let grounds: Vec<Value> = ["light", "dark"]
        .map(|scheme| {
            let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
            browser.developer("Emulation.setEmulatedMedia", &json!({ "features": features }));
            for width in [1200, 390] {
                let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == 390 });
                browser.developer("Emulation.setDeviceMetricsOverride", &size);
                assert_eq!(browser.value("document.documentElement.clientWidth"), width);
                assert_eq!(
                    browser.value("document.documentElement.scrollWidth <= innerWidth"),
                    true,
                    "{width}: nothing sticks out"
                );
                let columns = if width == 1200 { 2 } else { 1 };
                let lefts =
                    "new Set([...document.querySelectorAll('article')].map((card) => card.getBoundingClientRect().left)).size";
                assert_eq!(browser.value(lefts), columns);
                browser.picture(&format!("{scheme}-{width}"));
            }
            browser.value("getComputedStyle(document.body).backgroundColor")
        })
        .into();
    assert_ne!(grounds[0], grounds[1], "dark is not light");
    // No reload: the mark stays, and the figures change.
    browser.value("window.mark = 7");
    send("POST", "/v1/models/boiler/learn", &three);
    browser.wait_for("rows\n6\nrows per second");
    browser.value("document.querySelector('details').open = true");
    browser.wait_for("gaussian");
    assert_eq!(browser.value("window.mark"), 7);
    browser.picture("details-390");
}
