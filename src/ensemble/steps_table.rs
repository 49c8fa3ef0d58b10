//! The tables `steps` and `outputs` of a manifest that is a pipeline.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// A table of `steps`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepTable {
    /// Its name; the model's or the kind's where there is none.
    pub name: Option<String>,
    /// The member that runs it.
    pub model: Option<Spanned<String>>,
    /// The kind of step of the host, in place of a model.
    pub host: Option<Spanned<String>>,
    pub inputs: Option<TensorNames>,
    pub outputs: Option<TensorNames>,
    /// The condition under which a row goes this way.
    pub when: Option<Spanned<String>>,
    pub quorum: Option<Spanned<i64>>,
    pub wait_ms: Option<Spanned<f64>>,
    pub weights: Option<Vec<f64>>,
    pub k: Option<Spanned<i64>>,
    pub at: Option<f64>,
    pub scale: Option<f64>,
    pub mean: Option<OneOrMore>,
    pub std: Option<OneOrMore>,
    pub size: Option<[i64; 2]>,
}

/// Names of tensors: by a model's own names, or in order.
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
    /// Returns the fields of steps of the host that are set.
    pub(super) fn own_fields(&self) -> Vec<&'static str> {
        let set = [
            ("quorum", self.quorum.is_some()),
            ("wait_ms", self.wait_ms.is_some()),
            ("weights", self.weights.is_some()),
            ("k", self.k.is_some()),
            ("at", self.at.is_some()),
            ("scale", self.scale.is_some()),
            ("mean", self.mean.is_some()),
            ("std", self.std.is_some()),
            ("size", self.size.is_some()),
        ];
        let set = set.into_iter().filter(|(_, is)| *is);
        set.map(|(name, _)| name).collect()
    }
}
