//! Pages of a real server: `divisi serve --web`.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};

use crate::background::Home;
use crate::terminal::ended;

use super::page::{BrowserPage, get};

/// A server of `digits` with these options, and the lines that it prints until it is ready.
pub(super) fn serve(home: &Home, options: &[&str]) -> (Child, Vec<String>) {
    let quiet = [
        "serve",
        "digits",
        "--http",
        "off",
        "--grpc",
        "off",
        "--metrics",
        "off",
    ];
    let mut command = home.command(&quiet);
    let mut server = command
        .args(options)
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(server.stderr.take().expect("piped")).lines();
    let mut said = Vec::new();
    for line in lines.by_ref() {
        said.push(line.expect("text"));
        if said.last().is_some_and(|line| line.contains("divisi stop")) {
            break;
        }
    }
    // The server must not block on its later lines.
    std::thread::spawn(move || lines.count());
    (server, said)
}

/// Returns the address of the browser console.
pub(super) fn address(said: &[String]) -> Option<SocketAddr> {
    let mut lines = said.iter();
    let (_, rest) = lines.find_map(|line| line.split_once("browser console at http://"))?;
    rest.trim_end_matches('/').parse().ok()
}

/// Stops the server as a user does.
pub(super) fn stop(home: &Home, mut server: Child) {
    let stopped = home.command(&["stop", "digits"]).output();
    assert!(stopped.expect("starts").status.success());
    assert!(ended(&mut server).success(), "it drained");
}

#[test]
fn a_server_has_no_browser_console_by_default() {
    let home = Home::new();
    let (server, said) = serve(&home, &["--load", "none"]);
    assert_eq!(address(&said), None, "{said:?}");
    stop(&home, server);
}

#[test]
fn a_page_of_a_server_shows_and_changes_what_it_serves() {
    let home = Home::new();
    let (server, said) = serve(&home, &["--load", "none", "--web", "127.0.0.1:0"]);
    let address = address(&said).expect("an address");
    assert!(get(address, "/").starts_with("HTTP/1.1 200 "));
    let mut page = BrowserPage::join(address, None, (120, 40));
    page.paint_until("digits");
    page.press("E");
    page.paint_until("you edit");
    page.press("q");
    page.next_of("bye");
    stop(&home, server);
}

#[test]
fn a_server_that_stops_disconnects_its_pages() {
    let home = Home::new();
    let (server, said) = serve(&home, &["--load", "none", "--web", "127.0.0.1:0"]);
    let mut page = BrowserPage::join(address(&said).expect("an address"), None, (80, 24));
    page.paint();
    stop(&home, server);
    while page.next().is_some() {}
}

#[test]
fn a_public_address_without_keys_is_refused_before_models_are_read() {
    let home = Home::new();
    let (mut server, said) = serve(&home, &["--web", "0.0.0.0:0"]);
    assert!(!ended(&mut server).success());
    let said = said.join("\n");
    assert!(said.contains("--web") && said.contains("--keys"), "{said}");
}
