//! A dialog of choices, each with its fields, and shared fields.

use crossterm::event::{KeyCode, KeyEvent};

use super::field::FormField;
use super::{DialogBody, DialogReply};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use divisi_runtime::device::DeviceIndex;

/// An option to choose.
#[derive(Clone, Debug)]
pub(super) struct FormChoice {
    pub name: &'static str,
    /// A line next to the name.
    pub help: &'static str,
    /// More text, shown while it is chosen.
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

/// The subject of a form, which decides the resulting command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormKind {
    Load,
    Policy,
    Search,
    /// The limit of samples in execution on a device.
    MaxInf(DeviceIndex),
    /// The factor by which a device is slower.
    Slow(DeviceIndex),
    /// The segment size.
    SegmentSize,
    /// The service objective.
    Target,
    /// The traffic shares of models.
    Mix,
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
    /// Fields under the choices, for all choices, and their title.
    pub(super) shared: Vec<FormField>,
    heading: &'static str,
    /// The field with the keys: first the chosen option's, then the shared ones.
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

    /// Returns the text of the field called `name`, among the fields of the chosen option and the
    /// shared ones. It is empty if there is no such field.
    pub(super) fn text(&self, name: &str) -> &str {
        let own = self.choices[self.chosen].fields.iter();
        let field = own.chain(&self.shared).find(|f| f.name == name);
        field.map_or("", |f| f.text.as_str())
    }
}

impl DialogBody for Form {
    /// Arrows choose, `Tab` goes to the next field, `Enter` accepts.
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

    /// Pastes text into the field with the keys.
    fn on_paste(&mut self, line: &str) -> bool {
        self.error = None;
        self.field_mut().is_some_and(|f| f.on_paste(line))
    }

    fn draw(&self, painter: &mut Painter<'_>, _: &Model) {
        self.paint(painter);
    }

    fn is_of_frame(&self) -> bool {
        true
    }
}

/// The column of the fields' names and values.
const FIELD: u16 = 5;
const VALUE: u16 = 23;

/// The keys. The first two are for several choices.
const KEYS: [(&str, &str); 4] = [
    ("↑ ↓", "choose"),
    ("Tab", "field"),
    ("Enter", "do it"),
    ("Esc", "back"),
];

impl Form {
    /// Draws the dialog in the middle.
    fn paint(&self, painter: &mut Painter<'_>) {
        let width = painter.width().saturating_sub(2).min(76);
        let mut window = painter.centred(width, self.height(width));
        let mut inside = window.framed(&self.title, true);
        let mut y = 0;
        for (i, choice) in self.choices.iter().enumerate() {
            y = self.draw_choice(&mut inside, y, choice, i == self.chosen);
        }
        y = self.draw_shared(&mut inside, y);
        self.draw_words(&mut inside, y);
        let last = inside.height().saturating_sub(1);
        let first = if self.is_single() { 2 } else { 0 };
        inside.keys(1, last, 3, &KEYS[first..]);
    }

    fn is_single(&self) -> bool {
        self.choices.len() == 1
    }

    /// Returns the same height for every choice, so that the window does not jump.
    fn height(&self, width: u16) -> u16 {
        let fields = self.choices.iter().map(|c| c.fields.len()).max();
        let shared = self.shared.len() + usize::from(!self.shared.is_empty());
        let notes = self.choices.iter().map(|c| note(c, width).len()).max();
        let rows = self.choices.len() + fields.unwrap_or(0) + shared;
        // Two rows for the frame, one for the keys, and one before them for errors.
        (rows + notes.unwrap_or(0).max(1)) as u16 + 4
    }

    fn draw_choice(
        &self,
        inside: &mut Painter<'_>,
        y: u16,
        choice: &FormChoice,
        chosen: bool,
    ) -> u16 {
        let (sign, role) = match (self.is_single(), chosen) {
            (true, _) => (" ", Role::Strong),
            (false, true) => ("●", Role::Strong),
            (false, false) => ("○", Role::Text),
        };
        inside.pieces(1, y, &[(sign, Role::Accent), (" ", role)]);
        inside.text(3, y, choice.name, role);
        let room = inside.width().saturating_sub(VALUE + 1);
        inside.text(VALUE, y, &format::fit(choice.help, room), Role::Dim);
        if !chosen {
            return y + 1;
        }
        self.draw_fields(inside, y + 1, &choice.fields, 0)
    }

    fn draw_shared(&self, inside: &mut Painter<'_>, y: u16) -> u16 {
        if self.shared.is_empty() {
            return y;
        }
        inside.text(1, y, self.heading, Role::Dim);
        let own = self.choices[self.chosen].fields.len();
        self.draw_fields(inside, y + 1, &self.shared, own)
    }

    fn draw_fields(
        &self,
        inside: &mut Painter<'_>,
        y: u16,
        fields: &[FormField],
        first: usize,
    ) -> u16 {
        for (i, field) in fields.iter().enumerate() {
            let row = y + i as u16;
            inside.text(FIELD, row, field.name, Role::Text);
            let mut x = inside.text(VALUE, row, &field.text, Role::Text);
            if self.field == first + i {
                x = inside.text(x, row, " ", Role::Cursor);
            }
            inside.text(x + 1, row, field.unit, Role::Dim);
        }
        y + fields.len() as u16
    }

    /// Draws the error, or else the note on the chosen option.
    fn draw_words(&self, inside: &mut Painter<'_>, y: u16) {
        let width = inside.width() + 2;
        let (lines, role) = match &self.error {
            Some(error) => (
                format::wrap(&format!("✗ {error}"), width.saturating_sub(4)),
                Role::Bad,
            ),
            None => (note(&self.choices[self.chosen], width), Role::Dim),
        };
        for (i, line) in lines.iter().enumerate() {
            inside.text(1, y + i as u16, line, role);
        }
    }
}

fn note(choice: &FormChoice, width: u16) -> Vec<String> {
    format::wrap(choice.note, width.saturating_sub(4))
}
