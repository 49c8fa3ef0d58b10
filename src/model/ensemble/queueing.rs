//! The queue settings of an ensemble: priorities, the maximum number of waiting requests and their
//! maximum wait.
//!
//! Levels are numbered from 1, the most urgent. Requests run in order of urgency, and within a
//! level in order of arrival. If ensembles with different settings share members, urgency is
//! relative to their default levels. An ensemble without settings has only the default level.

use std::collections::BTreeMap;
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;

/// The priorities of an ensemble, each with its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// The policy of each level, the most urgent first.
    levels: Vec<QueuePolicy>,
    /// The position of the default level.
    default: usize,
}

/// The bounds of waiting requests of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePolicy {
    /// The maximum wait, or `None` for no limit.
    pub timeout: Option<QueueTimeout>,
    /// The maximum number of waiting requests, or `None` for no limit.
    pub most: Option<NonZeroU32>,
}

/// The maximum wait of requests until their first batch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueTimeout {
    /// The time.
    pub after: Duration,
    /// The action for requests that wait longer.
    pub action: TimeoutAction,
    /// Whether a request may set a shorter wait.
    pub may_be_shorter: bool,
}

/// The action for a request that waited too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutAction {
    /// The request fails.
    #[default]
    Reject,
    /// The request moves behind all other requests of its level and of more urgent levels.
    Delay,
}

/// A level of a [`Queueing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLevel(usize);

/// Invalid levels.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum QueueingError {
    /// The number of levels is 0 or too large.
    #[error("expected 1 to {most} levels, found {0}", most = Queueing::MOST_LEVELS)]
    Levels(u64),
    /// The default level does not exist.
    #[error("expected a default level from 1 to {levels}, found {found}")]
    Default {
        /// The number of levels.
        levels: u16,
        /// The default.
        found: u64,
    },
    /// A policy's level does not exist.
    #[error("expected policies for levels 1 to {levels}, found one for level {found}")]
    Policy {
        /// The number of levels.
        levels: u16,
        /// The level.
        found: u64,
    },
}

impl Queueing {
    /// The maximum number of levels.
    pub const MOST_LEVELS: u16 = 512;

    /// Creates settings with one level.
    pub fn single_level(policy: QueuePolicy) -> Self {
        Queueing {
            levels: vec![policy],
            default: 0,
        }
    }

    /// Creates settings with this number of levels. Levels without a policy of their own use
    /// `usual`.
    ///
    /// # Errors
    /// The number of levels is 0 or too large, or the default level or a policy's level does not
    /// exist.
    pub fn new(
        levels: u64,
        default: u64,
        usual: QueuePolicy,
        own: &BTreeMap<u64, QueuePolicy>,
    ) -> Result<Self, QueueingError> {
        let count = u16::try_from(levels).ok().and_then(NonZeroU16::new);
        let count = count.filter(|count| count.get() <= Self::MOST_LEVELS);
        let count = count.ok_or(QueueingError::Levels(levels))?.get();
        let position = |level: u64| {
            let at = usize::try_from(level).ok().and_then(|n| n.checked_sub(1));
            at.filter(|at| *at < usize::from(count))
        };
        let wrong = |found| QueueingError::Default {
            levels: count,
            found,
        };
        let default = position(default).ok_or_else(|| wrong(default))?;
        let mut all = vec![usual; usize::from(count)];
        for (&level, policy) in own {
            let wrong = QueueingError::Policy {
                levels: count,
                found: level,
            };
            all[position(level).ok_or(wrong)?] = *policy;
        }
        Ok(Queueing {
            levels: all,
            default,
        })
    }

    /// Returns the level of a request with a priority. As in Triton, 0 and unknown priorities mean
    /// the default.
    pub fn level_of(&self, priority: u64) -> QueueLevel {
        let at = usize::try_from(priority).unwrap_or(usize::MAX);
        let known = at.checked_sub(1).filter(|at| *at < self.levels.len());
        QueueLevel(known.unwrap_or(self.default))
    }

    /// Returns the levels, the most urgent first.
    pub fn levels(&self) -> impl ExactSizeIterator<Item = QueueLevel> + use<> {
        (0..self.levels.len()).map(QueueLevel)
    }

    /// Returns the level of requests without a priority.
    pub fn default_level(&self) -> QueueLevel {
        QueueLevel(self.default)
    }

    /// Returns the bounds of a level.
    pub fn policy(&self, level: QueueLevel) -> QueuePolicy {
        self.levels[level.0]
    }

    /// Returns the distance of a level from the default level, below 0 for a more urgent level.
    pub fn urgency(&self, level: QueueLevel) -> i16 {
        // Both are below `MOST_LEVELS`.
        level.0 as i16 - self.default as i16
    }

    /// Returns whether a request with a priority may set its maximum wait.
    pub fn may_be_shorter(&self, priority: u64) -> bool {
        let timeout = self.policy(self.level_of(priority)).timeout;
        timeout.is_some_and(|timeout| timeout.may_be_shorter)
    }
}

impl QueueLevel {
    /// Returns its number, from 1.
    pub fn number(self) -> usize {
        self.0 + 1
    }

    /// Returns its position among the levels.
    pub fn position(self) -> usize {
        self.0
    }
}

impl QueueTimeout {
    /// Returns the maximum wait of a request that requested `asked`.
    pub fn within(&self, asked: Option<Duration>) -> Duration {
        let shorter = asked.filter(|asked| self.may_be_shorter && *asked < self.after);
        shorter.unwrap_or(self.after)
    }
}
