//! The loop: events, ticks and signals in, frames out.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use crossterm::event::{self, Event as Input, EventStream, KeyCode, KeyEventKind, KeyModifiers};
use divisi::session::Session;
use futures::StreamExt;
use rustix::process::{self, Signal as Kill};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, sleep_until, timeout};

use super::core::{self, Console};
use super::native::Native;
use super::pace::{Due, Pace};
use super::terminal::TerminalScreen;
use crate::config;
use crate::look::TerminalLook;
use crate::model::{ConsoleEvent, Effect, Options};

/// Text that is pasted comes as keys that are less than this apart; nobody types so fast.
const TOGETHER: Duration = Duration::from_millis(10);
/// An event that is there already comes within this.
const READ_ALREADY: Duration = Duration::from_millis(1);
/// So many events at most are drawn at once.
const STORM: usize = 256;
/// A stop takes effect within this, or was ignored.
const STOP: Duration = Duration::from_millis(300);

/// Shows the session on the terminal until the user leaves or a signal ends it.
///
/// # Errors
/// Standard output is no terminal, or the terminal fails.
pub async fn run(session: Box<dyn Session>, options: Options) -> anyhow::Result<()> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        bail!(
            "the console needs a terminal on standard input and output; see `divisi --help` for reports without one"
        );
    }
    let settings = config::load()?;
    let mut console = Console::new(session, &options, TerminalLook::from_env());
    let mouse = options.mouse && settings.config.mouse;
    console.configure(settings);
    let mut signals = Signals::new()?;
    let screen = TerminalScreen::take(mouse)?;
    let mut app = App {
        console,
        screen,
        dirty: true,
        config: config::ConfigWatch::begin(),
        pace: Pace::new(Instant::now()),
        native: Native::default(),
    };
    app.size()?;
    match app.drive(&mut signals).await {
        Ok(LoopEnd::Asked) => return Ok(()),
        // Whatever fails on a terminal that went away fails because of that.
        Err(error) if !app.screen.is_gone() => return Err(error),
        Ok(LoopEnd::HungUp) | Err(_) => {}
    }
    // Nobody can be asked: what becomes of the engine is in the options.
    app.console.handle(ConsoleEvent::HungUp);
    Ok(())
}

/// Returns the next event if it comes within `time`. The terminal is asked here and not
/// through the stream of events: that one does not hand out what it has read already, but
/// has a thread do so, which comes late on a busy machine. `time` may not be zero, for
/// nothing is handed out within no time.
fn next_within(time: Duration) -> Option<io::Result<Input>> {
    match event::poll(time) {
        Ok(true) => Some(event::read()),
        Ok(false) => None,
        Err(error) => Some(Err(error)),
    }
}

/// How far apart the next key of a pasted text may come after so many: where several came
/// at once already, the rest may be late on a busy machine.
fn apart(together: usize) -> Duration {
    if together < 3 { TOGETHER } else { 5 * TOGETHER }
}

/// The signals that end or continue the program.
struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    quit: Signal,
    proceed: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
            interrupt: listen(SignalKind::interrupt())?,
            quit: listen(SignalKind::quit())?,
            proceed: listen(SignalKind::from_raw(Kill::CONT.as_raw()))?,
        })
    }

    /// Waits for one that matters. A shell whose terminal goes away sends a stopped
    /// program several at once, of which the hang-up says what happened.
    async fn next(&mut self) -> HeardSignal {
        tokio::select! {
            biased;
            _ = self.hang_up.recv() => HeardSignal::HungUp,
            _ = self.terminate.recv() => HeardSignal::LoopEnd,
            _ = self.interrupt.recv() => HeardSignal::LoopEnd,
            _ = self.quit.recv() => HeardSignal::LoopEnd,
            _ = self.proceed.recv() => HeardSignal::Proceed,
        }
    }

    /// Leaves, after a moment in which a hang-up that was sent beside the signal may arrive.
    async fn leave(&mut self) -> LoopStep {
        match timeout(SENT_TOGETHER, self.hang_up.recv()).await {
            Ok(_) => LoopStep::HungUp,
            Err(_) => LoopStep::Leave,
        }
    }
}

/// How far apart the signals arrive that are sent at once.
const SENT_TOGETHER: Duration = Duration::from_millis(50);

/// The meaning of a signal.
enum HeardSignal {
    /// The program is to end.
    LoopEnd,
    /// The terminal goes away.
    HungUp,
    /// The program was stopped and goes on.
    Proceed,
}

/// The next step of the loop.
enum LoopStep {
    On,
    Suspend,
    Leave,
    HungUp,
}

/// Why the loop ended.
enum LoopEnd {
    /// By a key or a signal.
    Asked,
    /// The terminal went away.
    HungUp,
}

struct App {
    // The screen goes first: whoever waits for requests to finish sees the shell again.
    screen: TerminalScreen,
    console: Console,
    /// The picture differs from the screen.
    dirty: bool,
    /// Tells of changed files of configuration.
    config: config::ConfigWatch,
    /// When to look at the session again.
    pace: Pace,
    /// The desktop's own dialog, while it is open.
    native: Native,
}

impl App {
    async fn drive(&mut self, signals: &mut Signals) -> anyhow::Result<LoopEnd> {
        let mut events = EventStream::new();
        loop {
            let next = tokio::select! {
                biased;
                told = signals.next() => match told {
                    HeardSignal::LoopEnd if self.screen.is_gone() => LoopStep::HungUp,
                    HeardSignal::LoopEnd => signals.leave().await,
                    HeardSignal::HungUp => LoopStep::HungUp,
                    HeardSignal::Proceed => self.come_back()?,
                },
                event = events.next() => self.inputs(event)?,
                settings = self.config.changed() => self.take(ConsoleEvent::Configured(settings))?,
                event = self.native.answer() => self.take(event)?,
                () = sleep_until(self.pace.next().into()) => self.tick(),
            };
            match next {
                LoopStep::Leave => return Ok(LoopEnd::Asked),
                LoopStep::HungUp => return Ok(LoopEnd::HungUp),
                LoopStep::Suspend => self.suspend(&mut signals.proceed).await?,
                LoopStep::On => {}
            }
            self.draw()?;
        }
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.dirty) {
            self.screen.draw(&self.console)?;
            self.console.seen();
        }
        Ok(())
    }

    /// Looks at the session.
    fn tick(&mut self) -> LoopStep {
        if self.screen.is_gone() {
            return LoopStep::HungUp;
        }
        let changed = match self.pace.due(Instant::now()) {
            Due::Spans => self.console.follow(),
            Due::Everything => self.console.refresh(),
        };
        self.dirty |= changed;
        self.pace
            .after(Instant::now(), changed, self.console.model());
        LoopStep::On
    }

    /// Takes the event and all that have come with it, so that a storm of them is
    /// drawn once.
    fn inputs(&mut self, first: Option<io::Result<Input>>) -> anyhow::Result<LoopStep> {
        let mut together = Vec::new();
        let mut gone = first.is_none();
        let mut next = first;
        while let Some(event) = next {
            let Ok(event) = event else {
                gone = true;
                break;
            };
            next = match typed_sign(&event) {
                Some(_) => next_within(apart(together.len())),
                // A mouse that is moved on and on is drawn as well.
                None if together.len() >= STORM => None,
                None => next_within(READ_ALREADY),
            };
            together.push(event);
        }
        for event in console_events(&together) {
            match self.take(event)? {
                LoopStep::On => {}
                other => return Ok(other),
            }
        }
        Ok(if gone { LoopStep::HungUp } else { LoopStep::On })
    }

    /// Gives the event to the console and does what that asks for.
    fn take(&mut self, event: ConsoleEvent) -> anyhow::Result<LoopStep> {
        self.dirty = true;
        self.pace.touched(Instant::now());
        let mut effects = VecDeque::from(self.console.handle(event));
        while let Some(effect) = effects.pop_front() {
            match core::for_files(effect) {
                Ok(answer) => effects.extend(self.console.handle(answer)),
                Err(Effect::Quit) => return Ok(LoopStep::Leave),
                Err(Effect::Suspend) => return Ok(LoopStep::Suspend),
                Err(Effect::Mouse(on)) => self.screen.set_mouse(on)?,
                Err(Effect::Pick(pick)) => self.native.ask(&pick),
                Err(Effect::StopPick) => self.native.stop(),
                // The console has sent the others to the session.
                Err(_) => {}
            }
        }
        Ok(LoopStep::On)
    }

    /// Gives the terminal back, stops, and takes it again. A stop may come a moment
    /// after asking, or not at all where no shell could continue the program.
    async fn suspend(&mut self, proceed: &mut Signal) -> anyhow::Result<()> {
        self.screen.leave();
        process::kill_process(process::getpid(), Kill::TSTP).context("cannot stop")?;
        let _ = timeout(STOP, proceed.recv()).await;
        // What else was sent along with the continuation.
        sleep(Duration::ZERO).await;
        self.come_back()?;
        Ok(())
    }

    /// After a stop the terminal may be in any state, and of any size.
    fn come_back(&mut self) -> anyhow::Result<LoopStep> {
        self.screen.enter()?;
        self.size()?;
        Ok(LoopStep::On)
    }

    fn size(&mut self) -> anyhow::Result<()> {
        let size = self.screen.size()?;
        self.console
            .handle(ConsoleEvent::Resize(size.width, size.height));
        self.dirty = true;
        Ok(())
    }
}

/// So many signs at once are no typing, even over a slow connection.
const MANY: usize = 12;
/// A key that is held down comes many times too, but is always the same one.
const DIFFERENT: usize = 6;

/// Returns the events of inputs that came at once, in order. Keys that look like pasted text
/// become a paste: nobody types like that, and not every terminal marks a paste as such.
fn console_events(inputs: &[Input]) -> Vec<ConsoleEvent> {
    let mut events = Vec::new();
    for run in inputs.chunk_by(|a, b| typed_sign(a).is_some() == typed_sign(b).is_some()) {
        let text: String = run.iter().filter_map(typed_sign).collect();
        match is_pasted(&text) {
            true => events.push(ConsoleEvent::Paste(text)),
            false => events.extend(run.iter().filter_map(console_event)),
        }
    }
    events
}

fn is_pasted(text: &str) -> bool {
    let different: BTreeSet<char> = text.chars().collect();
    text.chars().count() >= MANY && different.len() >= DIFFERENT
}

/// The sign that a key types, if it types one.
fn typed_sign(input: &Input) -> Option<char> {
    let Input::Key(key) = input else { return None };
    let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
    match key.code {
        _ if !plain || key.kind == KeyEventKind::Release => None,
        KeyCode::Char(c) => Some(c),
        KeyCode::Enter => Some('\n'),
        KeyCode::Tab => Some('\t'),
        _ => None,
    }
}

/// Returns the event for an input, or `None` if the input does not matter.
fn console_event(input: &Input) -> Option<ConsoleEvent> {
    Some(match input {
        Input::Key(key) => ConsoleEvent::Key(*key),
        Input::Paste(text) => ConsoleEvent::Paste(text.clone()),
        Input::Mouse(mouse) => ConsoleEvent::Mouse(*mouse),
        Input::Resize(width, height) => ConsoleEvent::Resize(*width, *height),
        Input::FocusGained | Input::FocusLost => return None,
    })
}
