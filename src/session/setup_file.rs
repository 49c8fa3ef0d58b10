//! Setup files: matrix files with additional settings.
//!
//! ```toml
//! policy = "opt-wait:5ms"
//! segment_size = 128
//! precisions = ["f32", "int8"]
//! ensemble = "digits"
//! devices = ["cpu:0"]
//! members = ["mlp", "cnn-s"]
//! matrix = [
//!     [16, 8],
//! ]
//!
//! [combination]
//! rule = "weighted-average"
//! weights = [1.0, 2.0]
//! voting = [true, true]
//! ```

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use thiserror::Error;

use divisi_engine::serving::Setup;
use divisi_model::allocation::{MatrixFile, MatrixFileError};
use divisi_model::ensemble::{
    Combination, CombinationError, MemberPrecision, MemberPrecisionError, PolicyError, PolicyKind,
    RuleKind, Temperature,
};
use divisi_model::ranged::OutOfRange;

/// The contents of a setup file; a plain matrix file has only the matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct SetupFile {
    /// The allocation matrix, as written.
    pub matrix: MatrixFile,
    /// The batching policy, if the file has one.
    pub policy: Option<PolicyKind>,
    /// The combination of members, if the file has one.
    pub combination: Option<Combination>,
    /// The maximum number of samples in a segment, if the file has it.
    pub segment_size: Option<usize>,
    /// The precision of each member, if the file has them.
    pub precisions: Option<Vec<MemberPrecision>>,
}

/// The reasons why a file is not a valid setup for this ensemble.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SetupFileError {
    /// The matrix, or the file as a whole, is invalid.
    #[error(transparent)]
    Matrix(#[from] MatrixFileError),
    /// The policy is unknown or does not fit.
    #[error("policy: {0}")]
    Policy(PolicyError),
    /// The combination is invalid.
    #[error("combination: {0}")]
    Combination(CombinationError),
    /// A temperature of the combination is out of range.
    #[error("combination: temperatures: {0}")]
    Temperatures(OutOfRange),
    /// A precision is unknown.
    #[error("precisions: `{member}`: {why}")]
    Precision {
        /// The member's name.
        member: String,
        /// The reason.
        why: MemberPrecisionError,
    },
    /// The precisions are not a list of names.
    #[error(
        "precisions: expected a list of names, one for each member, such as [\"f32\", \"int8\"], \
         found `{found}`"
    )]
    NoNames {
        /// The value found.
        found: String,
    },
    /// The number of precisions differs from the number of members.
    #[error("precisions: expected {expected}, one for each member, found {found}")]
    Precisions {
        /// The number found.
        found: usize,
        /// The number of members.
        expected: usize,
    },
    /// The segment size is out of range.
    #[error("segment_size: expected a whole number from 1 to {most}, found {found}", most = SetupFile::MOST_SEGMENT)]
    Segment {
        /// The value found.
        found: i64,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    ensemble: String,
    devices: Vec<String>,
    members: Vec<String>,
    matrix: Vec<Vec<i64>>,
    policy: Option<String>,
    segment_size: Option<i64>,
    precisions: Option<toml::Value>,
    combination: Option<WrittenCombination>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCombination {
    rule: RuleKind,
    weights: Option<Vec<f64>>,
    voting: Option<Vec<bool>>,
    temperatures: Option<Vec<f64>>,
}

impl SetupFile {
    /// The maximum number of samples in a segment, as in a manifest.
    pub const MOST_SEGMENT: usize = Setup::MOST_SEGMENT;

    /// Creates the file for `setup` of the ensemble `ensemble`.
    pub fn new(ensemble: &str, setup: &Setup) -> Self {
        SetupFile {
            matrix: MatrixFile::new(ensemble, &setup.matrix),
            policy: Some(setup.policy),
            combination: Some(setup.combination.clone()),
            segment_size: Some(setup.segment_size),
            precisions: Some(setup.precisions.clone()),
        }
    }

    /// Parses the text of a setup file or a plain matrix file.
    ///
    /// # Errors
    /// Returns the line with a syntax error or the invalid field.
    pub fn parse(text: &str) -> Result<Self, SetupFileError> {
        let written: Written =
            toml::from_str(text).map_err(|e| MatrixFileError::from_toml(&e, text))?;
        let segment = written.segment_size.map(segment_size).transpose()?;
        let policy = written.policy.map(|p| p.parse()).transpose();
        let precisions = written.precisions.as_ref();
        let precisions = precisions.map(|all| precisions_of(&names(all)?, &written.members));
        let members = written.members.len();
        let combination = written.combination.map(|c| c.value(members)).transpose();
        Ok(SetupFile {
            policy: policy.map_err(SetupFileError::Policy)?,
            combination: combination?,
            segment_size: segment,
            precisions: precisions.transpose()?,
            matrix: MatrixFile {
                ensemble: written.ensemble,
                devices: written.devices,
                members: written.members,
                matrix: written.matrix,
            },
        })
    }

    /// Returns the file's text in an editable form.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        if let Some(policy) = self.policy {
            let _ = writeln!(text, "policy = \"{policy}\"");
        }
        if let Some(size) = self.segment_size {
            let _ = writeln!(text, "segment_size = {size}");
        }
        if let Some(precisions) = &self.precisions {
            let written: Vec<String> = precisions.iter().map(|p| p.to_text()).collect();
            let _ = writeln!(text, "precisions = {written:?}");
        }
        text.push_str(&self.matrix.to_text());
        if let Some(combination) = &self.combination {
            let (rule, voting) = (combination.rule.name(), &combination.voting);
            let weights: Vec<f64> = combination.weights.iter().map(|w| w.get()).collect();
            let _ = writeln!(
                text,
                "\n[combination]\nrule = \"{rule}\"\nweights = {weights:?}\nvoting = {voting:?}"
            );
            if combination.temperatures.iter().any(|t| !t.is_one()) {
                let temperatures = combination.temperatures.iter().map(|t| t.get());
                let temperatures: Vec<f64> = temperatures.collect();
                let _ = writeln!(text, "temperatures = {temperatures:?}");
            }
        }
        text
    }

    /// Returns the setup. Settings that are not in the file stay as in `running`.
    ///
    /// # Errors
    /// Returns an error if the matrix belongs to another ensemble, has other members or devices, or
    /// breaks a rule, or if the policy does not fit the batch sizes.
    pub fn setup_for(&self, ensemble: &str, running: &Setup) -> Result<Setup, SetupFileError> {
        let frame = running.matrix.frame();
        let matrix = self.matrix.matrix_for(ensemble, frame)?;
        let policy = self.policy.unwrap_or(running.policy);
        let fits = policy.check(&frame.batch_sizes);
        fits.map_err(SetupFileError::Policy)?;
        let combination = self.combination.as_ref().unwrap_or(&running.combination);
        Ok(Setup {
            models: Arc::clone(&running.models),
            matrix,
            policy,
            combination: combination.clone(),
            segment_size: self.segment_size.unwrap_or(running.segment_size),
            precisions: match &self.precisions {
                None => running.precisions.clone(),
                Some(written) => {
                    let both = written.iter().zip(&running.precisions);
                    both.map(|(own, runs)| own.replacing(*runs)).collect()
                }
            },
        })
    }
}

/// Returns the names in a list.
fn names(written: &toml::Value) -> Result<Vec<String>, SetupFileError> {
    let wrong = || SetupFileError::NoNames {
        found: written.to_string(),
    };
    let list = written.as_array().ok_or_else(wrong)?;
    let each = list.iter().map(|name| name.as_str().map(str::to_owned));
    each.collect::<Option<_>>().ok_or_else(wrong)
}

fn precisions_of(
    written: &[String],
    members: &[String],
) -> Result<Vec<MemberPrecision>, SetupFileError> {
    let (found, expected) = (written.len(), members.len());
    if found != expected {
        return Err(SetupFileError::Precisions { found, expected });
    }
    let each = written.iter().zip(members);
    let parsed = each.map(|(name, member)| {
        let member = member.clone();
        let wrong = |why| SetupFileError::Precision { member, why };
        name.parse().map_err(wrong)
    });
    parsed.collect()
}

fn segment_size(found: i64) -> Result<usize, SetupFileError> {
    let size = usize::try_from(found).ok();
    let size = size.filter(|n| (1..=SetupFile::MOST_SEGMENT).contains(n));
    size.ok_or(SetupFileError::Segment { found })
}

impl WrittenCombination {
    fn value(self, members: usize) -> Result<Combination, SetupFileError> {
        let temperatures = match self.temperatures {
            None => vec![Temperature::ONE; members],
            Some(written) => {
                let parsed = written.into_iter().map(Temperature::new);
                let parsed: Result<_, OutOfRange> = parsed.collect();
                parsed.map_err(SetupFileError::Temperatures)?
            }
        };
        let weights = self.weights.unwrap_or_else(|| vec![1.0; members]);
        let voting = self.voting.unwrap_or_else(|| vec![true; members]);
        let combination = Combination::from_written(self.rule, &weights, voting);
        let combination = combination.map_err(SetupFileError::Combination)?;
        let combination = combination.with_temperatures(temperatures);
        let checked = combination.check(members);
        checked.map_err(SetupFileError::Combination)?;
        Ok(combination)
    }
}
