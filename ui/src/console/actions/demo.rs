//! Going through a demonstration. A scene begins at once: where nothing is served, news
//! come late.

use crate::console::demo;
use crate::console::effect::Effect;
use crate::console::model::Model;

/// Goes to the next scene; says so where there is none.
pub fn next(model: &mut Model) -> Vec<Effect> {
    // A presenter's next key must not mean something else of a sudden.
    if model.demo.as_ref().is_some_and(demo::Demo::is_last) {
        model.say("that was the last scene: Esc leaves", false);
        return Vec::new();
    }
    go(model, |scene| scene + 1)
}

/// Goes to the scene before.
pub fn back(model: &mut Model) -> Vec<Effect> {
    go(model, |scene| scene.saturating_sub(1))
}

/// Begins this scene again.
pub fn repeat(model: &mut Model) -> Vec<Effect> {
    go(model, |scene| scene)
}

fn go(model: &mut Model, to: fn(usize) -> usize) -> Vec<Effect> {
    if let Some(demo) = &mut model.demo {
        demo.go_to(to(demo.scene()));
    }
    demo::on_news(model)
}

/// Ends the demonstration; the console stays.
pub fn leave(model: &mut Model) {
    model.demo = None;
    model.expanded = false;
    let text = "the demonstration is over; what it set up goes on, u brings back what ran before";
    model.say(text, false);
}
