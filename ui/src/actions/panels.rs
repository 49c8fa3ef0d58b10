//! Actions on panels, layouts and scopes, a member's vote, models, help and palette, themes,
//! configuration and pictures of the screen.

use divisi_engine::deployment::CatalogueChange;
use divisi_model::allocation::Cell;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::Command;
use ratatui::layout::{Position, Rect};

use super::follow_up::FollowUp;
use super::{requests, streams, time};
use crate::config::{ConfigError, Settings};
use crate::layout::Panel;
use crate::model::{Effect, Model};
use crate::panels::{cell_at, has_place, model_cursor, open_panels, rows_on_screen, scrolled};
use crate::view::Whose;

/// Focuses the panel `step` places further among the open ones, or among all of the layout if one
/// has the whole screen.
pub(super) fn next(model: &mut Model, step: isize) {
    let mut open = open_panels(model);
    open.sort_by_key(|panel| panel.index());
    let at = open.iter().position(|panel| *panel == model.focus);
    model.focus = match (at, open.len()) {
        (Some(at), count @ 2..) => {
            let next = (at as isize + step).rem_euclid(count as isize);
            open[next as usize]
        }
        _ => model.neighbour(step),
    };
}

/// Shows the focused panel on the whole screen, or all panels again.
pub(super) fn expand(model: &mut Model) {
    model.expanded = !model.expanded;
}

/// Keeps the incidents on the screen as known.
pub(super) fn acknowledge(model: &mut Model) {
    model.incidents.acknowledge();
    model.say("acknowledged: the incident stays on the screen", false);
}

/// Hides the incidents.
pub(super) fn dismiss(model: &mut Model) {
    model.incidents.dismiss();
    if model.focus == Panel::Incident {
        model.focus = Panel::Allocation;
    }
    model.settle();
    model.say("dismissed until the problem begins again", false);
}

/// Shows the next layout.
pub(super) fn next_layout(model: &mut Model) {
    model.arrangement.next();
    model.expanded = false;
    model.settle();
    model.say(format!("layout {}", model.arrangement.name()), false);
}

/// Shows all panels again if one has the whole screen. Returns whether it had.
pub(crate) fn leave_alone(model: &mut Model) -> bool {
    let alone = model.expanded || !model.arrangement.shows(model.focus) || !has_place(model);
    model.expanded = false;
    model.settle();
    if !has_place(model) {
        let rows = model.arrangement.rows();
        let first = rows.first().and_then(|row| row.panels.first());
        model.focus = first.map_or(model.focus, |first| first.0);
    }
    alone
}

/// Handles a click: focuses the panel, and moves the cursor to the entry in the matrix.
pub(crate) fn look_at(model: &mut Model, panel: Panel, area: Rect, at: Position) {
    if model.edit.is_none() {
        model.focus = panel;
    }
    if panel == Panel::Time {
        time::click(model, area, at);
    }
    if panel == Panel::Allocation
        && let Some(cell) = cell_at(model, area, at)
    {
        model.cursor = cell;
        if let Some(edit) = &mut model.edit {
            edit.settle();
        }
    }
}

/// Removes or restores the vote of the member at the cursor.
pub(super) fn vote(model: &Model) -> FollowUp {
    let member = model.cursor.member;
    let voting = &model.snapshot.combination.voting;
    let votes = voting.get(member.get()).copied().unwrap_or(true);
    Command::SetVote(member, !votes).into()
}

/// Plans loading the model at the cursor.
pub(super) fn load_model(model: &Model) -> FollowUp {
    plan(model, CatalogueChange::Load)
}

/// Plans unloading the model at the cursor.
pub(super) fn unload_model(model: &Model) -> FollowUp {
    plan(model, |name| CatalogueChange::Unload {
        name,
        dependents: false,
    })
}

fn plan(model: &Model, change: impl Fn(String) -> CatalogueChange) -> FollowUp {
    match model.snapshot.models.get(model_cursor(model)) {
        Some(view) => Command::PlanModels(change(view.name.clone())).into(),
        None => FollowUp::default(),
    }
}

/// Switches the latency panel to the next level: ensemble, member, worker.
pub(super) fn deeper_latency(model: &mut Model) {
    let (cursor, shown) = (model.cursor, &model.snapshot);
    let whose = &mut model.scopes.latency;
    *whose = whose.there(shown).deeper(cursor, shown);
}

/// Switches the throughput panel to the next level: ensemble or member. Workers have no rates.
pub(super) fn deeper_throughput(model: &mut Model) {
    let (cursor, shown) = (model.cursor, &model.snapshot);
    let whose = &mut model.scopes.throughput;
    *whose = match whose.there(shown).deeper(cursor, shown) {
        Whose::Worker(_) => Whose::Ensemble,
        deeper => deeper,
    };
}

/// Switches the panel to the next subject of the same level.
fn step(model: &mut Model, panel: Panel, step: isize) {
    let shown = &model.snapshot;
    let whose = match panel {
        Panel::Latency => &mut model.scopes.latency,
        _ => &mut model.scopes.throughput,
    };
    *whose = whose.there(shown).step(step, shown);
}

/// Shows less or more time in the focused panel, or in the streams.
pub(super) fn zoom(model: &mut Model, by: isize) {
    match model.focus {
        Panel::Time => time::zoom(model, by),
        _ => streams::zoom(model, by, None),
    }
}

/// Moves in the focused panel, vertically or sideways.
pub(super) fn shift(model: &mut Model, step: isize, sideways: bool) {
    match model.focus {
        Panel::Time if sideways && model.edit.is_none() => time::pan(model, step as f64 / 4.0),
        Panel::Streams if sideways && model.edit.is_none() => {
            streams::pan(model, step as f64 / 4.0);
        }
        panel @ (Panel::Latency | Panel::Throughput) => self::step(model, panel, step),
        panel if !sideways && model.edit.is_none() => scroll(model, panel, step),
        Panel::Allocation => walk(model, step, sideways),
        _ => {}
    }
}

/// More rows than any panel has.
const FAR: isize = 1 << 30;

/// Moves in the focused panel by one page.
pub(super) fn page(model: &mut Model, direction: isize) {
    let rows = rows_on_screen(model, model.focus).max(1);
    scroll_rows(model, direction * rows as isize);
}

/// Goes to the first or the last row of the focused panel.
pub(super) fn leap(model: &mut Model, direction: isize) {
    scroll_rows(model, direction * FAR);
}

fn scroll_rows(model: &mut Model, step: isize) {
    match model.focus {
        Panel::Time if step.abs() == FAR => time::leap(model, step),
        // Up and down cycle through the subjects of a level there.
        Panel::Latency | Panel::Throughput => {}
        panel => scroll(model, panel, step),
    }
}

/// Scrolls a panel by `step` rows.
pub(crate) fn scroll(model: &mut Model, panel: Panel, step: isize) {
    match panel {
        Panel::Allocation => walk(model, step, false),
        Panel::Streams => streams::choose(model, step),
        Panel::Members => walk(model, step, true),
        Panel::Requests => requests::choose(model, step),
        Panel::Models => {
            let models = &model.snapshot.models;
            let next = streams::moved(model_cursor(model), step, models.len());
            model.model_cursor.go_to(next, models);
        }
        Panel::Latency | Panel::Throughput => self::step(model, panel, step),
        panel => model.scrolled[panel.index()] = scrolled(model, panel, step),
    }
}

fn walk(model: &mut Model, step: isize, sideways: bool) {
    let frame = model.snapshot.matrix.frame();
    let Cell { device, member } = &mut model.cursor;
    match sideways {
        true => {
            let next = streams::moved(member.get(), step, frame.members.len());
            *member = MemberIndex::new(next);
        }
        false => {
            let next = streams::moved(device.get(), step, frame.devices.len());
            *device = DeviceIndex::new(next);
        }
    }
    if let Some(edit) = &mut model.edit {
        edit.settle();
    }
}

/// Turns the mouse on or off.
pub(super) fn mouse(model: &mut Model) -> FollowUp {
    model.mouse = !model.mouse;
    let text = match model.mouse {
        true => "mouse on: click to focus, wheel to scroll",
        false => "mouse off: the terminal selects text",
    };
    model.say(text, false);
    Effect::Mouse(model.mouse).into()
}

/// Applies the new configuration. On an error, reports it and keeps the old one.
pub(crate) fn configured(model: &mut Model, settings: Result<Box<Settings>, ConfigError>) {
    match settings {
        Ok(settings) => {
            let (asked, worn) = (&model.settings.config.theme, &model.settings.theme.name);
            // A theme chosen here stays until the file names another one.
            let kept = (*asked == settings.config.theme).then(|| worn.clone());
            model.configure(*settings);
            if let Some(worn) = kept {
                // If the theme is gone, the configured one is used.
                let _ = model.settings.choose(&worn);
            }
            model.say("configuration reloaded", false);
        }
        Err(wrong) => model.say(
            format!("{} (previous configuration kept)", wrong.brief()),
            true,
        ),
    }
}
