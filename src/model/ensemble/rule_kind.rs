//! The combination rules of manifests, the answers that each supports, and their construction.

use std::sync::Arc;

use divisi_runtime::named::named;
use serde::{Deserialize, Serialize};

use super::answers::{AnswerKind, Threshold};
use super::box_rules::{BoxRule, CombinedBoxes};
use super::boxes::BoxRows;
use super::label_reading::readings;
use super::label_rules::{AverageLabelLogits, LabelMajority, LabelProbabilities};
use super::member::OutputKind;
use super::position_rules::AtPositions;
use super::positions::PositionRows;
use super::rule::{
    Average, AverageLogits, CombinationRule, MajorityVote, Temperature, Tempered, VoteWeight,
};
use super::value_rules::{Median, UnitLength, ValueMean};

named! {
    /// A rule that a manifest can name.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RuleKind {
        /// The mean of the probabilities or values.
        #[default]
        Average = "average",
        /// The mean weighted by the members' vote weights.
        WeightedAverage = "weighted-average",
        /// One vote per member, for its most likely class, or for or against each label.
        MajorityVote = "majority-vote",
        /// The softmax of the mean logit or, for labels, its sigmoid.
        AverageLogits = "average-logits",
        /// The median of each value.
        Median = "median",
        /// The boxes of all members that no box with a higher score overlaps.
        Nms = "nms",
        /// Overlapping boxes of all members fused into one, weighted by the members' vote weights.
        WeightedBoxesFusion = "weighted-boxes-fusion",
    }
}

/// The weight, vote and temperature of each member. All lists have the same length.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberParts<'a> {
    pub(super) weights: &'a [VoteWeight],
    pub(super) voting: &'a [bool],
    pub(super) temperatures: &'a [Temperature],
    pub(super) outputs: &'a [OutputKind],
}

impl RuleKind {
    /// Every rule for classes.
    pub const OF_CLASSES: [RuleKind; 4] = [
        RuleKind::Average,
        RuleKind::WeightedAverage,
        RuleKind::MajorityVote,
        RuleKind::AverageLogits,
    ];

    /// Every rule for values.
    pub const OF_VALUES: [RuleKind; 3] = [
        RuleKind::Average,
        RuleKind::WeightedAverage,
        RuleKind::Median,
    ];

    /// Every rule for labels.
    pub const OF_LABELS: [RuleKind; 4] = RuleKind::OF_CLASSES;

    /// Every rule for the classes of positions.
    pub const OF_POSITIONS: [RuleKind; 4] = RuleKind::OF_CLASSES;

    /// Every rule for boxes.
    pub const OF_BOXES: [RuleKind; 2] = [RuleKind::WeightedBoxesFusion, RuleKind::Nms];

    /// Returns the rules for a kind of answers, the usual one first.
    pub fn suited(answers: AnswerKind) -> &'static [RuleKind] {
        match answers {
            AnswerKind::Classes { .. } => &RuleKind::OF_CLASSES,
            AnswerKind::Values { .. } => &RuleKind::OF_VALUES,
            AnswerKind::Labels { .. } => &RuleKind::OF_LABELS,
            AnswerKind::Masks { .. } | AnswerKind::Tokens { .. } => &RuleKind::OF_POSITIONS,
            AnswerKind::Boxes { .. } => &RuleKind::OF_BOXES,
        }
    }

    /// Returns the default rule for a kind of answers.
    pub fn usual(answers: AnswerKind) -> Self {
        RuleKind::suited(answers)
            .first()
            .copied()
            .unwrap_or_default()
    }

    /// Returns whether it uses the members' weights.
    pub fn uses_weights(self) -> bool {
        matches!(
            self,
            RuleKind::WeightedAverage | RuleKind::WeightedBoxesFusion
        )
    }

    /// Returns whether it can combine class scores that are not probabilities.
    pub fn takes_values(self) -> bool {
        self != RuleKind::AverageLogits
    }

    /// Builds the rule for class scores of members with these vote weights. All members vote.
    pub fn build(
        self,
        classes: usize,
        vote_weights: impl ExactSizeIterator<Item = VoteWeight>,
    ) -> Arc<dyn CombinationRule> {
        let weights: Vec<VoteWeight> = vote_weights.collect();
        let voting = vec![true; weights.len()];
        self.build_for(classes, &weights, &voting)
    }

    /// Builds the rule for class scores of members with these vote weights. The members whose entry
    /// in `voting` is true vote.
    pub fn build_for(
        self,
        classes: usize,
        weights: &[VoteWeight],
        voting: &[bool],
    ) -> Arc<dyn CombinationRule> {
        self.build_at(
            classes,
            weights,
            voting,
            &vec![Temperature::ONE; voting.len()],
        )
    }

    /// As [`RuleKind::build_for`], with each member at its temperature. A rule for boxes is built
    /// as [`RuleKind::Average`].
    pub fn build_at(
        self,
        classes: usize,
        weights: &[VoteWeight],
        voting: &[bool],
        temperatures: &[Temperature],
    ) -> Arc<dyn CombinationRule> {
        let even = vec![VoteWeight::default(); voting.len()];
        let rule: Arc<dyn CombinationRule> = match self {
            RuleKind::Average | RuleKind::Nms | RuleKind::WeightedBoxesFusion => {
                Arc::new(Average::new(classes, &even, voting))
            }
            RuleKind::WeightedAverage => Arc::new(Average::new(classes, weights, voting)),
            RuleKind::MajorityVote => Arc::new(MajorityVote::new(classes, voting)),
            RuleKind::Median => Arc::new(Median::new(classes, voting)),
            RuleKind::AverageLogits => {
                return Arc::new(AverageLogits::new(classes, voting, temperatures));
            }
        };
        if temperatures.iter().all(|t| t.is_one()) {
            return rule;
        }
        Arc::new(Tempered {
            classes,
            temperatures: temperatures.to_vec(),
            rule,
        })
    }

    /// Builds the rule for a kind of answers. An unsupported rule is built as
    /// [`RuleKind::Average`], but `Combination::check_outputs` refuses it earlier.
    pub(super) fn build_from(
        self,
        answers: AnswerKind,
        members: MemberParts<'_>,
    ) -> Arc<dyn CombinationRule> {
        let width = answers.width();
        if let Some(positions) = answers.positions() {
            return self.of_positions(positions, members);
        }
        match answers {
            AnswerKind::Classes { .. } | AnswerKind::Masks { .. } | AnswerKind::Tokens { .. } => {
                self.build_at(width, members.weights, members.voting, members.temperatures)
            }
            AnswerKind::Values { normalise, .. } => {
                let rule = self.of_values(width, members);
                match normalise {
                    true => Arc::new(UnitLength(rule)),
                    false => rule,
                }
            }
            AnswerKind::Labels { threshold, .. } => self.of_labels(width, threshold, members),
            AnswerKind::Boxes {
                most,
                overlap,
                least,
                ..
            } => {
                let rule = match self {
                    RuleKind::Nms => BoxRule::Suppression,
                    _ => BoxRule::Fusion,
                };
                let voters = (members.weights, members.voting);
                let rows = BoxRows::with_capacity(most);
                let limits = [overlap, least];
                Arc::new(CombinedBoxes::new(
                    rule,
                    rows,
                    limits,
                    members.outputs,
                    voters,
                ))
            }
        }
    }

    /// A single class at each position works like a label.
    fn of_positions(
        self,
        positions: PositionRows,
        members: MemberParts<'_>,
    ) -> Arc<dyn CombinationRule> {
        if positions.is_binary() {
            return self.of_labels(positions.count(), Threshold::default(), members);
        }
        let MemberParts {
            weights,
            voting,
            temperatures,
            outputs,
        } = members;
        Arc::new(AtPositions {
            positions,
            outputs: outputs.to_vec(),
            rule: self.build_at(positions.numbers(), weights, voting, temperatures),
        })
    }

    fn of_labels(
        self,
        width: usize,
        threshold: Threshold,
        members: MemberParts<'_>,
    ) -> Arc<dyn CombinationRule> {
        let MemberParts {
            voting,
            temperatures,
            outputs,
            ..
        } = members;
        let rule: Arc<dyn CombinationRule> = match self {
            RuleKind::AverageLogits => {
                return Arc::new(AverageLabelLogits::new(
                    width,
                    outputs,
                    temperatures,
                    voting,
                ));
            }
            RuleKind::MajorityVote => Arc::new(LabelMajority::new(width, threshold, voting)),
            _ => Arc::new(Average::new(width, &self.weights(members), voting)),
        };
        Arc::new(LabelProbabilities {
            width,
            readings: readings(outputs, temperatures),
            rule,
        })
    }

    fn of_values(self, width: usize, members: MemberParts<'_>) -> Arc<dyn CombinationRule> {
        match self {
            RuleKind::Median => Arc::new(Median::new(width, members.voting)),
            _ => Arc::new(ValueMean::new(
                width,
                &self.weights(members),
                members.voting,
            )),
        }
    }

    /// Returns the weights that the rule uses.
    fn weights(self, members: MemberParts<'_>) -> Vec<VoteWeight> {
        match self {
            RuleKind::WeightedAverage => members.weights.to_vec(),
            _ => vec![VoteWeight::default(); members.voting.len()],
        }
    }
}
