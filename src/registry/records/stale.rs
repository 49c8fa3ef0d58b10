//! Whether the profiles of an ensemble still hold.

use divisi_model::ensemble::Ensemble;
use thiserror::Error;

use super::model::{MemberRecord, ModelRecord, RecordedSource};
use super::origin::ProfileOrigin;

/// Why the profiles and accuracies of an ensemble are not used any more, until it is registered
/// again.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StaleProfile {
    /// Other kernels compute now.
    #[error("it was profiled with {then}, but this program uses {now}")]
    Kernels {
        /// Those that were measured.
        then: String,
        /// Those that compute now.
        now: String,
    },
    /// Another program was measured.
    #[error("it was profiled by {then}, but this is {now}")]
    Program {
        /// The one that was measured.
        then: String,
        /// This one.
        now: String,
    },
    /// Another processor was measured.
    #[error("it was profiled on {then}, but this is {now}")]
    Processor {
        /// The one that was measured.
        then: String,
        /// This one.
        now: String,
    },
    /// A member has another network, other weights or another calibration.
    #[error("the network, weights or calibration of member `{0}` changed")]
    Weights(String),
    /// The ensemble has other members.
    #[error("its members are now {now}; it was registered with {then}")]
    Members {
        /// The names at the time.
        then: String,
        /// The names now.
        now: String,
    },
    /// The members are combined otherwise.
    #[error("the combination of its members changed")]
    Combination,
    /// The ensemble is not where it was read from.
    #[error("its ensemble cannot be read: {0}")]
    Unreadable(String),
}

impl StaleProfile {
    /// Returns the stable code of the reason.
    pub const fn code(&self) -> &'static str {
        match self {
            StaleProfile::Kernels { .. } => "stale_kernels",
            StaleProfile::Program { .. } => "stale_program",
            StaleProfile::Processor { .. } => "stale_processor",
            StaleProfile::Weights(_) => "stale_weights",
            StaleProfile::Members { .. } => "stale_members",
            StaleProfile::Combination => "stale_combination",
            StaleProfile::Unreadable(_) => "stale_unreadable",
        }
    }
}

impl ModelRecord {
    /// Returns why profiles that were made by `origin` do not hold for a program and a machine, or
    /// `None` where they do.
    pub fn stale_on(&self, here: &ProfileOrigin) -> Option<StaleProfile> {
        let origin = &self.origin;
        if origin.kernels != here.kernels {
            let (then, now) = (origin.kernels.clone(), here.kernels.clone());
            return Some(StaleProfile::Kernels { then, now });
        }
        if origin.build() != here.build() {
            let (then, now) = (origin.build(), here.build());
            return Some(StaleProfile::Program { then, now });
        }
        if origin.processor != here.processor {
            let (then, now) = (origin.processor.clone(), here.processor.clone());
            return Some(StaleProfile::Processor { then, now });
        }
        None
    }

    /// Reads the ensemble again by `read`, and returns it where its profiles hold for this program, this
    /// machine and what was read.
    ///
    /// # Errors
    /// They do not, or the ensemble cannot be read.
    pub fn read_again(
        &self,
        read: impl FnOnce(&RecordedSource) -> Result<Ensemble, StaleProfile>,
    ) -> Result<Ensemble, StaleProfile> {
        if let Some(why) = self.stale_on(&ProfileOrigin::here()) {
            return Err(why);
        }
        let ensemble = read(&self.source)?;
        match self.stale_for(&ensemble) {
            Some(why) => Err(why),
            None => Ok(ensemble),
        }
    }

    /// Returns why profiles do not hold for an ensemble as it is now, or `None` where they do. All
    /// of its weights are read for it.
    pub fn stale_for(&self, ensemble: &Ensemble) -> Option<StaleProfile> {
        let names = ensemble.member_names();
        if !self.members.iter().map(|m| &m.name).eq(&names) {
            let then: Vec<&str> = self.members.iter().map(|m| m.name.as_str()).collect();
            let (then, now) = (then.join(", "), names.join(", "));
            return Some(StaleProfile::Members { then, now });
        }
        if self.combination != ensemble.combination() {
            return Some(StaleProfile::Combination);
        }
        let mut both = self.members.iter().zip(&ensemble.members);
        let changed = both.find(|(record, member)| **record != MemberRecord::of(member));
        changed.map(|(record, _)| StaleProfile::Weights(record.name.clone()))
    }
}
