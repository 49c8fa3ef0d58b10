//! What `--log` writes on standard error.

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
    let mut server = home.command(&[
        "serve",
        "digits",
        "--devices",
        "sim:v100,sim:v100",
        "--load",
        "poisson:50",
        "--log",
        "info",
    ]);
    let mut server = server.stderr(Stdio::piped()).spawn().expect("starts");
    let mut lines = BufReader::new(server.stderr.take().expect("piped")).lines();
    let mut said = Vec::new();
    let mut until = |there: &dyn Fn(&str) -> bool| {
        for line in lines.by_ref() {
            said.push(line.expect("text"));
            if said.last().is_some_and(|line| there(line)) {
                break;
            }
        }
        said.clone()
    };
    until(&|line| line.contains("`divisi stop"));
    send(&home, "search worst-fit\nquit\n");
    until(&|line| line.contains("divisi::search: "));
    send(
        &home,
        "load none\nslow-device sim:v100:1 2\nlose-device sim:v100:1\nquit\n",
    );
    until(&|line| line.contains(": reload"));
    home.text(&["stop", "digits"]);
    let said = until(&|_| false);
    assert!(ended(&mut server).success());
    for line in [
        " INFO divisi::session: serving `digits` with ",
        " INFO divisi::load: load: poisson",
        "divisi::search: search done",
        " INFO divisi::load: load stopped",
        " INFO divisi::session: `sim:v100:1` takes 2 times as long",
        "ERROR divisi::devices: device `sim:v100:1` is gone",
        " INFO divisi::changes: reload: ",
    ] {
        let (_, text) = line.split_once(": ").expect("a target");
        let found = said.iter().filter(|said| said.contains(text));
        let found: Vec<&String> = found.collect();
        assert!(found.len() == 1, "`{line}` in {said:#?}");
        assert!(found[0].contains(line), "`{line}` in {said:#?}");
    }
}
