//! Values brought to mean 0 and variance 1.

use super::{INF, NAN, check, network, refused, single};
use crate::made_onnx::Attribute::Integers;
use crate::made_onnx::MadeModel;
use crate::onnx::answers;

const KIND: &str = "MeanVarianceNormalization";

/// Values with the mean 5 and the variance 4, and the values that they become.
const X: [f32; 8] = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
const Y: [f32; 8] = [-1.5, -0.5, -0.5, -0.5, 0.0, 0.0, 1.0, 2.0];

fn over(axes: &[i64], dims: &[usize]) -> Vec<u8> {
    single(KIND, &[("axes", Integers(axes))]).file(dims, dims)
}

#[test]
fn means_and_variances_are_those_of_the_axes() {
    let (x, y) = ([X, X.map(|v| -2.0 * v)].concat(), [Y, Y.map(|v| -v)]);
    check("pixels", over(&[2, 3], &[2, 2, 4]), &x, &y.concat());
    check("channels too", over(&[3, 1, 2], &[2, 1, 4]), &X, &Y);
    check("twice", over(&[1, -1, 2], &[8, 1]), &X, &Y);
    let rows = [1.0, 3.0, 1.0, 3.0, 0.0, 0.0, 8.0, 8.0];
    let expected = [-1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0];
    check("rows", over(&[-1], &[2, 4]), &rows, &expected);
    let columns = [1.0, 2.0, 3.0, 3.0, 8.0, 3.0];
    let expected = [-1.0, -1.0, 0.0, 1.0, 1.0, 0.0];
    check("columns", over(&[1], &[2, 3]), &columns, &expected);
}

#[test]
fn small_variances_and_infinities_are_as_defined() {
    let x = [0.0, 2e-9, 1.0, INF, 6.0, 6.0, NAN, 1.0];
    let expected = [-0.5, 0.5, NAN, NAN, 0.0, 0.0, NAN, NAN];
    check("edges", over(&[2], &[4, 2]), &x, &expected);
}

#[test]
fn a_constant_becomes_its_norm() {
    let file = MadeModel::default()
        .floats("all", &[8], &X)
        .node_with(KIND, &["all"], &["norm"], &[("axes", Integers(&[0]))])
        .node("Add", &["norm", "x"], &["y"])
        .file(&[8], &[8]);
    check("constant", file, &[1.0; 8], &Y.map(|v| v + 1.0));
}

#[test]
fn samples_of_a_batch_are_normalised_one_by_one_or_refused() {
    let rows = [X.to_vec(), X.map(|v| 100.0 - v).to_vec()];
    let made = network(over(&[1, 2], &[2, 4]));
    let found = answers(&made, &rows);
    let expected = [Y, Y.map(|v| -v)].concat();
    let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4;
    assert!(found.iter().zip(&expected).all(near), "{found:?}");
    // The default axes are those of all values of a channel, in all samples.
    let text = refused(single(KIND, &[]).file(&[2, 2, 2], &[2, 2, 2]));
    assert!(text.contains("mix the samples"), "{text}");
    let text = refused(over(&[2], &[4]));
    assert!(text.contains("axis"), "{text}");
    let before = single(KIND, &[("axes", Integers(&[1]))]).opset(8);
    let text = refused(before.file(&[4], &[4]));
    assert!(text.contains("operator set 9"), "{text}");
}
