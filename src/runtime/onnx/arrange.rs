//! Brings values into the order and shape that an operation needs. Values already in that order are
//! used directly.

use super::activation::{Activation, Value};
use super::error::NodeFault;
use super::layout::Layout;
use super::node::Node;
use super::partial::{PartialNetwork, Refusal};
use super::tensor::Constant;
use crate::network::{Dims, NodeId, Op, Shape, ShapeError, TensorOp};

/// A value of the network in another order or shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rearranged {
    Viewed(Shape),
    Transposed(Dims),
    Flattened,
    /// The channels of an image in this number of groups, one from each group in turn.
    Shuffled(usize),
}

/// The most values of a constant that is compared with earlier ones.
const FEW: usize = 16;

impl From<ShapeError> for Refusal {
    fn from(error: ShapeError) -> Self {
        Refusal::Unsupported(error.to_string())
    }
}

impl<'a> PartialNetwork<'a> {
    /// Returns the values of `x` as a tensor with `axes` in this order, which are all axes of
    /// more than one position.
    pub(super) fn stored(
        &mut self,
        node: Node<'a>,
        x: &Activation,
        axes: &[usize],
    ) -> Result<NodeId, Refusal> {
        let shape = Shape::tensor(Dims::new(&x.layout.sizes(axes))?);
        let id = match x.layout.lies_as(axes) {
            true => x.id,
            false => self.moved(node, x, axes)?,
        };
        self.viewed(node, id, shape)
    }

    /// Returns `x` in memory with its axes in the order of `axes`.
    pub(super) fn in_order(
        &mut self,
        node: Node<'a>,
        x: &Activation,
        axes: &[usize],
    ) -> Result<Activation, Refusal> {
        if x.layout.lies_as(axes) {
            return Ok(x.clone());
        }
        let id = self.moved(node, x, axes)?;
        let layout = Layout::new(x.dims().to_vec(), axes);
        Ok(Activation {
            id,
            ..x.with_layout(layout)
        })
    }

    /// Returns `x` as an image, or `None` if its dimensions are not a batch of one image.
    pub(super) fn imaged(
        &mut self,
        node: Node<'a>,
        x: &Activation,
    ) -> Result<Option<Activation>, Refusal> {
        let &[1, c, h, w] = x.dims() else {
            return Ok(None);
        };
        let x = self.in_order(node, x, &[2, 3, 1])?;
        let id = self.viewed(node, x.id, Shape::image(c, h, w))?;
        Ok(Some(Activation { id, ..x }))
    }

    /// Returns `x` under other dimensions of as many values.
    pub(super) fn reshaped(
        &mut self,
        node: Node<'a>,
        x: &Activation,
        dims: &[usize],
    ) -> Result<Activation, Refusal> {
        let mut axes = match x.layout.reshaped(dims) {
            Ok(layout) => return Ok(x.with_layout(layout)),
            Err(axes) => axes,
        };
        // Values that have to move take the order of most operations: the last axis last. The
        // channels of an image in groups stay last, for a shuffle.
        let is_image = matches!(self.shape(x.id), Shape::Image { .. });
        if !is_image || x.layout.order().len() != 4 {
            axes.sort_unstable();
        }
        let x = self.in_order(node, x, &axes)?;
        match x.layout.reshaped(dims) {
            Ok(layout) => Ok(x.with_layout(layout)),
            Err(_) => {
                let why = format!("{:?} cannot become {dims:?}", x.dims());
                Err(NodeFault::Shapes(why).into())
            }
        }
    }

    /// Returns the value `n` of a node's inputs; a constant becomes a value of the network.
    pub(super) fn operand(&mut self, node: Node<'a>, value: &Value) -> Result<Activation, Refusal> {
        match value {
            Value::Activation(activation) => Ok(activation.clone()),
            Value::Constant(constant) => self.constant(node, constant),
            Value::Unknown => Err(Refusal::Unsupported(String::new())),
        }
    }

    fn constant(&mut self, node: Node<'a>, constant: &Constant) -> Result<Activation, Refusal> {
        let layout = Layout::row_major(constant.dims.clone());
        let mut sizes = layout.sizes(layout.order());
        if sizes.is_empty() {
            sizes.push(1);
        }
        if constant.values.len() == 0 {
            let why = format!("an empty constant of {:?}", constant.dims);
            return Err(Refusal::Unsupported(why));
        }
        let op = TensorOp::Constant {
            dims: Dims::new(&sizes)?,
        };
        let floats = constant.to_floats();
        let key = (floats.len() <= FEW).then(|| format!("{op:?} {floats:?}"));
        let made = key.as_ref().and_then(|key| self.repeated.get(key));
        let id = match made {
            Some(made) => *made,
            None => {
                let value = ("value", floats);
                self.layer(node, Op::Tensor(op), &[NodeId::INPUT], vec![value])?
            }
        };
        self.repeated.extend(key.map(|key| (key, id)));
        let numbers = (&constant.values).into();
        Ok(Activation {
            id,
            layout,
            numbers,
        })
    }

    /// Returns a value under another shape of as many values.
    pub(super) fn viewed(
        &mut self,
        node: Node<'a>,
        id: NodeId,
        shape: Shape,
    ) -> Result<NodeId, Refusal> {
        match self.shape(id) == shape {
            true => Ok(id),
            false => self.arranged(node, id, Rearranged::Viewed(shape)),
        }
    }

    /// Returns the value of `x` with its axes moved into the order of `axes`.
    fn moved(&mut self, node: Node<'a>, x: &Activation, axes: &[usize]) -> Result<NodeId, Refusal> {
        let order = x.layout.order();
        let axes = axes.iter().filter(|axis| order.contains(axis));
        let places = axes.filter_map(|axis| order.iter().position(|o| o == axis));
        let places: Vec<usize> = places.collect();
        let sizes = Dims::new(&x.layout.sizes(order))?;
        let held = self.shape(x.id);
        if matches!(held, Shape::Image { .. }) && held.stored() == sizes && places == [2, 0, 1] {
            return self.arranged(node, x.id, Rearranged::Flattened);
        }
        let [.., one, other] = sizes[..] else {
            return Ok(x.id);
        };
        let grouped = matches!(held, Shape::Image { height, width, channels }
            if sizes[..] == [height, width, one, other] && one * other == channels);
        if grouped && places == [0, 1, 3, 2] {
            return self.arranged(node, x.id, Rearranged::Shuffled(one));
        }
        let shape = Shape::tensor(sizes);
        let from = self.viewed(node, x.id, shape)?;
        self.arranged(node, from, Rearranged::Transposed(Dims::new(&places)?))
    }

    /// Adds the operation that brings a value into another order or shape. All readers share it.
    fn arranged(
        &mut self,
        node: Node<'a>,
        from: NodeId,
        into: Rearranged,
    ) -> Result<NodeId, Refusal> {
        if let Some(made) = self.arranged.get(&(from, into)) {
            return Ok(*made);
        }
        let op = match into {
            Rearranged::Viewed(shape) => Op::Tensor(TensorOp::View { shape }),
            Rearranged::Transposed(order) => Op::Tensor(TensorOp::Transpose { order }),
            Rearranged::Flattened => Op::Flatten,
            Rearranged::Shuffled(groups) => Op::ChannelShuffle { groups },
        };
        let id = self.layer(node, op, &[from], Vec::new())?;
        self.arranged.insert((from, into), id);
        Ok(id)
    }
}
