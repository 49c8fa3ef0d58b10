//! The places of everything on the screen, for any size.

use ratatui::layout::Rect;

use super::streams::StreamsView;
use super::{body, demo_bar, frame};
use crate::layout::{LayoutRow, Panel, SizeShare, share};
use crate::model::Model;

/// The minimum size that shows the essentials.
pub(crate) const LEAST: (u16, u16) = (40, 12);

/// Areas of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScreenAreas {
    /// One or two lines at the top.
    pub header: Rect,
    /// The shown panels.
    pub panels: Vec<(Panel, Rect)>,
    /// The row of folded panels, if there is one.
    pub tabs: Option<Rect>,
    /// The seek bar of a recording.
    pub seek: Option<Rect>,
    /// One line of percentiles, if there is no room for the panel.
    pub latency: Option<Rect>,
    /// Messages and keys.
    pub footer: Rect,
}

/// Returns the areas, or `None` if the screen is too small.
pub(crate) fn arrange(area: Rect, model: &Model) -> Option<ScreenAreas> {
    let area = demo_bar::above(area, model);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return None;
    }
    let roomy = is_roomy(area);
    let header = if roomy { 2 } else { 1 };
    let (header, rest) = cut_top(area, header);
    let (body, footer) = cut_bottom(rest, 1);
    let (body, seek) = match model.snapshot.playback.is_some() && roomy {
        true => {
            let (body, seek) = cut_bottom(body, 1);
            (body, Some(seek))
        }
        false => (body, None),
    };
    let (body, latency) = match roomy {
        true => (body, None),
        false => {
            let (body, line) = cut_bottom(body, 1);
            (body, Some(line))
        }
    };
    let (panels, tabs) = match roomy && !is_alone(model) {
        true => {
            let (body, tabs) = cut_bottom(body, 1);
            (grid(body, model), Some(tabs))
        }
        false => (Vec::new(), None),
    };
    // A panel for which its row has no room has the whole screen while it has the focus.
    let alone = shown_alone(model);
    let has_place = panels.iter().any(|(panel, _)| *panel == alone);
    let (panels, tabs) = match has_place {
        true => (panels, tabs),
        false => (vec![(alone, body)], None),
    };
    Some(ScreenAreas {
        header,
        panels,
        tabs,
        seek,
        latency,
        footer,
    })
}

/// Returns whether a screen has room for several panels with frames: side by side, or below each
/// other on a phone.
pub(super) fn is_roomy(area: Rect) -> bool {
    let is_tall = area.width >= 44 && area.height >= 40;
    is_tall || (area.width >= 76 && area.height >= 20)
}

/// Returns the panels on the screen.
pub(crate) fn open_panels(model: &Model) -> Vec<Panel> {
    let screen = arrange(model.area, model);
    let panels = screen.into_iter().flat_map(|screen| screen.panels);
    panels.map(|(panel, _)| panel).collect()
}

/// Returns the area of a panel on the screen, or `None` if it is not shown.
fn on_screen(model: &Model, panel: Panel) -> Option<Rect> {
    let screen = arrange(model.area, model)?;
    let place = screen.panels.into_iter().find(|(p, _)| *p == panel)?;
    Some(place.1)
}

/// Returns the number of rows of a panel on the screen, below its title and headings, or 0 if it is
/// not shown.
pub(crate) fn rows_on_screen(model: &Model, panel: Panel) -> usize {
    inside(model, panel).1.saturating_sub(1)
}

/// Returns the numbers of columns and rows inside a panel, below its title, or 0 if it is not shown.
pub(super) fn inside(model: &Model, panel: Panel) -> (u16, usize) {
    on_screen(model, panel).map_or((0, 0), |place| {
        let rows = usize::from(place.height.saturating_sub(frame::edges(model)));
        (place.width.saturating_sub(2), rows)
    })
}

/// Returns the area of the streams on the screen, and their visible part.
pub(crate) fn streams_on_screen(model: &Model) -> Option<(Rect, StreamsView)> {
    let place = on_screen(model, Panel::Streams)?;
    Some((place, StreamsView::new(model, place.width, place.height)))
}

/// Returns whether one panel has the whole screen, either expanded or without a place in the
/// layout.
fn is_alone(model: &Model) -> bool {
    model.expanded || !model.arrangement.shows(shown_alone(model))
}

fn shown_alone(model: &Model) -> Panel {
    match model.edit {
        Some(_) => Panel::Allocation,
        None => model.focus,
    }
}

/// Returns the panels of the layout's rows.
fn grid(body: Rect, model: &Model) -> Vec<(Panel, Rect)> {
    let rows = rows(model, body.width);
    let parts: Vec<SizeShare> = rows.iter().map(|r| height(r, model, body.height)).collect();
    let mut rest = body;
    let mut panels = Vec::with_capacity(Panel::ALL.len());
    for (row, height) in rows.iter().zip(share(body.height, &parts)) {
        let (here, below) = cut_top(rest, height);
        columns(here, row, model, &mut panels);
        rest = below;
    }
    panels
}

/// Returns whether the focused panel has a place next to others on a large enough screen.
pub(crate) fn has_place(model: &Model) -> bool {
    let rows = rows(model, model.area.width);
    let mut panels = rows.iter().flat_map(|row| &row.panels);
    panels.any(|(panel, _)| *panel == model.focus)
}

/// The height of a screen below which editing leaves no room for other panels than the streams.
const LOW: u16 = 30;

/// Returns the layout's rows without folded panels. Editing has the whole width, for errors and
/// changes.
fn rows(model: &Model, width: u16) -> Vec<LayoutRow> {
    let mut rows = model.arrangement.rows();
    let first = rows.first().and_then(|row| row.panels.first()).map(|p| p.0);
    let listed = rows
        .iter()
        .any(|row| row.panels.iter().any(|p| p.0 == Panel::Incident));
    if !listed {
        // An incident is on top of every layout.
        let panels = vec![(Panel::Incident, 1)];
        rows.insert(0, LayoutRow { height: 1, panels });
    }
    for row in &mut rows {
        // The subject of a layout stays, and so does the focused panel.
        let stays = |panel: Panel| Some(panel) == first || panel == model.focus;
        row.panels
            .retain(|(panel, _)| stays(*panel) || !(body(*panel).news)(model).is_quiet);
        narrow(row, width, model, |panel| Some(panel) == first);
    }
    rows.retain(|row| !row.panels.is_empty());
    let edits = |row: &&mut LayoutRow| row.panels.iter().any(|p| p.0 == Panel::Allocation);
    if model.edit.is_some()
        && let Some(row) = rows.iter_mut().find(edits)
    {
        row.panels = vec![(Panel::Allocation, 1)];
    }
    if model.edit.is_some() && model.area.height < LOW {
        let stays = |panel: Panel| matches!(panel, Panel::Allocation | Panel::Streams);
        rows.retain(|row| row.panels.iter().any(|p| stays(p.0)));
    }
    rows
}

/// Removes the last panels of a row until the others fit.
fn narrow(row: &mut LayoutRow, width: u16, model: &Model, stays: impl Fn(Panel) -> bool) {
    let needed = |row: &LayoutRow| -> u16 {
        {
            let widths = row.panels.iter().map(|p| (body(p.0).least_width)(model));
            widths.fold(0, u16::saturating_add)
        }
    };
    while row.panels.len() > 1 && needed(row) > width {
        let Some(last) = row.panels.iter().rposition(|(panel, _)| !stays(*panel)) else {
            return;
        };
        row.panels.remove(last);
    }
}

fn columns(row: Rect, wanted: &LayoutRow, model: &Model, panels: &mut Vec<(Panel, Rect)>) {
    let part = |(panel, weight): &(Panel, u16)| SizeShare {
        weight: *weight,
        least: (body(*panel).least_width)(model).min(row.width / wanted.panels.len() as u16),
        most: u16::MAX,
    };
    let parts: Vec<SizeShare> = wanted.panels.iter().map(part).collect();
    let mut rest = row;
    for ((panel, _), width) in wanted.panels.iter().zip(share(row.width, &parts)) {
        let (here, beside) = cut_left(rest, width);
        panels.push((*panel, here));
        rest = beside;
    }
}

/// Returns the height of a row: the largest that one of its panels needs.
fn height(row: &LayoutRow, model: &Model, all: u16) -> SizeShare {
    let panels = row.panels.iter();
    let bounds = panels.map(|(panel, _)| (body(*panel).height)(model, all));
    let (least, most) = bounds.fold((3, 0), |all, b| (all.0.max(b.0), all.1.max(b.1)));
    SizeShare {
        weight: row.height,
        least,
        most,
    }
}

fn cut_top(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    let top = Rect { height, ..area };
    let rest = Rect {
        y: area.y.saturating_add(height),
        height: area.height - height,
        ..area
    };
    (top, rest)
}

fn cut_bottom(area: Rect, height: u16) -> (Rect, Rect) {
    cut_top(area, area.height.saturating_sub(height))
}

fn cut_left(area: Rect, width: u16) -> (Rect, Rect) {
    let width = width.min(area.width);
    let left = Rect { width, ..area };
    let rest = Rect {
        x: area.x.saturating_add(width),
        width: area.width - width,
        ..area
    };
    (left, rest)
}
