//! Watches a policy's change and rolls it back if it makes queries miss their goals.
//!
//! Only the queries that the change can affect count, in the seconds in which other programs leave
//! as much of the host as before the change.

use std::collections::VecDeque;
use std::time::Duration;

use divisi_engine::changes::{Baseline, Judge, JudgeVerdict, Terms};
use divisi_model::metrics::Reading;
use divisi_modelless::demands::QueryStream;
use divisi_modelless::placement::HostedInstances;
use divisi_modelless::variants::VariantCatalog;

use super::affected::{affected, is_needed, only_in};
use super::aftermath::Aftermath;
use super::barred::BarredChanges;
use super::seconds::{QuerySecond, StreamSecond, missed_share, together};

/// The number of seconds before a change to compare with, and after it to watch.
const SECONDS: usize = 10;
/// The additional share of queries that may miss their goals after a change.
const MORE_MISSED: f64 = 0.01;
/// The growth of the load up to which misses are attributed to the change.
const MORE_ASKED: f64 = 1.1;
/// The additional share of a core for other programs up to which misses are attributed to the
/// change: the share that the host's daemons take.
const MORE_OTHERS: f64 = 0.1;
/// The time after which a change stays if the host was disturbed too long for a verdict.
const LONGEST: Duration = Duration::from_secs(120);

/// A change that did worse than the previous instances.
#[derive(Clone, Debug)]
pub struct FailedChange {
    /// The instances to return to: those before the change, and those of the change that alone meet
    /// the goals of queries.
    pub before: HostedInstances,
    /// The missed goals, in words.
    pub why: String,
}

/// Judges changes from the outcomes of each second.
#[derive(Clone, Debug, Default)]
pub struct ChangeProbation {
    seconds: VecDeque<QuerySecond>,
    trial: Option<ChangeTrial>,
    aftermath: Option<Aftermath>,
    barred: BarredChanges,
}

/// A watched change, including later changes.
#[derive(Clone, Debug)]
struct ChangeTrial {
    began: Duration,
    before: HostedInstances,
    after: HostedInstances,
    /// The undisturbed seconds before the change.
    baseline: Vec<QuerySecond>,
    /// The streams that count.
    judged: Vec<QueryStream>,
    judge: Judge,
    /// The comparable seconds since the change.
    seen: Vec<QuerySecond>,
    /// The time of other seconds.
    skipped: Duration,
    last: Duration,
    /// Whether the next second is that of the change, or follows a disturbance: queries that waited
    /// meanwhile are not attributed to the change.
    is_settling: bool,
}

impl ChangeProbation {
    /// Starts to watch a change from `before` to `after`. A later change is judged together with
    /// it. A change is not watched if it affects too few queries before it.
    pub fn begin(
        &mut self,
        now: Duration,
        catalog: &VariantCatalog,
        (before, after): (HostedInstances, &HostedInstances),
    ) {
        self.aftermath = None;
        let trial = match self.trial.take() {
            Some(trial) => trial.followed_by(catalog, after),
            None => {
                let baseline = undisturbed(&self.seconds);
                ChangeTrial::new(now, catalog, (before, after), baseline)
            }
        };
        self.trial = trial;
    }

    /// Records the outcomes of the last second, in which these instances were hosted. Returns the
    /// change to roll back if it did worse; it is then barred, except for variants that alone meet
    /// the goals of queries.
    pub fn second(
        &mut self,
        now: Duration,
        (catalog, hosted): (&VariantCatalog, &HostedInstances),
        second: QuerySecond,
    ) -> Option<FailedChange> {
        self.weigh_evidence(catalog, hosted, &second);
        let Some(trial) = &mut self.trial else {
            self.remember(second);
            return None;
        };
        if trial.skips(now, &second) {
            // The change stays if the host does not allow a verdict.
            self.trial.take_if(|trial| now > trial.began + LONGEST);
            return None;
        }
        let verdict = trial.judged(now, &second);
        let streams = second.streams.clone();
        self.remember(second);
        match verdict {
            JudgeVerdict::Watching => None,
            JudgeVerdict::Failed(_) => self.fail(now, catalog, &streams),
            JudgeVerdict::Passed(_) => {
                self.trial = None;
                None
            }
        }
    }

    /// Lifts bars against the evidence of a second: a barred variant alone meets the goals of
    /// queries, or a rollback did not help.
    fn weigh_evidence(
        &mut self,
        catalog: &VariantCatalog,
        hosted: &HostedInstances,
        second: &QuerySecond,
    ) {
        let streams = &second.streams;
        let is_needed = |variant| is_needed(catalog, hosted, streams, variant);
        self.barred.lift_needed(is_needed);
        let Some(aftermath) = &mut self.aftermath else {
            return;
        };
        if let Some(helped) = aftermath.second(second) {
            self.aftermath = None;
            if !helped {
                self.barred.lift_last();
            }
        }
    }

    /// Records that a failed change was rolled back.
    pub fn rolled_back(&mut self) {
        if let Some(aftermath) = &mut self.aftermath {
            aftermath.begin();
        }
    }

    /// Stops watching: the running setup was changed otherwise.
    pub fn end(&mut self) {
        self.trial = None;
        self.aftermath = None;
        self.seconds.clear();
    }

    /// Forgets the watched change and the rolled back ones: the policy has changed.
    pub fn forget(&mut self) {
        self.trial = None;
        self.aftermath = None;
        self.barred = BarredChanges::default();
    }

    /// Returns the recently rolled back changes.
    pub fn barred(&self) -> &BarredChanges {
        &self.barred
    }

    fn fail(
        &mut self,
        now: Duration,
        catalog: &VariantCatalog,
        streams: &[StreamSecond],
    ) -> Option<FailedChange> {
        let trial = self.trial.take()?;
        self.seconds.clear();
        let target = trial.fallback(catalog, streams)?;
        self.barred.bar(now, &target, &trial.after);
        let (seen, before) = (trial.seen(), trial.baseline());
        let (missed, missed_before) = (missed_share(&seen), missed_share(&before));
        self.aftermath = Some(Aftermath::new(
            trial.judged.clone(),
            (missed_before, missed),
            trial.most_others(),
        ));
        let (missed, before) = (100.0 * missed, 100.0 * missed_before);
        Some(FailedChange {
            before: target,
            why: format!("{missed:.1} % missed a goal, {before:.1} % before"),
        })
    }

    fn remember(&mut self, second: QuerySecond) {
        if self.seconds.len() >= SECONDS {
            self.seconds.pop_front();
        }
        self.seconds.push_back(second);
    }
}

/// Returns the seconds in which other programs took hardly more than in the quietest one.
fn undisturbed(seconds: &VecDeque<QuerySecond>) -> Vec<QuerySecond> {
    let least = seconds.iter().map(|second| second.others);
    let most = MORE_OTHERS + least.fold(f64::INFINITY, f64::min);
    let quiet = seconds.iter().filter(|second| second.others <= most);
    quiet.cloned().collect()
}

impl ChangeTrial {
    /// Returns a trial, or `None` if the change affects too few queries of the baseline.
    fn new(
        now: Duration,
        catalog: &VariantCatalog,
        (before, after): (HostedInstances, &HostedInstances),
        baseline: Vec<QuerySecond>,
    ) -> Option<Self> {
        let judged = affected(catalog, (&before, after), &baseline);
        let pieces = readings(&baseline, &judged);
        let whole = together(&pieces);
        if whole.answered + whole.failed < Judge::LEAST {
            return None;
        }
        let terms = Terms {
            lasts: Duration::from_secs(SECONDS as u64),
            p99: None,
            failures: Some(MORE_MISSED),
            accuracy: None,
        };
        Some(ChangeTrial {
            judge: Judge::new(terms, &Baseline { whole, pieces }, now),
            began: now,
            after: after.clone(),
            seen: Vec::new(),
            skipped: Duration::ZERO,
            last: now,
            is_settling: true,
            before,
            baseline,
            judged,
        })
    }

    /// Returns the trial of this change together with a later one. The seconds so far still count.
    fn followed_by(self, catalog: &VariantCatalog, after: &HostedInstances) -> Option<Self> {
        let trial = ChangeTrial::new(self.began, catalog, (self.before, after), self.baseline)?;
        Some(ChangeTrial {
            seen: self.seen,
            skipped: self.skipped,
            last: self.last,
            ..trial
        })
    }

    /// Returns the share of the busiest core that other programs may take in comparable seconds.
    fn most_others(&self) -> f64 {
        let shares = self.baseline.iter().map(|second| second.others);
        MORE_OTHERS + shares.fold(0.0, f64::max)
    }

    fn baseline(&self) -> Reading {
        together(&readings(&self.baseline, &self.judged))
    }

    fn seen(&self) -> Reading {
        together(&readings(&self.seen, &self.judged))
    }

    /// Returns whether a second does not count: that of the change, those on a disturbed host, and
    /// the next one, in which queries that waited meanwhile end.
    fn skips(&mut self, now: Duration, second: &QuerySecond) -> bool {
        let is_disturbed = second.others > self.most_others();
        let is_settling = std::mem::replace(&mut self.is_settling, is_disturbed);
        let skips = is_disturbed || is_settling;
        if skips {
            self.skipped += now.saturating_sub(self.last);
            self.last = now;
        }
        skips
    }

    /// Counts a second. Misses under a higher load are not attributed to the change, and a single
    /// bad second is not enough.
    fn judged(&mut self, now: Duration, second: &QuerySecond) -> JudgeVerdict {
        self.last = now;
        self.seen.push(second.clone());
        let asked = self.baseline.iter().map(QuerySecond::rate);
        if second.rate() > MORE_ASKED * asked.fold(0.0, f64::max) {
            return JudgeVerdict::Passed(None);
        }
        let counted = now.saturating_sub(self.skipped);
        match self.judge.step(counted, &self.seen(), 0) {
            JudgeVerdict::Failed(_) if self.worse_seconds() < 2 => JudgeVerdict::Watching,
            verdict => verdict,
        }
    }

    /// Returns the number of seconds with too many misses.
    fn worse_seconds(&self) -> usize {
        let most = missed_share(&self.baseline()) + MORE_MISSED;
        let each = readings(&self.seen, &self.judged).into_iter();
        each.filter(|second| missed_share(second) > most).count()
    }

    /// Returns the instances before the change together with those of the change that alone meet
    /// the goals of queries. Returns `None` if these are all instances of the change, or if they
    /// have no room next to the previous ones.
    fn fallback(
        &self,
        catalog: &VariantCatalog,
        streams: &[StreamSecond],
    ) -> Option<HostedInstances> {
        let mut target = self.before.clone();
        for (device, variant) in only_in(&self.after, &self.before) {
            if is_needed(catalog, &self.before, streams, variant) {
                let add = |_| target.add(catalog, variant, device);
                let count = self.after.count_on(variant, device);
                (0..count).try_for_each(add).ok()?;
            }
        }
        let places = |one, other| !only_in(one, other).is_empty();
        let is_other = places(&target, &self.after) || places(&self.after, &target);
        is_other.then_some(target)
    }
}

fn readings(seconds: &[QuerySecond], judged: &[QueryStream]) -> Vec<Reading> {
    seconds
        .iter()
        .map(|second| second.reading(judged))
        .collect()
}
