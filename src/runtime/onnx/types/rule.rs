//! The input and output types of one operator.

use super::operators::ROWS;
use super::sets::TypeSet;
use crate::onnx::tensor::type_name;

/// The types of an operator's inputs and outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeRule {
    inputs: Vec<TypeSlot>,
    outputs: Vec<TypeSlot>,
}

/// The type of one input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TypeSlot {
    /// The types it may have; `None` if another place defines them.
    set: Option<TypeSet>,
    variable: Option<char>,
    /// Whether it also describes all later inputs.
    repeats: bool,
}

/// An input with its name, and its type if that is known.
pub(super) type TypedInput<'a> = (&'a str, Option<i32>);

/// A type variable, and the input that had it first.
struct BoundType<'a> {
    variable: char,
    element_type: i32,
    input: &'a str,
}

impl TypeRule {
    /// Returns the types of an operator, or `None` if they are not known.
    pub(super) fn for_operator(operator: &str) -> Option<Self> {
        let mut rows = ROWS.iter();
        let (_, row) = rows.find(|(names, _)| names.split_whitespace().any(|n| n == operator))?;
        Self::read(row)
    }

    /// Reads a row of the table, or returns `None` if the text is not a row.
    pub(super) fn read(row: &str) -> Option<Self> {
        let (inputs, outputs) = row.split_once("->")?;
        let slots = |text: &str| {
            let words = text.split_whitespace();
            words.map(TypeSlot::read).collect::<Option<Vec<_>>>()
        };
        Some(TypeRule {
            inputs: slots(inputs)?,
            outputs: slots(outputs)?,
        })
    }

    /// Returns the types of `outputs` outputs as far as they are known.
    ///
    /// # Errors
    /// The operator does not take an input's type, or inputs of one type variable have two types.
    /// The error is a text.
    pub(super) fn outputs(
        &self,
        inputs: &[TypedInput<'_>],
        outputs: usize,
    ) -> Result<Vec<Option<i32>>, String> {
        let mut bound: Vec<BoundType<'_>> = Vec::new();
        for (at, &(input, element_type)) in inputs.iter().enumerate() {
            let Some((slot, element_type)) = slot(&self.inputs, at).zip(element_type) else {
                continue;
            };
            slot.check(input, element_type, &bound)?;
            bound.extend(slot.variable.map(|variable| BoundType {
                variable,
                element_type,
                input,
            }));
        }
        let made = (0..outputs).map(|at| slot(&self.outputs, at)?.made(&bound));
        Ok(made.collect())
    }
}

/// Returns the slot of input or output number `at`.
fn slot(slots: &[TypeSlot], at: usize) -> Option<&TypeSlot> {
    let last = || slots.last().filter(|slot| slot.repeats);
    slots.get(at).or_else(last)
}

impl TypeSlot {
    fn read(word: &str) -> Option<Self> {
        let (word, repeats) = match word.strip_suffix('*') {
            Some(one) => (one, true),
            None => (word, false),
        };
        let (variable, set) = match word.split_once(':') {
            Some((variable, set)) => (variable.chars().next(), Some(TypeSet::from_word(set)?)),
            None if word == "?" => (None, None),
            None if word.starts_with(char::is_uppercase) => (word.chars().next(), None),
            None => (None, Some(TypeSet::from_word(word)?)),
        };
        Some(TypeSlot {
            set,
            variable,
            repeats,
        })
    }

    fn check(&self, input: &str, found: i32, bound: &[BoundType<'_>]) -> Result<(), String> {
        let own = type_name(found);
        if let Some(set) = self.set.filter(|set| !set.contains(found)) {
            return Err(format!(
                "input `{input}`: expected {}, found {own}",
                set.expected()
            ));
        }
        let mut same = bound.iter().filter(|b| Some(b.variable) == self.variable);
        match same.find(|b| b.element_type != found) {
            None => Ok(()),
            Some(first) => Err(format!(
                "input `{input}`: expected {}, the type of `{}`, found {own}",
                type_name(first.element_type),
                first.input
            )),
        }
    }

    /// Returns the type of an output, if it is known.
    fn made(&self, bound: &[BoundType<'_>]) -> Option<i32> {
        let mut same = bound.iter().filter(|b| Some(b.variable) == self.variable);
        match self.variable {
            Some(_) => same.next().map(|b| b.element_type),
            None => self.set?.only(),
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn answer(
        operator: &str,
        inputs: &[TypedInput<'_>],
    ) -> Option<Result<Vec<Option<i32>>, String>> {
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
}
