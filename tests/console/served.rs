//! Servers that others ask over the network.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::background::Home;
use crate::cli::fails;
use crate::repositories::Models;
use crate::terminal::ended;

/// A server of `digits` at a port that was free, and its address.
fn serve(home: &Home) -> (Child, String) {
    serve_models(home, &["digits"])
}

/// A server of models, likewise.
fn serve_models(home: &Home, models: &[&str]) -> (Child, String) {
    let mut command = home.command(&["serve", "--load", "none"]);
    command.args(models);
    let command = command.args(["--http", "127.0.0.1:0", "--grpc", "off", "--metrics", "off"]);
    let mut server = command.stderr(Stdio::piped()).spawn().expect("starts");
    let mut lines = BufReader::new(server.stderr.take().expect("piped")).lines();
    let mut address = String::new();
    for line in lines.by_ref() {
        let line = line.expect("text");
        if let Some((_, place)) = line.split_once("HTTP at http://") {
            address = place.trim_end_matches("/v2").to_owned();
        }
        if line.contains("divisi stop") {
            break;
        }
    }
    // The rest of what it says has somewhere to go.
    std::thread::spawn(move || lines.count());
    (server, address)
}

fn digits() -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    format!("{root}/sample_ensembles/digits/digits.csv")
}

#[test]
fn a_server_answers_samples_as_this_process_would() {
    let home = Home::new();
    let (mut server, address) = serve(&home);
    let asked = [
        "predict",
        "digits",
        "--input",
        &digits(),
        "--server",
        &address,
    ];
    let far = home.text(&asked);
    let here = home.text(&asked[..4]);
    let classes = |text: &str| -> Vec<String> {
        let rows = text.lines().map(|row| row.split(',').take(2));
        rows.map(|row| row.collect::<Vec<_>>().join(",")).collect()
    };
    assert!(far.lines().count() > 1000, "{far}");
    assert_eq!(classes(&far), classes(&here));
    kill_process(Pid::from_child(&server), Signal::TERM).expect("sent");
    assert!(ended(&mut server).success(), "it drained");
}

#[test]
fn a_network_alone_is_asked_under_the_name_that_its_file_gives_its_input() {
    let network = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/runtime/onnx_files/one.onnx"
    );
    let home = Home::new();
    let (mut server, address) = serve_models(&home, &[network]);
    let folder = tempfile::tempdir().expect("a folder");
    let samples = folder.path().join("samples.csv");
    std::fs::write(&samples, "a,b,c\n1,2,3\n-4,0.5,6\n").expect("written");
    let samples = samples.to_str().expect("text");
    let asked = ["predict", network, "--input", samples, "--server", &address];
    let far = home.text(&asked);
    let here = home.text(&asked[..4]);
    assert_eq!(far.lines().count(), 3, "{far}");
    assert_eq!(far, here);
    kill_process(Pid::from_child(&server), Signal::TERM).expect("sent");
    assert!(ended(&mut server).success(), "it drained");
}

#[test]
fn a_server_that_cannot_listen_says_what_to_do() {
    let home = Home::new();
    let (mut server, address) = serve(&home);
    let cases = [
        (
            ["--http", &address, "--name", "second"],
            "the address is in use by another program",
        ),
        (
            ["--http", "0.0.0.0:0", "--name", "second"],
            "--allow-remote",
        ),
        (
            ["--http", "nonsense", "--name", "second"],
            "expected an address and a port",
        ),
        (["--keys", "/nothing/there", "--name", "second"], "--keys"),
    ];
    for (options, words) in cases {
        let mut command = home.command(&["serve", "digits", "--load", "none"]);
        let output = command.args(options).output().expect("starts");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && error.contains(words),
            "{words}: {error}"
        );
    }
    kill_process(Pid::from_child(&server), Signal::TERM).expect("sent");
    assert!(ended(&mut server).success(), "it drained");
}

/// The answer to a request without a body.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connects");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn all_models_are_loaded_at_the_start_where_that_is_asked_for() {
    let models = Models::new(false);
    models.network("other", "max_batch_size: 8");
    let explicit = |names: &[&'static str]| {
        let names = names.iter().flat_map(|name| ["--load-model", name]);
        let of = [models.path(), "--name=models", "--model-control=explicit"];
        of.into_iter().chain(names).collect::<Vec<_>>()
    };
    let is_ready = |address: &str, model: &str| {
        let answer = get(address, &format!("/v2/models/{model}/ready"));
        answer.starts_with("HTTP/1.1 200 ")
    };
    for (named, expected) in [(&["*"][..], true), (&["good"], false)] {
        let home = Home::new();
        let (mut server, address) = serve_models(&home, &explicit(named));
        assert!(is_ready(&address, "good"), "{named:?}");
        assert_eq!(is_ready(&address, "other"), expected, "{named:?}");
        home.text(&["stop", "models"]);
        assert!(ended(&mut server).success(), "it drained");
    }
    let both = explicit(&["*", "good"]);
    let (_, error) = fails(&[&["serve"], &both[..]].concat());
    let expected = "--load-model * cannot be combined with other models";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn options_of_a_server_that_do_not_suit_are_refused_in_a_line() {
    let models = Models::new(false);
    let kept = tempfile::NamedTempFile::new().expect("a file");
    let kept = kept.path().to_str().expect("text");
    let exists = format!("--record {kept}: the file already exists");
    let no_repository = "--model-control, --load-model: only valid for a model repository, found \
                         `digits`";
    let poll = ["serve", models.path(), "--model-control", "poll"];
    let often = [&poll[..], &["--poll-every", "1ms"]].concat();
    for (arguments, expected) in [
        // Before a model is read.
        (
            &["serve", "no_such_model.onnx", "--record", kept][..],
            &*exists,
        ),
        (&["serve", "digits", "--load-model", "a"], no_repository),
        (&["serve", "digits", "--poll-every", "5s"], no_repository),
        (
            &["serve", models.path(), "--load-model", "good"],
            "--load-model requires --model-control explicit",
        ),
        (
            &["serve", models.path(), "--poll-every", "5s"],
            "--poll-every requires --model-control poll",
        ),
        (&often, "--poll-every: expected 100ms or more, found 1ms"),
        (
            &["allocate", "digits", "snippets", "--mix", "foo=1"],
            "--mix: `foo` is not served: expected one of digits, snippets",
        ),
        (
            &["serve", "digits", "--scaling", "static"],
            "--scaling requires --task",
        ),
    ] {
        let (code, error) = fails(arguments);
        assert_eq!((code, error), (Some(1), format!("divisi: {expected}\n")));
    }
}

#[test]
fn a_console_closes_its_door_and_opens_it_again() {
    let home = Home::new();
    let mut command = home.command(&["digits", "--linear", "--load", "none"]);
    let command = command
        .args(["--http", "127.0.0.1:0"])
        .stdin(Stdio::piped());
    let mut console = command.stdout(Stdio::piped()).spawn().expect("starts");
    let mut lines = BufReader::new(console.stdout.take().expect("piped")).lines();
    let mut typed = console.stdin.take().expect("piped");
    let mut said = |words: &str| {
        let mut found = lines.by_ref().map(|line| line.expect("text"));
        let found = found.find(|line| line.contains(words));
        found.unwrap_or_else(|| panic!("{words} is not said"))
    };
    said("listening: http 127.0.0.1:");
    writeln!(typed, "listen on").expect("is read");
    said("already accepting connections");
    writeln!(typed, "listen off").expect("is read");
    said("no longer accepting connections");
    writeln!(typed, "listen off").expect("is read");
    said("not accepting connections");
    writeln!(typed, "quit").expect("is read");
    assert!(ended(&mut console).success());
}
