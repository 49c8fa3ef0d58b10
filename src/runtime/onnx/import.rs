//! Turns the nodes of a file into operations of a network, one after the other.

use std::collections::HashSet;

use super::activation::{Activation, Value};
use super::constants::{failed, folded, shapes};
use super::ends::{FLOAT, OnnxTensor, name_of, signature, size, type_of, written};
use super::error::{ModelFault, NodeFault, OnnxError, Unsupported};
use super::fold::growth;
use super::model::OnnxModel;
use super::node::Node;
use super::open_dims::{example, open_dims};
use super::operators;
use super::partial::{PartialNetwork, Refusal};
use super::patterns::{Patterns, SpelledOut, Whole};
use super::proto::{DimensionProto, ValueInfoProto};
use super::tensor::{Constant, Values};
use crate::network::{Graph, Shape, Unary, Weights};
use crate::reading::ReadError;

/// A network with its weights, inputs and answers.
#[derive(Debug)]
pub struct OnnxNetwork {
    /// The operations.
    pub graph: Graph,
    /// The values of all parameters.
    pub weights: Weights,
    /// The inputs, one after another in the rows that the network takes.
    pub inputs: Vec<OnnxTensor>,
    /// The outputs, one after another in the rows that the network answers.
    pub outputs: Vec<OnnxTensor>,
}

impl OnnxModel {
    /// Turns the model into a network for samples of `shape`, or of the shape in the file. The
    /// dimensions of several inputs, or of one input that is not a batch of images or vectors, come
    /// from the file: see [`OnnxModel::network_of`].
    ///
    /// # Errors
    /// The model does not take such samples, or holds unsupported nodes. The error lists all of
    /// them.
    pub fn network(&self, shape: Option<Shape>) -> Result<OnnxNetwork, OnnxError> {
        let mut inputs = self.inputs();
        let (Some(only), None) = (inputs.next(), inputs.next()) else {
            return self.network_of(&[]);
        };
        let is_whole = |shape: Shape| {
            let asked: Vec<usize> = shape.into();
            let sizes = type_of(only).1.unwrap_or_default().iter().map(size);
            let sizes: Vec<Option<usize>> = sizes.collect();
            asked.iter().map(|d| Some(*d)).eq(sizes.iter().copied())
                || sizes.is_empty() && asked == [1]
        };
        let sample = match (shape, samples(only)) {
            (None, _) if self.fixed_batch().is_some() => return self.network_of(&[]),
            (None, None) => return self.network_of(&[]),
            (Some(shape), None) if is_whole(shape) => return self.network_of(&[]),
            (None, Some(dims)) => dims.iter().map(size).collect(),
            (Some(shape), _) => Some(Vec::from(shape)),
        };
        let written_dims = type_of(only).1.unwrap_or_default();
        let dims = samples(only).unwrap_or(written_dims.get(1..).unwrap_or_default());
        let fits = |asked: &Vec<usize>| {
            let sizes = dims.iter().map(size);
            asked.len() == dims.len() && sizes.zip(asked).all(|(d, a)| d.is_none_or(|d| d == *a))
        };
        let Some(sample) = sample.filter(fits) else {
            let name = name_of(only).to_owned();
            let expected: Vec<String> = dims.iter().map(written).collect();
            return Err(OnnxError::Model(match shape {
                Some(shape) => ModelFault::Other(ReadError::new(format_args!(
                    "input `{name}`: takes samples of [{}], found {shape}",
                    expected.join(", ")
                ))),
                None => ModelFault::OpenDims {
                    name,
                    expected,
                    open: open_dims(dims),
                    example: example(dims),
                },
            }));
        };
        self.network_of(&[(name_of(only), [vec![1], sample].concat())])
    }

    /// Turns the model into a network for one sample. `given` holds the dimensions of inputs by
    /// name, with a batch of 1 if the file has a batch.
    ///
    /// Other inputs have the dimensions in the file, and a batch of 1 if their first dimension
    /// varies. A first dimension that is fixed to more than 1 is the batch if all nodes keep its
    /// samples apart. Otherwise it is part of the sample.
    ///
    /// # Errors
    /// The model does not take such inputs, varying dimensions are not given, or nodes are
    /// unsupported. The error lists all of them.
    pub fn network_of(&self, given: &[(&str, Vec<usize>)]) -> Result<OnnxNetwork, OnnxError> {
        let made = self.network_with(given);
        made.map_err(|error| self.refused(given, error))
    }

    fn network_with(&self, given: &[(&str, Vec<usize>)]) -> Result<OnnxNetwork, OnnxError> {
        let inputs = self.bound(given).map_err(OnnxError::Model)?;
        let Some(size) = self.fixed_batch() else {
            return PartialNetwork::taking(self, &inputs, 0)?.complete(inputs, None);
        };
        let mut single = inputs.clone();
        single.iter_mut().for_each(|input| input.dims[0] = 1);
        let is_asked = single == inputs;
        let by_row = PartialNetwork::taking(self, &single, 0)
            .and_then(|network| network.complete(single, Some(size)));
        match by_row {
            Err(_) if !is_asked => PartialNetwork::taking(self, &inputs, 0)?.complete(inputs, None),
            by_row => by_row,
        }
    }
}

/// Returns the dimensions of a sample if an input is a batch of images or vectors.
fn samples(input: &ValueInfoProto) -> Option<&[DimensionProto]> {
    match type_of(input) {
        (FLOAT, Some([_, sample @ ..])) if matches!(sample.len(), 1 | 3) => Some(sample),
        _ => None,
    }
}

impl<'a> PartialNetwork<'a> {
    /// Adds all nodes that the outputs need.
    ///
    /// If the file takes a batch of a fixed `size`, its answers must be rows of the samples.
    pub(super) fn complete(
        mut self,
        inputs: Vec<OnnxTensor>,
        size: Option<usize>,
    ) -> Result<OnnxNetwork, OnnxError> {
        let needed = self.needed();
        let patterns = Patterns::find(&self);
        self.absorbed.extend(&patterns.inner);
        for (at, node) in self.model.nodes().enumerate() {
            if !self.is_typed(node) {
                self.set(node, Vec::new());
                continue;
            }
            match patterns.ends.get(&at) {
                _ if !needed.contains(&at) => {}
                _ if self.absorbed.contains(&at) => self.follow_absorbed(node)?,
                Some(whole) => self.spelled_out(node, *whole)?,
                None => self.node(node)?,
            }
        }
        self.check_outputs();
        match (self.unsupported.len(), self.fault.take()) {
            (0, _) => {}
            (1, Some(only)) => return Err(only),
            _ => return Err(OnnxError::Unsupported(self.unsupported)),
        }
        if let Some(size) = size.filter(|_| !self.answers_by_row()) {
            return Err(ReadError::new(format_args!(
                "its batch size is {size}, and its answers do not have a row for each sample"
            ))
            .into());
        }
        let outputs = self.answer()?;
        let graph = match self.leads {
            true => self.builder.build()?,
            false => self.builder.build_with(signature(&inputs, &outputs))?,
        };
        let maps = self.model.maps();
        let weights = Weights::with_encoded(self.weights, self.encoded, maps, &graph)?;
        Ok(OnnxNetwork {
            graph: graph.with_ids(&weights).with_steps_of(&weights),
            weights,
            inputs,
            outputs,
        })
    }

    /// Returns the nodes that the outputs depend on, by position.
    fn needed(&self) -> HashSet<usize> {
        let nodes: Vec<Node<'_>> = self.model.nodes().collect();
        let mut wanted = self.outputs.iter().copied().collect::<HashSet<&str>>();
        let mut needed = HashSet::new();
        for (at, node) in nodes.iter().enumerate().rev() {
            if node
                .outputs()
                .iter()
                .any(|name| wanted.contains(name.as_str()))
            {
                needed.insert(at);
                wanted.extend(node.reads());
            }
        }
        needed
    }

    /// Adds one operation instead of the nodes of a pattern. `end` is the last of them.
    fn spelled_out(&mut self, end: Node<'a>, whole: SpelledOut<'a>) -> Result<(), OnnxError> {
        let value = self.value(whole.input)?;
        let added = match whole.whole {
            Whole::Function(function) => operators::add_activation(self, end, function, &value),
            Whole::NanToZero => operators::add_unary(self, end, Unary::NanToZero, &value),
            Whole::Norm { eps, scale, shift } => {
                let by = [self.value(scale)?, self.value(shift)?];
                operators::add_norm(self, end, &value, eps, by)
            }
        };
        if let (Whole::Norm { .. }, Some(dims)) = (whole.whole, value.dims()) {
            self.follow_norm(end, whole.input, dims.len());
        }
        self.keep(end, added, &[Some(value)])?;
        if let Some(output) = end.outputs().first() {
            self.follow_as(whole.input, output);
        }
        Ok(())
    }

    /// Follows a node that was merged into another node's operation.
    fn follow_absorbed(&mut self, node: Node<'a>) -> Result<(), OnnxError> {
        let is_made = |name: &String| self.values.contains_key(name.as_str());
        if self.batch.is_some() && node.outputs().iter().any(is_made) {
            let inputs = self.inputs(node)?;
            self.follow(node, &inputs);
        }
        Ok(())
    }

    fn node(&mut self, node: Node<'a>) -> Result<(), OnnxError> {
        let inputs = self.inputs(node)?;
        if let (Some("If"), Some(Some(Value::Constant(holds)))) = (node.operator(), inputs.first())
            && let Some(holds) = holds.as_scalar()
        {
            self.follow_branch(node, holds != 0.0, &inputs);
            return self.branch(node, holds != 0.0);
        }
        self.growth_is_bounded(node, &inputs)?;
        let quantised = self.quantised_constant(node, &inputs);
        let known = quantised.or_else(|| self.cast_constant(node, &inputs));
        if let Some(folded) = known.or_else(|| folded(node, &inputs)) {
            let constants = folded.map_err(|fault| failed(node, fault))?;
            let made = constants.iter().map(|c| c.values.len()).sum();
            match (node.operator(), node.outputs().first()) {
                // Its values are the file's own.
                (Some("Constant"), Some(name)) => self.fold_budget.count(name, made),
                (Some("ConstantOfShape"), _) => {
                    let filled = self.fold_budget.fill(made);
                    filled.map_err(|fault| failed(node, fault))?;
                }
                _ => {
                    let spent = self.fold_budget.spend(made);
                    spent.map_err(|fault| failed(node, fault))?;
                }
            }
            self.follow_folded(node, &inputs, &constants)?;
            self.set(node, constants.into_iter().map(Value::Constant).collect());
            return Ok(());
        }
        let added = operators::add(self, node, &inputs);
        self.keep(node, added, &inputs)?;
        self.follow(node, &inputs);
        Ok(())
    }

    /// Checks that a node with only constant inputs stays within the file's budget.
    pub(super) fn growth_is_bounded(
        &mut self,
        node: Node<'a>,
        inputs: &[Option<Value>],
    ) -> Result<(), OnnxError> {
        let is_constant = |value: &Value| matches!(value, Value::Constant(_));
        if !inputs.iter().flatten().all(is_constant) {
            return Ok(());
        }
        self.count_initialisers(node, inputs);
        let unmade = inputs.iter().flatten().map(unmade).sum();
        let growth = growth(node, inputs).and_then(|values| {
            self.fold_budget.check(values)?;
            self.fold_budget.check(unmade)
        });
        growth.map_err(|fault| failed(node, fault))
    }

    fn count_initialisers(&mut self, node: Node<'a>, inputs: &[Option<Value>]) {
        for (name, value) in node.inputs().iter().zip(inputs) {
            if let Some(Value::Constant(constant)) = value
                && self.initialisers.contains_key(name.as_str())
            {
                self.fold_budget.count(name, constant.values.len());
            }
        }
    }

    /// Adds the nodes of the branch of an `If` that is taken.
    fn branch(&mut self, node: Node<'a>, holds: bool) -> Result<(), OnnxError> {
        let name = if holds { "then_branch" } else { "else_branch" };
        let Some(graph) = node.attribute(name).and_then(|a| a.g.as_ref()) else {
            let expected = "a graph".into();
            return Err(failed(node, NodeFault::Attribute { name, expected }));
        };
        for tensor in &graph.initializer {
            let name = tensor.name.as_deref().unwrap_or_default();
            // An earlier branch may have made a value of that name.
            self.values.remove(name);
            self.types.remove(name);
            self.initialisers.insert(name, tensor);
        }
        for proto in &graph.node {
            let inner = Node::new(proto, node.opset);
            match self.is_typed(inner) {
                true => self.node(inner)?,
                false => self.set(inner, Vec::new()),
            }
        }
        let outputs = graph.output.iter().map(|o| self.value(name_of(o)));
        let values = outputs.collect::<Result<Vec<_>, _>>()?;
        self.set(node, values);
        for (inner, outer) in graph.output.iter().zip(node.outputs()) {
            self.follow_as(name_of(inner), outer);
            let found = self.element_type(name_of(inner));
            self.types
                .extend(found.map(|found| (outer.as_str(), found)));
        }
        Ok(())
    }

    /// Keeps the answers of a node, or the reason why it has none.
    fn keep(
        &mut self,
        node: Node<'a>,
        added: Result<Vec<Activation>, Refusal>,
        inputs: &[Option<Value>],
    ) -> Result<(), OnnxError> {
        let why = match added {
            Ok(made) => {
                self.set(node, made.into_iter().map(Value::Activation).collect());
                return Ok(());
            }
            // The error also lists other faults of the model.
            Err(Refusal::Fault(fault)) => {
                let why = fault.to_string();
                self.fault.get_or_insert_with(|| failed(node, fault));
                why
            }
            Err(Refusal::Unsupported(why)) => why,
        };
        // A node after an unsupported one is not checked.
        if !why.is_empty() {
            self.unsupported.push(Unsupported {
                node: node.label(),
                why,
                opset: node.opset,
                shapes: shapes(inputs),
            });
        }
        self.set(node, Vec::new());
        Ok(())
    }
}

/// Returns the number of values of a constant that the first read would make.
fn unmade(value: &Value) -> usize {
    match value {
        Value::Constant(Constant {
            values: Values::Floats(floats),
            ..
        }) => floats.unmade(),
        _ => 0,
    }
}
