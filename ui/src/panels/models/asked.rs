//! The network callers of the model at the cursor, and its refused or failed calls: as rows, or on
//! one line without room.

use std::time::Duration;

use divisi_session::{CatalogueView, DoorView, ModelCallers};

use crate::look::{Painter, Role};
use crate::model::Model;
use crate::panels::callers::{CallerRows, others_name, per_second};
use crate::text::{error_words, format};

/// The calls of a model, and the listener that counts them.
pub(super) struct AskedModel<'a> {
    model: &'a CatalogueView,
    asked: &'a ModelCallers,
    door: &'a DoorView,
}

impl<'a> AskedModel<'a> {
    /// Returns the calls of the model at the cursor, or `None` without recent calls.
    pub(super) fn for_model(model: &'a Model, view: Option<&'a CatalogueView>) -> Option<Self> {
        let door = model.snapshot.door.as_ref()?;
        let view = view?;
        Some(AskedModel {
            model: view,
            asked: view.asked.as_ref()?,
            door,
        })
    }

    fn rows(&self) -> CallerRows<'_> {
        CallerRows {
            callers: &self.asked.callers,
            others: self.asked.others.as_ref(),
            window: self.door.window,
            rate_window: self.door.rate_window,
        }
    }

    /// Returns the number of rows that show all, with a gap above.
    pub(super) fn needed(&self) -> usize {
        1 + self.rows().needed() + usize::from(self.below())
    }

    /// Returns the number of rows that show one caller with its heading and a gap above.
    pub(super) fn least(&self) -> u16 {
        3 + u16::from(self.asked.others.is_some()) + self.below()
    }

    /// Returns the number of rows of refused or failed calls.
    fn below(&self) -> u16 {
        u16::from(!self.model.errors.is_empty())
    }

    /// Draws the callers, then the refused or failed calls.
    pub(super) fn draw(&self, part: &mut Painter<'_>) {
        let below = self.below();
        let (width, height) = (part.width(), part.height());
        let version = self.model.version.map(|version| format!(" {version}"));
        let head = format!(
            "caller of {}{}",
            self.model.name,
            version.unwrap_or_default()
        );
        let rows = height.saturating_sub(1 + below);
        self.rows()
            .draw(&mut part.part(0, 1, width, rows), &head, 0);
        if below > 0 {
            let y = height.saturating_sub(1);
            let text = errors(self.model, self.door.window);
            part.text(
                1,
                y,
                &format::fit(&text, width.saturating_sub(1)),
                Role::Warn,
            );
        }
    }

    /// Draws the busiest callers, as many as fit on a line.
    pub(super) fn draw_line(&self, inside: &mut Painter<'_>, y: u16) {
        let callers = self.asked.callers.iter().map(|caller| {
            let rate = per_second(caller.figures.per_second);
            format!("{} {rate}/s", caller.name)
        });
        let others = self.asked.others.as_ref();
        let others = others.map(|(count, figures)| {
            format!(
                "{} {}/s",
                others_name(*count),
                per_second(figures.per_second)
            )
        });
        let all: Vec<String> = callers.chain(others).collect();
        let text = format!("called by {}", all.join(", "));
        let room = inside.width().saturating_sub(1);
        inside.text(1, y, &format::fit(&text, room), Role::Dim);
    }
}

/// Returns the errors of a model within the window, in words.
fn errors(model: &CatalogueView, window: Duration) -> String {
    let counts = model.errors.iter();
    let counts = counts.map(|(key, count)| {
        let (count, words) = (format::grouped(*count), error_words(*key));
        format!("{count} {words}")
    });
    let counts: Vec<String> = counts.collect();
    let window = format::counted_over(window);
    format!("errors in {window}: {}", counts.join(" · "))
}
