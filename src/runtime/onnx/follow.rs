//! Follows the values of a network for a larger batch, in addition to those for one sample.

use super::activation::Value;
use super::batch::{self, BatchFault, Batched, Followed, FollowedAnswers, FollowedOperand, mixes};
use super::constants::{failed, folded, shapes};
use super::error::{OnnxError, Unsupported};
use super::layout::Layout;
use super::node::Node;
use super::partial::PartialNetwork;
use super::tensor::Constant;

impl<'a> PartialNetwork<'a> {
    /// Follows a node whose answers are activations.
    pub(super) fn follow(&mut self, node: Node<'a>, inputs: &[Option<Value>]) {
        let Some(trace) = self.batch.as_ref().filter(|trace| trace.reads(node)) else {
            return;
        };
        let operands = node.inputs().iter().zip(inputs);
        let operands = operands.map(|(name, value)| {
            let value = value.as_ref()?;
            Some(FollowedOperand {
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
        let found = batch::answers(&followed);
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
                    Some(x.with_layout(Layout::row_major(dims)).into())
                }
                _ => value.clone(),
            },
        );
        let of_all: Vec<Option<Value>> = of_all.collect();
        self.growth_is_bounded(node, &of_all)?;
        let known = self.cast_constant(node, &of_all);
        let found = match known.or_else(|| folded(node, &of_all)) {
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
            let why = "its branch depends on the batch size";
            self.hold(node, Err(BatchFault::Mixes(why.into())), inputs);
        }
    }

    /// Follows a norm over the last axis of `rank` that a file writes as several nodes.
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
    fn hold(&mut self, node: Node<'a>, found: FollowedAnswers, inputs: &[Option<Value>]) {
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
