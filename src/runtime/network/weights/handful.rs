//! Names in messages: a few of them, the others counted.

use std::fmt;

/// The first few of what there is, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handful {
    shown: Vec<String>,
    count: usize,
}

impl Handful {
    /// As many are shown at most.
    pub const MOST: usize = 4;

    /// Adds one; what it is called is only asked where it will be shown.
    pub fn push(&mut self, said: impl FnOnce() -> String) {
        self.count += 1;
        if self.shown.len() < Self::MOST {
            self.shown.push(said());
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Those that are shown.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn separated(&self, by: &str) -> String {
        let mut text = self.shown.join(by);
        let more = self.count - self.shown.len();
        if more > 0 {
            text += &format!(" and {more} more");
        }
        text
    }
}

impl fmt::Display for Handful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.separated(", "))
    }
}

impl<S: AsRef<str>> FromIterator<S> for Handful {
    /// Quotes names.
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut handful = Handful::default();
        for name in names {
            handful.push(|| quoted(name.as_ref()));
        }
        handful
    }
}

/// Characters of a name that are shown.
const SHOWN: usize = 100;

/// Characters of a sentence that quotes a file.
const SENTENCE: usize = 300;

/// A sentence that may quote a file, as a terminal can show it.
pub(super) fn cut(said: &str) -> String {
    shown(said, SENTENCE)
}

/// A name of a file's own choosing, as a terminal can show it: in quotes, without control
/// characters, cut where it is long.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", shown(name, SHOWN))
}

fn shown(text: &str, most: usize) -> String {
    let mut start = String::new();
    for c in text.chars().take(most) {
        match c.is_control() {
            true => start.extend(c.escape_debug()),
            false => start.push(c),
        }
    }
    if text.chars().nth(most).is_some() {
        start.push('…');
    }
    start
}
