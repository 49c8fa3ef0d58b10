//! A console of 200×60 whose escape sequences are made and counted, then thrown away.

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divisi_console::console::{Colours, Console, ConsoleEvent, Options, TerminalLook};
use divisi_session::Session;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::time::{ClockId, clock_gettime};

/// A frame at 30 a second.
pub const FRAME: Duration = Duration::from_nanos(33_333_333);
/// Frames from one look at the whole state to the next.
const LOOK: u64 = 3;

/// Counts bytes.
struct Sink(Rc<Cell<u64>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub struct Screen {
    pub console: Console,
    terminal: Terminal<CrosstermBackend<Sink>>,
    bytes: Rc<Cell<u64>>,
    frame: u64,
    pub drawn: u64,
}

impl Screen {
    pub fn new(session: Box<dyn Session>) -> Self {
        let look = TerminalLook {
            colours: Colours::True,
            ascii: false,
        };
        let options = Options {
            read_only: false,
            mouse: true,
            title: "divisi".into(),
            layouts: Vec::new(),
            demo: None,
        };
        crossterm::style::force_color_output(true);
        let mut console = Console::new(session, &options, look);
        console.handle(ConsoleEvent::Resize(200, 60));
        let bytes = Rc::new(Cell::new(0));
        let options = TerminalOptions {
            viewport: Viewport::Fixed(Rect::new(0, 0, 200, 60)),
        };
        let backend = CrosstermBackend::new(Sink(Rc::clone(&bytes)));
        Screen {
            console,
            terminal: Terminal::with_options(backend, options).expect("a terminal"),
            bytes,
            frame: 0,
            drawn: 0,
        }
    }

    /// One beat of the console's loop.
    pub fn beat(&mut self) {
        let changed = match self.frame.is_multiple_of(LOOK) {
            true => self.console.refresh(),
            false => self.console.follow(),
        };
        self.frame += 1;
        if changed {
            self.draw();
        }
    }

    pub fn draw(&mut self) {
        let console = &self.console;
        let drawn = self.terminal.draw(|f| console.draw(f.buffer_mut()));
        drawn.expect("draws");
        self.drawn += 1;
    }

    pub fn press(&mut self, code: KeyCode) {
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        self.console.handle(ConsoleEvent::Key(key));
    }

    /// Beats for so long.
    pub fn run(&mut self, time: Duration) {
        let started = Instant::now();
        let mut due = started;
        while started.elapsed() < time {
            self.beat();
            due += FRAME;
            sleep_until(due);
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}

pub fn sleep_until(due: Instant) {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

/// Processor time of this thread.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
