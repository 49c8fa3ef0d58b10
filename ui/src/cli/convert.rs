//! `divisi convert`: repositories as manifests, and ensembles as repositories.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use divisi_repository::Repository;
use divisi_repository::convert::{
    Converted, NetworkFiles, manifests_to_triton, to_manifests, to_triton,
};
use divisi_runtime::words::counted;
use divisi_server::{built_in_files, built_in_names, ensemble_files};

use super::output::print;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ConvertArgs {
    /// Model repository, or an ensemble's folder, manifest or .onnx file
    #[arg(value_name = "REPOSITORY|ENSEMBLE")]
    pub(super) from: PathBuf,
    /// Output format (default: manifests of a repository)
    #[arg(long, value_name = "FORM")]
    to: Option<ConvertedForm>,
    /// Output folder, new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Copy network files next to the manifests instead of referencing them
    #[arg(long)]
    copy: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ConvertedForm {
    /// `ensemble.toml` and `pipeline.toml`
    Manifests,
    /// A Triton repository
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
        (false, None | Some(ConvertedForm::Manifests)) if is_built_in(&args.from) => {
            return write_built_in(&args.from, &args.out);
        }
        (false, Some(ConvertedForm::Triton)) => to_triton(&ensemble_files(&args.from)?, &args.out)?,
        (true, Some(ConvertedForm::Triton)) => {
            manifests_to_triton(&Repository::open(&args.from)?, &args.out)?
        }
        (false, _) => {
            bail!("{shown}: expected a model repository; to convert an ensemble, add `--to triton`")
        }
    };
    print(&text(&converted))?;
    match converted.left_out.len() {
        0 => Ok(()),
        left => bail!("{} left out", counted(left, "model")),
    }
}

fn is_built_in(from: &Path) -> bool {
    !from.exists() && built_in_names().any(|name| from == Path::new(name))
}

/// Writes the files of a built-in ensemble, as an example to begin with.
fn write_built_in(name: &Path, folder: &Path) -> Result<()> {
    let files = name.to_str().and_then(built_in_files).unwrap_or_default();
    let is_used = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_used {
        bail!("{}: expected a new or an empty folder", folder.display());
    }
    for (file, bytes) in &files {
        let path = folder.join(file);
        let written = fs::create_dir_all(path.parent().unwrap_or(folder));
        let written = written.and_then(|()| fs::write(&path, bytes));
        written.with_context(|| path.display().to_string())?;
    }
    let names: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
    let count = counted(names.len(), "file");
    print(&format!(
        "{count} written\n{}\n\nserve it with `divisi serve {}`",
        names.join("\n"),
        folder.display()
    ))
}

fn text(converted: &Converted) -> String {
    let part = |head: &str, lines: &[String]| match lines.is_empty() {
        true => String::new(),
        false => format!("\n{head}\n{}\n", lines.join("\n")),
    };
    let mut text = format!("{} written\n", counted(converted.written.len(), "file"));
    text += &format!("{}\n", converted.written.join("\n"));
    text += &part("not supported by the format", &converted.unsaid);
    text += &part("left out", &converted.left_out);
    text + &part("how to serve", &converted.notes)
}
