//! Chromium without a window: prints what a page has become in virtual time, or is spoken to while real time passes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Written, processes::largest};

const SWITCHES: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
];

/// Opens the file with this at the end of its address and returns what it has become.
pub(super) fn opened(browser: &Path, file: &Path, end: &str, profile: &Path) -> String {
    let output = Command::new(browser)
        .args(SWITCHES)
        .args(["--window-size=900,700", "--virtual-time-budget=60000", "--dump-dom"]) // until the texts are read
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}{end}", file.display()))
        .output()
        .expect("the browser starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the page has measured of itself, in real time, and the megabytes that the largest of the browser's processes held at most.
pub(super) fn frames(browser: &Path, file: &Path, profile: &Path) -> (String, f64) {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let largest = scope.spawn(|| {
            let mut most = 0.0f64;
            while !ended.load(Ordering::Relaxed) {
                most = most.max(largest_of(profile));
                thread::sleep(Duration::from_millis(100));
            }
            most
        });
        let report = Chromium::start(browser, profile, [1200, 800]).run(
            file,
            "#frames",
            &Written("frames").promised(),
        );
        ended.store(true, Ordering::Relaxed);
        (report, largest.join().expect("memory is read"))
    })
}

/// A browser that is spoken to by its DevTools protocol: JSON on two pipes, a zero byte after each message. It ends with this value.
pub(super) struct Chromium {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    messages: u64,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // One that is killed leaves its own processes behind; one whose pipe is closed ends them.
        let _it_may_have_ended = self.requests.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        for _ in 0..100 {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _or_has_by_now = self.process.kill();
        let _whatever_its_status = self.process.wait();
    }
}

impl Chromium {
    pub(super) fn start(browser: &Path, profile: &Path, [width, height]: [u32; 2]) -> Self {
        // The protocol is on the descriptors 3 and 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(browser)
            .args(SWITCHES)
            .arg("--remote-debugging-pipe")
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let requests = process.stdin.take().expect("its input is a pipe");
        let answers = BufReader::new(process.stdout.take().expect("its output is a pipe"));
        Self { process, requests, answers, messages: 0 }
    }

    /// Opens the file with this at the end of its address and waits for what an expression promises: a text.
    pub(super) fn run(&mut self, file: &Path, end: &str, expression: &str) -> String {
        let target = self.send("", "Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.send("", "Target.attachToTarget", &attach)["sessionId"].clone();
        let session = session.as_str().expect("a session has a name");
        self.send(session, "Page.enable", &json!({}));
        self.send(session, "Page.navigate", &json!({ "url": format!("file://{}{end}", file.display()) }));
        while self.receive()["method"] != "Page.loadEventFired" {}
        let evaluate = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.send(session, "Runtime.evaluate", &evaluate);
        self.send("", "Target.closeTarget", &json!({ "targetId": target["targetId"] }));
        answer["result"]["value"].as_str().unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
    }

    fn send(&mut self, session: &str, method: &str, params: &Value) -> Value {
        self.messages += 1;
        let mut message = json!({ "id": self.messages, "method": method, "params": params });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        self.requests.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let answer = self.receive();
            if answer["id"] == self.messages {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn receive(&mut self) -> Value {
        let mut message = Vec::new();
        self.answers.read_until(0, &mut message).expect("the browser answers");
        assert_eq!(message.pop(), Some(0), "the browser ends before it answers");
        serde_json::from_slice(&message).expect("JSON")
    }
}
/// The megabytes that the largest page of the browser has held at most so far.
fn largest_of(profile: &Path) -> f64 {
    let profile = profile.to_str().expect("a path of characters");
    largest(|all, number| {
        let command = all.get(&number).map_or("", |process| &process.command);
        command.contains("--type=renderer") && command.contains(profile)
    })
}
