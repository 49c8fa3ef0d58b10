//! What the keys of a demonstration do.

use divisi::session::Command;

use super::drive;
use crate::console::commands::Id;
use crate::console::dialogs::{Confirm, Dialog, Then};
use crate::console::effect::Effect;
use crate::console::model::Model;

/// The next scene, the one before, this one again, or no more. A scene begins at once:
/// where nothing is served, news come late.
pub fn act(model: &mut Model, id: Id) -> Vec<Effect> {
    let Some(demo) = model.demo.as_mut() else {
        return Vec::new();
    };
    match id {
        // A presenter's next key must not mean something else of a sudden.
        Id::DemoNext if demo.is_last() => {
            model.say("that was the last scene: Esc leaves", false);
            return Vec::new();
        }
        Id::DemoNext => demo.go_to(demo.scene + 1),
        Id::DemoBack => demo.go_to(demo.scene.saturating_sub(1)),
        Id::DemoRepeat => demo.go_to(demo.scene),
        _ => leave(model),
    }
    drive::on_news(model)
}

fn leave(model: &mut Model) {
    model.demo = None;
    model.expanded = false;
    let text = "the demonstration is over; what it set up goes on, u brings back what ran before";
    model.say(text, false);
}

/// Leaving the program from a demonstration is asked first.
pub fn question() -> Dialog {
    let text = "End the demonstration and leave the program? Esc alone ends the demonstration and stays in the console.";
    Dialog::Confirm(Confirm::new("quit", text, Then::Quit))
}

/// Whether the demonstration asked for this; its steps show in the footer, and a dialog
/// would hide what is to be seen.
pub fn is_reload_of(model: &Model, command: &Command) -> bool {
    let asked = model.demo.as_ref().is_some_and(|demo| demo.asked);
    asked && matches!(command, Command::Apply(..))
}
