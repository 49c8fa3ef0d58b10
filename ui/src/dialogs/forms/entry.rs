//! A field of a form: a number or a text to type, or one of a few words.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::dialogs::field;

/// A field with what stands in it.
#[derive(Clone, Debug)]
pub(crate) struct FormField {
    pub name: &'static str,
    pub text: String,
    /// Behind the value: its unit, or how to change it.
    pub unit: &'static str,
    /// The words that can be chosen; none where a number is typed.
    words: &'static [&'static str],
    /// Anything can be typed.
    pub free: bool,
    /// Something was typed since the field was come to: before, a digit takes the place
    /// of all that stands there.
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

    /// Any text.
    pub(crate) fn free(name: &'static str, value: impl ToString) -> Self {
        FormField {
            free: true,
            ..FormField::number(name, value, "")
        }
    }

    /// The first of `words` stands in it at the start.
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

    pub(crate) fn on_key(&mut self, key: &KeyEvent) {
        match (key.code, self.words.is_empty()) {
            (KeyCode::Char(' '), false) => self.turn(),
            _ if self.free => {
                field::typed(&mut self.text, key);
            }
            (_, true) => self.type_number(key),
            _ => {}
        }
    }

    /// Takes pasted text, a number where one is expected; whether it did.
    pub(crate) fn on_paste(&mut self, line: &str) -> bool {
        let fits = self.free || (self.words.is_empty() && field::is_number(line));
        if fits && !self.free && !self.touched {
            self.text.clear();
        }
        let taken = fits && field::pasted(&mut self.text, line);
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
            self.touched |= field::typed(&mut self.text, key);
        }
    }
}
