//! `divisi docs`: the generated parts of the documentation.
//!
//! A document holds a generated part between two markers. `divisi docs --renew FILE` writes it
//! there, and a test compares it with the current output of the program.
//!
//! ```text
//! <!-- generated: divisi docs keys -->
//! …
//! <!-- end of generated -->
//! ```

mod shared;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Arg, Command, ValueEnum};
use divisi_model::pipeline::HostStep;

use shared::SharedOptions;

use super::man;
use super::output::print;
use crate::commands::{BINDINGS, Binding, Keymap, LINES};
use crate::config::{self, Config, FIELDS};
use crate::console::Role;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DocsArgs {
    /// Part to print as Markdown
    #[arg(value_enum, value_name = "PART", required_unless_present = "renew")]
    part: Option<DocsPart>,
    /// Replace the parts between their markers in these files
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "part")]
    renew: Vec<PathBuf>,
}

/// A generated part of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DocsPart {
    /// Commands and their options
    Commands,
    /// Default keys of the console
    Keys,
    /// Commands of linear mode
    Lines,
    /// Options of config.toml
    Config,
    /// Colour roles of a theme
    Roles,
    /// Environment variables, files and exit codes
    Environment,
    /// Kinds of host steps
    Steps,
}

pub(crate) fn run(args: &DocsArgs, program: Command) -> Result<()> {
    let mut program = program.name("divisi");
    program.build();
    let mut files = args.renew.iter();
    files.try_for_each(|path| renew(path, &program))?;
    let print = |part| print(&generated(part, &program));
    args.part.map_or(Ok(()), print)
}

fn generated(part: DocsPart, program: &Command) -> String {
    match part {
        DocsPart::Commands => commands(program),
        DocsPart::Keys => keys(),
        DocsPart::Lines => lines(),
        DocsPart::Config => config(),
        DocsPart::Roles => roles(),
        DocsPart::Environment => environment(),
        DocsPart::Steps => steps(),
    }
}

const BEGIN: &str = "<!-- generated: divisi docs ";
const END: &str = "<!-- end of generated -->";

/// Replaces the generated parts of a file.
fn renew(path: &Path, program: &Command) -> Result<()> {
    let context = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(context)?;
    let renewed = renewed(&text, program).with_context(context)?;
    if renewed != text {
        fs::write(path, renewed).with_context(context)?;
    }
    Ok(())
}

/// Returns `text` with its generated parts replaced by current ones.
fn renewed(text: &str, program: &Command) -> Result<String> {
    let mut renewed = String::with_capacity(text.len());
    let mut left = text;
    while let Some((before, after)) = left.split_once(BEGIN) {
        let Some((name, old)) = after.split_once(" -->") else {
            bail!("expected ` -->` behind `{BEGIN}`");
        };
        let Ok(part) = DocsPart::from_str(name, false) else {
            bail!("no part of the documentation is called `{name}`");
        };
        let Some((_, rest)) = old.split_once(END) else {
            bail!("the part `{name}` has no `{END}`");
        };
        let generated = generated(part, program);
        renewed += &format!(
            "{before}{BEGIN}{name} -->\n\n{}\n\n{END}",
            generated.trim_end()
        );
        left = rest;
    }
    Ok(renewed + left)
}

/// The program's commands, a section each, then the options that several take.
fn commands(program: &Command) -> String {
    let shared = SharedOptions::from_program(program);
    let mut text = String::new();
    describe(&mut text, program, "##", &shared);
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
    for heading in BINDINGS.iter().map(man::key_heading) {
        if !places.contains(&heading) {
            places.push(heading);
        }
    }
    let tables = places.iter().map(|place| {
        let here = BINDINGS
            .iter()
            .filter(|entry| man::key_heading(entry) == *place);
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

/// Returns the options of `config.toml`.
fn config() -> String {
    let defaults = Config::default();
    let rows = FIELDS.iter().map(|field| {
        let expects = field.expects.words(&config::theme_names());
        let value = (field.get)(&defaults);
        [
            format!("`{}.{}`", field.section, field.key),
            format!("`{value}`"),
            plain(&format!("{} Expects {expects}.", field.help)),
        ]
    });
    table(["option", "default", ""], rows)
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
    let rows = |of: &[(&str, &str)]| {
        let rows = of
            .iter()
            .map(|(name, help)| [format!("`{name}`"), plain(help)]);
        rows.collect::<Vec<_>>()
    };
    let variables = table(["variable", ""], rows(&man::ENVIRONMENT));
    let files = man::FILES.map(|(name, help)| [format!("`{}`", man::path_of(name)), plain(help)]);
    let codes = table(["exit code", ""], rows(&man::CODES));
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
