//! Chromium without a window, which prints what a page has become.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Opens the file with this at the end of its address and returns what it has become.
pub(super) fn opened(browser: &Path, file: &Path, end: &str, profile: &Path) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
        ])
        .args(["--window-size=900,700", "--virtual-time-budget=60000", "--dump-dom"]) // until the texts are read
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}{end}", file.display()))
        .output()
        .expect("the browser starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The page's own report.
pub(super) fn report(browser: &Path, file: &Path, profile: &Path) -> String {
    let dom = opened(browser, file, "#selftest", profile);
    let Some((_, rest)) = dom.split_once("<pre id=\"selftest\">") else {
        panic!("no report: {}", dom.chars().take(2000).collect::<String>())
    };
    rest.split_once("</pre>").expect("a whole element").0.into()
}

/// What the page has measured of itself, in real time, and the megabytes that the largest of the browser's processes held at most.
pub(super) fn frames(browser: &Path, file: &Path, profile: &Path) -> (String, f64) {
    let mut process = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--window-size=1200,800", "--timeout=200000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}#frames", file.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the browser starts");
    let mut pipe = process.stdout.take().expect("its output is a pipe");
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("the browser prints");
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut most = 0.0f64;
    while process.try_wait().expect("the browser runs").is_none() {
        most = most.max(largest_of(profile));
        thread::sleep(Duration::from_millis(100));
    }
    let dom = reader.join().expect("the browser prints");
    let report = dom.split_once("<pre id=\"frames\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    (report.map_or_else(|| "no report".into(), |(report, _)| report.to_owned()), most)
}

/// The megabytes that are resident of the largest page of the browser, where `/proc` says so.
fn largest_of(profile: &Path) -> f64 {
    let own = |folder: std::path::PathBuf| {
        let command = fs::read_to_string(folder.join("cmdline")).ok()?;
        let of_page = command.contains("--type=renderer") && command.contains(profile.to_str()?);
        let status = of_page.then(|| fs::read_to_string(folder.join("status")).ok())??;
        let line =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().trim_end_matches(" kB");
        Some(line.parse::<f64>().ok()? / 1e3)
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|folder| own(folder.path())).fold(0.0, f64::max)
}
