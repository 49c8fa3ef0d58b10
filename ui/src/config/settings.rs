//! All that was configured, ready to be used.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::fields::{Config, Glyphs};
use super::folder::{CONFIG, ConfigFolder, KEYS};
use super::source::{ConfigError, ConfigSource};
use super::{keys, layouts, themes};
use crate::console::commands::Keymap;
use crate::console::{Styles, TerminalLook, Theme};

/// What the console goes by.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub config: Config,
    pub keys: Keymap,
    /// The theme in force.
    pub theme: Theme,
    /// All that can be chosen.
    pub themes: Vec<Theme>,
    /// The theme on this terminal.
    pub styles: Styles,
    /// What the terminal says that it can show.
    terminal: TerminalLook,
}

/// What the command line says about configuration.
#[derive(Debug, Default)]
struct AskedConfig {
    folder: Option<PathBuf>,
    theme: Option<String>,
}

static ASKED: OnceLock<AskedConfig> = OnceLock::new();

/// Takes what the command line says, once a process: another folder, another theme.
pub fn begin(folder: Option<&Path>, theme: Option<&str>) {
    let asked = AskedConfig {
        folder: folder.map(Path::to_owned),
        theme: theme.map(str::to_owned),
    };
    // Whoever came first has said it.
    let _ = ASKED.set(asked);
}

/// The folder in force.
pub fn folder() -> Option<ConfigFolder> {
    let asked = ASKED.get().and_then(|a| a.folder.as_deref());
    ConfigFolder::choose(asked)
}

/// Reads what is configured, for this process's terminal.
///
/// # Errors
/// What is wrong, with file, line, column and key.
pub fn load() -> Result<Settings, ConfigError> {
    let folder = folder();
    let mut settings = Settings::read(folder.as_ref())?;
    if let Some(name) = ASKED.get().and_then(|a| a.theme.as_deref()) {
        settings.choose(name)?;
    }
    Ok(settings.seen_with(TerminalLook::from_env()))
}

impl Default for Settings {
    fn default() -> Self {
        let config = Config::default();
        let themes = themes::all(None).unwrap_or_default();
        Settings::of(config, Keymap::default(), themes)
    }
}

impl Settings {
    /// Reads the files of a folder; what is not there is as by default.
    ///
    /// # Errors
    /// What is wrong, with file, line, column and key.
    pub fn read(folder: Option<&ConfigFolder>) -> Result<Self, ConfigError> {
        let themes = themes::all(folder)?;
        let names: Vec<String> = themes.iter().map(|t| t.name.clone()).collect();
        let Some(folder) = folder else {
            return Ok(Settings::default());
        };
        let config = with_page(folder, CONFIG, |page| Config::read(page, &names))?;
        let keys = with_page(folder, KEYS, keys::read)?;
        let mut config: Config = config.unwrap_or_default();
        config.layouts.extend(layouts::all(folder)?);
        Ok(Settings::of(config, keys.unwrap_or_default(), themes))
    }

    fn of(config: Config, keys: Keymap, themes: Vec<Theme>) -> Self {
        let theme = chosen(&config.theme, &themes);
        let terminal = TerminalLook {
            colours: crate::console::Colours::True,
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

    /// The same on a terminal with these abilities.
    #[must_use]
    pub fn seen_with(mut self, look: TerminalLook) -> Self {
        self.terminal = look;
        self.styles = self.theme.styles(self.look());
        self
    }

    /// What the terminal shows, where the options do not say otherwise.
    pub fn look(&self) -> TerminalLook {
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

    /// Takes another theme.
    pub fn wear(&mut self, theme: Theme) {
        self.styles = theme.styles(self.look());
        self.theme = theme;
    }

    /// Takes the theme called so.
    ///
    /// # Errors
    /// There is none; says which there are.
    pub fn choose(&mut self, name: &str) -> Result<(), ConfigError> {
        let found = self.themes.iter().find(|t| t.name == name).cloned();
        let names: Vec<&str> = self.themes.iter().map(|t| t.name.as_str()).collect();
        let theme = match name {
            "auto" => chosen(name, &self.themes),
            _ => found.ok_or_else(|| ConfigError {
                path: PathBuf::from("--theme"),
                place: None,
                key: String::new(),
                what: format!("expected auto, {}, found `{name}`", names.join(", ")),
            })?,
        };
        self.wear(theme);
        Ok(())
    }
}

fn with_page<T>(
    folder: &ConfigFolder,
    name: &str,
    read: impl FnOnce(&ConfigSource<'_>) -> Result<T, ConfigError>,
) -> Result<Option<T>, ConfigError> {
    let Some(text) = folder.text(name)? else {
        return Ok(None);
    };
    let path = folder.file(name);
    let page = ConfigSource {
        path: &path,
        text: &text,
    };
    read(&page).map(Some)
}

/// The theme called so; `auto` is light where the terminal says that it is.
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

/// `COLORFGBG` as terminals set it: `15;0` on dark, `0;15` on light.
fn is_light(hint: &str) -> bool {
    let behind = hint.rsplit(';').next().unwrap_or_default();
    matches!(behind, "7" | "15")
}
