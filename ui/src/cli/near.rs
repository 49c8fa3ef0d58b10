//! Suggestions for unknown names of commands, ensembles and servers.

use std::path::Path;

use anyhow::{Result, bail};
use clap::Command;
use divisi_server::built_in_names;
use divisi_session::remote::names;

/// The minimum Jaro-Winkler similarity of near names, the same as clap's for options.
const NEAR: f64 = 0.7;

/// A place for a name on the command line.
pub(crate) struct NamePlace {
    /// The kinds of named things, in words.
    kinds: &'static str,
    /// The names other than those of built-in ensembles.
    others: Vec<String>,
}

impl NamePlace {
    /// A command of the program, or an ensemble.
    pub(crate) fn commands(program: &Command) -> Self {
        let names = program.get_subcommands().filter(|c| !c.is_hide_set());
        NamePlace {
            kinds: "command, ensemble",
            others: names.map(|c| c.get_name().to_owned()).collect(),
        }
    }

    /// A running server, a recording or an ensemble.
    pub(crate) fn servers() -> Self {
        NamePlace {
            kinds: "server, recording, ensemble",
            others: names().unwrap_or_default(),
        }
    }

    /// An ensemble.
    pub(crate) fn ensembles() -> Self {
        NamePlace {
            kinds: "ensemble",
            others: Vec::new(),
        }
    }

    /// Refuses a word that is neither a path nor a known name, and suggests the nearest.
    ///
    /// # Errors
    /// There is no such name.
    pub(crate) fn check(self, path: &Path) -> Result<()> {
        let Some(name) = path.to_str().filter(|name| is_a_word(name)) else {
            return Ok(());
        };
        let mut known = self.others;
        known.extend(built_in_names().map(str::to_owned));
        if path.exists() || known.iter().any(|known| known == name) {
            return Ok(());
        }
        let (kinds, meant) = (self.kinds, in_words(name, &known));
        bail!("no {kinds} or file is called `{name}`{meant}; see `divisi help`")
    }
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
