//! `divisi man`, `divisi completions` and `divisi keys`: manual pages, shell completions, and the
//! keys of the console.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use super::output::{OutputFile, print};
use crate::commands::{BINDINGS, Binding, Keymap, Scope};
use crate::config::{self, CONFIG, KEYS};

/// Returns the environment variables of the program with their meanings.
pub fn environment() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("environment.txt").lines();
    lines.filter_map(|line| line.split_once(": "))
}

/// The files in the configuration folder.
pub const FILES: [(&str, &str); 3] = [
    (CONFIG, "Options; written by divisi config init."),
    (KEYS, "Keys of the console."),
    (
        "themes/NAME.toml",
        "Further themes; dark, light and high-contrast are built in.",
    ),
];

/// The program's exit codes.
pub const CODES: [(&str, &str); 4] = [
    ("0", "Done."),
    ("1", "Failed, with the reason on standard error."),
    ("2", "Misuse."),
    ("3", "Goal not met: the report shows the nearest result."),
];

/// Returns the usual path of a configuration file.
pub fn path_of(file: &str) -> String {
    format!("$XDG_CONFIG_HOME/divisi/{file}")
}

pub(crate) fn manual(folder: Option<&Path>, force: bool, program: Command) -> Result<()> {
    let mut command = program.name("divisi");
    command.build();
    let Some(folder) = folder else {
        let mut out = io::stdout().lock();
        out.write_all(&main_page(&command)?)?;
        return Ok(out.flush()?);
    };
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut all = vec![("divisi".to_owned(), main_page(&command)?)];
    pages("divisi", &command, &mut all)?;
    let files = all.iter().map(|(name, page)| {
        let path = folder.join(format!("{name}.1"));
        Ok((OutputFile::new(&path, force)?, page))
    });
    // Nothing is written before all of them are checked.
    let files = files.collect::<Result<Vec<_>>>()?;
    files
        .iter()
        .try_for_each(|(file, page)| file.write_bytes(page))
}

/// Adds a page for each subcommand, recursively.
fn pages(prefix: &str, command: &Command, all: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    for below in command
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name() != "help")
    {
        let name = format!("{prefix}-{}", below.get_name());
        let mut text = Vec::new();
        Man::new(below.clone()).render(&mut text)?;
        all.push((name.clone(), text));
        pages(&name, below, all)?;
    }
    Ok(())
}

/// Returns the main page: the program, the console's keys, the environment, the files and the exit
/// codes.
fn main_page(command: &Command) -> Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    man.render_subcommands_section(&mut page)?;
    page.extend(key_section().bytes());
    page.extend(other_sections().bytes());
    man.render_extra_section(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

fn key_section() -> String {
    let keymap = Keymap::default();
    let entries = BINDINGS.iter().map(|entry| {
        let labels = key_labels(entry, &keymap);
        let head = format!("{labels}  ({})", entry.name());
        let text = format!("{}{}", key_place(entry), entry.help);
        (head, text)
    });
    section(
        "KEYS OF THE CONSOLE",
        "Defaults; keys.toml changes them.",
        entries,
    )
}

fn other_sections() -> String {
    let files = FILES.map(|(name, help)| (path_of(name), help));
    section("ENVIRONMENT", "", environment())
        + &section("FILES", "", files.into_iter())
        + &section("EXIT STATUS", "", CODES.into_iter())
}

/// Formats a section of names with their descriptions.
fn section(
    name: &str,
    text: &str,
    entries: impl Iterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
) -> String {
    let mut page = format!(".SH \"{name}\"\n");
    if !text.is_empty() {
        page += &format!("{}\n", escaped(text));
    }
    for (head, text) in entries {
        let (head, text) = (escaped(head.as_ref()), escaped(text.as_ref()));
        page += &format!(".TP\n\\fB{head}\\fR\n{text}\n");
    }
    page
}

/// Escapes text for roff.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A dot or quote at the start of a line begins a roff command.
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}

pub(crate) fn completions(shell: Shell, mut program: Command) -> Result<()> {
    // Collected in memory first, since the generator does not report that its reader has gone.
    let mut script = Vec::new();
    generate(shell, &mut program, "divisi", &mut script);
    let mut out = io::stdout().lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}

pub(crate) fn keys() -> Result<()> {
    print(&key_table(&config::load()?.keys))
}

/// Returns the table as text: keys, name, help.
pub(crate) fn key_table(keys: &Keymap) -> String {
    let mut text = String::new();
    for entry in BINDINGS.iter() {
        let labels = key_labels(entry, keys);
        let (name, help) = (entry.name(), entry.help);
        text += &format!("{labels:<18}  {name:<22}  {}{help}\n", key_place(entry));
    }
    text
}

/// Returns the keys of a command in the syntax of files.
fn key_labels(entry: &Binding, keys: &Keymap) -> String {
    let keys = keys.keys_for(entry).iter().map(ToString::to_string);
    keys.collect::<Vec<_>>().join(" ")
}

/// Returns the scope of a command's keys, or an empty text if they work everywhere.
fn key_place(entry: &Binding) -> String {
    match entry.scope {
        Scope::Edit => "editing: ".into(),
        Scope::In(panel) => format!("in {}: ", panel.name()),
        Scope::Replay => "in a recording: ".into(),
        Scope::Demo => "in a demonstration: ".into(),
        Scope::Always | Scope::Main => String::new(),
    }
}

/// Returns the scope of a command's keys as a heading.
pub fn key_heading(entry: &Binding) -> String {
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
