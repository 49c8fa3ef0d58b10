//! Captions and figures of a demonstration, under the panels.

use ratatui::layout::Rect;

use crate::look::{Painter, Role};
use crate::model::{DemoState, Figure, FigureNote, Model};
use crate::text::format;

/// The rows of a caption.
const CAPTION: u16 = 2;

/// Returns the rows of the bar: a title, the caption, figures.
fn rows(area: Rect) -> u16 {
    let figures = match area.height {
        0..=17 => 0,
        18..=29 => 1,
        _ => 2,
    };
    1 + CAPTION + figures
}

/// Returns the remaining area.
pub(super) fn above(area: Rect, model: &Model) -> Rect {
    let height = match model.demo {
        Some(_) => area.height.saturating_sub(rows(area)),
        None => area.height,
    };
    Rect { height, ..area }
}

/// Draws the bar at the bottom of the screen.
pub(crate) fn draw(painter: &mut Painter<'_>, model: &Model) {
    let Some(demo) = &model.demo else {
        return;
    };
    let (width, rows) = (painter.width(), rows(model.area));
    let mut bar = painter.part(0, painter.height().saturating_sub(rows), width, rows);
    bar.erase();
    title(&mut bar, demo);
    caption(&mut bar, demo);
    let from = 1 + CAPTION;
    for (row, figure) in compared(demo, rows - from).into_iter().enumerate() {
        figures(&mut bar, from + row as u16, demo, figure);
    }
}

fn title(bar: &mut Painter<'_>, demo: &DemoState) {
    let line = "━".repeat(usize::from(bar.width()));
    bar.text(0, 0, &line, Role::Accent);
    let place = format!(" {}/{} ", demo.scene() + 1, demo.scenes());
    bar.pieces(
        1,
        0,
        &[
            (&place, Role::Dim),
            (demo.title(), Role::Focus),
            (" ", Role::Text),
        ],
    );
    let state = match (demo.ended, demo.watched) {
        _ if demo.trouble.is_some() => " ✗ n continues ".to_owned(),
        (Some(_), _) if demo.is_last() => " ■ end: Esc leaves, b back ".to_owned(),
        (Some(_), _) => " ■ n next, r again ".to_owned(),
        (None, Some((done, all))) => format!(" ▶ {done}/{all} answered "),
        (None, None) => " ▶ ".to_owned(),
    };
    bar.text_right(bar.width().saturating_sub(2), 0, &state, Role::Accent);
}

fn caption(bar: &mut Painter<'_>, demo: &DemoState) {
    let (text, role) = match &demo.trouble {
        Some(why) => (format!("✗ cannot be shown here: {why}"), Role::Bad),
        None => (demo.caption.clone(), Role::Strong),
    };
    let lines = format::wrap(&text, bar.width().saturating_sub(4));
    for (row, line) in lines.iter().take(usize::from(CAPTION)).enumerate() {
        bar.text(2, 1 + row as u16, line, role);
    }
}

/// Returns the kinds of the last figures, as far as there is room.
fn compared(demo: &DemoState, most: u16) -> Vec<Figure> {
    let mut kinds: Vec<Figure> = Vec::new();
    for note in demo
        .notes
        .iter()
        .rev()
        .filter(|n| n.stands_by(demo.scene()))
    {
        if !kinds.contains(&note.figure) {
            kinds.push(note.figure);
        }
    }
    kinds.truncate(usize::from(most));
    kinds
}

/// The columns of the bar of a figure on wide screens.
const BAR: u16 = 10;
/// The width from which figures have bars.
const WIDE: u16 = 100;

/// Draws the last figures of a kind side by side, as far as there is room, with bars of one scale.
fn figures(bar: &mut Painter<'_>, y: u16, demo: &DemoState, figure: Figure) {
    let stands = |n: &&FigureNote| n.figure == figure && n.stands_by(demo.scene());
    let notes: Vec<&FigureNote> = demo.notes.iter().filter(stands).collect();
    let most = notes.iter().map(|n| n.measured.value).fold(0.0, f64::max);
    let each = if bar.width() < WIDE { 0 } else { BAR + 1 };
    let mut room = bar
        .width()
        .saturating_sub(format::width(figure.title()) + 6);
    let fits = |note: &&&FigureNote| {
        let needed = format::width(note.name) + format::width(&note.text()) + each + 4;
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    };
    let shown: Vec<_> = notes.iter().rev().take_while(fits).collect();
    let mut x = bar.text(2, y, figure.title(), Role::Dim) + 3;
    for note in shown.into_iter().rev() {
        let of_this_scene = note.scene == demo.scene();
        let (role, colour) = match of_this_scene {
            true => (Role::Strong, Role::Accent),
            false => (Role::Text, Role::Dim),
        };
        x = bar.text(x, y, note.name, role) + 1;
        x = bar.text(x, y, &note.text(), role) + 1;
        if each > 0 {
            let share = note.measured.value / most.max(f64::MIN_POSITIVE);
            // Zero has no bar; a small value above zero stays visible.
            let least = if share > 0.0 { 1.0 } else { 0.0 };
            let full = (share * f64::from(BAR)).round().max(least) as u16;
            bar.run(x, y, full, "█", colour);
            x += full + 1;
        }
        x += 2;
    }
}
