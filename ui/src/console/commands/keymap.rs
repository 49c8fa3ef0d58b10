//! Which keys do what: the table's, or those of the user's file.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crossterm::event::{KeyCode, KeyEvent};

use super::{Entry, Id, Key, Scope, TABLE};
use crate::console::model::Model;

/// The keys of every command, in the order of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap(Arc<Vec<Vec<Key>>>);

/// A key that would do two things at once, or what it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// Place in the table of the command that has to give way.
    pub entry: usize,
    pub key: Key,
    reason: String,
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.key, self.reason)
    }
}

static DEFAULT: LazyLock<Keymap> = LazyLock::new(|| {
    let keys = TABLE.iter().map(|e| e.keys.to_vec());
    Keymap(Arc::new(keys.collect()))
});

impl Default for Keymap {
    /// As the table has them.
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl Keymap {
    /// The keys of a command, the one to show first.
    pub fn of(&self, entry: &Entry) -> &[Key] {
        let same = |e: &Entry| e.id == entry.id && e.scope == entry.scope;
        let at = TABLE.iter().position(same);
        at.and_then(|at| self.0.get(at)).map_or(&[], Vec::as_slice)
    }

    /// The same with other keys for the command at `entry` of the table.
    #[must_use]
    pub fn with(mut self, entry: usize, keys: Vec<Key>) -> Self {
        if let Some(place) = Arc::make_mut(&mut self.0).get_mut(entry) {
            *place = keys;
        }
        self
    }

    /// The command of a key, if there is one just now. What a panel does with a key goes
    /// before what it does elsewhere.
    pub fn find(&self, event: &KeyEvent, model: &Model) -> Option<&'static Entry> {
        let pressed = Key::of(event);
        let has =
            |(e, keys): &(&'static Entry, &Vec<Key>)| e.reachable(model) && keys.contains(&pressed);
        let found = TABLE.iter().zip(self.0.iter()).filter(has).map(|(e, _)| e);
        found.min_by_key(|e| !matches!(e.scope, Scope::In(_)))
    }

    /// The first key that is given twice where both could be meant, or that has another
    /// meaning whatever is configured.
    ///
    /// # Errors
    /// Says which key, and which two commands.
    pub fn check(&self) -> Result<(), Clash> {
        for (at, keys) in self.0.iter().enumerate() {
            for key in keys {
                if let Some(reason) = self.reason(at, *key) {
                    let key = *key;
                    return Err(Clash {
                        entry: at,
                        key,
                        reason,
                    });
                }
            }
        }
        Ok(())
    }

    fn reason(&self, at: usize, key: Key) -> Option<String> {
        let entry = TABLE.get(at)?;
        let fixed = |c| key == super::control(c);
        if fixed('c') && entry.id != Id::Quit || fixed('z') && entry.id != Id::Suspend {
            return Some("always leaves or suspends".into());
        }
        if entry.scope == Scope::Edit && matches!(key.code, KeyCode::Char('0'..='9')) {
            return Some("types a batch size while editing".into());
        }
        let others = TABLE.iter().zip(self.0.iter()).take(at);
        let mut clashing =
            others.filter(|(e, keys)| overlap(e.scope, entry.scope) && keys.contains(&key));
        let (other, _) = clashing.next()?;
        Some(format!(
            "is already a key of `{}`: `{}` cannot have it too",
            other.name(),
            entry.name()
        ))
    }
}

/// Both may be meant at once. A panel's key hides the same key elsewhere, by intent.
fn overlap(one: Scope, other: Scope) -> bool {
    one == other || one == Scope::Always || other == Scope::Always
}
