//! A network's file alone, as an ensemble of one.

use std::path::Path;

use crate::network::Shape;
use crate::onnx::{OnnxError, OnnxModel};

/// The values of all made-up samples together, at most: 32 MiB.
const VALUES: usize = 8 << 20;

/// The most made-up samples.
const ROWS: usize = 1024;

/// The most characters of the file's name that become the ensemble's.
const NAME: usize = 32;

/// Whether the file at `path` is a network that can be served without a manifest.
pub(super) fn is_network(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "onnx")
}

/// Returns the manifest of an ensemble whose only member is the network at `path`, calibrated
/// by made-up samples. Its name is the file's, its classes are numbered. A network that
/// returns one number is no classifier: the number is its answer.
///
/// # Errors
/// The file is no network, or leaves the shape of its samples open.
pub(super) fn manifest(path: &Path) -> Result<String, OnnxError> {
    let graph = OnnxModel::open(path)?.network(None)?.graph;
    let input: Vec<usize> = graph.input().into();
    let rows = (VALUES / graph.input().elements().max(1)).clamp(1, ROWS);
    let width = match graph.output() {
        Shape::Vector { features } => features,
        // The validation of the member says what is wrong with it.
        shape => shape.channels(),
    };
    let answers = match width {
        1 => "answers = { values = 1 }".to_owned(),
        classes => format!("classes = {classes}"),
    };
    let text =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (file, stem) = (text(path.file_name()), text(path.file_stem()));
    let printable = stem.chars().filter(|c| !c.is_control());
    let name: String = printable.take(NAME).collect();
    let quoted = |text: &str| toml::Value::String(text.to_owned());
    Ok(format!(
        "name = {}\n{answers}\n\n[input]\nshape = {input:?}\n\n\
         [calibration]\nsynthetic = {rows}\n\n\
         [[members]]\nname = {}\nnetwork = {{ file = {} }}\n",
        quoted(&name),
        quoted(&name),
        quoted(&file),
    ))
}
