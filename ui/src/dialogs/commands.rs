//! Commands found by a part of their name: the help lists all with their keys, the palette runs
//! one.

use crossterm::event::{KeyCode, KeyEvent};
use divisi_runtime::device::MemberIndex;

use super::{DialogBody, DialogReply, field};
use crate::commands::{
    BINDINGS, BOTTOM, Binding, CommandInfo, DOWN, LEFT, PAGE_DOWN, PAGE_UP, PALETTE, RIGHT, Scope,
    TOP, UP,
};
use crate::config::HangUp;
use crate::look::{Painter, Role};
use crate::model::{MemberSigns, Model};
use crate::text::format;

/// The help's state.
#[derive(Clone, Debug, Default)]
pub struct Help {
    query: String,
    scroll: usize,
}

/// A row of the help.
enum HelpRow {
    /// The title of a section.
    Title(String),
    /// A command with its keys.
    Entry(&'static Binding),
    /// A line of the legend.
    Legend(Vec<(String, Role)>),
}

impl Help {
    /// Returns the rows that match the query: the legend, then a section for each place in which
    /// keys work, the current ones first.
    fn rows(&self, model: &Model) -> Vec<HelpRow> {
        let keys = &model.settings.keys;
        let found = BINDINGS.iter().filter(|e| e.matches(&self.query, keys));
        let mut found: Vec<&'static Binding> = found.collect();
        found.sort_by_key(|e| !model.reaches(e));
        let mut rows = match self.query.is_empty() {
            true => legend(model),
            false => Vec::new(),
        };
        while let Some(first) = found.first() {
            let scope = first.scope;
            let (section, rest) = found.into_iter().partition(|e| e.scope == scope);
            rows.push(HelpRow::Title(section_title(scope)));
            rows.extend(Vec::into_iter(section).map(HelpRow::Entry));
            found = rest;
        }
        rows
    }
}

/// Returns the title of the keys of a scope.
fn section_title(scope: Scope) -> String {
    match scope {
        Scope::Always => "everywhere".to_owned(),
        Scope::Main => "outside of editing".to_owned(),
        Scope::In(panel) => format!("in the panel {}", panel.name()),
        Scope::Edit => "while editing".to_owned(),
        Scope::Replay => "in a recording".to_owned(),
        Scope::Demo => "in a demonstration".to_owned(),
    }
}

/// Returns the meaning of signs and colours.
fn legend(model: &Model) -> Vec<HelpRow> {
    let piece = |(text, role): &(&str, Role)| ((*text).to_owned(), *role);
    let lines = LEGEND.iter().map(|line| line.iter().map(piece).collect());
    let mut rows = vec![HelpRow::Title("signs and colours".to_owned())];
    rows.extend(lines.map(HelpRow::Legend));
    rows.extend(member_legend(model).map(HelpRow::Legend));
    rows
}

/// The signs and their meanings, a line each.
static LEGEND: [&[(&str, Role)]; 4] = [
    &[
        ("░", Role::Wait),
        (" wait  ", Role::Dim),
        ("▒", Role::Copy),
        (" copy in  ", Role::Dim),
        ("█", Role::Compute),
        (" compute, in the member's hue  ", Role::Dim),
        ("▞", Role::CopyOut),
        (" copy out  ", Role::Dim),
        ("▓", Role::Send),
        (" send", Role::Dim),
    ],
    &[
        ("▂", Role::LoadLow),
        ("▅", Role::LoadMedium),
        ("█", Role::LoadHigh),
        (" load of a device: low, medium, high", Role::Dim),
    ],
    &[
        ("✗", Role::Bad),
        (" fault  ", Role::Dim),
        ("!", Role::Warn),
        (" warning, slowed worker  ", Role::Dim),
        ("+ ~ −", Role::Accent),
        (" staged: start, resize, stop  ", Role::Dim),
        ("~", Role::Dim),
        (" too few requests for this percentile", Role::Dim),
    ],
    &[
        ("R P C L D B M", Role::Warn),
        (
            " changes: reload, policy, combination, load, device, rollback, models",
            Role::Dim,
        ),
    ],
];

/// Returns the members with their letters and hues, several on a line.
fn member_legend(model: &Model) -> impl Iterator<Item = Vec<(String, Role)>> {
    let members = MemberIndex::enumerate(&model.snapshot.members);
    let pieces: Vec<(String, Role)> = members
        .map(|(at, member)| {
            let text = format!("{} {}  ", model.signs.letter(at), member.name);
            (text, MemberSigns::hue(at))
        })
        .collect();
    let lines: Vec<_> = pieces.chunks(5).map(<[_]>::to_vec).collect();
    lines.into_iter()
}

impl DialogBody for Help {
    /// Typing searches, arrows scroll, `Esc` closes.
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply {
        let most = self.rows(model).len().saturating_sub(1);
        match key.code {
            KeyCode::Esc | KeyCode::Enter => return DialogReply::Close,
            KeyCode::Char('?') => return DialogReply::Close,
            KeyCode::Char('q') if self.query.is_empty() => return DialogReply::Close,
            KeyCode::Down => self.scroll = (self.scroll + 1).min(most),
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::PageDown => self.scroll = (self.scroll + 10).min(most),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(10),
            _ if field::typed(&mut self.query, key) => self.scroll = 0,
            _ => {}
        }
        DialogReply::Stay
    }

    /// Pastes text into the search.
    fn on_paste(&mut self, line: &str) -> bool {
        self.scroll = 0;
        field::pasted(&mut self.query, line)
    }

    /// Draws the dialog over most of the screen.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let width = painter.width().saturating_sub(2).min(124);
        let height = painter.height().saturating_sub(2);
        let rows = self.rows(model);
        let height = height.min(rows.len() as u16 + 5);
        let mut window = painter.centred(width, height);
        let mut inside = window.framed("help", true);
        let at = inside.pieces(1, 0, &[("search ", Role::Dim), (&self.query, Role::Strong)]);
        inside.text(at, 0, " ", Role::Cursor);
        let room = usize::from(inside.height().saturating_sub(3));
        let first = self.scroll.min(rows.len().saturating_sub(room));
        for (y, row) in rows.iter().skip(first).take(room).enumerate() {
            draw_help_row(&mut inside, y as u16 + 1, row, model);
        }
        if rows.is_empty() {
            inside.text(1, 1, "no command matches", Role::Dim);
        }
        let last = inside.height().saturating_sub(1);
        let below = rows.len().saturating_sub(first + room);
        let more = format!("scroll ({below} more)");
        let x = inside.keys(1, last, 3, &[("Esc", "close"), ("↑ ↓", &more)]);
        let hint = model.hang_up().map_or("", HangUp::hint);
        inside.text(x + 3, last, hint, Role::Dim);
    }
}

fn draw_help_row(inside: &mut Painter<'_>, y: u16, row: &HelpRow, model: &Model) {
    match row {
        HelpRow::Title(title) => {
            let x = inside.text(1, y, title, Role::Focus) + 1;
            let width = inside.width().saturating_sub(x + 1);
            inside.run(x, y, width, "─", Role::Border);
        }
        HelpRow::Legend(line) => drop(inside.line(1, y, line)),
        HelpRow::Entry(entry) => draw_explained(inside, y, entry, model),
    }
}

/// Draws an entry; narrow screens have the explanation instead of the title.
fn draw_explained(inside: &mut Painter<'_>, y: u16, entry: &Binding, model: &Model) {
    let (keys, title) = (14, 28);
    let role = if model.reaches(entry) {
        Role::Accent
    } else {
        Role::Dim
    };
    let labels = entry.key_labels(&model.settings.keys);
    inside.text(1, y, &format::fit(&labels, keys - 1), role);
    let mut x = 1 + keys;
    if inside.width() >= 112 {
        inside.text(x, y, entry.title, Role::Strong);
        x += title;
    }
    let room = inside.width().saturating_sub(x + 1);
    inside.text(x, y, &format::fit(entry.help, room), Role::Dim);
}

/// Commands that the palette omits, since their keys suffice.
static MOVEMENTS: [&CommandInfo; 9] = [
    &UP, &DOWN, &LEFT, &RIGHT, &PAGE_UP, &PAGE_DOWN, &TOP, &BOTTOM, &PALETTE,
];

/// The palette's state.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    query: String,
    chosen: usize,
}

impl Palette {
    fn found(&self, model: &Model) -> Vec<&'static Binding> {
        let now = model.key_context();
        let movement = |b: &Binding| MOVEMENTS.contains(&b.command);
        let matches = |b: &Binding| b.matches(&self.query, &model.settings.keys);
        let mut found: Vec<&'static Binding> = BINDINGS
            .iter()
            .filter(|b| b.scope.is_offered(now) && !movement(b) && matches(b))
            .collect();
        // Names that begin with the query come first, then names that contain it, then matches in
        // the help.
        let query = self.query.to_lowercase();
        let named = |e: &Binding| {
            let name = format!("{} {}", e.title.to_lowercase(), e.name());
            query.split_whitespace().all(|word| name.contains(word))
        };
        found.sort_by_cached_key(|e| (!e.title.starts_with(&query), !named(e)));
        found
    }
}

impl DialogBody for Palette {
    /// Typing filters, arrows choose, `Enter` runs.
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply {
        let found = self.found(model);
        match key.code {
            KeyCode::Esc => return DialogReply::Close,
            KeyCode::Enter => {
                let chosen = found.get(self.chosen);
                return chosen.map_or(DialogReply::Close, |b| DialogReply::Run(b));
            }
            KeyCode::Down | KeyCode::Tab => {
                self.chosen = (self.chosen + 1).min(found.len().saturating_sub(1))
            }
            KeyCode::Up | KeyCode::BackTab => self.chosen = self.chosen.saturating_sub(1),
            _ if field::typed(&mut self.query, key) => self.chosen = 0,
            _ => {}
        }
        DialogReply::Stay
    }

    /// Pastes text into the filter, without running anything.
    fn on_paste(&mut self, line: &str) -> bool {
        self.chosen = 0;
        field::pasted(&mut self.query, line)
    }

    /// Draws the dialog near the top.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let found = self.found(model);
        let width = painter.width().saturating_sub(2).min(72);
        let height = (found.len() as u16).clamp(1, 12) + 3;
        let mut window = painter.centred(width, height);
        let mut inside = window.framed("command", true);
        let at = inside.pieces(1, 0, &[(": ", Role::Accent), (&self.query, Role::Strong)]);
        inside.text(at, 0, " ", Role::Cursor);
        let room = usize::from(inside.height().saturating_sub(1));
        let first = (self.chosen + 1).saturating_sub(room);
        for (i, entry) in found.iter().enumerate().skip(first).take(room) {
            let y = (i - first) as u16 + 1;
            draw_offered(&mut inside, y, entry, i == self.chosen, model);
        }
        if found.is_empty() {
            inside.text(1, 1, "no command matches", Role::Dim);
        }
    }
}

fn draw_offered(inside: &mut Painter<'_>, y: u16, entry: &Binding, chosen: bool, model: &Model) {
    let refusal = model.check(entry).err();
    let role = if refusal.is_some() {
        Role::Dim
    } else {
        Role::Text
    };
    let sign = if chosen { "▸" } else { " " };
    let x = inside.pieces(0, y, &[(sign, Role::Accent), (entry.title, role)]);
    let keys = entry.key_label(&model.settings.keys);
    let end = inside.width().saturating_sub(1);
    inside.text_right(end, y, &keys, Role::Accent);
    if let Some(reason) = refusal {
        let room = end.saturating_sub(x + 4 + format::width(&keys));
        inside.text(x + 2, y, &format::fit(&reason.to_string(), room), Role::Dim);
    }
    if chosen {
        inside.restyle(1, y, end.saturating_sub(1), Role::Cursor);
    }
}
