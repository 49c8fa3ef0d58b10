//! The delivery of answers to clients: for complete requests, failed requests, and requests with
//! flawed rows.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::serving::answer::Answer;
use crate::serving::events::EngineEvent;
use crate::serving::flaws::{Detail, FlawKind, Flaws};
use divisi_model::ensemble::Ensemble;
use divisi_model::metrics::Reading;
use divisi_model::pipeline::StepRole;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::graph::PipelineRows;
use super::promise::{Failure, NotFiniteMember, Outcome, RulePanicked, caught};
use super::request::{Accounting, LiveBatch, LiveFinished, LiveOwed, RequestData};
use super::state::EngineState;

impl EngineState {
    /// Answers requests that are complete.
    pub(super) fn deliver(&self, mut finished: LiveOwed) {
        self.sweep();
        let is_doubtful = |done: &LiveFinished| {
            done.unmet || done.payload.is_flawed() || done.payload.must_be_boxes()
        };
        if finished.iter().any(is_doubtful) {
            finished = self.without_spoilt(finished);
        }
        if finished.is_empty() {
            return;
        }
        // Computed before counting, because a rule may panic at the last moment.
        let outcomes: Vec<_> = finished.iter().map(outcome).collect();
        let answered = finished.iter().zip(&outcomes);
        self.count_answered(answered.filter_map(|(done, outcome)| outcome.is_ok().then_some(done)));
        let mut outcomes = outcomes.into_iter();
        finished.pay(|done| {
            let outcome = outcomes.next().unwrap_or(Err(Failure::Dropped));
            let is_answered = outcome.is_ok();
            if let Err(why) = &outcome {
                self.note_failed(&done, why);
            }
            done.payload.answer(outcome);
            if is_answered {
                weigh(&done.payload);
            }
        });
    }

    /// Counts requests that are being answered.
    fn count_answered<'a>(&self, finished: impl Iterator<Item = &'a LiveFinished>) {
        let mut finished = finished.peekable();
        if finished.peek().is_none() {
            return;
        }
        let now = self.now();
        {
            let mut latency = self.counters.latency.lock();
            let mut tally = self.counters.tally.lock();
            let lately = tally.slot(now);
            let mut answered = self.counters.answered.lock();
            let mut checkpoints = self.counters.checkpoints.lock();
            for done in finished {
                done.payload
                    .served
                    .answered(now, done.latency, done.samples);
                checkpoints.answered(now, done.latency, done.samples);
                latency.record(done.latency);
                self.note_slow(now, done);
                // Without a ledger there is no objective: no client knows the engine yet.
                let ledger = self.ledger.get();
                let is_apart = done.payload.accounting == Accounting::Apart;
                if let Some(ledger) = ledger.filter(|_| !is_apart) {
                    ledger.answered(done.latency);
                }
                lately.record(done.latency.as_micros() as u64, 1);
                lately.record_split(done.split, 1);
                answered.0.add(now, 1.0);
                answered.1.add(now, done.samples as f64);
            }
        }
        self.keep_reading(now);
    }

    /// Counts and reports a request that failed although its members had run.
    fn note_failed(&self, done: &LiveFinished, why: &Failure) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
        self.keep_failed(done, why);
        self.record_failure(&done.payload, why);
        let reason = why.to_string();
        self.emit(EngineEvent::RequestFailed { reason });
    }

    /// Frees the device memory of finished requests.
    fn sweep(&self) {
        for driver in &self.drivers {
            driver.sweep(self);
        }
    }

    /// Returns the counters since the start.
    pub(super) fn reading(&self) -> Reading {
        let (labelled, right) = self.counters.graded.so_far();
        Reading {
            at: self.now(),
            failed: self.counters.failed.load(Ordering::Relaxed),
            refused: self.core().door().refused(),
            labelled,
            right,
            ..self.counters.checkpoints.lock().answers()
        }
    }

    fn keep_reading(&self, now: Duration) {
        if self.counters.checkpoints.lock().is_due(now) {
            let reading = self.reading();
            self.counters.checkpoints.lock().keep(reading);
        }
    }

    /// Answers requests that failed.
    pub(super) fn deliver_failures(&self, failed: LiveOwed, failure: &Failure) {
        self.sweep();
        let counter = match failure {
            Failure::Cancelled => &self.counters.cancelled,
            _ => &self.counters.failed,
        };
        failed.pay(|done| {
            counter.fetch_add(1, Ordering::Relaxed);
            self.keep_failed(&done, failure);
            self.record_failure(&done.payload, failure);
            done.payload.answer(Err(failure.clone()));
        });
    }

    /// Fails the requests of a batch whose answers cannot be folded.
    pub(super) fn spoil(&self, batch: &LiveBatch, why: &RulePanicked) {
        let failure = Failure::RulePanicked(why.to_string());
        for placed in &batch.ranges {
            placed.payload.note_fault(&failure);
        }
        let (failed, mut woken) = {
            let (mut core, now) = (self.core(), self.now());
            (core.spoiled(now, batch), core.wake(now))
        };
        self.emit(EngineEvent::BatchNotFolded {
            worker: batch.worker,
            reason: why.to_string(),
        });
        self.deliver_failures(failed, &failure);
        woken.push(batch.device);
        self.poke(&woken);
        self.run_host_steps();
    }

    /// Returns a lost device and the reason that its driver reported.
    fn loss(&self) -> Option<String> {
        let mut drivers = DeviceIndex::enumerate(&self.drivers);
        let (device, why) = drivers.find_map(|(d, driver)| Some((d, driver.loss()?)))?;
        Some(format!("`{}`: {why}", self.devices.get(device).name))
    }

    /// Closes the pipelines of members without workers, and fails their waiting requests.
    pub(super) fn close_if_orphaned(&self) {
        while self.close_one_orphaned() {}
    }

    fn close_one_orphaned(&self) -> bool {
        let (member, reason, failed) = {
            let mut core = self.core();
            let Some(member) = core.new_orphan() else {
                return false;
            };
            let name = &self.ensemble.members[member].name;
            let why = self
                .loss()
                .map(|why| format!(": {why}"))
                .unwrap_or_default();
            let reason = format!("member `{name}` has no worker left{why}");
            let failed = core.close_orphaned(self.now(), member, &reason);
            (name.clone(), reason, failed)
        };
        self.emit(EngineEvent::MemberUnserved {
            member,
            reason: reason.clone(),
        });
        self.deliver_failures(failed, &Failure::Worker(reason));
        true
    }

    /// Counts and reports the flaws of complete requests, and fails those that are spoilt. Returns
    /// the others.
    fn without_spoilt(&self, finished: LiveOwed) -> LiveOwed {
        for done in finished.iter().filter(|done| done.payload.is_flawed()) {
            for (member, found) in flaws(&done.payload) {
                self.tell_flaws(done.payload.served.column_of(member), found);
            }
        }
        let failure = |done: &LiveFinished| match done.unmet {
            true => Some(unmet(&done.payload)),
            false => self
                .spoilt(&done.payload)
                .or_else(|| no_boxes(&done.payload)),
        };
        let (spoilt, sound) = finished.split(|done| failure(done).is_some());
        spoilt.pay(|done| {
            if let Some(failure) = failure(&done) {
                self.counters.failed.fetch_add(1, Ordering::Relaxed);
                self.keep_failed(&done, &failure);
                self.record_failure(&done.payload, &failure);
                done.payload.answer(Err(failure));
            }
        });
        sound
    }

    /// Returns the reason why a complete request must fail, or `None`.
    pub(super) fn spoilt(&self, data: &RequestData) -> Option<Failure> {
        // In a pipeline other steps compute with the rows, so none can be marked.
        let is_marked = data.detail != Detail::Scores && data.graph.is_none();
        if !data.is_flawed() || is_marked {
            return None;
        }
        if let Some((step, output)) = data.graph.as_ref().and_then(PipelineRows::inexact) {
            let (step, output) = (step.to_owned(), output.to_owned());
            return Some(Failure::Inexact { step, output });
        }
        if data.served.non_finite {
            return None;
        }
        match &data.graph {
            // A quorum does without the other members.
            Some(graph) => {
                let spoilt = graph.spoilt_by();
                not_finite(data, |member| spoilt.contains(&member))
            }
            None => not_finite(data, |member| data.rule.counts(member)),
        }
    }

    /// Counts the flaws of a member, and reports them from time to time.
    fn tell_flaws(&self, member: MemberIndex, found: Flaws) {
        if !self.counters.flaws.add(member, found) {
            return;
        }
        self.emit(EngineEvent::RowsFlawed {
            member: self.ensemble.members[member].name.clone(),
            flaws: self.counters.flaws.for_member(member),
        });
    }
}

/// Returns the failure of a request if members that match `counts` answered NaN or infinities.
fn not_finite(data: &RequestData, counts: impl Fn(MemberIndex) -> bool) -> Option<Failure> {
    let of_members = flaws(data);
    let counted = of_members.iter().filter(|(member, _)| counts(**member));
    let spoilt = counted.filter(|(_, found)| found.not_finite > 0);
    let ensemble = &data.served.ensemble;
    let named: Vec<NotFiniteMember> = spoilt
        .map(|(member, found)| NotFiniteMember {
            name: ensemble.members[*member].name.clone(),
            steps: other_steps(ensemble, *member),
            samples: found.not_finite as usize,
        })
        .collect();
    (!named.is_empty()).then_some(Failure::NotFinite(named))
}

/// Returns the failure of a request with too many failed steps for a quorum.
fn unmet(data: &RequestData) -> Failure {
    let fault = data.fault().cloned();
    let fault = fault.or_else(|| not_finite(data, |_| true));
    fault.unwrap_or(Failure::Dropped)
}

/// Returns the names of a member's steps. Empty if its only step has the member's name.
fn other_steps(ensemble: &Ensemble, member: MemberIndex) -> Vec<String> {
    let pipeline = ensemble.pipeline.iter();
    let steps = pipeline.flat_map(|pipeline| pipeline.steps());
    let own = steps.filter(|step| matches!(step.role, StepRole::Model(of) if of == member));
    let names: Vec<String> = own.map(|step| step.name.clone()).collect();
    match names == [ensemble.members[member].name.as_str()] {
        true => Vec::new(),
        false => names,
    }
}

/// Returns the outcome of a complete request.
fn outcome(done: &LiveFinished) -> Outcome {
    let data = &done.payload;
    let answer = caught(|| match &data.graph {
        Some(graph) => graph.answer(data.samples(), &done.late),
        None => {
            let width = data.served.ensemble.answer_width();
            Answer::finish(data.rule.as_ref(), &data.parts, width)
        }
    });
    let answer =
        answer.map_err(|panic| Failure::RulePanicked(RulePanicked::from(panic).to_string()))?;
    let runs = data.runs.as_ref().map(|log| log.take());
    Ok(answer.timed(done.split).made_by(runs.unwrap_or_default()))
}

/// Weighs the members by an answered request, unless the request was combined by another rule than
/// the current one.
fn weigh(data: &RequestData) {
    if let Some(member_sample) = &data.member_sample {
        data.served.sampler.weigh(member_sample, &data.rule);
    }
}

/// Returns the reason why a complete request of a pipeline that answers boxes must fail, or `None`.
fn no_boxes(data: &RequestData) -> Option<Failure> {
    let (step, reason) = data.box_fault()?;
    Some(Failure::Step { step, reason })
}

/// Returns the flaws of a request's rows, by member.
fn flaws(data: &RequestData) -> BTreeMap<MemberIndex, Flaws> {
    let mut of_members: BTreeMap<MemberIndex, Flaws> = BTreeMap::new();
    for flaw in data.parts.iter().flat_map(|part| part.flaws()) {
        let kind: FlawKind = flaw.kind;
        of_members.entry(flaw.member).or_default().count(kind);
    }
    of_members
}
