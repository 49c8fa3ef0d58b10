//! A line of text to type into.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The longest text.
const MOST: usize = 1000;

/// Takes the key into the text; whether it did.
pub fn typed(text: &mut String, key: &KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('u') if control => text.clear(),
        KeyCode::Char('w') if control => {
            let kept = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
            text.truncate(kept);
        }
        KeyCode::Char(c) if !control && text.chars().count() < MOST => text.push(c),
        KeyCode::Backspace => {
            text.pop();
        }
        _ => return false,
    }
    true
}
