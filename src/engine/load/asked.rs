//! The entries that a load sends requests to, their order, and the samples.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use divisi_model::catalogue::{Catalogue, Mix, Turns};
use divisi_model::ensemble::Samples;

use super::chooser::EntryChooser;
use super::pattern::LoadPattern;

/// An entry of the load has no samples; holds its name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` has no samples to send: add a [calibration] table to its manifest, or leave it out of \
     the mix"
)]
pub struct MissingSamples(pub String);

/// The samples for the entries of a catalogue, sent in the shares of a mix.
#[derive(Clone, Debug)]
pub struct LoadSamples {
    /// The samples by entry, `None` for entries without requests.
    by_entry: Vec<Option<Arc<Samples>>>,
    mix: Mix,
    /// Chooses the entry of each request instead of the mix.
    chooser: Option<Arc<dyn EntryChooser>>,
}

impl LoadSamples {
    /// Returns the calibration samples of the entries in a mix.
    ///
    /// # Errors
    /// An entry has no samples.
    pub fn for_mix(catalogue: &Catalogue, mix: &Mix) -> Result<Self, MissingSamples> {
        let mut by_entry = vec![None; catalogue.entries().len()];
        for (number, _) in mix.requested() {
            let entry = &catalogue.entries()[number];
            let samples = entry.ensemble().calibration.clone();
            let missing = || MissingSamples(entry.name().to_owned());
            by_entry[number] = Some(samples.ok_or_else(missing)?);
        }
        let mix = mix.clone();
        Ok(LoadSamples {
            by_entry,
            mix,
            chooser: None,
        })
    }

    /// Returns the calibration samples of all entries. `chooser` chooses the entry of each request.
    ///
    /// # Errors
    /// An entry has no samples.
    pub fn chosen_by(
        catalogue: &Catalogue,
        chooser: Arc<dyn EntryChooser>,
    ) -> Result<Self, MissingSamples> {
        let all = LoadSamples::for_mix(catalogue, &Mix::equal_shares(catalogue.entries().len()))?;
        Ok(LoadSamples {
            chooser: Some(chooser),
            ..all
        })
    }

    /// Returns the chooser of entries, or `None` if the mix decides.
    pub fn chooser(&self) -> Option<&Arc<dyn EntryChooser>> {
        self.chooser.as_ref()
    }

    /// Returns the shares of the entries.
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// Returns the first entry that receives requests.
    pub fn first(&self) -> usize {
        self.mix.requested().next().map_or(0, |(entry, _)| entry)
    }

    /// Returns the samples of an entry, or `None` if it receives no requests.
    pub fn of_entry(&self, entry: usize) -> Option<&Arc<Samples>> {
        self.by_entry.get(entry)?.as_ref()
    }
}

impl From<Arc<Samples>> for LoadSamples {
    /// Returns samples for the first entry only.
    fn from(samples: Arc<Samples>) -> Self {
        LoadSamples {
            by_entry: vec![Some(samples)],
            mix: Mix::equal_shares(1),
            chooser: None,
        }
    }
}

/// The order of the entries that requests go to.
#[derive(Debug)]
pub struct EntryOrder {
    next: usize,
    turns: Turns,
    /// Draws the entries at random. `None` cycles through them.
    random: Option<ChaCha8Rng>,
}

/// Added to the seed of arrivals, so that the order of entries is independent of them.
const SEED_OF_ENTRIES: u64 = 0x6d69_785f;

impl EntryOrder {
    /// Returns an order that cycles through the entries.
    pub fn in_turn(mix: &Mix) -> Self {
        EntryOrder::new(mix, None)
    }

    /// Returns the order for a pattern of arrivals. Open patterns draw entries at random, so that
    /// the arrivals of each entry follow the pattern too. A closed loop cycles through the entries.
    pub fn for_pattern(pattern: &LoadPattern, mix: &Mix, seed: u64) -> Self {
        let seed = seed.wrapping_add(SEED_OF_ENTRIES);
        let random = pattern.is_open().then(|| ChaCha8Rng::seed_from_u64(seed));
        EntryOrder::new(mix, random)
    }

    fn new(mix: &Mix, random: Option<ChaCha8Rng>) -> Self {
        let mut order = EntryOrder {
            next: 0,
            turns: Turns::new(mix.clone()),
            random,
        };
        order.choose();
        order
    }

    fn choose(&mut self) {
        self.next = match &mut self.random {
            Some(random) => self.turns.mix().entry_at(random.random()),
            None => self.turns.next(),
        };
    }

    /// Returns the entry of the next request.
    pub fn next(&self) -> usize {
        self.next
    }

    /// Returns the number of samples for the next request, at most `most`. Large requests are cut
    /// so that small shares get their turns.
    pub fn piece(&self, most: usize) -> usize {
        self.turns.chunk_size(self.next, most)
    }

    /// Records that the request was sent with this number of samples.
    pub fn sent(&mut self, samples: usize) {
        self.turns.record_sent(self.next, samples);
        self.choose();
    }
}
