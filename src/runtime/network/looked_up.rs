//! The ids that a network can look up. Integer inputs are followed to the indices of a table,
//! through operations that keep their values or add a constant.

use std::collections::HashMap;

use super::dims::Dims;
use super::graph::{Graph, Node, NodeId};
use super::op::Op;
use super::tensor_op::{Binary, TensorOp, Unary};
use super::weights::Weights;
use crate::tensor::{IdRange, IdRanges, Signature, TensorSpec};

/// The most values of an input that are followed; ids are far fewer.
const MOST_FOLLOWED: usize = 1 << 20;

/// A value of an input, and the constant that was added to it.
#[derive(Clone, Copy)]
struct FollowedId {
    /// The position in the input.
    at: usize,
    plus: f32,
}

/// A value of the network that holds the numbers of an input.
struct FollowedIds {
    dims: Dims,
    ids: Vec<FollowedId>,
}

impl Graph {
    /// Returns the network with the ids of each input that have rows in its tables. If lengths
    /// vary, an input gets ids only if they are the same at all positions.
    #[must_use]
    pub(crate) fn with_ids(self, weights: &Weights) -> Self {
        let signature = self.signature();
        let mut inputs = signature.inputs.clone();
        for (at, spec) in inputs.iter_mut().enumerate() {
            if spec.data_type.is_integer() {
                let ranges = Follower::new(&self, weights, &signature, at).and_then(Follower::run);
                spec.ids = ranges.filter(|ids| !spec.varies() || matches!(ids, IdRanges::Same(_)));
            }
        }
        match inputs.iter().any(|spec| spec.ids.is_some()) {
            true => self.with_inputs(inputs),
            false => self,
        }
    }
}

/// Follows one input.
struct Follower<'a> {
    graph: &'a Graph,
    weights: &'a Weights,
    /// The position of the input's first value in a sample's row; `None` if it is the whole sample.
    first: Option<usize>,
    known: HashMap<NodeId, FollowedIds>,
    /// The ids that each position accepts, from the tables found so far.
    taken: Vec<Option<IdRange>>,
}

impl<'a> Follower<'a> {
    /// Starts at input number `at`, or returns `None` if it is too large to be ids.
    fn new(
        graph: &'a Graph,
        weights: &'a Weights,
        signature: &Signature,
        at: usize,
    ) -> Option<Self> {
        let most = signature.largest_length();
        let size = |spec: &TensorSpec| spec.elements_at(most).unwrap_or(0);
        let values = size(&signature.inputs[at]);
        let is_whole = signature.inputs.len() == 1 && signature.leading_values() == 0;
        let before: usize = signature.inputs[..at].iter().map(size).sum();
        let mut known = HashMap::new();
        if is_whole {
            known.insert(
                NodeId::INPUT,
                FollowedIds::numbered(graph.input().stored(), 0),
            );
        }
        (values <= MOST_FOLLOWED).then(|| Follower {
            graph,
            weights,
            first: (!is_whole).then_some(signature.leading_values() + before),
            known,
            taken: vec![None; values],
        })
    }

    fn run(mut self) -> Option<IdRanges> {
        for (id, node) in self.graph.values() {
            if let Op::Tensor(op) = node.op {
                self.look_up(op, node);
                self.known
                    .extend(self.followed(op, node).map(|ids| (id, ids)));
            }
        }
        IdRanges::from_positions(self.taken)
    }

    /// Returns the result of a node for the input, if it is known.
    fn followed(&self, op: TensorOp, node: &Node) -> Option<FollowedIds> {
        if let TensorOp::Part { first, shape } = op {
            let inside = first.checked_sub(self.first?)?;
            let fits = inside + shape.elements() <= self.taken.len();
            return fits.then(|| FollowedIds::numbered(shape.stored(), inside));
        }
        let from = self.known.get(node.inputs.first()?)?;
        match op {
            TensorOp::View { shape } => Some(from.with_dims(shape.stored())),
            TensorOp::Unary {
                kind: Unary::Truncate,
            } => Some(from.with_dims(from.dims)),
            TensorOp::Transpose { order } => from.transposed(&order),
            TensorOp::Expand { dims } => from.expanded(dims),
            TensorOp::Slice {
                axis,
                start,
                count,
                step,
            } => {
                let each = (0..count as isize).map(|n| start.checked_add_signed(n * step));
                from.taken(axis, &each.collect::<Option<Vec<_>>>()?, &[count])
            }
            TensorOp::Take { axis, indices } => {
                let listed = self.weights.read(&format!("{}.indices", node.name));
                let listed: Vec<usize> = listed.iter().map(|i| *i as usize).collect();
                from.taken(axis, &listed, &indices)
            }
            TensorOp::With { kind, dims, first } => {
                let sign = match (kind, first) {
                    (Binary::Add, _) => 1.0,
                    (Binary::Sub, false) => -1.0,
                    _ => return None,
                };
                let value = self.weights.read(&format!("{}.value", node.name));
                from.plus(dims, &value, sign)
            }
            _ => None,
        }
    }

    /// Notes the rows of the table that a node looks up with the input.
    fn look_up(&mut self, op: TensorOp, node: &Node) {
        let (rows, indices) = match op {
            TensorOp::Embedding { rows, .. } => (rows, node.inputs.first()),
            TensorOp::Gather { axis } => {
                let table = node.inputs.first().map(|id| self.graph.shape(*id).stored());
                let rows = table.and_then(|dims| dims.get(axis).copied());
                (rows.unwrap_or(0), node.inputs.get(1))
            }
            _ => return,
        };
        let Some(found) = indices.and_then(|id| self.known.get(id)) else {
            return;
        };
        for id in &found.ids {
            if let Some(taken) = self.taken.get_mut(id.at)
                && id.plus.fract() == 0.0
            {
                let own = IdRange::for_table(rows).before_adding(id.plus as i64);
                *taken = Some(taken.map_or(own, |range| range.meet(own)));
            }
        }
    }
}

impl FollowedIds {
    /// Returns values in the order of the input, from `first` on.
    fn numbered(dims: Dims, first: usize) -> Self {
        let ids = (first..first + dims.elements()).map(|at| FollowedId { at, plus: 0.0 });
        FollowedIds {
            dims,
            ids: ids.collect(),
        }
    }

    fn with_dims(&self, dims: Dims) -> Self {
        FollowedIds {
            dims,
            ids: self.ids.clone(),
        }
    }

    /// Returns values of `dims`, each selected from these values by its distance along each axis.
    fn strided(&self, dims: Dims, strides: &[usize]) -> Option<Self> {
        let from = places(&dims, strides)?;
        let ids = from.into_iter().map(|at| self.ids.get(at).copied());
        Some(FollowedIds {
            dims,
            ids: ids.collect::<Option<_>>()?,
        })
    }

    fn transposed(&self, order: &[usize]) -> Option<Self> {
        let strides = self.dims.strides();
        let sizes: Vec<usize> = order.iter().map(|a| self.dims[*a]).collect();
        let strides: Vec<usize> = order.iter().map(|a| strides[*a]).collect();
        self.strided(Dims::new(&sizes).ok()?, &strides)
    }

    fn expanded(&self, dims: Dims) -> Option<Self> {
        self.strided(dims, &repeated(&self.dims, &dims))
    }

    /// Returns the positions of an axis that are listed under `indices`.
    fn taken(&self, axis: usize, listed: &[usize], indices: &[usize]) -> Option<Self> {
        let (before, after) = (&self.dims[..axis], &self.dims[axis + 1..]);
        let inner: usize = after.iter().product();
        let outer: usize = before.iter().product();
        let mut ids = Vec::new();
        for block in 0..outer {
            for at in listed {
                let first = (block * self.dims[axis] + at) * inner;
                ids.extend_from_slice(self.ids.get(first..first + inner)?);
            }
        }
        let dims = Dims::new(&[before, indices, after].concat()).ok()?;
        (ids.len() <= MOST_FOLLOWED).then_some(FollowedIds { dims, ids })
    }

    fn plus(&self, dims: Dims, value: &[f32], sign: f32) -> Option<Self> {
        let all = self.dims.broadcast(&dims)?;
        let mut sum = self.expanded(all)?;
        let added = places(&all, &repeated(&dims, &all))?;
        for (id, at) in sum.ids.iter_mut().zip(added) {
            id.plus += sign * value.get(at)?;
        }
        Some(sum)
    }
}

/// Returns the distances along the axes of `to` in values of `from`, repeated as in NumPy.
fn repeated(from: &Dims, to: &Dims) -> Vec<usize> {
    let own = from.strides();
    let missing = to.rank().saturating_sub(from.rank());
    let along = (0..from.rank()).map(|axis| if from[axis] == 1 { 0 } else { own[axis] });
    std::iter::repeat_n(0, missing).chain(along).collect()
}

/// Returns the place of each value of `dims`, or `None` if they are too many.
fn places(dims: &Dims, strides: &[usize]) -> Option<Vec<usize>> {
    let mut places = vec![0];
    (dims.elements() <= MOST_FOLLOWED).then(|| {
        for (size, stride) in dims.iter().zip(strides) {
            let next = places
                .iter()
                .flat_map(|at| (0..*size).map(move |n| at + n * stride));
            places = next.collect();
        }
        places
    })
}
