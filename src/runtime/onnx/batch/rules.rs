//! Where the answers of each operator hold the samples of a batch.

use super::followed::{
    BatchFault, Batched, Followed, FollowedAnswers, FollowedOperand, depends_on_batch, mixes,
};
use super::place::SamplePlace;
use super::{moves, products};
use crate::onnx::fold::axes;
use crate::onnx::kinds;
use crate::onnx::node::axis;
use crate::onnx::shapes::{normalised_axes, reduced_axes, transformed_axis};
use crate::onnx::tensor::Constant;

pub(in crate::onnx) fn answers(of: &Followed<'_, '_>) -> FollowedAnswers {
    let operator = of.node.operator().unwrap_or_default();
    match operator {
        "Identity" | "Cast" => Ok(vec![of.operand(0)?.batched.cloned()]),
        "MatMul" | "MatMulInteger" => products::matmul(of),
        "Gemm" => products::gemm(of),
        "Einsum" => products::einsum(of),
        "Softmax" | "LogSoftmax" | "Hardmax" => shares(of),
        "LpNormalization" | "TopK" | "CumSum" | "CumProd" => along(of, written_axis(of, -1)?),
        "LayerNormalization" | "RMSNormalization" => from_axis(of),
        "DynamicQuantizeLinear" => {
            // A scale for each sample is finer than one for the batch, so only a batch of a fixed
            // size is refused.
            match of.is_fixed {
                true => mixes(0),
                false => Ok(vec![of.operand(0)?.batched.cloned()]),
            }
        }
        // The parts of a number lie along the last axis.
        "DFT" if of.sample_place(0)?.axis + 1 == of.rank(0)? => mixes(of.sample_place(0)?.axis),
        "DFT" => along(of, axis(transformed(of)?, of.rank(0)?)?),
        "MeanVarianceNormalization" => reduced(of, &normalised_axes(of.node, of.rank(0)?)?),
        "ArgMax" | "ArgMin" => reduced(of, &[written_axis(of, 0)?]),
        _ if operator.starts_with("Reduce") => {
            let over = reduced_axes(of.node, axes(of.node, &of.constants()), of.rank(0)?)?;
            match over {
                Some(over) => reduced(of, &over),
                None => of.all_at(of.sample_place(0)?),
            }
        }
        "LSTM" | "GRU" | "RNN" => sequence(of),
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => loss(of),
        // Sizes may include the batch, which stays.
        "Resize" | "Upsample" => match of.sample_place(0)? {
            place if place.axis == 0 => of.all_at(place),
            place => mixes(place.axis),
        },
        "QuantizeLinear" | "DequantizeLinear" => quantised(of),
        _ if of.node.contrib() == Some("QGemm") && has_rows(of, 6) => mixes(0),
        _ if of
            .node
            .contrib()
            .is_some_and(|own| own.starts_with("QLinear"))
            && of.node.integer("axis") == Some(0) =>
        {
            mixes(0)
        }
        "Attention" if is_masked_by_sample(of) => mixes(0),
        _ if is_elementwise(operator) || of.node.contrib().is_some_and(is_elementwise) => {
            of.all_at(common_place(of)?)
        }
        _ => match moves::answers(operator, of) {
            Some(answers) => answers,
            None => first_axis(of),
        },
    }
}

/// Returns whether the constant mask of an attention differs for several samples.
fn is_masked_by_sample(of: &Followed<'_, '_>) -> bool {
    let mask = of.operands.get(3).and_then(Option::as_ref);
    mask.is_some_and(|mask| {
        let is_constant = mask.constant.is_some() && mask.batched.is_none();
        is_constant && matches!(mask.dims, [samples, _, _, _] if *samples > 1)
    })
}

/// Returns whether an operand is a matrix of several rows.
fn has_rows(of: &Followed<'_, '_>, n: usize) -> bool {
    let operand = of.operands.get(n).and_then(Option::as_ref);
    operand.is_some_and(|matrix| matches!(matrix.dims, [rows, _] if *rows > 1))
}

/// Values may have scales for each position of an axis, except that of the samples.
fn quantised(of: &Followed<'_, '_>) -> FollowedAnswers {
    let scales: usize = of.operand(1)?.dims.iter().product();
    let place = match scales {
        0 | 1 => common_place(of)?,
        _ => of.sample_place(0)?,
    };
    let along = axis(of.node.integer("axis").unwrap_or(1), of.rank(0)?)?;
    match scales > 1 && along == place.axis {
        true => mixes(place.axis),
        false => of.all_at(place),
    }
}

fn is_elementwise(operator: &str) -> bool {
    let number = kinds::binary(operator).is_some() || kinds::unary(operator).is_some();
    number
        || matches!(
            operator,
            "Relu"
                | "LeakyRelu"
                | "PRelu"
                | "Elu"
                | "Celu"
                | "Selu"
                | "Sigmoid"
                | "HardSigmoid"
                | "HardSwish"
                | "Swish"
                | "Tanh"
                | "Gelu"
                | "FastGelu"
                | "BiasGelu"
                | "QuickGelu"
                | "Softplus"
                | "Softsign"
                | "Mish"
                | "ThresholdedRelu"
                | "Shrink"
                | "Tan"
                | "Sinh"
                | "Cosh"
                | "Asinh"
                | "Acosh"
                | "Atanh"
                | "Asin"
                | "Acos"
                | "Atan"
                | "IsInf"
                | "CastLike"
                | "Clip"
                | "Where"
                | "Dropout"
                | "BitShift"
                | "BitwiseAnd"
                | "BitwiseOr"
                | "BitwiseXor"
                | "BitwiseNot"
                | "QLinearAdd"
                | "QLinearMul"
                | "QLinearSigmoid"
                | "QLinearLeakyRelu"
                | "QLinearWhere"
        )
}

/// Returns the place of values that are repeated as in NumPy.
pub(super) fn common_place(of: &Followed<'_, '_>) -> Result<SamplePlace, BatchFault> {
    let rank = of.answers.first().map_or(0, Vec::len);
    let raised = |operand: &FollowedOperand<'_>, place: SamplePlace| {
        place.along((place.axis + rank).saturating_sub(operand.dims.len()))
    };
    let mut placed = of.operands.iter().flatten();
    let place = match placed.find_map(|o| Some(raised(o, o.place()?))) {
        Some(place) => place,
        None => {
            let n = of
                .operands
                .iter()
                .position(|o| o.as_ref().is_some_and(FollowedOperand::differs));
            let n = n.unwrap_or_default();
            raised(of.operand(n)?, of.sample_place(n)?)
        }
    };
    // The operator ignores operands that it does not take.
    if place.axis >= rank {
        return Err(BatchFault::Single);
    }
    for operand in of.operands.iter().flatten() {
        let own = (place.axis + operand.dims.len()).checked_sub(rank);
        agrees(of, operand, place, own)?;
        // An operand of another size would fit only a batch of its own size, and mix its samples.
        if operand.place().is_some_and(|p| raised(operand, p) != place) {
            return mixes(place.axis);
        }
    }
    Ok(place)
}

/// Checks that an operand without samples fits an operand that has them at `place`, which is its
/// axis `own`.
fn agrees(
    of: &Followed<'_, '_>,
    operand: &FollowedOperand<'_>,
    place: SamplePlace,
    own: Option<usize>,
) -> Result<(), BatchFault> {
    match (operand.constant, operand.batched) {
        (Some(of_one), Some(Batched::Constant(of_all))) => {
            let repeats = |axis| place.along(axis).repeats(of_one, of_all, of.batch);
            match own.is_some_and(repeats) {
                true => Ok(()),
                false => Err(depends_on_batch()),
            }
        }
        (_, None) if own.is_some_and(|axis| operand.dims[axis] != 1) => Err(BatchFault::Single),
        _ => Ok(()),
    }
}

fn written_axis(of: &Followed<'_, '_>, default: i64) -> Result<usize, BatchFault> {
    let given = match of.node.operator() {
        Some("CumSum" | "CumProd") => {
            let given = of.operand(1)?.constant.and_then(Constant::as_integers);
            given.and_then(|axes| axes.first().copied())
        }
        _ => of.node.integer("axis"),
    };
    Ok(axis(given.unwrap_or(default), of.rank(0)?)?)
}

/// Returns the axis of a Fourier transform.
fn transformed(of: &Followed<'_, '_>) -> Result<i64, BatchFault> {
    match of.operands.get(2).and_then(Option::as_ref) {
        None => Ok(transformed_axis(of.node, None)),
        Some(axes) => match axes.constant.and_then(Constant::as_integers) {
            Some(axes) => Ok(transformed_axis(of.node, Some(axes))),
            None => Err(depends_on_batch()),
        },
    }
}

/// Works along one axis, which stays.
fn along(of: &Followed<'_, '_>, axis: usize) -> FollowedAnswers {
    let place = of.sample_place(0)?;
    match place.axis == axis {
        true => mixes(axis),
        false => of.all_at(place),
    }
}

/// Before opset 13 all axes from `axis` on form one row.
fn shares(of: &Followed<'_, '_>) -> FollowedAnswers {
    if of.node.opset >= 13 {
        return along(of, written_axis(of, -1)?);
    }
    let first = written_axis(of, 1)?;
    let place = of.sample_place(0)?;
    match place.axis >= first {
        true => mixes(place.axis),
        false => of.all_at(place),
    }
}

fn from_axis(of: &Followed<'_, '_>) -> FollowedAnswers {
    let first = written_axis(of, -1)?;
    let place = of.sample_place(0)?;
    match place.axis >= first {
        true => mixes(place.axis),
        false => of.all_at(place),
    }
}

fn reduced(of: &Followed<'_, '_>, over: &[usize]) -> FollowedAnswers {
    let place = of.sample_place(0)?;
    if over.contains(&place.axis) {
        return mixes(place.axis);
    }
    let before = over.iter().filter(|axis| **axis < place.axis).count();
    match of.node.integer("keepdims").unwrap_or(1) != 0 {
        true => of.all_at(place),
        false => of.all_at(place.along(place.axis - before)),
    }
}

/// Layers that take a batch of images or sequences: all inputs hold samples along the first
/// axis.
fn first_axis(of: &Followed<'_, '_>) -> FollowedAnswers {
    let mut found = None;
    for n in 0..of.operands.len() {
        if of.operands[n].as_ref().is_none_or(|o| o.batched.is_none()) {
            continue;
        }
        let place = of.sample_place(n)?;
        // More channels than the file has weights for.
        let weighed = matches!(
            of.node.operator(),
            Some(
                "Conv"
                    | "QLinearConv"
                    | "ConvInteger"
                    | "ConvTranspose"
                    | "BatchNormalization"
                    | "InstanceNormalization"
            )
        );
        if place.axis == 1 && weighed {
            return Err(BatchFault::Single);
        }
        if place.axis != 0 || found.is_some_and(|found| found != place) {
            return mixes(place.axis);
        }
        found = Some(place);
    }
    of.all_at(found.ok_or(BatchFault::Single)?)
}

/// The losses of all samples become one number unless they are not reduced.
fn loss(of: &Followed<'_, '_>) -> FollowedAnswers {
    match of.node.text("reduction") {
        Some(b"none") => first_axis(of),
        _ => mixes(0),
    }
}

/// Recurrent layers, whose sequences go on along the first axis and are a batch along the
/// second, or the other way around (`layout = 1`).
fn sequence(of: &Followed<'_, '_>) -> FollowedAnswers {
    let by_row = of.node.integer("layout") == Some(1);
    let own = usize::from(!by_row);
    for operand in of.operands.iter().flatten() {
        if let Some(place) = operand.place()
            && (place.axis != own || place.outer * place.inner != 1)
        {
            return mixes(place.axis);
        }
        if operand.differs() && operand.place().is_none() && operand.constant.is_none() {
            return Err(depends_on_batch());
        }
    }
    let axes = if by_row { [0, 0, 0] } else { [2, 1, 1] };
    let at = |axis| Some(Batched::Samples(SamplePlace::FIRST.along(axis)));
    Ok(axes.into_iter().map(at).collect())
}
