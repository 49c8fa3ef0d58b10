//! `divisi convert`: repositories as manifests, and ensembles as repositories.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use divisi_repository::Repository;
use divisi_repository::convert::{
    Converted, NetworkFiles, manifests_to_triton, to_manifests, to_triton,
};
use divisi_runtime::words::counted;
use divisi_server::ensemble_files;

use super::output::print;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ConvertArgs {
    /// A repository of models, or an ensemble's folder, manifest or .onnx file
    #[arg(value_name = "REPOSITORY|ENSEMBLE")]
    from: PathBuf,
    /// The form to write (default: manifests of a repository)
    #[arg(long, value_name = "FORM")]
    to: Option<ConvertedForm>,
    /// The folder to write to, new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Copy the files of networks beside the manifests, instead of naming them where they are
    #[arg(long)]
    copy: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ConvertedForm {
    /// `ensemble.toml` and `pipeline.toml`
    Manifests,
    /// A repository for Triton
    Triton,
}

pub(crate) fn run(args: &ConvertArgs) -> Result<()> {
    let shown = args.from.display();
    let converted = match (Repository::is_at(&args.from), args.to) {
        (true, None | Some(ConvertedForm::Manifests)) => {
            let files = match args.copy {
                true => NetworkFiles::Copied,
                false => NetworkFiles::Named,
            };
            to_manifests(&Repository::open(&args.from)?, &args.out, files)?
        }
        (false, Some(ConvertedForm::Triton)) => to_triton(&ensemble_files(&args.from)?, &args.out)?,
        (true, Some(ConvertedForm::Triton)) => {
            manifests_to_triton(&Repository::open(&args.from)?, &args.out)?
        }
        (false, _) => bail!(
            "{shown}: expected a repository of models; `--to triton` writes an ensemble as one"
        ),
    };
    print(&text(&converted))?;
    match converted.left_out.len() {
        0 => Ok(()),
        left => bail!("{} left out", counted(left, "model")),
    }
}

fn text(converted: &Converted) -> String {
    let part = |head: &str, lines: &[String]| match lines.is_empty() {
        true => String::new(),
        false => format!("\n{head}\n{}\n", lines.join("\n")),
    };
    let mut text = format!("{} written\n", counted(converted.written.len(), "file"));
    text += &format!("{}\n", converted.written.join("\n"));
    text += &part("cannot be said", &converted.unsaid);
    text += &part("left out", &converted.left_out);
    text + &part("to be served", &converted.notes)
}
