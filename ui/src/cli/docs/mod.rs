//! `divisi docs`: the parts of the documentation that are made from the program.
//!
//! A document holds such a part between two markers. `divisi docs --renew FILE` writes it
//! there, and a test compares it with what the program would write.
//!
//! ```text
//! <!-- generated: divisi docs keys -->
//! …
//! <!-- end of generated -->
//! ```

mod parts;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use super::report::print;

#[derive(Clone, Debug, clap::Args)]
pub struct DocsArgs {
    /// The part to print as Markdown
    #[arg(value_enum, value_name = "PART", required_unless_present = "renew")]
    part: Option<DocsPart>,
    /// Write the parts between their markers in these files instead
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "part")]
    renew: Vec<PathBuf>,
}

/// A part of the documentation that the program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DocsPart {
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

impl DocsPart {
    fn text(self) -> String {
        match self {
            DocsPart::Commands => parts::commands(),
            DocsPart::Keys => parts::keys(),
            DocsPart::Lines => parts::lines(),
            DocsPart::Config => parts::config(),
            DocsPart::Roles => parts::roles(),
            DocsPart::Environment => parts::environment(),
        }
    }
}

pub fn run(args: &DocsArgs) -> Result<()> {
    args.renew.iter().try_for_each(|path| renew(path))?;
    args.part.map_or(Ok(()), |part| print(&part.text()))
}

const BEGIN: &str = "<!-- generated: divisi docs ";
const END: &str = "<!-- end of generated -->";

/// Replaces the generated parts of a file.
fn renew(path: &Path) -> Result<()> {
    let context = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(context)?;
    let renewed = renewed(&text).with_context(context)?;
    if renewed != text {
        fs::write(path, renewed).with_context(context)?;
    }
    Ok(())
}

/// Returns `text` with its generated parts as they are now.
fn renewed(text: &str) -> Result<String> {
    let mut renewed = String::with_capacity(text.len());
    let mut left = text;
    while let Some((before, after)) = left.split_once(BEGIN) {
        let Some((name, old)) = after.split_once(" -->") else {
            bail!("expected ` -->` behind `{BEGIN}`");
        };
        let Ok(part) = DocsPart::from_str(name, false) else {
            bail!("no part of the documentation is called `{name}`");
        };
        let Some((_, rest)) = old.split_once(END) else {
            bail!("the part `{name}` has no `{END}`");
        };
        let generated = part.text();
        renewed += &format!(
            "{before}{BEGIN}{name} -->\n\n{}\n\n{END}",
            generated.trim_end()
        );
        left = rest;
    }
    Ok(renewed + left)
}
