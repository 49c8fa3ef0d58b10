//! The change of accuracy in a case, from measurements only.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::search::{Cache, MeasuredAccuracy, age_in_words};
use divisi_model::ensemble::{Ensemble, Measure, MemberPrecision};
use divisi_model::wall_clock::unix_seconds;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use crate::{AccuracyOutlook, Setup};

use super::super::engine_session::EngineSession;
use super::case::{Case, CaseKind};
use super::figures::Figures;
use super::state::Facts;

/// The standard errors of an interval that contains nine of ten cases.
const NINE_OF_TEN: f64 = 1.645;

impl EngineSession {
    /// Returns the change of the ensemble's accuracy in a case.
    pub(super) fn accuracy(
        &self,
        case: &Case,
        figures: &Figures,
        facts: &Facts,
    ) -> AccuracyOutlook {
        let Ok(setup) = &case.setup else {
            return AccuracyOutlook::Unknown("requests are not served".into());
        };
        let running = &facts.running;
        let known = match case.kind {
            CaseKind::Without(member) => Some(self.without_vote(member, running)),
            _ if setup.combination != running.combination => Some(self.other_votes(setup, running)),
            _ => None,
        };
        let other = || self.other_precision(setup, running, figures);
        known.unwrap_or_else(|| other().unwrap_or(AccuracyOutlook::Same))
    }

    /// Returns the change if one member's vote is turned on or off.
    fn other_votes(&self, setup: &Setup, running: &Setup) -> AccuracyOutlook {
        let both = setup.combination.voting.iter();
        let both = MemberIndex::enumerate(both.zip(&running.combination.voting));
        let changed: Vec<MemberIndex> = both
            .filter(|(_, (new, old))| new != old)
            .map(|(member, _)| member)
            .collect();
        let same_rule = setup.combination.rule == running.combination.rule
            && setup.combination.weights == running.combination.weights
            && setup.combination.temperatures == running.combination.temperatures;
        match (changed.as_slice(), same_rule) {
            ([member], true) => self.inverted_vote(*member),
            _ => AccuracyOutlook::Unknown(format!(
                "not measured for this combination; `divisi accuracy {}` measures each rule",
                self.name
            )),
        }
    }

    fn without_vote(&self, member: MemberIndex, running: &Setup) -> AccuracyOutlook {
        match running.combination.voting.get(member.get()) {
            Some(true) => self.inverted_vote(member),
            _ => AccuracyOutlook::Same,
        }
    }

    /// Returns the measured change if a member's vote were inverted.
    fn inverted_vote(&self, member: MemberIndex) -> AccuracyOutlook {
        let telemetry = self.engine.telemetry();
        if let Some(why) = self.meaningless() {
            return AccuracyOutlook::Unknown(why);
        }
        let figures = telemetry.member_figures();
        let Some(figures) = figures.get(member.get()).copied().flatten() else {
            let text = "too few answers compared; serve more requests".into();
            return AccuracyOutlook::Unknown(text);
        };
        let source = format!("{} recent answers", figures.weighed);
        match (figures.quality_change, figures.quality, figures.flips()) {
            (Some(change), Some(quality), flips) => AccuracyOutlook::Measured {
                measure: quality.measure,
                change,
                within: flips
                    .filter(|_| quality.measure == Measure::Accuracy)
                    .map(|flips| {
                        NINE_OF_TEN * (flips / figures.weighed.clamp(1, KEPT) as f64).sqrt()
                    }),
                source: format!("{source} with labels"),
            },
            (_, _, Some(share)) => AccuracyOutlook::AnswersChange { share, source },
            _ => AccuracyOutlook::Unknown(format!(
                "no labels are known; `divisi accuracy {}` measures it with labelled samples",
                self.name
            )),
        }
    }

    /// Returns the outlook if a member would compute in another precision, or `None` if all devices
    /// compute in the same one.
    fn other_precision(
        &self,
        setup: &Setup,
        running: &Setup,
        figures: &Figures,
    ) -> Option<AccuracyOutlook> {
        let precision = self.first_change(setup, running)?;
        if let Some(why) = self.meaningless() {
            return Some(AccuracyOutlook::Unknown(why));
        }
        let both = [running, setup].map(|setup| measured(setup, &figures.accuracies));
        if let [Some(before), Some(after)] = both {
            return Some(change(&before, &after));
        }
        let name = precision.to_text();
        Some(AccuracyOutlook::Unknown(format!(
            "not measured; `divisi accuracy {} --precisions {name}` measures it",
            self.name
        )))
    }

    /// Returns where to look for measured accuracies, or `None` if no precision changes.
    pub(super) fn accuracies_for(
        &self,
        setup: &Setup,
        running: &Setup,
    ) -> Option<(Cache, Arc<Ensemble>)> {
        self.first_change(setup, running)?;
        // The manifest's combination was measured.
        let is_own = running.combination == self.ensemble.combination();
        let is_measurable = is_own && self.meaningless().is_none();
        let cache = self.searches.cache().filter(|_| is_measurable)?;
        Some((cache, Arc::clone(&self.ensemble)))
    }

    /// Returns the first precision in which a member would compute and does not now.
    fn first_change(&self, setup: &Setup, running: &Setup) -> Option<MemberPrecision> {
        let names = |setup: &Setup, member: MemberIndex| {
            let own = setup
                .matrix
                .workers()
                .filter(|(cell, _)| cell.member == member);
            let own = own.map(|(cell, _)| self.precision_on(setup, member, cell.device));
            let mut own: Vec<Option<&'static str>> = own.collect();
            own.sort_unstable();
            own.dedup();
            own
        };
        let mut members = MemberIndex::all(setup.precisions.len());
        let changed = members.find(|member| names(setup, *member) != names(running, *member))?;
        setup.precisions.get(changed.get()).copied()
    }

    fn precision_on(
        &self,
        setup: &Setup,
        member: MemberIndex,
        device: DeviceIndex,
    ) -> Option<&'static str> {
        let of_all = self.engine.ensemble().precision;
        let precision = setup.precisions.get(member.get())?;
        precision.on_device(&self.engine.devices().get(device).kind, of_all)
    }

    /// Returns why answers mean nothing, or `None` if they do.
    fn meaningless(&self) -> Option<String> {
        if self.engine.devices().is_simulated() {
            return Some("simulated devices return constants".into());
        }
        let is_synthetic = self.ensemble.is_synthetic();
        is_synthetic.then(|| "the weights are synthetic".into())
    }
}

/// The number of recent answers behind figures of members: older ones count less.
const KEPT: u64 = 2000;

/// Returns the measured accuracy of a setup with all members in one precision.
fn measured(setup: &Setup, known: &[MeasuredAccuracy]) -> Option<MeasuredAccuracy> {
    let (first, others) = setup.precisions.split_first()?;
    let is_uniform = others
        .iter()
        .all(|other| other.to_text() == first.to_text());
    let mut known = known.iter().filter(|_| is_uniform);
    known
        .find(|one| one.precision.to_text() == first.to_text())
        .copied()
}

/// Returns the change between two accuracies on the same samples.
fn change(before: &MeasuredAccuracy, after: &MeasuredAccuracy) -> AccuracyOutlook {
    let samples = after.samples as f64;
    // At most the error of independent samples: the same samples vary less.
    let error = |one: &MeasuredAccuracy| one.value * (1.0 - one.value) / samples;
    let within = NINE_OF_TEN * (error(before) + error(after)).max(0.0).sqrt();
    let age = Duration::from_secs(unix_seconds().saturating_sub(after.at));
    let age = age_in_words(age).map_or("just now".into(), |age| format!("{age} ago"));
    AccuracyOutlook::Measured {
        measure: after.measure,
        change: after.value - before.value,
        within: (after.measure == Measure::Accuracy).then_some(within),
        source: format!("{} labelled samples, measured {age}", after.samples),
    }
}
