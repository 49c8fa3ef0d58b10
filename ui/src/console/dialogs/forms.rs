//! A dialog of choices, each with its numbers.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Answer, field};
use crate::console::format;
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// A number to type.
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) unit: &'static str,
}

/// One thing that can be chosen.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) numbers: Vec<Number>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Load,
    Policy,
    Search,
}

/// A dialog of choices.
#[derive(Clone, Debug)]
pub struct Form {
    pub(super) kind: Kind,
    title: &'static str,
    pub(super) choices: Vec<Choice>,
    pub(super) chosen: usize,
    /// The number that is typed into.
    field: usize,
    error: Option<String>,
}

impl Form {
    pub(super) fn new(
        kind: Kind,
        title: &'static str,
        choices: Vec<Choice>,
        chosen: usize,
    ) -> Self {
        Form {
            kind,
            title,
            choices,
            chosen,
            field: 0,
            error: None,
        }
    }

    /// Arrows choose, `Tab` goes on to the next number, `Enter` does it.
    pub fn on_key(&mut self, key: &KeyEvent) -> Answer {
        self.error = None;
        match key.code {
            KeyCode::Esc => return Answer::Close,
            KeyCode::Enter => return self.submit(),
            KeyCode::Up | KeyCode::Char('k') => self.choose(-1),
            KeyCode::Down | KeyCode::Char('j') => self.choose(1),
            KeyCode::Tab | KeyCode::Right => self.next(1),
            KeyCode::BackTab | KeyCode::Left => self.next(-1),
            _ => self.type_number(key),
        }
        Answer::Stay
    }

    fn choose(&mut self, step: isize) {
        let last = self.choices.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(step).min(last);
        self.field = 0;
    }

    fn next(&mut self, step: isize) {
        let count = self.choices[self.chosen].numbers.len().max(1) as isize;
        self.field = (self.field as isize + step).rem_euclid(count) as usize;
    }

    fn type_number(&mut self, key: &KeyEvent) {
        let part = |c: char| c.is_ascii_digit() || c == '.';
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if matches!(key.code, KeyCode::Char(c) if !control && !part(c)) {
            return;
        }
        if let Some(number) = self.choices[self.chosen].numbers.get_mut(self.field) {
            field::typed(&mut number.text, key);
        }
    }

    fn submit(&mut self) -> Answer {
        match self.command() {
            Ok(command) => Answer::Send(command),
            Err(error) => {
                self.error = Some(error);
                Answer::Stay
            }
        }
    }

    pub(super) fn text(&self, number: usize) -> &str {
        let numbers = &self.choices[self.chosen].numbers;
        numbers.get(number).map_or("", |n| n.text.as_str())
    }

    /// Draws it in the middle.
    pub fn draw(&self, pen: &mut Pen<'_>) {
        let width = pen.width().saturating_sub(2).min(70);
        let rows: usize = self.choices.iter().map(|c| 1 + c.numbers.len()).sum();
        let mut window = pen.centred(width, rows as u16 + 5);
        let mut inside = window.framed(self.title, true);
        let mut y = 0;
        for (i, choice) in self.choices.iter().enumerate() {
            y = self.draw_choice(&mut inside, y, choice, i == self.chosen);
        }
        if let Some(error) = &self.error {
            inside.text(
                1,
                y + 1,
                &format::fit(&format!("✗ {error}"), width.saturating_sub(4)),
                Role::Bad,
            );
        }
        let keys = [
            ("↑ ↓", Role::Accent),
            (" choose   ", Role::Dim),
            ("Tab", Role::Accent),
            (" number   ", Role::Dim),
            ("Enter", Role::Accent),
            (" do it   ", Role::Dim),
            ("Esc", Role::Accent),
            (" back", Role::Dim),
        ];
        inside.pieces(1, inside.height().saturating_sub(1), &keys);
    }

    fn draw_choice(&self, inside: &mut Pen<'_>, y: u16, choice: &Choice, chosen: bool) -> u16 {
        let (sign, role) = if chosen {
            ("●", Role::Strong)
        } else {
            ("○", Role::Text)
        };
        inside.pieces(
            1,
            y,
            &[(sign, Role::Accent), (" ", role), (choice.name, role)],
        );
        let room = inside.width().saturating_sub(17);
        inside.text(16, y, &format::fit(choice.help, room), Role::Dim);
        for (i, number) in choice.numbers.iter().enumerate() {
            let row = y + 1 + i as u16;
            let role = if chosen { Role::Text } else { Role::Dim };
            inside.text(5, row, number.name, role);
            let after = inside.text(16, row, &number.text, role);
            let typing = chosen && i == self.field;
            let after = if typing {
                inside.text(after, row, " ", Role::Cursor)
            } else {
                after
            };
            inside.text(after + 1, row, number.unit, Role::Dim);
        }
        y + 1 + choice.numbers.len() as u16
    }
}
