//! Chromium without a window, which prints what a page has become.

use std::path::Path;
use std::process::Command;

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
