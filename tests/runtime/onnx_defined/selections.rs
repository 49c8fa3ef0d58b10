//! Values that are selected by others, and those that are not.

use super::{INF, NAN, check, single};
use crate::made_onnx::Attribute::{Float, Integer, Text};
use crate::made_onnx::{FLOAT, INT64, MadeModel};

#[test]
fn what_is_not_selected_leaves_nothing_of_infinities() {
    let x = [NAN, -INF, INF, -2.0, 0.25, 3.0];
    let file = |made: MadeModel| made.file(&[6], &[6]);
    let expected = [NAN, -1.0, 1.0, -1.0, 1.0, 1.0];
    check("sign", file(single("Sign", &[])), &x, &expected);
    let above = single("ThresholdedRelu", &[("alpha", Float(0.5))]);
    check("above", file(above), &x, &[0.0, 0.0, INF, 0.0, 0.0, 3.0]);
    let shrink = single("Shrink", &[("lambd", Float(0.5)), ("bias", Float(0.5))]);
    check(
        "shrink",
        file(shrink),
        &x,
        &[0.0, -INF, INF, -1.5, 0.0, 2.5],
    );
    let slopes = [2.0, 2.0, INF, 0.5, NAN, INF];
    let sloped = MadeModel::default().floats("slopes", &[6], &slopes).node(
        "PRelu",
        &["x", "slopes"],
        &["y"],
    );
    check(
        "slopes",
        file(sloped),
        &x,
        &[NAN, -INF, INF, -1.0, 0.25, 3.0],
    );
    let triangle = single("Trilu", &[("upper", Integer(0))]);
    let kept = [NAN, 0.0, -2.0, 0.25];
    let (square, of) = (triangle.file(&[2, 2], &[2, 2]), [NAN, INF, -2.0, 0.25]);
    check("triangle", square, &of, &kept);
}

#[test]
fn a_sign_of_a_constant_is_that_of_a_value() {
    let file = MadeModel::default()
        .floats("all", &[3], &[NAN, -INF, 0.0])
        .node("Sign", &["all"], &["signs"])
        .node("Where", &["is", "signs", "x"], &["y"])
        .booleans("is", &[1], &[true])
        .file(&[3], &[3]);
    check("signs", file, &[0.0; 3], &[NAN, -1.0, 0.0]);
}

#[test]
fn a_one_hot_row_has_the_two_values_that_it_is_given() {
    let file = MadeModel::default()
        .longs("depth", &[], &[3])
        .floats("values", &[2], &[-INF, 0.0])
        .node("OneHot", &["x", "depth", "values"], &["y"])
        .file_of((INT64, &[2]), (FLOAT, &[2, 3]));
    let expected = [-INF, 0.0, -INF, -INF, -INF, 0.0];
    check("one hot", file, &[1.0, -1.0], &expected);
}

#[test]
fn a_remainder_by_an_infinity_is_the_number_itself() {
    let file = MadeModel::default()
        .floats("by", &[4], &[INF, INF, 3.0, 0.1])
        .node_with("Mod", &["x", "by"], &["y"], &[("fmod", Integer(1))])
        .file(&[4], &[4]);
    let x = [5.0, -5.0, -1e9, 7.0];
    let by = [INF, INF, 3.0, 0.1];
    let expected = [0, 1, 2, 3].map(|i| x[i] % by[i]);
    check("remainders", file, &x, &expected);
}

#[test]
fn a_dropout_that_does_nothing_keeps_nan_too() {
    let file = MadeModel::default()
        .node("Dropout", &["x"], &["same", "kept"])
        .cast("kept", "y")
        .file(&[3], &[3]);
    check("kept", file, &[NAN, 1.0, INF], &[1.0; 3]);
}

#[test]
fn an_infinity_reaches_the_resized_values_beside_it_alone() {
    let how = [
        ("mode", Text("linear")),
        ("coordinate_transformation_mode", Text("align_corners")),
    ];
    let file = MadeModel::default()
        .longs("sizes", &[3], &[1, 1, 5])
        .node_with("Resize", &["x", "", "", "sizes"], &["y"], &how)
        .file(&[1, 3], &[1, 5]);
    check(
        "one axis",
        file,
        &[INF, 2.0, 4.0],
        &[INF, INF, 2.0, 3.0, 4.0],
    );
    let file = MadeModel::default()
        .longs("sizes", &[4], &[1, 1, 3, 3])
        .node_with("Resize", &["x", "", "", "sizes"], &["y"], &how)
        .file(&[1, 2, 2], &[1, 3, 3]);
    let expected = [1.0, 1.5, 2.0, 2.0, INF, INF, 3.0, INF, INF];
    check("image", file, &[1.0, 2.0, 3.0, INF], &expected);
}

#[test]
fn a_place_outside_of_an_image_is_0_whatever_its_border_holds() {
    // The centre of the first pixel, a place far outside, and one that is no number of pixels away.
    let grid = [-0.5, -0.5, 5.0, 5.0, INF, 0.0, 0.5, 0.5];
    let file = MadeModel::default()
        .floats("grid", &[1, 1, 4, 2], &grid)
        .node("GridSample", &["x", "grid"], &["y"])
        .file(&[1, 2, 2], &[1, 1, 4]);
    check("places", file, &[1.0, INF, INF, INF], &[1.0, 0.0, 0.0, INF]);
}

#[test]
fn a_class_to_ignore_costs_nothing_whatever_its_likelihood() {
    let how = [("ignore_index", Integer(1)), ("reduction", Text("none"))];
    let file = MadeModel::default()
        .longs("classes", &[1, 2], &[1, 0])
        .node_with("NegativeLogLikelihoodLoss", &["x", "classes"], &["y"], &how)
        .file(&[2, 2], &[2]);
    // Logarithms of two classes at two places.
    let x = [-1.0, -2.0, -INF, -3.0];
    check("losses", file, &x, &[0.0, 2.0]);
}
