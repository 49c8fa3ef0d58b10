//! The list of all commands with their keys, places, titles and help texts: none is lost
//! or renamed unseen.

use divisi_console::commands::{BINDINGS, LINES, Scope};

use crate::fake::{Bench, PLAIN};

const FROZEN: &str = include_str!("commands.txt");

fn place(scope: Scope) -> String {
    match scope {
        Scope::In(panel) => format!("in {}", panel.name()),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn changes(changes: bool) -> &'static str {
    if changes { "changes" } else { "" }
}

fn on_screen() -> impl Iterator<Item = String> {
    BINDINGS.iter().map(|entry| {
        let keys: Vec<String> = entry.keys.iter().map(ToString::to_string).collect();
        let (place, name, keys) = (place(entry.scope), entry.name(), keys.join(" "));
        let (footer, title, help) = (entry.footer, entry.title, entry.help);
        let changes = changes(entry.command.changes);
        format!("{place} | {name} | {keys} | {footer} | {title} | {help} | {changes}")
    })
}

fn as_lines() -> impl Iterator<Item = String> {
    LINES.iter().map(|line| {
        let (name, takes, help) = (line.command.name, line.takes, line.help);
        let changes = changes(line.command.changes);
        format!("line | {name} | {takes} | {help} | {changes}")
    })
}

#[test]
fn no_command_is_lost() {
    let rows: Vec<String> = on_screen().chain(as_lines()).collect();
    let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
    let frozen: Vec<&str> = FROZEN.lines().map(str::trim_end).collect();
    assert_eq!(rows.join("\n"), frozen.join("\n"));
}

#[test]
fn what_cannot_be_done_is_called_as_its_key_is() {
    let mut bench = Bench::with(120, 40, true, PLAIN);
    bench.keys("p");
    let refused = "read-only: cannot change the batching policy";
    assert!(bench.text().contains(refused), "{}", bench.text());
}
