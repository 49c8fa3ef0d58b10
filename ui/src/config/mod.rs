//! Configuration: the console's options, keys, themes and layouts.
//!
//! Files lie in one folder (`$XDG_CONFIG_HOME/divisi`): `config.toml`, `keys.toml` and
//! `themes/NAME.toml`; none of them has to exist. Files are checked against tables
//! ([`FIELDS`], the commands, the roles), and default files, schemas and errors are made
//! from the same tables.

#![warn(missing_docs, unreachable_pub)]

mod fields;
mod folder;
mod keys;
mod layouts;
mod schema;
mod settings;
mod source;
mod templates;
mod themes;
mod values;
mod watch;

pub use fields::{Config, Glyphs, HangUp, ReportFormat};
pub use folder::ConfigFolder;
pub use keys::read as read_keys;
pub use schema::schema;
pub use settings::Settings;
pub use source::{ConfigError, ConfigProblem, ConfigSource};
pub use templates::{config_file, keys_file, theme_file};
pub use themes::{BUILT_IN, built_in, read as read_theme};
pub use values::UnexpectedValue;

pub(crate) use fields::FIELDS;
pub(crate) use folder::{CONFIG, KEYS, THEMES};
pub(crate) use layouts::save_layout;
pub(crate) use settings::{begin, folder, load};
pub(crate) use source::nearest;
pub(crate) use templates::{theme_names, theme_text};
pub(crate) use values::time;
pub(crate) use watch::ConfigWatch;
