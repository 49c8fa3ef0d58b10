//! How requests wait for their turn: by priority, at most so many, and for at most so long.
//!
//! Levels are numbered from 1, the most urgent. Of two requests the one of the more urgent level
//! goes first, of one level the one that arrived first. Where ensembles of several such values share
//! members, urgency counts from their default level, which is that of an ensemble without any.

use std::collections::BTreeMap;
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;

/// The priorities of an ensemble, each with its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queueing {
    /// Of each level, the most urgent first.
    levels: Vec<QueuePolicy>,
    /// The position of the default level.
    default: usize,
}

/// The bounds of requests that wait in one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePolicy {
    /// How long they may wait; `None` for any time.
    pub timeout: Option<QueueTimeout>,
    /// The most that may wait; `None` for any number.
    pub most: Option<NonZeroU32>,
}

/// How long requests may wait until their first batch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueTimeout {
    /// The time.
    pub after: Duration,
    /// The fate of those that waited longer.
    pub action: TimeoutAction,
    /// Whether a request may name a shorter time.
    pub may_be_shorter: bool,
}

/// The fate of a request that waited too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutAction {
    /// It fails.
    #[default]
    Reject,
    /// It goes behind all others of its level and of more urgent ones.
    Delay,
}

/// A level of a [`Queueing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLevel(usize);

/// Levels that cannot be.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum QueueingError {
    /// There are none, or too many.
    #[error("expected 1 to {most} levels, found {0}", most = Queueing::MOST_LEVELS)]
    Levels(u64),
    /// The default is none of them.
    #[error("expected a default level from 1 to {levels}, found {found}")]
    Default {
        /// How many levels there are.
        levels: u16,
        /// The default.
        found: u64,
    },
    /// A policy is of none of them.
    #[error("expected policies for levels 1 to {levels}, found one for level {found}")]
    Policy {
        /// How many levels there are.
        levels: u16,
        /// The level.
        found: u64,
    },
}

impl Queueing {
    /// The most levels.
    pub const MOST_LEVELS: u16 = 512;

    /// Creates the value of one level.
    pub fn of(policy: QueuePolicy) -> Self {
        Queueing {
            levels: vec![policy],
            default: 0,
        }
    }

    /// Creates the value of so many levels. Those that have no policy of their own have `usual`.
    ///
    /// # Errors
    /// There are none or too many levels, or the default or a policy is of none of them.
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

    /// Returns the level of a request with a priority: the default for 0 and for one that there is
    /// not, as Triton has it.
    pub fn level_of(&self, priority: u64) -> QueueLevel {
        let at = usize::try_from(priority).unwrap_or(usize::MAX);
        let known = at.checked_sub(1).filter(|at| *at < self.levels.len());
        QueueLevel(known.unwrap_or(self.default))
    }

    /// Returns the levels, the most urgent first.
    pub fn levels(&self) -> impl ExactSizeIterator<Item = QueueLevel> + use<> {
        (0..self.levels.len()).map(QueueLevel)
    }

    /// Returns the level of requests that name none.
    pub fn default_level(&self) -> QueueLevel {
        QueueLevel(self.default)
    }

    /// Returns the bounds of a level.
    pub fn policy(&self, level: QueueLevel) -> QueuePolicy {
        self.levels[level.0]
    }

    /// Returns how much less urgent a level is than the default: below 0 for a more urgent one.
    pub fn urgency(&self, level: QueueLevel) -> i16 {
        // Both are below `MOST_LEVELS`.
        level.0 as i16 - self.default as i16
    }

    /// Whether a request with a priority may say how long it waits.
    pub fn may_be_shorter(&self, priority: u64) -> bool {
        let timeout = self.policy(self.level_of(priority)).timeout;
        timeout.is_some_and(|timeout| timeout.may_be_shorter)
    }
}

impl QueueLevel {
    /// Returns its number, from 1 on.
    pub fn number(self) -> usize {
        self.0 + 1
    }

    /// Returns its position among the levels.
    pub fn position(self) -> usize {
        self.0
    }
}

impl QueueTimeout {
    /// Returns how long a request may wait that asks for `asked`.
    pub fn within(&self, asked: Option<Duration>) -> Duration {
        let shorter = asked.filter(|asked| self.may_be_shorter && *asked < self.after);
        shorter.unwrap_or(self.after)
    }
}
