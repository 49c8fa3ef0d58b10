//! The files of calibrations, written all or not at all.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use divisi_model::replace::PreparedFile;

use super::QuantizeArgs;
use super::model::QuantizedModel;
use crate::cli::output::OutputFile;
use crate::cli::signals::stop_flag;

/// The files to write, one for each member, checked before the calibration.
pub(super) struct Outputs {
    files: Vec<(OutputFile, PathBuf)>,
}

impl Outputs {
    pub(super) fn for_model(args: &QuantizeArgs, model: &QuantizedModel) -> Result<Self> {
        let paths = paths(args, model)?;
        if !args.product.force {
            check_new(&paths)?;
        }
        let files = paths
            .into_iter()
            .map(|path| Ok((OutputFile::new(&path, true)?, path)));
        Ok(Outputs {
            files: files.collect::<Result<_>>()?,
        })
    }

    /// Returns the names of the files.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.files
            .iter()
            .map(|(_, path)| path.display().to_string())
    }

    /// Writes a text to each file. No file changes until all texts are on the disk.
    pub(super) fn write(&self, texts: &[String]) -> Result<()> {
        // A signal now waits until the few files are in place.
        let _ended = stop_flag();
        let mut prepared = Vec::new();
        for ((file, _), text) in self.files.iter().zip(texts) {
            let one = file.prepare(text);
            prepared.extend(one.context("no file was changed")?);
        }
        for ((file, _), text) in self.files.iter().zip(texts) {
            if !file.is_file() {
                file.write(text)?;
            }
        }
        put(prepared)
    }
}

/// Returns the file of each member.
fn paths(args: &QuantizeArgs, model: &QuantizedModel) -> Result<Vec<PathBuf>> {
    let folder = args.output.as_ref().filter(|path| path.is_dir());
    if folder.is_none() && args.output.is_some() && model.members.len() > 1 {
        bail!("--output: expected an existing folder for several members");
    }
    let paths = model.members.iter().map(|member| {
        let name = format!("{}.int8.json", member.name);
        match (&args.output, folder, &model.folder) {
            (_, Some(folder), _) => Ok(folder.join(name)),
            (Some(file), None, _) => Ok(file.clone()),
            (None, None, Some(folder)) => Ok(folder.join(name)),
            (None, None, None) => bail!("--output is required for a built-in ensemble"),
        }
    });
    paths.collect()
}

/// Refuses existing files and suggests options.
fn check_new(paths: &[PathBuf]) -> Result<()> {
    let there: Vec<&Path> = paths
        .iter()
        .filter(|p| p.exists())
        .map(PathBuf::as_path)
        .collect();
    let (exist, them) = match there.len() {
        0 => return Ok(()),
        1 => ("exists", "it"),
        _ => ("exist", "them"),
    };
    let others = match paths.len() {
        1 => "",
        _ => {
            ", --member NAME writes the file of one member, --output FOLDER writes to another folder"
        }
    };
    bail!(
        "{}: {exist}; --force replaces {them}{others}",
        listed(&there)
    )
}

/// Moves files into place. On an error, names the files that are already replaced.
fn put(prepared: Vec<PreparedFile>) -> Result<()> {
    let paths: Vec<PathBuf> = prepared.iter().map(|file| file.path().to_owned()).collect();
    for (at, file) in prepared.into_iter().enumerate() {
        file.commit()
            .map_err(|why| stopped(&paths, at, why.into()))?;
    }
    Ok(())
}

/// Returns the error for files of which the first `new` were replaced.
fn stopped(paths: &[PathBuf], new: usize, why: anyhow::Error) -> anyhow::Error {
    let (done, left) = paths.split_at(new);
    let named = |paths: &[PathBuf]| listed(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>());
    let said = match done {
        [] => "no file was changed".to_owned(),
        _ => format!(
            "replaced: {}; unchanged: {}; --force rewrites all",
            named(done),
            named(left)
        ),
    };
    let failed = left.first().map_or(Path::new(""), PathBuf::as_path);
    anyhow!("replacing {}: {why}; {said}", failed.display())
}

fn listed(paths: &[&Path]) -> String {
    let names = paths.iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}
