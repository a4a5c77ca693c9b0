//! Headless Chromium, driven by chromedriver through the HTTP interface of WebDriver.
//!
//! Source: WebDriver, W3C Recommendation; the commands below `se` and `goog` are extensions of chromedriver.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::skip;

/// The time limit for one command.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _folder: TempDir,
}

impl Browser {
    /// Starts a browser; returns `None` after a visible skip if it is not installed.
    ///
    /// # Panics
    ///
    /// If it is installed but does not start.
    #[must_use]
    pub fn start() -> Option<Self> {
        let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
        if !is_there("chromedriver") || !is_there("chromium") {
            skip("chromium or chromedriver is not installed (Debian: chromium, chromium-driver)");
            return None;
        }
        match Self::started() {
            Ok(browser) => Some(browser),
            Err(error) => panic!("the browser does not start: {error}"),
        }
    }

    fn started() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut driver = Command::new("chromedriver");
        driver.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = driver.spawn()?;
        let output = driver.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let mut lines = BufReader::new(output).lines();
        let port = lines.by_ref().find_map(|line| {
            line.ok()?.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
        });
        let port = port.ok_or_else(|| io::Error::other("chromedriver printed no port"))?;
        // Drains the remaining output, so that chromedriver never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let mut browser = Self { driver, port, session: String::new(), _folder: folder };
        let user_data = format!("--user-data-dir={}", browser._folder.path().display());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1000,900",
            &user_data,
        ];
        let capabilities = json!({
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        });
        let made =
            browser.send("POST", "/session", &json!({"capabilities": {"alwaysMatch": capabilities}}))?;
        let session = made["sessionId"].as_str().ok_or_else(|| io::Error::other(made.to_string()))?;
        session.clone_into(&mut browser.session);
        Ok(browser)
    }

    /// Opens a file; `fragment` is the part after `#` in the address, or empty.
    pub fn open(&self, file: &Path, fragment: &str) {
        let hash = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
        let url = format!("file://{}{hash}", file.display());
        self.command("POST", "url", &json!({"url": url}));
    }

    /// Returns the address of the current page.
    #[must_use]
    pub fn address(&self) -> String {
        self.command("GET", "url", &Value::Null).as_str().unwrap_or_default().to_owned()
    }

    /// Runs `script` as the body of a function and returns its result.
    #[must_use]
    pub fn value(&self, script: &str) -> Value {
        self.command("POST", "execute/sync", &json!({"script": script, "args": []}))
    }

    /// Clicks the element that a CSS selector finds; the element must be visible.
    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.command("POST", &format!("element/{element}/click"), &json!({}));
    }

    /// Types a text into the element that a CSS selector finds.
    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.command("POST", &format!("element/{element}/value"), &json!({"text": text}));
    }

    /// Prints the page to an A4 PDF and returns it in base64.
    #[must_use]
    pub fn printed(&self) -> String {
        let page = json!({"page": {"width": 21.0, "height": 29.7}});
        self.command("POST", "print", &page).as_str().unwrap_or_default().to_owned()
    }

    /// Switches to print layout with a page of `width` pixels, or back to the screen layout.
    pub fn on_paper(&self, width: Option<u32>) {
        let media = if width.is_some() { "print" } else { "" };
        self.tools("Emulation.setEmulatedMedia", &json!({"media": media}));
        match width {
            Some(width) => self.tools(
                "Emulation.setDeviceMetricsOverride",
                &json!({"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": false}),
            ),
            None => self.tools("Emulation.clearDeviceMetricsOverride", &json!({})),
        }
    }

    /// Returns the messages that scripts and the browser logged since the last call.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let log = self.command("POST", "se/log", &json!({"type": "browser"}));
        log.as_array().into_iter().flatten().map(Value::to_string).collect()
    }

    fn element(&self, selector: &str) -> String {
        let found = self.command("POST", "element", &json!({"using": "css selector", "value": selector}));
        let id = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("{selector}: {found}")).to_owned()
    }

    fn tools(&self, command: &str, parameters: &Value) {
        self.command("POST", "goog/cdp/execute", &json!({"cmd": command, "params": parameters}));
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}/{path}", self.session);
        self.send(method, &path, body).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Sends one request on a new connection and returns the member `value` of the response.
    fn send(&self, method: &str, path: &str, body: &Value) -> io::Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = BufReader::new(stream);
        let mut size = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line)?;
            if let Some(length) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                size = length.trim().parse().map_err(io::Error::other)?;
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; size];
        answer.read_exact(&mut body)?;
        let answer: Value = serde_json::from_slice(&body)?;
        match &answer["value"] {
            Value::Object(value) if value.contains_key("error") => Err(io::Error::other(answer.to_string())),
            value => Ok(value.clone()),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ending the session also ends Chromium.
        let _ended = self.send("DELETE", &format!("/session/{}", self.session), &Value::Null);
        let _killed = self.driver.kill().and_then(|()| self.driver.wait());
    }
}
