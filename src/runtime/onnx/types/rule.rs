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
#[path = "../../../../tests/runtime/units/onnx/types/rule.rs"]
mod tests;
