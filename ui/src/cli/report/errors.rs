//! The errors that clients saw, in a report.

use divisi_session::{ErrorsView, Snapshot};

use crate::text::{error_words, last_error};

use super::text::{section, table};

/// Returns the section of errors by kind, and that of the last errors; nothing without errors.
pub(super) fn parts(shown: &Snapshot) -> [String; 2] {
    let ErrorsView { counts, last } = &shown.errors;
    if counts.is_empty() {
        return Default::default();
    }
    let head = ["error", "in the last minute", "since the start"];
    let rows = counts.iter().map(|error| {
        let (lately, total) = (error.lately().to_string(), error.total.to_string());
        vec![error_words(error.key), lately, total]
    });
    let lines: Vec<String> = last
        .iter()
        .map(|e| format!("  {}", last_error(e)))
        .collect();
    [
        section("errors", &table(&head, rows)),
        section("last errors (times in UTC)", &lines.join("\n")),
    ]
}
