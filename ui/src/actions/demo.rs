//! Going through a demonstration; its player notices that a scene has begun.

use crate::model::Model;

/// Goes to the next scene; says so where there is none.
pub fn next(model: &mut Model) {
    // A presenter's next key must not mean something else of a sudden.
    match &mut model.demo {
        Some(demo) if demo.is_last() => model.say("that was the last scene: Esc leaves", false),
        Some(demo) => demo.go_to(demo.scene() + 1),
        None => {}
    }
}

/// Goes to the scene before.
pub fn back(model: &mut Model) {
    if let Some(demo) = &mut model.demo {
        demo.go_to(demo.scene().saturating_sub(1));
    }
}

/// Begins this scene again.
pub fn repeat(model: &mut Model) {
    if let Some(demo) = &mut model.demo {
        demo.go_to(demo.scene());
    }
}

/// Ends the demonstration; the console stays.
pub fn leave(model: &mut Model) {
    model.demo = None;
    model.expanded = false;
    let text = "the demonstration is over; what it set up goes on, u brings back what ran before";
    model.say(text, false);
}
