//! Firefox without a window, spoken to by its Marionette protocol: JSON over a socket, each message after its length and a colon.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::processes::{Process, largest};

/// A browser with a profile of its own, which ends with this value.
pub(super) struct Firefox {
    process: Child,
    _profile: tempfile::TempDir,
    socket: TcpStream,
    messages: u64,
}

impl Drop for Firefox {
    fn drop(&mut self) {
        let _it_may_have_ended = self.process.kill();
        let _whatever_its_status = self.process.wait();
    }
}

impl Firefox {
    pub(super) fn start(browser: &Path, dark: bool) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let settings = [
            "user_pref(\"marionette.port\", 0);".to_owned(), // any that is free
            format!("user_pref(\"layout.css.prefers-color-scheme.content-override\", {});", i32::from(!dark)),
        ];
        fs::write(profile.path().join("user.js"), settings.join("\n")).unwrap();
        let mut process = Command::new(browser)
            .args(["--headless", "--marionette", "--no-remote", "--profile"])
            .arg(profile.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        let port = loop {
            let port = fs::read_to_string(profile.path().join("MarionetteActivePort"));
            if let Some(port) = port.ok().and_then(|port| port.trim().parse::<u16>().ok()) {
                break port;
            }
            assert!(process.try_wait().unwrap().is_none(), "the browser ends before it listens");
            thread::sleep(Duration::from_millis(50));
        };
        let socket = TcpStream::connect(("127.0.0.1", port)).expect("the browser listens");
        socket.set_read_timeout(Some(Duration::from_secs(300))).unwrap(); // else a browser that hangs would never fail
        let mut firefox = Self { process, _profile: profile, socket, messages: 0 };
        let _greeting = firefox.receive();
        firefox.send("WebDriver:NewSession", &json!({}));
        firefox.send("WebDriver:SetTimeouts", &json!({ "script": 240_000 }));
        firefox
    }

    pub(super) fn resize(&mut self, [width, height]: [u32; 2]) {
        self.send("WebDriver:SetWindowRect", &json!({ "width": width, "height": height }));
    }

    /// Opens the file with this at the end of its address, also where only what follows `#` is another.
    pub(super) fn open(&mut self, file: &Path, end: &str) {
        for address in ["about:blank".to_owned(), format!("file://{}{end}", file.display())] {
            self.send("WebDriver:Navigate", &json!({ "url": address }));
        }
    }

    /// Runs a script in the page until it calls its argument, with a text.
    pub(super) fn run(&mut self, script: &str) -> String {
        let answer = self.send("WebDriver:ExecuteAsyncScript", &json!({ "script": script, "args": [] }));
        answer["value"].as_str().expect("the script gives a text").to_owned()
    }

    /// The megabytes that the largest page has held at most so far.
    pub(super) fn largest(&self) -> f64 {
        // Pages are children of a process that makes processes.
        largest(|all, number| Process::descends(all, number, self.process.id()))
    }

    fn send(&mut self, command: &str, parameters: &Value) -> Value {
        self.messages += 1;
        let message = json!([0, self.messages, command, parameters]).to_string();
        self.socket.write_all(format!("{}:{message}", message.len()).as_bytes()).unwrap();
        let answer = self.receive();
        assert!(answer[1] == self.messages && answer[2].is_null(), "{command}: {answer}");
        answer[3].clone()
    }

    fn receive(&mut self) -> Value {
        let (mut length, mut digit) = (0, [0]);
        loop {
            self.socket.read_exact(&mut digit).expect("the browser answers");
            match digit[0] {
                b':' => break,
                digit => length = 10 * length + usize::from(digit - b'0'),
            }
        }
        let mut message = vec![0; length];
        self.socket.read_exact(&mut message).expect("the browser answers");
        serde_json::from_slice(&message).expect("JSON")
    }
}
