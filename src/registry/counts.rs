//! Counts how often the sub-ensembles of an ensemble are right on labelled rows, by the ensemble's
//! rule.

use divisi_model::ensemble::{Combination, Ensemble, RuleKind};
use divisi_modelless::accuracy::{
    AccuracyEstimate, ClassRule, MOST_COUNTED_MEMBERS, MemberSet, PairedRows, ReferenceRows,
    RuleError, ScoreTable, ScoreTableError, SubEnsembleCounts, TooManyMembers, count_all,
    count_chains,
};
use divisi_runtime::device::MemberIndex;
use thiserror::Error;

/// A sub-ensemble and its accuracy.
pub type CountedMembers = (MemberSet, AccuracyEstimate);

/// The accuracies of all counted sub-ensembles.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedEnsemble {
    /// The sub-ensembles.
    pub members: Vec<CountedMembers>,
    /// The rows that the whole ensemble classifies correctly.
    pub whole: ReferenceRows,
}

/// An error while counting sub-ensembles.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CountError {
    /// The rule does not allow leaving members out.
    #[error(
        "rule `{0}`: expected `average`, `weighted-average`, `majority-vote` or `average-logits`; \
         other rules do not support accuracies of sub-ensembles"
    )]
    Rule(&'static str),
    /// The scores or the labels cannot be counted.
    #[error(transparent)]
    Scores(#[from] ScoreTableError),
    /// The weights do not match the members.
    #[error(transparent)]
    Weights(#[from] RuleError),
    /// There are too many members.
    #[error(transparent)]
    Members(#[from] TooManyMembers),
}

impl CountError {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        match self {
            CountError::Rule(_) => "counts_rule",
            CountError::Scores(_) => "counts_scores",
            CountError::Weights(_) => "counts_weights",
            CountError::Members(_) => "counts_members",
        }
    }
}

/// Counts the sub-ensembles of the voting members: all of them, or two greedy chains if more than
/// [`MOST_COUNTED_MEMBERS`] members vote. `rows` holds for each member its row of probabilities for
/// each label.
///
/// `reference` holds the correct rows of the whole ensemble in its first precision, or is `None` if
/// this is the first precision. The accuracy of that ensemble is its count. All others are
/// candidates of a selection, and their accuracies are promised by comparison with it.
///
/// # Errors
/// The rule cannot be counted, or a score is not a number.
pub fn count_sub_ensembles(
    ensemble: &Ensemble,
    rows: &[Vec<f32>],
    labels: &[usize],
    reference: Option<&ReferenceRows>,
) -> Result<CountedEnsemble, CountError> {
    let combination = ensemble.combination();
    let voters = voters(&combination);
    let rule = class_rule(&combination, &voters)?;
    let classes = ensemble.answer_width();
    let scores = voters.iter();
    let scores = scores.flat_map(|at| scores_of(&combination, *at, &rows[at.get()], classes));
    // A label that does not fit is refused as a label.
    let label = |label: &usize| u32::try_from(*label).unwrap_or(u32::MAX);
    let labels = labels.iter().map(label).collect();
    let table = ScoreTable::new(voters.len(), classes, scores.collect(), labels)?;
    let whole = ReferenceRows::classify(&table, &rule)?;
    let compared = reference.unwrap_or(&whole);
    let counts = match voters.len() <= MOST_COUNTED_MEMBERS {
        true => count_all(&table, &rule, compared)?,
        false => count_chains(&table, &rule, compared)?,
    };
    Ok(CountedEnsemble {
        members: of_ensemble(&counts, &voters, reference.is_none()),
        whole,
    })
}

/// Returns the voting members, which form the whole ensemble.
pub fn voters(combination: &Combination) -> Vec<MemberIndex> {
    let votes = MemberIndex::enumerate(&combination.voting);
    votes
        .filter(|(_, votes)| **votes)
        .map(|(at, _)| at)
        .collect()
}

/// Returns the set of some members.
pub fn set_of(members: &[MemberIndex]) -> MemberSet {
    let each = members.iter();
    each.fold(MemberSet::default(), |set, at| set.toggled(at.get()))
}

fn class_rule(combination: &Combination, voters: &[MemberIndex]) -> Result<ClassRule, CountError> {
    match combination.rule {
        // The mean of logarithms and its softmax have the same class.
        RuleKind::Average | RuleKind::AverageLogits => Ok(ClassRule::Average),
        RuleKind::MajorityVote => Ok(ClassRule::MajorityVote),
        RuleKind::WeightedAverage => {
            let weights = voters.iter().map(|at| combination.weights[*at].get());
            Ok(ClassRule::WeightedAverage(weights.collect()))
        }
        other => Err(CountError::Rule(other.name())),
    }
}

/// Returns a member's rows in the form that the rule folds.
fn scores_of(
    combination: &Combination,
    member: MemberIndex,
    rows: &[f32],
    classes: usize,
) -> Vec<f32> {
    let mut scores = rows.to_vec();
    let temperature = combination.temperatures[member];
    if !temperature.is_one() {
        temperature.apply(&mut scores, classes);
    }
    if combination.rule == RuleKind::AverageLogits {
        // As in serving, a class without probability gets the smallest positive float32.
        let log = |p: &mut f32| *p = p.max(f32::MIN_POSITIVE).ln();
        scores.iter_mut().for_each(log);
    }
    scores
}

/// Returns the accuracies with the member numbers of the ensemble.
fn of_ensemble(
    counts: &SubEnsembleCounts,
    voters: &[MemberIndex],
    is_first: bool,
) -> Vec<CountedMembers> {
    let estimate = |set: MemberSet, paired: PairedRows| match is_first && set.len() == voters.len()
    {
        true => AccuracyEstimate::counted(paired.right, paired.rows),
        false => AccuracyEstimate::selected(paired, voters.len()),
    };
    let numbered = counts.compared().filter_map(|(set, paired)| {
        let members: Vec<MemberIndex> = set.members().map(|at| voters[at]).collect();
        Some((set_of(&members), estimate(set, paired).ok()?))
    });
    numbered.collect()
}
