//! A form on the screen: all choices, the fields of the chosen one, the shared ones.

use super::entry::FormField;
use super::{Form, FormChoice};
use crate::look::{Painter, Role};
use crate::text::format;

/// Where names of fields and their values begin.
const FIELD: u16 = 5;
const VALUE: u16 = 23;

impl Form {
    /// Draws it in the middle.
    pub(super) fn paint(&self, pen: &mut Painter<'_>) {
        let width = pen.width().saturating_sub(2).min(76);
        let mut window = pen.centred(width, self.height(width));
        let mut inside = window.framed(&self.title, true);
        let mut y = 0;
        for (i, choice) in self.choices.iter().enumerate() {
            y = self.draw_choice(&mut inside, y, choice, i == self.chosen);
        }
        y = self.draw_shared(&mut inside, y);
        self.draw_words(&mut inside, y);
        let keys = [
            ("↑ ↓", Role::Accent),
            (" choose   ", Role::Dim),
            ("Tab", Role::Accent),
            (" field   ", Role::Dim),
            ("Enter", Role::Accent),
            (" do it   ", Role::Dim),
            ("Esc", Role::Accent),
            (" back", Role::Dim),
        ];
        let keys = if self.is_single() { &keys[4..] } else { &keys };
        inside.pieces(1, inside.height().saturating_sub(1), keys);
    }

    fn is_single(&self) -> bool {
        self.choices.len() == 1
    }

    /// The same whatever is chosen, so that the window does not jump.
    fn height(&self, width: u16) -> u16 {
        let fields = self.choices.iter().map(|c| c.fields.len()).max();
        let shared = self.shared.len() + usize::from(!self.shared.is_empty());
        let notes = self.choices.iter().map(|c| note(c, width).len()).max();
        let rows = self.choices.len() + fields.unwrap_or(0) + shared;
        // Two of the frame, one of the keys, one before them for what is wrong.
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

    /// Draws the error, or the note on the chosen option if there is none.
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
