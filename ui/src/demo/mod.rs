//! A guided demonstration: scenes with captions on the real console.
//!
//! The scenes are data: `scenes.toml`, read by [`script`]. The player advances by the contents of
//! snapshots, never by its own clock, and uses the commands of the console, so that everything can
//! be undone.

mod conclusions;
mod plans;
mod script;

use std::time::Duration;

use divisi_session::Snapshot;

use crate::actions;
use crate::layout::Panel;
use crate::model::{
    APART, CounterLook, DemoState, Effect, Figure, FigureNote, Model, Wanted, rate,
};
use script::{DemoStep, Seen, scenes};
pub use script::{FILE, check};

/// The pause at the end of a scene in automatic mode.
const REST: Duration = Duration::from_secs(8);
/// Below this height, one panel alone shows more than all panels together.
const SHORT: u16 = 34;

/// The progress of a step.
enum Progress {
    Done,
    Waiting,
    /// The step requests an effect.
    Asking(Effect),
}

/// Returns the state at the start of the first scene.
pub(crate) fn begin(wanted: Wanted) -> DemoState {
    let titles = scenes(wanted.stage).iter().map(|scene| &*scene.title);
    DemoState::new(wanted, titles.collect())
}

/// Advances as far as the current snapshot allows.
pub(crate) fn proceed(model: &mut Model) -> Vec<Effect> {
    let Some(mut demo) = model.demo.take() else {
        return Vec::new();
    };
    let effect = go_on(&mut demo, model);
    demo.begun = false;
    model.demo = Some(demo);
    effect.into_iter().collect()
}

fn go_on(demo: &mut DemoState, model: &mut Model) -> Option<Effect> {
    let now = model.snapshot.now;
    if demo.trouble.is_some() && demo.wanted.auto {
        // In automatic mode, a scene that cannot be shown ends like any other.
        rest(demo, now);
        return None;
    }
    while demo.trouble.is_none() {
        let scene = scenes(demo.wanted.stage).get(demo.scene());
        let Some(step) = scene.and_then(|scene| scene.steps.get(demo.step)) else {
            rest(demo, now);
            return None;
        };
        match take(demo, step, model) {
            Ok(Progress::Done) => {
                demo.finish_step();
                // In automatic mode no key press removes the message, and it covers the keys.
                model.message = model.message.take().filter(|m| m.bad);
            }
            Ok(Progress::Waiting) => return None,
            Ok(Progress::Asking(effect)) => {
                demo.asked = true;
                return Some(effect);
            }
            Err(why) => demo.trouble = Some(why.to_string()),
        }
    }
    None
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
    if demo.wanted.auto && now >= since + REST {
        let next = if demo.is_last() { 0 } else { demo.scene() + 1 };
        demo.go_to(next);
    }
}

/// Runs one step. A command is sent once; the step is done when its effect is visible.
fn take(
    demo: &mut DemoState,
    step: &'static DemoStep,
    model: &mut Model,
) -> anyhow::Result<Progress> {
    let seen = match step {
        DemoStep::Look(panel) => show_panel(model, *panel),
        step => observe(demo, step, &model.snapshot)?,
    };
    let request = match seen {
        Seen::Yes => return Ok(Progress::Done),
        Seen::No if !demo.asked => step.request(&model.snapshot, demo.capacity)?,
        Seen::No | Seen::Busy => None,
    };
    let Some((command, request)) = request else {
        return Ok(Progress::Waiting);
    };
    let effect = actions::give(model, command, request)?;
    Ok(Progress::Asking(effect))
}

/// Updates the demonstration's state and returns whether the step's effect is visible.
fn observe(
    demo: &mut DemoState,
    step: &'static DemoStep,
    shown: &Snapshot,
) -> anyhow::Result<Seen> {
    match step {
        DemoStep::Say(caption) => demo.caption.clone_from(caption),
        DemoStep::Conclude(conclusion) => demo.caption = conclusion.text(demo, shown),
        DemoStep::Count => demo.began = Some(shown.counters),
        DemoStep::Gauge => demo.capacity = rate(&demo.looks, shown).map(|m| m.value),
        DemoStep::Note(figure, name) => note(demo, *figure, name, shown),
        DemoStep::Watch { answered, seconds } => {
            let lasts = Duration::from_secs(*seconds);
            return Ok(watch(demo, *answered, lasts, shown).into());
        }
        command => return command.effect(shown, demo),
    }
    Ok(Seen::Yes)
}

/// Notes a figure, unless nothing was measured.
fn note(demo: &mut DemoState, figure: Figure, name: &'static str, shown: &Snapshot) {
    demo.notes.retain(|n| (n.figure, n.name) != (figure, name));
    let measured = figure.current_value(&demo.looks, demo.began.as_ref(), shown);
    let ends = demo.looks.first().zip(demo.looks.last());
    let noted = measured
        .zip(ends)
        .map(|(measured, (first, last))| FigureNote {
            scene: demo.scene(),
            figure,
            name,
            measured,
            over: last.now.saturating_sub(first.now),
            requests: last.answered.saturating_sub(first.answered),
        });
    demo.notes.extend(noted);
}

/// Reads the counters and returns whether enough was seen: both limits are reached, on machines of
/// any speed.
fn watch(demo: &mut DemoState, answered: u64, lasts: Duration, shown: &Snapshot) -> bool {
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
    demo.watched = (answered > 0).then_some((so_far.min(answered), answered));
    // The figures end with one reading of the counters, so that all cover the same time.
    let seen = last.answered.saturating_sub(first.answered) >= answered;
    seen && last.now.saturating_sub(first.now) >= lasts
}

fn show_panel(model: &mut Model, panel: Panel) -> Seen {
    model.focus = panel;
    model.expanded = model.area.height < SHORT;
    Seen::Yes
}
