//! The samples for benchmarks: from a file, or made up.

use std::sync::Arc;

use super::super::error::EnsembleError;
use super::super::manifest::{Calibration, Manifest};
use super::super::samples::Samples;
use super::page::Page;
use crate::network::Shape;

/// Values of made-up samples at most: half a gibibyte of them.
const MOST_VALUES: usize = 1 << 27;

pub(super) fn calibration(
    page: &Page<'_>,
    manifest: &Manifest,
    shape: Shape,
    classes: usize,
) -> Result<Option<Arc<Samples>>, EnsembleError> {
    let Some(spanned) = &manifest.calibration else {
        return Ok(None);
    };
    let table = spanned.get_ref();
    let wrong = |why: &str| Err(page.wrong(spanned.span().start, format!("calibration{why}")));
    let samples = match (&table.file, &table.synthetic) {
        (Some(file), None) => read(page, table, file, shape, classes)?,
        (None, Some(_)) if table.skip.is_some() => {
            return wrong(".skip: belongs to `file`; made-up samples have nothing to leave out");
        }
        (None, Some(rows)) => made_up(page, rows, shape)?,
        (Some(_), Some(_)) => return wrong(": expected `file` or `synthetic`, found both"),
        (None, None) => {
            return wrong(
                ": expected `file` (samples) or `synthetic` (how many to make up), found neither",
            );
        }
    };
    Ok(Some(Arc::new(samples)))
}

fn read(
    page: &Page<'_>,
    table: &Calibration,
    file: &str,
    shape: Shape,
    classes: usize,
) -> Result<Samples, EnsembleError> {
    let bytes = page.files.read(file)?;
    Samples::parse(file, &bytes, shape, Some(classes))
        .and_then(|s| s.skip(table.skip.unwrap_or(0)))
        .map_err(|e| EnsembleError::File {
            file: page.files.display(file),
            reason: e.to_string(),
        })
}

fn made_up(
    page: &Page<'_>,
    rows: &toml::Spanned<i64>,
    shape: Shape,
) -> Result<Samples, EnsembleError> {
    let most = (MOST_VALUES / shape.elements()).max(1);
    let n = page.count("calibration.synthetic", rows, most as i64)?;
    Samples::synthetic(n, shape.elements())
        .map_err(|e| page.wrong(rows.span().start, format!("calibration.synthetic: {e}")))
}
