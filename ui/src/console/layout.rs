//! Where things are on the screen, for any size.

use ratatui::layout::Rect;

use super::model::{Model, Panel};
use super::panels;

/// The least that shows the essentials.
pub const LEAST: (u16, u16) = (40, 12);

/// Areas of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    /// One or two lines at the top.
    pub header: Rect,
    /// The panels that are shown.
    pub panels: Vec<(Panel, Rect)>,
    /// One line of percentiles, where there is no room for the panel.
    pub latency: Option<Rect>,
    /// Messages and keys.
    pub footer: Rect,
}

/// The areas, unless the screen is too small for anything.
pub fn arrange(area: Rect, model: &Model) -> Option<Screen> {
    let area = super::demo::above(area, model);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return None;
    }
    let roomy = area.width >= 76 && area.height >= 20;
    let header = if roomy { 2 } else { 1 };
    let (header, rest) = cut_top(area, header);
    let (body, footer) = cut_bottom(rest, 1);
    let (body, latency) = match roomy {
        true => (body, None),
        false => {
            let (body, line) = cut_bottom(body, 1);
            (body, Some(line))
        }
    };
    let panels = match roomy && !model.expanded {
        true => grid(body, model),
        false => vec![(shown_alone(model), body)],
    };
    Some(Screen {
        header,
        panels,
        latency,
        footer,
    })
}

fn shown_alone(model: &Model) -> Panel {
    match model.edit {
        Some(_) => Panel::Allocation,
        None => model.focus,
    }
}

/// Allocation and search, the streams, then latency, throughput and log.
fn grid(body: Rect, model: &Model) -> Vec<(Panel, Rect)> {
    let (top, middle, bottom) = heights(body.height, model);
    let (upper, rest) = cut_top(body, top);
    let (streams, lower) = cut_top(rest, middle);
    let lower = Rect {
        height: bottom.min(lower.height),
        ..lower
    };
    let mut panels = upper_row(upper, model);
    panels.push((Panel::Streams, streams));
    let third = body.width / 3;
    let (latency, rest) = cut_left(lower, third);
    let (throughput, log) = cut_left(rest, third);
    panels.push((Panel::Latency, latency));
    panels.push((Panel::Throughput, throughput));
    panels.push((Panel::Log, log));
    panels
}

/// Editing has the whole width: errors and changes need it.
fn upper_row(upper: Rect, model: &Model) -> Vec<(Panel, Rect)> {
    if model.edit.is_some() {
        return vec![(Panel::Allocation, upper)];
    }
    let search = (upper.width * 2 / 5).clamp(28, 76);
    let (allocation, search) = cut_left(upper, upper.width.saturating_sub(search));
    vec![(Panel::Allocation, allocation), (Panel::Search, search)]
}

/// Rows for the three parts. The streams get what they need, the others the rest.
fn heights(body: u16, model: &Model) -> (u16, u16, u16) {
    let devices = model.snapshot.devices.len() as u16;
    let rows = u16::try_from(panels::stream_rows(model)).unwrap_or(u16::MAX);
    let top_needs = devices.saturating_add(10);
    let top_least = devices.saturating_add(8).clamp(8, (body * 2 / 5).max(8));
    let bottom_least = (body / 4).clamp(6, 18);
    let middle_needs = rows.saturating_add(4).max(6);
    let mut spare = body.saturating_sub(top_least + bottom_least);
    let middle = middle_needs.min(spare);
    spare -= middle;
    let top_more = top_needs.saturating_sub(top_least).min(spare);
    spare -= top_more;
    // What nobody needs goes to the plots, and a part of it above.
    let above = if spare > 6 { spare / 3 } else { 0 };
    (
        top_least + top_more + above,
        middle,
        bottom_least + spare - above,
    )
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
