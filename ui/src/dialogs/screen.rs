//! Choices for the screen: the shown panels, and a theme with a live preview.

use crossterm::event::{KeyCode, KeyEvent};

use super::{DialogBody, DialogReply};
use crate::config::Settings;
use crate::layout::Panel;
use crate::look::{Painter, Role, Theme};
use crate::model::Model;

/// The list's state.
#[derive(Clone, Debug, Default)]
pub struct PanelList {
    chosen: usize,
}

impl PanelList {
    fn toggle(&self, model: &mut Model) {
        model.arrangement.toggle(Panel::ALL[self.chosen]);
        model.expanded = false;
        model.settle();
    }
}

impl DialogBody for PanelList {
    /// Arrows or numbers choose, space hides or shows, `Esc` closes.
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply {
        let last = Panel::ALL.len() - 1;
        match key.code {
            KeyCode::Esc | KeyCode::Char('q' | 'H') => return DialogReply::Close,
            KeyCode::Down | KeyCode::Char('j') => self.chosen = (self.chosen + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Char(' ') | KeyCode::Enter => self.toggle(model),
            KeyCode::Char(sign) => {
                let named = Panel::ALL.iter().position(|panel| panel.sign() == sign);
                if let Some(at) = named {
                    self.chosen = at;
                    self.toggle(model);
                }
            }
            _ => {}
        }
        DialogReply::Stay
    }

    /// Draws the dialog in the middle.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let count = Panel::ALL.len() as u16;
        let mut window = painter.centred(36, count + 4);
        let title = format!("panels of {}", model.arrangement.name());
        let mut inside = window.framed(&title, true);
        for (y, panel) in Panel::ALL.into_iter().enumerate() {
            let shown = model.arrangement.shows(panel);
            let (sign, role) = match shown {
                true => ("✓", Role::Good),
                false => (" ", Role::Dim),
            };
            let name = format!(" {} {:<12}", panel.sign(), panel.name());
            let text = if shown { Role::Text } else { Role::Dim };
            let y = y as u16;
            inside.pieces(2, y, &[(sign, role), (&name, text)]);
            if usize::from(y) == self.chosen {
                inside.text(0, y, "▸", Role::Accent);
                inside.restyle(3, y, 16, Role::Cursor);
            }
        }
        let keys = [("space", "hide or show"), ("Esc", "close")];
        inside.keys(1, count + 1, 3, &keys);
    }
}

/// The sample of a theme: the names of roles, each in its role.
const SAMPLE: [(&str, Role); 6] = [
    ("text ", Role::Text),
    ("accent ", Role::Accent),
    ("dim ", Role::Dim),
    ("good ", Role::Good),
    ("warn ", Role::Warn),
    ("bad", Role::Bad),
];

/// The choice's state.
#[derive(Clone, Debug)]
pub struct Themes {
    chosen: usize,
    /// The theme that `Esc` restores.
    before: Theme,
}

impl Themes {
    /// Starts with the current theme.
    pub fn new(settings: &Settings) -> Self {
        let at = settings.themes.iter().position(|t| *t == settings.theme);
        Themes {
            chosen: at.unwrap_or(0),
            before: settings.theme.clone(),
        }
    }

    fn choose(&mut self, model: &mut Model, step: isize) {
        let last = model.settings.themes.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(step).min(last);
        if let Some(theme) = model.settings.themes.get(self.chosen).cloned() {
            model.settings.wear(theme);
        }
    }
}

impl DialogBody for Themes {
    /// Arrows choose and show, `Enter` keeps, `Esc` restores the previous theme.
    fn on_key(&mut self, key: &KeyEvent, model: &mut Model) -> DialogReply {
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => {
                model.settings.wear(self.before.clone());
                return DialogReply::Close;
            }
            KeyCode::Enter => {
                let name = model.settings.theme.name.clone();
                let text = format!("theme {name}; to keep it: theme = \"{name}\" in config.toml");
                model.say(text, false);
                return DialogReply::Close;
            }
            KeyCode::Up | KeyCode::Char('k') => self.choose(model, -1),
            KeyCode::Down | KeyCode::Char('j') => self.choose(model, 1),
            _ => {}
        }
        DialogReply::Stay
    }

    /// Draws the dialog in the middle.
    fn draw(&self, painter: &mut Painter<'_>, model: &Model) {
        let themes = &model.settings.themes;
        let width = painter.width().saturating_sub(2).min(48);
        let mut window = painter.centred(width, themes.len() as u16 + 6);
        let mut inside = window.framed("theme", true);
        for (i, theme) in themes.iter().enumerate() {
            let (sign, role) = match i == self.chosen {
                true => ("●", Role::Strong),
                false => ("○", Role::Text),
            };
            let pieces = [(sign, Role::Accent), (" ", role), (&theme.name, role)];
            inside.pieces(1, i as u16, &pieces);
        }
        inside.pieces(1, themes.len() as u16 + 1, &SAMPLE);
        let keys = [("↑ ↓", "choose"), ("Enter", "take"), ("Esc", "back")];
        inside.keys(1, inside.height().saturating_sub(1), 3, &keys);
    }
}
