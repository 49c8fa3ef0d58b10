//! The evidence about a policy's changes: the machine of changes judges it, the policy rolls back.
//!
//! Only the queries that the change can affect count, in the seconds in which other programs leave
//! as much of the host as before the change.

use std::collections::VecDeque;
use std::time::Duration;

use divisi_engine::changes::{GoalEvidence, JudgeVerdict, missed_share, together};
use divisi_model::metrics::Reading;
use divisi_modelless::demands::QueryStream;
use divisi_modelless::placement::HostedInstances;
use divisi_modelless::variants::VariantCatalog;

use super::affected::{affected, is_needed, only_in};
use super::aftermath::Aftermath;
use super::barred::BarredChanges;
use super::seconds::{QuerySecond, StreamSecond};

/// The number of seconds before a change to compare with.
const SECONDS: usize = 10;
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
    /// The reason of the verdict.
    pub why: String,
}

/// A change of the hosted instances.
#[derive(Clone, Copy, Debug)]
pub struct InstancesChange<'a> {
    /// The instances before it.
    pub before: &'a HostedInstances,
    /// The instances after it.
    pub after: &'a HostedInstances,
}

/// The hosted instances of a catalog's variants.
#[derive(Clone, Copy, Debug)]
pub struct HostedVariants<'a> {
    /// The variants.
    pub catalog: &'a VariantCatalog,
    /// Their instances.
    pub hosted: &'a HostedInstances,
}

/// Gathers the evidence about changes from the outcomes of each second.
#[derive(Clone, Debug, Default)]
pub struct ChangeEvidence {
    seconds: VecDeque<QuerySecond>,
    trial: Option<ChangeTrial>,
    aftermath: Option<Aftermath>,
    barred: BarredChanges,
}

/// A change on probation, including later changes.
#[derive(Clone, Debug)]
pub struct ChangeTrial {
    began: Duration,
    before: HostedInstances,
    after: HostedInstances,
    /// The undisturbed seconds before the change.
    baseline: Vec<QuerySecond>,
    /// The streams that count.
    judged: Vec<QueryStream>,
    /// The comparable seconds since the change.
    seen: Vec<QuerySecond>,
    /// The time of other seconds.
    skipped: Duration,
    last: Duration,
    /// Whether the next second is that of the change, or follows a disturbance: queries that waited
    /// meanwhile are not attributed to the change.
    is_settling: bool,
    /// The instances to return to, or `None` if queries need all instances of the change.
    fallback: Option<HostedInstances>,
}

impl ChangeEvidence {
    /// Returns the trial of a change that is about to be made. A later change is judged together
    /// with the change on probation. Returns `None` if the change affects too few queries.
    pub fn trial(
        &self,
        catalog: &VariantCatalog,
        change: InstancesChange<'_>,
    ) -> Option<ChangeTrial> {
        match &self.trial {
            Some(trial) => trial.followed_by(catalog, change.after),
            None => ChangeTrial::new(catalog, change, undisturbed(&self.seconds)),
        }
    }

    /// Records that a change was made, with its trial if it is on probation.
    pub fn begin(&mut self, now: Duration, trial: Option<ChangeTrial>) {
        self.aftermath = None;
        let continues = self.trial.is_some();
        self.trial = trial.map(|trial| match continues {
            true => trial,
            false => trial.begun(now),
        });
    }

    /// Records the outcomes of the last second. Returns the evidence so far if a change is on
    /// probation and the second counts.
    pub fn second(
        &mut self,
        now: Duration,
        served: HostedVariants<'_>,
        second: QuerySecond,
    ) -> Option<GoalEvidence> {
        self.weigh(served, &second);
        let Some(trial) = &mut self.trial else {
            self.remember(second);
            return None;
        };
        if trial.skips(now, &second) {
            return trial.disturbed_for_long(now);
        }
        trial.count(now, served.catalog, &second);
        let evidence = trial.evidence();
        self.remember(second);
        Some(evidence)
    }

    /// Takes the verdict on the evidence, or `None` without a verdict. Returns
    /// the change to roll back if it did worse. It is then barred, except for variants that alone
    /// meet the goals of queries.
    pub fn judged(&mut self, now: Duration, verdict: Option<JudgeVerdict>) -> Option<FailedChange> {
        match verdict {
            Some(JudgeVerdict::Watching) => None,
            Some(JudgeVerdict::Failed(why)) => self.fail(now, why),
            Some(JudgeVerdict::Passed(_)) | None => {
                let trial = self.trial.take();
                if trial.is_some_and(|trial| trial.fallback.is_none()) {
                    // They are not the usual ones if the change did worse.
                    self.seconds.clear();
                }
                None
            }
        }
    }

    /// Returns whether a change is on probation.
    pub fn is_on_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// Ends the trial of a change that is no longer on probation: an operator keeps it.
    pub fn end_trial(&mut self) {
        self.trial = None;
    }

    /// Lifts bars against the evidence of a second: a barred variant alone meets the goals of
    /// queries, or a rollback did not help.
    fn weigh(&mut self, served: HostedVariants<'_>, second: &QuerySecond) {
        let HostedVariants { catalog, hosted } = served;
        let is_needed = |variant| is_needed(catalog, hosted, &second.streams, variant);
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

    /// Forgets the change on probation: the running setup was changed otherwise.
    pub fn end(&mut self) {
        self.trial = None;
        self.aftermath = None;
        self.seconds.clear();
    }

    /// Forgets the change on probation and the rolled back ones, for a reason such as another policy.
    /// Returns the evidence that ends the probation.
    pub fn forget(&mut self, why: &str) -> Option<GoalEvidence> {
        self.aftermath = None;
        self.barred = BarredChanges::default();
        self.trial.take().map(|trial| GoalEvidence {
            unclear: Some(why.to_owned()),
            ..trial.evidence()
        })
    }

    /// Returns the recently rolled back changes.
    pub fn barred(&self) -> &BarredChanges {
        &self.barred
    }

    fn fail(&mut self, now: Duration, why: String) -> Option<FailedChange> {
        let trial = self.trial.take()?;
        self.seconds.clear();
        let target = trial.fallback.clone()?;
        self.barred.bar(now, &target, &trial.after);
        self.aftermath = Some(trial.aftermath());
        Some(FailedChange {
            before: target,
            why,
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
    fn new(
        catalog: &VariantCatalog,
        change: InstancesChange<'_>,
        baseline: Vec<QuerySecond>,
    ) -> Option<Self> {
        let trial = ChangeTrial {
            began: Duration::ZERO,
            before: change.before.clone(),
            after: change.after.clone(),
            judged: affected(catalog, change, &baseline),
            seen: Vec::new(),
            skipped: Duration::ZERO,
            last: Duration::ZERO,
            is_settling: true,
            fallback: None,
            baseline,
        };
        trial.evidence().is_enough().then_some(trial)
    }

    /// Returns the trial of a change made at `now`.
    fn begun(self, now: Duration) -> Self {
        ChangeTrial {
            began: now,
            last: now,
            ..self
        }
    }

    /// Returns the trial of this change together with a later one. The seconds so far still count.
    fn followed_by(&self, catalog: &VariantCatalog, after: &HostedInstances) -> Option<Self> {
        let change = InstancesChange {
            before: &self.before,
            after,
        };
        let trial = ChangeTrial::new(catalog, change, self.baseline.clone())?;
        Some(ChangeTrial {
            began: self.began,
            seen: self.seen.clone(),
            skipped: self.skipped,
            last: self.last,
            ..trial
        })
    }

    /// Returns the evidence so far.
    pub fn evidence(&self) -> GoalEvidence {
        GoalEvidence {
            before: self.readings(&self.baseline),
            after: self.readings(&self.seen),
            counted: self.last.saturating_sub(self.began + self.skipped),
            unclear: self.has_more_load(),
            excuse: match self.fallback {
                Some(_) => None,
                None => Some("nothing of it can be rolled back".to_owned()),
            },
        }
    }

    /// Returns the remark of a change after which more queries came.
    fn has_more_load(&self) -> Option<String> {
        let before = self.baseline.iter().map(QuerySecond::rate);
        let most = MORE_ASKED * before.fold(0.0, f64::max);
        let last = self.seen.last().map_or(0.0, QuerySecond::rate);
        (last > most).then(|| "more queries came than before it".to_owned())
    }

    /// Returns the evidence of a change that stays because the host allowed no verdict for long.
    fn disturbed_for_long(&self, now: Duration) -> Option<GoalEvidence> {
        let unclear = Some("other programs disturbed the host".to_owned());
        (now > self.began + LONGEST).then(|| GoalEvidence {
            unclear,
            ..self.evidence()
        })
    }

    fn aftermath(&self) -> Aftermath {
        let share = |seconds| missed_share(&together(&self.readings(seconds)));
        let (before, after) = (share(&self.baseline), share(&self.seen));
        Aftermath::new(self.judged.clone(), before, after, self.most_others())
    }

    /// Returns the share of the busiest core that other programs may take in comparable seconds.
    fn most_others(&self) -> f64 {
        let shares = self.baseline.iter().map(|second| second.others);
        MORE_OTHERS + shares.fold(0.0, f64::max)
    }

    fn readings(&self, seconds: &[QuerySecond]) -> Vec<Reading> {
        let each = seconds.iter().map(|second| second.reading(&self.judged));
        each.collect()
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

    fn count(&mut self, now: Duration, catalog: &VariantCatalog, second: &QuerySecond) {
        self.last = now;
        self.seen.push(second.clone());
        self.fallback = self.fallback_of(catalog, &second.streams);
    }

    /// Returns the instances before the change together with those of the change that alone meet
    /// the goals of queries. Returns `None` if these are all instances of the change, or if they
    /// have no room next to the previous ones.
    fn fallback_of(
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
