//! Pasted text: between the marks of a terminal that has them, else recognised by its pace.

use std::collections::BTreeSet;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::model::ConsoleEvent;

/// The mark at the end of pasted text.
const END: &str = "\x1b[201~";
/// More text than this is read and dropped: nothing here takes a longer line.
const MOST: usize = 1 << 20;

/// Pasted text as far as it has come.
#[derive(Debug)]
pub(super) struct PasteCollector {
    text: String,
    /// So much of the end mark has come.
    ending: usize,
    /// When several characters came together at last.
    grew: Duration,
}

impl PasteCollector {
    /// After the mark at the beginning, at `now`.
    pub(super) fn new(now: Duration) -> Self {
        PasteCollector {
            text: String::new(),
            ending: 0,
            grew: now,
        }
    }

    /// Returns when it grew by more than single keys.
    pub(super) fn grew(&self) -> Duration {
        self.grew
    }

    /// Takes a character; returns true at the end. `at` is the time if others came with it.
    pub(super) fn push(&mut self, c: char, at: Option<Duration>) -> bool {
        self.grew = at.unwrap_or(self.grew);
        if END[self.ending..].starts_with(c) {
            self.ending += 1;
            return self.ending == END.len();
        }
        self.add(&END[..self.ending]);
        self.ending = usize::from(c == '\x1b');
        if self.ending == 0 {
            self.add(c.encode_utf8(&mut [0; 4]));
        }
        false
    }

    fn add(&mut self, text: &str) {
        if self.text.len() + text.len() <= MOST {
            self.text.push_str(text);
        }
    }

    /// Returns the text without its marks.
    pub(super) fn text(self) -> String {
        self.text
    }
}

/// So many signs at once are no typing, even over a slow connection.
const MANY: usize = 12;
/// A key that is held down comes many times too, but is always the same one.
const DIFFERENT: usize = 6;

/// Returns the events of inputs that came at once, in order. Keys that look like pasted text
/// become a paste: nobody types like that, and not every terminal marks a paste as such.
pub(in crate::console) fn console_events(inputs: &[Event]) -> Vec<ConsoleEvent> {
    let mut events = Vec::new();
    for run in inputs.chunk_by(|a, b| typed_sign(a).is_some() == typed_sign(b).is_some()) {
        let text: String = run.iter().filter_map(typed_sign).collect();
        match is_pasted(&text) {
            true => events.push(ConsoleEvent::Paste(text)),
            false => events.extend(run.iter().filter_map(console_event)),
        }
    }
    events
}

fn is_pasted(text: &str) -> bool {
    let different: BTreeSet<char> = text.chars().collect();
    text.chars().count() >= MANY && different.len() >= DIFFERENT
}

/// The sign that a key types, if it types one.
pub(in crate::console) fn typed_sign(input: &Event) -> Option<char> {
    let Event::Key(key) = input else { return None };
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
fn console_event(input: &Event) -> Option<ConsoleEvent> {
    Some(match input {
        Event::Key(key) => ConsoleEvent::Key(*key),
        Event::Paste(text) => ConsoleEvent::Paste(text.clone()),
        Event::Mouse(mouse) => ConsoleEvent::Mouse(*mouse),
        Event::Resize(width, height) => ConsoleEvent::Resize(*width, *height),
        Event::FocusGained | Event::FocusLost => return None,
    })
}
