//! A guided demonstration: scenes with captions on the real console.
//!
//! The scenes are data ([`scenes`], [`script`], [`words`]): captions, commands of the table, and
//! conditions to wait for. The [`Player`] advances by the contents of snapshots, never by its own
//! clock, and uses the commands of the console, so that everything can be undone.

mod scenes;
mod script;
mod tasks;
mod words;

use std::time::Duration;

use divisi_session::Snapshot;

use crate::actions;
use crate::layout::Panel;
use crate::model::{
    APART, CounterLook, DemoState, Effect, Figure, FigureNote, Model, Wanted, rate,
};
use script::{DemoScene, DemoStep, DemoTrouble, DemoWatch, Given, Seen};

/// The pause at the end of a scene in automatic mode.
const REST: Duration = Duration::from_secs(8);
/// Below this height, one panel alone shows more than all panels together.
const SHORT: u16 = 34;

/// The outcome of a step.
enum StepVerdict {
    /// The step is done.
    Done,
    /// The step is not done yet.
    Wait,
    /// The step requests an effect.
    Ask(Effect),
    /// The step failed, with the reason.
    Stuck(DemoTrouble),
}

impl From<bool> for StepVerdict {
    fn from(done: bool) -> Self {
        if done {
            StepVerdict::Done
        } else {
            StepVerdict::Wait
        }
    }
}

/// Plays the scenes of a demonstration.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    scenes: Vec<DemoScene>,
}

impl Player {
    /// Creates a player, at the start of the first scene.
    pub(crate) fn new(wanted: Wanted) -> (Self, DemoState) {
        let scenes = scenes::for_stage(wanted.stage);
        let titles = scenes.iter().map(|scene| scene.title).collect();
        (Player { scenes }, DemoState::new(titles, wanted.auto))
    }

    /// Advances as far as the current snapshot allows.
    pub(crate) fn proceed(&self, model: &mut Model) -> Vec<Effect> {
        let Some(mut demo) = model.demo.take() else {
            return Vec::new();
        };
        let effects = self.go_on(&mut demo, model);
        demo.begun = false;
        model.demo = Some(demo);
        effects
    }

    fn go_on(&self, demo: &mut DemoState, model: &mut Model) -> Vec<Effect> {
        let now = model.snapshot.now;
        if demo.trouble.is_some() && demo.auto {
            // In automatic mode, a scene that cannot be shown ends like any other.
            rest(demo, now);
            return Vec::new();
        }
        while demo.trouble.is_none() {
            let Some(step) = self.step(demo) else {
                rest(demo, now);
                return Vec::new();
            };
            match take(demo, step, model) {
                StepVerdict::Done => {
                    demo.step += 1;
                    demo.asked = false;
                    demo.watched = None;
                    // In automatic mode no key press removes the message, and it covers the keys.
                    model.message = model.message.take().filter(|m| m.bad);
                }
                StepVerdict::Wait => return Vec::new(),
                StepVerdict::Ask(effect) => {
                    demo.asked = true;
                    return vec![effect];
                }
                StepVerdict::Stuck(why) => demo.trouble = Some(why.to_string()),
            }
        }
        Vec::new()
    }

    fn step(&self, demo: &DemoState) -> Option<DemoStep> {
        let scene = self.scenes.get(demo.scene())?;
        scene.steps.get(demo.step).copied()
    }
}

/// Handles the session's refusal of a demonstration's request.
pub(crate) fn refused(model: &mut Model, reason: &str) {
    let Some(demo) = model.demo.as_mut().filter(|d| d.asked) else {
        return;
    };
    demo.trouble = Some(reason.to_owned());
    model.message = None;
}

/// Ends the scene: waits for a key, or continues after a pause.
fn rest(demo: &mut DemoState, now: Duration) {
    let since = *demo.ended.get_or_insert(now);
    if demo.auto && now >= since + REST {
        let next = if demo.is_last() { 0 } else { demo.scene() + 1 };
        demo.go_to(next);
    }
}

/// Runs one step.
fn take(demo: &mut DemoState, step: DemoStep, model: &mut Model) -> StepVerdict {
    let shown = &model.snapshot;
    match step {
        DemoStep::Say(caption) => demo.caption = caption.to_owned(),
        DemoStep::Conclude(conclusion) => demo.caption = conclusion.text(demo, shown),
        DemoStep::Look(panel) => show_panel(model, panel),
        DemoStep::Do(given) => return give(demo, given, model),
        DemoStep::Drain => return shown.members.iter().all(|m| m.queued == 0).into(),
        DemoStep::Count => demo.began = Some(shown.counters),
        DemoStep::Watch(watch) => return self::watch(demo, watch, shown).into(),
        DemoStep::Gauge => demo.capacity = rate(&demo.looks, shown).map(|m| m.value),
        DemoStep::Note(figure, name) => {
            demo.notes.retain(|n| (n.figure, n.name) != (figure, name));
            let taken = note(demo, figure, name, shown);
            demo.notes.extend(taken);
        }
    }
    StepVerdict::Done
}

/// Sends a request once and waits for its effect.
fn give(demo: &DemoState, given: Given, model: &Model) -> StepVerdict {
    let shown = &model.snapshot;
    let asked = || {
        let request = given.request(shown, demo.capacity)?;
        Ok(actions::give(model, given.command(), request)?)
    };
    match (given.effect(shown, demo.capacity, demo.asked), demo.asked) {
        (Err(why), _) => StepVerdict::Stuck(why),
        (Ok(Seen::Yes), _) => StepVerdict::Done,
        (Ok(Seen::Busy), _) | (Ok(Seen::No), true) => StepVerdict::Wait,
        (Ok(Seen::No), false) => asked().map_or_else(StepVerdict::Stuck, StepVerdict::Ask),
    }
}

/// Notes a figure, unless nothing was measured.
fn note(
    demo: &DemoState,
    figure: Figure,
    name: &'static str,
    shown: &Snapshot,
) -> Option<FigureNote> {
    let (first, last) = (demo.looks.first()?, demo.looks.last()?);
    Some(FigureNote {
        scene: demo.scene(),
        figure,
        name,
        measured: figure.current_value(&demo.looks, demo.began.as_ref(), shown)?,
        over: last.now.saturating_sub(first.now),
        requests: last.answered.saturating_sub(first.answered),
    })
}

/// Reads the counters and returns whether enough was seen.
fn watch(demo: &mut DemoState, watch: DemoWatch, shown: &Snapshot) -> bool {
    let look = CounterLook {
        now: shown.now,
        answered: shown.counters.answered,
    };
    if !demo.asked {
        // Marks the begin of the watch; nothing is requested.
        demo.asked = true;
        demo.looks.clear();
    }
    let due = |last: &CounterLook| look.now.saturating_sub(last.now) >= APART;
    if demo.looks.last().is_none_or(due) {
        demo.looks.push(look);
    }
    let (Some(first), Some(last)) = (demo.looks.first(), demo.looks.last()) else {
        return false;
    };
    let so_far = look.answered.saturating_sub(first.answered);
    let counted = (so_far.min(watch.answered), watch.answered);
    demo.watched = (watch.answered > 0).then_some(counted);
    // The figures end with one reading of the counters, so that all cover the same time.
    let seen = last.answered.saturating_sub(first.answered) >= watch.answered;
    let lasted = last.now.saturating_sub(first.now) >= watch.lasts;
    seen && lasted
}

fn show_panel(model: &mut Model, panel: Panel) {
    model.focus = panel;
    model.expanded = model.area.height < SHORT;
}
