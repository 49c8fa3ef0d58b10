//! Unit tests of `src/runtime/onnx/types/rule.rs`.

use std::collections::BTreeSet;

use super::{ROWS, TypeRule, TypedInput};

const FLOAT: i32 = 1;
const INT32: i32 = 6;
const INT64: i32 = 7;
const BOOL: i32 = 9;

#[test]
fn every_row_of_the_table_can_be_read_and_no_operator_has_two() {
    let mut names = BTreeSet::new();
    for (operators, row) in ROWS {
        let words = row.split_whitespace().filter(|word| *word != "->").count();
        let slots = TypeRule::read(row).map(|rule| rule.inputs.len() + rule.outputs.len());
        assert_eq!(slots, Some(words), "{row}");
        for name in operators.split_whitespace() {
            assert!(names.insert(name), "{name} comes twice");
        }
    }
}

/// An operator, its inputs, and the type of its answer or the reason why there is none.
type Case<'a> = (&'a str, &'a [(&'a str, i32)], Result<Option<i32>, &'a str>);

/// The types of an operator's only answer.
fn answer(operator: &str, inputs: &[TypedInput<'_>]) -> Option<Result<Vec<Option<i32>>, String>> {
    TypeRule::for_operator(operator).map(|rule| rule.outputs(inputs, 1))
}

#[test]
fn types_are_those_that_onnx_defines() {
    let (a, b, c) = ("a", "b", "c");
    let cases: &[Case<'_>] = &[
        ("Add", &[(a, FLOAT), (b, FLOAT)], Ok(Some(FLOAT))),
        (
            "Add",
            &[(a, FLOAT), (b, INT64)],
            Err("input `b`: expected FLOAT, the type of `a`, found INT64"),
        ),
        (
            "Not",
            &[(a, FLOAT)],
            Err("input `a`: expected BOOL, found FLOAT"),
        ),
        (
            "Where",
            &[(a, FLOAT), (b, FLOAT), (c, FLOAT)],
            Err("input `a`: expected BOOL, found FLOAT"),
        ),
        (
            "Where",
            &[(a, BOOL), (b, INT32), (c, INT32)],
            Ok(Some(INT32)),
        ),
        (
            "Gather",
            &[(a, FLOAT), (b, FLOAT)],
            Err("input `b`: expected INT32 or INT64, found FLOAT"),
        ),
        ("Gather", &[(a, FLOAT), (b, INT32)], Ok(Some(FLOAT))),
        ("Less", &[(a, INT64), (b, INT64)], Ok(Some(BOOL))),
        (
            "Concat",
            &[(a, INT64), (b, INT64), (c, FLOAT)],
            Err("input `c`: expected INT64, the type of `a`, found FLOAT"),
        ),
        ("ArgMax", &[(a, FLOAT)], Ok(Some(INT64))),
        ("Cast", &[(a, BOOL)], Ok(None)),
    ];
    for (operator, inputs, expected) in cases {
        let inputs: Vec<_> = inputs.iter().map(|(n, t)| (*n, Some(*t))).collect();
        let expected = expected.map(|one| vec![one]).map_err(str::to_owned);
        assert_eq!(answer(operator, &inputs), Some(expected), "{operator}");
    }
}

#[test]
fn a_type_that_is_not_known_fits_anywhere() {
    let inputs = [("a", None), ("b", Some(INT64))];
    assert_eq!(answer("Add", &inputs), Some(Ok(vec![Some(INT64)])));
}
