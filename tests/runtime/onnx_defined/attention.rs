//! Attention of queries that may look at nothing.

use super::{INF, NAN, check, everywhere, network, refused};
use crate::made_onnx::Attribute::{self, Integer, Integers};
use crate::made_onnx::MadeModel;

/// Attention of three queries to three keys of one head, all of which are `x`, whose row `r` is
/// `[r, 1 - r]`, with a mask. Without scale all scores are products of those.
fn attention(
    opset: u64,
    mask: MadeModel,
    inputs: &[&str],
    how: &[(&str, Attribute<'_>)],
) -> Vec<u8> {
    let made = mask
        .node_with("Attention", inputs, &["y"], how)
        .opset(opset);
    made.file(&[1, 3, 2], &[1, 3, 2])
}

const ROWS: [f32; 6] = [0.0, 1.0, 1.0, 0.0, 2.0, -1.0];

/// Returns the mean of rows by the shares of their scores, zeros for none.
fn attended(query: usize, keys: &[usize]) -> [f32; 2] {
    let row = |n: usize| [ROWS[2 * n], ROWS[2 * n + 1]];
    let score = |key: usize| {
        let (q, k) = (row(query), row(key));
        ((q[0] * k[0] + q[1] * k[1]) / 2f32.sqrt()).exp()
    };
    let all: f32 = keys.iter().map(|key| score(*key)).sum();
    let of = |n: usize| {
        keys.iter()
            .map(|key| score(*key) / all * row(*key)[n])
            .sum()
    };
    [of(0), of(1)]
}

#[test]
fn a_query_that_may_look_at_nothing_answers_zeros() {
    let lowest = -INF;
    let (query, all) = (["x", "x", "x", "mask"], [0, 1, 2]);
    let rows = |keys: [&[usize]; 3]| [0, 1, 2].map(|q| attended(q, keys[q])).concat();
    let by_booleans = || {
        let seen = [true, true, true, false, false, false, false, true, true];
        MadeModel::default().booleans("mask", &[3, 3], &seen)
    };
    let by_numbers = || {
        let added = [0.0, 0.0, 0.0, lowest, lowest, lowest, lowest, 0.0, 0.0];
        MadeModel::default().floats("mask", &[3, 3], &added)
    };
    for opset in [23, 24] {
        let expected = rows([&all, &[], &[1, 2]]);
        let file = attention(opset, by_booleans(), &query, &[]);
        check("booleans", file, &ROWS, &expected);
        let file = attention(opset, by_numbers(), &query, &[]);
        check("numbers", file, &ROWS, &expected);
        // The first query may look at the first key alone, which the mask hides.
        let hidden = || MadeModel::default().booleans("mask", &[1, 3], &[false, true, true]);
        let causal = [("is_causal", Integer(1))];
        let expected = rows([&[], &[1], &[1, 2]]);
        let file = attention(opset, hidden(), &query, &causal);
        check("causal", file, &ROWS, &expected);
        let added = MadeModel::default().floats("mask", &[1, 3], &[lowest, 0.0, 0.0]);
        let file = attention(opset, added, &query, &causal);
        check("causal by numbers", file, &ROWS, &expected);
    }
}

/// A mask for two samples is none for a batch of any other size.
#[test]
fn a_constant_mask_for_several_samples_is_refused_for_a_batch_of_any_size() {
    let mask = MadeModel::default().booleans("mask", &[2, 1, 3, 3], &[true; 18]);
    let why = refused(attention(23, mask, &["x", "x", "x", "mask"], &[]));
    assert!(why.contains("Attention"), "{why}");
}

#[test]
fn a_query_that_is_nan_is_not_taken_for_one_that_looks_at_nothing() {
    let mask = MadeModel::default().floats("mask", &[3, 3], &[0.0; 9]);
    let file = attention(23, mask, &["x", "x", "x", "mask"], &[]);
    for (way, found) in everywhere(&network(file), &[NAN, 1.0, 1.0, 0.0, 2.0, -1.0]) {
        assert!(found.iter().all(|v| v.is_nan()), "{way}: {found:?}");
    }
}

/// Scores, a mask, a softmax and a product, each a node of its own.
#[test]
fn a_softmax_that_is_spelled_out_is_nan_for_a_row_of_minus_infinity() {
    let mask = [-INF, -INF, -INF, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let file = MadeModel::default()
        .floats("mask", &[3, 3], &mask)
        .node_with(
            "Transpose",
            &["x"],
            &["keys"],
            &[("perm", Integers(&[0, 1, 3, 2]))],
        )
        .node("MatMul", &["x", "keys"], &["scores"])
        .node("Add", &["scores", "mask"], &["masked"])
        .node("Softmax", &["masked"], &["shares"])
        .node("MatMul", &["shares", "x"], &["y"])
        .file(&[1, 3, 2], &[1, 3, 2]);
    for (way, found) in everywhere(&network(file), &ROWS) {
        let is_nan: Vec<bool> = found.iter().map(|v| v.is_nan()).collect();
        assert_eq!(is_nan, [true, true, false, false, false, false], "{way}");
    }
}

#[test]
fn a_mask_for_too_many_queries_is_refused_before_it_is_made() {
    let tokens = 100_000;
    let file = MadeModel::default()
        .floats("weights", &[4, 12], &[0.1; 48])
        .floats("bias", &[12], &[0.0; 12])
        .contrib(
            "Attention",
            &["x", "weights", "bias"],
            &["y"],
            &[("num_heads", Integer(1)), ("unidirectional", Integer(1))],
        )
        .file(&[tokens, 4], &[tokens, 4]);
    let why = refused(file);
    assert!(why.contains("100000 queries"), "{why}");
}
