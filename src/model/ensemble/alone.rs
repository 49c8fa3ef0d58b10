//! A single network file as an ensemble of one member.

use std::path::Path;

use divisi_runtime::compute::{ComputeError, check_padding};
use divisi_runtime::network::{Graph, Shape};
use divisi_runtime::onnx::{OnnxError, OnnxModel, OpenLengths};
use divisi_runtime::tensor::DataType;

/// The maximum number of values of all synthetic samples together: 32 MiB.
const VALUES: usize = 8 << 20;

/// The maximum number of synthetic samples.
const ROWS: usize = 1024;

/// The maximum number of characters of the ensemble's name, from the file's name.
const NAME: usize = 32;

/// Returns whether the file at `path` is a network that can be served without a manifest.
pub(super) fn is_network(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "onnx")
}

/// Returns the manifest of an ensemble whose only member is the network at `path`, calibrated with
/// synthetic samples. It has the file's name, numbered classes and the network's own answers. A
/// network that returns one number is not a classifier. Dimensions that the file leaves open come
/// from `shape`. Without `shape`, one length varies up to `most`.
///
/// # Errors
/// The file is not a network, does not take samples of `shape`, or leaves more than one length of
/// its samples open.
pub(super) fn manifest(
    path: &Path,
    shape: Option<Shape>,
    most: Option<usize>,
) -> Result<String, OnnxError> {
    let model = OnnxModel::open(path)?;
    let graph = match (model.open_lengths(), shape) {
        (Some(open), None) => varying(model, &open, most)?,
        (open, _) => model.shaped(open.as_ref(), shape)?.graph,
    };
    let rows = (VALUES / graph.input().elements().max(1)).clamp(1, ROWS);
    let text =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (file, stem) = (text(path.file_name()), text(path.file_stem()));
    let printable = stem.chars().filter(|c| !c.is_control());
    let name: String = printable.take(NAME).collect();
    Ok(format!(
        "name = {}\n{}\n\n{}\n\n[calibration]\nsynthetic = {rows}\n\n\
         [[members]]\nname = {}\nnetwork = {{ file = {} }}\noutputs = \"values\"\n",
        quoted(&name),
        answers(&graph),
        input(&graph),
        quoted(&name),
        quoted(&file),
    ))
}

/// Returns the network for samples of its largest length. Samples are padded to buckets if padding
/// does not change answers.
fn varying(model: OnnxModel, open: &OpenLengths, most: Option<usize>) -> Result<Graph, OnnxError> {
    let lengths = model.usual_lengths(open, most)?;
    let (network, made) = model.varying(open, lengths)?;
    let padded = check_padding(&network.graph, &network.weights, made.as_ref());
    Ok(match padded {
        Err(ComputeError::Padding { .. }) => network.graph.unpadded(),
        _ => network.graph,
    })
}

fn quoted(text: &str) -> toml::Value {
    toml::Value::String(text.to_owned())
}

/// Returns the line of the answers: classes for one row of several numbers, else values.
fn answers(graph: &Graph) -> String {
    let single = graph.signature().outputs.len() == 1;
    match graph.output() {
        Shape::Vector { features } if features > 1 && single => format!("classes = {features}"),
        shape => format!("answers = {{ values = {} }}", shape.elements()),
    }
}

/// Returns the input fields for the lengths of samples.
fn lengths(graph: &Graph) -> String {
    let Some(lengths) = graph.lengths() else {
        return String::new();
    };
    match lengths.mask() {
        Some(mask) => format!(
            "[input]\nlengths = {:?}\nmask = {}\n\n",
            lengths.buckets(),
            quoted(mask)
        ),
        None => format!("[input]\nlengths = {{ most = {} }}\n\n", lengths.largest()),
    }
}

/// Returns the input table: a shape for a single tensor of float32, else tensors.
fn input(graph: &Graph) -> String {
    let inputs = graph.signature().inputs;
    if let [single] = &inputs[..]
        && graph.lengths().is_none()
        && single.data_type == DataType::Fp32
        && !matches!(graph.input(), Shape::Tensor(_))
    {
        let shape: Vec<usize> = graph.input().into();
        return format!("[input]\nshape = {shape:?}");
    }
    let tables = inputs.iter().map(|spec| {
        let dims: Vec<String> = spec.dims.iter().map(ToString::to_string).collect();
        let (name, data_type) = (quoted(&spec.name), spec.data_type);
        let dims = dims.join(", ");
        format!("[[input.tensors]]\nname = {name}\ndatatype = \"{data_type}\"\nshape = [{dims}]")
    });
    lengths(graph) + &tables.collect::<Vec<_>>().join("\n\n")
}
