//! An incomplete sequence: how long it waits for its rest, and which of its characters may be keys.

use std::time::Duration;

use crossterm::event::KeyEvent;

use super::scanner::{CUT, PieceOfInput, TOGETHER, TYPED};

/// The kinds of sequences by their beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SequenceKind {
    /// `ESC [`: keys, the mouse and reports, ended by a letter.
    Control,
    /// `ESC ]`: a command of the operating system, such as a colour.
    Command,
    /// `ESC P`: a control string of the device, such as the terminal's name.
    Device,
    /// `ESC _`: a string of an application, such as an answer about pictures.
    Application,
    /// `ESC ^` and `ESC X`: strings without a meaning here.
    Other,
}

impl SequenceKind {
    /// Returns the kind that begins with ESC and `second`.
    pub(super) fn of_second(second: char) -> Option<Self> {
        Some(match second {
            '[' => SequenceKind::Control,
            ']' => SequenceKind::Command,
            'P' => SequenceKind::Device,
            '_' => SequenceKind::Application,
            '^' | 'X' => SequenceKind::Other,
            _ => return None,
        })
    }

    /// Returns the kind that an eight-bit control character begins.
    pub(super) fn of_control(control: char) -> Option<Self> {
        let second = u32::from(control).checked_sub(0x40)?;
        let eight_bit = ('\u{80}'..='\u{9f}').contains(&control);
        Self::of_second(char::from_u32(second).filter(|_| eight_bit)?)
    }

    /// Returns whether a known reply of this kind begins with `text`.
    fn begins(self, text: &str) -> bool {
        match self {
            SequenceKind::Control => true,
            SequenceKind::Command => begins_command(text),
            SequenceKind::Device => {
                text.starts_with(|c: char| c.is_ascii_digit() || c == '>' || c == '!')
            }
            SequenceKind::Application => text.starts_with('G'),
            SequenceKind::Other => false,
        }
    }

    /// Returns whether `text` is the beginning of a reply even if its characters arrived one by
    /// one.
    fn is_told_by(self, text: &str) -> bool {
        match self {
            SequenceKind::Control | SequenceKind::Other => false,
            SequenceKind::Command => text.contains(';') || is_title(text),
            SequenceKind::Device | SequenceKind::Application => text.len() > 1,
        }
    }
}

/// Returns whether `text` is a number with a semicolon, or the letter of a title.
fn begins_command(text: &str) -> bool {
    let number = text.split(';').next().unwrap_or_default();
    let digits = number.len() <= 5 && number.chars().all(|c| c.is_ascii_digit());
    digits || text.starts_with(TITLES)
}

/// The first letters of replies about titles, followed by the title.
const TITLES: [char; 3] = ['l', 'L', 'I'];

fn is_title(text: &str) -> bool {
    text.starts_with(TITLES) && text.chars().count() > 1
}

/// The length of a string that is kept to identify it.
const BEGINNING: usize = 16;
/// The longest control sequence. More characters in a row are keys.
const MOST: usize = 64;

/// A sequence that has begun.
#[derive(Debug)]
pub(super) struct StartedSequence {
    pub(super) kind: SequenceKind,
    /// The key for the beginning if no sequence follows, or `None` once it was returned.
    pub(super) key: Option<KeyEvent>,
    /// Whether ESC was returned as a key before, so that the beginning waits longer.
    after_escape: bool,
    /// Whether everything since the beginning arrived at once.
    unbroken: bool,
    /// The parameters of a control sequence, or the beginning of a string.
    pub(super) text: String,
    /// Characters that arrived alone, which are keys if the sequence does not continue.
    pub(super) doubtful: String,
    /// Whether only a sequence has this beginning.
    certain: bool,
    /// Whether no known reply has this beginning.
    strange: bool,
    /// Whether the ESC of a possible end arrived together with others, or `None` without such an
    /// ESC.
    pub(super) closing: Option<bool>,
}

impl StartedSequence {
    /// Creates a sequence after ESC and another character at once, which could be `key`.
    pub(super) fn new(kind: SequenceKind, key: KeyEvent) -> Self {
        StartedSequence {
            kind,
            key: Some(key),
            after_escape: false,
            unbroken: true,
            text: String::new(),
            doubtful: String::new(),
            certain: false,
            strange: false,
            closing: None,
        }
    }

    /// Creates a sequence after an eight-bit control character, which no key sends.
    pub(super) fn eight_bit(kind: SequenceKind) -> Self {
        StartedSequence {
            key: None,
            certain: true,
            ..StartedSequence::new(kind, crossterm::event::KeyCode::Null.into())
        }
    }

    /// Creates a sequence after an ESC that was returned as a key.
    pub(super) fn late(kind: SequenceKind, key: KeyEvent) -> Self {
        StartedSequence {
            after_escape: true,
            unbroken: false,
            ..StartedSequence::new(kind, key)
        }
    }

    /// Returns the time after the last byte at which characters are returned as keys, or `None` if
    /// no character waits.
    pub(super) fn wait(&self) -> Option<Duration> {
        let alone = self.closing == Some(false);
        match self.key {
            Some(_) if self.after_escape => Some(TYPED),
            Some(_) => Some(TOGETHER),
            None if self.strange => Some(TOGETHER),
            None if alone || !self.doubtful.is_empty() => Some(TYPED),
            None => None,
        }
    }

    /// Returns whether the beginning is returned first while the rest still waits.
    pub(super) fn tells_key_first(&self) -> bool {
        self.key.is_some() && !self.after_escape && !self.strange
    }

    /// Returns whether `piece` arrives too late to belong to it.
    pub(super) fn is_over(&self, piece: PieceOfInput) -> bool {
        let limit = if self.certain || piece.together {
            CUT
        } else {
            TYPED
        };
        piece.gap > limit
    }

    /// Returns whether it is certainly a sequence.
    pub(super) fn is_certain(&self) -> bool {
        self.certain
    }

    /// Returns whether a letter ends this control sequence; else the letter is a key.
    pub(super) fn is_ended_by(&self, last: char, piece: PieceOfInput) -> bool {
        let at_once = self.unbroken && piece.gap <= TOGETHER;
        let rest = piece.together && !self.text.is_empty();
        at_once || rest || super::sequences::is_known(&self.text, last)
    }

    /// Returns whether everything including `piece` arrived at once.
    pub(super) fn is_unbroken(&self, piece: PieceOfInput) -> bool {
        self.unbroken && piece.gap <= TOGETHER
    }

    /// Adds a character. Returns false if the character cannot belong to it.
    pub(super) fn push(&mut self, c: char, piece: PieceOfInput) -> bool {
        self.unbroken &= piece.gap <= TOGETHER;
        let taken = match self.certain {
            true => piece.together || self.goes_on_with(c),
            false => self.begins_with(c, piece),
        };
        if !taken || self.is_too_long() {
            return false;
        }
        self.keep(c);
        self.settle(piece);
        true
    }

    fn is_too_long(&self) -> bool {
        let long = self.kind == SequenceKind::Control && self.text.len() >= MOST;
        long || self.doubtful.chars().count() >= MOST
    }

    /// Returns whether `c` may follow while the characters may still be keys.
    fn begins_with(&mut self, c: char, piece: PieceOfInput) -> bool {
        let known = self.kind.begins(&format!("{}{c}", self.text));
        // More characters at once are not typed.
        let many = piece.count > 3;
        self.strange |= !known && !many;
        known || many || self.unbroken
    }

    /// Returns whether `c` may follow alone after a certain beginning.
    fn goes_on_with(&self, c: char) -> bool {
        !self.is_colour() || c.is_ascii_hexdigit() || ":;/rgb?#".contains(c)
    }

    /// Returns whether it is a reply about a colour: `10;rgb:ffff/ffff/ffff`, `4;1;rgb:…`.
    fn is_colour(&self) -> bool {
        let number = self.text.split_once(';').and_then(|(n, _)| n.parse().ok());
        self.kind == SequenceKind::Command && matches!(number, Some(4 | 5 | 10..=19))
    }

    fn keep(&mut self, c: char) {
        if self.kind == SequenceKind::Control || self.text.len() < BEGINNING {
            self.text.push(c);
        }
        self.doubtful.push(c);
    }

    /// Drops the piece, which is not a key, once the sequence is certain.
    fn settle(&mut self, piece: PieceOfInput) {
        let begins = !self.strange && self.unbroken;
        let several = self.text.chars().count() > 1;
        self.certain |= piece.together && (begins || several);
        self.certain |= self.kind.is_told_by(&self.text);
        if self.certain {
            self.key = None;
            self.strange = false;
        }
        if self.certain && piece.together {
            self.doubtful.clear();
        }
    }
}
