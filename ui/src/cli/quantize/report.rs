//! The report of `divisi quantize`.

use std::collections::BTreeMap;

use divisi_model::ensemble::{Quality, Samples};
use divisi_runtime::compute::calibration::RangeMethod;
use divisi_runtime::words::counted;
use serde::Serialize;

use super::model::QuantizedModel;
use crate::cli::reporting::Report;
use crate::cli::tables::columns;

/// Below this number of samples, the ranges are unreliable.
const FEW: usize = 32;

#[derive(Serialize)]
pub(super) struct QuantizeReport {
    model: String,
    method: String,
    samples: usize,
    members: Vec<QuantizedRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    /// Remarks on members that are already quantised in part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quantised_before: Vec<String>,
}

/// A calibrated member in the report.
#[derive(Serialize)]
pub(super) struct QuantizedRow {
    pub name: String,
    /// The written file.
    pub file: String,
    /// The number of layers computed in int8.
    pub quantized: usize,
    /// The layers with weights that stay in float32.
    pub kept: Vec<String>,
    /// The shares of the error caused by the first and the last layer in int8, if measured.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<String, f64>,
    /// The ratio of the answers to their error in decibels, or `None` without an error.
    pub signal_to_noise_db: Option<f64>,
    /// The share of samples with the same class as in float32, if answers are classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// The measures in float32 and in int8, if samples have targets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub f32: BTreeMap<&'static str, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub int8: BTreeMap<&'static str, f64>,
    #[serde(skip)]
    pub qualities: [Vec<Quality>; 2],
}

impl QuantizeReport {
    pub(super) fn new(
        model: &QuantizedModel,
        method: RangeMethod,
        samples: &Samples,
        rows: usize,
        members: Vec<QuantizedRow>,
    ) -> Self {
        QuantizeReport {
            model: model.name.clone(),
            method: method.to_string(),
            samples: rows,
            members,
            warning: few(rows).or_else(|| alike(samples, rows)),
            quantised_before: model.warnings().collect(),
        }
    }
}

impl Report for QuantizeReport {
    fn text(&self) -> String {
        let samples = counted(self.samples, "sample");
        let mut text = format!("{} · {samples} · ranges by {}\n\n", self.model, self.method);
        let head = [
            "",
            "int8",
            "f32",
            "signal/noise",
            "same class",
            "measures f32",
            "int8",
        ];
        let rows = self.members.iter().map(QuantizedRow::cells);
        text += &columns(&head, rows);
        text += "\n";
        for member in &self.members {
            text += &member.remarks();
        }
        for member in &self.members {
            text += &format!("{} written\n", member.file);
        }
        text += "set `calibration` of each member in the manifest to its file\n";
        let warnings = self.quantised_before.iter().chain(&self.warning);
        text.extend(warnings.map(|warning| format!("{warning}\n")));
        text
    }
}

/// Returns a warning if there are few samples.
fn few(samples: usize) -> Option<String> {
    (samples < FEW).then(|| {
        format!(
            "few samples ({samples}): served values may lie outside the ranges, and signal/noise is \
             too high, since biases are fitted to the same samples"
        )
    })
}

/// Returns a warning if all samples are equal, since they show one value per position.
fn alike(samples: &Samples, rows: usize) -> Option<String> {
    let first = samples.rows(0, 1);
    let same = (1..rows).all(|row| samples.rows(row, 1) == first);
    same.then(|| {
        "all samples are equal: the ranges fit this sample only, and other values are clipped"
            .to_owned()
    })
}

impl QuantizedRow {
    fn cells(&self) -> [String; 7] {
        let ratio = self.signal_to_noise_db;
        let none = || "–".to_owned();
        let measures = |qualities: &[Quality]| {
            let each = qualities
                .iter()
                .map(|q| format!("{} {}", q.measure.name(), q.text()));
            each.collect::<Vec<_>>().join(", ")
        };
        let [exact, found] = &self.qualities;
        [
            self.name.clone(),
            self.quantized.to_string(),
            self.kept.len().to_string(),
            ratio.map_or_else(|| "exact".to_owned(), |ratio| format!("{ratio:.1} dB")),
            self.agreement
                .map_or_else(none, |share| format!("{:.2} %", 100.0 * share)),
            measures(exact),
            measures(found),
        ]
    }

    /// Returns a line for each layer that stays in float32.
    fn remarks(&self) -> String {
        let lines = self.kept.iter().map(|layer| {
            let cost = self.costs.get(layer);
            let why =
                cost.map(|cost| format!(": in int8 it causes {:.0} % of the error", 100.0 * cost));
            let why = why.unwrap_or_default();
            format!("{}: `{layer}` stays in float32{why}\n", self.name)
        });
        lines.collect()
    }
}
