//! The list of all commands with their keys, places, titles and help texts: none is lost
//! or renamed unseen.

use divisi_console::console::commands::{Scope, TABLE};
use divisi_console::linear::COMMANDS;

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
    TABLE.iter().map(|entry| {
        let keys: Vec<String> = entry.keys.iter().map(ToString::to_string).collect();
        let (place, name, keys) = (place(entry.scope), entry.name(), keys.join(" "));
        let (footer, title, help) = (entry.footer, entry.title, entry.help);
        let changes = changes(entry.changes);
        format!("{place} | {name} | {keys} | {footer} | {title} | {help} | {changes}")
    })
}

fn as_lines() -> impl Iterator<Item = String> {
    COMMANDS.iter().map(|line| {
        let (name, takes, help) = (line.name, line.takes, line.help);
        let changes = changes(line.changes);
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
