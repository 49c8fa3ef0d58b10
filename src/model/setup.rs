//! A setup, which can be staged, compared, applied and rolled back as a whole, and the differences
//! between two setups.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::allocation::Matrix;
use crate::catalogue::{ModelCopy, ServedCopies};
use crate::codes::{Code, Coded};
use crate::ensemble::{Combination, CombinationError, MemberPrecision, PolicyError, PolicyKind};
use crate::ranged::checked_when_read;
use divisi_runtime::device::MemberIndex;

/// Everything that an operator can change about the serving models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Setup {
    /// The served models. The columns of the matrix are their members.
    pub models: ServedCopies,
    /// The place and batch size of each member.
    pub matrix: Matrix,
    /// The batching policy: when a free worker starts a batch.
    pub policy: PolicyKind,
    /// The votes of members, and their combination.
    pub combination: Combination,
    /// The most samples of a segment under `segment`.
    pub segment_size: usize,
    /// The precision of each member, one per column.
    pub precisions: Vec<MemberPrecision>,
}

checked_when_read!(Setup);

impl Setup {
    /// The most samples of a segment, as in a manifest.
    pub const MOST_SEGMENT: usize = 1 << 20;

    /// Checks that the parts of the setup match. The engine checks its own limits.
    ///
    /// # Errors
    /// A part does not match. The error names it and the expected value.
    pub fn check(&self) -> Result<(), SetupError> {
        let frame = self.matrix.frame();
        let policy = self.policy.check(&frame.batch_sizes);
        policy.map_err(SetupError::Policy)?;
        let combination = self.combination.check(frame.members.len());
        combination.map_err(SetupError::Combination)?;
        let (found, expected) = (self.precisions.len(), frame.members.len());
        if found != expected {
            return Err(SetupError::Precisions { found, expected });
        }
        match self.segment_size {
            size if (1..=Self::MOST_SEGMENT).contains(&size) => Ok(()),
            size => Err(SetupError::SegmentSize { size }),
        }
    }

    /// Returns the setup with another policy.
    #[must_use]
    pub fn with_policy(&self, policy: PolicyKind) -> Self {
        Setup {
            policy,
            ..self.clone()
        }
    }

    /// Returns the setup with another matrix.
    #[must_use]
    pub fn with_matrix(&self, matrix: Matrix) -> Self {
        Setup {
            matrix,
            ..self.clone()
        }
    }

    /// Returns the setup with another precision of a member. Ignores an unknown member.
    #[must_use]
    pub fn with_precision(&self, member: MemberIndex, precision: MemberPrecision) -> Self {
        let mut changed = self.clone();
        if let Some(own) = changed.precisions.get_mut(member.get()) {
            *own = precision.replacing(*own);
        }
        changed
    }
}

/// The reason why the parts of a setup do not match.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SetupError {
    /// The policy does not match the batch sizes.
    #[error("policy: {0}")]
    Policy(PolicyError),
    /// The combination does not match the members.
    #[error("combination: {0}")]
    Combination(CombinationError),
    /// The number of precisions differs from the number of members.
    #[error("precisions: expected {expected}, one for each member, found {found}")]
    Precisions {
        /// The number found.
        found: usize,
        /// The number of members.
        expected: usize,
    },
    /// The segment size is out of range.
    #[error("segment size: expected 1 to {most} samples, found {size}", most = Setup::MOST_SEGMENT)]
    SegmentSize {
        /// The size found.
        size: usize,
    },
}

impl Coded for SetupError {
    fn code(&self) -> Code {
        Code::SetupInvalid
    }
}

/// A setting that differs between two setups: its old and its new value.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingChange {
    /// The batching policy.
    Policy(PolicyKind, PolicyKind),
    /// The combination of members.
    Combination(Box<Combination>, Box<Combination>),
    /// The samples of a segment.
    Segment(usize, usize),
    /// The precision of a member.
    Precision(MemberIndex, MemberPrecision, MemberPrecision),
}

impl SettingChange {
    /// Returns the changed settings between two setups, without the matrix.
    pub fn between(old: &Setup, new: &Setup) -> Vec<Self> {
        let policy = old.policy != new.policy;
        let combination = old.combination != new.combination;
        let segment = old.segment_size != new.segment_size;
        let changes = [
            policy.then_some(Self::Policy(old.policy, new.policy)),
            combination.then(|| Self::combination(old, new)),
            segment.then_some(Self::Segment(old.segment_size, new.segment_size)),
        ];
        let changes = changes.into_iter().flatten();
        changes.chain(Self::precisions(old, new)).collect()
    }

    fn precisions(old: &Setup, new: &Setup) -> impl Iterator<Item = Self> {
        let both = old.precisions.iter().zip(&new.precisions);
        MemberIndex::enumerate(both)
            .filter(|(_, (old, new))| old != new)
            .map(|(member, (old, new))| Self::Precision(member, *old, *new))
    }

    /// Returns the change from one combination to another.
    pub fn combination(old: &Setup, new: &Setup) -> Self {
        let boxed = |setup: &Setup| Box::new(setup.combination.clone());
        Self::Combination(boxed(old), boxed(new))
    }

    /// Returns whether batches form differently, so that earlier latencies do not predict later
    /// ones.
    pub fn changes_pace(&self) -> bool {
        !matches!(self, SettingChange::Combination(..))
    }

    /// Returns the change in words, with `members` as the members' names: `policy: no-wait →
    /// elastic`. A change of the combination may have several.
    pub fn words(&self, members: &[String]) -> Vec<String> {
        match self {
            SettingChange::Policy(old, new) => vec![format!("policy: {old} → {new}")],
            SettingChange::Combination(old, new) => old.changes(new, members),
            SettingChange::Segment(old, new) => vec![format!("segment size: {old} → {new}")],
            SettingChange::Precision(member, old, new) => {
                let name = members.get(member.get()).map_or("?", String::as_str);
                let (old, new) = old.distinct_names(*new);
                vec![format!("precision of {name}: {old} → {new}")]
            }
        }
    }
}

/// The differences between two setups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetupDiff {
    /// Whether other models are served.
    pub models: bool,
    /// The models of the old setup alone.
    pub went: Vec<ModelCopy>,
    /// The number of changed entries of the matrix. Not counted if the models differ.
    pub entries: usize,
    /// The changed settings. Empty if the models differ, because settings belong to models.
    pub settings: Vec<SettingChange>,
}

impl SetupDiff {
    /// Compares two setups.
    pub fn between(old: &Setup, new: &Setup) -> Self {
        if old.models != new.models {
            return SetupDiff {
                models: true,
                went: beyond(&old.models, &new.models),
                ..SetupDiff::default()
            };
        }
        let cells = old.matrix.cells();
        let is_changed = |cell: &_| old.matrix.get(*cell) != new.matrix.get(*cell);
        SetupDiff {
            entries: cells.filter(is_changed).count(),
            settings: SettingChange::between(old, new),
            ..SetupDiff::default()
        }
    }

    /// Returns whether earlier latencies do not predict later ones.
    pub fn changes_pace(&self) -> bool {
        let changes_pace = SettingChange::changes_pace;
        self.models || self.entries > 0 || self.settings.iter().any(changes_pace)
    }
}

/// Returns the models that are not among the others.
fn beyond(models: &[ModelCopy], others: &[ModelCopy]) -> Vec<ModelCopy> {
    let beyond = models.iter().filter(|model| !others.contains(model));
    beyond.cloned().collect()
}
