//! The text of a `config.pbtxt`.

use std::time::Duration;

use divisi::tensor::{DataType, TensorSpec};

use crate::batch::ModelRows;

use super::manifest::line;

/// A configuration that is written.
pub(super) struct ConfigText {
    text: String,
    batch: ModelRows,
}

impl ConfigText {
    /// Begins the configuration of a model, whose requests have so many rows.
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

    /// Adds the tensors of a side, given as those of a row.
    pub(super) fn tensors(&mut self, side: &str, specs: &[TensorSpec]) {
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
            let written =
                format_args!("{side} {{ name: {name} data_type: {kind} dims: {dims:?}{reshape} }}");
            line(&mut self.text, written);
        }
    }

    /// Adds how long requests wait for others, where there is a batch.
    pub(super) fn batching(&mut self, wait: Duration) {
        if !matches!(self.batch, ModelRows::UpTo(_)) {
            return;
        }
        match wait.as_micros() {
            0 => line(&mut self.text, format_args!("dynamic_batching {{ }}")),
            micros => line(
                &mut self.text,
                format_args!("dynamic_batching {{ max_queue_delay_microseconds: {micros} }}"),
            ),
        }
    }

    /// Adds a parameter.
    pub(super) fn parameter(&mut self, key: &str, value: &str) {
        let (key, value) = (quoted(key), quoted(value));
        let written = format_args!("parameters {{ key: {key} value {{ string_value: {value} }} }}");
        line(&mut self.text, written);
    }

    /// Adds the steps of an ensemble: each a model with the maps of its inputs and outputs.
    pub(super) fn steps<'s>(
        &mut self,
        steps: impl Iterator<Item = (&'s str, [&'s [(String, String)]; 2])>,
    ) {
        line(&mut self.text, format_args!("ensemble_scheduling {{"));
        for (model, [inputs, outputs]) in steps {
            line(&mut self.text, format_args!("  step {{"));
            line(
                &mut self.text,
                format_args!("    model_name: {}", quoted(model)),
            );
            line(&mut self.text, format_args!("    model_version: -1"));
            for (field, map) in [("input_map", inputs), ("output_map", outputs)] {
                for (own, tensor) in map {
                    let (own, tensor) = (quoted(own), quoted(tensor));
                    let entry = format_args!("    {field} {{ key: {own} value: {tensor} }}");
                    line(&mut self.text, entry);
                }
            }
            line(&mut self.text, format_args!("  }}"));
        }
        line(&mut self.text, format_args!("}}"));
    }

    /// Returns the text.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Returns a string with what the text format escapes.
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
