//! The lines that `--log` writes on standard error.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::background::Home;
use crate::terminal::ended;

/// Sends lines to the server `digits` and leaves it.
fn send(home: &Home, lines: &str) {
    let mut viewer = home.command(&["attach", "digits", "--linear"]);
    let mut viewer = viewer
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("starts");
    let mut input = viewer.stdin.take().expect("piped");
    input.write_all(lines.as_bytes()).expect("typed");
    assert!(ended(&mut viewer).success());
}

#[test]
fn a_server_says_each_line_of_its_log_once() {
    let home = Home::new();
    let mut server = home.command(&["serve", "digits", "--devices", "sim:v100*2"]);
    let server = server.args(["--http", "off", "--grpc", "off", "--metrics", "off"]);
    let server = server.args(["--load", "poisson:50", "--log", "info"]);
    let mut server = server.stderr(Stdio::piped()).spawn().expect("starts");
    let mut lines = BufReader::new(server.stderr.take().expect("piped")).lines();
    let mut lines = lines.by_ref().map(|line| line.expect("text"));
    let mut said: Vec<String> = Vec::new();
    while !said
        .last()
        .is_some_and(|line| line.contains("`divisi stop"))
    {
        said.push(lines.next().expect("it listens"));
    }
    send(
        &home,
        "search worst-fit\nload none\nslow-device sim:v100:1 2\nlose-device sim:v100:1\nquit\n",
    );
    home.text(&["stop", "digits"]);
    said.extend(lines);
    assert!(ended(&mut server).success());
    let events = said.iter().filter(|line| !line.starts_with("divisi: "));
    let events: Vec<&String> = events.collect();
    for line in [
        " INFO divisi::session: serving `digits` with ",
        " INFO divisi::load: load: poisson:50",
        " divisi::search: search ",
        " INFO divisi::load: load stopped",
        " INFO divisi::session: `sim:v100:1`: operations take 2x their normal time",
        "ERROR divisi::devices: device `sim:v100:1` is gone",
        " INFO divisi::changes: reload: ",
    ] {
        let times = events.iter().filter(|event| event.contains(line)).count();
        assert_eq!(times, 1, "`{line}` in {said:#?}");
    }
    let by_others = events.iter().find(|event| !event.contains(" divisi::"));
    assert_eq!(by_others, None, "in {said:#?}");
}
