//! The meaning of a complete control sequence: a key, the mouse, or nothing. Reports requested by
//! another program have no meaning here.

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

/// The last characters of key sequences without parameters.
const PLAIN_KEYS: &str = "ABCDFHZPQS";
/// The last characters of keys, mouse events and reports with parameters.
const WITH_PARAMETERS: &str = "ABCDFHPQSRtcnxuymM~";
/// The last characters of reports that the window gained or lost the focus.
const FOCUS: &str = "IO";

/// Returns whether keyboards or terminals send `ESC [ parameters last`.
pub(super) fn is_known(parameters: &str, last: char) -> bool {
    match parameters {
        "" => PLAIN_KEYS.contains(last) || FOCUS.contains(last),
        _ => WITH_PARAMETERS.contains(last),
    }
}

/// Returns the event of `ESC [ parameters last`, or `None` if it is neither a key nor the mouse.
pub(super) fn event(parameters: &str, last: char) -> Option<Event> {
    if let Some(mouse) = parameters.strip_prefix('<') {
        return sgr_mouse(mouse, last);
    }
    if let Some("") = parameters.strip_prefix('[') {
        let number = u32::from(last).checked_sub(u32::from('A'))?;
        return (number < 5).then(|| key(KeyCode::F(number as u8 + 1)));
    }
    // Private parameters and intermediate bytes belong to reports.
    let digits = |c: char| c.is_ascii_digit() || c == ';' || c == ':';
    if !parameters.chars().all(digits) {
        return None;
    }
    match last {
        'M' => rxvt_mouse(parameters),
        '~' => numbered_key(parameters),
        'u' => code_key(parameters),
        _ => named_key(parameters, last),
    }
}

/// Returns the key of `ESC O last`, which keyboards send in application mode.
pub(super) fn application_key(last: char) -> Option<Event> {
    let code = match last {
        'R' => KeyCode::F(3),
        'M' => KeyCode::Enter,
        'X' => KeyCode::Char('='),
        // The keypad, from `*` on.
        'j'..='y' => KeyCode::Char(char::from(last as u8 - b'j' + b'*')),
        _ => name(last).filter(|_| last != 'Z')?,
    };
    Some(key(code))
}

/// Returns the key that a terminal sends as this character.
pub(super) fn typed(c: char) -> KeyEvent {
    let control = |c: char| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    match c {
        '\r' => KeyCode::Enter.into(),
        '\t' => KeyCode::Tab.into(),
        '\x7f' => KeyCode::Backspace.into(),
        '\x1b' => KeyCode::Esc.into(),
        '\0' => control(' '),
        '\x01'..='\x1a' => control(char::from(c as u8 - 1 + b'a')),
        '\x1c'..='\x1f' => control(char::from(c as u8 - 0x1c + b'4')),
        c if c.is_uppercase() => KeyEvent::new(KeyCode::Char(c), KeyModifiers::SHIFT),
        c => KeyCode::Char(c).into(),
    }
}

fn key(code: KeyCode) -> Event {
    Event::Key(code.into())
}

fn name(last: char) -> Option<KeyCode> {
    Some(match last {
        'A' => KeyCode::Up,
        'B' => KeyCode::Down,
        'C' => KeyCode::Right,
        'D' => KeyCode::Left,
        'F' => KeyCode::End,
        'H' => KeyCode::Home,
        'P' => KeyCode::F(1),
        'Q' => KeyCode::F(2),
        'S' => KeyCode::F(4),
        'Z' => KeyCode::BackTab,
        _ => return None,
    })
}

/// Parses `ESC [ A` and `ESC [ 1 ; 5 A`. The third key of its kind, `R`, is a report of the
/// cursor's place.
fn named_key(parameters: &str, last: char) -> Option<Event> {
    let code = name(last)?;
    let held = match parameters.split_once(';') {
        Some((_, held)) => held,
        None => parameters,
    };
    let (mut modifiers, kind) = held_keys(held)?;
    if code == KeyCode::BackTab {
        modifiers |= KeyModifiers::SHIFT;
    }
    Some(Event::Key(KeyEvent::new_with_kind(code, modifiers, kind)))
}

/// Parses `ESC [ 3 ~` and `ESC [ 3 ; 5 ~`.
fn numbered_key(parameters: &str) -> Option<Event> {
    let (number, held) = parameters.split_once(';').unwrap_or((parameters, ""));
    let code = match number.parse::<u8>().ok()? {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        n @ 11..=15 => KeyCode::F(n - 10),
        n @ 17..=21 => KeyCode::F(n - 11),
        n @ 23..=26 => KeyCode::F(n - 12),
        n @ 28..=29 => KeyCode::F(n - 15),
        n @ 31..=34 => KeyCode::F(n - 17),
        _ => return None,
    };
    let (modifiers, kind) = held_keys(held)?;
    Some(Event::Key(KeyEvent::new_with_kind(code, modifiers, kind)))
}

/// Parses `ESC [ 113 ; 5 u`: a key by its character, used by some terminals for keys without
/// another sequence.
fn code_key(parameters: &str) -> Option<Event> {
    let (codes, held) = parameters.split_once(';').unwrap_or((parameters, ""));
    let (held, kind) = held_keys(held.split(';').next().unwrap_or_default())?;
    let mut codes = codes.split(':').map(str::parse::<u32>);
    let plain = codes.next()?.ok()?;
    let shifted = codes.next().and_then(Result::ok);
    let shifted = shifted.filter(|_| held.contains(KeyModifiers::SHIFT));
    let number = shifted.unwrap_or(plain);
    let pressed = typed(keypad(number).or_else(|| char::from_u32(number))?);
    // Private characters are keys that type nothing.
    if matches!(pressed.code, KeyCode::Char('\u{e000}'..='\u{f8ff}')) {
        return None;
    }
    let shifted_tab = pressed.code == KeyCode::Tab && held.contains(KeyModifiers::SHIFT);
    let code = if shifted_tab {
        KeyCode::BackTab
    } else {
        pressed.code
    };
    let modifiers = held | pressed.modifiers;
    Some(Event::Key(KeyEvent::new_with_kind(code, modifiers, kind)))
}

/// Returns the character of a key of the keypad.
fn keypad(number: u32) -> Option<char> {
    let at = usize::try_from(number.checked_sub(57_399)?).ok()?;
    "0123456789./*-+\r=,".chars().nth(at)
}

/// Returns the modifiers of a parameter such as `5` or `5:3`, and whether the key was pressed or
/// released.
fn held_keys(parameter: &str) -> Option<(KeyModifiers, KeyEventKind)> {
    let (mask, kind) = parameter.split_once(':').unwrap_or((parameter, ""));
    let mask = match mask {
        "" => 0,
        mask => mask.parse::<u8>().ok()?.saturating_sub(1),
    };
    let kind = match kind {
        "2" => KeyEventKind::Repeat,
        "3" => KeyEventKind::Release,
        _ => KeyEventKind::Press,
    };
    let bits = [
        KeyModifiers::SHIFT,
        KeyModifiers::ALT,
        KeyModifiers::CONTROL,
        KeyModifiers::SUPER,
        KeyModifiers::HYPER,
        KeyModifiers::META,
    ];
    let held = bits.into_iter().enumerate();
    let held = held.filter(|(bit, _)| mask & (1 << bit) != 0);
    Some((held.map(|(_, modifier)| modifier).collect(), kind))
}

/// Parses `ESC [ < 0 ; 10 ; 5 M`, with `m` at the end if a button was released.
fn sgr_mouse(parameters: &str, last: char) -> Option<Event> {
    let [button, x, y] = numbers(parameters.trim_end_matches(';'))?;
    let (kind, modifiers) = mouse_kind(button)?;
    let kind = match (kind, last) {
        (MouseEventKind::Down(button), 'm') => MouseEventKind::Up(button),
        (kind, 'm' | 'M') => kind,
        _ => return None,
    };
    Some(mouse(kind, modifiers, x, y))
}

/// Parses `ESC [ 32 ; 10 ; 5 M`.
fn rxvt_mouse(parameters: &str) -> Option<Event> {
    let [button, x, y] = numbers(parameters)?;
    let (kind, modifiers) = mouse_kind(button.checked_sub(32)?)?;
    Some(mouse(kind, modifiers, x, y))
}

/// Returns the event of the three bytes after `ESC [ M`.
pub(super) fn old_mouse(bytes: [u8; 3]) -> Option<Event> {
    let [button, x, y] = bytes.map(|byte| u16::from(byte).checked_sub(32));
    let (kind, modifiers) = mouse_kind(button?)?;
    Some(mouse(kind, modifiers, x?, y?))
}

fn numbers(parameters: &str) -> Option<[u16; 3]> {
    let numbers: Vec<u16> = parameters
        .split(';')
        .map_while(|number| number.parse().ok())
        .collect();
    numbers.try_into().ok()
}

/// Creates a mouse event; the terminal counts columns and rows from one.
fn mouse(kind: MouseEventKind, modifiers: KeyModifiers, x: u16, y: u16) -> Event {
    Event::Mouse(MouseEvent {
        kind,
        column: x.saturating_sub(1),
        row: y.saturating_sub(1),
        modifiers,
    })
}

/// Decodes the number of a mouse event: the button in its lowest and highest bits, in between the
/// movement and the modifiers.
fn mouse_kind(number: u16) -> Option<(MouseEventKind, KeyModifiers)> {
    let button = (number & 0b11) | ((number & 0b1100_0000) >> 4);
    let moved = number & 0b10_0000 != 0;
    let kind = match (button, moved) {
        (0..=2, false) => MouseEventKind::Down(mouse_button(button)),
        (0..=2, true) => MouseEventKind::Drag(mouse_button(button)),
        (3, false) => MouseEventKind::Up(MouseButton::Left),
        (3..=5, true) => MouseEventKind::Moved,
        (4, false) => MouseEventKind::ScrollUp,
        (5, false) => MouseEventKind::ScrollDown,
        (6, false) => MouseEventKind::ScrollLeft,
        (7, false) => MouseEventKind::ScrollRight,
        _ => return None,
    };
    let bits = [
        (0b100, KeyModifiers::SHIFT),
        (0b1000, KeyModifiers::ALT),
        (0b1_0000, KeyModifiers::CONTROL),
    ];
    let held = bits.into_iter().filter(|(bit, _)| number & bit != 0);
    Some((kind, held.map(|(_, modifier)| modifier).collect()))
}

fn mouse_button(number: u16) -> MouseButton {
    match number {
        0 => MouseButton::Left,
        1 => MouseButton::Middle,
        _ => MouseButton::Right,
    }
}
