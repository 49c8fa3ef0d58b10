//! The windows of Swin transformers (Liu et al., "Swin transformer", section 3). An image may have
//! any sides: windows that reach past its ends are filled up with zeros.

use serde::Deserialize;

use super::transformer::{HeadAttention, ScoreMask, tensor, viewed};
use crate::network::{
    Border, Dims, GraphBuilder, GraphError, NodeId, Op, ParameterOrigin, Shape, ShiftMask, TensorOp,
};

/// The side of a window, in tokens.
const WINDOW: usize = 7;

/// Adds the pixels of the last value as tokens.
pub(super) fn add_tokens(b: &mut GraphBuilder) -> Result<(), GraphError> {
    let tokens = b.shape(b.last()).stored();
    viewed(b, "tokens", &tokens, b.last())?;
    Ok(())
}

/// Adds the tokens of the last value as an image.
pub(super) fn add_image(b: &mut GraphBuilder) -> Result<(), GraphError> {
    let [height, width, channels] = sides(b.shape(b.last()).stored());
    let shape = Shape::image(channels, height, width);
    let view = Op::Tensor(TensorOp::View { shape });
    b.add("image", view, &[b.last()])?;
    Ok(())
}

/// Returns rows, columns and features of an image of tokens.
fn sides(dims: Dims) -> [usize; 3] {
    [0, 1, 2].map(|axis| dims.get(axis).copied().unwrap_or(1))
}

/// The merging of 2×2 tokens of the last value into one ("patch merging", section 3.1), without its
/// layers.
#[derive(Deserialize)]
pub(super) struct MergedTokens {
    /// The layer's name.
    at: String,
}

impl MergedTokens {
    pub(super) fn add(&self, b: &mut GraphBuilder) -> Result<(), GraphError> {
        let part = |suffix: &str| format!("{}.{suffix}", self.at);
        let [height, width, features] = sides(b.shape(b.last()).stored());
        let x = padded(b, &part("padded"), [height % 2, width % 2], b.last())?;
        let [rows, columns] = [height.div_ceil(2), width.div_ceil(2)];
        let apart = tensor(&[rows, 2, columns, 2, features])?;
        let x = viewed(b, &part("apart"), &apart, x)?;
        // The lower left token comes second.
        let order = tensor(&[0, 2, 3, 1, 4])?;
        let turn = Op::Tensor(TensorOp::Transpose { order });
        let x = b.add(part("turned"), turn, &[x])?;
        let together = tensor(&[rows, columns, 4 * features])?;
        viewed(b, &part("together"), &together, x)?;
        Ok(())
    }
}

/// Adds rows and columns of zeros at the ends.
fn padded(
    b: &mut GraphBuilder,
    name: &str,
    [rows, columns]: [usize; 2],
    x: NodeId,
) -> Result<NodeId, GraphError> {
    if (rows, columns) == (0, 0) {
        return Ok(x);
    }
    let pad = TensorOp::Pad {
        before: tensor(&[0, 0, 0])?,
        after: tensor(&[rows, columns, 0])?,
        border: Border::Constant(0.0),
    };
    b.add(name, Op::Tensor(pad), &[x])
}

/// Attention among the tokens of each window of the last value (equation 3).
#[derive(Deserialize)]
pub(super) struct WindowAttention {
    /// The layer's name.
    at: String,
    heads: usize,
    /// Whether windows are moved by half a window.
    #[serde(default)]
    shifted: bool,
}

impl WindowAttention {
    pub(super) fn add(&self, b: &mut GraphBuilder) -> Result<(), GraphError> {
        let windows = Windows::over(b.shape(b.last()).stored(), self.shifted);
        windows.divided(b, &format!("{}.windows", self.at), b.last())?;
        let attention = HeadAttention {
            at: self.at.clone(),
            heads: self.heads,
            stored: "attn.qkv.".into(),
            all: "attn.qkv".into(),
            out: "attn.proj".into(),
        };
        attention.add(b, &windows.masks(&self.at, self.heads)?)?;
        windows.joined_windows(b, &format!("{}.together", self.at), b.last())?;
        Ok(())
    }
}

/// An image of tokens in windows.
struct Windows {
    height: usize,
    width: usize,
    features: usize,
    /// Windows along both sides.
    count: [usize; 2],
    /// The number of tokens by which rows and columns are moved.
    shifts: [usize; 2],
}

impl Windows {
    /// Returns the windows over tokens `[height, width, features]`, moved by half a window along
    /// sides of more than one of them if `shifted`.
    fn over(dims: Dims, shifted: bool) -> Self {
        let [height, width, features] = sides(dims);
        let count = [height, width].map(|side| side.div_ceil(WINDOW));
        let shifts = count.map(|n| if shifted && n > 1 { WINDOW / 2 } else { 0 });
        Windows {
            height,
            width,
            features,
            count,
            shifts,
        }
    }

    fn masks(&self, name: &str, heads: usize) -> Result<Vec<ScoreMask>, GraphError> {
        let [rows, columns] = self.count;
        let tokens = WINDOW * WINDOW;
        let mut masks = vec![ScoreMask {
            name: "attn.relative_position_bias",
            dims: tensor(&[heads, tokens, tokens])?,
            origin: ParameterOrigin::RelativeBias {
                name: format!("{name}.attn.relative_position_bias_table"),
                window: WINDOW,
                heads,
            },
        }];
        if self.shifts != [0, 0] {
            masks.push(ScoreMask {
                name: "attn.mask",
                dims: tensor(&[rows * columns, 1, tokens, tokens])?,
                origin: ParameterOrigin::ShiftMask(ShiftMask {
                    sides: self.count.map(|n| n * WINDOW),
                    shifts: self.shifts,
                    window: WINDOW,
                }),
            });
        }
        Ok(masks)
    }

    /// Adds the tokens of each window, `[windows, tokens, features]`.
    fn divided(&self, b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
        let [rows, columns] = self.count;
        let missing = [rows * WINDOW - self.height, columns * WINDOW - self.width];
        let mut x = padded(b, &format!("{name}.padded"), missing, x)?;
        for (axis, shift) in self.shifts.into_iter().enumerate() {
            x = rolled(b, &format!("{name}.moved{axis}"), axis, shift, x)?;
        }
        let apart = tensor(&[rows, WINDOW, columns, WINDOW, self.features])?;
        let x = viewed(b, &format!("{name}.apart"), &apart, x)?;
        let x = turned(b, &format!("{name}.turned"), x)?;
        let windows = tensor(&[rows * columns, WINDOW * WINDOW, self.features])?;
        viewed(b, name, &windows, x)
    }

    /// Adds the image of the tokens of all windows.
    fn joined_windows(
        &self,
        b: &mut GraphBuilder,
        name: &str,
        x: NodeId,
    ) -> Result<NodeId, GraphError> {
        let [rows, columns] = self.count;
        let apart = tensor(&[rows, columns, WINDOW, WINDOW, self.features])?;
        let x = viewed(b, &format!("{name}.apart"), &apart, x)?;
        let x = turned(b, &format!("{name}.turned"), x)?;
        let sides = [rows * WINDOW, columns * WINDOW];
        let image = tensor(&[sides[0], sides[1], self.features])?;
        let mut x = viewed(b, name, &image, x)?;
        for (axis, shift) in self.shifts.into_iter().enumerate() {
            let back = (sides[axis] - shift) % sides[axis];
            x = rolled(b, &format!("{name}.moved{axis}"), axis, back, x)?;
        }
        for (axis, count) in [self.height, self.width].into_iter().enumerate() {
            if count < sides[axis] {
                x = cut(b, &format!("{name}.cut{axis}"), axis, 0..count, x)?;
            }
        }
        Ok(x)
    }
}

/// Changes the two axes of windows for the two of their tokens, and back.
fn turned(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let order = tensor(&[0, 2, 1, 3, 4])?;
    b.add(name, Op::Tensor(TensorOp::Transpose { order }), &[x])
}

/// Moves the first `by` positions of an axis to its end.
fn rolled(
    b: &mut GraphBuilder,
    name: &str,
    axis: usize,
    by: usize,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    if by == 0 {
        return Ok(x);
    }
    let size = sides(b.shape(x).stored())[axis];
    let behind = cut(b, &format!("{name}.first"), axis, 0..by, x)?;
    let before = cut(b, &format!("{name}.last"), axis, by..size, x)?;
    b.add(name, Op::Tensor(TensorOp::Join { axis }), &[before, behind])
}

/// Adds some positions of an axis.
fn cut(
    b: &mut GraphBuilder,
    name: &str,
    axis: usize,
    positions: std::ops::Range<usize>,
    x: NodeId,
) -> Result<NodeId, GraphError> {
    let slice = TensorOp::Slice {
        axis,
        start: positions.start,
        count: positions.len(),
        step: 1,
    };
    b.add(name, Op::Tensor(slice), &[x])
}
