//! Reads the matrix files of `--matrix`, which may contain precisions.

use std::path::Path;
use std::sync::Arc;

use divisi_model::allocation::{Frame, Matrix, MatrixFile};
use divisi_model::ensemble::MemberPrecision;
use divisi_runtime::device::{Devices, Host};
use divisi_runtime::reading;
use divisi_session::{SetupFile, SetupFileError};

use crate::ServeError;

/// A matrix, and the precision of each member if the file names them.
pub type MatrixAndPrecisions = (Matrix, Option<Vec<MemberPrecision>>);

/// Reads the matrix in a file, and its precisions if no precision was `asked` for.
///
/// # Errors
/// The file cannot be read, is for other models or devices, or names precisions in addition to
/// `asked`.
pub fn matrix_in(
    path: &Path,
    ensemble: &str,
    frame: &Arc<Frame>,
    asked: Option<MemberPrecision>,
) -> Result<MatrixAndPrecisions, ServeError> {
    let name = path.display().to_string();
    let text = reading::text(path).map_err(|why| ServeError::MatrixFile {
        path: name.clone(),
        why,
    })?;
    let (file, precisions) = read(&text, &name)?;
    let matrix = file.matrix_for(ensemble, frame);
    let matrix = matrix.map_err(|why| ServeError::Matrix {
        path: name.clone(),
        why: Box::new(why),
    })?;
    match (asked, precisions) {
        (Some(asked), Some(own)) => Err(ServeError::TwoPrecisions {
            path: name,
            asked: asked.to_text(),
            own: in_words(&own),
        }),
        (_, precisions) => Ok((matrix, precisions)),
    }
}

/// Returns the devices of a matrix file if this machine has them, or `None` if it does not or the
/// file cannot be read. Default devices depend on the load of the host; a matrix belongs to the
/// devices that it was made for.
pub fn devices_in(path: &Path) -> Option<Vec<String>> {
    let text = reading::text(path).ok()?;
    let (file, _) = read(&text, "").ok()?;
    let exist = Devices::from_names(&file.devices, &Host::discover()).is_ok();
    exist.then_some(file.devices)
}

fn in_words(precisions: &[MemberPrecision]) -> String {
    let names = precisions.iter().map(|p| format!("\"{}\"", p.to_text()));
    names.collect::<Vec<String>>().join(", ")
}

fn read(text: &str, path: &str) -> Result<(MatrixFile, Option<Vec<MemberPrecision>>), ServeError> {
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
        ) => Err(ServeError::Setup {
            path: path.to_owned(),
            why: Box::new(why),
        }),
        _ => Err(ServeError::Matrix {
            path: path.to_owned(),
            why: Box::new(alone),
        }),
    }
}
