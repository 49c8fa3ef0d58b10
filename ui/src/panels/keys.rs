//! Keys as hints name them, from the table of commands.

use crate::commands::{BINDINGS, Binding, CommandInfo};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;

/// A command with a word about it.
pub(super) type Hint = (&'static CommandInfo, &'static str);

/// The first key of a command, as the footer writes it; empty where it has none.
pub(super) fn label(model: &Model, command: &CommandInfo) -> String {
    binding(model, command).map_or(String::new(), |e| e.key_label(&model.settings.keys))
}

/// The command as it can be reached now: some have other keys while editing.
fn binding(model: &Model, command: &CommandInfo) -> Option<&'static Binding> {
    let same = BINDINGS.iter().filter(|b| b.command == command);
    same.min_by_key(|b| !model.reaches(b))
}

/// Whether a hint would be of use: who may only look is not told how to change things.
pub(super) fn is_offered(binding: &Binding, model: &Model) -> bool {
    !(binding.command.changes && model.read_only)
}

fn offered<'a>(model: &Model, hints: &'a [Hint]) -> impl Iterator<Item = &'a Hint> {
    hints
        .iter()
        .filter(|hint| binding(model, hint.0).is_none_or(|e| is_offered(e, model)))
}

/// Keys with a word each: `e edit, s search`.
pub(super) fn words(model: &Model, hints: &[Hint]) -> String {
    let word = |(command, word): &Hint| format!("{} {word}", label(model, command));
    let words: Vec<String> = offered(model, hints).map(word).collect();
    words.join(", ")
}

/// Draws keys with a word each, as many as fit; returns the column after them.
pub(super) fn draw(
    pen: &mut Painter<'_>,
    mut x: u16,
    y: u16,
    model: &Model,
    hints: &[Hint],
) -> u16 {
    let gap = if pen.width() < 44 { 1 } else { 3 };
    for (command, word) in offered(model, hints) {
        let key = label(model, command);
        let taken = format::width(&key) + 1 + format::width(word);
        if x + taken > pen.width() {
            break;
        }
        // A key that means nothing just now is there, but quiet.
        let works = binding(model, command).is_some_and(|b| model.reaches(b));
        let role = if works { Role::Accent } else { Role::Dim };
        x = pen.pieces(x, y, &[(&key, role), (" ", Role::Dim), (word, Role::Dim)]) + gap;
    }
    x
}
