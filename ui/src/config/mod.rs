//! What can be configured: the console's options, its keys, its themes.
//!
//! Files lie in one folder (`$XDG_CONFIG_HOME/divisi`): `config.toml`, `keys.toml` and
//! `themes/NAME.toml`; none of them has to be there. Tables of what there is to say
//! ([`FIELDS`], the commands, the roles) are what files are read by, and what default
//! files, the schema and errors are made from.

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

pub use fields::{Config, ConfigField, FIELDS, Glyphs, HangUp, ReportFormat};
pub use folder::{CONFIG, ConfigFolder, KEYS, THEMES};
pub use keys::read as read_keys;
pub use layouts::save_layout;
pub use schema::schema;
pub use settings::{Settings, begin, folder, load};
pub use source::{ConfigError, ConfigSource, nearest};
pub use templates::{config_file, keys_file, theme_file, theme_names, theme_text};
pub use themes::{BUILT_IN, built_in, read as read_theme};
pub use values::{ConfigValue, ExpectedValue, time};
pub use watch::ConfigWatch;
