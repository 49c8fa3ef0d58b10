//! INFaaS according to its published code: by loading time only, with the constants of the code.
//!
//! This is the objective of the paper with an unlimited λ. As in the code, loading times are in
//! milliseconds, rates in queries per second.

use std::collections::BTreeMap;

use divisi_modelless::policies::{
    ActionOutcome, DecisionDraft, Policy, PolicyDecision, ScalingAction, Situation, TaskDemand,
};
use divisi_modelless::variants::{DeviceSharing, TaskIndex, Variant, VariantIndex};

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
        let mut draft = DecisionDraft::new(situation);
        for task in situation.catalog.tasks() {
            let asked = situation.demands.iter().filter(|d| d.task == task);
            let asked: Vec<&TaskDemand> = asked.collect();
            if asked.is_empty() {
                continue;
            }
            let range = situation.catalog.range(task);
            let running = range.map(|at| VariantIndex(at as u32));
            let running = running.filter(|v| situation.hosted.total(*v) > 0);
            for variant in running.collect::<Vec<_>>() {
                self.scale(&mut draft, task, &asked, variant);
            }
            asked
                .into_iter()
                .for_each(|demand| begin(&mut draft, demand));
        }
        draft.finish()
    }
}

/// Loads the variant with the shortest loading time if no instance suits a demand.
fn begin(draft: &mut DecisionDraft<'_>, demand: &TaskDemand) {
    let situation = draft.situation;
    let mut suiting = situation.suiting(demand);
    if suiting.any(|(index, _)| draft.hosted.total(index) > 0) {
        return;
    }
    let suiting = situation.suiting(demand);
    let suiting = suiting.filter(|(index, _)| draft.has_room(*index, 1));
    let soonest = suiting.min_by_key(|(_, variant)| variant.profile.loading);
    if let Some((index, variant)) = soonest {
        draft.place(index, 1);
        let (action, cost) = (ScalingAction::Switch(index, 1), loading_millis(variant, 1));
        let taken = ActionOutcome::Taken;
        draft.decision.consider(demand.task, action, cost, taken);
    }
}

/// Returns whether the code's numbers for CPUs apply to a variant: on cores of the host, and on
/// devices whose instances have a part to themselves. Instances on its GPUs take turns.
fn is_on_cpu(situation: &Situation<'_>, variant: &Variant) -> bool {
    let space = variant.profile.sharing == DeviceSharing::Space;
    space || situation.catalog.is_of_host(variant.device)
}

/// Returns the number of missing instances, by the code's two formulas.
fn missing(variant: &Variant, count: u32, rate: f64, on_cpu: bool) -> u32 {
    let (one, all) = (
        variant.saturation().get(),
        f64::from(count) * variant.saturation().get(),
    );
    let loading = variant.profile.loading.as_secs_f64() * 1e3;
    let need = match on_cpu {
        true => rate - all * CPU_HEADROOM,
        false => rate - all + GPU_LOADING * loading * all,
    };
    (need / one - 1e-9).ceil().max(0.0) as u32
}

/// Returns the rate of a variant in queries per second: its share by capacity of each demand that
/// it suits. A variant that suits none has the rate of its answers.
fn rate(situation: &Situation<'_>, served: &[&TaskDemand], index: VariantIndex) -> f64 {
    let capacity = |(at, variant): (VariantIndex, &Variant)| {
        f64::from(situation.hosted.total(at)) * variant.saturation().get()
    };
    let own = capacity((index, situation.catalog.variant(index)));
    let share = |demand: &&TaskDemand| {
        let all: f64 = situation.suiting(demand).map(capacity).sum();
        demand.rate.get() * own / all
    };
    match served.is_empty() {
        true => situation
            .watched
            .get(index.get())
            .map_or(0.0, |w| w.served.get()),
        false => served.iter().map(share).sum(),
    }
}

fn loading_millis(variant: &Variant, count: u32) -> f64 {
    variant.profile.loading.as_secs_f64() * 1e3 * f64::from(count)
}

impl InfaasCode {
    fn scale(
        &mut self,
        draft: &mut DecisionDraft<'_>,
        task: TaskIndex,
        asked: &[&TaskDemand],
        index: VariantIndex,
    ) {
        let situation = draft.situation;
        let variant = situation.catalog.variant(index);
        let served = asked.iter().copied().filter(|demand| demand.suits(variant));
        let served: Vec<&TaskDemand> = served.collect();
        let count = situation.hosted.total(index);
        let rate = rate(situation, &served, index);
        let up = missing(variant, count, rate, is_on_cpu(situation, variant));
        if up > 0 {
            self.votes.remove(&index);
            return scale_up(draft, (task, &served), index, up);
        }
        if rate <= f64::from(count - 1) * variant.saturation().get() {
            return self.vote_down(draft, (task, &served), index);
        }
        self.votes.remove(&index);
    }

    fn vote_down(
        &mut self,
        draft: &mut DecisionDraft<'_>,
        (task, served): (TaskIndex, &[&TaskDemand]),
        index: VariantIndex,
    ) {
        let votes = self.votes.entry(index).or_insert(0);
        *votes += 1;
        let variant = draft.situation.catalog.variant(index);
        let needed = match is_on_cpu(draft.situation, variant) {
            true => CPU_VOTES,
            false => GPU_VOTES,
        };
        let outcome = match *votes >= needed && !is_last(draft, (task, served)) {
            true => {
                self.votes.remove(&index);
                draft.take_away(index);
                ActionOutcome::Taken
            }
            false => ActionOutcome::TooLittleLeft,
        };
        let action = ScalingAction::Remove(index, 1);
        draft.decision.consider(task, action, 0.0, outcome);
    }
}

/// Returns whether a demand, or a task without one, has only one instance: it keeps the last one.
fn is_last(draft: &DecisionDraft<'_>, (task, served): (TaskIndex, &[&TaskDemand])) -> bool {
    let total = |at: VariantIndex| draft.hosted.total(at);
    if served.is_empty() {
        let all = draft.situation.catalog.range(task);
        return all.map(|at| total(VariantIndex(at as u32))).sum::<u32>() <= 1;
    }
    served.iter().any(|demand| {
        let suiting = draft.situation.suiting(demand);
        suiting.map(|(at, _)| total(at)).sum::<u32>() <= 1
    })
}

/// Replicates, or loads the next variant of higher rate with room if replicating takes 1.5 × as
/// long to load or has no room.
fn scale_up(
    draft: &mut DecisionDraft<'_>,
    (task, served): (TaskIndex, &[&TaskDemand]),
    index: VariantIndex,
    up: u32,
) {
    let replicated = loading_millis(draft.situation.catalog.variant(index), up);
    let upgrade = upgrade(draft, (task, served), index, up);
    let chosen = upgrade.filter(|(.., loading)| {
        replicated > UPGRADE_FACTOR * loading || !draft.has_room(index, up)
    });
    let (replicates, beaten) = (ScalingAction::Replicate(index, up), ActionOutcome::Beaten);
    if let Some((other, count, loading)) = chosen {
        draft
            .decision
            .consider(task, replicates, replicated, beaten);
        draft.place(other, count);
        let (action, taken) = (ScalingAction::Switch(other, count), ActionOutcome::Taken);
        return draft.decision.consider(task, action, loading, taken);
    }
    let outcome = match draft.place(index, up) == up {
        true => ActionOutcome::Taken,
        false => ActionOutcome::NoRoom,
    };
    draft
        .decision
        .consider(task, replicates, replicated, outcome);
    if let Some((other, count, loading)) = upgrade {
        let action = ScalingAction::Switch(other, count);
        draft.decision.consider(task, action, loading, beaten);
    }
}

/// Returns the next variant of higher rate that has room and suits the same demands, with the
/// number of its instances in place of `up` and their loading time.
fn upgrade(
    draft: &DecisionDraft<'_>,
    (task, served): (TaskIndex, &[&TaskDemand]),
    index: VariantIndex,
    up: u32,
) -> Option<(VariantIndex, u32, f64)> {
    let catalog = draft.situation.catalog;
    let variant = catalog.variant(index);
    let needed = f64::from(up) * variant.saturation().get();
    let all = catalog.range(task).map(|at| VariantIndex(at as u32));
    let all = all.map(|at| (at, catalog.variant(at)));
    let mut faster: Vec<(VariantIndex, &Variant)> = all
        .filter(|(_, other)| other.saturation() > variant.saturation())
        .filter(|(_, other)| served.iter().all(|demand| demand.suits(other)))
        .collect();
    faster.sort_by(|a, b| a.1.saturation().get().total_cmp(&b.1.saturation().get()));
    let mut upgrades = faster.into_iter().map(|(other, next)| {
        let count = (needed / next.saturation().get()).ceil().max(1.0) as u32;
        (other, count, loading_millis(next, count))
    });
    upgrades.find(|(other, count, _)| draft.has_room(*other, *count))
}
