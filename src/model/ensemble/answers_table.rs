//! The manifest tables of answers and members' outputs.

use serde::Deserialize;
use toml::Spanned;

/// The table `answers`: one of `classes`, `values`, `labels`, `masks`, `tokens` and `boxes`, with
/// its options.
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
    /// The minimum probability of a given label.
    pub threshold: Option<Spanned<f64>>,
    /// The height and width of masks.
    pub size: Option<Spanned<[i64; 2]>>,
    /// The number of tokens of a sample.
    pub length: Option<Spanned<i64>>,
    /// The maximum number of boxes of an answer.
    pub most: Option<Spanned<i64>>,
    /// The overlap from which two boxes count as one object, as a share of their common area.
    pub iou: Option<Spanned<f64>>,
    /// The minimum score of a box.
    pub score: Option<Spanned<f64>>,
}

/// A number of classes, values or labels, or a name for each.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a whole number or a list of names")]
pub(super) enum CountOrNames {
    Count(i64),
    Names(Vec<String>),
}

/// The field `outputs` of a member: the kind of its numbers, or the layout of its boxes.
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
    /// Whether coordinates are fractions of the image, not pixels.
    pub relative: Option<bool>,
    /// Whether a probability of an object precedes the scores.
    pub objectness: Option<bool>,
    /// The position of the background among the classes, if there is one.
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

/// The position of the background's score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WrittenBackground {
    First,
    Last,
}

/// The written kind of numbers of a member's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WrittenOutputKind {
    Logits,
    Probabilities,
    Values,
}
