//! Pasted text: between the marks of terminals that send them, else recognised by its pace.

use std::collections::BTreeSet;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::model::ConsoleEvent;

/// The mark at the end of pasted text.
const END: &str = "\x1b[201~";
/// The limit of pasted text. The rest is read and dropped, since no line takes more.
const MOST: usize = 1 << 20;

/// The pasted text received so far.
#[derive(Debug)]
pub(super) struct PasteCollector {
    text: String,
    /// The received length of the end mark.
    ending: usize,
    /// The last time at which several characters arrived together.
    grew: Duration,
}

impl PasteCollector {
    /// Creates the collector after the start mark, at `now`.
    pub(super) fn new(now: Duration) -> Self {
        PasteCollector {
            text: String::new(),
            ending: 0,
            grew: now,
        }
    }

    /// Returns the last time at which it grew by more than single keys.
    pub(super) fn grew(&self) -> Duration {
        self.grew
    }

    /// Adds a character and returns true at the end. `at` is the time if others arrived with it.
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

/// This many characters at once are not typed, even over a slow connection.
const MANY: usize = 12;
/// The minimum number of different characters: a key held down repeats a single one.
const DIFFERENT: usize = 6;

/// Returns the events of inputs that arrived at once, in order. Keys at the pace of pasted text
/// become a paste, since not every terminal marks one.
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

/// Returns the character that a key types, if any.
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
