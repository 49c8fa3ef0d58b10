//! Pages in a real browser, if this machine has Chromium and Node.

use std::process::{Command, Stdio};

use crate::background::Home;

use super::server::{address, serve, stop};

fn is_there(program: &str) -> bool {
    let version = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}

#[test]
fn a_browser_shows_the_console_and_sends_keys() {
    if !is_there("chromium") || !is_there("node") {
        println!("skipped: chromium and node are required");
        return;
    }
    let home = Home::new();
    let load = ["--load", "poisson:50", "--web", "127.0.0.1:0"];
    let (server, said) = serve(&home, &load);
    let url = format!("http://{}/", address(&said).expect("an address"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/browser/run.mjs");
    let output = Command::new("node")
        .args([script, &url, "--quick", "--out"])
        .arg(home.folder())
        .output()
        .expect("starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    stop(&home, server);
    assert!(output.status.success(), "{said}\n{errors}");
}
