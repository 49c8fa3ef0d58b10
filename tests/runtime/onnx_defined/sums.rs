//! Running sums and products, and reductions.

use divisi_runtime::compute::{footprint, planned_steps};

use super::{INF, NAN, check, everywhere, network, single};
use crate::made_onnx::Attribute::{self, Integer, Integers};
use crate::made_onnx::MadeModel;

/// A running sum or product along an axis of `x`.
fn running(kind: &str, axis: i64, how: &[(&str, Attribute<'_>)]) -> MadeModel {
    let opset = if kind == "CumProd" { 26 } else { 17 };
    MadeModel::default()
        .longs("axis", &[], &[axis])
        .node_with(kind, &["x", "axis"], &["y"], how)
        .opset(opset)
}

const EXCLUSIVE: (&str, Attribute<'_>) = ("exclusive", Integer(1));
const REVERSE: (&str, Attribute<'_>) = ("reverse", Integer(1));

#[test]
fn what_comes_later_touches_no_running_sum() {
    let x = [1.0, 2.0, INF, 4.0, -INF, 1.0, 2.0, 3.0, NAN, 5.0];
    let cases: [(&[_], [f32; 10]); 4] = [
        (&[], [1.0, 3.0, INF, INF, NAN, 1.0, 3.0, 6.0, NAN, NAN]),
        (
            &[EXCLUSIVE],
            [0.0, 1.0, 3.0, INF, INF, 0.0, 1.0, 3.0, 6.0, NAN],
        ),
        (
            &[REVERSE],
            [NAN, NAN, NAN, -INF, -INF, NAN, NAN, NAN, NAN, 5.0],
        ),
        (
            &[EXCLUSIVE, REVERSE],
            [NAN, NAN, -INF, -INF, 0.0, NAN, NAN, NAN, 5.0, 0.0],
        ),
    ];
    for (how, expected) in cases {
        let file = running("CumSum", 2, how).file(&[2, 5], &[2, 5]);
        check("sums", file, &x, &expected);
    }
    let columns = [1.0, 2.0, INF, 4.0, -INF, 2.0, 4.0, INF, NAN, -INF];
    let file = running("CumSum", 1, &[]).file(&[2, 5], &[2, 5]);
    check("columns", file, &x, &columns);
}

#[test]
fn what_comes_later_touches_no_running_product() {
    let x = [2.0, 3.0, 0.0, INF, 1.0];
    let cases: [(&[_], [f32; 5]); 4] = [
        (&[], [2.0, 6.0, 0.0, NAN, NAN]),
        (&[EXCLUSIVE], [1.0, 2.0, 6.0, 0.0, NAN]),
        (&[REVERSE], [NAN, NAN, NAN, INF, 1.0]),
        (&[EXCLUSIVE, REVERSE], [NAN, NAN, INF, 1.0, 1.0]),
    ];
    for (how, expected) in cases {
        let file = running("CumProd", -1, how).file(&[5], &[5]);
        check("products", file, &x, &expected);
    }
}

/// A running product of constants, and their running sum, for a sample of as many values.
#[test]
fn running_sums_of_constants_are_those_of_values() {
    let made = |kind: &str, opset| {
        let all = [1.0, 2.0, INF, 4.0];
        MadeModel::default()
            .floats("all", &[4], &all)
            .longs("axis", &[1], &[0])
            .node(kind, &["all", "axis"], &["run"])
            .node("Where", &["is", "run", "x"], &["y"])
            .booleans("is", &[1], &[true])
            .opset(opset)
            .file(&[4], &[4])
    };
    check("sums", made("CumSum", 17), &[9.0; 4], &[1.0, 3.0, INF, INF]);
    check(
        "products",
        made("CumProd", 26),
        &[9.0; 4],
        &[1.0, 2.0, INF, INF],
    );
}

#[test]
fn a_long_running_sum_takes_memory_that_grows_with_its_values() {
    const COUNT: usize = 300_000;
    for (kind, expected) in [("CumSum", COUNT as f32), ("CumProd", 1.0)] {
        let network = network(running(kind, 1, &[]).file(&[COUNT], &[COUNT]));
        let steps = planned_steps(&network.graph);
        let by_candle = steps.iter().any(|step| step.method == "candle");
        assert!(!by_candle, "{kind} has a kernel, whose memory is booked");
        let booked = footprint(&network.graph, 1, 1).activation_bytes;
        assert!(booked < 32 * COUNT as u64, "{kind}: {booked} bytes");
        for (way, found) in everywhere(&network, &vec![1.0; COUNT]) {
            let last = found[COUNT - 1];
            assert_eq!(last, expected, "{kind}, {way}");
        }
    }
}

/// A function of one value.
type OfEach = fn(f32) -> f32;

/// The reductions that apply a function to each value, with that function.
const EACH: [(&str, OfEach); 10] = [
    ("ReduceSumSquare", |v| v * v),
    ("ReduceL1", f32::abs),
    ("ReduceL2", f32::abs),
    ("ReduceLogSum", f32::ln),
    ("ReduceLogSumExp", |v| v),
    ("ReduceSum", |v| v),
    ("ReduceMean", |v| v),
    ("ReduceMax", |v| v),
    ("ReduceMin", |v| v),
    ("ReduceProd", |v| v),
];

const NOTHING: (&str, Attribute<'_>) = ("noop_with_empty_axes", Integer(1));

#[test]
fn a_reduction_of_no_axes_does_with_each_value_what_it_does_before_and_after() {
    let x = [-2.0, 0.5, 3.0, -1.0, INF, NAN];
    for (kind, each) in EACH {
        let expected = x.map(each);
        for axes in [&["x"][..], &["x", ""], &["x", "axes"]] {
            let file = MadeModel::default()
                .longs("axes", &[0], &[])
                .node_with(kind, axes, &["y"], &[NOTHING, ("keepdims", Integer(0))])
                .opset(18)
                .file(&[2, 3], &[2, 3]);
            check(kind, file, &x, &expected);
        }
        let folded = MadeModel::default()
            .floats("all", &[2, 3], &x)
            .node_with(kind, &["all"], &["each"], &[NOTHING])
            .node("Where", &["is", "each", "x"], &["y"])
            .booleans("is", &[1], &[true])
            .opset(18)
            .file(&[2, 3], &[2, 3]);
        check(kind, folded, &[7.0; 6], &expected);
    }
}

#[test]
fn reductions_keep_nan_and_the_infinities_of_a_sum_of_exponentials() {
    let over = [("axes", Integers(&[-1]))];
    let sums = single("ReduceLogSumExp", &over).file(&[3, 2], &[3, 1]);
    check(
        "sums",
        sums,
        &[-INF, -INF, INF, 1.0, NAN, 1.0],
        &[-INF, INF, NAN],
    );
    for kind in ["ReduceMax", "ReduceMin"] {
        let folded = MadeModel::default()
            .floats("all", &[3], &[1.0, NAN, 2.0])
            .node(kind, &["all"], &["most"])
            .node("Where", &["is", "most", "x"], &["y"])
            .booleans("is", &[1], &[true])
            .file(&[1], &[1]);
        check(kind, folded, &[0.0], &[NAN]);
    }
}
