//! A decoded file, checked as a whole: versions, names and order.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use prost::Message;
use prost::bytes::Bytes;

use super::beside::{FilesBeside, MappedFile};
use super::ends::{name_of, size, type_of};
use super::error::OnnxError;
use super::node::Node;
use super::proto::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use super::tensor::{EXTERNAL, Values, type_name};
use crate::network::{Map, WeightsError};
use crate::reading::ReadError;

/// The supported versions of the operators.
const OPSETS: std::ops::RangeInclusive<i64> = 7..=27;

/// The most nodes of a file; more are taken for a mistake.
const MAX_NODES: usize = 100_000;

/// A model that was decoded and checked as a whole.
#[derive(Debug)]
pub struct OnnxModel {
    pub(super) graph: GraphProto,
    pub(super) opset: i64,
    /// The external files of the model, unless it was decoded from memory.
    pub(super) beside: Option<FilesBeside>,
    /// The file itself, if the model was not decoded from memory.
    pub(super) map: Option<Arc<Map>>,
    /// A placeholder for the operations that split the inputs and join the outputs.
    ends: NodeProto,
}

impl OnnxModel {
    /// Decodes the file at `path`. Values in other files are read from its folder.
    ///
    /// # Errors
    /// The file cannot be read, or holds no model that can be served.
    pub fn open(path: &Path) -> Result<Self, OnnxError> {
        let file = MappedFile::open(path).map_err(|error| match error {
            WeightsError::Io(error) => OnnxError::Io(error),
            other => other.into(),
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(OnnxModel {
            beside: Some(FilesBeside::in_folder(folder)),
            map: Some(file.map),
            ..Self::decode(file.bytes)?
        })
    }

    /// Decodes a model from memory. Its values lie in it.
    ///
    /// # Errors
    /// As for [`OnnxModel::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, OnnxError> {
        Ok(Self::decode(Bytes::from(bytes))?)
    }

    fn decode(bytes: Bytes) -> Result<Self, ReadError> {
        let model = ModelProto::decode(bytes).map_err(ReadError::new)?;
        let own = |domain: Option<&str>| matches!(domain.unwrap_or_default(), "" | "ai.onnx");
        let mut sets = model.opset_import.iter();
        let set = sets.find(|set| own(set.domain.as_deref()));
        let opset = set.and_then(|set| set.version).unwrap_or_default();
        let graph = model.graph;
        let graph = graph.ok_or_else(|| ReadError::new("it has no graph"))?;
        if !OPSETS.contains(&opset) {
            let (least, most) = (OPSETS.start(), OPSETS.end());
            return Err(ReadError::new(format_args!(
                "operators of version {opset}, expected {least} to {most}"
            )));
        }
        if !model.functions.is_empty() {
            let count = model.functions.len();
            return Err(ReadError::new(format_args!(
                "it defines {count} operators of its own; export it with functions inlined"
            )));
        }
        let model = OnnxModel {
            graph,
            opset,
            beside: None,
            map: None,
            ends: NodeProto {
                name: Some("ends".to_owned()),
                ..NodeProto::default()
            },
        };
        model.check()?;
        Ok(model)
    }

    /// Returns the values of a tensor in place in the mapped file, or `None` if they are decoded.
    /// Values read in place may change with the file, as for any file of weights.
    pub(super) fn in_file(&self, tensor: &TensorProto) -> Option<Values> {
        self.map.as_ref()?;
        let is_elsewhere = tensor.data_location == Some(EXTERNAL);
        let raw = tensor.raw_data.as_ref().filter(|_| !is_elsewhere)?;
        Values::in_file(tensor.data_type.unwrap_or_default(), raw)
    }

    /// Returns the files that values were read from, which may stay there.
    pub(super) fn maps(&self) -> Vec<Arc<Map>> {
        let beside = self.beside.as_ref().map(FilesBeside::maps);
        let own = self.map.iter().cloned();
        own.chain(beside.unwrap_or_default()).collect()
    }

    /// Returns the nodes in the order of the file, in which they can run.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        let nodes = self.graph.node.iter();
        nodes.map(|proto| Node::new(proto, self.opset))
    }

    /// Returns the node that operations at the inputs and outputs are named after.
    pub(super) fn ends(&self) -> Node<'_> {
        Node::new(&self.ends, self.opset)
    }

    /// Checks that every value is defined exactly once, before its first use.
    fn check(&self) -> Result<(), ReadError> {
        let found = self.graph.node.len();
        if found > MAX_NODES {
            let wrong = format_args!("{found} nodes, expected at most {MAX_NODES}");
            return Err(ReadError::new(wrong));
        }
        self.check_listed()?;
        let initialisers = self.graph.initializer.iter();
        let mut made: HashSet<&str> = initialisers.filter_map(|t| t.name.as_deref()).collect();
        let inputs = self.graph.input.iter();
        made.extend(inputs.filter_map(|i| i.name.as_deref()));
        for node in self.nodes() {
            let read = node.inputs().iter().filter(|name| !name.is_empty());
            if let Some(value) = read.into_iter().find(|name| !made.contains(name.as_str())) {
                return Err(ReadError::new(format_args!(
                    "node {} reads `{value}`, which no earlier node writes",
                    node.label()
                )));
            }
            for name in node.outputs().iter().filter(|name| !name.is_empty()) {
                if !made.insert(name) {
                    let wrong = format_args!("value `{name}` is defined twice");
                    return Err(ReadError::new(wrong));
                }
            }
        }
        Ok(())
    }

    /// Checks that initialisers have the types declared by the inputs of the same name.
    fn check_listed(&self) -> Result<(), ReadError> {
        let initialisers = self.graph.initializer.iter();
        let types: HashMap<&str, i32> = initialisers
            .filter_map(|t| Some((t.name.as_deref()?, t.data_type?)))
            .collect();
        for input in &self.graph.input {
            let (declared, name) = (type_of(input).0, name_of(input));
            if let Some(found) = types.get(name).filter(|f| declared > 0 && **f != declared) {
                return Err(ReadError::new(format_args!(
                    "initialiser `{name}`: is declared as {}, found {}",
                    type_name(declared),
                    type_name(*found)
                )));
            }
        }
        Ok(())
    }

    /// Returns the inputs without the initialisers. Files before IR version 4 list initialisers
    /// among the inputs.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &ValueInfoProto> {
        let initialisers = self.graph.initializer.iter();
        let constant: HashSet<&str> = initialisers.filter_map(|t| t.name.as_deref()).collect();
        let inputs = self.graph.input.iter();
        inputs.filter(move |i| !constant.contains(i.name.as_deref().unwrap_or_default()))
    }

    /// Returns the names of the inputs without the initialisers.
    pub fn input_names(&self) -> impl Iterator<Item = &str> {
        self.inputs().map(|i| i.name.as_deref().unwrap_or_default())
    }

    /// Returns the dimensions of an input in the file, each `None` if it is open. Returns `None` if
    /// the input does not exist or its rank is open.
    pub fn input_dims(&self, name: &str) -> Option<Vec<Option<usize>>> {
        let input = self.inputs().find(|input| name_of(input) == name)?;
        let dims = type_of(input).1?;
        Some(dims.iter().map(size).collect())
    }

    /// Returns whether all inputs leave their first dimension, the batch, open.
    pub fn takes_batches(&self) -> bool {
        let is_open = |input: &ValueInfoProto| {
            let first = type_of(input).1.and_then(<[_]>::first);
            first.is_some_and(|dim| size(dim).is_none())
        };
        self.inputs().all(is_open)
    }

    /// Returns the names of the external files that hold values of the model, each once.
    pub fn files_beside(&self) -> BTreeSet<&str> {
        let initialisers = self.graph.initializer.iter();
        let elsewhere = initialisers.filter(|t| t.data_location == Some(EXTERNAL));
        let entries = elsewhere.flat_map(|tensor| &tensor.external_data);
        let locations = entries.filter(|entry| entry.key.as_deref() == Some("location"));
        locations
            .filter_map(|entry| entry.value.as_deref())
            .collect()
    }

    /// Keeps one output, and the nodes that it depends on.
    ///
    /// # Errors
    /// No output has the name.
    pub fn answering(mut self, output: &str) -> Result<Self, OnnxError> {
        let known: Vec<String> = self.outputs().map(str::to_owned).collect();
        self.graph.output.retain(|kept| name_of(kept) == output);
        match self.graph.output.is_empty() {
            false => Ok(self),
            true => Err(ReadError::new(format_args!(
                "no output is named `{output}`, expected {}",
                known.join(", ")
            ))
            .into()),
        }
    }

    /// Returns the names of the outputs.
    pub(super) fn outputs(&self) -> impl Iterator<Item = &str> {
        let outputs = self.graph.output.iter();
        outputs.map(|output| output.name.as_deref().unwrap_or_default())
    }
}
