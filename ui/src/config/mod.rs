//! Configuration: the console's options, keys, themes and layouts.
//!
//! The files are in one folder (`$XDG_CONFIG_HOME/divisi`): `config.toml`, `keys.toml`,
//! `themes/NAME.toml` and `layouts/NAME.toml`, all optional. Options, keys and themes are checked
//! against tables ([`options`], the commands, the roles). Default files, schemas and errors come
//! from the same tables.

#![warn(missing_docs, unreachable_pub)]

mod fields;
mod folder;
mod keys;
mod source;
mod templates;
mod themes;
mod values;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::commands::Keymap;
use crate::look::{ColorWhen, Styles, TerminalLook, Theme};

pub use fields::{Config, Glyphs, HangUp, ReportFormat, options};
pub use folder::ConfigFolder;
pub use keys::read as read_keys;
pub use source::{ConfigError, ConfigErrors, ConfigSource};
pub use templates::{config_file, keys_file, schema, theme_file};
pub use themes::{BUILT_IN, built_in, read as read_theme};

pub(crate) use folder::{CONFIG, ConfigWatch, KEYS, THEMES, save_layout};
pub(crate) use source::nearest;
pub(crate) use templates::theme_text;
pub(crate) use values::time;

use source::ErrorCollection;

/// The configuration of a console.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The options.
    pub config: Config,
    /// The keys.
    pub keys: Keymap,
    /// The current theme.
    pub theme: Theme,
    /// All available themes.
    pub themes: Vec<Theme>,
    /// The styles of the theme on this terminal.
    pub styles: Styles,
    /// The capabilities of the terminal.
    terminal: TerminalLook,
}

/// The configuration options of the command line.
#[derive(Debug, Default)]
struct AskedConfig {
    folder: Option<PathBuf>,
    theme: Option<String>,
    color: ColorWhen,
}

static ASKED: OnceLock<AskedConfig> = OnceLock::new();

/// Sets the folder and the theme of the command line, once per process.
pub(crate) fn begin(folder: Option<&Path>, theme: Option<&str>, color: ColorWhen) {
    let asked = AskedConfig {
        folder: folder.map(Path::to_owned),
        theme: theme.map(str::to_owned),
        color,
    };
    // Only the first call has an effect.
    let _ = ASKED.set(asked);
}

/// Returns the configuration folder.
pub(crate) fn folder() -> Option<ConfigFolder> {
    let asked = ASKED.get().and_then(|a| a.folder.as_deref());
    ConfigFolder::choose(asked)
}

/// Returns the capabilities of this process's terminal.
pub(crate) fn terminal_look() -> TerminalLook {
    TerminalLook::from_env(ASKED.get().map_or(ColorWhen::Auto, |a| a.color))
}

/// Reads the configuration for this process's terminal.
///
/// # Errors
/// The first error in a file, with its file, line, column and key.
pub(crate) fn load() -> Result<Settings, ConfigError> {
    let folder = folder();
    let mut settings = Settings::read(folder.as_ref())?;
    if let Some(name) = ASKED.get().and_then(|a| a.theme.as_deref()) {
        settings.choose(name)?;
    }
    Ok(settings.seen_with(terminal_look()))
}

impl Default for Settings {
    fn default() -> Self {
        let config = Config::default();
        Settings::from_parts(config, Keymap::default(), themes::all_themes(Vec::new()))
    }
}

impl Settings {
    /// Reads the files of a folder. Missing files count as default files.
    ///
    /// # Errors
    /// The first error in a file, with its file, line, column and key.
    pub fn read(folder: Option<&ConfigFolder>) -> Result<Self, ConfigError> {
        let read = folder.map(Settings::read_all);
        read.unwrap_or_else(|| Ok(Settings::default()))
            .map_err(|errors| errors.first)
    }

    /// Reads all files of a folder, even after an error. Missing files count as default files.
    ///
    /// # Errors
    /// The first error in each file, with its file, line, column and key.
    pub fn read_all(folder: &ConfigFolder) -> Result<Self, ConfigErrors> {
        let mut errors = ErrorCollection::default();
        let themes = themes::saved(folder).filter_map(|theme| errors.pass(theme));
        let themes = themes::all_themes(themes.collect());
        let names = themes::names(folder);
        let config = errors.pass(with_source(folder, CONFIG, |p| Config::read(p, &names)));
        let keys = errors.pass(with_source(folder, KEYS, keys::read));
        let mut config = config.flatten().unwrap_or_default();
        let layouts = folder::saved_layouts(folder).filter_map(|layout| errors.pass(layout));
        config.layouts.extend(layouts);
        errors.check()?;
        let keys = keys.flatten().unwrap_or_default();
        Ok(Settings::from_parts(config, keys, themes))
    }

    fn from_parts(config: Config, keys: Keymap, themes: Vec<Theme>) -> Self {
        let theme = chosen(&config.theme, &themes);
        let terminal = TerminalLook {
            colours: crate::look::Colours::True,
            ascii: false,
        };
        Settings {
            styles: theme.styles(terminal),
            config,
            keys,
            theme,
            themes,
            terminal,
        }
    }

    /// Returns the settings for a terminal with these capabilities.
    #[must_use]
    pub fn seen_with(mut self, look: TerminalLook) -> Self {
        self.terminal = look;
        self.styles = self.theme.styles(self.effective_look());
        self
    }

    /// Returns the capabilities of the terminal, overridden by the options.
    pub fn effective_look(&self) -> TerminalLook {
        let ascii = match self.config.glyphs {
            Glyphs::Auto => self.terminal.ascii,
            Glyphs::Unicode => false,
            Glyphs::Ascii => true,
        };
        TerminalLook {
            ascii,
            ..self.terminal
        }
    }

    /// Changes to another theme.
    pub fn wear(&mut self, theme: Theme) {
        self.styles = theme.styles(self.effective_look());
        self.theme = theme;
    }

    /// Changes to the theme called `name`.
    ///
    /// # Errors
    /// There is no such theme.
    pub fn choose(&mut self, name: &str) -> Result<(), ConfigError> {
        let found = self.themes.iter().find(|t| t.name == name).cloned();
        let names: Vec<String> = self.themes.iter().map(|t| t.name.clone()).collect();
        let theme = match name {
            "auto" => chosen(name, &self.themes),
            _ => found.ok_or_else(|| ConfigError {
                path: PathBuf::from("--theme"),
                place: None,
                key: String::new(),
                problem: format!("expected auto, {}, found `{name}`", names.join(", ")),
            })?,
        };
        self.wear(theme);
        Ok(())
    }
}

fn with_source<T>(
    folder: &ConfigFolder,
    name: &str,
    read: impl FnOnce(&ConfigSource<'_>) -> Result<T, ConfigError>,
) -> Result<Option<T>, ConfigError> {
    let Some(text) = folder.text(name)? else {
        return Ok(None);
    };
    let path = folder.file(name);
    let source = ConfigSource {
        path: &path,
        text: &text,
    };
    read(&source).map(Some)
}

/// Returns the theme called `name`. `auto` is light if the terminal reports a light background.
fn chosen(name: &str, themes: &[Theme]) -> Theme {
    let light = std::env::var("COLORFGBG").is_ok_and(|hint| is_light(&hint));
    let name = match (name, light) {
        ("auto", true) => "light",
        ("auto", false) => "dark",
        (name, _) => name,
    };
    let found = themes.iter().find(|t| t.name == name);
    found.cloned().unwrap_or_else(|| Theme::plain(name))
}

/// Parses `COLORFGBG`: `15;0` on dark, `0;15` on light.
fn is_light(hint: &str) -> bool {
    let behind = hint.rsplit(';').next().unwrap_or_default();
    matches!(behind, "7" | "15")
}
