//! What a matrix would change against the running one, to be applied by `y`.

use crossterm::event::{KeyCode, KeyEvent};
use divisi::allocation::{Change, EntryChange, Matrix};
use divisi::session::{Command, EditPreview};

use super::Answer;
use crate::console::format;
use crate::console::model::Model;
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// A comparison on the screen.
#[derive(Clone, Debug)]
pub struct Compare {
    title: &'static str,
    matrix: Matrix,
    command: Command,
    scroll: usize,
    /// What the session says of it, once it has.
    pub preview: Option<Result<EditPreview, String>>,
}

type Line = Vec<(String, Role)>;

impl Compare {
    /// A comparison of `matrix`; `command` applies it.
    pub fn new(title: &'static str, matrix: Matrix, command: Command) -> Self {
        Compare {
            title,
            matrix,
            command,
            scroll: 0,
            preview: None,
        }
    }

    /// `y` applies what can be applied.
    pub fn on_key(&mut self, key: &KeyEvent) -> Answer {
        match key.code {
            KeyCode::Esc | KeyCode::Char('n' | 'q') => return Answer::Close,
            KeyCode::Char('y') if matches!(self.preview, Some(Ok(_))) => {
                return Answer::Send(self.command.clone());
            }
            KeyCode::Down | KeyCode::Char('j') => self.scroll += 1,
            KeyCode::Up | KeyCode::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            _ => {}
        }
        Answer::Stay
    }

    /// Draws it in the middle.
    pub fn draw(&self, pen: &mut Pen<'_>, model: &Model) {
        let width = pen.width().saturating_sub(2).min(76);
        let lines = self.lines(model, width.saturating_sub(4));
        let height = (lines.len() as u16).saturating_add(4).min(pen.height());
        let mut window = pen.centred(width, height);
        let mut inside = window.framed(self.title, true);
        let room = inside.height().saturating_sub(2);
        let most = lines.len().saturating_sub(usize::from(room));
        for (y, line) in lines
            .iter()
            .skip(self.scroll.min(most))
            .take(usize::from(room))
            .enumerate()
        {
            let mut x = 1;
            for (text, role) in line {
                x = inside.text(x, y as u16, text, *role);
            }
        }
        self.draw_keys(&mut inside, most > 0);
    }

    fn draw_keys(&self, inside: &mut Pen<'_>, scrolls: bool) {
        let y = inside.height().saturating_sub(1);
        let mut x = 1;
        if matches!(self.preview, Some(Ok(_))) {
            x = inside.pieces(x, y, &[("y", Role::Accent), (" apply   ", Role::Dim)]);
        }
        x = inside.pieces(x, y, &[("Esc", Role::Accent), (" back", Role::Dim)]);
        if scrolls {
            inside.pieces(x + 3, y, &[("↑ ↓", Role::Accent), (" scroll", Role::Dim)]);
        }
    }

    fn lines(&self, model: &Model, width: u16) -> Vec<Line> {
        match &self.preview {
            None => vec![vec![("comparing …".to_owned(), Role::Dim)]],
            Some(Err(reason)) => {
                let wrapped = format::wrap(&format!("✗ cannot be applied: {reason}"), width);
                wrapped.into_iter().map(|l| vec![(l, Role::Bad)]).collect()
            }
            Some(Ok(preview)) => self.preview_lines(preview, model, width),
        }
    }

    fn preview_lines(&self, preview: &EditPreview, model: &Model, width: u16) -> Vec<Line> {
        let mut lines = vec![counts(preview), Vec::new()];
        lines.extend(preview.difference.changed().map(|c| self.change(c)));
        lines.push(Vec::new());
        lines.extend(memory(preview, model));
        lines.push(Vec::new());
        lines.extend(pauses(preview, width));
        lines
    }

    fn change(&self, entry: &EntryChange) -> Line {
        let frame = self.matrix.frame();
        let (sign, word, what, role) = match entry.change {
            Change::Keep(size) => ("=", "keep", format!("{size}"), Role::Dim),
            Change::Start(size) => ("+", "start", format!("batch {size}"), Role::Good),
            Change::Stop(size) => ("−", "stop", format!("batch {size}"), Role::Bad),
            Change::Resize { from, to } => {
                ("~", "resize", format!("batch {from} → {to}"), Role::Warn)
            }
        };
        let device = frame
            .devices
            .get(entry.cell.device)
            .map_or("", String::as_str);
        let member = frame
            .members
            .get(entry.cell.member)
            .map_or("", String::as_str);
        vec![
            (format!("{sign} {word:<7}"), role),
            (
                format!(
                    "{:<10} × {:<16} ",
                    format::fit(device, 10),
                    format::fit(member, 16)
                ),
                Role::Text,
            ),
            (what, Role::Strong),
        ]
    }
}

fn counts(preview: &EditPreview) -> Line {
    let of = |test: fn(&Change) -> bool| {
        let entries = preview.difference.entries.iter();
        entries.filter(|e| test(&e.change)).count()
    };
    let text = format!(
        "workers  = {} kept   + {} started   − {} stopped   ~ {} resized",
        of(|c| matches!(c, Change::Keep(_))),
        of(|c| matches!(c, Change::Start(_))),
        of(|c| matches!(c, Change::Stop(_))),
        of(|c| matches!(c, Change::Resize { .. })),
    );
    vec![(text, Role::Strong)]
}

fn memory(preview: &EditPreview, model: &Model) -> Vec<Line> {
    let mut lines = vec![vec![(
        format!("{:<10}{:>11}{:>11}{:>11}", "memory", "now", "after", "of"),
        Role::Dim,
    )]];
    for (device, (now, after)) in model.snapshot.devices.iter().zip(&preview.memory) {
        let role = match after {
            a if *a > device.memory_bytes => Role::Bad,
            a if a != now => Role::Strong,
            _ => Role::Text,
        };
        let name = format::fit(&device.name, 10);
        let numbers = [*now, *after, device.memory_bytes].map(format::bytes);
        let [now, after, size] = numbers;
        lines.push(vec![
            (format!("{name:<10}{now:>11}"), Role::Text),
            (format!("{after:>11}"), role),
            (format!("{size:>11}"), Role::Dim),
        ]);
    }
    lines
}

fn pauses(preview: &EditPreview, width: u16) -> Vec<Line> {
    let (text, role) = match preview.paused_members.as_slice() {
        [] => (
            "✓ new workers are ready before old ones drain: nothing pauses".to_owned(),
            Role::Good,
        ),
        members => (
            format!(
                "! both do not fit in memory: requests wait for a moment for {}",
                members.join(", ")
            ),
            Role::Warn,
        ),
    };
    let wrapped = format::wrap(&text, width);
    wrapped.into_iter().map(|l| vec![(l, role)]).collect()
}
