//! The tables `steps` and `outputs` of a pipeline's manifest.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// A table of `steps`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepTable {
    /// Its name. Defaults to the model's or the kind's name.
    pub name: Option<String>,
    /// The member that runs it.
    pub model: Option<Spanned<String>>,
    /// The kind of host step, instead of a model.
    pub host: Option<Spanned<String>>,
    pub inputs: Option<TensorNames>,
    pub outputs: Option<TensorNames>,
    /// The condition for running the step on a row.
    pub when: Option<Spanned<String>>,
    pub quorum: Option<Spanned<i64>>,
    pub wait_ms: Option<Spanned<f64>>,
    pub weights: Option<Spanned<Vec<f64>>>,
    pub k: Option<Spanned<i64>>,
    pub at: Option<Spanned<f64>>,
    pub scale: Option<Spanned<f64>>,
    pub mean: Option<Spanned<OneOrMore>>,
    pub std: Option<Spanned<OneOrMore>>,
    pub size: Option<Spanned<Vec<i64>>>,
}

/// Names of tensors, keyed by a model's own names or in order.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a tensor, a list of names, or a table of a model's names"
)]
pub(super) enum TensorNames {
    One(String),
    List(Vec<String>),
    Map(BTreeMap<String, String>),
}

/// A field that is set.
pub(super) struct WrittenField {
    /// Its name.
    pub name: &'static str,
    /// The offset of its value.
    pub at: usize,
}

fn place<T>(field: Option<&Spanned<T>>) -> Option<usize> {
    field.map(|written| written.span().start)
}

/// A number, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number, or a list of numbers")]
pub(super) enum OneOrMore {
    One(f64),
    More(Vec<f64>),
}

impl OneOrMore {
    /// Returns all numbers.
    pub(super) fn numbers(&self) -> Vec<f32> {
        match self {
            OneOrMore::One(number) => vec![*number as f32],
            OneOrMore::More(numbers) => numbers.iter().map(|n| *n as f32).collect(),
        }
    }
}

impl StepTable {
    /// Returns the host step fields that are set.
    pub(super) fn own_fields(&self) -> Vec<WrittenField> {
        let set = [
            ("quorum", place(self.quorum.as_ref())),
            ("wait_ms", place(self.wait_ms.as_ref())),
            ("weights", place(self.weights.as_ref())),
            ("k", place(self.k.as_ref())),
            ("at", place(self.at.as_ref())),
            ("scale", place(self.scale.as_ref())),
            ("mean", place(self.mean.as_ref())),
            ("std", place(self.std.as_ref())),
            ("size", place(self.size.as_ref())),
        ];
        let set = set.into_iter();
        set.filter_map(|(name, at)| Some(WrittenField { name, at: at? }))
            .collect()
    }
}
