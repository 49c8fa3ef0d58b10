//! Turns each operator into operations of the network, or into another view of its input.

mod activations;
mod arithmetic;
mod attention;
mod bits;
mod casts;
mod columns;
mod contrib;
mod convolution;
mod dense;
mod einsum;
mod elementwise;
mod extend;
mod fourier;
mod functions;
mod gather;
mod grid;
mod images;
mod inputs;
mod layer_norm;
mod losses;
mod mean_variance;
mod norms;
mod pools;
mod quantised;
mod ranked;
mod recurrent;
mod reduce;
mod resize;
mod rotary;
mod scatter;
mod select;
mod softmax;
mod transposed;
mod views;
mod volumes;
mod windows;

pub(super) use activations::{add_activation, add_unary};
use inputs::{Handler, HandlerOfMany, Inputs, unsupported};
pub(super) use layer_norm::add_norm;

use super::activation::{Activation, Value};
use super::node::Node;
use super::partial::{PartialNetwork, Refusal};

/// Adds the operations of a node, and returns its answers. A refusal without text means that an
/// input is unknown.
pub(super) fn add<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &[Option<Value>],
) -> Result<Vec<Activation>, Refusal> {
    let operator = node.operator().unwrap_or_default();
    let (one, many) = match node.contrib() {
        Some(own) => (contrib::handler(own), contrib::handler_of_many(own)),
        None => (handler(operator), handler_of_many(operator)),
    };
    let unknown = |value: &Value| matches!(value, Value::Unknown);
    let follows = inputs.iter().flatten().any(unknown);
    match operator {
        "Shape" | "Size" | "ConstantOfShape" | "Range" | "EyeLike" | "If" if follows => {
            return unsupported("");
        }
        "ConstantOfShape" | "Range" | "NonZero" | "If" => {
            return unsupported("its shape depends on the values of a sample");
        }
        _ if one.is_none() && many.is_none() => {
            return unsupported("unknown operator");
        }
        _ if follows => {
            volumes::check_weights(node, inputs)?;
            return unsupported("");
        }
        _ => {}
    }
    let inputs = Inputs(inputs);
    match (one, many) {
        (Some(handler), _) => handler(network, node, &inputs).map(|made| vec![made]),
        (_, Some(handler)) => handler(network, node, &inputs),
        _ => unsupported("unknown operator"),
    }
}

/// Returns the handler of an operator with several answers.
fn handler_of_many(operator: &str) -> Option<HandlerOfMany> {
    Some(match operator {
        "Split" => select::split,
        "TopK" => ranked::top_k,
        "RNN" | "GRU" | "LSTM" => recurrent::layer,
        "Dropout" => elementwise::dropout,
        "SoftmaxCrossEntropyLoss" => losses::cross_entropy,
        "LayerNormalization" => layer_norm::layer_norm,
        "DynamicQuantizeLinear" => quantised::dynamic,
        "Attention" => attention::attention,
        _ => return None,
    })
}

fn handler(operator: &str) -> Option<Handler> {
    layers(operator)
        .or_else(|| numbers(operator))
        .or_else(|| arrangements(operator))
}

/// Layers with weights, windows, norms and sums over axes.
fn layers(operator: &str) -> Option<Handler> {
    Some(match operator {
        "Conv" => windows::conv,
        "ConvTranspose" => transposed::convolution,
        "MaxPool" | "AveragePool" | "LpPool" => pools::pool,
        "Resize" | "Upsample" => resize::resize,
        "GridSample" => grid::sample,
        "Col2Im" => columns::image,
        "GlobalAveragePool" | "GlobalMaxPool" => reduce::global_pool,
        "DFT" => fourier::transform,
        "Gemm" => dense::gemm,
        "MatMul" => dense::matmul,
        "Einsum" => einsum::einsum,
        "MatMulInteger" => quantised::product,
        "ConvInteger" => quantised::convolution,
        "QLinearMatMul" => quantised::linear_product,
        "QLinearConv" => quantised::linear_convolution,
        "NegativeLogLikelihoodLoss" => losses::negative_log_likelihood,
        "RotaryEmbedding" => rotary::embed,
        "QuantizeLinear" => quantised::quantise,
        "DequantizeLinear" => quantised::dequantise,
        "BatchNormalization" => norms::batch_norm,
        "InstanceNormalization" | "GroupNormalization" => norms::group_norm,
        "LRN" => norms::response_norm,
        "RMSNormalization" | "SimplifiedLayerNormalization" => layer_norm::rms_norm,
        "LpNormalization" => norms::lp_norm,
        "MeanVarianceNormalization" => mean_variance::normalise,
        "Softmax" => softmax::softmax,
        "LogSoftmax" => softmax::log_softmax,
        "Hardmax" => softmax::hardmax,
        "ArgMax" | "ArgMin" => reduce::extreme,
        "CumSum" | "CumProd" => reduce::running,
        "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1"
        | "ReduceL2" | "ReduceSumSquare" | "ReduceLogSum" | "ReduceLogSumExp" => reduce::reduce,
        _ => return None,
    })
}

/// Functions of numbers.
fn numbers(operator: &str) -> Option<Handler> {
    Some(match operator {
        "Relu" | "LeakyRelu" | "Elu" | "Sigmoid" | "HardSigmoid" | "HardSwish" | "Tanh"
        | "Softplus" | "Mish" | "Gelu" => activations::activation,
        "Clip" => elementwise::clip,
        "Cast" | "CastLike" => casts::cast,
        "Where" => elementwise::choose,
        "IsInf" => elementwise::is_infinite,
        "Celu" | "Selu" | "Softsign" | "Swish" | "ThresholdedRelu" | "Shrink" | "Tan" | "Sinh"
        | "Cosh" | "Asinh" | "Acosh" | "Atanh" | "Asin" | "Acos" => functions::activation,
        "BitwiseNot" => bits::inverted,
        "BitShift" => bits::shifted,
        "PRelu" => functions::parametric_relu,
        _ if super::kinds::binary(operator).is_some() => arithmetic::many,
        _ if super::kinds::unary(operator).is_some() => elementwise::unary,
        _ => return None,
    })
}

/// The same values in another order or under other dimensions, some of them or more.
fn arrangements(operator: &str) -> Option<Handler> {
    Some(match operator {
        "Identity" => |network, node, inputs| network.input(node, inputs, 0),
        "Flatten" => views::flatten,
        "Reshape" => views::reshape,
        "Squeeze" => views::squeeze,
        "Unsqueeze" => views::unsqueeze,
        "Transpose" => views::transpose,
        "DepthToSpace" => views::depth_to_space,
        "SpaceToDepth" => views::space_to_depth,
        "Slice" => select::slice,
        "Concat" => select::concat,
        "Gather" => gather::gather,
        "GatherElements" | "GatherND" => gather::positions,
        "Scatter" | "ScatterElements" | "ScatterND" => scatter::scatter,
        "Compress" => ranked::compressed,
        "OneHot" => gather::one_hot,
        "Expand" => extend::expand,
        "Tile" => extend::tile,
        "Pad" => extend::pad,
        "Trilu" => extend::triangle,
        _ => return None,
    })
}
