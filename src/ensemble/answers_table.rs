//! The kind of answers and of members' outputs as manifests write them.

use serde::Deserialize;
use toml::Spanned;

/// The table `answers`: one of `classes`, `values` and `labels`, and what belongs to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswersTable {
    pub classes: Option<Spanned<CountOrNames>>,
    pub values: Option<Spanned<CountOrNames>>,
    pub labels: Option<Spanned<CountOrNames>>,
    /// Whether values are scaled to unit length.
    pub normalise: Option<Spanned<bool>>,
    /// The probability from which a label is given.
    pub threshold: Option<Spanned<f64>>,
}

/// A number of classes, values or labels, or a name for each.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a whole number or a list of names")]
pub(super) enum CountOrNames {
    Count(i64),
    Names(Vec<String>),
}

/// The kind of numbers that a member's network returns, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WrittenOutputs {
    Logits,
    Probabilities,
    Values,
}
