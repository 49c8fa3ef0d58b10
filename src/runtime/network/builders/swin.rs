//! Swin transformers (Liu et al., "Swin transformer", section 3), with torchvision's names. An
//! image may have any sides: windows that reach past its ends are filled up with zeros.

use super::plain::classify;
use super::row::{PublishedRow, row};
use super::transformer::{AttentionNames, MlpNames, ScoreMask, attention, mlp, tensor, viewed};
use crate::network::{
    Border, Conv2d, Dims, Graph, GraphBuilder, GraphError, NodeId, Op, ParameterOrigin, Shape,
    ShiftMask, TensorOp,
};

/// The networks of section 3.3.
pub(super) const NETWORKS: [PublishedRow; 3] = [
    row("swin-b", 224, |b, classes| {
        swin(b, 128, [2, 2, 18, 2], [4, 8, 16, 32], classes)
    }),
    row("swin-s", 224, |b, classes| {
        swin(b, 96, [2, 2, 18, 2], [3, 6, 12, 24], classes)
    }),
    row("swin-t", 224, |b, classes| {
        swin(b, 96, [2, 2, 6, 2], [3, 6, 12, 24], classes)
    }),
];

const NORM: Op = Op::LayerNorm { eps: 1e-5 };

/// The side of a window, in tokens.
const WINDOW: usize = 7;

const ATTENTION: AttentionNames = AttentionNames {
    all: "attn.qkv",
    separator: ".",
    out: "attn.proj",
};

const MLP: MlpNames = MlpNames {
    widen: "mlp.0",
    narrow: "mlp.3",
};

fn swin(
    mut b: GraphBuilder,
    width: usize,
    blocks: [usize; 4],
    heads: [usize; 4],
    classes: usize,
) -> Result<Graph, GraphError> {
    let patches = Conv2d::new(width, 4).strided(4).biased();
    let x = b.add("features.0.0", Op::Conv2d(patches), &[NodeId::INPUT])?;
    let x = b.add("features.0.2", NORM, &[x])?;
    let tokens = b.shape(x).stored();
    let mut x = viewed(&mut b, "tokens", &tokens, x)?;
    for (stage, (blocks, heads)) in blocks.into_iter().zip(heads).enumerate() {
        if stage > 0 {
            x = merged(&mut b, &format!("features.{}", 2 * stage), x)?;
        }
        for i in 0..blocks {
            let name = format!("features.{}.{i}", 2 * stage + 1);
            let grid = Windows::over(b.shape(x).stored(), i % 2 == 1);
            x = grid.block(&mut b, &name, heads, x)?;
        }
    }
    let x = b.add("norm", NORM, &[x])?;
    let [height, width, channels] = sides(b.shape(x).stored());
    let shape = Shape::image(channels, height, width);
    let x = b.add("image", Op::Tensor(TensorOp::View { shape }), &[x])?;
    classify(b, "head", x, classes)
}

/// Returns rows, columns and features of an image of tokens.
fn sides(dims: Dims) -> [usize; 3] {
    [0, 1, 2].map(|axis| dims.get(axis).copied().unwrap_or(1))
}

/// Adds the merging of 2×2 tokens into one of twice the features ("patch merging", section 3.1).
fn merged(b: &mut GraphBuilder, name: &str, x: NodeId) -> Result<NodeId, GraphError> {
    let part = |suffix: &str| format!("{name}.{suffix}");
    let [height, width, features] = sides(b.shape(x).stored());
    let x = padded(b, &part("padded"), [height % 2, width % 2], x)?;
    let [rows, columns] = [height.div_ceil(2), width.div_ceil(2)];
    let apart = tensor(&[rows, 2, columns, 2, features])?;
    let x = viewed(b, &part("apart"), &apart, x)?;
    // The lower left token comes second.
    let order = tensor(&[0, 2, 3, 1, 4])?;
    let x = b.add(
        part("turned"),
        Op::Tensor(TensorOp::Transpose { order }),
        &[x],
    )?;
    let together = tensor(&[rows, columns, 4 * features])?;
    let x = viewed(b, &part("together"), &together, x)?;
    let x = b.add(part("norm"), NORM, &[x])?;
    let reduce = Op::Linear {
        features: 2 * features,
        bias: false,
    };
    b.add(part("reduction"), reduce, &[x])
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

    /// Equation 3: attention within windows, then two layers for each token.
    fn block(
        &self,
        b: &mut GraphBuilder,
        name: &str,
        heads: usize,
        input: NodeId,
    ) -> Result<NodeId, GraphError> {
        let part = |suffix: &str| format!("{name}.{suffix}");
        let x = b.add(part("norm1"), NORM, &[input])?;
        let x = self.divided(b, &part("windows"), x)?;
        let masks = self.masks(name, heads)?;
        let x = attention(b, name, &ATTENTION, heads, &masks, x)?;
        let x = self.joined_windows(b, &part("together"), x)?;
        let middle = b.add(part("add1"), Op::Add, &[x, input])?;
        let x = b.add(part("norm2"), NORM, &[middle])?;
        let x = mlp(b, name, &MLP, x)?;
        b.add(part("add2"), Op::Add, &[x, middle])
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
