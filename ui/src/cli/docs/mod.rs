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
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use super::args::{DocsArgs, DocsPart};
use super::report::print;

pub(crate) fn run(args: &DocsArgs) -> Result<()> {
    args.renew.iter().try_for_each(|path| renew(path))?;
    args.part.map_or(Ok(()), |part| print(&generated(part)))
}

fn generated(part: DocsPart) -> String {
    match part {
        DocsPart::Commands => parts::commands(),
        DocsPart::Keys => parts::keys(),
        DocsPart::Lines => parts::lines(),
        DocsPart::Config => parts::config(),
        DocsPart::Roles => parts::roles(),
        DocsPart::Environment => parts::environment(),
    }
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

/// Returns `text` with its generated parts replaced by those of today.
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
        let generated = generated(part);
        renewed += &format!(
            "{before}{BEGIN}{name} -->\n\n{}\n\n{END}",
            generated.trim_end()
        );
        left = rest;
    }
    Ok(renewed + left)
}
