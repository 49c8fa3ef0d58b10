//! Errors of shapes, operations, layers and graphs.

use thiserror::Error;

use super::shape::{Shape, ShapeError, Sides};

/// An operation does not take its inputs, or its own numbers are invalid.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum OpError {
    /// It takes images.
    #[error("takes an image (channels, height, width), found {}", described(*.found))]
    NotAnImage {
        /// The shape that was found.
        found: Shape,
    },
    /// It takes vectors.
    #[error("takes a vector, found an image {found}; put a flatten or global-avg-pool before it")]
    NotAVector {
        /// The image that was found.
        found: Shape,
    },
    /// The operation takes tensors. An image becomes a tensor only through a view.
    #[error("takes a vector or a tensor, found an image {found}")]
    NotATensor {
        /// The image that was found.
        found: Shape,
    },
    /// The dimensions of tensors do not fit each other or the operation.
    #[error("does not take {}", listed_shapes(.found))]
    Tensors {
        /// Shapes of the inputs.
        found: Vec<Shape>,
    },
    /// A number that counts something is 0.
    #[error("{field} must be at least 1, found 0")]
    Zero {
        /// The number's name.
        field: &'static str,
    },
    /// A batch norm's `eps` is not a positive number.
    #[error("eps must be a positive number, found {found}")]
    Eps {
        /// The value given.
        found: f32,
    },
    /// A scale's factor is not finite.
    #[error("by must be a finite number, found {found}")]
    Factor {
        /// The value given.
        found: f32,
    },
    /// Groups that do not divide the channels on both sides.
    #[error(
        "groups ({groups}) must divide the input channels ({inputs}) and the channels ({outputs})"
    )]
    Groups {
        /// Groups of the convolution.
        groups: usize,
        /// Channels of its input.
        inputs: usize,
        /// Channels of its answer.
        outputs: usize,
    },
    /// A pool whose windows could lie entirely in the padding.
    #[error("padding ({padding}) must be at most half the kernel ({kernel})")]
    Padding {
        /// Padding on every side.
        padding: usize,
        /// Side of the window.
        kernel: usize,
    },
    /// A pool with windows that hold no pixel of the image.
    #[error("an overhang of {overhang} puts windows outside of a side of {side}")]
    Overhang {
        /// Pixels past the padding.
        overhang: usize,
        /// Length of the image's side.
        side: usize,
    },
    /// An average that would count pixels past the padding.
    #[error("an average that counts its padding cannot have an overhang")]
    CountedOverhang,
    /// A window larger than the padded image.
    #[error(
        "a kernel of {kernel} (dilation {dilation}) does not fit a side of {side} with padding {padding}"
    )]
    Window {
        /// The window's length along the side.
        kernel: usize,
        /// Distance of the window's positions.
        dilation: usize,
        /// Length of the image's side.
        side: usize,
        /// Padding at both ends of the side.
        padding: usize,
    },
    /// An image that would have too many values with its padding.
    #[error("padding of {padding} makes the image larger than a sample may be")]
    TooMuchPadding {
        /// Padding at both ends of each side.
        padding: Sides,
    },
    /// A tensor of weights with too many values.
    #[error("weights of shape {shape:?} have too many values")]
    TooManyWeights {
        /// The tensor's shape.
        shape: Vec<usize>,
    },
    /// A factor that is not finite.
    #[error("{field} must be a finite number, found {found}")]
    NotFinite {
        /// The factor's name.
        field: &'static str,
        /// The value given.
        found: f32,
    },
    /// Bounds of a clip in the wrong order, or NaN.
    #[error("expected least <= most, found {least} and {most}")]
    Bounds {
        /// The least value.
        least: f32,
        /// The largest value.
        most: f32,
    },
    /// Channels that are not there.
    #[error("{count} channels from channel {first} exceed the {channels} of its input")]
    ChannelRange {
        /// The first channel.
        first: usize,
        /// How many.
        count: usize,
        /// Channels that there are.
        channels: usize,
    },
    /// A sum or product of two shapes.
    #[error(
        "takes two equal shapes, or an image and a value for each of its channels, \
         found {}", listed_shapes(.0)
    )]
    UnequalShapes(Vec<Shape>),
    /// A concatenation of images of different sizes, or of images and vectors.
    #[error("concat takes images of one size or vectors, found {}", listed_shapes(.0))]
    NotConcatenable(Vec<Shape>),
    /// An answer without values, or with more than a sample may have.
    #[error("the answer's shape {answer} is empty or too large")]
    Unreasonable {
        /// Shape of the answer.
        answer: Shape,
    },
}

/// The reason why a layer cannot be added to a network.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LayerFault {
    /// Its operation does not take its inputs.
    #[error(transparent)]
    Op(#[from] OpError),
    /// Its dimensions do not fit a sample.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// It reads a layer that does not exist.
    #[error("from: no layer `{name}` before this one (`input` is the sample)")]
    UnknownInput {
        /// The name that was given.
        name: String,
    },
    /// It lacks a field that its operation needs.
    #[error("field `{field}` is missing")]
    MissingField {
        /// The field's name.
        field: &'static str,
    },
    /// It has a field that its operation does not have.
    #[error("field `{field}` does not belong to this operation, expected {}", listed(.known))]
    StrayField {
        /// The field's name.
        field: &'static str,
        /// The fields that the operation knows.
        known: &'static [&'static str],
    },
    /// A pool whose window or padding is not square.
    #[error("{field}: a pool takes one number, found {found}")]
    NotSquare {
        /// The field's name.
        field: &'static str,
        /// The sides that were given.
        found: Sides,
    },
    /// Stages with different numbers of channels and blocks.
    #[error("channels and blocks need one entry per stage, found {channels} and {blocks}")]
    Stages {
        /// Entries of channels.
        channels: usize,
        /// Entries of blocks.
        blocks: usize,
    },
    /// A depth that does not exist in the family.
    #[error("depth: expected an even number from 10 to 132, found {found}")]
    Depth {
        /// The depth given.
        found: usize,
    },
    /// A width that does not exist in the family.
    #[error("width: expected 0.25 to 4, found {found}")]
    Width {
        /// The width given.
        found: f64,
    },
}

fn described(shape: Shape) -> String {
    match shape {
        Shape::Image { .. } => format!("an image {shape}"),
        Shape::Vector { features } => format!("a vector of {features}"),
        Shape::Tensor(dims) => format!("a tensor {dims}"),
    }
}

fn listed_shapes(shapes: &[Shape]) -> String {
    let all: Vec<String> = shapes.iter().map(ToString::to_string).collect();
    all.join(" and ")
}

fn listed(known: &[&str]) -> String {
    match known {
        [] => "none".to_owned(),
        _ => known.join(", "),
    }
}

/// The most layers of a network; more are taken for a mistake.
pub(super) const MAX_LAYERS: usize = 10_000;

/// The reason why a graph cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GraphError {
    /// A layer cannot be added.
    #[error("layer `{layer}`: {fault}")]
    Layer {
        /// The layer's name, or the family's name if a parameter of the family is wrong.
        layer: String,
        /// Its fault.
        fault: LayerFault,
    },
    /// Two layers have one name.
    #[error("two layers are named `{0}`")]
    DuplicateName(String),
    /// A layer has too few or too many inputs.
    #[error("layer `{layer}`: takes {} inputs, found {found}", inputs(*.least, *.most))]
    Arity {
        /// The layer's name.
        layer: String,
        /// Inputs that its operation takes at least.
        least: usize,
        /// Inputs that its operation takes at most.
        most: usize,
        /// Inputs that it has.
        found: usize,
    },
    /// The data of a published network is damaged; holds the reason.
    #[error("published network: {0}")]
    Published(String),
    /// The network has no layers.
    #[error("a network needs at least one layer")]
    Empty,
    /// There are more layers than 10 000.
    #[error("a network has at most {MAX_LAYERS} layers")]
    TooManyLayers,
    /// The named tensors do not have the number of values of the network's samples or answers.
    #[error("{} do not fit the network's shape {found}", tensors.join(", "))]
    Signature {
        /// Shape of a sample or an answer.
        found: Shape,
        /// Types and dimensions of the tensors.
        tensors: Vec<String>,
    },
    /// The network's answer is not one row of the ensemble's classes.
    #[error("the network answers {found} per sample, the ensemble has {expected} classes")]
    Classes {
        /// Classes of the ensemble.
        expected: usize,
        /// Shape of the network's answer.
        found: Shape,
    },
}

fn inputs(least: usize, most: usize) -> String {
    if least == most {
        least.to_string()
    } else {
        format!("at least {least}")
    }
}
