//! Operators of the domain `com.microsoft`, which ONNX Runtime's optimiser writes instead of
//! several nodes. Each becomes its separate operations.

mod attention;
mod norms;

use super::inputs::{Added, Handler, HandlerOfMany, Inputs, unsupported};
use super::{dense, quantised, windows};
use crate::network::{Activation as Function, Binary, Op};
use crate::onnx::activation::{Activation, Value};
use crate::onnx::fold::permuted;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};

/// Returns the handler of an operator with one answer.
pub(super) fn handler(operator: &str) -> Option<Handler> {
    Some(match operator {
        "FusedConv" => fused_conv,
        "FusedGemm" => fused_gemm,
        "FusedMatMul" | "TransposeMatMul" => fused_matmul,
        "Gelu" | "BiasGelu" | "FastGelu" => gelu,
        "QuickGelu" => quick_gelu,
        "Attention" => attention::attention,
        "QLinearAdd" => quantised::sum,
        "QLinearMul" => quantised::multiplied,
        "QLinearGlobalAveragePool" | "QLinearAveragePool" => quantised::pool,
        "QLinearSigmoid" | "QLinearLeakyRelu" => quantised::function,
        "QLinearSoftmax" => quantised::shares,
        "QLinearConcat" => quantised::joined,
        "QLinearWhere" => quantised::chosen,
        "QGemm" => quantised::gemm,
        _ => return None,
    })
}

/// Returns the handler of an operator with several answers.
pub(super) fn handler_of_many(operator: &str) -> Option<HandlerOfMany> {
    Some(match operator {
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => norms::skip,
        "EmbedLayerNormalization" => norms::embed,
        "MultiHeadAttention" => attention::multi_head,
        _ => return None,
    })
}

/// Adds the function that a fused node applies to its answer.
fn fused_function<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, x: Activation) -> Added {
    let Some(name) = node.text("activation").filter(|name| !name.is_empty()) else {
        return Ok(x);
    };
    let written = node
        .attribute("activation_params")
        .map(|a| a.floats.as_slice());
    let param = |at: usize, name: &str, default: f32| {
        let listed = written.and_then(|all| all.get(at).copied());
        listed.or(node.float(name)).unwrap_or(default)
    };
    let function = match name {
        b"Relu" => Function::Relu,
        b"Tanh" => Function::Tanh,
        b"Sigmoid" => Function::Sigmoid,
        b"LeakyRelu" => Function::LeakyRelu {
            slope: param(0, "activation_alpha", 0.01),
        },
        b"HardSigmoid" => Function::HardSigmoid {
            slope: param(0, "activation_alpha", 0.2),
            shift: param(1, "activation_beta", 0.5),
        },
        b"Clip" => Function::Clip {
            least: param(0, "activation_min", f32::NEG_INFINITY),
            most: param(1, "activation_max", f32::INFINITY),
        },
        other => {
            let other = String::from_utf8_lossy(other);
            return unsupported(format!("the fused function {other}"));
        }
    };
    network.each(node, Op::from(function), &x)
}

/// A convolution, an addend of the answer's dimensions, and a function.
fn fused_conv<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs<'_>) -> Added {
    let mut made = windows::conv(network, node, inputs)?;
    if inputs.has(3) {
        made = network.binary(node, Binary::Add, &made.into(), inputs.value(3)?)?;
    }
    fused_function(network, node, made)
}

fn fused_gemm<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs<'_>) -> Added {
    let made = dense::gemm(network, node, inputs)?;
    fused_function(network, node, made)
}

/// A product of matrices times a number; each matrix may be transposed.
fn fused_matmul<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let set = |name: &str| node.integer(name).unwrap_or(0) != 0;
    if set("transBatchA") || set("transBatchB") {
        return unsupported("transBatchA or transBatchB");
    }
    let turned = |value: &Value, name: &str| match value {
        _ if !set(name) => value.clone(),
        Value::Constant(matrix) if matrix.dims.len() >= 2 => {
            let mut axes: Vec<usize> = (0..matrix.dims.len()).collect();
            axes.swap(matrix.dims.len() - 2, matrix.dims.len() - 1);
            permuted(matrix, &axes).into()
        }
        Value::Activation(x) if x.dims().len() >= 2 => x.turned().into(),
        other => other.clone(),
    };
    let operands = [
        Some(turned(inputs.value(0)?, "transA")),
        Some(turned(inputs.value(1)?, "transB")),
    ];
    let alpha = node.float("alpha").unwrap_or(1.0);
    // Later operations can only be merged into a product without a factor.
    let made = match alpha == 1.0 {
        true => dense::matmul(network, node, &Inputs(&operands))?,
        false => dense::scaled_matmul(network, node, &Inputs(&operands), alpha)?,
    };
    Ok(made)
}

/// GELU by `erf`, or by `tanh` (`FastGelu`), of a value with an addend.
fn gelu<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs<'_>) -> Added {
    let mut x = network.input(node, inputs, 0)?;
    if inputs.has(1) {
        x = network.binary(node, Binary::Add, &x.into(), inputs.value(1)?)?;
    }
    let function = match node.contrib() {
        Some("FastGelu") => Function::GeluTanh,
        _ => Function::Gelu,
    };
    network.each(node, Op::from(function), &x)
}

/// `x · sigmoid(alpha · x)`.
fn quick_gelu<'a>(network: &mut PartialNetwork<'a>, node: Node<'a>, inputs: &Inputs<'_>) -> Added {
    let x = network.input(node, inputs, 0)?;
    let alpha = node.float("alpha").unwrap_or(1.702);
    let gate = network.with_number(node, Binary::Mul, &x, alpha, false)?;
    let gate = network.each(node, Op::from(Function::Sigmoid), &gate)?;
    network.pair(node, Binary::Mul, &x, &gate)
}

/// Returns the rows of a table, constant or not, selected by indices.
fn rows<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    table: &Value,
    which: &Value,
) -> Result<Activation, Refusal> {
    let which = network.operand(node, which)?;
    match table {
        Value::Constant(table) => super::gather::embedding(network, node, table, &which, 0),
        table => {
            let table = network.operand(node, table)?;
            super::gather::gathered(network, node, &table, &which, 0)
        }
    }
}
