//! The traffic mix: the shares of the entries of a catalogue.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Catalogue;

/// Shares by entry name, as users write them: `digits=3,imn4=1`. Every share is finite and above 0,
/// and no name appears twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NamedMix(Vec<(String, f64)>);

/// The shares of the entries of a catalogue in the samples of all requests, by entry number. The
/// shares sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix(Box<[f64]>);

/// An error in a traffic mix.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MixError {
    /// A part is not a name with a share.
    #[error("expected NAME=SHARE[,NAME=SHARE …], found `{0}`")]
    NoShare(String),
    /// A share is not a number above 0.
    #[error("the share of `{name}`: expected a number above 0, up to 1000000000, found `{found}`")]
    Share {
        /// The name of the entry.
        name: String,
        /// The share as written.
        found: String,
    },
    /// A name appears twice.
    #[error("`{0}` has two shares")]
    Twice(String),
    /// There is no entry with this name.
    #[error("`{name}` is not served: expected one of {}", .there.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The existing names.
        there: Vec<String>,
    },
}

/// The maximum share. The sum over all entries stays finite.
const MOST: f64 = 1e9;

impl FromStr for NamedMix {
    type Err = MixError;

    /// Reads `digits=3,imn4=1`.
    fn from_str(text: &str) -> Result<Self, MixError> {
        let mut named: Vec<(String, f64)> = Vec::new();
        for part in text.split(',') {
            let (name, share) = share(part)?;
            if named.iter().any(|(other, _)| *other == name) {
                return Err(MixError::Twice(name));
            }
            named.push((name, share));
        }
        Ok(NamedMix(named))
    }
}

fn share(part: &str) -> Result<(String, f64), MixError> {
    let none = || MixError::NoShare(part.trim().to_owned());
    let (name, found) = part.rsplit_once('=').ok_or_else(none)?;
    let (name, found) = (name.trim().to_owned(), found.trim());
    if name.is_empty() {
        return Err(none());
    }
    let share = found.parse::<f64>().ok();
    match share.filter(|share| *share > 0.0 && *share <= MOST) {
        Some(share) => Ok((name, share)),
        None => Err(MixError::Share {
            name,
            found: found.to_owned(),
        }),
    }
}

impl TryFrom<String> for NamedMix {
    type Error = MixError;

    fn try_from(text: String) -> Result<Self, MixError> {
        text.parse()
    }
}

impl From<NamedMix> for String {
    fn from(mix: NamedMix) -> Self {
        mix.to_string()
    }
}

impl fmt::Display for NamedMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, share)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{name}={share}")?;
        }
        Ok(())
    }
}

impl NamedMix {
    /// Returns the shares of the entries of a catalogue. A name means its newest version. Entries
    /// without a share get no requests.
    ///
    /// # Errors
    /// There is no entry with a given name.
    pub fn resolve(&self, catalogue: &Catalogue) -> Result<Mix, MixError> {
        let mut shares = vec![0.0; catalogue.entries().len()];
        for (name, share) in &self.0 {
            let unknown = || MixError::Unknown {
                name: name.clone(),
                there: names(catalogue),
            };
            shares[catalogue.find(name, None).ok_or_else(unknown)?] += share;
        }
        Ok(Mix::of_weights(&shares))
    }
}

fn names(catalogue: &Catalogue) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in catalogue.entries() {
        if !names.iter().any(|name| name == entry.name()) {
            names.push(entry.name().to_owned());
        }
    }
    names
}

impl Mix {
    /// Returns the mix with equal shares for this number of entries.
    pub fn equal_shares(entries: usize) -> Self {
        Mix::of_weights(&vec![1.0; entries])
    }

    /// Returns the mix of the samples counted by entry, or `None` if no samples were counted.
    pub fn from_counts(counts: &[u64]) -> Option<Self> {
        let some = counts.iter().any(|count| *count > 0);
        some.then(|| Mix::of_weights(&counts.iter().map(|n| *n as f64).collect::<Vec<_>>()))
    }

    /// The weights are finite and not all 0.
    fn of_weights(weights: &[f64]) -> Self {
        let sum: f64 = weights.iter().sum();
        Mix(weights.iter().map(|weight| weight / sum).collect())
    }

    /// Returns the share of an entry, 0 to 1.
    pub fn share(&self, entry: usize) -> f64 {
        self.0.get(entry).copied().unwrap_or(0.0)
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> usize {
        self.0.len()
    }

    /// Iterates over the entries with a share above 0, with their shares.
    pub fn requested(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let shares = self.0.iter().copied().enumerate();
        shares.filter(|(_, share)| *share > 0.0)
    }

    /// Returns the entry for a uniformly distributed number from 0 to 1.
    pub fn entry_at(&self, uniform: f64) -> usize {
        let mut left = uniform;
        let mut last = 0;
        for (entry, share) in self.requested() {
            last = entry;
            if left < share {
                break;
            }
            left -= share;
        }
        last
    }
}

/// Takes entries in turn, so that the samples sent to each entry stay close to its share.
#[derive(Clone, Debug)]
pub struct Turns {
    mix: Mix,
    sent: Box<[u64]>,
}

impl Turns {
    /// Creates the turns of a mix.
    pub fn new(mix: Mix) -> Self {
        Turns {
            sent: vec![0; mix.entries()].into(),
            mix,
        }
    }

    /// Returns the mix.
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// Returns the entry that is furthest behind its share.
    pub fn next(&self) -> usize {
        let sent = self.sent.iter().sum::<u64>() as f64;
        let behind = |entry: usize, share: f64| share * (sent + 1.0) - self.sent[entry] as f64;
        let mut next = (0, f64::NEG_INFINITY);
        for (entry, share) in self.mix.requested() {
            let behind = behind(entry, share);
            if behind > next.1 {
                next = (entry, behind);
            }
        }
        next.0
    }

    /// Returns the number of samples to send to an entry at once: `most` for the entry with the
    /// largest share, and less for smaller shares, so that those get turns too.
    pub fn chunk_size(&self, entry: usize, most: usize) -> usize {
        let largest = self.mix.requested().map(|(_, share)| share);
        let largest = largest.fold(0.0, f64::max);
        let piece = most as f64 * self.mix.share(entry) / largest;
        (piece.round() as usize).clamp(1, most.max(1))
    }

    /// Records the number of samples sent to an entry.
    pub fn record_sent(&mut self, entry: usize, samples: usize) {
        self.sent[entry] += samples as u64;
    }
}
