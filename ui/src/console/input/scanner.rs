//! Converts the bytes of a terminal into events: keys, the mouse, pasted text.
//!
//! Terminals also send replies: their name, their colours, the cursor's place. A reply to another
//! program may arrive here, late and in pieces, and must not act as keys. The same bytes can be a
//! piece of a reply or keys: `ESC ]` is Alt-], and `1` after it is a key or the first digit of a
//! colour's number. This state machine, which has no clock, distinguishes them:
//!
//! - Characters within [`TOGETHER`] of each other were sent by a program; keys arrive alone.
//! - A character that arrives alone and may continue a reply waits for at most [`TYPED`]. If the
//!   reply does not continue, the character is a key. Every other key is returned at once.
//! - A reply that is cut off is dropped: its missing end does not block keys.

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::pasted::PasteCollector;
use super::sequences;
use super::started::{SequenceKind, StartedSequence};
use super::utf8::PartialChar;

/// The time within which characters belong together. Keys are pressed further apart, and terminals
/// send the characters of a key faster.
pub const TOGETHER: Duration = Duration::from_millis(50);
/// The wait for a character that may be a key, or the next character of a slow reply.
pub const TYPED: Duration = Duration::from_millis(750);
/// The time within which the rest of a reply arrives.
pub const CUT: Duration = Duration::from_secs(3);
/// The silence after which pasted text without an end is returned.
pub const PASTED: Duration = Duration::from_secs(5);

/// The timing of a character.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieceOfInput {
    /// The time since the previous byte.
    pub(super) gap: Duration,
    /// Whether others arrived at the same time, or just before.
    pub(super) together: bool,
    /// The number of characters that arrived at the same time.
    pub(super) count: usize,
}

#[derive(Debug, Default)]
enum ScanState {
    /// Between keys.
    #[default]
    Ready,
    /// After ESC.
    Escape,
    /// After an ESC that was returned as a key. The rest of a reply may still arrive.
    AfterEscape,
    /// After `ESC O`; holds whether that ESC was returned before.
    Application(bool),
    /// Inside of a control sequence or a string.
    Started(StartedSequence),
    /// Inside of the three bytes after `ESC [ M`.
    Mouse(Vec<u8>),
    /// Inside of pasted text.
    Paste(PasteCollector),
}

/// The state machine from bytes to events.
#[derive(Debug, Default)]
pub struct InputScanner {
    partial: PartialChar,
    state: ScanState,
    /// The time of the last byte.
    last: Duration,
    events: Vec<Event>,
    /// The first of the last characters in `events` that arrived one after another.
    typed_from: usize,
}

impl InputScanner {
    /// Takes bytes that arrived at `now` and returns the events they complete.
    pub fn take(&mut self, bytes: &[u8], now: Duration) -> Vec<Event> {
        let starts = bytes.iter().filter(|byte| **byte & 0xc0 != 0x80);
        let count = starts.count().max(1);
        let gap = now.saturating_sub(self.last);
        let mut piece = PieceOfInput {
            gap,
            together: count > 1 || gap <= TOGETHER,
            count,
        };
        // `lapse` may not have been called in time, such as while the program was stopped.
        if gap > TYPED {
            self.give_up_due(now);
        }
        for byte in bytes {
            self.byte(*byte, piece);
            piece.gap = Duration::ZERO;
            self.last = now;
        }
        self.handed_out()
    }

    /// Returns the time for [`lapse`](Self::lapse) if no byte arrives before, or `None` if nothing
    /// waits.
    pub fn deadline(&self) -> Option<Duration> {
        match &self.state {
            ScanState::Escape | ScanState::Application(_) => Some(self.last + TOGETHER),
            ScanState::Started(started) => started.wait().map(|wait| self.last + wait),
            ScanState::Mouse(_) => Some(self.last + TYPED),
            ScanState::Paste(paste) => Some(paste.grew() + PASTED),
            ScanState::Ready | ScanState::AfterEscape => None,
        }
    }

    /// Returns the events of characters that have waited long enough at `now`.
    pub fn lapse(&mut self, now: Duration) -> Vec<Event> {
        self.give_up_due(now);
        self.handed_out()
    }

    fn give_up_due(&mut self, now: Duration) {
        while self.deadline().is_some_and(|due| due <= now) {
            self.give_up_one();
        }
    }

    fn handed_out(&mut self) -> Vec<Event> {
        self.typed_from = 0;
        std::mem::take(&mut self.events)
    }

    /// Returns waiting characters that do not form a sequence as keys.
    fn give_up_one(&mut self) {
        match std::mem::take(&mut self.state) {
            ScanState::Started(mut started) if started.tells_key_first() => {
                started.key.take().into_iter().for_each(|key| self.key(key));
                self.state = ScanState::Started(started);
            }
            state => self.give_up(state),
        }
    }

    fn give_up(&mut self, state: ScanState) {
        match state {
            ScanState::Escape => {
                self.key(KeyCode::Esc.into());
                self.state = ScanState::AfterEscape;
            }
            ScanState::Application(late) => self.key(second('O', late)),
            ScanState::Started(started) => self.give_up_started(&started),
            ScanState::Paste(paste) => self.event(Event::Paste(paste.text())),
            ScanState::Mouse(_) | ScanState::Ready | ScanState::AfterEscape => {}
        }
    }

    fn give_up_started(&mut self, started: &StartedSequence) {
        started.key.into_iter().for_each(|key| self.key(key));
        for c in started.doubtful.chars() {
            self.key(sequences::typed(c));
        }
        if started.closing == Some(false) {
            self.give_up(ScanState::Escape);
        }
    }

    fn byte(&mut self, byte: u8, piece: PieceOfInput) {
        match &mut self.state {
            ScanState::Mouse(bytes) => {
                bytes.push(byte);
                if let Ok(bytes) = <[u8; 3]>::try_from(bytes.as_slice()) {
                    self.state = ScanState::Ready;
                    self.events(sequences::old_mouse(bytes));
                }
            }
            _ => {
                if let Some(c) = self.partial.push(byte) {
                    self.char(c, piece);
                }
            }
        }
    }

    fn char(&mut self, c: char, piece: PieceOfInput) {
        match std::mem::take(&mut self.state) {
            ScanState::Ready => self.first(c),
            ScanState::Escape => self.second(c, piece),
            ScanState::AfterEscape => self.second_of_late(c, piece),
            ScanState::Application(late) => self.application(c, late, piece),
            ScanState::Started(started) if started.is_over(piece) => {
                self.give_up_started(&started);
                self.char(c, piece);
            }
            ScanState::Started(started) => self.within(started, c, piece),
            ScanState::Paste(paste) => self.paste(paste, c, piece),
            // Its bytes are not interpreted.
            ScanState::Mouse(_) => {}
        }
    }

    fn first(&mut self, c: char) {
        match (c, SequenceKind::of_control(c)) {
            ('\x1b', _) => self.state = ScanState::Escape,
            (_, Some(kind)) => {
                self.state = ScanState::Started(StartedSequence::eight_bit(kind));
            }
            ('\u{9c}', _) => self.end_of_unknown(),
            ('\x07', _) if self.events.len() >= self.typed_from + TAIL => self.end_of_unknown(),
            ('\u{80}'..='\u{9f}', _) => {}
            (c, _) => self.key(sequences::typed(c)),
        }
    }

    /// Handles the character after a waiting ESC.
    fn second(&mut self, c: char, piece: PieceOfInput) {
        let key = second(c, false);
        match (c, SequenceKind::of_second(c)) {
            (_, Some(kind)) => self.state = ScanState::Started(StartedSequence::new(kind, key)),
            ('O', _) => self.state = ScanState::Application(false),
            ('\\', _) if piece.count > 2 => self.end_of_unknown(),
            ('\x1b', _) => {
                self.key(KeyCode::Esc.into());
                self.state = ScanState::Escape;
            }
            ('\u{80}'..='\u{9f}', _) => {}
            _ => self.key(key),
        }
    }

    /// Handles the character after an ESC that was returned as a key.
    fn second_of_late(&mut self, c: char, piece: PieceOfInput) {
        let limit = if piece.together { CUT } else { TYPED };
        match SequenceKind::of_second(c) {
            _ if piece.gap > limit => self.first(c),
            // The continuation of these is unknown.
            Some(SequenceKind::Other) | None if c != 'O' || !piece.together => self.first(c),
            Some(kind) => {
                let started = StartedSequence::late(kind, second(c, true));
                self.state = ScanState::Started(started);
            }
            None => self.state = ScanState::Application(true),
        }
    }

    /// Handles the character after `ESC O`.
    fn application(&mut self, c: char, late: bool, piece: PieceOfInput) {
        match sequences::application_key(c) {
            Some(event) => self.event(event),
            None => {
                self.key(second('O', late));
                self.char(c, piece);
            }
        }
    }

    /// Handles a character inside of a sequence.
    fn within(&mut self, mut started: StartedSequence, c: char, piece: PieceOfInput) {
        if let Some(together) = started.closing {
            return self.closing(started, together, c, piece);
        }
        let string = started.kind != SequenceKind::Control;
        match c {
            '\x1b' if string && (started.is_certain() || piece.together) => {
                started.closing = Some(piece.together);
                self.state = ScanState::Started(started);
            }
            '\x07' | '\u{9c}' if string && (started.is_certain() || piece.together) => {}
            ' '..='?' if !string => self.within_control(started, c, piece),
            '@'..='~' if !string => self.end_of_control(started, c, piece),
            c if string && !c.is_control() => self.within_control(started, c, piece),
            // A control character inside of a string has no meaning; alone it is a key.
            _ if string && started.is_certain() && piece.together => {
                self.state = ScanState::Started(started);
            }
            _ => {
                self.give_up_started(&started);
                self.char(c, piece);
            }
        }
    }

    fn within_control(&mut self, mut started: StartedSequence, c: char, piece: PieceOfInput) {
        if started.push(c, piece) {
            self.state = ScanState::Started(started);
            return;
        }
        self.give_up_started(&started);
        self.char(c, piece);
    }

    /// Handles the character after ESC inside of a string, which ends with `ESC \`.
    fn closing(
        &mut self,
        mut started: StartedSequence,
        together: bool,
        c: char,
        piece: PieceOfInput,
    ) {
        if c == '\\' {
            return;
        }
        let late = piece.gap > TOGETHER;
        started.closing = started.closing.filter(|_| late);
        self.give_up_started(&started);
        if !late {
            self.state = ScanState::Escape;
        } else if together {
            // The ESC was the first half of the end.
            self.state = ScanState::Ready;
        }
        self.char(c, piece);
    }

    fn end_of_control(&mut self, mut started: StartedSequence, last: char, piece: PieceOfInput) {
        let unbroken = started.is_unbroken(piece);
        match (started.text.as_str(), last) {
            ("", '[') if unbroken => {
                started.push(last, piece);
                self.state = ScanState::Started(started);
            }
            ("", 'M') if unbroken => self.state = ScanState::Mouse(Vec::new()),
            ("200", '~') => {
                let now = self.last + piece.gap;
                self.state = ScanState::Paste(PasteCollector::new(now));
            }
            (text, _) if started.is_ended_by(last, piece) => {
                self.events(sequences::event(text, last));
            }
            _ => {
                self.give_up_started(&started);
                self.char(last, piece);
            }
        }
    }

    fn paste(&mut self, mut paste: PasteCollector, c: char, piece: PieceOfInput) {
        let at = self.last + piece.gap;
        match paste.push(c, piece.together.then_some(at)) {
            true => self.event(Event::Paste(paste.text())),
            false => self.state = ScanState::Paste(paste),
        }
    }

    /// Handles the end of a string with an unknown beginning: the text before it, which arrived at
    /// the same time, belongs to it.
    fn end_of_unknown(&mut self) {
        self.events.truncate(self.typed_from);
    }

    fn key(&mut self, key: KeyEvent) {
        let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        let typed = plain && matches!(key.code, KeyCode::Char(_));
        self.events.push(Event::Key(key));
        if !typed {
            self.typed_from = self.events.len();
        }
    }

    fn event(&mut self, event: Event) {
        self.events.push(event);
        self.typed_from = self.events.len();
    }

    fn events(&mut self, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| self.event(event));
    }
}

/// The number of characters at once after which a bell ends a string that began elsewhere.
const TAIL: usize = 4;

/// Returns the key for `c` after ESC: with Alt, unless that ESC was a separate key.
fn second(c: char, late: bool) -> KeyEvent {
    let mut key = sequences::typed(c);
    if !late {
        key.modifiers |= KeyModifiers::ALT;
    }
    key
}
