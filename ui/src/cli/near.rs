//! Suggestions for unknown names of commands, ensembles and servers.

use std::path::Path;

use anyhow::{Result, bail};
use clap::Command;
use divisi_server::built_in_names;

/// The minimum Jaro-Winkler similarity of near names, the same as clap's for options.
const NEAR: f64 = 0.7;

/// Refuses an unknown name in the place of a command of the program or an ensemble.
///
/// # Errors
/// There is no such name.
pub(crate) fn check_command(path: &Path, program: &Command) -> Result<()> {
    let names = program.get_subcommands().filter(|c| !c.is_hide_set());
    let names = names.map(|c| c.get_name().to_owned());
    check(path, "command, ensemble", names.collect())
}

/// Refuses a word that is neither a path, nor a built-in ensemble, nor one of `others`, and suggests
/// the nearest. `kinds` are the kinds of named things.
///
/// # Errors
/// There is no such name.
pub(crate) fn check(path: &Path, kinds: &str, others: Vec<String>) -> Result<()> {
    let Some(name) = path.to_str().filter(|name| is_a_word(name)) else {
        return Ok(());
    };
    let mut known = others;
    known.extend(built_in_names().map(str::to_owned));
    if path.exists() || known.iter().any(|known| known == name) {
        return Ok(());
    }
    let meant = in_words(name, &known);
    bail!("no {kinds} or file is called `{name}`{meant}; see `divisi help`")
}

/// Returns whether a text looks like a name; a path has a separator or an extension.
fn is_a_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', '.', '\\'])
}

/// Returns the question after the nearest names, or an empty text if none is near.
pub(crate) fn in_words(name: &str, known: &[String]) -> String {
    match &near(name, known)[..] {
        [] => String::new(),
        near => format!(", did you mean `{}`?", near.join("` or `")),
    }
}

/// Returns up to two names that are near, the nearest first.
fn near<'a>(name: &str, known: &'a [String]) -> Vec<&'a str> {
    let scored = known
        .iter()
        .map(|other| (strsim::jaro_winkler(name, other), other.as_str()));
    let mut scored: Vec<_> = scored.filter(|(score, _)| *score > NEAR).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(2).map(|(_, name)| name).collect()
}
