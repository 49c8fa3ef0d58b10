//! Theme files, and the built-in themes, which are also files.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::DeValue;

use super::folder::{self, ConfigFolder};
use super::source::{ConfigError, ConfigSource, unknown};
use crate::look::{Colour, Paint, Rgb, Role, Theme};

/// The built-in themes, as files.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("dark", include_str!("themes/dark.toml")),
    ("light", include_str!("themes/light.toml")),
    ("high-contrast", include_str!("themes/high-contrast.toml")),
];

const KEYS: [&str; 5] = ["base", "background", "ground", "ink", "roles"];

/// Returns a built-in theme.
pub fn built_in(name: &str) -> Option<Theme> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    let path = Path::new(name);
    read(&ConfigSource { path, text }, name).ok()
}

/// Returns the names of the built-in themes.
pub(crate) fn theme_names() -> Vec<String> {
    BUILT_IN
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect()
}

/// Returns all available themes: the built-in ones and the user's `own`, which may replace them.
pub(crate) fn all_themes(own: Vec<Theme>) -> Vec<Theme> {
    let mut themes: Vec<Theme> = BUILT_IN.iter().filter_map(|(n, _)| built_in(n)).collect();
    themes.retain(|theme| own.iter().all(|o| o.name != theme.name));
    themes.extend(own);
    themes
}

/// Returns the names of the built-in themes and of the themes in the folder, even if these cannot
/// be read.
pub(crate) fn names(folder: &ConfigFolder) -> Vec<String> {
    let own: Vec<String> = folder.themes().into_iter().map(|(name, _)| name).collect();
    let mut names = theme_names();
    names.retain(|name| !own.contains(name));
    names.extend(own);
    names
}

/// Reads the themes in the folder, each with the first error in its file.
pub(crate) fn saved(folder: &ConfigFolder) -> impl Iterator<Item = Result<Theme, ConfigError>> {
    let files = folder.themes().into_iter();
    files.map(|(name, path)| {
        let text = folder::read(&path)?.unwrap_or_default();
        let path = &path;
        read(&ConfigSource { path, text: &text }, &name)
    })
}

/// Reads a theme. Missing parts come from its base, which is dark by default.
///
/// # Errors
/// The first error in the file, with line, column and key.
pub fn read(source: &ConfigSource<'_>, name: &str) -> Result<Theme, ConfigError> {
    let tables = source.tables()?;
    let mut theme = base(source, tables.get("base"), name)?;
    name.clone_into(&mut theme.name);
    for (key, value) in &tables {
        let (key, span) = (key.get_ref().as_ref(), key.span());
        match key {
            "base" => {}
            "background" => theme.background = text(source, key, value)?,
            "ground" => theme.ground = rgb(source, key, value)?,
            "ink" => theme.ink = rgb(source, key, value)?,
            "roles" => roles(source, &mut theme, value)?,
            _ => return Err(source.error(span, key, unknown(key, KEYS.into_iter()))),
        }
    }
    Ok(theme)
}

fn base(
    source: &ConfigSource<'_>,
    stated: Option<&Spanned<DeValue<'_>>>,
    name: &str,
) -> Result<Theme, ConfigError> {
    let Some(value) = stated else {
        // Dark itself has no base.
        let dark = (name != "dark").then(|| built_in("dark")).flatten();
        return Ok(dark.unwrap_or_else(|| Theme::plain(name)));
    };
    let found = value.get_ref().as_str().and_then(built_in);
    found.ok_or_else(|| {
        let what = "expected dark, light or high-contrast";
        source.error(value.span(), "base", what)
    })
}

fn roles(
    source: &ConfigSource<'_>,
    theme: &mut Theme,
    value: &Spanned<DeValue<'_>>,
) -> Result<(), ConfigError> {
    let Some(table) = value.get_ref().as_table() else {
        return Err(source.error(value.span(), "roles", "expected a table: [roles]"));
    };
    for (key, value) in table {
        let full = format!("roles.{}", key.get_ref());
        let role = role(source, key.get_ref(), key.span())?;
        theme.set(role, text::<Paint>(source, &full, value)?);
    }
    Ok(())
}

fn role(source: &ConfigSource<'_>, name: &str, span: Range<usize>) -> Result<Role, ConfigError> {
    let found = Role::ALL.iter().find(|(_, known, _)| *known == name);
    found.map(|(role, ..)| *role).ok_or_else(|| {
        let known = Role::ALL.iter().map(|(_, name, _)| *name);
        source.error(span, &format!("roles.{name}"), unknown(name, known))
    })
}

fn text<T: std::str::FromStr<Err = String>>(
    source: &ConfigSource<'_>,
    key: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<T, ConfigError> {
    let found = value.get_ref().as_str();
    let found = found.ok_or("expected a text in quotes, such as \"#56a5e0 bold\"");
    let parsed = found.map_err(String::from).and_then(str::parse);
    parsed.map_err(|what| source.error(value.span(), key, what))
}

fn rgb(
    source: &ConfigSource<'_>,
    key: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Rgb, ConfigError> {
    let colour: Colour = text(source, key, value)?;
    let what = "expected a known colour, such as #rrggbb";
    colour
        .rgb()
        .ok_or_else(|| source.error(value.span(), key, what))
}
