//! A line of text to type into.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The longest text.
const MOST: usize = 1000;

/// Returns pasted text as one line. Line breaks and tabs become spaces, other control
/// characters are removed.
pub(crate) fn one_line(pasted: &str) -> String {
    let spaced = |c: char| {
        if matches!(c, '\n' | '\r' | '\t') {
            ' '
        } else {
            c
        }
    };
    let line: String = pasted.trim().chars().map(spaced).collect();
    line.chars().filter(|c| !c.is_control()).collect()
}

/// Whether the line can be typed where a number is expected.
pub(super) fn is_number(line: &str) -> bool {
    !line.is_empty() && line.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Takes a pasted line into the text, as far as there is room; whether anything came.
pub(crate) fn pasted(text: &mut String, line: &str) -> bool {
    let room = MOST.saturating_sub(text.chars().count());
    text.extend(line.chars().take(room));
    room > 0 && !line.is_empty()
}

/// Takes the key into the text; whether it did.
pub(super) fn typed(text: &mut String, key: &KeyEvent) -> bool {
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
