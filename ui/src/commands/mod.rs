//! The table of commands: their names, keys, line forms, and the conditions under which they can
//! run.
//!
//! Keys, palette, help, footer, linear mode, the check of a user's keys, `divisi keys`, the manual
//! page and the demonstration read it. The functions that a row names are in `actions`, above this
//! module, which expands the same rows; a missing function does not compile. Files of users contain
//! the names of commands: a new name breaks these files.

mod bindings;
mod conditions;
mod keys;
mod table;

use divisi_model::allocation::Cell;
use divisi_runtime::device::MemberIndex;
use divisi_session::{DeviceView, Snapshot};

use crate::layout::Panel;

pub use bindings::*;
pub(crate) use bindings::{focus, focused_by};
pub use conditions::{NotNow, ShownState};
pub use keys::{Clash, EXPECTED as KEY_NAMES, Key, Keymap};
pub(crate) use table::each_command;

/// A command: the facts shared by its keys, its line and its other forms.
#[derive(Debug)]
pub struct CommandInfo {
    /// The name in key maps, the palette and linear mode: `apply-best`.
    pub name: &'static str,
    /// Whether it changes the engine; such commands are refused when read-only.
    pub changes: bool,
    /// The condition for running it, regardless of its subject.
    when: fn(&ShownState<'_>) -> Result<(), NotNow>,
    subject: Subject,
}

/// The subject of a command, with a check.
#[derive(Debug)]
enum Subject {
    /// No subject in the matrix.
    Whole,
    /// A member, by its column.
    Member(fn(&Snapshot, MemberIndex) -> Result<(), NotNow>),
    /// A device.
    Device(fn(&DeviceView) -> Result<(), NotNow>),
}

const fn command(name: &'static str) -> CommandInfo {
    CommandInfo {
        name,
        changes: false,
        when: |_| Ok(()),
        subject: Subject::Whole,
    }
}

impl CommandInfo {
    const fn changing(self) -> Self {
        CommandInfo {
            changes: true,
            ..self
        }
    }

    const fn when(self, when: fn(&ShownState<'_>) -> Result<(), NotNow>) -> Self {
        CommandInfo { when, ..self }
    }

    const fn of_member(self, check: fn(&Snapshot, MemberIndex) -> Result<(), NotNow>) -> Self {
        let subject = Subject::Member(check);
        CommandInfo { subject, ..self }
    }

    const fn of_device(self, check: fn(&DeviceView) -> Result<(), NotNow>) -> Self {
        let subject = Subject::Device(check);
        CommandInfo { subject, ..self }
    }

    /// Checks that the command can run, regardless of its subject.
    ///
    /// # Errors
    /// The reason why it cannot `title`.
    pub fn check(&self, title: &'static str, state: &ShownState<'_>) -> Result<(), NotNow> {
        if self.changes {
            state.check_rights(title)?;
        }
        (self.when)(state)
    }

    /// Checks that the command can run on the subject at a place of the matrix.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn check_at(&self, shown: &Snapshot, at: Cell) -> Result<(), NotNow> {
        match (&self.subject, shown.device(at.device)) {
            (Subject::Member(check), _) => check(shown, at.member),
            (Subject::Device(check), Some(device)) => check(device),
            (Subject::Whole, _) | (Subject::Device(_), None) => Ok(()),
        }
    }
}

impl PartialEq for CommandInfo {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CommandInfo {}

/// The context in which a command's keys work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    Always,
    /// Outside of editing.
    Main,
    /// While this panel has the focus.
    In(Panel),
    /// While the matrix is being edited.
    Edit,
    /// While a recording is played.
    Replay,
    /// During a demonstration.
    Demo,
}

/// The state that decides which keys work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyContext {
    /// Whether the matrix is being edited.
    pub editing: bool,
    /// The focused panel.
    pub focus: Panel,
    /// Whether a recording is played.
    pub playing: bool,
    /// Whether a demonstration is shown.
    pub demonstrating: bool,
}

impl Scope {
    /// Returns whether its keys work now.
    pub fn is_reachable(self, now: KeyContext) -> bool {
        match self {
            Scope::In(panel) => !now.editing && now.focus == panel,
            other => other.is_offered(now),
        }
    }

    /// Returns whether the palette offers its commands now.
    pub fn is_offered(self, now: KeyContext) -> bool {
        match self {
            Scope::Always => true,
            Scope::Main | Scope::In(_) => !now.editing,
            Scope::Edit => now.editing,
            Scope::Replay => !now.editing && now.playing,
            Scope::Demo => !now.editing && now.demonstrating,
        }
    }
}

/// The keys of a command in one scope, and its title there.
#[derive(Debug)]
pub struct Binding {
    /// The command.
    pub command: &'static CommandInfo,
    /// The scope of its keys.
    pub scope: Scope,
    /// Its keys, the preferred one first.
    pub keys: Vec<Key>,
    /// The word in the footer, or empty if it is not shown there.
    pub footer: &'static str,
    /// The name in the palette and the help.
    pub title: &'static str,
    /// A sentence about its action.
    pub help: &'static str,
}

impl Binding {
    /// Returns the written name of its command.
    pub fn name(&self) -> &'static str {
        self.command.name
    }

    /// Returns all its keys in the notation of the help.
    pub fn key_labels(&self, keys: &Keymap) -> String {
        let labels: Vec<String> = keys.keys_for(self).iter().map(|k| k.label()).collect();
        labels.join(" ")
    }

    /// Returns its preferred key, or an empty text if it has none.
    pub fn key_label(&self, keys: &Keymap) -> String {
        keys.keys_for(self)
            .first()
            .map_or(String::new(), |k| k.label())
    }

    /// Returns whether it contains every word of `query`.
    pub fn matches(&self, query: &str, keys: &Keymap) -> bool {
        let (name, keys) = (self.name(), self.key_labels(keys));
        let text = format!("{} {name} {} {keys}", self.title, self.help).to_lowercase();
        query
            .to_lowercase()
            .split_whitespace()
            .all(|word| text.contains(word))
    }

    /// Checks that the command can run, regardless of its subject.
    ///
    /// # Errors
    /// The reason why it cannot, with the title of this binding.
    pub fn check(&self, state: &ShownState<'_>) -> Result<(), NotNow> {
        self.command.check(self.title, state)
    }
}

/// The line form of a command.
#[derive(Debug)]
pub struct LineForm {
    /// The command.
    pub command: &'static CommandInfo,
    /// The words after the name.
    pub takes: &'static str,
    /// Other names of the command.
    pub also: &'static [&'static str],
    /// A sentence about its action.
    pub help: &'static str,
}

impl LineForm {
    /// Finds the form named by the first words of a line, and the number of these words. The
    /// longest name wins.
    pub fn named(words: &[&str]) -> Option<(&'static Self, usize)> {
        let forms = LINES.iter().flat_map(|form| {
            let names = [form.command.name].into_iter();
            names
                .chain(form.also.iter().copied())
                .map(move |n| (form, n))
        });
        let said = forms.filter_map(|(form, name)| {
            let name: Vec<&str> = name.split(' ').collect();
            words.starts_with(&name).then_some((form, name.len()))
        });
        said.max_by_key(|(_, taken)| *taken)
    }
}

/// Finds the binding of the command called `name`, for editing or for the other contexts.
pub fn named(name: &str, editing: bool) -> Option<&'static Binding> {
    let right = |b: &&Binding| b.name() == name && (b.scope == Scope::Edit) == editing;
    BINDINGS.iter().find(right)
}
