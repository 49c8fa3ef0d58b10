//! The keys in hints, from the table of commands, and the footer: a message, a reload's step, or
//! the current keys.

use divisi_session::ReloadState;

use crate::commands::{BINDINGS, Binding, CommandInfo, QUIT};
use crate::look::{Painter, Role};
use crate::model::{FooterMessage, Model};
use crate::text::format;

/// A command with a word on its purpose.
pub(super) type Hint = (&'static CommandInfo, &'static str);

/// Returns the first key of a command in the footer's notation, or an empty text if it has none.
pub(super) fn label(model: &Model, command: &CommandInfo) -> String {
    binding(model, command).map_or(String::new(), |e| e.key_label(&model.settings.keys))
}

/// Returns the key of a command that can run now, or `None`.
pub(super) fn possible(model: &Model, command: &CommandInfo) -> Option<String> {
    let binding = binding(model, command)?;
    let possible = is_offered(binding, model) && binding.check(&model.state()).is_ok();
    possible.then(|| binding.key_label(&model.settings.keys))
}

/// Returns the active binding of a command, since some have other keys during editing.
fn binding(model: &Model, command: &CommandInfo) -> Option<&'static Binding> {
    let same = BINDINGS.iter().filter(|b| b.command == command);
    same.min_by_key(|b| !model.reaches(b))
}

/// Returns whether a hint is useful: a read-only console, a playback, and a console without its
/// server get no hints on changes.
fn is_offered(binding: &Binding, model: &Model) -> bool {
    let shown = &model.snapshot;
    let fixed = model.read_only || shown.playback.is_some() || shown.audience.lost;
    !(binding.command.changes && fixed)
}

fn offered<'a>(model: &Model, hints: &'a [Hint]) -> impl Iterator<Item = &'a Hint> {
    hints
        .iter()
        .filter(|hint| binding(model, hint.0).is_none_or(|e| is_offered(e, model)))
}

/// Returns keys with a word each: `e edit, s search`.
pub(super) fn words(model: &Model, hints: &[Hint]) -> String {
    let word = |(command, word): &Hint| format!("{} {word}", label(model, command));
    let words: Vec<String> = offered(model, hints).map(word).collect();
    words.join(", ")
}

/// Draws keys with a word each, as many as fit, and returns the column after them.
pub(super) fn draw(
    painter: &mut Painter<'_>,
    mut x: u16,
    y: u16,
    model: &Model,
    hints: &[Hint],
) -> u16 {
    let gap = if painter.width() < 44 { 1 } else { 3 };
    for (command, word) in offered(model, hints) {
        let key = label(model, command);
        let taken = format::width(&key) + 1 + format::width(word);
        if x + taken > painter.width() {
            break;
        }
        // An inactive key is shown dimmed.
        let works = binding(model, command).is_some_and(|b| model.reaches(b));
        let role = if works { Role::Accent } else { Role::Dim };
        x = painter.pieces(x, y, &[(&key, role), (" ", Role::Dim), (word, Role::Dim)]) + gap;
    }
    x
}

/// The maximum rows of a message.
const MOST: usize = 3;

/// Returns the rows of the footer for `width` columns: one, or as needed by a message.
pub(crate) fn footer_rows(model: &Model, width: u16) -> u16 {
    let message = model.message.as_ref();
    message.map_or(1, |m| {
        message_lines(m, width.saturating_sub(2)).len() as u16
    })
}

/// Returns a message in lines, since a reason must not be cut.
fn message_lines(message: &FooterMessage, room: u16) -> Vec<String> {
    let sign = if message.bad { "✗" } else { "›" };
    let text = format!("{sign} {}", message.text);
    if format::width(&text) <= room {
        return vec![text];
    }
    let mut lines = format::wrap(&text, room);
    if lines.len() > MOST {
        let rest = lines.split_off(MOST - 1).join(" ");
        lines.push(format::fit(&rest, room));
    }
    lines
}

/// Draws the last lines.
pub(crate) fn draw_footer(painter: &mut Painter<'_>, model: &Model) {
    let room = painter.width().saturating_sub(2);
    if let Some(message) = &model.message {
        let role = if message.bad { Role::Bad } else { Role::Accent };
        painter.erase();
        for (y, line) in message_lines(message, room).iter().enumerate() {
            painter.text(1, y as u16, line, role);
        }
    } else if let Some(step) = step(model) {
        painter.text(
            1,
            0,
            &format::fit(&format!("› reload: {step}"), room),
            Role::Accent,
        );
    } else {
        footer_keys(painter, model);
    }
}

fn step(model: &Model) -> Option<&str> {
    let reload = model.snapshot.reload.as_ref();
    let running = reload.filter(|r| r.state == ReloadState::Running)?;
    running.steps.last().map(String::as_str)
}

/// Draws as many keys as fit, always with the key to quit.
fn footer_keys(painter: &mut Painter<'_>, model: &Model) {
    for (x, entry) in footer_entries(model, painter.width()) {
        hint(painter, x, entry, model);
    }
}

/// Returns the keys of the footer, each with its column.
fn footer_entries(model: &Model, width: u16) -> Vec<(u16, &'static Binding)> {
    let quit = BINDINGS.iter().find(|b| *b.command == QUIT);
    let end = width.saturating_sub(quit.map_or(0, |e| taken(e, model) + 1));
    let mut x = 1;
    let listed = BINDINGS
        .iter()
        .filter(|b| !b.footer.is_empty() && *b.command != QUIT);
    let listed = listed.filter(|b| is_offered(b, model) && model.reaches(b));
    let mut entries = Vec::new();
    for entry in listed {
        let taken = taken(entry, model);
        if x + taken < end {
            entries.push((x, entry));
            x += taken + 2;
        }
    }
    entries.extend(quit.map(|entry| (end, entry)));
    entries
}

/// Returns the command at a column of the footer, unless a message covers it.
pub(crate) fn footer_command(model: &Model, width: u16, x: u16) -> Option<&'static Binding> {
    if model.message.is_some() || step(model).is_some() {
        return None;
    }
    let mut entries = footer_entries(model, width).into_iter();
    let hit = entries.find(|(from, entry)| (*from..from + taken(entry, model)).contains(&x));
    hit.map(|(_, entry)| entry)
}

fn hint(painter: &mut Painter<'_>, x: u16, entry: &Binding, model: &Model) {
    let possible = model.check(entry).is_ok();
    let role = if possible { Role::Accent } else { Role::Dim };
    painter.pieces(
        x,
        0,
        &[
            (&key(entry, model), role),
            (" ", role),
            (entry.footer, Role::Dim),
        ],
    );
}

fn taken(entry: &Binding, model: &Model) -> u16 {
    format::width(&key(entry, model)) + 1 + format::width(entry.footer)
}

fn key(entry: &Binding, model: &Model) -> String {
    entry.key_label(&model.settings.keys)
}
