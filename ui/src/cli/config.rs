//! `divisi config`: writes default files, shows the configuration, checks it, prints schemas.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::{Subcommand, ValueEnum};

use super::man::key_table;
use super::output::print;
use crate::commands::Keymap;
use crate::config::{
    self, CONFIG, Config, ConfigFolder, KEYS, Settings, THEMES, config_file, keys_file, theme_file,
};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    action: ConfigAction,
}

#[derive(Clone, Debug, Subcommand)]
enum ConfigAction {
    /// Write commented default files; existing files stay
    Init {
        /// Replace existing files
        #[arg(long)]
        force: bool,
    },
    /// Print the configuration folder
    Path,
    /// Show the configuration in force
    Show {
        #[arg(value_enum, default_value_t = ConfigPart::Config)]
        part: ConfigPart,
    },
    /// Check all files and report errors
    Check,
    /// Print a JSON schema for editors
    Schema {
        #[arg(value_enum, default_value_t = ConfigPart::Config)]
        part: ConfigPart,
    },
}

/// A configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ConfigPart {
    Config,
    Keys,
    Theme,
}

impl ConfigPart {
    /// Returns the name of the file without its ending.
    fn name(self) -> &'static str {
        match self {
            ConfigPart::Config => "config",
            ConfigPart::Keys => "keys",
            ConfigPart::Theme => "theme",
        }
    }
}

pub(crate) fn run(args: &ConfigArgs) -> Result<()> {
    match &args.action {
        ConfigAction::Init { force } => init(&folder()?, *force),
        ConfigAction::Path => print(&folder()?.path.display().to_string()),
        ConfigAction::Show { part } => show(*part),
        ConfigAction::Check => check(),
        ConfigAction::Schema { part } => {
            print(&serde_json::to_string_pretty(&config::schema(part.name()))?)
        }
    }
}

fn folder() -> Result<ConfigFolder> {
    let found = config::folder();
    found.context("no configuration folder: set DIVISI_CONFIG_DIR or HOME")
}

/// Writes the default files. The theme is an example that changes nothing by itself.
fn init(folder: &ConfigFolder, force: bool) -> Result<()> {
    let themes = folder.file(THEMES);
    fs::create_dir_all(&themes).with_context(|| themes.display().to_string())?;
    let files = [
        (CONFIG.to_owned(), config_file(&Config::default())),
        (KEYS.to_owned(), keys_file(&Keymap::default())),
        (
            format!("{THEMES}/mine.toml"),
            theme_file("dark").unwrap_or_default(),
        ),
    ];
    let mut lines = Vec::new();
    for (name, text) in files {
        let path = folder.file(&name);
        let done = write(&path, &text, force)?;
        lines.push(format!("{done} {}", path.display()));
    }
    // Printed after all files are written, since a reader may close the pipe early.
    print(&lines.join("\n"))
}

fn write(path: &Path, text: &str, force: bool) -> Result<&'static str> {
    if path.exists() && !force {
        return Ok("kept ");
    }
    fs::write(path, text).with_context(|| path.display().to_string())?;
    Ok("wrote")
}

fn show(part: ConfigPart) -> Result<()> {
    let settings = config::load()?;
    match part {
        ConfigPart::Config => print(&config_file(&settings.config)),
        ConfigPart::Keys => print(&key_table(&settings.keys)),
        ConfigPart::Theme => print(&config::theme_text(&settings.theme)),
    }
}

/// Reads all files and returns the first error of each.
fn check() -> Result<()> {
    let folder = folder()?;
    if !folder.path.is_dir() {
        bail!(
            "{}: no such folder; `divisi config init` creates it",
            folder.path.display()
        );
    }
    let settings = Settings::read_all(&folder)?;
    let themes: Vec<&str> = settings.themes.iter().map(|t| t.name.as_str()).collect();
    print(&format!(
        "{}: no errors; themes: {}",
        folder.path.display(),
        themes.join(", ")
    ))
}
