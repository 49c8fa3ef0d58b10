//! The generated parts of the documentation.
//!
//! A document holds a generated part between two markers:
//!
//! ```text
//! <!-- generated: keys -->
//! …
//! <!-- end of generated -->
//! ```

mod shared;

use std::fmt::Write as _;

use clap::{Arg, Command};
use divisi_console::cli::{self, CODES, FILES};
use divisi_console::commands::{BINDINGS, Binding, Keymap, LINES};
use divisi_console::config;
use divisi_console::console::Role;
use divisi_model::pipeline::HostStep;

use shared::SharedOptions;

pub(crate) const BEGIN: &str = "<!-- generated: ";
pub(crate) const END: &str = "<!-- end of generated -->";

/// Returns a part as Markdown, or `None` if no part is called `name`.
pub(crate) fn generated(name: &str) -> Option<String> {
    Some(match name {
        "commands" => commands(),
        "keys" => keys(),
        "lines" => lines(),
        "config" => table(
            ["option", "default", ""],
            config::options().map(|[name, value, meaning]| {
                [format!("`{name}`"), format!("`{value}`"), plain(&meaning)]
            }),
        ),
        "roles" => roles(),
        "environment" => environment(),
        "steps" => steps(),
        _ => return None,
    })
}

/// Returns `text` with its generated parts replaced by current ones.
///
/// # Errors
/// A marker is not complete, or no part has its name.
pub(crate) fn renewed(text: &str) -> Result<String, String> {
    let mut renewed = String::with_capacity(text.len());
    let mut left = text;
    while let Some((before, after)) = left.split_once(BEGIN) {
        let marked = after.split_once(" -->").ok_or("expected ` -->`")?;
        let (name, old) = marked;
        let unknown = || format!("no part of the documentation is called `{name}`");
        let generated = generated(name).ok_or_else(unknown)?;
        let end = || format!("the part `{name}` has no `{END}`");
        let (_, rest) = old.split_once(END).ok_or_else(end)?;
        let generated = generated.trim_end();
        renewed += &format!("{before}{BEGIN}{name} -->\n\n{generated}\n\n{END}");
        left = rest;
    }
    Ok(renewed + left)
}

/// The program's commands, a section each, then the options that several take.
fn commands() -> String {
    let mut program = cli::program().name("divisi");
    program.build();
    let shared = SharedOptions::from_program(&program);
    let mut text = String::new();
    describe(&mut text, &program, "##", &shared);
    text += &shared.text();
    text
}

/// Describes a command, then those below it.
fn describe(text: &mut String, command: &Command, level: &str, shared: &SharedOptions<'_>) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let _ = writeln!(text, "{level} `{name}`\n");
    let about = command.get_about().map(ToString::to_string);
    let _ = writeln!(
        text,
        "{}.\n",
        plain(about.unwrap_or_default().trim_end_matches('.'))
    );
    let told = command.get_arguments();
    let told: Vec<&Arg> = told.filter(|arg| is_told(arg, command)).collect();
    let own: Vec<&Arg> = told
        .iter()
        .copied()
        .filter(|arg| !shared.holds(arg))
        .collect();
    if !own.is_empty() {
        let rows = own.into_iter().map(|arg| [signature(arg), meaning(arg)]);
        *text += &table(["argument", ""], rows);
        text.push('\n');
    }
    let links = shared.links(&told);
    if !links.is_empty() {
        let _ = writeln!(text, "Also: {links}.\n");
    }
    if let Some(example) = command.get_after_help() {
        let _ = writeln!(
            text,
            "```text\n{}\n```\n",
            without_title(&example.to_string())
        );
    }
    let below = command
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name() != "help");
    below.for_each(|command| describe(text, command, &format!("{level}#"), shared));
}

/// Returns examples without the line above them.
fn without_title(example: &str) -> String {
    let lines = example.lines().filter(|line| !line.starts_with("Example"));
    let lines = lines.map(|line| line.strip_prefix("  ").unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns whether an argument is described: all but help and the global options.
fn is_told(arg: &Arg, command: &Command) -> bool {
    let own = !arg.is_global_set() || command.get_name() == "divisi";
    own && !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

/// Returns the argument as written: `` `--devices <LIST>` ``, `` `[ENSEMBLE]` ``.
fn signature(arg: &Arg) -> String {
    format!("`{}`", arg.to_string().replace("...", "…"))
}

/// Returns the help of an argument with its values and its default.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_help().map(|help| plain(&help.to_string()));
    let help = help.unwrap_or_default();
    if !arg.get_action().takes_values() {
        return help;
    }
    let values = arg.get_possible_values();
    let names = values.iter().filter(|value| !value.is_hide_set());
    let names: Vec<&str> = names.map(|value| value.get_name()).collect();
    // Some help texts list the values themselves.
    let one_of = match names.first() {
        Some(first) if !help.contains(first) => format!(" {}", names.join(", ")),
        _ => String::new(),
    };
    let defaults = arg.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    let default = match defaults.join(", ") {
        text if text.is_empty() => String::new(),
        text => format!(" (default: `{text}`)"),
    };
    format!("{help}{one_of}{default}").trim().to_owned()
}

/// Returns the keys of the console, in a table for each scope.
fn keys() -> String {
    let keymap = Keymap::default();
    let mut places: Vec<String> = Vec::new();
    for heading in BINDINGS.iter().map(cli::key_heading) {
        if !places.contains(&heading) {
            places.push(heading);
        }
    }
    let tables = places.iter().map(|place| {
        let here = BINDINGS
            .iter()
            .filter(|entry| cli::key_heading(entry) == *place);
        let rows = here.map(|entry| key_row(entry, &keymap));
        let title = plain(place);
        format!("### {title}\n\n{}", table(["keys", "command", ""], rows))
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn key_row(entry: &Binding, keymap: &Keymap) -> [String; 3] {
    let keys = keymap.keys_for(entry).iter().map(|key| format!("`{key}`"));
    let keys = keys.collect::<Vec<_>>().join(" ");
    [keys, format!("`{}`", entry.name()), plain(entry.help)]
}

/// Returns the commands of linear mode.
fn lines() -> String {
    let rows = LINES.iter().map(|form| {
        let line = format!("{} {}", form.command.name, form.takes);
        [format!("`{}`", line.trim_end()), plain(form.help)]
    });
    table(["line", ""], rows)
}

/// Returns the roles of a theme.
fn roles() -> String {
    let rows = Role::ALL.iter();
    table(
        ["role", ""],
        rows.map(|(_, name, help)| [format!("`{name}`"), plain(help)]),
    )
}

/// Returns environment variables, files and exit codes.
fn environment() -> String {
    let row = |(name, help): (&str, &str)| [format!("`{name}`"), plain(help)];
    let variables = table(["variable", ""], cli::environment().map(row));
    let files = FILES.map(|(name, help)| [format!("`{}`", cli::path_of(name)), plain(help)]);
    let codes = table(["exit code", ""], CODES.map(row));
    format!("{variables}\n{}\n{codes}", table(["file", ""], files))
}

/// Returns the kinds of host steps.
fn steps() -> String {
    let rows = HostStep::KINDS.iter().map(|kind| {
        let fields = kind.fields.iter().map(|field| format!("`{field}`"));
        let fields = fields.collect::<Vec<_>>().join(" ");
        let name = format!("`{}`", kind.name);
        [name, plain(kind.signature), fields, plain(kind.does)]
    });
    table(["kind", "reads → makes", "fields", ""], rows)
}

/// Returns a Markdown table.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        let row = row.map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// Escapes text for Markdown, except for code.
fn plain(text: &str) -> String {
    let mut code = false;
    let escaped = text.chars().map(|c| {
        code ^= c == '`';
        match c {
            '*' | '<' | '[' | ']' if !code => format!("\\{c}"),
            '\n' => " ".into(),
            c => c.to_string(),
        }
    });
    escaped.collect()
}
