//! Input fields: a line of text, and a field of a form, which is a number, a text, or one of a few
//! words.

use std::fmt::Display;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A field with its value.
#[derive(Clone, Debug)]
pub(crate) struct FormField {
    pub name: &'static str,
    pub text: String,
    /// The text after the value: its unit, or how to change it.
    pub unit: &'static str,
    /// The words to choose from, or empty for a number.
    words: &'static [&'static str],
    /// Whether any text can be typed.
    pub free: bool,
    /// Whether something was typed since the field was entered. Before that, a digit replaces the
    /// whole value.
    pub touched: bool,
}

impl FormField {
    pub(crate) fn number(name: &'static str, value: impl ToString, unit: &'static str) -> Self {
        FormField {
            name,
            text: value.to_string(),
            unit,
            words: &[],
            free: false,
            touched: false,
        }
    }

    /// Creates a field for any text.
    pub(crate) fn free(name: &'static str, value: impl ToString) -> Self {
        FormField {
            free: true,
            ..FormField::number(name, value, "")
        }
    }

    /// Creates a field with a choice of `words`, starting with the first.
    pub(crate) fn one_of(name: &'static str, words: &'static [&'static str]) -> Self {
        FormField {
            name,
            text: words.first().map_or(String::new(), |w| (*w).to_owned()),
            unit: "space: other",
            words,
            free: false,
            touched: false,
        }
    }

    /// Sets the value.
    pub(crate) fn with_text(self, text: &str) -> Self {
        FormField {
            text: text.to_owned(),
            ..self
        }
    }

    pub(crate) fn on_key(&mut self, key: &KeyEvent) {
        match (key.code, self.words.is_empty()) {
            (KeyCode::Char(' '), false) => self.turn(),
            _ if self.free => {
                typed(&mut self.text, key);
            }
            (_, true) => self.type_number(key),
            _ => {}
        }
    }

    /// Pastes text, or only a number if one is expected. Returns whether it did.
    pub(crate) fn on_paste(&mut self, line: &str) -> bool {
        let fits = self.free || (self.words.is_empty() && is_number(line));
        if fits && !self.free && !self.touched {
            self.text.clear();
        }
        let taken = fits && pasted(&mut self.text, line);
        self.touched |= taken;
        taken
    }

    fn turn(&mut self) {
        let at = self.words.iter().position(|w| *w == self.text);
        let next = at.map_or(0, |at| (at + 1) % self.words.len());
        self.text = self.words[next].to_owned();
    }

    fn type_number(&mut self, key: &KeyEvent) {
        let part = |c: char| c.is_ascii_digit() || c == '.';
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let digit = matches!(key.code, KeyCode::Char(c) if !control && part(c));
        if digit && !self.touched {
            self.text.clear();
        }
        if digit || !matches!(key.code, KeyCode::Char(_) if !control) {
            self.touched |= typed(&mut self.text, key);
        }
    }
}

/// Returns the error of a field with an unexpected value.
pub(super) fn unexpected(name: &str, expected: impl Display, found: &str) -> String {
    format!("{name}: {}", only_unexpected(expected, found))
}

/// Returns the error of the only field of a form, which is not named.
pub(super) fn only_unexpected(expected: impl Display, found: &str) -> String {
    format!("expected {expected}, found `{found}`")
}

/// The longest text.
const MOST: usize = 1000;

/// Returns pasted text as one line. Line breaks and tabs become spaces, other control
/// characters are removed.
pub(crate) fn one_line(pasted: &str) -> String {
    let spaced = |c: char| {
        if matches!(c, '\n' | '\r' | '\t') {
            ' '
        } else {
            c
        }
    };
    let line: String = pasted.trim().chars().map(spaced).collect();
    line.chars().filter(|c| !c.is_control()).collect()
}

/// Returns whether the line can be typed into a number field.
pub(super) fn is_number(line: &str) -> bool {
    !line.is_empty() && line.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Adds a pasted line to the text, as far as there is room. Returns whether anything was added.
pub(crate) fn pasted(text: &mut String, line: &str) -> bool {
    let room = MOST.saturating_sub(text.chars().count());
    text.extend(line.chars().take(room));
    room > 0 && !line.is_empty()
}

/// Adds the key to the text. Returns whether it did.
pub(super) fn typed(text: &mut String, key: &KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('u') if control => text.clear(),
        KeyCode::Char('w') if control => {
            let kept = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
            text.truncate(kept);
        }
        KeyCode::Char(c) if !control && text.chars().count() < MOST => text.push(c),
        KeyCode::Backspace => {
            text.pop();
        }
        _ => return false,
    }
    true
}
