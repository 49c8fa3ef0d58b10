//! Keys to the dialog on top, and what it makes of them.

use crossterm::event::KeyEvent;
use divisi::session::{Command, Terms};

use super::state::ConsoleState;
use crate::actions;
use crate::dialogs::{Dialog, DialogReply, Form};
use crate::model::Effect;

/// Hands the key to the dialog on top; returns `None` where there is none that wants it.
pub(super) fn on_key(state: &mut ConsoleState, key: &KeyEvent) -> Option<Vec<Effect>> {
    let mut dialog = state.dialogs.pop()?;
    let refusal = state.consent.refusal();
    let before = refusal.is_some().then(|| dialog.clone());
    let reply = dialog.body_mut().on_key(key, &mut state.model);
    if let (Some(why), Some(before), true) = (refusal, before, reply.does_something()) {
        state.dialogs.push(before);
        state.model.say(why, true);
        return Some(Vec::new());
    }
    follow(state, dialog, reply)
}

fn follow(state: &mut ConsoleState, dialog: Dialog, reply: DialogReply) -> Option<Vec<Effect>> {
    let model = &mut state.model;
    match reply {
        DialogReply::Stay => state.dialogs.push(dialog),
        DialogReply::Close => {}
        DialogReply::Pass => return None,
        DialogReply::Send(Command::Apply(..)) if model.settings.config.on_probation => {
            guard(state, dialog);
        }
        DialogReply::Send(command) => return Some(vec![Effect::Send(command)]),
        DialogReply::Run(binding) => return Some(state.run(binding)),
        DialogReply::Stage(setting) => {
            let staged = actions::stage(model, setting);
            return Some(state.follow(staged));
        }
        DialogReply::Apply(terms) => return Some(guarded(state, terms)),
        DialogReply::BringBack { number, setup } => {
            let compared = actions::bring_back(model, number, *setup);
            state.dialogs.push(dialog);
            return Some(state.follow(compared));
        }
        DialogReply::SaveLayout(name) => {
            let layout = model.arrangement.named(&name);
            return Some(vec![Effect::SaveLayout(layout)]);
        }
        DialogReply::Guard => guard(state, dialog),
        DialogReply::Ask(effect) => {
            state.dialogs.push(dialog);
            return Some(vec![effect]);
        }
        DialogReply::DropEdit => model.edit = None,
        DialogReply::Quit => return Some(vec![Effect::Quit]),
    }
    Some(Vec::new())
}

/// Asks on what terms what is compared is applied.
fn guard(state: &mut ConsoleState, compare: Dialog) {
    state.dialogs.push(compare);
    let form = Form::terms(&state.model.change.terms);
    state.dialogs.push(Dialog::Form(form));
}

/// Applies the compared setup on probation. It is rolled back if the terms are not kept.
fn guarded(state: &ConsoleState, terms: Terms) -> Vec<Effect> {
    let compared = state.dialogs.last().and_then(|d| d.body().compared());
    let apply = compared.map(|setup| {
        let setup = Box::new(setup.clone());
        Effect::Send(Command::Apply(setup, Some(terms)))
    });
    apply.into_iter().collect()
}
