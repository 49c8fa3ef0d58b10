//! Inputs and answers that are views into larger tensors.

use std::sync::Arc;

use candle_core::{DType, Device, Tensor};
use divisi_runtime::compute::{Family, NetworkOp, host_rows, write_rows};
use divisi_runtime::network::{Conv2d, Graph, Op, Shape};

use super::{Net, answer, input, lowered, team, values};
use crate::compute::weights;

fn network() -> Graph {
    Net::new(Shape::image(2, 5, 7))
        .then(Op::Conv2d(Conv2d::new(20, 3).same().biased()))
        .then(Op::GlobalAvgPool)
        .build()
}

const INPUTS: usize = 2 * 5 * 7;
const OUTPUTS: usize = 20;

fn op(graph: &Graph, family: Family, batch: usize, threads: usize) -> NetworkOp {
    let network = lowered(graph, &weights(graph), family);
    NetworkOp::new(network, batch, team(threads)).expect("op")
}

#[test]
fn samples_from_the_middle_of_a_tensor_are_read_where_they_lie() {
    let (graph, x) = (network(), input(&network(), 6));
    for family in Family::available() {
        let whole = answer(&lowered(&graph, &weights(&graph), family), &x, 0);
        let middle = x.narrow(0, 2, 3).expect("contiguous, at an offset");
        let found = middle.apply_op1_no_bwd(&op(&graph, family, 6, 2));
        let expected = &whole[2 * OUTPUTS..5 * OUTPUTS];
        assert_eq!(values(&found.expect("runs")), expected);
    }
}

#[test]
fn samples_may_have_their_images_dimensions() {
    let (graph, x) = (network(), input(&network(), 3));
    let op = op(&graph, Family::best(), 3, 0);
    let flat = values(&x.apply_op1_no_bwd(&op).expect("rows"));
    let images = x.reshape((3, 2, 5, 7)).expect("images");
    let found = images.apply_op1_no_bwd(&op).expect("images");
    assert_eq!(found.dims(), [3, OUTPUTS]);
    assert_eq!(values(&found), flat);
}

#[test]
fn answers_are_written_to_the_rows_given_and_to_no_others() {
    let (graph, x) = (network(), input(&network(), 3));
    let op = op(&graph, Family::best(), 3, 0);
    let expected = values(&x.apply_op1_no_bwd(&op).expect("rows"));
    let all = host_rows(5, OUTPUTS).expect("rows");
    write_rows(&all, |rows| rows.fill(9.0)).expect("fill");
    let middle = all.narrow(0, 1, 3).expect("rows");
    middle.inplace_op2(&x, &op).expect("runs");
    let all = values(&all);
    assert_eq!(all[OUTPUTS..4 * OUTPUTS], expected);
    let others = all[..OUTPUTS].iter().chain(&all[4 * OUTPUTS..]);
    assert!(others.copied().all(|v| v == 9.0));
}

#[test]
fn what_is_not_contiguous_float32_of_whole_samples_is_refused() {
    let (graph, x) = (network(), input(&network(), 4));
    let wide = Tensor::zeros((4, INPUTS + 1), DType::F32, &Device::Cpu).expect("wide");
    let cases = [
        (
            "columns",
            wide.narrow(1, 0, INPUTS).expect("columns"),
            "contiguous",
        ),
        (
            "turned",
            x.t().and_then(|x| x.contiguous()?.t()).expect("turned"),
            "contiguous",
        ),
        (
            "values",
            wide.clone(),
            "input: expected 280 values, found 284",
        ),
        ("doubles", x.to_dtype(DType::F64).expect("doubles"), "dtype"),
    ];
    let op = Arc::new(op(&graph, Family::best(), 4, 0));
    for (name, x, why) in cases {
        let refused = x.apply_op1_no_bwd(&*op).expect_err(name).to_string();
        assert!(refused.contains(why), "{name}: {refused}");
        let output = host_rows(4, OUTPUTS).expect("rows");
        let refused = output.inplace_op2(&x, &*op).expect_err(name).to_string();
        assert!(refused.contains(why), "{name}: {refused}");
    }
}

#[test]
fn answers_that_do_not_fit_their_rows_are_refused() {
    let (graph, x) = (network(), input(&network(), 4));
    let op = op(&graph, Family::best(), 4, 0);
    let few = host_rows(3, OUTPUTS).expect("rows");
    let refused = few.inplace_op2(&x, &op).expect_err("few").to_string();
    assert!(
        refused.contains("output: expected 80 values, found 60"),
        "{refused}"
    );
    let wide = host_rows(4, OUTPUTS + 1).expect("rows");
    let columns = wide.narrow(1, 0, OUTPUTS).expect("columns");
    let refused = columns.inplace_op2(&x, &op).expect_err("gaps").to_string();
    assert!(refused.contains("contiguous"), "{refused}");
}
