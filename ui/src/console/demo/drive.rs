//! Goes through the script by what snapshots show.

use std::time::Duration;

use divisi::search::Bounds;
use divisi::session::{
    Command, LoadPattern, ReloadState, SearchOrder, SearchState, Setup, Snapshot,
};

use super::Demo;
use super::figures::{Figure, FigureNote, rate};
use super::measured::{APART, CounterLook};
use super::plans::DemoPlan;
use super::script::{DemoLoad, DemoStep, DemoWatch};
use crate::console::effect::Effect;
use crate::console::model::{Model, Panel};

/// How long the end of a scene stays where nobody goes on.
const REST: Duration = Duration::from_secs(8);
/// Below this height a panel alone shows more than all of them do.
const SHORT: u16 = 34;

/// What becomes of a step.
enum StepVerdict {
    /// Done: on to the next.
    Done,
    /// Not yet.
    Wait,
    /// This is to be asked for.
    Ask(Command),
    /// It cannot be done; says why.
    Stuck(String),
}

/// Goes on as far as what is shown now allows.
pub fn on_news(model: &mut Model) -> Vec<Effect> {
    let Some(mut demo) = model.demo.take() else {
        return Vec::new();
    };
    let effects = demo.proceed(model);
    model.demo = Some(demo);
    effects
}

/// The session would not do what the demonstration asked for.
pub fn refused(model: &mut Model, reason: &str) {
    let Some(demo) = model.demo.as_mut().filter(|d| d.asked) else {
        return;
    };
    demo.trouble = Some(reason.to_owned());
    model.message = None;
}

impl Demo {
    fn proceed(&mut self, model: &mut Model) -> Vec<Effect> {
        let now = model.snapshot.now;
        if self.trouble.is_some() && self.auto {
            // Nobody is there to go on: what cannot be shown ends like any other.
            return self.rest(now);
        }
        while self.trouble.is_none() {
            let Some(step) = self.scenes[self.scene].steps.get(self.step).copied() else {
                return self.rest(now);
            };
            match self.step(step, model) {
                StepVerdict::Done => {
                    self.step += 1;
                    self.asked = false;
                    // Nobody presses a key that would take it away, and keys show there.
                    model.message = model.message.take().filter(|m| m.bad);
                }
                StepVerdict::Wait => return Vec::new(),
                StepVerdict::Ask(command) => {
                    self.asked = true;
                    return vec![Effect::Send(command)];
                }
                StepVerdict::Stuck(why) => self.trouble = Some(why),
            }
        }
        Vec::new()
    }

    /// The scene is over: waits for a person, or goes on after a while.
    fn rest(&mut self, now: Duration) -> Vec<Effect> {
        let since = *self.ended.get_or_insert(now);
        if self.auto && now >= since + REST {
            let next = if self.is_last() { 0 } else { self.scene + 1 };
            self.go_to(next);
        }
        Vec::new()
    }

    fn step(&mut self, step: DemoStep, model: &mut Model) -> StepVerdict {
        let shown = &model.snapshot;
        match step {
            DemoStep::Say(caption) => self.caption = caption.to_owned(),
            DemoStep::Conclude(conclusion) => self.caption = self.conclude(conclusion, shown),
            DemoStep::Look(panel) => look(model, panel),
            DemoStep::Apply(plan) => return self.apply(plan, shown),
            DemoStep::Policy(policy) => {
                let setup = Setup {
                    policy,
                    ..shown.setup()
                };
                let command = Command::Apply(Box::new(setup), None);
                return self.until(shown.policy == policy, command);
            }
            DemoStep::Load(load) => return self.load(load, shown),
            DemoStep::Drain if shown.members.iter().any(|m| m.queued > 0) => {
                return StepVerdict::Wait;
            }
            DemoStep::Drain => {}
            DemoStep::Clear => return self.until(self.asked, Command::ClearLatency),
            DemoStep::Count => self.began = Some(shown.counters),
            DemoStep::Watch(watch) => return self.watch(watch, shown),
            DemoStep::Gauge => self.capacity = rate(&self.looks, shown).map(|m| m.value),
            DemoStep::Note(figure, name) => {
                self.notes.retain(|n| (n.figure, n.name) != (figure, name));
                let taken = self.note(figure, name, shown);
                self.notes.extend(taken);
            }
            DemoStep::Search => return self.search(shown),
        }
        StepVerdict::Done
    }

    fn note(&self, figure: Figure, name: &'static str, shown: &Snapshot) -> Option<FigureNote> {
        let (first, last) = (self.looks.first()?, self.looks.last()?);
        Some(FigureNote {
            scene: self.scene,
            figure,
            name,
            measured: figure.of(self, shown)?,
            over: last.now.saturating_sub(first.now),
            requests: last.answered.saturating_sub(first.answered),
        })
    }

    /// Asks once, and waits until it is so.
    fn until(&self, is_so: bool, command: Command) -> StepVerdict {
        match (is_so, self.asked) {
            (true, _) => StepVerdict::Done,
            (false, true) => StepVerdict::Wait,
            (false, false) => StepVerdict::Ask(command),
        }
    }

    fn apply(&self, plan: DemoPlan, shown: &Snapshot) -> StepVerdict {
        let matrix = match plan.matrix(shown) {
            Ok(matrix) => matrix,
            Err(why) => return StepVerdict::Stuck(why),
        };
        if shown.matrix == matrix {
            return StepVerdict::Done;
        }
        let state = shown.reload.as_ref().map(|r| &r.state);
        match (self.asked, state) {
            // One that somebody else asked for.
            (_, Some(ReloadState::Running)) => StepVerdict::Wait,
            (true, Some(ReloadState::Failed(why))) => StepVerdict::Stuck(why.clone()),
            (true, _) => StepVerdict::Wait,
            (false, _) => {
                let setup = shown.setup().with_matrix(matrix);
                StepVerdict::Ask(Command::Apply(Box::new(setup), None))
            }
        }
    }

    fn load(&self, load: DemoLoad, shown: &Snapshot) -> StepVerdict {
        let share = |share: f64| {
            (share * self.capacity.unwrap_or(100.0))
                .clamp(1.0, 1e5)
                .round()
        };
        let pattern = match load {
            DemoLoad::Stop => None,
            DemoLoad::Full { clients, samples } => Some(LoadPattern::closed(clients, samples)),
            DemoLoad::Poisson(of) => Some(LoadPattern::poisson(share(of))),
            DemoLoad::Burst(of) => Some(LoadPattern::burst(share(of))),
        };
        let there = shown.load.pattern == pattern;
        let command = pattern.map_or(Command::StopLoad, Command::StartLoad);
        self.until(there, command)
    }

    fn watch(&mut self, watch: DemoWatch, shown: &Snapshot) -> StepVerdict {
        let look = CounterLook {
            now: shown.now,
            answered: shown.counters.answered,
        };
        if !self.asked {
            // Nothing is asked of anybody; it is how a watch knows that it began.
            self.asked = true;
            self.looks.clear();
        }
        let due = |last: &CounterLook| look.now.saturating_sub(last.now) >= APART;
        if self.looks.last().is_none_or(due) {
            self.looks.push(look);
        }
        let (Some(first), Some(last)) = (self.looks.first(), self.looks.last()) else {
            return StepVerdict::Wait;
        };
        // The figures end with a look, so that all of them are over the same time.
        let seen = last.answered.saturating_sub(first.answered) >= watch.answered;
        let lasted = last.now.saturating_sub(first.now) >= watch.lasts;
        match seen && lasted {
            true => StepVerdict::Done,
            false => StepVerdict::Wait,
        }
    }

    fn search(&self, shown: &Snapshot) -> StepVerdict {
        let state = shown.search.as_ref().map(|s| &s.state);
        match (self.asked, state) {
            (_, Some(SearchState::Running | SearchState::Paused)) => StepVerdict::Wait,
            (true, Some(SearchState::Failed(why))) => StepVerdict::Stuck(why.clone()),
            (true, _) => StepVerdict::Done,
            (false, _) => StepVerdict::Ask(Command::StartSearch(order(shown))),
        }
    }

    /// Of the present watch: what is done of what has to be.
    pub(super) fn watched(&self, shown: &Snapshot) -> Option<(u64, u64)> {
        let Some(DemoStep::Watch(watch)) = self.scenes[self.scene].steps.get(self.step) else {
            return None;
        };
        let before = self
            .looks
            .first()
            .map_or(shown.counters.answered, |l| l.answered);
        let answered = shown.counters.answered.saturating_sub(before);
        Some((answered.min(watch.answered), watch.answered))
    }
}

/// Another seed each time: a search that is kept from before would be over at once.
fn order(shown: &Snapshot) -> SearchOrder {
    let quick = SearchOrder::quick();
    SearchOrder {
        bounds: Bounds {
            seed: shown.now.as_millis() as u64,
            ..quick.bounds
        },
        ..quick
    }
}

fn look(model: &mut Model, panel: Panel) {
    model.focus = panel;
    model.expanded = model.area.height < SHORT;
}
