//! The help of the program: its commands in groups, with examples, and with the width and colours of
//! the terminal.

use std::ffi::OsStr;
use std::fmt::Write as _;

use clap::{ColorChoice, Command};

/// The commands by purpose, in the order of the help.
pub(crate) const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Serve",
        &[
            "serve", "attach", "servers", "stop", "health", "report", "replay", "demo",
        ],
    ),
    (
        "Ensembles",
        &["check", "predict", "accuracy", "quantize", "convert"],
    ),
    (
        "Tasks (variants chosen by accuracy and latency)",
        &["register", "variants", "unregister", "submit", "jobs"],
    ),
    (
        "Devices and allocation",
        &[
            "devices", "allocate", "bench", "profiles", "plan", "network", "steps",
        ],
    ),
    (
        "Program",
        &["config", "keys", "completions", "man", "picture", "help"],
    ),
];

/// The examples of commands, each below the name of its command.
const EXAMPLES: &str = include_str!("examples.txt");

/// Returns a command called `name` and its subcommands with their examples.
pub(crate) fn with_examples(command: Command, name: &str) -> Command {
    let command = match example(name) {
        Some(example) => command.after_help(example),
        None => command,
    };
    command.mut_subcommands(|below| {
        let name = format!("{name} {}", below.get_name());
        with_examples(below, &name)
    })
}

fn example(name: &str) -> Option<&'static str> {
    EXAMPLES.split("# ").find_map(|section| {
        let (named, text) = section.split_once('\n')?;
        (named == name).then(|| text.trim_end())
    })
}

/// Returns the program with its commands in groups. `arguments` are the command line: `--color`
/// also applies to the help, which clap prints before options are parsed.
pub(crate) fn grouped<S: AsRef<OsStr>>(program: Command, arguments: &[S]) -> Command {
    let mut built = program.clone();
    built.build();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{all-args}}{{after-help}}",
        commands(&built)
    );
    // They are in the template already.
    let program = program.mut_subcommands(|command| command.hide(true));
    program
        .help_template(template)
        .color(color(arguments))
        .max_term_width(100)
}

fn commands(program: &Command) -> String {
    let width = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let width = width.map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{title}:");
        for name in names {
            let found = program.find_subcommand(name);
            let about = found.and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:width$}  {about}");
        }
        text.push('\n');
    }
    text
}

fn color<S: AsRef<OsStr>>(arguments: &[S]) -> ColorChoice {
    let arguments: Vec<&str> = arguments
        .iter()
        .filter_map(|argument| argument.as_ref().to_str())
        .collect();
    let joined = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("--color="));
    let pairs = arguments.windows(2);
    let apart = || {
        pairs
            .filter(|pair| pair[0] == "--color")
            .map(|pair| pair[1])
            .next_back()
    };
    match joined.or_else(apart) {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}
