//! A dialog of choices, each with its fields, and fields that all of them share.

mod draw;
mod entry;

pub(super) use entry::FormField;

use crate::look::Painter;
use crate::model::Model;
use crossterm::event::{KeyCode, KeyEvent};

use super::{DialogBody, DialogReply};

/// One thing that can be chosen.
#[derive(Clone, Debug)]
pub(super) struct FormChoice {
    pub name: &'static str,
    /// A line beside the name.
    pub help: &'static str,
    /// More about it, while it is chosen.
    pub note: &'static str,
    pub fields: Vec<FormField>,
}

impl FormChoice {
    pub(super) fn new(name: &'static str, help: &'static str, fields: Vec<FormField>) -> Self {
        FormChoice {
            name,
            help,
            note: "",
            fields,
        }
    }

    pub(super) fn noting(self, note: &'static str) -> Self {
        FormChoice { note, ..self }
    }
}

/// The subject of a form, which decides the command that it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormKind {
    Load,
    Policy,
    Search,
    /// Samples alive at most on a device.
    MaxInf(usize),
    /// How many times as long a device takes.
    Slow(usize),
    /// Samples in a segment at most.
    SegmentSize,
    /// The target that latencies are judged by.
    Target,
    /// The terms of a probation.
    Terms,
    /// The name of a layout.
    Layout,
}

/// A dialog of choices.
#[derive(Clone, Debug)]
pub struct Form {
    pub(super) kind: FormKind,
    title: String,
    pub(super) choices: Vec<FormChoice>,
    pub(super) chosen: usize,
    /// Fields under the choices, whichever is chosen, and what they are about.
    pub(super) shared: Vec<FormField>,
    heading: &'static str,
    /// The field that keys go to: the chosen one's, then the shared ones.
    field: usize,
    error: Option<String>,
}

impl Form {
    pub(super) fn new(kind: FormKind, title: impl Into<String>, choices: Vec<FormChoice>) -> Self {
        Form {
            kind,
            title: title.into(),
            choices,
            chosen: 0,
            shared: Vec::new(),
            heading: "",
            field: 0,
            error: None,
        }
    }

    /// Starts with the choice called `name`, if there is one.
    pub(super) fn choosing(mut self, name: &str) -> Self {
        let at = self.choices.iter().position(|c| c.name == name);
        self.chosen = at.unwrap_or(0);
        self
    }

    pub(super) fn sharing(self, heading: &'static str, shared: Vec<FormField>) -> Self {
        Form {
            shared,
            heading,
            ..self
        }
    }

    fn is_free(&mut self) -> bool {
        self.field_mut().is_some_and(|f| f.free)
    }

    fn give(&mut self, key: &KeyEvent) {
        if let Some(field) = self.field_mut() {
            field.on_key(key);
        }
    }

    fn choose(&mut self, step: isize) {
        let last = self.choices.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(step).min(last);
        self.field = 0;
        self.come_to();
    }

    fn come_to(&mut self) {
        if let Some(field) = self.field_mut() {
            field.touched = false;
        }
    }

    fn next(&mut self, step: isize) {
        let own = self.choices[self.chosen].fields.len();
        let count = (own + self.shared.len()).max(1) as isize;
        self.field = (self.field as isize + step).rem_euclid(count) as usize;
        self.come_to();
    }

    fn field_mut(&mut self) -> Option<&mut FormField> {
        let own = &mut self.choices[self.chosen].fields;
        own.iter_mut().chain(&mut self.shared).nth(self.field)
    }

    fn submit(&mut self) -> DialogReply {
        match self.answer() {
            Ok(answer) => answer,
            Err(error) => {
                self.error = Some(error);
                DialogReply::Stay
            }
        }
    }

    /// Returns the text of the field called `name`, among those of the chosen option and the
    /// shared ones. It is empty if there is no such field.
    pub(super) fn text(&self, name: &str) -> &str {
        let own = self.choices[self.chosen].fields.iter();
        let field = own.chain(&self.shared).find(|f| f.name == name);
        field.map_or("", |f| f.text.as_str())
    }
}

impl DialogBody for Form {
    /// Arrows choose, `Tab` goes on to the next field, `Enter` does it.
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        self.error = None;
        match key.code {
            KeyCode::Esc => return DialogReply::Close,
            KeyCode::Enter => return self.submit(),
            KeyCode::Char(_) if self.is_free() => self.give(key),
            KeyCode::Up | KeyCode::Char('k') => self.choose(-1),
            KeyCode::Down | KeyCode::Char('j') => self.choose(1),
            KeyCode::Tab | KeyCode::Right => self.next(1),
            KeyCode::BackTab | KeyCode::Left => self.next(-1),
            _ => self.give(key),
        }
        DialogReply::Stay
    }

    /// Pasted text goes into the field that keys go to.
    fn on_paste(&mut self, line: &str) -> bool {
        self.error = None;
        self.field_mut().is_some_and(|f| f.on_paste(line))
    }

    fn draw(&self, pen: &mut Painter<'_>, _: &Model) {
        self.paint(pen);
    }

    fn is_of_frame(&self) -> bool {
        true
    }
}
