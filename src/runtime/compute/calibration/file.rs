//! Calibrations in JSON files, and their checks.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::digest::NetworkDigest;
use super::digest::own_nodes;
use super::method::RangeMethod;
use super::range::{ValueRange, ValueRangeError};
use super::ranges::{Calibration, is_weighted};
use crate::network::{Graph, Weights};

/// The version of the format that is written and read.
const VERSION: u32 = 1;

/// The name of the input among the values.
const INPUT: &str = "input";

/// The file as it is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CalibrationFile {
    /// Read earlier, as [`WrittenVersion`].
    #[serde(rename = "version")]
    _version: u32,
    network: NetworkDigest,
    method: RangeMethod,
    rows: usize,
    ranges: Vec<WrittenRange>,
    kept: Vec<String>,
    corrections: Vec<WrittenCorrection>,
}

/// Only the version, for formats with other fields.
#[derive(Deserialize)]
struct WrittenVersion {
    version: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRange {
    value: String,
    low: f32,
    high: f32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCorrection {
    layer: String,
    bias: Vec<f32>,
}

/// The reason why a text is not a calibration of a network.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CalibrationFileError {
    /// The text is not JSON, or a field is missing, unknown or of another type.
    #[error("expected a calibration file of `divisi quantize`: {0}")]
    Json(String),
    /// The format is another one.
    #[error("version: expected {VERSION}, found {0}; run `divisi quantize` again")]
    Version(u32),
    /// The calibration belongs to a network of another graph or of other weights.
    #[error(
        "network: expected {expected}, found {found}: the calibration belongs to another graph \
         or other weights; run `divisi quantize` again"
    )]
    Network {
        /// The network's digest.
        expected: NetworkDigest,
        /// The digest in the file.
        found: NetworkDigest,
    },
    /// No sample was observed.
    #[error("rows: expected at least 1, found 0")]
    Rows,
    /// No layer has this name.
    #[error("{field}: expected the name of {expected}, found `{name}`")]
    Name {
        /// The field.
        field: &'static str,
        /// The kind of layers that the field is about.
        expected: &'static str,
        /// The name.
        name: String,
    },
    /// A name is there twice.
    #[error("{field}: `{name}` appears twice")]
    Twice {
        /// The field.
        field: &'static str,
        /// The name.
        name: String,
    },
    /// A range is invalid.
    #[error("ranges: `{name}`: {why}")]
    Range {
        /// The value's name.
        name: String,
        /// The reason.
        why: ValueRangeError,
    },
    /// A correction does not have one number for each output channel.
    #[error("corrections: `{name}`: expected {expected} numbers, found {found}")]
    Length {
        /// The layer's name.
        name: String,
        /// The layer's output channels.
        expected: usize,
        /// The numbers in the file.
        found: usize,
    },
    /// A correction has a number that is not finite in float32.
    #[error("corrections: `{name}`: expected finite numbers, found {found} at position {at}")]
    NotFinite {
        /// The layer's name.
        name: String,
        /// The position, from 0.
        at: usize,
        /// The number.
        found: f32,
    },
}

impl Calibration {
    /// Returns the calibration as the text of a file. `graph` is the graph of its network.
    pub fn to_json(&self, graph: &Graph) -> String {
        let nodes = &graph.nodes()[..own_nodes(graph)];
        let names = std::iter::once(INPUT).chain(nodes.iter().map(|n| n.name.as_str()));
        let ranges = names.enumerate().filter_map(|(value, name)| {
            let range = self.range(value)?;
            Some(WrittenRange {
                value: name.to_owned(),
                low: range.low(),
                high: range.high(),
            })
        });
        let name = |node: usize| nodes.get(node).map(|node| node.name.clone());
        let corrections = self.corrections().filter_map(|(node, bias)| {
            Some(WrittenCorrection {
                layer: name(node)?,
                bias: bias.to_vec(),
            })
        });
        let kept = self.kept().filter_map(name);
        format!(
            "{{\n  \"version\": {VERSION},\n  \"network\": {},\n  \"method\": {},\n  \"rows\": {},\n  \
             \"ranges\": {},\n  \"kept\": {},\n  \"corrections\": {}\n}}\n",
            json(self.network()),
            json(&self.method()),
            self.rows(),
            lines(ranges),
            lines(kept),
            lines(corrections),
        )
    }

    /// Reads the text of a file, and checks it against the network that it should belong to.
    ///
    /// # Errors
    /// As [`CalibrationFileError`] lists.
    pub fn from_json(
        text: &str,
        graph: &Graph,
        weights: &Weights,
    ) -> Result<Self, CalibrationFileError> {
        let wrong = |error: serde_json::Error| CalibrationFileError::Json(error.to_string());
        let written: WrittenVersion = serde_json::from_str(text).map_err(wrong)?;
        if written.version != VERSION {
            return Err(CalibrationFileError::Version(written.version));
        }
        let file: CalibrationFile = serde_json::from_str(text).map_err(wrong)?;
        let expected = NetworkDigest::from_network(graph, weights);
        if file.network != expected {
            let found = file.network;
            return Err(CalibrationFileError::Network { expected, found });
        }
        if file.rows == 0 {
            return Err(CalibrationFileError::Rows);
        }
        let names = NodeNames::from_graph(graph);
        let ranges = ranges(file.ranges, &names)?;
        let calibration = Calibration::of_ranges(file.network, (file.method, file.rows), ranges);
        let calibration = calibration.keeping(kept(&file.kept, &names)?);
        Ok(calibration.corrected(corrections(file.corrections, &names)?))
    }
}

/// Returns a value as JSON; texts and finite numbers have a form in it.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Returns a list as JSON, of a line for each entry.
fn lines<T: Serialize>(entries: impl Iterator<Item = T>) -> String {
    let lines: Vec<String> = entries
        .map(|entry| format!("\n    {}", json(&entry)))
        .collect();
    match lines.is_empty() {
        true => "[]".to_owned(),
        false => format!("[{}\n  ]", lines.join(",")),
    }
}

/// The nodes of a graph by name.
struct NodeNames<'a> {
    graph: &'a Graph,
    nodes: BTreeMap<&'a str, usize>,
}

impl<'a> NodeNames<'a> {
    fn from_graph(graph: &'a Graph) -> Self {
        let own = graph.nodes()[..own_nodes(graph)].iter().enumerate();
        let nodes = own.map(|(index, node)| (node.name.as_str(), index));
        NodeNames {
            graph,
            nodes: nodes.collect(),
        }
    }

    /// Returns the number of a value.
    fn value(&self, name: &str) -> Option<usize> {
        match name {
            INPUT => Some(0),
            name => self.nodes.get(name).map(|node| node + 1),
        }
    }

    /// Returns the node of a layer with weights.
    fn layer(&self, field: &'static str, name: &str) -> Result<usize, CalibrationFileError> {
        let node = self.nodes.get(name).copied();
        let node = node.filter(|&node| is_weighted(self.graph, node));
        node.ok_or_else(|| CalibrationFileError::Name {
            field,
            expected: "a convolution or a fully connected layer",
            name: name.to_owned(),
        })
    }
}

/// Returns the ranges by value.
fn ranges(
    written: Vec<WrittenRange>,
    names: &NodeNames<'_>,
) -> Result<Vec<Option<ValueRange>>, CalibrationFileError> {
    let field = "ranges";
    let mut ranges = vec![None; names.nodes.len() + 1];
    for WrittenRange { value, low, high } in written {
        let Some(found) = names.value(&value) else {
            return Err(CalibrationFileError::Name {
                field,
                expected: "a layer, or `input`",
                name: value,
            });
        };
        match ValueRange::new(low, high) {
            Err(why) => return Err(CalibrationFileError::Range { name: value, why }),
            Ok(_) if ranges[found].is_some() => {
                return Err(CalibrationFileError::Twice { field, name: value });
            }
            Ok(range) => ranges[found] = Some(range),
        }
    }
    Ok(ranges)
}

/// Returns the nodes that are kept.
fn kept(
    written: &[String],
    names: &NodeNames<'_>,
) -> Result<BTreeSet<usize>, CalibrationFileError> {
    let field = "kept";
    let mut kept = BTreeSet::new();
    for name in written {
        if !kept.insert(names.layer(field, name)?) {
            let name = name.clone();
            return Err(CalibrationFileError::Twice { field, name });
        }
    }
    Ok(kept)
}

/// Returns the corrections by node.
fn corrections(
    written: Vec<WrittenCorrection>,
    names: &NodeNames<'_>,
) -> Result<BTreeMap<usize, Vec<f32>>, CalibrationFileError> {
    let field = "corrections";
    let mut corrections = BTreeMap::new();
    for WrittenCorrection { layer: name, bias } in written {
        let node = names.layer(field, &name)?;
        let expected = names.graph.nodes()[node].shape.channels();
        let found = bias.len();
        if expected != found {
            return Err(CalibrationFileError::Length {
                name,
                expected,
                found,
            });
        }
        if let Some(at) = bias.iter().position(|number| !number.is_finite()) {
            let found = bias[at];
            return Err(CalibrationFileError::NotFinite { name, at, found });
        }
        if corrections.insert(node, bias).is_some() {
            return Err(CalibrationFileError::Twice { field, name });
        }
    }
    Ok(corrections)
}
