//! A file picker inside the terminal, which always works. On a desktop, its own dialog is also
//! offered.

mod draw;

use std::path::PathBuf;

use crate::look::Painter;
use crate::model::Model;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{DialogBody, DialogReply, field};
use crate::files::FilePick;
use crate::files::{FolderItem, FolderListing};
use crate::model::{Effect, Remembered};

/// The purpose of choosing a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To read a setup.
    Open,
    /// To write this text.
    Save(String),
}

/// The picker's state.
#[derive(Clone, Debug)]
pub struct Picker {
    purpose: Purpose,
    /// The last listing.
    folder: Option<FolderListing>,
    /// A filter, a name, or a path.
    typed: String,
    chosen: usize,
    hidden: bool,
    state: PickerState,
    error: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PickerState {
    Choosing,
    /// A file of this name exists; `y` replaces it.
    Asking(PathBuf),
    /// The desktop's dialog is open.
    Elsewhere,
}

impl Picker {
    /// Creates a picker, and returns its first request.
    pub fn new(purpose: Purpose, name: &str, remembered: &Remembered) -> (Self, Effect) {
        let typed = match purpose {
            Purpose::Open => String::new(),
            Purpose::Save(_) => name.to_owned(),
        };
        let picker = Picker {
            purpose,
            folder: None,
            typed,
            chosen: 0,
            hidden: remembered.hidden,
            state: PickerState::Choosing,
            error: None,
        };
        (picker, Effect::Look(remembered.folder.clone()))
    }

    fn saves(&self) -> bool {
        matches!(self.purpose, Purpose::Save(_))
    }

    /// Returns whether hidden files are listed.
    pub fn shows_hidden(&self) -> bool {
        self.hidden
    }

    /// Shows an error of the chosen file.
    pub fn fail(&mut self, why: String) {
        self.state = PickerState::Choosing;
        self.error = Some(why);
    }

    fn on_answer(&mut self, key: &KeyEvent, path: PathBuf) -> DialogReply {
        match key.code {
            KeyCode::Char('y') => self.write(path, true),
            KeyCode::Esc | KeyCode::Char('n') => {
                self.state = PickerState::Choosing;
                DialogReply::Stay
            }
            _ => DialogReply::Stay,
        }
    }

    fn while_elsewhere(&mut self, key: &KeyEvent) -> DialogReply {
        if key.code != KeyCode::Esc {
            return DialogReply::Stay;
        }
        self.state = PickerState::Choosing;
        DialogReply::Ask(Effect::StopPick)
    }

    fn on_choice(&mut self, key: &KeyEvent) -> DialogReply {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return DialogReply::Close,
            KeyCode::Enter => return self.enter(),
            KeyCode::Char('t') if control => self.toggle_hidden(),
            KeyCode::Char('o') if control => return self.ask_desktop(),
            KeyCode::Up => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down => self.walk(1),
            KeyCode::PageUp => self.chosen = self.chosen.saturating_sub(10),
            KeyCode::PageDown => self.walk(10),
            KeyCode::Tab => self.complete(),
            KeyCode::Backspace if self.typed.is_empty() => return self.up(),
            _ if field::typed(&mut self.typed, key) => self.chosen = 0,
            _ => {}
        }
        DialogReply::Stay
    }

    fn toggle_hidden(&mut self) {
        self.hidden = !self.hidden;
        self.chosen = 0;
    }

    fn walk(&mut self, step: usize) {
        let last = self.rows().len().saturating_sub(1);
        self.chosen = (self.chosen + step).min(last);
    }

    fn ask_desktop(&mut self) -> DialogReply {
        let Some(folder) = self.folder.as_ref().filter(|f| f.desktop) else {
            self.error = Some("no desktop to show a dialog".into());
            return DialogReply::Stay;
        };
        self.state = PickerState::Elsewhere;
        DialogReply::Ask(Effect::Pick(FilePick {
            save: self.saves(),
            folder: folder.path.clone(),
            name: self.typed.clone(),
        }))
    }

    /// Replaces the typed text with the name at the cursor. A folder's name ends with `/`.
    fn complete(&mut self) {
        let name = self.row().map(|item| match item.folder {
            true => format!("{}/", item.name),
            false => item.name.clone(),
        });
        self.typed = name.unwrap_or_else(|| std::mem::take(&mut self.typed));
        self.chosen = 0;
    }

    fn up(&mut self) -> DialogReply {
        let parent = self.folder.as_ref().and_then(|f| f.path.parent());
        parent.map_or(DialogReply::Stay, |p| {
            DialogReply::Ask(Effect::Look(p.to_owned()))
        })
    }

    /// Returns the files that match the typed text; when saving, all files until a row is chosen.
    fn rows(&self) -> Vec<&FolderItem> {
        let Some(folder) = &self.folder else {
            return Vec::new();
        };
        let typed = self.typed.to_lowercase();
        let dotted = self.typed.starts_with('.');
        let shown = |i: &&FolderItem| self.hidden || dotted || !i.name.starts_with('.');
        let matches = |i: &&FolderItem| self.saves() || i.name.to_lowercase().contains(&typed);
        folder.items.iter().filter(shown).filter(matches).collect()
    }

    /// Returns the row at the cursor. When saving, the first row is the typed name itself.
    fn row(&self) -> Option<&FolderItem> {
        let at = match self.saves() {
            true => self.chosen.checked_sub(1)?,
            false => self.chosen,
        };
        self.rows().get(at).copied()
    }

    fn enter(&mut self) -> DialogReply {
        let Some(folder) = self.folder.as_ref().map(|f| f.path.clone()) else {
            return DialogReply::Stay;
        };
        if let (Some(item), false) = (self.row(), self.typed.contains('/')) {
            return self.follow(folder.join(&item.name), item.folder);
        }
        match self.typed.as_str() {
            "" => DialogReply::Stay,
            ".." => self.up(),
            // The listing decides: a folder is entered, a file is chosen.
            path if path.starts_with('~') => DialogReply::Ask(Effect::Look(path.into())),
            path => DialogReply::Ask(Effect::Look(folder.join(path))),
        }
    }

    fn follow(&mut self, path: PathBuf, folder: bool) -> DialogReply {
        match (folder, self.saves()) {
            (true, _) => DialogReply::Ask(Effect::Look(path)),
            (false, false) => DialogReply::Ask(Effect::Read(path)),
            (false, true) => {
                self.state = PickerState::Asking(path);
                DialogReply::Stay
            }
        }
    }

    /// Receives a requested listing. Returns the effect that reads or writes the file, if that is
    /// possible at once.
    pub fn looked(&mut self, looked: Result<FolderListing, String>) -> Option<Effect> {
        let folder = match looked {
            Ok(folder) => folder,
            Err(why) => {
                self.error = Some(why);
                return None;
            }
        };
        let about = folder.about.clone();
        let (path, first) = (folder.path.clone(), self.folder.is_none());
        self.folder = Some(folder);
        self.chosen = 0;
        let Some((name, there)) = about else {
            // The name to save under stays; a typed path does not.
            if !first && (!self.saves() || self.typed.contains('/') || self.typed == "..") {
                self.typed.clear();
            }
            return None;
        };
        let file = path.join(&name);
        self.typed = name;
        self.found(file, there)
    }

    fn found(&mut self, file: PathBuf, there: bool) -> Option<Effect> {
        match (self.saves(), there) {
            (false, true) => return Some(Effect::Read(file)),
            (false, false) => self.error = Some(format!("no such file: {}", file.display())),
            (true, true) => self.state = PickerState::Asking(file),
            (true, false) => {
                if let DialogReply::Ask(effect) = self.write(file, false) {
                    return Some(effect);
                }
            }
        }
        None
    }

    /// Receives the result of the desktop's dialog, which has already asked about replacing a file.
    pub fn picked(&mut self, picked: Result<Option<PathBuf>, String>) -> Option<Effect> {
        self.state = PickerState::Choosing;
        match picked {
            Err(why) => self.error = Some(why),
            Ok(None) => {}
            Ok(Some(path)) if self.saves() => {
                if let DialogReply::Ask(effect) = self.write(path, true) {
                    return Some(effect);
                }
            }
            Ok(Some(path)) => return Some(Effect::Read(path)),
        }
        None
    }

    /// The picker stays open until the file is written, since writing may fail.
    fn write(&mut self, path: PathBuf, replace: bool) -> DialogReply {
        self.state = PickerState::Choosing;
        let Purpose::Save(text) = &self.purpose else {
            return DialogReply::Stay;
        };
        DialogReply::Ask(Effect::Write {
            path,
            bytes: text.clone().into_bytes(),
            replace,
        })
    }

    /// Returns the shown folder.
    pub fn folder(&self) -> Option<&PathBuf> {
        self.folder.as_ref().map(|f| &f.path)
    }
}

impl DialogBody for Picker {
    /// Typing filters or names, `Enter` continues, `Esc` leaves.
    fn on_key(&mut self, key: &KeyEvent, _: &mut Model) -> DialogReply {
        self.error = None;
        match &self.state {
            PickerState::Asking(path) => {
                let path = path.clone();
                self.on_answer(key, path)
            }
            PickerState::Elsewhere => self.while_elsewhere(key),
            PickerState::Choosing => self.on_choice(key),
        }
    }

    /// Pastes text into the typed text, while a file is chosen here.
    fn on_paste(&mut self, line: &str) -> bool {
        self.error = None;
        self.chosen = 0;
        self.state == PickerState::Choosing && field::pasted(&mut self.typed, line)
    }

    fn draw(&self, painter: &mut Painter<'_>, _: &Model) {
        self.paint(painter);
    }
}
