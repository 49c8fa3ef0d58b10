//! A page's console: a thread that handles its events and makes its frames.
//!
//! At most [`AHEAD`] frames are on their way. A page that paints slowly, or is hidden, skips frames;
//! none wait for it. A dialog can be answered once the page has painted it.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use divisi_session::Session;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::mpsc::Sender;

use super::browser_session::{BrowserSession, NO_FILES};
use super::frames::FrameMaker;
use super::input::console_event;
use super::message::{FromPage, Hello, ToPage};
use crate::config::{self, Settings};
use crate::console::{Colours, Console, Due, Pace, TerminalLook};
use crate::linear::Watcher;
use crate::model::{ConsoleEvent, Effect, Options};

/// The maximum number of frames that the page has not painted.
const AHEAD: usize = 2;
/// The minimum time between frames: 30 a second.
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 30);
/// The time between lines for screen readers.
const LINES: Duration = Duration::from_millis(500);
/// The most events handled before a frame.
const STORM: usize = 64;

/// The name in the header and in the title of the page.
const TITLE: &str = "divisi";

/// Shows the session on a page until the page leaves or the user quits.
pub(super) fn show(
    session: Box<dyn Session>,
    hello: &Hello,
    edits: bool,
    events: &Receiver<FromPage>,
    out: Sender<String>,
) {
    let Some(mut viewer) = PageViewer::new(session, hello, edits, out) else {
        return;
    };
    while viewer.step(events) {}
}

/// A frame that the page has not painted yet.
struct SentFrame {
    number: u64,
    /// The console's count of questions when it was drawn.
    questions: u64,
}

struct PageViewer {
    console: Console,
    picture: Buffer,
    frames: FrameMaker,
    pace: Pace,
    watcher: Watcher,
    /// The time of the next lines.
    lines_at: Instant,
    out: Sender<String>,
    /// The frames on their way, oldest first.
    ahead: VecDeque<SentFrame>,
    /// Whether the picture may differ from the last frame.
    dirty: bool,
    /// The time of the last frame.
    drawn: Option<Instant>,
}

impl PageViewer {
    /// Creates the console of a page. Returns `None` if the page has left.
    fn new(
        session: Box<dyn Session>,
        hello: &Hello,
        edits: bool,
        out: Sender<String>,
    ) -> Option<Self> {
        let look = look(hello);
        let settings = settings(look, hello.dark);
        let options = Options {
            read_only: !edits,
            mouse: true,
            title: TITLE.to_owned(),
            layouts: Vec::new(),
            demo: None,
        };
        let every = settings.config.every;
        let mut console = Console::new(Box::new(BrowserSession(session)), &options, look);
        console.configure(settings);
        let (columns, rows) = hello.size.bounded();
        console.handle(ConsoleEvent::Resize(columns, rows));
        let title = format!("{} · {TITLE}", console.model().snapshot.ensemble);
        let joined = ToPage::Joined {
            edits,
            title: &title,
        };
        out.try_send(joined.text()).ok()?;
        let now = Instant::now();
        Some(PageViewer {
            console,
            picture: Buffer::empty(Rect::new(0, 0, columns, rows)),
            frames: FrameMaker::default(),
            pace: Pace::new(now),
            watcher: Watcher::new(every),
            lines_at: now,
            out,
            ahead: VecDeque::new(),
            dirty: true,
            drawn: None,
        })
    }

    /// Waits for the next event or time. Returns false at the end.
    fn step(&mut self, events: &Receiver<FromPage>) -> bool {
        let wait = self.next().saturating_duration_since(Instant::now());
        let goes_on = match events.recv_timeout(wait) {
            Ok(event) => self.take_all(event, events),
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => false,
        };
        if goes_on && self.pace.next() <= Instant::now() {
            self.tick();
        }
        goes_on && self.draw()
    }

    /// Returns the time of the next snapshot or frame.
    fn next(&self) -> Instant {
        let drawn = self.drawn.map(|at| at + FRAME);
        let frame = drawn.filter(|_| self.dirty && self.ahead.len() < AHEAD);
        frame.map_or(self.pace.next(), |at| at.min(self.pace.next()))
    }

    /// Handles an event and those that wait behind it. Returns false once the user has quit.
    fn take_all(&mut self, first: FromPage, events: &Receiver<FromPage>) -> bool {
        let more = events.try_iter().take(STORM);
        for event in std::iter::once(first).chain(more) {
            if !self.take(event) {
                return false;
            }
        }
        true
    }

    fn take(&mut self, message: FromPage) -> bool {
        if let FromPage::Painted { frame } = message {
            self.painted(frame);
            return true;
        }
        let Some(event) = console_event(message) else {
            return true;
        };
        if let ConsoleEvent::Resize(columns, rows) = event {
            self.picture.resize(Rect::new(0, 0, columns, rows));
        }
        self.dirty = true;
        self.pace.touched(Instant::now());
        self.handle(event)
    }

    /// Handles a painted frame. A dialog has been seen if it was in the frame.
    fn painted(&mut self, number: u64) {
        while let Some(sent) = self.ahead.front()
            && sent.number <= number
        {
            if sent.questions == self.console.questions() {
                self.console.mark_seen();
            }
            self.ahead.pop_front();
        }
    }

    /// Passes an event to the console and carries its effects out. Returns false once the user has
    /// quit.
    fn handle(&mut self, event: ConsoleEvent) -> bool {
        let mut effects = VecDeque::from(self.console.handle(event));
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Quit => {
                    self.send(&ToPage::Bye);
                    return false;
                }
                Effect::Mouse(on) => drop(self.send(&ToPage::Mouse { on })),
                other => {
                    let answer = without_files(other);
                    effects.extend(answer.into_iter().flat_map(|a| self.console.handle(a)));
                }
            }
        }
        true
    }

    /// Takes news from the session.
    fn tick(&mut self) {
        let changed = match self.pace.due(Instant::now()) {
            Due::Spans => self.console.follow(),
            Due::Everything => {
                let changed = self.console.refresh();
                // A page has no bell and runs no command of the server's user.
                drop(self.console.take_effects());
                self.say();
                changed
            }
        };
        self.dirty |= changed;
        self.pace
            .schedule(Instant::now(), changed, self.console.model());
    }

    /// Sends lines about news to screen readers.
    fn say(&mut self) {
        if Instant::now() < self.lines_at {
            return;
        }
        self.lines_at = Instant::now() + LINES;
        let lines = self.watcher.news(&self.console.model().snapshot);
        if !lines.is_empty() {
            self.send(&ToPage::Say { lines: &lines });
        }
    }

    /// Sends a frame if one is due. Returns false if the page has left.
    fn draw(&mut self) -> bool {
        let soon = self.drawn.is_some_and(|at| at.elapsed() < FRAME);
        if !self.dirty || soon || self.ahead.len() >= AHEAD {
            return true;
        }
        self.dirty = false;
        self.picture.reset();
        self.console.draw(&mut self.picture);
        let styles = &self.console.model().settings.styles;
        let Some(frame) = self.frames.frame(&self.picture, styles) else {
            self.unchanged();
            return true;
        };
        self.drawn = Some(Instant::now());
        self.ahead.push_back(SentFrame {
            number: frame.number,
            questions: self.console.questions(),
        });
        self.send(&ToPage::Frame(frame))
    }

    /// Handles a picture equal to the last frame: the last frame shows the current dialog.
    fn unchanged(&mut self) {
        match self.ahead.back_mut() {
            Some(last) => last.questions = self.console.questions(),
            None => self.console.mark_seen(),
        }
    }

    /// Sends a message. Returns false if the page has left or does not read.
    fn send(&self, message: &ToPage<'_>) -> bool {
        self.out.try_send(message.text()).is_ok()
    }
}

/// Returns the answer to an effect on files or on the terminal: a browser has none.
fn without_files(effect: Effect) -> Option<ConsoleEvent> {
    let no = || NO_FILES.to_owned();
    Some(match effect {
        Effect::Look(_) => ConsoleEvent::Looked(Err(no())),
        Effect::Read(path) => ConsoleEvent::Read(path, Err(no())),
        Effect::Pick(_) => ConsoleEvent::Picked(Err(no())),
        Effect::Write { .. } | Effect::SaveLayout(_) => ConsoleEvent::Wrote(Err(no())),
        _ => return None,
    })
}

fn look(hello: &Hello) -> TerminalLook {
    TerminalLook {
        colours: match hello.plain {
            true => Colours::None,
            false => Colours::True,
        },
        ascii: false,
    }
}

/// Returns the settings of the server's user. Without another theme, it follows the browser.
fn settings(look: TerminalLook, dark: bool) -> Settings {
    let mut settings = config::load().unwrap_or_default().seen_with(look);
    if settings.config.theme == "auto" {
        // Both themes are built in.
        let _ = settings.choose(if dark { "dark" } else { "light" });
    }
    settings
}
