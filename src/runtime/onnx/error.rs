//! Reasons why an ONNX file cannot become a network.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::network::{GraphError, WeightsError};

/// The reason why an ONNX file cannot become a network.
#[derive(Debug, Error)]
pub enum OnnxError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The bytes are not a message of protocol buffers, or the message ends early.
    #[error("not a readable ONNX file: {0}")]
    Unreadable(prost::DecodeError),
    /// The message is not a model that can be served.
    #[error("not a readable ONNX file: {0}")]
    Model(ModelFault),
    /// A tensor cannot be read.
    #[error("tensor `{name}`: {fault}")]
    Tensor {
        /// The tensor's name.
        name: String,
        /// The reason.
        fault: TensorFault,
    },
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

/// The reason why a message is not a model that can be served.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ModelFault {
    /// The model has no graph.
    #[error("it has no graph")]
    NoGraph,
    /// The version of the operators is not supported.
    #[error("operators of version {found}, expected {least} to {most}")]
    Opset {
        /// The version in the file, 0 if there is none.
        found: i64,
        /// The least that is known.
        least: i64,
        /// The greatest that is known.
        most: i64,
    },
    /// The file defines its own operators.
    #[error("it defines {0} operators of its own; export it with functions inlined")]
    Functions(usize),
    /// There are too many nodes.
    #[error("{found} nodes, expected at most {most}")]
    TooManyNodes {
        /// Nodes in the file.
        found: usize,
        /// The most that are taken.
        most: usize,
    },
    /// Two values have one name.
    #[error("value `{0}` is defined twice")]
    MadeTwice(String),
    /// No node makes the value.
    #[error("node {node} reads `{value}`, which no earlier node writes")]
    Missing {
        /// The node that reads it.
        node: NodeLabel,
        /// The value.
        value: String,
    },
    /// The model has no inputs.
    #[error("it has no inputs, so its answers are constants")]
    NoInputs,
    /// Its batch has a fixed size and is processed as a whole.
    #[error("its batch size is {size}, and its answers do not have a row for each sample")]
    FixedBatch {
        /// The samples that it takes.
        size: usize,
    },
    /// Dimensions were given for an input that does not exist.
    #[error("no input is named `{name}`, expected {}", .known.join(", "))]
    NoSuchInput {
        /// The name that was given.
        name: String,
        /// The names of the inputs.
        known: Vec<String>,
    },
    /// The requested output does not exist.
    #[error("no output is named `{name}`, expected {}", .known.join(", "))]
    NoSuchOutput {
        /// The requested name.
        name: String,
        /// The names of the outputs.
        known: Vec<String>,
    },
    /// An input holds no numbers.
    #[error("input `{name}`: expected a tensor of numbers, found {found}")]
    InputType {
        /// The input's name.
        name: String,
        /// Its type.
        found: String,
    },
    /// An initialiser is listed among the inputs with another type.
    #[error("initialiser `{name}`: is declared as {declared}, found {found}")]
    InitialiserType {
        /// Its name.
        name: String,
        /// The type that the input of its name declares.
        declared: String,
        /// Its own type.
        found: String,
    },
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
    /// An input without a value, or with more values or dimensions than a sample may have.
    #[error("input `{name}`: a tensor of {dims:?} is empty or too large")]
    Unreasonable {
        /// The input's name.
        name: String,
        /// Its dimensions.
        dims: Vec<usize>,
    },
    /// The shape of a sample is not in the file, or differs.
    #[error("input `{name}`: takes samples of [{}], found {found}", .expected.join(", "))]
    SampleShape {
        /// The input's name.
        name: String,
        /// Its dimensions as they are written, without the batch.
        expected: Vec<String>,
        /// The requested shape.
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
    /// Samples are longer than a table of the file, such as the position table.
    #[error("samples of {found} tokens are too long: the model has positions for {most}")]
    TooLong {
        /// The requested length.
        found: usize,
        /// The largest length with a network.
        most: usize,
    },
    /// An output's dimension depends on the length of samples without being equal to it.
    #[error(
        "output `{name}`: is {found:?} at length {length}; expected each dimension to be fixed or the length"
    )]
    OutputLength {
        /// The output's name.
        name: String,
        /// The length of samples.
        length: usize,
        /// Its dimensions there, without the batch.
        found: Vec<usize>,
    },
    /// No node makes the output, or it is not a tensor of a sample.
    #[error("output `{0}` is not a tensor computed by the nodes")]
    Output(String),
}

/// The reason why a tensor cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TensorFault {
    /// The type of the values is not supported.
    #[error(
        "values of type {0} are not supported; expected FLOAT, FLOAT16, BFLOAT16, DOUBLE, BOOL or integers of \
         8 to 64 bits"
    )]
    Type(String),
    /// The dimensions are negative or their product is too large.
    #[error("dimensions {0:?} are negative or too large")]
    Dimensions(Vec<i64>),
    /// The number of values is not the product of the dimensions.
    #[error("expected {expected} values, found {found}")]
    Length {
        /// The product of the dimensions.
        expected: usize,
        /// Values in the file, rounded down.
        found: usize,
    },
    /// A whole number is outside of the range of its type.
    #[error("value {at}: expected {least} to {most}, found {found}")]
    Beyond {
        /// The position of the first such value.
        at: usize,
        /// The least number of the type.
        least: i64,
        /// The largest number of the type.
        most: i64,
        /// The value.
        found: i64,
    },
    /// The values lie in a file outside of the model's folder.
    #[error("its values are in `{0}`, which is not a path inside the model's folder")]
    Outside(String),
    /// The values lie in a file that is a link out of the model's folder.
    #[error(
        "its values are in `{0}`, a link out of the model's folder; replace it with a copy \
         (for a Hugging Face cache: download with `--local-dir`)"
    )]
    Linked(String),
    /// The values lie in another file, and the model was not read from a folder.
    #[error("its values are in `{0}`, but the model was not read from a folder")]
    NoFolder(String),
    /// The file of the values cannot be read.
    #[error("its values are in `{file}`: {why}")]
    External {
        /// The file as the model names it.
        file: String,
        /// The reason.
        why: String,
    },
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
    /// A scale of a quantisation is invalid.
    #[error("scale {at} in input {input}: expected {expected}, found {found}")]
    Scale {
        /// The input.
        input: usize,
        /// The position of the first such scale.
        at: usize,
        /// The numbers that it may be.
        expected: &'static str,
        /// The scale.
        found: f32,
    },
    /// The dimensions of the inputs do not fit the operator.
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
