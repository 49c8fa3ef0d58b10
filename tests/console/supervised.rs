//! A server under a supervisor: systemd learns when it is ready, probes ask for its health, and it is
//! stopped without its name.
#![cfg(unix)]

use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Stdio};

use crate::background::Home;

/// Returns a port that nothing uses.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    listener.local_addr().expect("an address").to_string()
}

/// Starts a server that reports its state to `socket`.
fn supervised(home: &Home, http: &str, socket: &std::path::Path) -> Child {
    let arguments = ["serve", "digits", "--grpc", "off", "--metrics", "off"];
    let mut command = home.command(&[&arguments[..], &["--http", http]].concat());
    command.env("NOTIFY_SOCKET", socket).stderr(Stdio::null());
    command.spawn().expect("starts")
}

fn received(socket: &UnixDatagram) -> String {
    let mut bytes = [0; 64];
    let count = socket.recv(&mut bytes).expect("a message");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

#[test]
fn a_supervisor_learns_when_the_server_is_ready_and_when_it_stops() {
    let home = Home::new();
    let place = home.folder().join("notify");
    let socket = UnixDatagram::bind(&place).expect("bound");
    let http = free_address();
    let mut server = supervised(&home, &http, &place);
    assert_eq!(received(&socket), "READY=1");
    let health = home.text(&["health", "--http", &http]);
    assert_eq!(health.trim(), format!("{http} is ready"));
    let report = home.text(&["report"]);
    assert!(report.contains("load none"), "the server's: {report}");
    let stopped = home.text(&["stop"]);
    assert_eq!(stopped.trim(), "stopped `digits`");
    assert_eq!(received(&socket), "STOPPING=1");
    assert!(server.wait().expect("ends").success());
}

#[test]
fn a_probe_waits_for_a_server_that_starts() {
    let home = Home::new();
    let http = free_address();
    let waiting = home.command(&["health", "--http", &http, "--wait", "60s"]);
    let mut waiting = { waiting }.stdout(Stdio::piped()).spawn().expect("starts");
    let place = home.folder().join("none");
    let _silent = UnixDatagram::bind(&place).expect("bound");
    let mut server = supervised(&home, &http, &place);
    assert!(waiting.wait().expect("ends").success());
    home.text(&["stop", "digits"]);
    assert!(server.wait().expect("ends").success());
}

#[test]
fn a_stop_without_a_name_names_the_servers_if_there_are_several_or_none() {
    let home = Home::new();
    let none = home.command(&["stop"]).output().expect("starts");
    let error = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(error.contains("no server is running"), "{error}");
}
