//! Steps from a plan to a better one: adding, removing and exchanging instances.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::state::PlanState;
use crate::placement::DeviceSlot;
use crate::variants::VariantIndex;

/// A gain below this is rounding.
pub(super) const SOME: f64 = 1e-9;

/// The criterion for comparing additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Criterion {
    /// The added value.
    Value,
    /// The added value divided by the cost.
    ValueByCost,
    /// The added value divided by the device share.
    ValueByShare,
}

impl Criterion {
    pub(super) const ALL: [Criterion; 3] = [
        Criterion::Value,
        Criterion::ValueByCost,
        Criterion::ValueByShare,
    ];

    fn score(self, value: f64, price: f64, share: f64) -> f64 {
        match self {
            Criterion::Value => value,
            Criterion::ValueByCost => value / price.max(SOME),
            Criterion::ValueByShare => value / share,
        }
    }
}

impl PlanState<'_> {
    /// Returns the best addition by a criterion, among those that raise the value.
    fn best_addition(&self, criterion: Criterion) -> Option<(VariantIndex, DeviceSlot)> {
        let variants = self.model.situation.catalog.variants();
        let mut best: Option<(f64, VariantIndex, DeviceSlot)> = None;
        for (at, variant) in variants.iter().enumerate() {
            let index = VariantIndex(at as u32);
            if self.gain(index) <= SOME {
                continue;
            }
            let Some((price, device)) = self.cheapest_place(index) else {
                continue;
            };
            let value = self.gain_on(index, device) - price;
            let score = criterion.score(value, price, variant.profile.share.fraction());
            if value > SOME && best.is_none_or(|(best, ..)| score > best) {
                best = Some((score, index, device));
            }
        }
        best.map(|(_, variant, device)| (variant, device))
    }

    /// Returns the device for one more instance: the calmest, of equals the cheapest, then the
    /// fullest.
    fn cheapest_place(&self, index: VariantIndex) -> Option<(f64, DeviceSlot)> {
        let devices = self.hosted.devices();
        let fitting = devices.filter(|device| self.fits(index, *device));
        let priced = fitting.map(|device| (self.price(index, device), device));
        priced.min_by(|a, b| {
            let free = |device| self.hosted.free_share(device);
            let slowdown = |device| self.model.relative_slowdown(device);
            let by_slowdown = slowdown(a.1).total_cmp(&slowdown(b.1));
            by_slowdown
                .then(a.0.total_cmp(&b.0))
                .then(free(a.1).cmp(&free(b.1)))
        })
    }

    /// Adds an instance of a random variant that raises the worth of served queries, whatever it
    /// costs, so that the same room is filled in other ways.
    pub(super) fn add_any(&mut self, random: &mut ChaCha8Rng) {
        let count = self.model.situation.catalog.variants().len() as u32;
        let first = random.random_range(0..count.max(1));
        let all = (0..count).map(|at| VariantIndex((first + at) % count));
        let fitting = all.filter(|v| self.gain(*v) > SOME);
        let placed = fitting.map(|v| (v, self.cheapest_place(v)));
        let found = placed
            .filter_map(|(v, place)| place.map(|(_, device)| (v, device)))
            .next();
        if let Some((variant, device)) = found {
            self.add(variant, device);
        }
    }

    /// Adds instances while one raises the value.
    pub(super) fn fill(&mut self, criterion: Criterion) {
        while let Some((variant, device)) = self.best_addition(criterion) {
            if !self.add(variant, device) {
                break;
            }
        }
    }

    /// Removes the instances whose removal raises the value.
    pub(super) fn prune(&mut self) {
        for (variant, device) in self.instances() {
            let before = self.total();
            while self.remove(variant, device) {
                if self.total() < before + SOME {
                    self.add(variant, device);
                    break;
                }
            }
        }
    }

    /// Returns the pairs of a variant and a device with an instance of it.
    pub(super) fn instances(&self) -> Vec<(VariantIndex, DeviceSlot)> {
        let devices = self.hosted.devices();
        let pairs = devices.flat_map(|d| self.hosted.hosted_on(d).map(move |(v, _)| (v, d)));
        pairs.collect()
    }

    /// Applies the first exchange of an instance for others that raises the value. Returns whether
    /// there was one.
    pub(super) fn exchange(&mut self) -> bool {
        for (variant, device) in self.instances() {
            for criterion in Criterion::ALL {
                let mut trial = self.clone();
                trial.remove(variant, device);
                trial.fill_without(variant, device, criterion);
                if trial.total() > self.total() + SOME {
                    *self = trial;
                    return true;
                }
            }
        }
        false
    }

    /// Fills the room of a removed instance, first with another variant.
    fn fill_without(&mut self, variant: VariantIndex, device: DeviceSlot, criterion: Criterion) {
        let first = self.best_addition(criterion);
        match first {
            Some(same) if same == (variant, device) => {}
            Some((other, to)) => {
                self.add(other, to);
                self.fill(criterion);
            }
            None => {}
        }
    }
}
