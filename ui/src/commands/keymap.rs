//! Which keys do what: the table's, or those of the user's file.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crossterm::event::{KeyCode, KeyEvent};

use super::key::Key;
use super::{BINDINGS, Binding, KeyContext, QUIT, SUSPEND, Scope};

/// The keys of every binding, in the order of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap(Arc<Vec<Vec<Key>>>);

/// A key that would do two things at once, or what it must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// Place in the table of the binding that has to give way.
    pub binding: usize,
    /// The key.
    pub key: Key,
    reason: String,
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.key, self.reason)
    }
}

static DEFAULT: LazyLock<Keymap> = LazyLock::new(|| {
    let keys = BINDINGS.iter().map(|b| b.keys.to_vec());
    Keymap(Arc::new(keys.collect()))
});

impl Default for Keymap {
    /// As the table has them.
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl Keymap {
    /// Returns the keys of a binding, the one to show first.
    pub fn of(&self, binding: &Binding) -> &[Key] {
        let at = BINDINGS.iter().position(|b| std::ptr::eq(b, binding));
        at.and_then(|at| self.0.get(at)).map_or(&[], Vec::as_slice)
    }

    /// The same with other keys for the binding at a place of the table.
    #[must_use]
    pub fn with(mut self, binding: usize, keys: Vec<Key>) -> Self {
        if let Some(place) = Arc::make_mut(&mut self.0).get_mut(binding) {
            *place = keys;
        }
        self
    }

    /// Finds the binding of a key, if there is one just now. What a panel does with a key
    /// goes before what it does elsewhere.
    pub fn find(&self, event: &KeyEvent, now: KeyContext) -> Option<&'static Binding> {
        let pressed = Key::of(event);
        let has = |(b, keys): &(&'static Binding, &Vec<Key>)| {
            b.scope.is_reachable(now) && keys.contains(&pressed)
        };
        let found = BINDINGS.iter().zip(self.0.iter()).filter(has);
        let found = found.map(|(b, _)| b);
        found.min_by_key(|b| !matches!(b.scope, Scope::In(_)))
    }

    /// Checks that no key is given twice where both could be meant, and none that has
    /// another meaning whatever is configured.
    ///
    /// # Errors
    /// The first such key, and which two commands want it.
    pub fn check(&self) -> Result<(), Clash> {
        for (binding, keys) in self.0.iter().enumerate() {
            for key in keys {
                if let Some(reason) = self.reason(binding, *key) {
                    let key = *key;
                    return Err(Clash {
                        binding,
                        key,
                        reason,
                    });
                }
            }
        }
        Ok(())
    }

    fn reason(&self, at: usize, key: Key) -> Option<String> {
        let binding = BINDINGS.get(at)?;
        let fixed = |c, command| key == super::key::control(c) && binding.command != command;
        if fixed('c', &QUIT) || fixed('z', &SUSPEND) {
            return Some("always leaves or suspends".into());
        }
        if binding.scope == Scope::Edit && matches!(key.code, KeyCode::Char('0'..='9')) {
            return Some("types a batch size while editing".into());
        }
        let others = BINDINGS.iter().zip(self.0.iter()).take(at);
        let mut clashing =
            others.filter(|(b, keys)| overlap(b.scope, binding.scope) && keys.contains(&key));
        let (other, _) = clashing.next()?;
        Some(format!(
            "is already a key of `{}`: `{}` cannot have it too",
            other.name(),
            binding.name()
        ))
    }
}

/// Both may be meant at once. A panel's key hides the same key elsewhere, by intent.
fn overlap(one: Scope, other: Scope) -> bool {
    one == other || one == Scope::Always || other == Scope::Always
}
