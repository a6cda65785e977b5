//! A headless Chromium, driven through chromedriver as the WebDriver standard says.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Where it is 1, as in CI, a missing browser fails the test instead of leaving it out.
const REQUIRED: &str = "SHOOTOUT_BROWSER";
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one window; closed when it is forgotten.
pub struct Browser {
    driver: Child,
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    /// The session's address.
    session: String,
}

/// A browser, or none where the machine has none: that is said past the test harness, which shows
/// nothing of what a passed test prints.
pub fn browser() -> Option<Browser> {
    let is_missing = |program: &&str| Command::new(program).arg("--version").output().is_err();
    let Some(missing) = ["chromium", "chromedriver"].into_iter().find(is_missing) else {
        return Some(Browser::start());
    };
    let why = format!("there is no {missing}: install Debian's chromium and chromium-driver");
    assert_ne!(
        std::env::var(REQUIRED).as_deref(),
        Ok("1"),
        "{why}, or set {REQUIRED}=0 to do without this test"
    );
    let _ = writeln!(std::io::stderr(), "LEFT OUT: the page's test, {why}");
    None
}

impl Browser {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut browser = Self {
            driver: driver.unwrap(),
            runtime: shootout::runtime().unwrap(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            session: format!("http://127.0.0.1:{port}/session"),
        };
        // Without a sandbox, because who tests may be root; nothing but our own page is opened.
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ];
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let began = Instant::now();
        let session = loop {
            match browser.send("", &capabilities) {
                Ok(answer) => break answer,
                Err(error) => assert!(began.elapsed() < PATIENCE, "chromedriver: {error}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let id = session["sessionId"].as_str();
        let id = id
            .unwrap_or_else(|| panic!("no session: {session}"))
            .to_owned();
        browser.session = format!("{}/{id}", browser.session);
        browser
    }

    fn send(&self, path: &str, body: &Value) -> Result<Value, reqwest::Error> {
        let url = format!("{}{path}", self.session);
        let request = self
            .client
            .post(url)
            .timeout(PATIENCE)
            .body(body.to_string());
        let answer = self
            .runtime
            .block_on(async { request.send().await?.text().await })?;
        let mut answer: Value = serde_json::from_str(&answer).unwrap();
        Ok(answer["value"].take())
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let value = self.send(path, body).unwrap();
        assert!(value.get("error").is_none(), "{path}: {value}");
        value
    }

    #[track_caller]
    pub fn open(&self, url: &str) {
        self.post("/url", &json!({"url": url}));
    }

    /// What a function of this body returns in the page.
    #[track_caller]
    pub fn eval(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Types into the first element that the selector finds.
    #[track_caller]
    pub fn keys(&self, selector: &str, text: &str) {
        let by = json!({"using": "css selector", "value": selector});
        let element = self.post("/element", &by);
        let id = element.as_object().unwrap().values().next().unwrap();
        let path = format!("/element/{}/value", id.as_str().unwrap());
        self.post(&path, &json!({"text": text}));
    }

    /// What was logged since it was asked last: `browser` for the console, `performance` for events.
    #[track_caller]
    pub fn log(&self, of: &str) -> Vec<Value> {
        let log = self.post("/se/log", &json!({"type": of}));
        log.as_array().unwrap().clone()
    }

    /// A command of the DevTools protocol.
    #[track_caller]
    pub fn devtools(&self, command: &str, params: &Value) -> Value {
        self.post(
            "/goog/cdp/execute",
            &json!({"cmd": command, "params": params}),
        )
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let end = self.client.delete(&self.session).timeout(PATIENCE);
        let _ = self.runtime.block_on(async { end.send().await });
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
