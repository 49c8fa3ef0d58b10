//! INFaaS according to its published code: by loading time only, with the constants of the code.
//!
//! This is the objective of the paper with an unlimited λ. As in the code, loading times are in
//! milliseconds, rates in queries per second.

use std::collections::BTreeMap;

use super::decision::{ActionOutcome, PolicyDecision, ScalingAction};
use super::policy::Policy;
use super::scaling::Draft;
use super::situation::{Situation, TaskDemand};
use crate::variants::{DeviceSharing, Variant, VariantIndex};

/// The share of its saturation that a CPU instance counts with.
const CPU_HEADROOM: f64 = 0.95;
/// The relative growth of a GPU instance's load for each millisecond of its loading.
const GPU_LOADING: f64 = 0.0002;
/// The factor by which replication may load longer than an upgrade.
const UPGRADE_FACTOR: f64 = 1.5;
/// The number of consecutive votes before an instance is removed.
const CPU_VOTES: u32 = 10;
const GPU_VOTES: u32 = 20;

/// Scales each task according to INFaaS's code.
#[derive(Clone, Debug, Default)]
pub struct InfaasCode {
    votes: BTreeMap<VariantIndex, u32>,
}

impl Policy for InfaasCode {
    fn name(&self) -> &'static str {
        "infaas-code"
    }

    fn decide(&mut self, situation: &Situation<'_>) -> PolicyDecision {
        let mut draft = Draft::new(situation);
        for demand in situation.demands {
            let range = situation.catalog.range(demand.task);
            let running = range.map(|at| VariantIndex(at as u32));
            let running = running.filter(|v| situation.hosted.total(*v) > 0);
            let running: Vec<VariantIndex> = running.collect();
            match running.is_empty() {
                true => self.begin(&mut draft, demand),
                false => running
                    .into_iter()
                    .for_each(|v| self.scale(&mut draft, demand, v)),
            }
        }
        draft.finish()
    }
}

/// Returns the number of missing instances, by the code's two formulas.
fn missing(variant: &Variant, count: u32, rate: f64) -> u32 {
    let (one, all) = (
        variant.saturation().get(),
        f64::from(count) * variant.saturation().get(),
    );
    let loading = variant.profile.loading.as_secs_f64() * 1e3;
    let need = match variant.profile.sharing {
        DeviceSharing::Space => rate - all * CPU_HEADROOM,
        DeviceSharing::Time | DeviceSharing::Unreserved => rate - all + GPU_LOADING * loading * all,
    };
    (need / one - 1e-9).ceil().max(0.0) as u32
}

fn loading_millis(variant: &Variant, count: u32) -> f64 {
    variant.profile.loading.as_secs_f64() * 1e3 * f64::from(count)
}

impl InfaasCode {
    /// Loads the variant with the shortest loading time.
    fn begin(&mut self, draft: &mut Draft<'_>, demand: &TaskDemand) {
        let situation = draft.situation;
        let suiting = situation.suiting(demand);
        let suiting = suiting.filter(|(index, _)| draft.has_room(*index, 1));
        let soonest = suiting.min_by_key(|(_, variant)| variant.profile.loading);
        if let Some((index, variant)) = soonest {
            draft.place(index, 1);
            let action = ScalingAction::Switch(index, 1);
            let cost = loading_millis(variant, 1);
            draft
                .decision
                .consider(demand.task, action, cost, ActionOutcome::Taken);
        }
    }

    fn scale(&mut self, draft: &mut Draft<'_>, demand: &TaskDemand, index: VariantIndex) {
        let situation = draft.situation;
        let variant = situation.catalog.variant(index);
        let count = situation.hosted.total(index);
        let rate = self.rate(situation, demand, index);
        let up = missing(variant, count, rate);
        if up > 0 {
            self.votes.remove(&index);
            return self.scale_up(draft, demand, index, up);
        }
        if rate <= f64::from(count - 1) * variant.saturation().get() {
            return self.vote_down(draft, demand, index);
        }
        self.votes.remove(&index);
    }

    /// Returns the rate of a variant in queries per second: its share of the demand by capacity.
    fn rate(&self, situation: &Situation<'_>, demand: &TaskDemand, index: VariantIndex) -> f64 {
        let variant = situation.catalog.variant(index);
        let own = f64::from(situation.hosted.total(index)) * variant.saturation().get();
        match demand.suits(variant) {
            true => demand.rate.get() * own / situation.capacity(demand),
            false => situation
                .watched
                .get(index.get())
                .map_or(0.0, |w| w.served.get()),
        }
    }

    /// Replicates, or loads the next variant of higher rate with room if replicating takes 1.5 × as
    /// long to load or has no room.
    fn scale_up(
        &mut self,
        draft: &mut Draft<'_>,
        demand: &TaskDemand,
        index: VariantIndex,
        up: u32,
    ) {
        let situation = draft.situation;
        let variant = situation.catalog.variant(index);
        let needed = f64::from(up) * variant.saturation().get();
        let faster = situation.suiting(demand);
        let faster = faster.filter(|(_, other)| other.saturation() > variant.saturation());
        let mut faster: Vec<_> = faster.collect();
        faster.sort_by(|a, b| a.1.saturation().get().total_cmp(&b.1.saturation().get()));
        let replicated = loading_millis(variant, up);
        let upgrades = faster.into_iter().map(|(other, next)| {
            let count = (needed / next.saturation().get()).ceil().max(1.0) as u32;
            (other, count, loading_millis(next, count))
        });
        let mut fitting = upgrades.filter(|(other, count, _)| draft.has_room(*other, *count));
        let upgrade = fitting.next();
        let upgrades = upgrade.filter(|(.., loading)| {
            replicated > UPGRADE_FACTOR * loading || !draft.has_room(index, up)
        });
        let (replicates, beaten) = (ScalingAction::Replicate(index, up), ActionOutcome::Beaten);
        match upgrades {
            Some((other, count, loading)) => {
                draft
                    .decision
                    .consider(demand.task, replicates, replicated, beaten);
                draft.place(other, count);
                let action = ScalingAction::Switch(other, count);
                draft
                    .decision
                    .consider(demand.task, action, loading, ActionOutcome::Taken);
            }
            None => {
                let outcome = match draft.place(index, up) == up {
                    true => ActionOutcome::Taken,
                    false => ActionOutcome::NoRoom,
                };
                draft
                    .decision
                    .consider(demand.task, replicates, replicated, outcome);
                if let Some((other, count, loading)) = upgrade {
                    let action = ScalingAction::Switch(other, count);
                    draft
                        .decision
                        .consider(demand.task, action, loading, beaten);
                }
            }
        }
    }

    fn vote_down(&mut self, draft: &mut Draft<'_>, demand: &TaskDemand, index: VariantIndex) {
        let votes = self.votes.entry(index).or_insert(0);
        *votes += 1;
        let variant = draft.situation.catalog.variant(index);
        let needed = match variant.profile.sharing {
            DeviceSharing::Space => CPU_VOTES,
            DeviceSharing::Time | DeviceSharing::Unreserved => GPU_VOTES,
        };
        // A task keeps its last instance.
        let last = draft
            .situation
            .suiting(demand)
            .map(|(v, _)| draft.hosted.total(v));
        let outcome = match *votes >= needed && last.sum::<u32>() > 1 {
            true => {
                self.votes.remove(&index);
                draft.take_away(index);
                ActionOutcome::Taken
            }
            false => ActionOutcome::TooLittleLeft,
        };
        let action = ScalingAction::Remove(index, 1);
        draft.decision.consider(demand.task, action, 0.0, outcome);
    }
}
