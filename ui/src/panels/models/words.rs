//! The words on the model at the cursor, below the list: why a change of it was refused, why it or
//! its newest files are not served, and the keys.

use std::time::Duration;

use divisi_session::{CatalogueView, ModelChangeView, Refusal, VariantView};

use divisi_modelless::quantities::significant;

use crate::commands::{LOAD_MODEL, UNLOAD_MODEL};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::panels::keys;
use crate::text::format;

/// The words on a model.
pub(super) struct ModelWords {
    lines: Vec<String>,
    role: Role,
    /// Whether loading and unloading are offered, on the last line.
    has_keys: bool,
}

impl ModelWords {
    /// Returns the words on the model at the cursor, for a panel of a width. The list has `reason`
    /// columns for the reason why a model is not served.
    pub(super) fn for_model(
        model: &Model,
        view: Option<&CatalogueView>,
        width: u16,
        reason: u16,
    ) -> Self {
        let told = view.and_then(|view| message(model, view, reason));
        let (text, role, has_keys) = told.unwrap_or((String::new(), Role::Dim, true));
        ModelWords {
            lines: format::wrap(&text, width.saturating_sub(1)),
            role,
            has_keys: has_keys && view.is_some() && model.snapshot.can_load,
        }
    }

    /// Returns the rows that show all, with a row reserved for the keys of other models.
    pub(super) fn rows(&self) -> u16 {
        let lines = self.lines.len() + usize::from(self.has_keys);
        u16::try_from(lines.max(1)).unwrap_or(u16::MAX)
    }

    /// Draws the words. The last line is cut if there is no room for all.
    pub(super) fn draw(&self, part: &mut Painter<'_>, model: &Model, view: Option<&CatalogueView>) {
        let keys = u16::from(self.has_keys);
        let room = usize::from(part.height().saturating_sub(keys));
        let whole = match self.lines.len() > room {
            true => room.saturating_sub(1),
            false => self.lines.len(),
        };
        let (whole, rest) = self.lines.split_at(whole);
        let width = part.width().saturating_sub(1);
        let rest = (room > 0 && !rest.is_empty()).then(|| format::fit(&rest.join(" "), width));
        for (line, y) in whole.iter().chain(&rest).zip(0..) {
            part.text(1, y, line, self.role);
        }
        if let (true, Some(view)) = (self.has_keys, view) {
            let hints = match &view.unserved {
                Some(_) => &[(&LOAD_MODEL, "load")][..],
                None => &[(&LOAD_MODEL, "reload"), (&UNLOAD_MODEL, "unload")],
            };
            let y = part.height().saturating_sub(1);
            keys::draw(part, 1, y, model, hints);
        }
    }
}

/// Returns the message on a model, and whether the keys are shown as well.
fn message(model: &Model, view: &CatalogueView, room: u16) -> Option<(String, Role, bool)> {
    if let Some(change) = refusal_of(model, view) {
        let why = change.refusal().map_or("", Refusal::text);
        let text = format!("{} was refused: {why} · Esc hides this", change.change);
        return Some((text, Role::Bad, false));
    }
    match (&view.unserved, &view.failure) {
        // A reason that the list shows completely is not repeated.
        (Some(reason), failure) => (format::width(reason) > room).then(|| {
            let role = match failure {
                Some(_) => Role::Bad,
                None => Role::Text,
            };
            (format!("not served: {reason}"), role, true)
        }),
        (None, Some(failure)) => {
            let text = format!("newest files cannot be served: {failure}");
            Some((text, Role::Warn, false))
        }
        (None, None) => {
            let variant = view.variant.as_ref()?;
            Some((of_variant(variant), Role::Text, true))
        }
    }
}

/// Describes a variant: its accuracy, the time of its batches, and the goals missed by its answers.
fn of_variant(variant: &VariantView) -> String {
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    let counted = variant.counted.map(|counted| {
        let (low, high) = (percent(counted.low), percent(counted.high));
        format!(
            " ({low}–{high}) of {} rows",
            format::grouped(counted.rows.into())
        )
    });
    let millis = |time: Duration| significant(1e3 * time.as_secs_f64());
    let running = variant.running.map_or("not loaded".to_owned(), |batches| {
        let (alone, full) = (millis(batches.alone), millis(batches.full));
        format!("alone within {alone} ms, {} within {full} ms", batches.size)
    });
    let goals = variant.goals;
    let missed = [
        ("accuracy", goals.missed_accuracy),
        ("latency", goals.missed_latency),
        ("cost", goals.missed_cost),
    ];
    let missed = missed.into_iter().filter(|(_, count)| *count > 0);
    let missed: Vec<String> = missed
        .map(|(goal, count)| format!("{goal} {}", format::grouped(count)))
        .collect();
    let missed = match (goals.answered, missed.is_empty()) {
        (0, _) => "no queries yet".to_owned(),
        (_, true) => "no goals missed".to_owned(),
        (_, false) => format!("missed: {}", missed.join(", ")),
    };
    format!(
        "variant of {}: accuracy {} %{} · {running} · {missed}",
        variant.task,
        percent(variant.accuracy),
        counted.unwrap_or_default(),
    )
}

/// Returns the last change of models if it was refused, is about this model and is still shown.
pub(super) fn refusal_of<'a>(
    model: &'a Model,
    view: &CatalogueView,
) -> Option<&'a ModelChangeView> {
    let refused = model.refusal_sign.change(&model.snapshot);
    refused.filter(|change| change.change.model() == Some(view.name.as_str()))
}
