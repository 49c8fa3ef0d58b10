//! A network while it is built from the nodes of a file.
//!
//! A value is a constant, or an activation: a value of the network under the file's dimensions.
//! A view (a reshape, a transposition) is mostly no operation: it is the same activation under
//! another layout.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::activation::{Activation, Value};
use super::arrange::Rearranged;
use super::batch::BatchTrace;
use super::budget::FoldBudget;
use super::ends::type_of;
use super::error::{NodeFault, OnnxError, Unsupported};
use super::floats::{Floats, are_finite};
use super::model::OnnxModel;
use super::node::Node;
use super::proto::TensorProto;
use super::scaled::ScaledProduct;
use super::tensor::Constant;
use crate::network::{
    EncodedPlace, EncodedValues, GraphBuilder, GraphError, NodeId, Op, ParameterOrigin, Shape,
    Weights,
};

/// The reason why a node cannot become an operation.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The node is valid but not supported.
    Unsupported(String),
    /// It contradicts itself or its inputs.
    Fault(NodeFault),
}

impl From<NodeFault> for Refusal {
    fn from(fault: NodeFault) -> Self {
        Refusal::Fault(fault)
    }
}

impl From<GraphError> for Refusal {
    fn from(error: GraphError) -> Self {
        Refusal::Fault(NodeFault::Graph(error))
    }
}

/// A network while it is built.
pub(super) struct PartialNetwork<'a> {
    pub(super) model: &'a OnnxModel,
    /// Names of the answers.
    pub(super) outputs: Vec<&'a str>,
    pub(super) initialisers: HashMap<&'a str, &'a TensorProto>,
    pub(super) values: HashMap<&'a str, Value>,
    /// The known element types of values, by their numbers in `TensorProto.DataType`.
    pub(super) types: HashMap<&'a str, i32>,
    /// The nodes that read each value, by position.
    pub(super) readers: HashMap<&'a str, Vec<usize>>,
    /// Integer values that are held as the numbers they represent.
    pub(super) numbers_held: HashSet<&'a str>,
    /// Products of integers, computed as layers of the numbers they represent, by their answers.
    pub(super) scaled_products: HashMap<&'a str, ScaledProduct<'a>>,
    /// Nodes that were merged into another node's operation.
    pub(super) absorbed: HashSet<usize>,
    /// Values of the network that were brought into another order or shape.
    pub(super) arranged: HashMap<(NodeId, Rearranged), NodeId>,
    /// Operations and constants that a file may repeat, as text, and their values.
    pub(super) repeated: HashMap<String, NodeId>,
    /// The values that depend on the batch, if the file takes more than one sample.
    pub(super) batch: Option<BatchTrace<'a>>,
    /// Whether the rows begin with other values before the inputs. The caller then sets the
    /// signature.
    pub(super) leads: bool,
    /// The values that may still be made of constants.
    pub(super) fold_budget: FoldBudget<'a>,
    pub(super) builder: GraphBuilder,
    /// The last number appended to a node's name, for nodes that make several layers.
    numbers: HashMap<String, usize>,
    pub(super) weights: BTreeMap<String, Arc<Vec<f32>>>,
    /// Weights that stay in the model's file until a network is lowered.
    pub(super) encoded: BTreeMap<String, EncodedValues>,
    /// The layers that they are of.
    places: HashMap<EncodedPlace, String>,
    /// The weights of the same file at another length. Equal weights are shared.
    pub(super) known: Option<&'a Weights>,
    pub(super) unsupported: Vec<Unsupported>,
    /// The error of the first invalid node among them.
    pub(super) fault: Option<OnnxError>,
}

impl<'a> PartialNetwork<'a> {
    /// Creates a network for samples of a shape, without values yet.
    pub(super) fn new(model: &'a OnnxModel, sample: Shape) -> Self {
        let initialisers = model.graph.initializer.iter();
        let initialisers = initialisers.map(|t| (t.name.as_deref().unwrap_or_default(), t));
        let raw = model.graph.initializer.iter().map(|t| t.raw_data.as_ref());
        let held = raw.flatten().map(prost::bytes::Bytes::len).sum();
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, node) in model.nodes().enumerate() {
            for name in node.reads() {
                readers.entry(name).or_default().push(at);
            }
        }
        PartialNetwork {
            model,
            outputs: model.outputs().collect(),
            initialisers: initialisers.collect(),
            values: HashMap::new(),
            types: HashMap::new(),
            readers,
            numbers_held: HashSet::new(),
            scaled_products: HashMap::new(),
            absorbed: HashSet::new(),
            arranged: HashMap::new(),
            repeated: HashMap::new(),
            batch: None,
            leads: false,
            fold_budget: FoldBudget::of_bytes(held),
            builder: GraphBuilder::new(sample),
            weights: BTreeMap::new(),
            encoded: BTreeMap::new(),
            places: HashMap::new(),
            numbers: HashMap::new(),
            known: None,
            unsupported: Vec::new(),
            fault: None,
        }
    }

    /// Returns the values that a node reads; `None` for one that is left out.
    pub(super) fn inputs(&self, node: Node<'a>) -> Result<Vec<Option<Value>>, OnnxError> {
        let names = node.inputs().iter();
        let values = names.map(|name| match name.is_empty() {
            true => Ok(None),
            false => self.value(name).map(Some),
        });
        values.collect()
    }

    /// Returns the value called `name`.
    pub(super) fn value(&self, name: &str) -> Result<Value, OnnxError> {
        match self.values.get(name) {
            Some(value) => Ok(value.clone()),
            None => self.initialiser(name),
        }
    }

    /// Reads an initialiser. It is not kept, because nearly all are read only once.
    fn initialiser(&self, name: &str) -> Result<Value, OnnxError> {
        let Some(tensor) = self.initialisers.get(name) else {
            return Ok(Value::Unknown);
        };
        let in_file = self.model.in_file(tensor);
        let read = Constant::read(tensor, self.model.beside.as_ref(), in_file);
        if let (Some(map), Some(raw)) = (&self.model.map, &tensor.raw_data) {
            map.count_read(raw.len());
        }
        read.map(Value::Constant)
            .map_err(|error| OnnxError::Tensor(error.at(format_args!("tensor `{name}`"))))
    }

    /// Returns the type of a value by its number in `TensorProto.DataType`, if it is known.
    pub(super) fn element_type(&self, name: &str) -> Option<i32> {
        if let Some(found) = self.types.get(name) {
            return Some(*found);
        }
        let initialiser = self.initialisers.get(name).and_then(|t| t.data_type);
        let mut inputs = self.model.graph.input.iter();
        let input = || {
            inputs
                .find(|i| i.name.as_deref() == Some(name))
                .map(|i| type_of(i).0)
        };
        initialiser.or_else(input)
    }

    /// Makes `values` the node's answers. Further answers are not computed.
    pub(super) fn set(&mut self, node: Node<'a>, values: Vec<Value>) {
        let values = values.into_iter().chain(std::iter::repeat(Value::Unknown));
        let named = node.outputs().iter().map(String::as_str).zip(values);
        self.values
            .extend(named.filter(|(name, _)| !name.is_empty()));
    }

    /// Returns whether the value is an answer or read by a node.
    pub(super) fn is_read(&self, name: &str) -> bool {
        self.outputs.contains(&name) || self.readers.contains_key(name)
    }

    /// Adds an operation named after the node, with its tensors of weights by their last names.
    pub(super) fn layer(
        &mut self,
        node: Node<'_>,
        op: Op,
        inputs: &[NodeId],
        weights: Vec<(&str, Vec<f32>)>,
    ) -> Result<NodeId, Refusal> {
        let held = weights.into_iter().map(|(last, v)| (last, v.into()));
        self.layer_of(node, op, inputs, held.collect())
    }

    /// Adds an operation as [`PartialNetwork::layer`] does, with tensors of weights that may stay in
    /// the model's file.
    pub(super) fn layer_of(
        &mut self,
        node: Node<'_>,
        op: Op,
        inputs: &[NodeId],
        weights: Vec<(&str, Floats)>,
    ) -> Result<NodeId, Refusal> {
        let name = self.free_name(node.name());
        let origins = self.origins(op, &weights);
        let is_known = |last: &str| origins.iter().any(|(of, _)| *of == last);
        let weights: Vec<_> = weights
            .into_iter()
            .filter(|(last, _)| !is_known(last))
            .collect();
        let id = self.builder.add_from(name.as_str(), op, inputs, origins)?;
        for (last, values) in weights {
            let operand = matches!(op, Op::Tensor(_));
            if !(operand || values.are_finite()) {
                let at = values.iter().take_while(|v| v.is_finite()).count();
                let why = format!("value {at} of its {last} is not a finite number");
                return Err(Refusal::Fault(NodeFault::Shapes(why)));
            }
            self.hold_weights(&name, last, values);
        }
        Ok(id)
    }

    /// Keeps a tensor of weights of a layer: its place in the file, or its values.
    fn hold_weights(&mut self, layer: &str, last: &str, values: Floats) {
        let name = format!("{layer}.{last}");
        match values {
            Floats::InFile(values) => {
                let place = self.places.entry(values.place());
                place.or_insert_with(|| layer.to_owned());
                self.encoded.insert(name, values);
            }
            values => {
                let values = self.shared(&name, values.into());
                self.weights.insert(name, values);
            }
        }
    }

    /// Returns the tensors that a layer shares with an earlier one of the same operation: weights
    /// that stay in the file, and equal ones.
    fn origins(&self, op: Op, weights: &[(&str, Floats)]) -> Vec<(&'static str, ParameterOrigin)> {
        let mut in_file = weights.iter().filter_map(|(_, values)| values.place());
        let Some(other) = in_file.find_map(|place| self.places.get(&place)) else {
            return Vec::new();
        };
        let mut origins = self.builder.origins_in(other, op);
        origins.retain(|(last, _)| {
            let own = weights.iter().find(|(of, _)| of == last);
            own.is_none_or(|(_, values)| self.holds_same(&format!("{other}.{last}"), values))
        });
        origins
    }

    /// Returns whether the tensor of that name has the same values: one place of the file, or equal
    /// bit by bit.
    fn holds_same(&self, name: &str, values: &Floats) -> bool {
        let held = self.weights.get(name);
        let in_file = self.encoded.get(name).map(EncodedValues::place);
        match values.place() {
            Some(place) => in_file == Some(place),
            None => held.is_some_and(|held| are_same(held, values)),
        }
    }

    /// Returns the known values of that name if they are equal bit by bit, else `values`.
    fn shared(&self, name: &str, values: Vec<f32>) -> Arc<Vec<f32>> {
        let known = self.known.and_then(|known| known.shared(name));
        let same = known.filter(|known| are_same(known, &values));
        same.unwrap_or_else(|| Arc::new(values))
    }

    /// Returns a name that no layer has: `written`, or that with a number.
    fn free_name(&mut self, written: &str) -> String {
        let mut name = written.to_owned();
        // A node may make thousands of layers: the numbers given before are not tried again.
        let mut number = self.numbers.get(written).copied().unwrap_or(1);
        while self.builder.find(&name).is_some() || name.is_empty() {
            number += 1;
            name = format!("{written}.{number}");
        }
        self.numbers.insert(written.to_owned(), number);
        name
    }

    /// Returns the node of the network that makes an activation, or `None` for the input.
    pub(super) fn maker(&self, id: NodeId) -> Option<&crate::network::Node> {
        self.builder.node(id)
    }

    /// Returns the shape of an activation in the network.
    pub(super) fn shape(&self, id: NodeId) -> Shape {
        self.builder.shape(id)
    }

    /// Merges an addition of a constant into the node before it. Returns the constant that the only
    /// reader of the node's answer, of `rank` dimensions, adds to it, or `None` if the reader does
    /// something else.
    pub(super) fn absorb_bias(
        &mut self,
        node: Node<'a>,
        features: usize,
        rank: usize,
    ) -> Option<Vec<f32>> {
        let name = node.outputs().first()?;
        let (at, next) = self.only_reader(name)?;
        if next.operator() != Some("Add") || self.outputs.contains(&name.as_str()) {
            return None;
        }
        let other = next.inputs().iter().find(|input| *input != name)?;
        let Value::Constant(constant) = self.value(other).ok()? else {
            return None;
        };
        // More dimensions than the product has would be the sum's too.
        let fits = constant.dims.len() <= rank && constant.dims.last() == Some(&features);
        let is_row = fits && constant.values.len() == features;
        let bias = constant.as_floats().filter(|_| is_row)?.to_vec();
        if !are_finite(&bias) {
            return None;
        }
        self.absorbed.insert(at);
        Some(bias)
    }

    /// Iterates over the nodes that read a value.
    pub(super) fn readers_of(&self, name: &str) -> impl Iterator<Item = Node<'a>> {
        let at = self.readers.get(name).into_iter().flatten();
        at.filter_map(|at| self.model.nodes().nth(*at))
    }

    /// Returns the only node that reads a value, and its position.
    pub(super) fn only_reader(&self, name: &str) -> Option<(usize, Node<'a>)> {
        let &[at] = self.readers.get(name)?.as_slice() else {
            return None;
        };
        Some((at, self.model.nodes().nth(at)?))
    }

    /// Gives the value of `node` also to the node that was merged into its operation.
    pub(super) fn answer_also(&mut self, node: Node<'a>, activation: &Activation) {
        let name = node.outputs().first();
        let next = name.and_then(|name| self.only_reader(name));
        if let Some((_, next)) = next {
            self.set(next, vec![activation.clone().into()]);
        }
    }
}

/// Returns whether two lists of values are equal bit by bit.
fn are_same(one: &[f32], other: &[f32]) -> bool {
    let bits = |values| bytemuck::cast_slice::<f32, u32>(values);
    bits(one) == bits(other)
}
