//! `divisi keys`: every command of the console with its keys.

use anyhow::Result;

use super::report::print;
use crate::commands::{BINDINGS, Binding, Keymap, Scope};
use crate::config;

pub(crate) fn run() -> Result<()> {
    print(&table(&config::load()?.keys))
}

/// Returns the table as text: keys, name, help.
pub(crate) fn table(keys: &Keymap) -> String {
    let mut text = String::new();
    for entry in BINDINGS {
        let labels = labels(entry, keys);
        let (name, help) = (entry.name(), entry.help);
        text += &format!("{labels:<18}  {name:<22}  {}{help}\n", place(entry));
    }
    text
}

/// Returns the keys of a command as files write them.
pub(crate) fn labels(entry: &Binding, keys: &Keymap) -> String {
    let keys = keys.of(entry).iter().map(ToString::to_string);
    keys.collect::<Vec<_>>().join(" ")
}

/// Returns where the keys of a command work, or nothing if they work everywhere.
pub(crate) fn place(entry: &Binding) -> String {
    match entry.scope {
        Scope::Edit => "editing: ".into(),
        Scope::In(panel) => format!("in {}: ", panel.name()),
        Scope::Replay => "in a recording: ".into(),
        Scope::Demo => "in a demonstration: ".into(),
        Scope::Always | Scope::Main => String::new(),
    }
}

/// Returns where the keys of a command work, as a heading.
pub(crate) fn heading(entry: &Binding) -> String {
    match entry.scope {
        Scope::Edit => "While the allocation is edited".into(),
        Scope::In(panel) => {
            let panel = format!("{panel:?}").to_lowercase();
            format!("While the panel {panel} has the focus")
        }
        Scope::Replay => "While a recording is played".into(),
        Scope::Demo => "During a demonstration".into(),
        Scope::Always | Scope::Main => "Everywhere".into(),
    }
}
