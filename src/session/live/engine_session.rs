//! A session with one engine.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use divisi_engine::changes::{ChangeOrigin, ChangeStatus, Changes};
use divisi_engine::load::{LoadPattern, LoadSamples};
use divisi_engine::search::{Cache, CapacityWatch};
use divisi_engine::serving::{Engine, LogTarget, PredictorFactory, UntracedLine};
use divisi_model::catalogue::NamedMix;
use divisi_model::ensemble::{Ensemble, PrecisionRemark};
use divisi_model::metrics::Growth;
use divisi_runtime::device::MemberIndex;

use crate::{
    Command, Counters, EditPreview, FailureWatch, LogLevel, MarkKind, Proposal, Refusal,
    SearchOrder, SessionRefusal, Setup, Snapshot, Target, WhatIf,
};

use super::devices::Readings;
use super::forecast::Forecast;
use super::load::{self, Load, SharedLoad};
use super::log::Log;
use super::models::serves;
use super::searches::Searches;
use super::view;
use super::what_if::state::WhatIfs;

/// Observes and controls an [`Engine`]. Dropping it ends searches and load; the engine drains.
pub(super) struct EngineSession {
    /// The name of the served ensemble or repository, which stays the same for later engines.
    pub(super) name: Arc<str>,
    pub(super) engine: Arc<Engine>,
    pub(super) ensemble: Arc<Ensemble>,
    pub(super) log: Arc<Log>,
    pub(super) changes: Arc<Changes>,
    pub(super) searches: Searches,
    pub(super) forecast: Forecast,
    pub(super) capacity: CapacityWatch,
    pub(super) what_ifs: WhatIfs,
    pub(super) load: Arc<SharedLoad>,
    /// Pauses the load while a search measures.
    pub(super) rest: Option<JoinHandle<()>>,
    /// Whether another engine follows this one, which ends its own work.
    pub(super) is_followed: bool,
    pub(super) members: Vec<view::MemberFacts>,
    /// The slowdown factor set for each device.
    pub(super) slowdown: Vec<f64>,
    pub(super) proposal: Option<Proposal>,
    pub(super) proposed_at: Option<Duration>,
    pub(super) target: Option<Target>,
    /// The traffic mix, if it was set.
    pub(super) mix: Option<NamedMix>,
    pub(super) growth: Growth,
    pub(super) lately: FailureWatch,
    /// The counters of the engines before this one.
    pub(super) counted_before: Counters,
    pub(super) readings: Readings,
    /// The throughput in samples a second of the intervals before this engine, and when they end.
    pub(super) throughput_before: Option<(Vec<f64>, Duration)>,
}

impl EngineSession {
    /// Creates a session for `engine` under the name `name`. Searches measure with workers from
    /// `factory` and keep results in `cache`.
    pub(super) fn new(
        name: Arc<str>,
        engine: Arc<Engine>,
        factory: Arc<dyn PredictorFactory>,
        cache: Option<Cache>,
        log: Arc<Log>,
        changes: Arc<Changes>,
    ) -> Self {
        let ensemble = Arc::clone(engine.ensemble());
        let text = serves(&name, &engine);
        let now = engine.telemetry().now();
        log.add(now, LogTarget::Session, LogLevel::Info, text)
            .trace();
        EngineSession {
            changes,
            throughput_before: None,
            forecast: Forecast::new(Arc::clone(&engine), Arc::clone(&factory), cache.clone()),
            capacity: CapacityWatch::default(),
            what_ifs: WhatIfs::default(),
            searches: Searches::new(Arc::clone(&engine), factory, cache, Arc::clone(&log)),
            members: view::member_facts(&ensemble),
            slowdown: vec![1.0; engine.devices().count()],
            proposal: None,
            proposed_at: None,
            target: None,
            mix: None,
            growth: Growth::default(),
            lately: FailureWatch::new(engine.telemetry().now()),
            counted_before: Counters::default(),
            readings: Readings::default(),
            load: Arc::new(SharedLoad::new(Load::new(
                Arc::clone(&engine),
                Arc::clone(&log),
            ))),
            rest: None,
            is_followed: false,
            name,
            engine,
            ensemble,
            log,
        }
    }

    /// Returns whether exiting now requires waiting: requests or a search are in progress.
    pub(super) fn is_busy(&self) -> bool {
        self.engine.telemetry().in_flight() > 0 || self.searches.is_measuring()
    }

    fn start_search(&mut self, method: SearchOrder) -> Result<(), Refusal> {
        if self.engine.catalogue().entries().is_empty() {
            return Err(SessionRefusal::NothingServed.into());
        }
        let demand = self.demand()?;
        if method.runs_on(self.engine.devices()) {
            let samples = LoadSamples::for_mix(demand.catalogue(), demand.mix());
            samples.map_err(SessionRefusal::NoSamples)?;
        }
        if demand.catalogue().single_ensemble().is_none() {
            self.say(LogLevel::Info, format!("search for {}", demand.in_words()));
        }
        let known = method.quiet.then(|| self.forecast.search_costs());
        self.searches.start(method, demand, known)?;
        self.look_after_load()
    }

    fn set_mix(&mut self, mix: Option<NamedMix>) -> Result<(), Refusal> {
        let before = self.mix.clone();
        let pattern = self.load.lock().set_mix(mix.clone())?;
        if let Some(pattern) = pattern
            && let Err(refusal) = self.start_load(pattern)
        {
            // The load continues with the previous mix.
            self.load.lock().set_mix(before)?;
            return Err(refusal);
        }
        self.mix = mix;
        Ok(())
    }

    /// Takes over the state of the session with the previous engine.
    pub(super) fn go_on_from(&mut self, before: &EngineSession) {
        self.target = before.target;
        let seen = before.engine.telemetry().observe();
        let series = before.with_before(seen.series.clone(), seen.moment, seen.now);
        self.throughput_before = Some((series, seen.now));
        self.lately = before.lately.clone();
        let handed = before.load.lock().hand_over();
        if let Some(handed) = handed {
            self.load.lock().take_over(handed);
            self.rest_load_while_measuring();
            return;
        }
        let pattern = before.load.lock().view().pattern;
        let chooser = before.load.lock().chooser();
        before.end_load();
        self.load.lock().set_chooser(chooser);
        if let Some(mix) = &before.mix
            && let Err(refusal) = self.set_mix(Some(mix.clone()))
        {
            self.say(
                LogLevel::Warn,
                format!("the traffic mix no longer applies: {refusal}"),
            );
        }
        if let Some(pattern) = pattern
            && let Err(refusal) = self.start_load(pattern)
        {
            let text = format!("the load did not restart: {refusal}");
            self.say(LogLevel::Warn, text);
        }
    }

    fn start_load(&mut self, pattern: LoadPattern) -> Result<(), Refusal> {
        let text = pattern.to_string();
        let line = self.load.lock().start(pattern)?;
        line.trace();
        self.changes.mark(MarkKind::Load, text);
        self.rest_load_while_measuring();
        Ok(())
    }

    fn stop_load(&self) {
        if self.end_load() {
            self.changes.mark(MarkKind::Load, "load stopped".into());
        }
    }

    /// Ends the load. Returns whether there was one.
    fn end_load(&self) -> bool {
        let line = self.load.lock().stop();
        line.map(UntracedLine::trace).is_some()
    }

    fn rest_load_while_measuring(&self) {
        load::follow(&self.load, self.searches.is_measuring());
    }

    /// Pauses and resumes the load during the search that has just started.
    fn look_after_load(&mut self) -> Result<(), Refusal> {
        self.rest_load_while_measuring();
        self.join_rest();
        if let Some(measuring) = self.searches.watcher() {
            let rest = load::look_after(Arc::clone(&self.load), measuring);
            self.rest = Some(rest.map_err(SessionRefusal::Thread)?);
        }
        Ok(())
    }

    /// Waits for the thread that controlled the load during the finished search.
    fn join_rest(&mut self) {
        if let Some(rest) = self.rest.take() {
            rest.thread().unpark();
            // It only waits for the search.
            let _ = rest.join();
        }
    }

    /// Returns the origin of an applied setup, for the history.
    fn origin(&self, setup: &Setup) -> ChangeOrigin {
        let best = self.searches.view().and_then(|s| s.progress.best);
        match best.is_some_and(|best| best == setup.matrix) {
            true => ChangeOrigin::Search,
            false => ChangeOrigin::Applied,
        }
    }

    fn set_vote(&mut self, member: MemberIndex, votes: bool) -> Result<(), Refusal> {
        let members = self.ensemble.members.len();
        let last = MemberIndex::new(members.saturating_sub(1));
        if member.get() >= members {
            let found = member;
            return Err(SessionRefusal::UnknownMember { found, last }.into());
        }
        let old = self.engine.setup();
        let combination = old.combination.with_vote(member, votes);
        let setup = Setup {
            combination: combination.map_err(SessionRefusal::Vote)?,
            ..old
        };
        let name = &self.ensemble.members[member].name;
        let said = if votes { "votes" } else { "does not vote" };
        let origin = ChangeOrigin::Vote(format!("{name} {said}"));
        Ok(self.changes.adjust(&setup, origin)?)
    }

    fn set_target(&mut self, target: Option<Target>) -> Result<(), Refusal> {
        let checked = target.map_or(Ok(()), |t| t.check());
        checked.map_err(SessionRefusal::Target)?;
        self.target = target;
        let ledger = self.engine.telemetry().ledger();
        ledger.set_objective(target);
        Ok(())
    }

    /// Writes a line to the log. No lock may be held.
    pub(super) fn say(&self, level: LogLevel, text: String) {
        let now = self.engine.telemetry().now();
        self.log.add(now, LogTarget::Session, level, text).trace();
    }
}

impl EngineSession {
    /// Returns the current state; `told` is the status of changes.
    pub(super) fn snapshot(&mut self, told: ChangeStatus) -> Snapshot {
        self.rest_load_while_measuring();
        for (at, event) in self.engine.telemetry().take_events() {
            self.log.add_event(at, &event);
        }
        self.view(told)
    }

    /// Makes a change that a session can make without the network, tasks or other models.
    ///
    /// # Errors
    /// The command is not possible now.
    pub(super) fn command(&mut self, command: Command) -> Result<(), Refusal> {
        match command {
            Command::Apply(setup, terms) => {
                let origin = self.origin(&setup);
                let question = WhatIf::Apply(setup.clone());
                self.expect(&question);
                Ok(self.changes.apply(&setup, terms, origin)?)
            }
            Command::EndProbation(true) => Ok(self.changes.keep()?),
            Command::EndProbation(false) => Ok(self.changes.take_back()?),
            Command::Undo => {
                self.expect(&WhatIf::Undo);
                Ok(self.changes.undo()?)
            }
            Command::Redo => {
                self.expect(&WhatIf::Redo);
                Ok(self.changes.redo()?)
            }
            Command::SetVote(member, votes) => self.set_vote(member, votes),
            Command::SetTarget(target) => self.set_target(target),
            Command::SetMaxInf(device, most) => {
                self.device(device)?;
                self.engine.settings().set_max_inf(device, most);
                Ok(())
            }
            Command::LoseDevice(device) => {
                self.device(device)?;
                Ok(self.changes.lose(device)?)
            }
            Command::RegainDevice(device) => self.regain(device),
            Command::SlowDevice(device, factor) => self.slow(device, factor.get()),
            Command::StartLoad(pattern) => self.start_load(pattern),
            Command::StopLoad => {
                self.stop_load();
                Ok(())
            }
            Command::SetMix(mix) => self.set_mix(mix),
            Command::StartSearch(method) => self.start_search(method),
            Command::PauseSearch => self.searches.pause(true),
            Command::ResumeSearch => self.searches.pause(false),
            Command::CancelSearch => self.searches.cancel(),
            Command::ClearLatency => {
                self.engine.telemetry().clear_latency();
                Ok(())
            }
            // A session that wraps this one handles these.
            Command::StartRecording(_) | Command::StopRecording => {
                Err(SessionRefusal::NotRecordable.into())
            }
            Command::Play(_) => Err(SessionRefusal::IsNoRecording.into()),
            Command::TakeEditing(_) => Err(SessionRefusal::NobodyElse.into()),
            Command::KeepServing => Err(SessionRefusal::NotLeftRunning.into()),
            // The live session handles these.
            Command::Listen(_) => Err(SessionRefusal::NoDoor.into()),
            Command::SetScalingPolicy(_) | Command::ComparePolicies => {
                Err(SessionRefusal::NoTasks.into())
            }
            Command::LoadModel(_)
            | Command::UnloadModel { .. }
            | Command::PlanModels(_)
            | Command::ApplyModels { .. }
            | Command::DropModelsPlan(_) => Err(SessionRefusal::ModelsFixed.into()),
        }
    }

    /// Returns the changes that applying a setup of the running models would make.
    ///
    /// # Errors
    /// The setup cannot be applied.
    pub(super) fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        let plan = self.engine.plan(setup)?;
        let names = &setup.matrix.frame().members;
        let paused = plan.paused_members().into_iter();
        let conditions = self.conditions()?;
        Ok(EditPreview {
            memory: plan.memory().to_vec(),
            paused_members: paused.map(|member| names[member].clone()).collect(),
            settings: plan.setting_words(),
            remarks: remarks(&self.engine, plan.old_setup(), setup),
            prediction: self
                .forecast
                .predict(plan.old_setup(), plan.new_setup(), &conditions),
            difference: plan.reload().difference.clone(),
        })
    }
}

impl Drop for EngineSession {
    fn drop(&mut self) {
        self.end_load();
        self.searches.end();
        self.join_rest();
        if !self.is_followed {
            self.changes.close();
            // Other models may have been loaded since the last snapshot.
            self.changes.running().engine.shutdown();
            self.engine.shutdown();
        }
    }
}

/// Returns remarks on the precisions that a setup changes.
fn remarks(engine: &Engine, from: &Setup, to: &Setup) -> Vec<String> {
    let (devices, of_all) = (engine.devices(), engine.ensemble().precision);
    let both = from.precisions.iter().zip(&to.precisions);
    let changed = both.filter(|(runs, wanted)| runs != wanted);
    let remarks = PrecisionRemark::for_members(changed.map(|(_, wanted)| *wanted), devices, of_all);
    remarks.iter().map(ToString::to_string).collect()
}
