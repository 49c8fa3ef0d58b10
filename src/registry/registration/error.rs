//! Errors of a registration.

use divisi_engine::search::precisions::AccuracyLossError;
use divisi_engine::search::{AskedError, SearchError};
use divisi_modelless::quantities::QuantityError;
use divisi_modelless::variants::VariantProfileError;
use divisi_runtime::device::DeviceError;
use thiserror::Error;

use crate::counts::CountError;

/// An error of a registration. Nothing was written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// Accuracies of the ensemble cannot be counted.
    #[error(transparent)]
    NotCounted(#[from] AccuracyLossError),
    /// A kind of device supports none of the precisions.
    #[error("{0}: expected a supported precision, f32 or bf16, found only int8")]
    NoPrecision(String),
    /// A network cannot be run or measured.
    #[error(transparent)]
    Measuring(SearchError),
    /// The registration was cancelled.
    #[error("the registration was interrupted: nothing was written")]
    Interrupted,
    /// The answers of members cannot be counted.
    #[error("{precision} on {device}: {why}")]
    Counting {
        /// The precision.
        precision: String,
        /// The kind of device.
        device: String,
        /// The reason.
        why: CountError,
    },
    /// The members' batches have no common size that fits, or take no time.
    #[error(transparent)]
    Profile(#[from] VariantProfileError),
    /// A device is gone.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A price is out of range.
    #[error(transparent)]
    Price(#[from] QuantityError),
}

impl RegistrationError {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        match self {
            RegistrationError::NotCounted(_) => "registration_not_counted",
            RegistrationError::NoPrecision(_) => "registration_precision",
            RegistrationError::Measuring(_) => "registration_measuring",
            RegistrationError::Interrupted => "registration_interrupted",
            RegistrationError::Counting { .. } => "registration_counting",
            RegistrationError::Profile(_) => "registration_profile",
            RegistrationError::Device(_) => "registration_device",
            RegistrationError::Price(_) => "registration_price",
        }
    }
}

impl From<SearchError> for RegistrationError {
    fn from(why: SearchError) -> Self {
        match why {
            SearchError::Stopped(_) => RegistrationError::Interrupted,
            SearchError::Asked(AskedError::AccuracyLoss(why)) => why.into(),
            other => RegistrationError::Measuring(other),
        }
    }
}
