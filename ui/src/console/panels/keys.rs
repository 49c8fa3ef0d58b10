//! Keys as hints name them, from the table of commands.

use crate::console::commands::{Entry, Id, TABLE};
use crate::console::format;
use crate::console::model::Model;
use crate::console::painter::Painter;
use crate::console::theme::Role;

/// The first key of a command, as the footer writes it; empty where it has none.
pub fn label(model: &Model, id: Id) -> String {
    entry(model, id).map_or(String::new(), |e| e.key_label(&model.settings.keys))
}

/// The command as it can be reached now: some have other keys while editing.
fn entry(model: &Model, id: Id) -> Option<&'static Entry> {
    let same = TABLE.iter().filter(|e| e.id == id);
    same.min_by_key(|e| !e.reachable(model))
}

/// Whether a hint would be of use: who may only look is not told how to change things.
pub fn is_offered(entry: &Entry, model: &Model) -> bool {
    !(entry.changes && model.read_only)
}

fn offered<'a>(
    model: &Model,
    hints: &'a [(Id, &'static str)],
) -> impl Iterator<Item = &'a (Id, &'static str)> {
    hints
        .iter()
        .filter(|hint| entry(model, hint.0).is_none_or(|e| is_offered(e, model)))
}

/// Keys with a word each: `e edit, s search`.
pub fn words(model: &Model, hints: &[(Id, &'static str)]) -> String {
    let word = |(id, word): &(Id, &str)| format!("{} {word}", label(model, *id));
    let words: Vec<String> = offered(model, hints).map(word).collect();
    words.join(", ")
}

/// Draws keys with a word each, as many as fit; gives the column after them.
pub fn draw(
    pen: &mut Painter<'_>,
    mut x: u16,
    y: u16,
    model: &Model,
    hints: &[(Id, &'static str)],
) -> u16 {
    let gap = if pen.width() < 44 { 1 } else { 3 };
    for (id, word) in offered(model, hints) {
        let key = label(model, *id);
        let taken = format::width(&key) + 1 + format::width(word);
        if x + taken > pen.width() {
            break;
        }
        // A key that means nothing just now is there, but quiet.
        let works = entry(model, *id).is_some_and(|e| e.reachable(model));
        let role = if works { Role::Accent } else { Role::Dim };
        x = pen.pieces(x, y, &[(&key, role), (" ", Role::Dim), (word, Role::Dim)]) + gap;
    }
    x
}
