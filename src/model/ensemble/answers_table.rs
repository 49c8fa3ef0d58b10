//! The kind of answers and of members' outputs as manifests write them.

use serde::Deserialize;
use toml::Spanned;

/// The table `answers`: one of `classes`, `values`, `labels`, `masks`, `tokens` and `boxes`,
/// and what belongs to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswersTable {
    pub classes: Option<Spanned<CountOrNames>>,
    pub values: Option<Spanned<CountOrNames>>,
    pub labels: Option<Spanned<CountOrNames>>,
    pub masks: Option<Spanned<CountOrNames>>,
    pub tokens: Option<Spanned<CountOrNames>>,
    pub boxes: Option<Spanned<CountOrNames>>,
    /// Whether values are scaled to unit length.
    pub normalise: Option<Spanned<bool>>,
    /// The probability from which a label is given.
    pub threshold: Option<Spanned<f64>>,
    /// The height and width of masks.
    pub size: Option<Spanned<[i64; 2]>>,
    /// The tokens of a sample.
    pub length: Option<Spanned<i64>>,
    /// The most boxes of an answer.
    pub most: Option<Spanned<i64>>,
    /// From which share of their common area on two boxes are about one object.
    pub iou: Option<Spanned<f64>>,
    /// The least score of a box.
    pub score: Option<Spanned<f64>>,
}

/// A number of classes, values or labels, or a name for each.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a whole number or a list of names")]
pub(super) enum CountOrNames {
    Count(i64),
    Names(Vec<String>),
}

/// The field `outputs` of a member: the kind of its numbers, or what they are as boxes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected `logits`, `probabilities` or `values`, or for boxes a table of `boxes` \
                 (\"cxcywh\" or \"xyxy\"), `scores` (\"probabilities\" or \"logits\"), `relative`, \
                 `objectness` and `background` (\"first\" or \"last\")"
)]
pub(super) enum MemberOutputs {
    Kind(WrittenOutputKind),
    Boxes(BoxesTable),
}

/// The boxes that a network returns.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoxesTable {
    pub boxes: Option<WrittenBoxForm>,
    pub scores: Option<WrittenScores>,
    /// Whether coordinates are shares of the image, not pixels.
    pub relative: Option<bool>,
    /// Whether a probability that there is an object stands before the scores.
    pub objectness: Option<bool>,
    /// The place of the background among the classes, if it is one.
    pub background: Option<WrittenBackground>,
}

/// Centre, width and height, or left, top, right and bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WrittenBoxForm {
    Cxcywh,
    Xyxy,
}

/// The kind of the scores of boxes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WrittenScores {
    #[default]
    Probabilities,
    Logits,
}

/// The place of the background's score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WrittenBackground {
    First,
    Last,
}

/// The kind of numbers that a member's network returns, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WrittenOutputKind {
    Logits,
    Probabilities,
    Values,
}
