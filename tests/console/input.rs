//! Bytes of a terminal to keys, in virtual time: what a terminal replies to others does nothing,
//! however it is cut, and every key works, also after a reply without an end.

use std::time::Duration;

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use divisi_console::console::input::{CUT, InputScanner, PASTED, TOGETHER, TYPED};
use proptest::prelude::*;

use crate::terminal::serving;

const MS: Duration = Duration::from_millis(1);
const NOTHING: [Event; 0] = [];

/// Replies of terminals, each whole.
const REPLIES: &[&str] = &[
    // Colours: the foreground, the background, the cursor, one of the palette.
    "\u{1b}]10;rgb:ffff/ffff/ffff\u{1b}\\",
    "\u{1b}]11;rgb:1e1e/1e1e/2e2e\u{7}",
    "\u{1b}]12;rgba:ffff/0000/ffff/8080\u{9c}",
    "\u{1b}]4;213;rgb:ff/87/ff\u{7}",
    "\u{9d}11;rgb:1e1e/1e1e/2e2e\u{9c}",
    // The clipboard, titles, a notification.
    "\u{1b}]52;c;cXVpdCBub3c/IHllcw==\u{1b}\\",
    "\u{1b}]lqs: a title \u{2013} of some length\u{1b}\\",
    "\u{1b}]Llabel\u{1b}\\",
    "\u{1b}]99;i=1:p=?;a=focus\u{7}",
    // The terminal's name, a setting, a capability, its unit.
    "\u{1b}P>|tmux 3.4\u{1b}\\",
    "\u{1b}P>|XTerm(390)\u{1b}\\",
    "\u{90}>|foot(1.16.2)\u{9c}",
    "\u{1b}P1$r0;1m\u{1b}\\",
    "\u{1b}P1+r544e=787465726d\u{1b}\\",
    "\u{1b}P0+r\u{1b}\\",
    "\u{1b}P!|7E565445\u{1b}\\",
    // Pictures.
    "\u{1b}_Gi=31;OK\u{1b}\\",
    "\u{9f}Gi=31;ENOENT:no such picture\u{9c}",
    // Attributes, versions, status, the cursor, modes, the keyboard, the window, the scheme.
    "\u{1b}[?64;1;2;6;9;15;18;21;22c",
    "\u{1b}[?1;2c",
    "\u{1b}[>41;390;0c",
    "\u{9b}?62;22c",
    "\u{1b}[0n",
    "\u{1b}[12;5R",
    "\u{1b}[?12;5;1R",
    "\u{1b}[?1;2$y",
    "\u{1b}[?2026;0$y",
    "\u{1b}[4;2$y",
    "\u{1b}[?1u",
    "\u{1b}[?31u",
    "\u{1b}[8;24;80t",
    "\u{1b}[4;600;800t",
    "\u{1b}[48;24;80;600;800t",
    "\u{1b}[?997;1n",
    "\u{1b}[?1;0;256S",
    "\u{1b}[2;1;1;128;128;1;0x",
    "\u{1b}[I",
    "\u{1b}[O",
];

/// Strings that begin like no reply that is known.
const STRANGE: &[&str] = &[
    "\u{1b}^quit, yes: s\u{1b}\\",
    "\u{1b}Xquit, yes: s\u{1b}\\",
    "\u{1b}_quit, yes: s\u{1b}\\",
    "\u{1b}]quit, yes: s\u{7}",
    "\u{1b}Pquit, yes: s\u{1b}\\",
    "\u{98}quit\u{9c}",
    "\u{9e}quit\u{9c}",
];

/// A terminal in virtual time.
#[derive(Default)]
struct Wire {
    scanner: InputScanner,
    now: Duration,
}

impl Wire {
    /// Sends `bytes` after a while, and returns what is handed out until then and at once.
    fn send(&mut self, after: Duration, bytes: &[u8]) -> Vec<Event> {
        let mut events = self.wait(after);
        events.extend(self.scanner.take(bytes, self.now));
        events
    }

    fn wait(&mut self, time: Duration) -> Vec<Event> {
        let end = self.now + time;
        let mut events = Vec::new();
        while let Some(due) = self.scanner.deadline().filter(|due| *due <= end) {
            events.extend(self.scanner.lapse(due));
        }
        self.now = end;
        events
    }

    /// Sends pieces, each after a while, and returns all that comes of them.
    fn pieces(&mut self, pieces: &[(Duration, &[u8])]) -> Vec<Event> {
        let sent = pieces
            .iter()
            .flat_map(|(after, bytes)| self.send(*after, bytes));
        let mut events: Vec<Event> = sent.collect();
        events.extend(self.wait(60_000 * MS));
        events
    }
}

fn whole(bytes: &str) -> Vec<Event> {
    Wire::default().pieces(&[(100 * MS, bytes.as_bytes())])
}

fn key(code: KeyCode) -> Event {
    Event::Key(code.into())
}

fn held(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

fn alt(c: char) -> Event {
    let shift = if c.is_uppercase() {
        KeyModifiers::SHIFT
    } else {
        KeyModifiers::NONE
    };
    held(KeyCode::Char(c), KeyModifiers::ALT | shift)
}

/// A beginning that was cut off is the key that it looks like, and does nothing else.
fn is_harmless(event: &Event) -> bool {
    *event == key(KeyCode::Esc) || "[]PX^_".chars().any(|c| *event == alt(c))
}

#[track_caller]
fn assert_harmless(events: &[Event], what: &str) {
    assert!(events.iter().all(is_harmless), "{what:?}: {events:?}");
}

#[test]
fn a_reply_does_nothing() {
    for reply in REPLIES.iter().chain(STRANGE) {
        assert_eq!(whole(reply), NOTHING, "{reply:?}");
    }
    let all = REPLIES.concat();
    assert_eq!(whole(&all), NOTHING);
}

#[test]
fn eight_bit_controls_need_not_be_utf_8() {
    for reply in [
        &b"\x9d11;rgb:1e1e/1e1e/2e2e\x9c"[..],
        b"\x9b?62;22c",
        b"\x90>|foot\x9c",
    ] {
        assert_eq!(Wire::default().pieces(&[(MS, reply)]), NOTHING);
    }
    // The last byte of a sign is no control.
    let title = "\u{1b}]0;\u{201c}quit\u{201d} \u{71c}\u{7}";
    assert_eq!(whole(title), NOTHING);
}

#[test]
fn a_reply_cut_in_two_does_nothing() {
    for reply in REPLIES {
        for cut in 1..reply.len() {
            for gap in [0, 5, 49, 51, 100, 500, 740, 2_900] {
                let (first, rest) = reply.as_bytes().split_at(cut);
                // Longer than a key waits, one byte alone is a key.
                if gap > 750 && (rest.len() == 1 || cut < 3) {
                    continue;
                }
                let events = Wire::default().pieces(&[(MS, first), (gap * MS, rest)]);
                assert_harmless(&events, &format!("{reply:?} at {cut}, {gap} ms"));
            }
        }
    }
}

#[test]
fn a_reply_that_comes_a_byte_at_a_time_does_nothing() {
    for reply in REPLIES {
        for gap in [0, 1, 20, 49, 60, 100, 300, 500, 600, 740] {
            let bytes = reply.as_bytes().chunks(1);
            let pieces: Vec<_> = bytes.map(|byte| (gap * MS, byte)).collect();
            let events = Wire::default().pieces(&pieces);
            assert_harmless(&events, &format!("{reply:?}, {gap} ms"));
        }
    }
}

#[test]
fn a_strange_string_that_comes_a_byte_at_a_time_does_nothing_if_it_comes_soon() {
    for string in STRANGE {
        let bytes = string.as_bytes().chunks(1);
        let pieces: Vec<_> = bytes.map(|byte| (20 * MS, byte)).collect();
        assert_harmless(&Wire::default().pieces(&pieces), string);
    }
}

/// A shell that asked may have read the beginning before the console began.
#[test]
fn the_end_of_a_reply_that_began_elsewhere_does_nothing() {
    for tail in [
        "ff/ffff/ffff\u{1b}\\",
        "rgb:ffff/ffff/ffff\u{7}",
        "mux 3.4\u{1b}\\",
        "1e1e/2e2e\u{9c}",
    ] {
        assert_eq!(whole(tail), NOTHING, "{tail:?}");
    }
}

proptest! {
    #[test]
    fn however_a_reply_is_cut_it_does_nothing(
        reply in prop::sample::select(REPLIES),
        cuts in prop::collection::vec((1usize..40, prop::sample::select(&[0u32, 3, 30, 55, 200, 500, 700][..])), 1..6),
    ) {
        let mut rest = reply.as_bytes();
        let mut pieces = Vec::new();
        for (length, gap) in cuts {
            let (piece, others) = rest.split_at(length.min(rest.len()));
            pieces.push((gap * MS, piece));
            rest = others;
        }
        pieces.push((500 * MS, rest));
        pieces.retain(|(_, piece)| !piece.is_empty());
        let events = Wire::default().pieces(&pieces);
        prop_assert!(events.iter().all(is_harmless), "{:?}", events);
    }

    #[test]
    fn whatever_comes_a_key_works_at_once_after_a_silence(
        pieces in prop::collection::vec((0u32..900, prop::collection::vec(any::<u8>(), 0..12)), 0..20),
        start in prop::sample::select(&["", "\u{1b}[200~", "\u{1b}]10;", "\u{1b}P", "\u{1b}[M", "\u{1b}O"][..]),
    ) {
        let mut wire = Wire::default();
        wire.send(MS, start.as_bytes());
        for (gap, bytes) in &pieces {
            wire.send(*gap * MS, bytes);
        }
        wire.wait(PASTED + CUT);
        prop_assert_eq!(wire.send(MS, b"q"), [key(KeyCode::Char('q'))]);
    }

    #[test]
    fn pasted_text_stays_whole_however_it_is_cut(
        text in "[a-z\u{1b}\\[\\]P;~\u{e9}\r\u{3}]{0,400}",
        cuts in prop::collection::vec((1usize..90, 0u32..45), 0..30),
    ) {
        let sent = format!("\u{1b}[200~{text}\u{1b}[201~");
        let mut rest = sent.as_bytes();
        let mut pieces = Vec::new();
        for (length, gap) in cuts {
            let (piece, others) = rest.split_at(length.min(rest.len()));
            pieces.push((gap * MS, piece));
            rest = others;
        }
        pieces.push((MS, rest));
        pieces.retain(|(_, piece)| !piece.is_empty());
        prop_assert_eq!(Wire::default().pieces(&pieces), [Event::Paste(text)]);
    }
}

#[test]
fn pasted_text_may_be_long_and_slow() {
    let text = "quit: y s b \u{2013} ".repeat(40_000);
    let sent = format!("\u{1b}[200~{text}\u{1b}[201~");
    let pieces: Vec<_> = sent
        .as_bytes()
        .chunks(4096)
        .map(|p| (900 * MS, p))
        .collect();
    assert_eq!(Wire::default().pieces(&pieces), [Event::Paste(text)]);
}

#[test]
fn pasted_text_without_an_end_is_handed_out_after_a_silence() {
    let mut wire = Wire::default();
    assert_eq!(wire.send(MS, b"\x1b[200~quit"), NOTHING);
    assert_eq!(wire.wait(PASTED - MS), NOTHING);
    assert_eq!(wire.wait(MS), [Event::Paste("quit".into())]);
    assert_eq!(wire.send(MS, b"q"), [key(KeyCode::Char('q'))]);
}

/// Keys as terminals send them.
fn keys() -> Vec<(&'static str, Event)> {
    use KeyCode::*;
    let (alt, control, shift) = (
        KeyModifiers::ALT,
        KeyModifiers::CONTROL,
        KeyModifiers::SHIFT,
    );
    vec![
        ("q", key(Char('q'))),
        ("?", key(Char('?'))),
        ("Q", held(Char('Q'), shift)),
        ("\u{e9}", key(Char('\u{e9}'))),
        ("\u{1f980}", key(Char('\u{1f980}'))),
        ("\r", key(Enter)),
        ("\n", held(Char('j'), control)),
        ("\t", key(Tab)),
        ("\u{7f}", key(Backspace)),
        ("\u{3}", held(Char('c'), control)),
        ("\u{7}", held(Char('g'), control)),
        ("\u{1a}", held(Char('z'), control)),
        ("\u{1c}", held(Char('4'), control)),
        ("\0", held(Char(' '), control)),
        ("\u{1b}", key(Esc)),
        ("\u{1b}q", held(Char('q'), alt)),
        ("\u{1b}\r", held(Enter, alt)),
        ("\u{1b}\u{e9}", held(Char('\u{e9}'), alt)),
        ("\u{1b}\u{3}", held(Char('c'), alt | control)),
        ("\u{1b}]", held(Char(']'), alt)),
        ("\u{1b}[", held(Char('['), alt)),
        ("\u{1b}P", held(Char('P'), alt | shift)),
        ("\u{1b}X", held(Char('X'), alt | shift)),
        ("\u{1b}O", held(Char('O'), alt | shift)),
        ("\u{1b}_", held(Char('_'), alt)),
        ("\u{1b}^", held(Char('^'), alt)),
        ("\u{1b}\\", held(Char('\\'), alt)),
        ("\u{1b}[A", key(Up)),
        ("\u{1b}[B", key(Down)),
        ("\u{1b}[C", key(Right)),
        ("\u{1b}[D", key(Left)),
        ("\u{1b}[H", key(Home)),
        ("\u{1b}[F", key(End)),
        ("\u{1b}[Z", held(BackTab, shift)),
        ("\u{1b}OA", key(Up)),
        ("\u{1b}OP", key(F(1))),
        ("\u{1b}OR", key(F(3))),
        ("\u{1b}Os", key(Char('3'))),
        ("\u{1b}OM", key(Enter)),
        ("\u{1b}[P", key(F(1))),
        ("\u{1b}[[C", key(F(3))),
        ("\u{1b}[1~", key(Home)),
        ("\u{1b}[2~", key(Insert)),
        ("\u{1b}[3~", key(Delete)),
        ("\u{1b}[5~", key(PageUp)),
        ("\u{1b}[15~", key(F(5))),
        ("\u{1b}[24~", key(F(12))),
        ("\u{1b}[3;5~", held(Delete, control)),
        ("\u{1b}[1;5A", held(Up, control)),
        ("\u{1b}[1;2P", held(F(1), shift)),
        ("\u{1b}[1;7D", held(Left, alt | control)),
        ("\u{1b}[113;5u", held(Char('q'), control)),
        ("\u{1b}[27u", key(Esc)),
        ("\u{1b}[97:65;2u", held(Char('A'), shift)),
        ("\u{1b}[9;2u", held(BackTab, shift)),
    ]
}

#[test]
fn every_key_is_that_key() {
    for (bytes, event) in keys() {
        assert_eq!(whole(bytes), [event], "{bytes:?}");
    }
}

#[test]
fn keys_one_after_another_are_those_keys() {
    let keys = keys();
    for (first, one) in &keys {
        for (second, other) in &keys {
            // Together these two are an empty string.
            if *second == "\u{1b}\\" && is_harmless(one) {
                continue;
            }
            let events = Wire::default()
                .pieces(&[(MS, first.as_bytes()), (TYPED + 5 * MS, second.as_bytes())]);
            assert_eq!(events, [one.clone(), other.clone()], "{first:?} {second:?}");
        }
    }
}

#[test]
fn a_key_typed_soon_after_another_is_handed_out_at_once() {
    let mut wire = Wire::default();
    for c in "quick: 1]P[O_^X".chars() {
        let events = wire.send(5 * MS, c.to_string().as_bytes());
        assert_eq!(events.len(), 1, "{c}");
    }
    wire.send(100 * MS, b"\x1b");
    for c in "q?1eO^X+".chars() {
        let events = wire.send(100 * MS, c.to_string().as_bytes());
        assert_eq!(events.last(), Some(&Event::Key(char_key(c))), "{c}");
        wire.send(100 * MS, b"\x1b");
    }
}

fn char_key(c: char) -> KeyEvent {
    let shift = if c.is_uppercase() {
        KeyModifiers::SHIFT
    } else {
        KeyModifiers::NONE
    };
    KeyEvent::new(KeyCode::Char(c), shift)
}

#[test]
fn keys_that_begin_like_a_reply_are_keys() {
    for intro in "[]P_^X".chars() {
        for after in [60, 100, 400, 740, 760, 5_000] {
            for c in "?q:eb\rz".chars() {
                let mut wire = Wire::default();
                let mut events = wire.send(MS, format!("\u{1b}{intro}").as_bytes());
                events.extend(wire.send(after * MS, c.to_string().as_bytes()));
                assert_eq!(events[..1], [alt(intro)], "{c:?}");
                // The first sign of a reply waits for the second.
                let waits = intro == '[' && (c == '?' || c == ':');
                events.extend(wire.wait(if waits { TYPED } else { Duration::ZERO }));
                assert_eq!(events.len(), 2, "{intro} {c:?} {after}: {events:?}");
            }
        }
    }
}

#[test]
fn a_reply_without_an_end_holds_no_key_back_for_long() {
    for reply in REPLIES.iter().chain(STRANGE) {
        for cut in 1..reply.len() - 1 {
            for (bytes, event) in [
                ("?", key(KeyCode::Char('?'))),
                ("q", key(KeyCode::Char('q'))),
                ("\r", key(KeyCode::Enter)),
                ("\u{1b}", key(KeyCode::Esc)),
                ("\u{3}", held(KeyCode::Char('c'), KeyModifiers::CONTROL)),
                ("\u{1b}[A", key(KeyCode::Up)),
            ] {
                let mut wire = Wire::default();
                wire.send(MS, &reply.as_bytes()[..cut]);
                let mut events = wire.send(TOGETHER + 50 * MS, bytes.as_bytes());
                events.extend(wire.wait(TYPED));
                assert_eq!(events.last(), Some(&event), "{reply:?} at {cut}, {bytes:?}");
            }
        }
    }
}

#[test]
fn a_key_after_a_whole_reply_is_handed_out_at_once() {
    for reply in REPLIES.iter().chain(STRANGE) {
        let mut wire = Wire::default();
        wire.send(MS, reply.as_bytes());
        assert_eq!(wire.send(MS, b"?"), [key(KeyCode::Char('?'))], "{reply:?}");
        assert_eq!(whole(&format!("{reply}q")), [key(KeyCode::Char('q'))]);
    }
}

#[test]
fn a_key_that_waited_while_the_program_was_stopped_is_that_key() {
    let mut scanner = InputScanner::default();
    assert_eq!(scanner.take(b"\x1b", MS), NOTHING);
    let keys = [key(KeyCode::Esc), key(KeyCode::Char('q'))];
    assert_eq!(scanner.take(b"q", 60_000 * MS), keys);
}

#[test]
fn the_mouse_is_told_in_every_way_that_terminals_have() {
    let at = |kind, column, row| {
        Event::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })
    };
    let down = MouseEventKind::Down(MouseButton::Left);
    assert_eq!(whole("\u{1b}[<0;10;5M"), [at(down, 9, 4)]);
    let up = MouseEventKind::Up(MouseButton::Left);
    assert_eq!(whole("\u{1b}[<0;10;5m"), [at(up, 9, 4)]);
    assert_eq!(whole("\u{1b}[32;10;5M"), [at(down, 9, 4)]);
    assert_eq!(whole("\u{1b}[M *%"), [at(down, 9, 4)]);
    let bytes = b"\x1b[M \xe0\xa1";
    assert_eq!(Wire::default().pieces(&[(MS, bytes)]), [at(down, 191, 128)]);
    assert_eq!(
        whole("\u{1b}[<64;1;1M"),
        [at(MouseEventKind::ScrollUp, 0, 0)]
    );
    assert_eq!(whole("\u{1b}[<0;0;0M"), [at(down, 0, 0)]);
}

#[test]
fn on_a_real_terminal_replies_do_nothing_and_keys_work() {
    let mut terminal = serving(100, 30);
    for reply in REPLIES.iter().chain(STRANGE) {
        terminal.send(reply);
    }
    terminal.send("?");
    // A key that comes before the help is drawn does not close it.
    terminal.shows("type to search");
    let shown = terminal.lines().concat();
    assert!(
        !shown.contains("REC") && !shown.contains("FROZEN"),
        "{shown}"
    );
    terminal.send("\u{1b}");
    terminal.hides("type to search");
    // Alt-] is no beginning that waits for an end.
    terminal.send("\u{1b}]");
    terminal.send("?");
    terminal.shows("type to search");
    terminal.send("\u{1b}");
    terminal.hides("type to search");
    terminal.leave();
}
