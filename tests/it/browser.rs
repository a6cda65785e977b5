//! A headless Chromium, driven through chromedriver as the WebDriver standard says.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// Where it is 1, as in CI, a missing browser fails the test instead of leaving it out.
const REQUIRED: &str = "SHOOTOUT_BROWSER";
/// Long: whatever else runs here, nothing rests on how fast a browser starts.
const PATIENCE: Duration = Duration::from_secs(300);

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
        // It chooses a free port itself, and says which.
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let said = BufReader::new(driver.stdout.as_mut().unwrap()).lines();
        let port = said.map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let port = port.expect("chromedriver says its port");
        let mut browser = Self {
            driver,
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
        let session = browser.send("", &capabilities).unwrap();
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
