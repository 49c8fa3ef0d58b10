//! Keys that came all at once: nobody types like that, so it is pasted text, from a
//! terminal that does not mark it as such.

use std::collections::BTreeSet;

use crossterm::event::{Event as Input, KeyCode, KeyEventKind, KeyModifiers};

use crate::model::ConsoleEvent;

/// So many signs at once are no typing, even over a slow connection.
const MANY: usize = 12;
/// A key that is held down comes many times too, but is always the same one.
const DIFFERENT: usize = 6;

/// It may be one of the keys that a pasted text came as.
pub(super) fn types_a_sign(input: &Input) -> bool {
    sign(input).is_some()
}

/// Returns the events of inputs that came at once, in order. Keys that look like pasted text
/// become a paste.
pub(super) fn events(inputs: &[Input]) -> Vec<ConsoleEvent> {
    let mut events = Vec::new();
    for run in inputs.chunk_by(|a, b| sign(a).is_some() == sign(b).is_some()) {
        let text: String = run.iter().filter_map(sign).collect();
        match is_pasted(&text) {
            true => events.push(ConsoleEvent::Paste(text)),
            false => events.extend(run.iter().filter_map(event)),
        }
    }
    events
}

fn is_pasted(text: &str) -> bool {
    let different: BTreeSet<char> = text.chars().collect();
    text.chars().count() >= MANY && different.len() >= DIFFERENT
}

/// The sign that a key types, if it types one.
fn sign(input: &Input) -> Option<char> {
    let Input::Key(key) = input else { return None };
    let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
    match key.code {
        _ if !plain || key.kind == KeyEventKind::Release => None,
        KeyCode::Char(c) => Some(c),
        KeyCode::Enter => Some('\n'),
        KeyCode::Tab => Some('\t'),
        _ => None,
    }
}

/// Returns the event for an input, or `None` if the input does not matter.
fn event(input: &Input) -> Option<ConsoleEvent> {
    Some(match input {
        Input::Key(key) => ConsoleEvent::Key(*key),
        Input::Paste(text) => ConsoleEvent::Paste(text.clone()),
        Input::Mouse(mouse) => ConsoleEvent::Mouse(*mouse),
        Input::Resize(width, height) => ConsoleEvent::Resize(*width, *height),
        Input::FocusGained | Input::FocusLost => return None,
    })
}
