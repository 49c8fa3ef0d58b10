//! The console's events for a page's messages.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::message::{FromPage, HeldKeys, MouseUse, PressedKey, UsedMouse};
use crate::model::ConsoleEvent;

/// The keys with a name.
const NAMED: [(&str, KeyCode); 14] = [
    ("Enter", KeyCode::Enter),
    ("Escape", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Backspace", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
    ("Insert", KeyCode::Insert),
    ("ArrowUp", KeyCode::Up),
    ("ArrowDown", KeyCode::Down),
    ("ArrowLeft", KeyCode::Left),
    ("ArrowRight", KeyCode::Right),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("PageUp", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
];

/// Returns the console's event, or `None` if the message is not for the console.
pub(super) fn console_event(message: FromPage) -> Option<ConsoleEvent> {
    match message {
        FromPage::Key(key) => key_event(&key).map(ConsoleEvent::Key),
        FromPage::Mouse(mouse) => Some(ConsoleEvent::Mouse(mouse_event(&mouse))),
        FromPage::Paste { text } => Some(ConsoleEvent::Paste(text)),
        FromPage::Resize { size } => {
            let (columns, rows) = size.bounded();
            Some(ConsoleEvent::Resize(columns, rows))
        }
        FromPage::Painted { .. } => None,
    }
}

/// Returns the event of a key, or `None` for keys without a meaning, such as Shift alone.
fn key_event(key: &PressedKey) -> Option<KeyEvent> {
    let code = code(&key.key)?;
    let held = modifiers(key.held);
    Some(match (code, key.held.shift) {
        (KeyCode::Tab, true) => KeyEvent::new(KeyCode::BackTab, held),
        _ => KeyEvent::new(code, held),
    })
}

fn code(name: &str) -> Option<KeyCode> {
    let mut signs = name.chars();
    if let (Some(sign), None) = (signs.next(), signs.next()) {
        return (!sign.is_control()).then_some(KeyCode::Char(sign));
    }
    if let Some(number) = name.strip_prefix('F') {
        let number = number.parse().ok()?;
        return (1..=12).contains(&number).then_some(KeyCode::F(number));
    }
    let named = NAMED.iter().find(|(known, _)| *known == name);
    named.map(|(_, code)| *code)
}

fn modifiers(held: HeldKeys) -> KeyModifiers {
    let mut modifiers = KeyModifiers::NONE;
    modifiers.set(KeyModifiers::CONTROL, held.ctrl);
    modifiers.set(KeyModifiers::ALT, held.alt);
    modifiers.set(KeyModifiers::SHIFT, held.shift);
    modifiers
}

fn mouse_event(mouse: &UsedMouse) -> MouseEvent {
    let kind = match mouse.kind {
        MouseUse::Down => MouseEventKind::Down(MouseButton::Left),
        MouseUse::Drag => MouseEventKind::Drag(MouseButton::Left),
        MouseUse::Up => MouseEventKind::Up(MouseButton::Left),
        MouseUse::WheelUp => MouseEventKind::ScrollUp,
        MouseUse::WheelDown => MouseEventKind::ScrollDown,
    };
    MouseEvent {
        kind,
        column: mouse.column,
        row: mouse.row,
        modifiers: modifiers(mouse.held),
    }
}
