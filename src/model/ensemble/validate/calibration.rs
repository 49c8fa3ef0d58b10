//! Reads a member's calibration file, with which processors compute its network in int8.

use std::sync::Arc;

use crate::ensemble::manifest::{EnsembleError, ManifestSource, MemberTable};
use divisi_runtime::compute::calibration::Calibration;
use divisi_runtime::network::{Graph, Weights};
use divisi_runtime::reading;

/// Reads the calibration that a member names. An error refers to the manifest if the file cannot be
/// read, and to the file if it does not match the network.
pub(super) fn read(
    source: &ManifestSource<'_>,
    table: &MemberTable,
    graph: &Graph,
    weights: &Weights,
) -> Result<Option<Arc<Calibration>>, EnsembleError> {
    let Some(written) = &table.calibration else {
        return Ok(None);
    };
    let (files, name) = (source.files, written.get_ref());
    let file = files.display(name);
    let wrong = |why: String| {
        let message = format!("members.calibration: {why}");
        Err(source.wrong(written.span().start, message))
    };
    if graph.lengths().is_some() {
        return wrong("expected none, since samples vary in length".into());
    }
    let text = match files.path(name) {
        Some(path) => match reading::text(&path) {
            Ok(text) => text,
            Err(why) => return wrong(format!("{file}: {why}")),
        },
        None => files.read_text(name)?,
    };
    let read = Calibration::from_json(&text, graph, weights);
    let read = read.map_err(|why| EnsembleError::File {
        reason: format!("member `{}`: {why}", table.name),
        file,
    });
    read.map(|calibration| Some(Arc::new(calibration)))
}
