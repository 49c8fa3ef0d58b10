//! Files of a matrix, as `--matrix` takes them: they may say in which numbers members are computed.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Error, Result, bail};
use divisi::allocation::{Frame, Matrix, MatrixFile};
use divisi::ensemble::MemberPrecision;
use divisi::reading;
use divisi::session::{SetupFile, SetupFileError};

/// A matrix, and the precision of each member where the file says it.
pub(super) type MatrixAndPrecisions = (Matrix, Option<Vec<MemberPrecision>>);

/// Reads the matrix in a file, with the precisions that it names, unless one was `asked` for.
pub(super) fn matrix_in(
    path: &Path,
    ensemble: &str,
    frame: &Arc<Frame>,
    asked: Option<MemberPrecision>,
) -> Result<MatrixAndPrecisions> {
    let text = reading::text(path).with_context(|| format!("reading {}", path.display()))?;
    let read = read(&text).and_then(|(file, precisions)| {
        let matrix = file.matrix_for(ensemble, frame)?;
        Ok((matrix, precisions))
    });
    let (matrix, precisions) = read.with_context(|| path.display().to_string())?;
    if let (Some(asked), Some(own)) = (asked, &precisions) {
        bail!(both_named(path, asked, own));
    }
    Ok((matrix, precisions))
}

/// Returns why a precision of the command line and those of a file cannot be both.
fn both_named(path: &Path, asked: MemberPrecision, own: &[MemberPrecision]) -> String {
    let own: Vec<String> = own.iter().map(|p| format!("\"{}\"", p.written())).collect();
    format!(
        "--precision {} and --matrix {}: expected one of them to say in which numbers members are \
         computed, found `precisions = [{}]` in the file; leave out the option, or that line",
        asked.written(),
        path.display(),
        own.join(", ")
    )
}

fn read(text: &str) -> Result<(MatrixFile, Option<Vec<MemberPrecision>>)> {
    let alone = match MatrixFile::parse(text) {
        Ok(file) => return Ok((file, None)),
        Err(why) => why,
    };
    match SetupFile::parse(text) {
        Ok(SetupFile {
            matrix,
            precisions,
            policy: None,
            combination: None,
            segment_size: None,
        }) => Ok((matrix, precisions)),
        Err(
            why @ (SetupFileError::Precision { .. }
            | SetupFileError::Precisions { .. }
            | SetupFileError::NoNames { .. }),
        ) => Err(Error::new(why)),
        _ => Err(Error::new(alone)),
    }
}
