//! The decisions of a policy, and the reasons against other actions.

use divisi_session::{ScalingChange, ScalingView};

use super::{TaskLine, heading, row, wrapped};
use crate::look::Role;
use crate::text::format;

/// The number of shown changes.
const CHANGES: usize = 8;
/// The number of shown actions.
const CONSIDERED: usize = 12;

/// Returns the loaded variants with their states.
pub(super) fn loaded(scaling: &ScalingView, width: u16) -> Vec<TaskLine> {
    let rows = scaling.loaded.iter().map(|variant| {
        let role = match variant.state.as_str() {
            "active" => Role::Text,
            _ => Role::Warn,
        };
        let name = format!("{} of {}", variant.name, variant.batch);
        let text = format!("  {name:<40} × {:<3} {}", variant.instances, variant.state);
        row(&text, role, width)
    });
    let rows: Vec<TaskLine> = rows.collect();
    match rows.is_empty() {
        true => rows,
        false => heading("loaded (shares in 1/20 device)")
            .into_iter()
            .chain(rows)
            .collect(),
    }
}

/// Returns the last changes of served variants, the newest first.
pub(super) fn changes(scaling: &ScalingView, width: u16) -> Vec<TaskLine> {
    if scaling.changes.is_empty() {
        return Vec::new();
    }
    let count = scaling.changes.len();
    let title = match count {
        1 => "the last change".to_owned(),
        count => format!("last {} of {count} changes", count.min(CHANGES)),
    };
    let rows = scaling.changes.iter().rev().take(CHANGES);
    let rows = rows.flat_map(|change| self::change(change, width));
    heading(&title).into_iter().chain(rows).collect()
}

fn change(change: &ScalingChange, width: u16) -> Vec<TaskLine> {
    let at = format!("  {:>7.1} s  ", change.at.as_secs_f64());
    let at = (at, Role::Dim);
    match &change.outcome {
        Ok(_) if change.shares_alone => {
            let how = ("shares only  ".to_owned(), Role::Dim);
            wrapped(vec![at, how], &change.what, Role::Text, width)
        }
        Ok(took) => {
            let how = format!("in {}  ", format::duration(*took));
            wrapped(vec![at, (how, Role::Good)], &change.what, Role::Text, width)
        }
        Err(why) => {
            let text = format!("not possible: {why}: {}", change.what);
            wrapped(vec![at], &text, Role::Bad, width)
        }
    }
}

/// Returns the actions considered in the last second, the executed ones first.
pub(super) fn considered(scaling: &ScalingView, width: u16) -> Vec<TaskLine> {
    if scaling.considered.is_empty() {
        return Vec::new();
    }
    let rows = scaling.considered.iter().take(CONSIDERED).flat_map(|view| {
        let (sign, role) = match view.taken {
            true => ("✓", Role::Text),
            false => ("·", Role::Dim),
        };
        let text = format!("{}: {}", view.action, view.outcome);
        wrapped(vec![(format!("  {sign} "), role)], &text, role, width)
    });
    heading("considered in the last second")
        .into_iter()
        .chain(rows)
        .collect()
}
