//! Keys in the notations of the table, of files and of the screen, and the bindings of the table or
//! the user's file.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{BINDINGS, Binding, KeyContext, QUIT, SUSPEND, Scope};

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub(super) code: KeyCode,
    control: bool,
    alt: bool,
}

pub(super) const fn key(c: char) -> Key {
    code_key(KeyCode::Char(c))
}

pub(super) const fn control(c: char) -> Key {
    let plain = key(c);
    Key {
        control: true,
        ..plain
    }
}

pub(super) const fn code_key(code: KeyCode) -> Key {
    Key {
        code,
        control: false,
        alt: false,
    }
}

/// Names of keys without a character, in the notation of files.
const NAMES: [(&str, KeyCode); 16] = [
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("page-up", KeyCode::PageUp),
    ("page-down", KeyCode::PageDown),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
];

/// The permitted names of a key, for errors.
pub const EXPECTED: &str = "a character, space, enter, esc, tab, shift-tab, backspace, delete, insert, \
     home, end, page-up, page-down, up, down, left, right or f1 to f12, with ctrl- or alt- before it";

impl Key {
    /// Returns the key of an event.
    pub fn from_event(event: &KeyEvent) -> Self {
        Key {
            code: event.code,
            control: event.modifiers.contains(KeyModifiers::CONTROL),
            alt: event.modifiers.contains(KeyModifiers::ALT),
        }
    }

    /// Returns the event of pressing the key.
    pub fn event(self) -> KeyEvent {
        let mut held = KeyModifiers::NONE;
        held.set(KeyModifiers::CONTROL, self.control);
        held.set(KeyModifiers::ALT, self.alt);
        KeyEvent::new(self.code, held)
    }

    /// Returns the notation of the footer and the help.
    pub fn label(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "space".to_owned(),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::Up => "↑".to_owned(),
            KeyCode::Down => "↓".to_owned(),
            KeyCode::Left => "←".to_owned(),
            KeyCode::Right => "→".to_owned(),
            KeyCode::BackTab => "Shift-Tab".to_owned(),
            other => other.to_string(),
        };
        let held = if self.control { "Ctrl-" } else { "" };
        let alt = if self.alt { "Alt-" } else { "" };
        format!("{held}{alt}{name}")
    }
}

impl fmt::Display for Key {
    /// Writes the notation of files: `ctrl-r`, `page-up`, `+`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = if self.control { "ctrl-" } else { "" };
        let alt = if self.alt { "alt-" } else { "" };
        write!(f, "{held}{alt}")?;
        let named = NAMES.iter().find(|(_, code)| *code == self.code);
        match (named, self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(c)) => write!(f, "{c}"),
            (None, KeyCode::F(n)) => write!(f, "f{n}"),
            (None, other) => write!(f, "{other}"),
        }
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (control, rest) = held(text, &["ctrl-", "Ctrl-", "C-"]);
        let (alt, rest) = held(rest, &["alt-", "Alt-", "A-"]);
        let wrong = || format!("expected {EXPECTED}, found `{text}`");
        let code = code(rest).ok_or_else(wrong)?;
        // Terminals send these as other keys, or not at all.
        match code {
            KeyCode::Char('i') if control => Err("ctrl-i is tab in a terminal".into()),
            KeyCode::Char('m') if control => Err("ctrl-m is enter in a terminal".into()),
            KeyCode::Char('A'..='Z') if control => {
                Err(format!("write {} in small letters", text.trim()))
            }
            code => Ok(Key { code, control, alt }),
        }
    }
}

/// Returns whether one of `names` begins the text, and the remaining text.
fn held<'a>(text: &'a str, names: &[&str]) -> (bool, &'a str) {
    let rest = names.iter().find_map(|name| text.strip_prefix(name));
    match rest {
        Some(rest) if !rest.is_empty() => (true, rest),
        _ => (false, text),
    }
}

fn code(name: &str) -> Option<KeyCode> {
    let mut signs = name.chars();
    if let (Some(sign), None) = (signs.next(), signs.next()) {
        return (!sign.is_control()).then_some(KeyCode::Char(sign));
    }
    let name = name.to_ascii_lowercase();
    if let Some(number) = name.strip_prefix('f').and_then(|n| n.parse().ok()) {
        return (1..=12).contains(&number).then_some(KeyCode::F(number));
    }
    let named = NAMES
        .iter()
        .find(|(known, _)| *known == name || known.replace('-', "") == name);
    named.map(|(_, code)| *code)
}

/// The keys of every binding, in the order of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap(Arc<Vec<Vec<Key>>>);

/// A key with two meanings at once, or with a forbidden meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The place in the table of the binding that has to change.
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
    let keys = BINDINGS.iter().map(|b| b.keys.clone());
    Keymap(Arc::new(keys.collect()))
});

impl Default for Keymap {
    /// Returns the keys of the table.
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl Keymap {
    /// Returns the keys of a binding, the preferred one first.
    pub fn keys_for(&self, binding: &Binding) -> &[Key] {
        let at = BINDINGS.iter().position(|b| std::ptr::eq(b, binding));
        at.and_then(|at| self.0.get(at)).map_or(&[], Vec::as_slice)
    }

    /// Returns the map with other keys for the binding at a place of the table.
    #[must_use]
    pub fn with(mut self, binding: usize, keys: Vec<Key>) -> Self {
        if let Some(place) = Arc::make_mut(&mut self.0).get_mut(binding) {
            *place = keys;
        }
        self
    }

    /// Finds the active binding of a key, if there is one. A panel's binding takes precedence.
    pub fn find(&self, event: &KeyEvent, now: KeyContext) -> Option<&'static Binding> {
        let pressed = Key::from_event(event);
        let has = |(b, keys): &(&'static Binding, &Vec<Key>)| {
            b.scope.is_reachable(now) && keys.contains(&pressed)
        };
        let found = BINDINGS.iter().zip(self.0.iter()).filter(has);
        let found = found.map(|(b, _)| b);
        found.min_by_key(|b| !matches!(b.scope, Scope::In(_)))
    }

    /// Checks that no key has two meanings in the same context, and none has a forbidden meaning.
    ///
    /// # Errors
    /// The first such key with the two commands.
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
        let fixed = |c, command| key == control(c) && binding.command != command;
        if fixed('c', &QUIT) || fixed('z', &SUSPEND) {
            return Some("always quits or suspends".into());
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

/// Returns whether both scopes can be active at once. A panel's key may hide the same key
/// elsewhere.
fn overlap(one: Scope, other: Scope) -> bool {
    one == other || one == Scope::Always || other == Scope::Always
}
