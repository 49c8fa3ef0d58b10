//! Whether a file keeps the samples of a batch apart.
//!
//! A network is made for one sample, and runs each sample of a batch by itself. That is what the
//! file says only where no node mixes samples, and where no number follows from how many there
//! are. So beside the values for one sample it is followed what they would be for a larger
//! batch: where its samples lie in each activation, and the other value of each constant.
//! Nodes that make no sense for a larger batch say that the file takes single samples alone;
//! nothing can be mixed then.

mod lookups;
mod moves;
mod place;
mod products;
mod rules;

use std::collections::HashMap;

use super::activation::Value;
use super::error::{NodeFault, OnnxError, Unsupported};
use super::import::{failed, folded, shapes};
use super::layout::Layout;
use super::node::Node;
use super::partial::PartialNetwork;
use super::tensor::Constant;
use place::Place;

/// The size of a batch that stands for all others.
const ANY_BATCH: usize = 3;

/// A value that is another one for a batch than for one sample.
#[derive(Clone, Debug)]
enum Batched {
    /// A constant as it is for the batch.
    Constant(Constant),
    /// An activation, which holds the samples at a place.
    Samples(Place),
    /// Positions of which the first is the sample's own number in the batch.
    Numbered(Place),
}

/// The reason why a node is not followed.
#[derive(Debug)]
enum BatchFault {
    /// It mixes samples, or depends on how many there are.
    Mixes(String),
    /// It makes no sense for a larger batch.
    Single,
}

impl From<NodeFault> for BatchFault {
    fn from(_: NodeFault) -> Self {
        BatchFault::Single
    }
}

fn mixes<T>(axis: usize) -> Result<T, BatchFault> {
    Err(BatchFault::Mixes(format!(
        "along axis {axis} it would mix the samples of a batch"
    )))
}

/// The values that depend on the batch, by name.
#[derive(Debug)]
pub(super) struct BatchTrace<'a> {
    size: usize,
    /// Whether the file takes this many samples and no others.
    is_fixed: bool,
    values: HashMap<&'a str, Batched>,
}

impl<'a> BatchTrace<'a> {
    /// Starts with inputs whose first axis is a batch, of a `fixed` size or of any.
    pub(super) fn new(fixed: Option<usize>, inputs: impl Iterator<Item = &'a str>) -> Self {
        let values = inputs.map(|name| (name, Batched::Samples(Place::FIRST)));
        BatchTrace {
            size: fixed.unwrap_or(ANY_BATCH),
            is_fixed: fixed.is_some(),
            values: values.collect(),
        }
    }

    /// Returns the axis along which a value holds samples.
    pub(super) fn axis(&self, name: &str) -> Option<usize> {
        match self.values.get(name)? {
            Batched::Constant(_) => None,
            Batched::Samples(place) | Batched::Numbered(place) => Some(place.axis),
        }
    }

    /// Whether a value is one row after another of all samples.
    pub(super) fn is_by_row(&self, name: &str) -> bool {
        let place = match self.values.get(name) {
            Some(Batched::Samples(place) | Batched::Numbered(place)) => place,
            _ => return false,
        };
        (place.axis, place.outer) == (0, 1)
    }

    fn reads(&self, node: Node<'_>) -> bool {
        let mut names = node.inputs().iter();
        names.any(|name| self.values.contains_key(name.as_str()))
    }
}

/// An input of a node that is followed.
struct Operand<'v> {
    /// Its dimensions for one sample.
    dims: &'v [usize],
    constant: Option<&'v Constant>,
    batched: Option<&'v Batched>,
}

impl Operand<'_> {
    fn place(&self) -> Option<Place> {
        match self.batched? {
            Batched::Constant(_) => None,
            Batched::Samples(place) | Batched::Numbered(place) => Some(*place),
        }
    }

    /// Returns a constant as it is for the batch.
    fn of_all(&self) -> Option<&Constant> {
        match self.batched {
            Some(Batched::Constant(of_all)) => Some(of_all),
            _ => self.constant,
        }
    }

    /// Whether it is a constant that is another one for the batch.
    fn differs(&self) -> bool {
        matches!(self.batched, Some(Batched::Constant(_)))
    }

    /// Returns the dimensions for the batch.
    fn all_dims(&self, batch: usize) -> Vec<usize> {
        match (self.batched, self.place()) {
            (Some(Batched::Constant(of_all)), _) => of_all.dims.clone(),
            (_, Some(place)) => place.dims(self.dims, batch),
            _ => self.dims.to_vec(),
        }
    }
}

/// A node that is followed, with the dimensions of its answers for one sample.
struct Followed<'v, 'a> {
    node: Node<'a>,
    batch: usize,
    is_fixed: bool,
    operands: Vec<Option<Operand<'v>>>,
    answers: Vec<Vec<usize>>,
}

impl<'a> PartialNetwork<'a> {
    /// Follows a node whose answers are activations.
    pub(super) fn follow(&mut self, node: Node<'a>, inputs: &[Option<Value>]) {
        let Some(trace) = self.batch.as_ref().filter(|trace| trace.reads(node)) else {
            return;
        };
        let operands = node.inputs().iter().zip(inputs);
        let operands = operands.map(|(name, value)| {
            let value = value.as_ref()?;
            Some(Operand {
                dims: value.dims().unwrap_or_default(),
                constant: match value {
                    Value::Constant(constant) => Some(constant),
                    _ => None,
                },
                batched: trace.values.get(name.as_str()),
            })
        });
        let dims = |name: &String| {
            self.values
                .get(name.as_str())?
                .dims()
                .map(<[usize]>::to_vec)
        };
        if !node.outputs().iter().any(|name| dims(name).is_some()) {
            return;
        }
        let answers = node
            .outputs()
            .iter()
            .map(|name| dims(name).unwrap_or_default());
        let followed = Followed {
            node,
            batch: trace.size,
            is_fixed: trace.is_fixed,
            operands: operands.collect(),
            answers: answers.collect(),
        };
        let found = rules::answers(&followed);
        self.hold(node, found, inputs);
    }

    /// Follows a node that was folded, by folding it again for the batch.
    pub(super) fn follow_folded(
        &mut self,
        node: Node<'a>,
        inputs: &[Option<Value>],
        made: &[Constant],
    ) -> Result<(), OnnxError> {
        let Some(trace) = self.batch.as_ref().filter(|trace| trace.reads(node)) else {
            return Ok(());
        };
        let names = node.inputs().iter().zip(inputs);
        let of_all = names.map(
            |(name, value)| match (trace.values.get(name.as_str()), value) {
                (Some(Batched::Constant(of_all)), _) => Some(of_all.clone().into()),
                (
                    Some(Batched::Samples(place) | Batched::Numbered(place)),
                    Some(Value::Activation(x)),
                ) => {
                    let dims = place.dims(x.dims(), trace.size);
                    Some(x.under(Layout::row_major(dims)).into())
                }
                _ => value.clone(),
            },
        );
        let of_all: Vec<Option<Value>> = of_all.collect();
        let found = match folded(node, &of_all) {
            Some(Ok(constants)) => {
                let count = constants.iter().map(|c| c.values.len()).sum();
                let spent = self.fold_budget.spend(count);
                spent.map_err(|fault| failed(node, fault))?;
                let pairs = constants.into_iter().zip(made);
                Ok(pairs
                    .map(|(all, one)| (all != *one).then_some(Batched::Constant(all)))
                    .collect())
            }
            _ => Err(BatchFault::Single),
        };
        self.hold(node, found, inputs);
        Ok(())
    }

    /// Refuses an `If` whose branch depends on the batch.
    pub(super) fn follow_branch(&mut self, node: Node<'a>, holds: bool, inputs: &[Option<Value>]) {
        let values = self.batch.as_ref().map(|trace| &trace.values);
        let name = node
            .inputs()
            .first()
            .map(String::as_str)
            .unwrap_or_default();
        let of_all = match values.and_then(|values| values.get(name)) {
            Some(Batched::Constant(of_all)) => of_all.as_scalar(),
            _ => return,
        };
        if of_all.is_none_or(|of_all| (of_all != 0.0) != holds) {
            let why = "which branch it takes depends on the size of the batch";
            self.hold(node, Err(BatchFault::Mixes(why.into())), inputs);
        }
    }

    /// Follows a norm over the last axis of `rank` that several nodes spell out.
    pub(super) fn follow_norm(&mut self, end: Node<'a>, from: &str, rank: usize) {
        let axis = self.batch.as_ref().and_then(|trace| trace.axis(from));
        if axis.is_some_and(|axis| axis + 1 == rank) {
            self.hold(end, mixes(rank - 1), &[]);
        }
    }

    /// Makes the answer `to` depend on the batch as the value `from` does.
    pub(super) fn follow_as(&mut self, from: &str, to: &'a str) {
        if let Some(trace) = &mut self.batch
            && let Some(batched) = trace.values.get(from).cloned()
        {
            trace.values.insert(to, batched);
        }
    }

    /// Keeps how the answers of a node depend on the batch.
    fn hold(
        &mut self,
        node: Node<'a>,
        found: Result<Vec<Option<Batched>>, BatchFault>,
        inputs: &[Option<Value>],
    ) {
        match found {
            Ok(found) => {
                let names = node.outputs().iter().map(String::as_str);
                let named = names.zip(found).filter(|(name, _)| !name.is_empty());
                let pairs = named.filter_map(|(n, b)| Some((n, b?)));
                if let Some(trace) = &mut self.batch {
                    trace.values.extend(pairs);
                }
            }
            Err(BatchFault::Single) => self.batch = None,
            Err(BatchFault::Mixes(why)) => self.unsupported.push(Unsupported {
                node: node.label(),
                why,
                opset: node.opset,
                shapes: shapes(inputs),
            }),
        }
    }
}
