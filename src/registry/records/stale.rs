//! Checks whether the profiles of an ensemble are still valid.

use divisi_model::ensemble::Ensemble;
use thiserror::Error;

use super::model::{MemberRecord, ModelRecord, RecordedSource};
use super::origin::ProfileOrigin;

/// The reason why the profiles and accuracies of an ensemble are not used until it is registered
/// again.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StaleProfile {
    /// The kernels differ.
    #[error("it was profiled with {then}, but this program uses {now}")]
    Kernels {
        /// The measured kernels.
        then: String,
        /// The present kernels.
        now: String,
    },
    /// The program differs.
    #[error("it was profiled by {then}, but this is {now}")]
    Program {
        /// The measured value.
        then: String,
        /// The present value.
        now: String,
    },
    /// The processor differs.
    #[error("it was profiled on {then}, but this is {now}")]
    Processor {
        /// The measured value.
        then: String,
        /// The present value.
        now: String,
    },
    /// A member has another network, other weights or another calibration.
    #[error("the network, weights or calibration of member `{0}` changed")]
    Weights(String),
    /// The ensemble has other members.
    #[error("its members are now {now}; it was registered with {then}")]
    Members {
        /// The names at registration.
        then: String,
        /// The names now.
        now: String,
    },
    /// The combination of the members changed.
    #[error("the combination of its members changed")]
    Combination,
    /// The ensemble cannot be read from its recorded place.
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
    /// Returns the reason why profiles measured by `origin` are not valid for a program and
    /// machine, or `None` if they are valid.
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

    /// Reads the ensemble again with `read`, and returns it if its profiles are valid for this
    /// program, this machine and the ensemble.
    ///
    /// # Errors
    /// The profiles are not valid, or the ensemble cannot be read.
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

    /// Returns the reason why profiles are not valid for the present ensemble, or `None` if they
    /// are valid. Reads all weights of the ensemble.
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
        let changed = both.find(|(record, member)| **record != MemberRecord::from_member(member));
        changed.map(|(record, _)| StaleProfile::Weights(record.name.clone()))
    }
}
