//! The commands of the README and of the tutorials, run as they stand there, one after another, each
//! document in an empty folder.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::folder::Folder;

/// The line before a block that no test runs, with the reason.
const NOT_RUN: &str = "<!-- not run: ";

/// Returns the blocks of commands of a document that a test can run.
fn blocks(document: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(document);
    let text = fs::read_to_string(path).expect("the document");
    let mut parts = text.split("\n```sh\n");
    let mut before = parts.next().expect("a beginning");
    let mut blocks = Vec::new();
    for part in parts {
        let (block, after) = part.split_once("\n```").expect("its end");
        let line = before.trim_end().lines().last().unwrap_or_default();
        if !line.starts_with(NOT_RUN) {
            blocks.push(block.to_owned());
        }
        before = after;
    }
    blocks
}

/// Returns a port that nobody uses.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    listener.local_addr().expect("an address").port()
}

/// Returns the steps with an address that other tests do not use. All servers have the same one.
fn with_address(steps: &str) -> String {
    let address = format!("127.0.0.1:{}", free_port());
    let serve = format!("divisi serve --grpc off --metrics off --http {address} ");
    steps
        .replace("divisi serve ", &serve)
        .replace("divisi health", &format!("divisi health --http {address}"))
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

/// Whether a block searches over simulated devices, which takes minutes without optimisation.
fn searches(block: &str) -> bool {
    block.contains("divisi allocate imn4") || block.contains("divisi plan")
}

/// Runs the blocks of a document that do not search.
#[track_caller]
fn run_document(document: &str) -> String {
    let mut steps = blocks(document);
    let has_curl = Command::new("curl").arg("--version").output().is_ok();
    steps.retain(|block| !searches(block) && (has_curl || !block.contains("curl ")));
    assert!(!steps.is_empty(), "{document}: no blocks");
    run(&with_address(&steps.join("\n")))
}

#[test]
fn the_readme_runs_in_order() {
    let printed = run_document("README.md");
    for expected in ["digits on 597 samples", "average-logits", "requests/s"] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    assert_eq!(printed.matches("stopped `").count(), 3, "{printed}");
}

#[test]
fn the_first_ten_minutes_run_in_order() {
    run_document("docs/tutorials/first-ten-minutes.md");
}

#[test]
fn ones_own_models_run_in_order() {
    let printed = run_document("docs/tutorials/your-own-models.md");
    assert!(printed.contains("mine on 597 samples"), "{printed}");
}

#[test]
fn a_task_by_goals_runs_in_order() {
    run_document("docs/tutorials/a-task-by-goals.md");
}

#[test]
#[ignore = "minutes: cargo test -p divisi --test console -- --ignored readme"]
fn all_steps_run_in_order() {
    for document in ["README.md", "docs/tutorials/your-own-models.md"] {
        run(&with_address(&blocks(document).join("\n")));
    }
}
