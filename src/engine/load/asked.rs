//! Which entries of a catalogue a load asks, in which order, and with which samples.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use divisi_model::catalogue::{Catalogue, Mix, Turns};
use divisi_model::ensemble::Samples;

use super::chooser::EntryChooser;
use super::pattern::LoadPattern;

/// An entry that is to be asked has no samples; holds its name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` has no samples to send: add a [calibration] table to its manifest, or leave it out of \
     the mix"
)]
pub struct MissingSamples(pub String);

/// The samples that are sent to the entries of a catalogue, in the shares of a mix.
#[derive(Clone, Debug)]
pub struct LoadSamples {
    /// By entry; of those that are asked.
    by_entry: Vec<Option<Arc<Samples>>>,
    mix: Mix,
    /// Chooses the entry of each request in place of the mix.
    chooser: Option<Arc<dyn EntryChooser>>,
}

impl LoadSamples {
    /// Returns the calibration samples of the entries that a mix asks.
    ///
    /// # Errors
    /// One of them has none.
    pub fn of(catalogue: &Catalogue, mix: &Mix) -> Result<Self, MissingSamples> {
        let mut by_entry = vec![None; catalogue.entries().len()];
        for (number, _) in mix.asked() {
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

    /// Returns the calibration samples of all entries, of which `chooser` chooses one for each request.
    ///
    /// # Errors
    /// An entry has none.
    pub fn chosen_by(
        catalogue: &Catalogue,
        chooser: Arc<dyn EntryChooser>,
    ) -> Result<Self, MissingSamples> {
        let all = LoadSamples::of(catalogue, &Mix::even(catalogue.entries().len()))?;
        Ok(LoadSamples {
            chooser: Some(chooser),
            ..all
        })
    }

    /// Returns who chooses the entry of each request, or `None` where the mix does.
    pub fn chooser(&self) -> Option<&Arc<dyn EntryChooser>> {
        self.chooser.as_ref()
    }

    /// Returns the shares of the entries.
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// Returns the first entry that is asked.
    pub fn first(&self) -> usize {
        self.mix.asked().next().map_or(0, |(entry, _)| entry)
    }

    /// Returns the samples of an entry, or `None` if it is not asked.
    pub fn of_entry(&self, entry: usize) -> Option<&Arc<Samples>> {
        self.by_entry.get(entry)?.as_ref()
    }
}

impl From<Arc<Samples>> for LoadSamples {
    /// Returns the samples of the first entry, which alone is asked.
    fn from(samples: Arc<Samples>) -> Self {
        LoadSamples {
            by_entry: vec![Some(samples)],
            mix: Mix::even(1),
            chooser: None,
        }
    }
}

/// The entries that requests ask, one after another.
#[derive(Debug)]
pub struct EntryOrder {
    next: usize,
    turns: Turns,
    /// Draws the entries; else they are asked in turn.
    random: Option<ChaCha8Rng>,
}

/// Added to the seed of arrivals, so that these and the entries do not go together.
const SEED_OF_ENTRIES: u64 = 0x6d69_785f;

impl EntryOrder {
    /// Returns the order in which entries are asked in turn.
    pub fn in_turn(mix: &Mix) -> Self {
        EntryOrder::new(mix, None)
    }

    /// Returns the order of a pattern of arrivals: at random where these are open, so that each entry
    /// has such arrivals too, and else in turn.
    pub fn of(pattern: &LoadPattern, mix: &Mix, seed: u64) -> Self {
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
            Some(random) => self.turns.mix().at(random.random()),
            None => self.turns.next(),
        };
    }

    /// Returns the entry that the next request asks.
    pub fn next(&self) -> usize {
        self.next
    }

    /// Returns how many of `most` samples that request has, where small shares are to have their turns
    /// too.
    pub fn piece(&self, most: usize) -> usize {
        self.turns.piece(self.next, most)
    }

    /// Notes that the request was sent, with so many samples.
    pub fn sent(&mut self, samples: usize) {
        self.turns.sent(self.next, samples);
        self.choose();
    }
}
