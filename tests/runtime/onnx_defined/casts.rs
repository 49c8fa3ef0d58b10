//! Casts to 16 bits, and back.

use divisi_runtime::compute::planned_steps;
use half::{bf16, f16};

use super::{INF, NAN, check, network};
use crate::made_onnx::Attribute::Integers;
use crate::made_onnx::{BFLOAT16, BOOL, FLOAT, FLOAT16, INT32, MadeModel};

/// Numbers beside the ends and the ties of half precision.
const TO_ROUND: [f32; 10] = [
    70_000.0, 65_519.0, 65_520.0, -65_520.0, 2_049.0, 2_051.0, 0.1, 1e-8, NAN, -INF,
];

fn halves() -> Vec<f32> {
    let each = TO_ROUND.iter();
    each.map(|v| f16::from_f32(*v).to_f32()).collect()
}

fn brains() -> Vec<f32> {
    let each = TO_ROUND.iter();
    each.map(|v| bf16::from_f32(*v).to_f32()).collect()
}

#[test]
fn a_cast_to_16_bits_rounds() {
    for (kind, expected) in [(FLOAT16, halves()), (BFLOAT16, brains())] {
        let there = || MadeModel::default().cast_to(kind, "x", "there");
        let back = there().cast("there", "y").file(&[10], &[10]);
        check("there and back", back, &TO_ROUND, &expected);
        let like = MadeModel::default()
            .constant("like", kind, &[1], &[0; 2])
            .node("CastLike", &["x", "like"], &["there"])
            .cast("there", "y")
            .file(&[10], &[10]);
        check("like", like, &TO_ROUND, &expected);
        let folded = MadeModel::default()
            .floats("all", &[10], &TO_ROUND)
            .cast_to(kind, "all", "there")
            .cast("there", "back")
            .node("Where", &["is", "back", "x"], &["y"])
            .booleans("is", &[1], &[true])
            .file(&[10], &[10]);
        check("folded", folded, &[0.0; 10], &expected);
    }
}

#[test]
fn a_guard_behind_a_cast_to_half_precision_sees_what_is_beyond_it() {
    let file = MadeModel::default()
        .cast_to(FLOAT16, "x", "half")
        .cast("half", "back")
        .node("IsInf", &["back"], &["beyond"])
        .cast("beyond", "y")
        .file(&[3], &[3]);
    check("guard", file, &[70_000.0, 65_504.0, -1e9], &[1.0, 0.0, 1.0]);
}

#[test]
fn integers_are_cast_to_half_precision_as_floats_are() {
    let file = MadeModel::default()
        .cast_to(FLOAT16, "x", "half")
        .cast("half", "y")
        .file_of((INT32, &[3]), (FLOAT, &[3]));
    check(
        "integers",
        file,
        &[2_049.0, 70_000.0, -3.0],
        &[2_048.0, INF, -3.0],
    );
}

#[test]
fn what_is_computed_in_half_precision_is_rounded_where_it_leaves_it() {
    let file = MadeModel::default()
        .node("Add", &["x", "x"], &["twice"])
        .cast("twice", "y")
        .file_of((FLOAT16, &[3]), (FLOAT, &[3]));
    check(
        "sums",
        file,
        &[60_000.0, 1_025.5, 0.5],
        &[INF, 2_052.0, 1.0],
    );
    let whole = MadeModel::default()
        .node("Add", &["x", "x"], &["twice"])
        .cast_to(BOOL, "twice", "is")
        .cast("is", "y")
        .file_of((FLOAT16, &[2]), (FLOAT, &[2]));
    check("booleans", whole, &[1e-7, 0.0], &[1.0, 0.0]);
}

/// A network in half precision whose shares are computed in float32 keeps the kernel of attention.
#[test]
fn casts_around_a_softmax_leave_attention_whole() {
    let file = MadeModel::default()
        .node_with(
            "Transpose",
            &["x"],
            &["keys"],
            &[("perm", Integers(&[0, 1, 3, 2]))],
        )
        .node("MatMul", &["x", "keys"], &["scores"])
        .cast("scores", "wide")
        .node("Softmax", &["wide"], &["shares"])
        .cast_to(FLOAT16, "shares", "narrow")
        .node("MatMul", &["narrow", "x"], &["y"])
        .file_of((FLOAT16, &[1, 3, 2]), (FLOAT16, &[1, 3, 2]));
    let steps = planned_steps(&network(file).graph);
    let methods: Vec<&str> = steps.iter().map(|step| step.method).collect();
    assert!(methods.contains(&"attention"), "{methods:?}");
}
