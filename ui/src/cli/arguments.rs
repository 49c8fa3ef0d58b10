//! The arguments as typed, before they are parsed: general options may come before the command.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use clap::Command;

use super::near;

/// Returns the arguments with the general options behind the command that they precede. Clap takes
/// options before a command for those of the console, which has an ensemble in the place of the
/// command.
pub(crate) fn with_command_first(program: &Command, arguments: Vec<OsString>) -> Vec<OsString> {
    let general = general_options(program, &arguments);
    let Some(command) = arguments.get(1 + general) else {
        return arguments;
    };
    if general == 0 || !is_command(program, command) {
        return arguments;
    }
    let mut ordered = arguments;
    ordered[1..=1 + general].rotate_right(1);
    ordered
}

/// Refuses an unknown command before its options, which the console does not have.
///
/// # Errors
/// The first argument is a word that names neither a command nor an ensemble.
pub(crate) fn check_command(program: &Command, arguments: &[OsString]) -> Result<()> {
    match arguments.get(1) {
        Some(word) if !is_command(program, word) && !word.as_encoded_bytes().starts_with(b"-") => {
            near::check_command(Path::new(word), program)
        }
        _ => Ok(()),
    }
}

/// Returns whether a word is a command of the program.
fn is_command(program: &Command, word: &OsString) -> bool {
    let mut commands = program.get_subcommands();
    word == "help" || commands.any(|command| word == command.get_name())
}

/// Returns how many arguments after the program's name are general options and their values.
fn general_options(program: &Command, arguments: &[OsString]) -> usize {
    let mut count = 0;
    while let Some(text) = arguments.get(1 + count).and_then(|a| a.to_str()) {
        let Some(takes_next) = general_option(program, text) else {
            break;
        };
        count += 1 + usize::from(takes_next);
    }
    count
}

/// Returns whether a general option takes the next argument as its value, or `None` if the text is
/// not one.
fn general_option(program: &Command, text: &str) -> Option<bool> {
    let mut general = program.get_arguments().filter(|arg| arg.is_global_set());
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let arg = general.find(|arg| arg.get_long() == Some(name))?;
        return Some(arg.get_action().takes_values() && value.is_none());
    }
    let short = text.strip_prefix('-').filter(|short| !short.is_empty())?;
    let known: Vec<char> = general.filter_map(clap::Arg::get_short).collect();
    short.chars().all(|c| known.contains(&c)).then_some(false)
}
