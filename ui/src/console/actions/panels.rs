//! Moving among panels, layouts and scopes, and what a member's vote does.

use divisi::session::Command;
use ratatui::layout::{Position, Rect};

use super::moved;
use crate::console::commands::Id;
use crate::console::dialogs::{Dialog, PanelList};
use crate::console::effect::Effect;
use crate::console::model::{Model, Panel};
use crate::console::panels::cell_at;
use crate::console::scope::Whose;

/// Other panels, or another of them.
pub fn arrange(model: &mut Model, id: Id) {
    match id {
        Id::Next => model.focus = neighbour(model, 1),
        Id::Previous => model.focus = neighbour(model, -1),
        Id::Panels => model.dialogs.push(Dialog::Panels(PanelList::default())),
        _ => {
            model.arrangement.next();
            model.expanded = false;
            settle(model);
            model.say(format!("layout {}", model.arrangement.name()), false);
        }
    }
}

/// The panel `step` places on among those shown, round and round.
fn neighbour(model: &Model, step: isize) -> Panel {
    let shown = model.arrangement.panels();
    let beside = |p: &Panel| match step > 0 {
        true => p.index() > model.focus.index(),
        false => p.index() < model.focus.index(),
    };
    let (first, last) = (shown.first(), shown.last());
    let next = match step > 0 {
        true => shown.iter().find(|p| beside(p)).or(first),
        false => shown.iter().rfind(|p| beside(p)).or(last),
    };
    next.copied().unwrap_or(model.focus)
}

/// A focus that has lost its place goes to the first panel that has one.
pub fn settle(model: &mut Model) {
    if !model.arrangement.shows(model.focus) {
        model.focus = neighbour(model, 1);
    }
}

/// Where one panel has the whole screen, all come back; whether that was so.
pub fn leave_alone(model: &mut Model) -> bool {
    let alone = model.expanded || !model.arrangement.shows(model.focus);
    model.expanded = false;
    settle(model);
    alone
}

/// A click: the panel has the focus, and in the matrix the entry has the cursor.
pub fn look_at(model: &mut Model, panel: Panel, area: Rect, at: Position) {
    if model.edit.is_none() {
        model.focus = panel;
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

/// The member under the cursor votes, or no longer.
pub fn vote(model: &Model) -> Vec<Effect> {
    let member = model.cursor.member;
    let voting = &model.snapshot.combination.voting;
    let votes = voting.get(member).copied().unwrap_or(true);
    vec![Effect::Send(Command::SetVote(member, !votes))]
}

/// The focused panel shows the next level: ensemble, member, worker.
pub fn deeper(model: &mut Model) {
    let (cursor, shown) = (model.cursor, &model.snapshot);
    let whose = match model.focus {
        Panel::Latency => &mut model.scopes.latency,
        _ => &mut model.scopes.throughput,
    };
    let deeper = whose.there(shown).deeper(cursor, shown);
    *whose = match (model.focus, deeper) {
        // Rates are counted for members, not for workers.
        (Panel::Throughput, Whose::Worker(_)) => Whose::Ensemble,
        (_, deeper) => deeper,
    };
}

/// The panel shows the next of the same level.
pub fn step(model: &mut Model, panel: Panel, step: isize) {
    let shown = &model.snapshot;
    let whose = match panel {
        Panel::Latency => &mut model.scopes.latency,
        _ => &mut model.scopes.throughput,
    };
    *whose = whose.there(shown).step(step, shown);
}

/// Older steps of the search, or newer ones.
pub fn scroll_search(model: &mut Model, step: isize) {
    let search = model.snapshot.search.as_ref();
    let steps = search.map_or(0, |s| s.progress.accepted.len());
    model.search_back = moved(model.search_back, -step, steps);
}
