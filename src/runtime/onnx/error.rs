//! Reasons why an ONNX file cannot become a network.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::network::{GraphError, WeightsError};
use crate::reading::ReadError;

/// The reason why an ONNX file cannot become a network.
#[derive(Debug, Error)]
pub enum OnnxError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a model that can be served.
    #[error("not a readable ONNX file: {0}")]
    Model(ModelFault),
    /// A tensor cannot be read.
    #[error(transparent)]
    Tensor(ReadError),
    /// A node does not make sense.
    #[error("node {node}: {fault}")]
    Node {
        /// The node.
        node: NodeLabel,
        /// The reason.
        fault: Box<NodeFault>,
    },
    /// All unsupported nodes.
    #[error("{}", listed(.0))]
    Unsupported(Vec<Unsupported>),
    /// The operations do not form a network.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The constants do not fit the network's weights.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

impl From<ReadError> for OnnxError {
    fn from(error: ReadError) -> Self {
        OnnxError::Model(ModelFault::Other(error))
    }
}

/// The reason why a file is not a model that can be served.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ModelFault {
    /// The dimensions of an input are not in the file, or differ.
    #[error("input `{name}`: takes [{}], found {found}", .expected.join(", "))]
    Dims {
        /// The input's name.
        name: String,
        /// Its dimensions as they are written.
        expected: Vec<String>,
        /// The dimensions that were given.
        found: String,
    },
    /// Dimensions are open and their sizes are not given.
    #[error(
        "input `{name}`: takes samples of [{}] and leaves {} open; set all sizes \
         with --shape {example} or `shape = [{example}]` in [input]",
        .expected.join(", "),
        .open.join(" and ")
    )]
    OpenDims {
        /// The input's name.
        name: String,
        /// Its dimensions as they are written, without the batch.
        expected: Vec<String>,
        /// The open dimensions, by their names or positions.
        open: Vec<String>,
        /// A shape that it may take.
        example: String,
    },
    /// Dimensions of one of several inputs are open and their sizes are not given.
    #[error(
        "input `{name}`: is [{}] and leaves {} open; set all sizes with `shape` in a table \
         `[[input.tensors]]` of the manifest",
        .expected.join(", "),
        .open.join(" and ")
    )]
    OpenTensor {
        /// The input's name.
        name: String,
        /// Its dimensions as they are written.
        expected: Vec<String>,
        /// The open dimensions, by their names or positions.
        open: Vec<String>,
    },
    /// Another reason.
    #[error(transparent)]
    Other(#[from] ReadError),
}

/// The reason why a node is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum NodeFault {
    /// An input that the operator needs is not there.
    #[error("input {0} is missing")]
    NoInput(usize),
    /// An attribute has no usable value.
    #[error("attribute `{name}`: expected {expected}")]
    Attribute {
        /// The attribute's name.
        name: &'static str,
        /// The values that it may have.
        expected: String,
    },
    /// The inputs do not fit the operator.
    #[error("{0}")]
    Shapes(String),
    /// The operation cannot be added to the network.
    #[error("{0}")]
    Graph(GraphError),
}

/// A node, identified for a reader of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLabel {
    /// Its name, or its first output's.
    pub name: String,
    /// Its operator, with the domain if it is not ONNX's own.
    pub operator: String,
}

impl fmt::Display for NodeLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", self.name, self.operator)
    }
}

/// A node that cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The node.
    pub node: NodeLabel,
    /// The reason.
    pub why: String,
    /// The version of its operator.
    pub opset: i64,
    /// The dimensions of its inputs as a text.
    pub shapes: String,
}

/// The most nodes of one operator and reason that a message names.
const NAMED: usize = 4;

/// Returns all nodes, grouped by operator and reason.
fn listed(nodes: &[Unsupported]) -> String {
    let mut groups: Vec<(&Unsupported, Vec<&str>)> = Vec::new();
    for one in nodes {
        let same = |group: &&mut (&Unsupported, Vec<&str>)| {
            let first = group.0;
            first.node.operator == one.node.operator && first.why == one.why
        };
        match groups.iter_mut().find(same) {
            Some((_, names)) => names.push(&one.node.name),
            None => groups.push((one, vec![&one.node.name])),
        }
    }
    let groups = groups.iter().map(|(one, names)| {
        let Unsupported {
            node,
            why,
            opset,
            shapes,
        } = one;
        let operator = &node.operator;
        let shown = names[..names.len().min(NAMED)].join("`, `");
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("\n  {operator} (`{shown}`{more}): {why}; opset {opset}, inputs {shapes}")
    });
    let count = nodes.len();
    let all: String = groups.collect();
    let nodes = if count == 1 { "node" } else { "nodes" };
    format!("{count} {nodes} cannot be computed:{all}")
}
