//! A program that registers in a loop and is killed, again and again.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use divisi_registry::store::{PATIENCE, Store};

use crate::common::model;

/// Where the program that is killed keeps its store, and the number that it begins with.
const PATH: &str = "DIVISI_TEST_STORE";
const FIRST: &str = "DIVISI_TEST_FIRST";
/// How often it is killed; more by hand.
const KILLS: &str = "DIVISI_TEST_KILLS";
const USUAL: u64 = 40;

const TASKS: u32 = 5;

fn task(number: u32) -> String {
    format!("task {}", number % TASKS)
}

#[test]
#[ignore = "it runs until the test below kills it"]
fn it_registers_until_it_is_killed() {
    let Some(path) = env::var_os(PATH) else {
        return;
    };
    let first: u32 = env::var(FIRST)
        .expect("a number")
        .parse()
        .expect("a number");
    for number in first.. {
        let store = Store::open(Path::new(&path), PATIENCE).expect("opens");
        store
            .register(&task(number), &model("a", number, 60))
            .expect("registers");
        println!("\nconfirmed {number}");
        std::io::stdout().flush().expect("a pipe");
    }
}

/// Runs the program until it has confirmed so many, and then for a time, and kills it; returns the
/// last number that it confirmed.
fn killed_after(path: &Path, first: u32, confirmed: usize, time: Duration) -> Option<u32> {
    let program = env::current_exe().expect("a path");
    let name = "kills::it_registers_until_it_is_killed";
    let mut child = Command::new(program)
        .args([
            "--ignored",
            "--exact",
            name,
            "--nocapture",
            "--test-threads",
            "1",
        ])
        .env(PATH, path)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    let lines = out.lines().map_while(Result::ok);
    let number = |line: String| line.strip_prefix("confirmed ")?.parse().ok();
    let mut numbers = lines.filter_map(number);
    let before = numbers.by_ref().take(confirmed).last();
    thread::sleep(time);
    child.kill().expect("runs until then");
    let last = numbers.last().or(before);
    child.wait().expect("ends");
    last
}

#[test]
fn what_was_confirmed_is_there_after_every_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tasks.redb");
    let kills = env::var(KILLS).ok().and_then(|kills| kills.parse().ok());
    let (mut first, mut seen) = (0, 0);
    for kill in 0..kills.unwrap_or(USUAL) {
        // Spread over the time that a registration takes, of the first ones and those that follow.
        let time = Duration::from_micros(kill * 7_919 % 20_000);
        let last = killed_after(&path, first, kill as usize % 4, time);
        let contents = Store::read(&path, PATIENCE).expect("opens after a kill");
        let Some(last) = last.or(first.checked_sub(1)) else {
            continue;
        };
        for number in last.saturating_sub(TASKS - 1)..=last {
            let found = &contents.tasks[&task(number)][0];
            // It was killed between writing the next one and saying so.
            let next = [number, last + 1].map(|n| model("a", n, 60));
            assert!(
                next.contains(found),
                "{number} of {last}: {}",
                found.record.registered_at
            );
        }
        seen += u32::from(last >= first);
        first = last + 1;
    }
    assert!(seen > 5, "only {seen} kills hit registrations");
}
