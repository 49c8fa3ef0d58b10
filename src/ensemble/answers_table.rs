//! The kind of answers and of members' outputs as manifests write them.

use serde::Deserialize;
use toml::Spanned;

/// The table `answers`: one of `classes`, `values`, `labels`, `masks` and `tokens`, and what
/// belongs to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswersTable {
    pub classes: Option<Spanned<CountOrNames>>,
    pub values: Option<Spanned<CountOrNames>>,
    pub labels: Option<Spanned<CountOrNames>>,
    pub masks: Option<Spanned<CountOrNames>>,
    pub tokens: Option<Spanned<CountOrNames>>,
    /// Whether values are scaled to unit length.
    pub normalise: Option<Spanned<bool>>,
    /// The probability from which a label is given.
    pub threshold: Option<Spanned<f64>>,
    /// The height and width of masks.
    pub size: Option<Spanned<[i64; 2]>>,
    /// The tokens of a sample.
    pub length: Option<Spanned<i64>>,
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
pub(super) enum WrittenOutputKind {
    Logits,
    Probabilities,
    Values,
}
