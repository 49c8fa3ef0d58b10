//! Writes the text of a `config.pbtxt`.

use divisi_runtime::tensor::{DataType, TensorSpec};

use crate::batch::ModelRows;

use super::manifest::line;
use super::written::OutFolder;

/// A step of an ensemble: a model, with pairs of the model's tensor and the ensemble's tensor.
pub(super) struct StepText {
    pub(super) model: String,
    /// The version, or -1 for the highest.
    pub(super) version: i64,
    pub(super) inputs: Vec<(String, String)>,
    pub(super) outputs: Vec<(String, String)>,
}

/// A configuration under construction.
pub(super) struct ConfigText {
    text: String,
    batch: ModelRows,
}

impl ConfigText {
    /// Begins the configuration of a model with this number of rows per request.
    pub(super) fn new(name: &str, platform: [&str; 2], batch: ModelRows) -> Self {
        let [field, value] = platform;
        let mut text = format!("name: {}\n{field}: {}\n", quoted(name), quoted(value));
        let most = match batch {
            ModelRows::UpTo(most) => most,
            _ => 0,
        };
        line(&mut text, format_args!("max_batch_size: {most}"));
        ConfigText { text, batch }
    }

    /// Adds the tensors of a side, described per row, and the file that names their values.
    pub(super) fn tensors(&mut self, side: &str, specs: &[TensorSpec], labels: Option<&str>) {
        let labels = labels.map_or(String::new(), |file| {
            format!(" label_filename: {}", quoted(file))
        });
        let lead = match self.batch {
            ModelRows::UpTo(_) | ModelRows::Absent => None,
            ModelRows::Open => Some(-1),
            ModelRows::Exactly(rows) => i64::try_from(rows).ok(),
        };
        for spec in specs {
            let own = spec.dims.iter().map(|dim| i64::from(*dim));
            let mut dims: Vec<i64> = lead.into_iter().chain(own).collect();
            // Rows of single numbers have no dimension of their own.
            let reshape = if dims.is_empty() {
                " reshape { shape: [ ] }"
            } else {
                ""
            };
            if dims.is_empty() {
                dims.push(1);
            }
            let (name, kind) = (quoted(&spec.name), data_type(spec.data_type));
            let written = format_args!(
                "{side} {{ name: {name} data_type: {kind} dims: {dims:?}{reshape}{labels} }}"
            );
            line(&mut self.text, written);
        }
    }

    /// Adds lines unchanged.
    pub(super) fn add(&mut self, lines: &str) {
        self.text += lines;
    }

    /// Adds a parameter.
    pub(super) fn parameter(&mut self, key: &str, value: &str) {
        let (key, value) = (quoted(key), quoted(value));
        let written = format_args!("parameters {{ key: {key} value {{ string_value: {value} }} }}");
        line(&mut self.text, written);
    }

    /// Adds the steps of an ensemble.
    pub(super) fn steps(&mut self, steps: &[StepText]) {
        let text = &mut self.text;
        line(text, format_args!("ensemble_scheduling {{"));
        for step in steps {
            let (model, version) = (quoted(&step.model), step.version);
            line(text, format_args!("  step {{"));
            line(text, format_args!("    model_name: {model}"));
            line(text, format_args!("    model_version: {version}"));
            for (field, map) in [("input_map", &step.inputs), ("output_map", &step.outputs)] {
                for (own, tensor) in map {
                    let (own, tensor) = (quoted(own), quoted(tensor));
                    let entry = format_args!("    {field} {{ key: {own} value: {tensor} }}");
                    line(text, entry);
                }
            }
            line(text, format_args!("  }}"));
        }
        line(text, format_args!("}}"));
    }

    /// Returns the text.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Notes the tensors of a model whose rows are single numbers: a configuration needs a dimension
/// for them.
pub(super) fn single_numbers(
    model: &str,
    rows: ModelRows,
    specs: &[TensorSpec],
    out: &mut OutFolder,
) {
    if matches!(rows, ModelRows::Open | ModelRows::Exactly(_)) {
        return;
    }
    for spec in specs.iter().filter(|spec| spec.dims.is_empty()) {
        let name = &spec.name;
        out.unsaid(
            model,
            format!(
                "`{name}`: no dimensions: written with one of 1, since Triton's tensors need \
                     dimensions"
            ),
        );
    }
}

/// Returns a quoted string with the escapes of the text format.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        '\n' => "\\n".to_owned(),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn data_type(data_type: DataType) -> String {
    match data_type {
        DataType::Bytes => "TYPE_STRING".to_owned(),
        other => format!("TYPE_{other}"),
    }
}
