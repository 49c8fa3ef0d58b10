//! The steps of the README, run as they stand there, one after another in an empty folder.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::folder::Folder;

/// Returns the blocks of commands below `heading`.
fn blocks(heading: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = fs::read_to_string(path).expect("the README");
    let (_, steps) = text.split_once(heading).expect("the heading");
    let (steps, _) = steps.split_once("\n## ").expect("a heading behind it");
    let blocks = steps.split("\n```sh\n").skip(1);
    let blocks = blocks.map(|block| block.split("\n```").next().expect("its end"));
    blocks.map(str::to_owned).collect()
}

/// Returns a port that nobody uses.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    listener.local_addr().expect("an address").port()
}

/// Returns the steps with an address that other tests do not use. Both servers have the same one.
fn with_address(steps: &str) -> String {
    let address = format!("127.0.0.1:{}", free_port());
    let others = "--grpc off --metrics off";
    steps
        .replace(
            "divisi serve --task",
            &format!("divisi serve {others} --task"),
        )
        .replace(
            "divisi serve digits",
            &format!("divisi serve {others} --http {address} digits"),
        )
        .replace("127.0.0.1:8000", &address)
}

/// Runs the steps in an empty folder and returns all that they print.
#[track_caller]
fn run(steps: &str) -> String {
    let (home, work) = (Folder::new(), Folder::new());
    let programs = home.join("bin");
    fs::create_dir(&programs).expect("created");
    symlink(env!("CARGO_BIN_EXE_divisi"), programs.join("divisi")).expect("linked");
    let printed = home.join("printed");
    let out = File::create(&printed).expect("created");
    let mut shell = Command::new("bash");
    let path = std::env::var("PATH").expect("a path");
    shell.args(["-e", "-c", steps]).current_dir(work.path());
    shell.env("PATH", format!("{}:{path}", programs.display()));
    for name in [
        "HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
    ] {
        let folder = home.join(name);
        fs::create_dir(&folder).expect("created");
        shell.env(name, folder);
    }
    let error = out.try_clone().expect("a copy");
    let status = shell
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(error)
        .status();
    let text = fs::read_to_string(printed).expect("text");
    assert!(status.expect("starts").success(), "{steps}\n{text}");
    text
}

/// Whether a block can run in a test: it builds nothing, and needs nobody at a terminal.
fn runs_alone(block: &str) -> bool {
    !block.contains("cargo") && !block.contains("divisi attach")
}

#[test]
fn the_steps_with_files_and_servers_run_in_order() {
    let mut steps = blocks("## Six things to do");
    // These two need no file and no server, and take minutes without optimisation.
    let long = |block: &String| block.contains("divisi allocate") || block.contains("divisi plan");
    steps.retain(|block| runs_alone(block) && !long(block));
    let printed = run(&with_address(&steps.join("\n")));
    for said in [
        "digits on 597 samples",
        "answered 1 samples",
        "\n0,0,0.9",
        "requests/s",
    ] {
        assert!(printed.contains(said), "{said}: {printed}");
    }
    assert_eq!(printed.matches("stopped `digits`").count(), 2, "{printed}");
}

#[test]
#[ignore = "minutes: cargo test -p divisi --test console -- --ignored readme"]
fn all_steps_run_in_order() {
    let mut steps = blocks("## Six things to do");
    steps.retain(|block| runs_alone(block));
    let printed = run(&with_address(&steps.join("\n")));
    for said in ["1.68 ×", "meets the goal"] {
        assert!(printed.contains(said), "{said}: {printed}");
    }
}
