//! `keys.toml`: names of commands and their keys.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::source::{ConfigError, ConfigSource, unknown};
use crate::commands::{BINDINGS, Binding, Key, Keymap, Scope, named};

/// The table of keys outside of editing, and of keys that always work.
pub(crate) const MAIN: &str = "keys";
/// The table of keys for editing the allocation.
pub(crate) const EDIT: &str = "edit";

/// Reads the file. Missing commands keep their keys.
///
/// # Errors
/// The first error in the file, with line, column and key.
pub fn read(source: &ConfigSource<'_>) -> Result<Keymap, ConfigError> {
    let mut keymap = Keymap::default();
    let mut places = vec![None; BINDINGS.len()];
    for (name, table) in source.tables()? {
        let section = name.get_ref().as_ref();
        if ![MAIN, EDIT].contains(&section) {
            let what = unknown(section, [MAIN, EDIT].into_iter());
            return Err(source.error(name.span(), section, what));
        }
        let Some(entries) = table.get_ref().as_table() else {
            let what = format!("expected a table: [{section}]");
            return Err(source.error(table.span(), section, what));
        };
        for (name, value) in entries {
            let key = name.get_ref().as_ref();
            let place = place(source, section, key, name.span())?;
            let keys = keys(source, &format!("{section}.{key}"), value)?;
            keymap = keymap.with(place, keys);
            places[place] = Some((format!("{section}.{key}"), value.span()));
        }
    }
    checked(source, keymap, &places)
}

fn checked(
    source: &ConfigSource<'_>,
    keymap: Keymap,
    places: &[Option<(String, Range<usize>)>],
) -> Result<Keymap, ConfigError> {
    let Err(clash) = keymap.check() else {
        return Ok(keymap);
    };
    // The error points at the binding in the file, or else at its last one.
    let stated = places.get(clash.binding).cloned().flatten();
    let stated = stated.or_else(|| places.iter().flatten().last().cloned());
    let (key, span) = stated.unwrap_or_default();
    Err(source.error(span, &key, clash.to_string()))
}

/// Returns the index in the table of the command called `key`.
fn place(
    source: &ConfigSource<'_>,
    section: &str,
    key: &str,
    span: Range<usize>,
) -> Result<usize, ConfigError> {
    let editing = section == EDIT;
    let entry = named(key, editing);
    let at = entry.and_then(|e| BINDINGS.iter().position(|other| std::ptr::eq(e, other)));
    at.ok_or_else(|| {
        let here = BINDINGS
            .iter()
            .filter(|e| (e.scope == Scope::Edit) == editing);
        let what = unknown(key, here.map(Binding::name));
        source.error(span, &format!("{section}.{key}"), what)
    })
}

/// Reads a key or a list of keys.
fn keys(
    source: &ConfigSource<'_>,
    key: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<Key>, ConfigError> {
    let one = |value: &Spanned<DeValue<'_>>| {
        let text = value.get_ref().as_str();
        let text = text.ok_or("expected a key in quotes, or a list of them");
        let parsed = text.map_err(String::from).and_then(str::parse::<Key>);
        parsed.map_err(|what| source.error(value.span(), key, what))
    };
    match value.get_ref().as_array() {
        Some(list) => list.iter().map(one).collect(),
        None => Ok(vec![one(value)?]),
    }
}
