//! The calibration samples, which benchmarks send: from a file, or synthetic.

use std::sync::Arc;

use crate::ensemble::files::EnsembleError;
use crate::ensemble::manifest::{CalibrationTable, Manifest, ManifestSource};
use crate::ensemble::samples::{SampleForm, Samples, SamplesError};
use crate::network::Shape;

/// The most values of synthetic samples: half a gibibyte of them.
const MOST_VALUES: usize = 1 << 27;

/// Reads or makes the calibration samples, if the manifest has any.
pub(super) fn calibration(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    form: &SampleForm<'_>,
) -> Result<Option<Arc<Samples>>, EnsembleError> {
    let Some(spanned) = &manifest.calibration else {
        return Ok(None);
    };
    let table = spanned.get_ref();
    let wrong = |why: &str| Err(source.wrong(spanned.span().start, format!("calibration{why}")));
    let samples = match (&table.file, &table.synthetic) {
        (Some(file), None) => read(source, table, file, form)?,
        (None, Some(_)) if table.skip.is_some() => {
            return wrong(".skip: belongs to `file`; made-up samples have nothing to leave out");
        }
        (None, Some(_)) if table.labels.is_some() => {
            return wrong(".labels: belongs to `file`; made-up samples have no labels");
        }
        (None, Some(rows)) => made_up(source, rows, form.shape)?,
        (Some(_), Some(_)) => return wrong(": expected `file` or `synthetic`, found both"),
        (None, None) => {
            return wrong(
                ": expected `file` (samples) or `synthetic` (how many to make up), found neither",
            );
        }
    };
    Ok(Some(Arc::new(samples)))
}

/// Reads samples with their labels, without the rows to skip.
fn read(
    source: &ManifestSource<'_>,
    table: &CalibrationTable,
    file: &str,
    form: &SampleForm<'_>,
) -> Result<Samples, EnsembleError> {
    let of = |name: &str, e: &SamplesError| EnsembleError::File {
        file: source.files.display(name),
        reason: e.to_string(),
    };
    for name in [Some(file), table.labels.as_deref()].into_iter().flatten() {
        Samples::check_name(name).map_err(|e| of(name, &e))?;
    }
    let samples = Samples::parse(file, source.files.read(file)?, form);
    let mut samples = samples.map_err(|e| of(file, &e))?;
    if let Some(labels) = &table.labels {
        let bytes = source.files.read(labels)?;
        samples = samples
            .labelled_by(labels, bytes, &form.classes)
            .map_err(|e| of(labels, &e))?;
    }
    let skip = table.skip.unwrap_or(0);
    samples.skip(skip).map_err(|e| of(file, &e))
}

fn made_up(
    source: &ManifestSource<'_>,
    rows: &toml::Spanned<i64>,
    shape: Shape,
) -> Result<Samples, EnsembleError> {
    let most = (MOST_VALUES / shape.elements()).max(1);
    let n = source.count("calibration.synthetic", rows, most as i64)?;
    Samples::synthetic(n, shape.elements())
        .map_err(|e| source.wrong(rows.span().start, format!("calibration.synthetic: {e}")))
}
