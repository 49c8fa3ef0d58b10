//! Calibrations in JSON files, and their checks.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::digest::NetworkDigest;
use super::digest::own_nodes;
use super::method::RangeMethod;
use super::range::ValueRange;
use super::ranges::{Calibration, is_weighted};
use crate::network::{Graph, Weights};
use crate::reading::ReadError;

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
    /// The text is not a calibration file, or it belongs to another network.
    pub fn from_json(text: &str, graph: &Graph, weights: &Weights) -> Result<Self, ReadError> {
        let wrong = |error: serde_json::Error| {
            ReadError::new(error).at("expected a calibration file of `divisi quantize`")
        };
        let written: WrittenVersion = serde_json::from_str(text).map_err(wrong)?;
        if written.version != VERSION {
            let found = format_args!("{}; run `divisi quantize` again", written.version);
            return Err(ReadError::expected(VERSION, found).at("version"));
        }
        let file: CalibrationFile = serde_json::from_str(text).map_err(wrong)?;
        let expected = NetworkDigest::from_network(graph, weights);
        if file.network != expected {
            let found = format_args!(
                "{}: the calibration belongs to another graph or other weights; run `divisi \
                 quantize` again",
                file.network
            );
            return Err(ReadError::expected(expected, found).at("network"));
        }
        if file.rows == 0 {
            return Err(ReadError::expected("at least 1", 0).at("rows"));
        }
        let names = NodeNames::from_graph(graph);
        let ranges = ranges(file.ranges, &names)?;
        let calibration = Calibration::of_ranges(file.network, file.method, file.rows, ranges);
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
    fn layer(&self, field: &str, name: &str) -> Result<usize, ReadError> {
        let node = self.nodes.get(name).copied();
        let node = node.filter(|&node| is_weighted(self.graph, node));
        node.ok_or_else(|| other_name(field, "a convolution or a fully connected layer", name))
    }
}

/// Returns the error of a name in a field that is not the name of `expected`.
fn other_name(field: &str, expected: &str, name: &str) -> ReadError {
    let expected = format_args!("the name of {expected}");
    ReadError::expected(expected, format_args!("`{name}`")).at(field)
}

fn twice(field: &str, name: &str) -> ReadError {
    ReadError::new(format_args!("`{name}` appears twice")).at(field)
}

/// Returns the ranges by value.
fn ranges(
    written: Vec<WrittenRange>,
    names: &NodeNames<'_>,
) -> Result<Vec<Option<ValueRange>>, ReadError> {
    let field = "ranges";
    let mut ranges = vec![None; names.nodes.len() + 1];
    for WrittenRange { value, low, high } in written {
        let Some(found) = names.value(&value) else {
            return Err(other_name(field, "a layer, or `input`", &value));
        };
        match ValueRange::new(low, high) {
            Err(why) => return Err(why.at(format_args!("{field}: `{value}`"))),
            Ok(_) if ranges[found].is_some() => return Err(twice(field, &value)),
            Ok(range) => ranges[found] = Some(range),
        }
    }
    Ok(ranges)
}

/// Returns the nodes that are kept.
fn kept(written: &[String], names: &NodeNames<'_>) -> Result<BTreeSet<usize>, ReadError> {
    let field = "kept";
    let mut kept = BTreeSet::new();
    for name in written {
        if !kept.insert(names.layer(field, name)?) {
            return Err(twice(field, name));
        }
    }
    Ok(kept)
}

/// Returns the corrections by node.
fn corrections(
    written: Vec<WrittenCorrection>,
    names: &NodeNames<'_>,
) -> Result<BTreeMap<usize, Vec<f32>>, ReadError> {
    let field = "corrections";
    let mut corrections = BTreeMap::new();
    for WrittenCorrection { layer: name, bias } in written {
        let node = names.layer(field, &name)?;
        let expected = names.graph.nodes()[node].shape.channels();
        let wrong = |error: ReadError| error.at(format_args!("{field}: `{name}`"));
        if expected != bias.len() {
            let expected = format_args!("{expected} numbers");
            return Err(wrong(ReadError::expected(expected, bias.len())));
        }
        if let Some(at) = bias.iter().position(|number| !number.is_finite()) {
            let found = format_args!("{} at position {at}", bias[at]);
            return Err(wrong(ReadError::expected("finite numbers", found)));
        }
        if corrections.insert(node, bias).is_some() {
            return Err(twice(field, &name));
        }
    }
    Ok(corrections)
}
