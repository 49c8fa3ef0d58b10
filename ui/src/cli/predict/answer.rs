//! An answer in its stored and in its reported form.

use divisi_model::ensemble::{AnswerKind, Corners, ScoredBox, label_of};
use serde::{Serialize, Serializer};

/// The mark for positions after a sample's last token.
const NO_TOKEN: f32 = -1.0;

/// Converts an answer to its stored form. Positions become class numbers, NaN without an answer,
/// and a mark after the sample's tokens.
pub(super) fn keep(kind: AnswerKind, row: &[f32], tokens: Option<usize>, to: &mut Vec<f32>) {
    let Some(positions) = kind.positions() else {
        return to.extend_from_slice(row);
    };
    let end = to.len() + positions.count();
    match positions.classes(kind.token_part(row, tokens)) {
        Some(classes) => to.extend(classes.into_iter().map(|class| class as f32)),
        None => to.resize(end, f32::NAN),
    }
    to.resize(end, NO_TOKEN);
}

/// Returns the number of a stored class, or `None` if there is no answer or no token.
pub(super) fn class_of(kept: f32) -> Option<u32> {
    (kept >= 0.0).then_some(kept as u32)
}

/// Returns the stored values of the sample's tokens.
pub(super) fn tokens_in(row: &[f32]) -> &[f32] {
    let own = row.iter().position(|kept| *kept == NO_TOKEN);
    &row[..own.unwrap_or(row.len())]
}

/// An answer in a report; NaN and infinities are `null`.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ReportedAnswer<'a> {
    Class {
        class: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<&'a str>,
        scores: &'a [f32],
    },
    Values {
        values: ReportedValues<'a>,
    },
    Labels {
        /// The labels, or `None` without an answer.
        labels: Option<Vec<LabelName<'a>>>,
        scores: &'a [f32],
    },
    Mask {
        /// The class number of each pixel, row by row, or `None` without an answer.
        mask: Option<Vec<Vec<u32>>>,
    },
    Tokens {
        /// The class of each token, or `None` without an answer.
        tokens: Option<Vec<LabelName<'a>>>,
    },
    Boxes {
        /// The boxes, or `None` without an answer.
        boxes: Option<Vec<ReportedBox<'a>>>,
    },
}

/// The names of the parts of an answer.
#[derive(Clone, Copy, Default)]
pub(super) struct AnswerNames<'a> {
    /// The names of the classes, values or labels, if the ensemble has any.
    pub own: Option<&'a [String]>,
    /// The outputs of values with the number of values of each, if there are several outputs and
    /// the values have no names.
    pub outputs: &'a [(String, usize)],
}

/// Values by name, by output, or without names.
pub(super) enum ReportedValues<'a> {
    Unnamed(&'a [f32]),
    Named(&'a [String], &'a [f32]),
    Outputs(&'a [(String, usize)], &'a [f32]),
}

impl<'a> ReportedValues<'a> {
    fn new(names: AnswerNames<'a>, row: &'a [f32]) -> Self {
        match (names.own, names.outputs) {
            (Some(names), _) => ReportedValues::Named(names, row),
            (None, []) => ReportedValues::Unnamed(row),
            (None, outputs) => ReportedValues::Outputs(outputs, row),
        }
    }
}

impl Serialize for ReportedValues<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            ReportedValues::Unnamed(row) => to.collect_seq(*row),
            ReportedValues::Named(names, row) => to.collect_map(names.iter().zip(*row)),
            ReportedValues::Outputs(outputs, row) => {
                let mut rest = *row;
                let parts = outputs.iter().map(|(name, count)| {
                    let (part, behind) = rest.split_at((*count).min(rest.len()));
                    rest = behind;
                    (name, part)
                });
                to.collect_map(parts)
            }
        }
    }
}

/// A box with its class and score.
#[derive(Serialize)]
pub(super) struct ReportedBox<'a> {
    class: LabelName<'a>,
    score: f32,
    /// Left, top, right and bottom.
    corners: Corners,
}

/// A label by its name, or by its number if it has no name.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum LabelName<'a> {
    Name(&'a str),
    Number(usize),
}

impl<'a> ReportedAnswer<'a> {
    pub(super) fn new(kind: AnswerKind, names: AnswerNames<'a>, row: &'a [f32]) -> Self {
        let name = |number: usize| Some(names.own?.get(number)?.as_str());
        let label = |n| name(n).map_or(LabelName::Number(n), LabelName::Name);
        match kind {
            AnswerKind::Classes { .. } => {
                let class = label_of(row);
                ReportedAnswer::Class {
                    class,
                    label: class.and_then(name),
                    scores: row,
                }
            }
            AnswerKind::Values { .. } => ReportedAnswer::Values {
                values: ReportedValues::new(names, row),
            },
            AnswerKind::Masks { width, .. } => {
                let rows = row.chunks_exact(width.get() as usize);
                let classes = |row: &[f32]| row.iter().map(|kept| class_of(*kept)).collect();
                ReportedAnswer::Mask {
                    mask: rows.map(classes).collect(),
                }
            }
            AnswerKind::Tokens { .. } => {
                let classes = tokens_in(row)
                    .iter()
                    .map(|kept| class_of(*kept).map(|n| label(n as usize)));
                ReportedAnswer::Tokens {
                    tokens: classes.collect(),
                }
            }
            AnswerKind::Boxes { .. } => {
                let reported = |found: ScoredBox| ReportedBox {
                    class: label(found.class as usize),
                    score: found.score,
                    corners: found.corners,
                };
                let boxes = kind.boxes().and_then(|rows| rows.boxes(row));
                ReportedAnswer::Boxes {
                    boxes: boxes.map(|boxes| boxes.into_iter().map(reported).collect()),
                }
            }
            AnswerKind::Labels { threshold, .. } => {
                let given = threshold.labels(row);
                ReportedAnswer::Labels {
                    labels: given.map(|given| given.into_iter().map(label).collect()),
                    scores: row,
                }
            }
        }
    }
}
