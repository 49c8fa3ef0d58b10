//! Whatever is pressed, in whatever order, at whatever size: nothing panics, and what
//! is asked of the session stays sensible.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use divisi_console::console::{Colours, ConsoleEvent, Effect, TerminalLook};

use crate::fake::{Bench, many, nothing, search};

/// Numbers that look random and repeat (xorshift).
pub struct Dice(u64);

impl Dice {
    pub fn seeded(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}

const NAMED: [KeyCode; 16] = [
    KeyCode::Esc,
    KeyCode::Enter,
    KeyCode::Tab,
    KeyCode::BackTab,
    KeyCode::Up,
    KeyCode::Down,
    KeyCode::Left,
    KeyCode::Right,
    KeyCode::Home,
    KeyCode::End,
    KeyCode::PageUp,
    KeyCode::PageDown,
    KeyCode::Backspace,
    KeyCode::Delete,
    KeyCode::F(1),
    KeyCode::Insert,
];

fn key(dice: &mut Dice) -> ConsoleEvent {
    let sign = char::from(b' ' + dice.below(95) as u8);
    let code = match dice.below(3) {
        0 => NAMED[dice.below(16) as usize],
        _ => KeyCode::Char(sign),
    };
    let held = match dice.below(12) {
        0 => KeyModifiers::CONTROL,
        1 => KeyModifiers::ALT,
        _ => KeyModifiers::NONE,
    };
    ConsoleEvent::Key(KeyEvent::new(code, held))
}

fn mouse(dice: &mut Dice) -> ConsoleEvent {
    let kind = match dice.below(4) {
        0 => MouseEventKind::Down(MouseButton::Left),
        1 => MouseEventKind::ScrollUp,
        2 => MouseEventKind::ScrollDown,
        _ => MouseEventKind::Moved,
    };
    ConsoleEvent::Mouse(MouseEvent {
        kind,
        column: dice.below(260) as u16,
        row: dice.below(90) as u16,
        modifiers: KeyModifiers::NONE,
    })
}

fn storm(seed: u64, events: u32) {
    let look = TerminalLook {
        colours: Colours::True,
        ascii: seed.is_multiple_of(2),
    };
    let mut bench = Bench::with(120, 40, seed.is_multiple_of(5), look);
    bench.show(|s| s.search = Some(search()));
    let mut dice = Dice::seeded(seed);
    for _ in 0..events {
        match dice.below(40) {
            0 => {
                bench.size = (dice.below(220) as u16, dice.below(70) as u16);
                let (width, height) = bench.size;
                bench.console.handle(ConsoleEvent::Resize(width, height));
            }
            1..=4 => drop(bench.console.handle(mouse(&mut dice))),
            5 => drop(bench.show(|s| s.now += std::time::Duration::from_millis(90))),
            6 if dice.below(20) == 0 => drop(bench.show(|s| {
                many(s);
                s.search = None;
            })),
            7 if dice.below(10) == 0 => drop(bench.show(nothing)),
            _ => written(&bench.console.handle(key(&mut dice))),
        }
        if dice.below(4) == 0 {
            bench.buffer();
        }
    }
}

/// Files are asked for with a name and something in them.
fn written(effects: &[Effect]) {
    for effect in effects {
        if let Effect::Write { path, bytes, .. } = effect {
            assert!(path.file_name().is_some() && !bytes.is_empty());
        }
    }
}

#[test]
fn thousands_of_random_events_harm_nothing() {
    for seed in 1..=12 {
        storm(seed, 600);
    }
}

#[test]
#[ignore = "a minute of it: cargo test -p divisi --test console -- --ignored storm"]
fn a_minute_of_random_events_harms_nothing() {
    let began = std::time::Instant::now();
    let mut seed = 100;
    while began.elapsed().as_secs() < 60 {
        storm(seed, 5_000);
        seed += 1;
    }
}
