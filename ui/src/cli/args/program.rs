//! The arguments of commands about the program: configuration, documentation, the file
//! dialog.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub action: ConfigAction,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Write commented files with what is so by default; files that are there stay
    Init {
        /// Replace files that are there
        #[arg(long)]
        force: bool,
    },
    /// The folder of configuration
    Path,
    /// Show what is in force
    Show {
        #[arg(value_enum, default_value_t = ConfigPart::Config)]
        part: ConfigPart,
    },
    /// Read all files and say what is wrong
    Check,
    /// A JSON schema, for editors
    Schema {
        #[arg(value_enum, default_value_t = ConfigPart::Config)]
        part: ConfigPart,
    },
}

/// A file of configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigPart {
    Config,
    Keys,
    Theme,
}

impl ConfigPart {
    /// Returns the name of the file without its ending.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ConfigPart::Config => "config",
            ConfigPart::Keys => "keys",
            ConfigPart::Theme => "theme",
        }
    }
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DocsArgs {
    /// The part to print as Markdown
    #[arg(value_enum, value_name = "PART", required_unless_present = "renew")]
    pub part: Option<DocsPart>,
    /// Write the parts between their markers in these files instead
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "part")]
    pub renew: Vec<PathBuf>,
}

/// A part of the documentation that the program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocsPart {
    /// The commands of the program with their options
    Commands,
    /// The keys of the console, as they are by default
    Keys,
    /// The commands of linear mode
    Lines,
    /// The options of config.toml
    Config,
    /// The roles that a theme colours
    Roles,
    /// Environment variables, files and exit codes
    Environment,
}

/// The arguments of the file dialog.
#[derive(Debug, clap::Args)]
pub(crate) struct PickArgs {
    /// Choose where to write
    #[arg(long, conflicts_with = "open")]
    pub save: bool,
    /// Choose what to read
    #[arg(long)]
    pub open: bool,
    /// Where to begin
    pub folder: PathBuf,
    /// The name to begin with
    pub name: OsString,
}
