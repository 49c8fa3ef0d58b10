//! The loop: events, ticks and signals in, frames out.

use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use crossterm::event::Event as Input;
use divisi_session::Session;
use rustix::process::{self, Signal as Kill};
use tokio::time::{sleep, sleep_until};

use super::core::{self, Console};
use super::heard::{HeardSignal, HeardSignals};
use super::input::{TerminalInput, console_events, typed_sign};
use super::job;
use super::native::Native;
use super::pace::{Due, Pace};
use super::terminal::TerminalScreen;
use crate::config;
use crate::model::{ConsoleEvent, Effect, Options};

/// Text that is pasted comes as keys that are less than this apart; nobody types so fast.
const TOGETHER: Duration = Duration::from_millis(10);
/// Between looks whether the terminal is this program's again.
const AWAY: Duration = Duration::from_millis(200);
/// So many events at most are drawn at once.
const STORM: usize = 256;

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
    let mut console = Console::new(session, &options, config::terminal_look());
    let mouse = options.mouse && settings.config.mouse;
    console.configure(settings);
    let mut signals = HeardSignals::new()?;
    let input = TerminalInput::new()?;
    let screen = TerminalScreen::take(mouse)?;
    let mut app = App {
        console,
        screen,
        input,
        away: false,
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

/// How far apart the next key of a pasted text may come after so many: where several came
/// at once already, the rest may be late on a busy machine.
fn apart(together: usize) -> Duration {
    if together < 3 { TOGETHER } else { 5 * TOGETHER }
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
    /// The input of the terminal.
    input: TerminalInput,
    /// The terminal is another program's: a shell has this one in the background.
    away: bool,
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
    async fn drive(&mut self, signals: &mut HeardSignals) -> anyhow::Result<LoopEnd> {
        loop {
            let next = tokio::select! {
                biased;
                heard = signals.next() => self.hear(heard, signals).await?,
                () = self.input.wait(), if !self.away => self.inputs()?,
                () = sleep(AWAY), if self.away => LoopStep::On,
                settings = self.config.changed() => self.take(ConsoleEvent::Configured(settings))?,
                event = self.native.answer() => self.take(event)?,
                () = sleep_until(self.pace.next().into()) => self.tick(),
            };
            match next {
                LoopStep::Leave => return Ok(LoopEnd::Asked),
                LoopStep::HungUp => return Ok(LoopEnd::HungUp),
                LoopStep::Suspend => self.suspend(signals).await?,
                LoopStep::On => {}
            }
            if self.away {
                self.come_back()?;
            }
            self.draw()?;
        }
    }

    async fn hear(
        &mut self,
        heard: HeardSignal,
        signals: &mut HeardSignals,
    ) -> anyhow::Result<LoopStep> {
        Ok(match heard {
            HeardSignal::End if self.screen.is_gone() => LoopStep::HungUp,
            HeardSignal::End if signals.hangs_up_as_well().await => LoopStep::HungUp,
            HeardSignal::End => LoopStep::Leave,
            HeardSignal::HungUp => LoopStep::HungUp,
            HeardSignal::Stop => LoopStep::Suspend,
            HeardSignal::Proceed => self.come_back()?,
            HeardSignal::Resized => {
                self.size()?;
                LoopStep::On
            }
        })
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        if self.dirty && !self.is_away() {
            self.dirty = false;
            self.screen.draw(&self.console)?;
            self.console.seen();
        }
        Ok(())
    }

    /// Returns whether the terminal is another program's. Once it is, nothing is read from it and
    /// nothing is drawn; what this one has set is unset.
    fn is_away(&mut self) -> bool {
        if !self.away && !job::is_foreground() {
            self.away = true;
            self.screen.leave();
        }
        self.away
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

    /// Takes the events that have come together, so that a storm of them is drawn once.
    fn inputs(&mut self) -> anyhow::Result<LoopStep> {
        if self.is_away() {
            return Ok(LoopStep::On);
        }
        let mut together = Vec::new();
        let gone = loop {
            match self.next_beside(&together) {
                Ok(Some(event)) => together.push(event),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        for event in console_events(&together) {
            match self.take(event)? {
                LoopStep::On => {}
                other => return Ok(other),
            }
        }
        Ok(if gone { LoopStep::HungUp } else { LoopStep::On })
    }

    /// Returns the next event of those that come together.
    fn next_beside(&mut self, together: &[Input]) -> io::Result<Option<Input>> {
        let typed = together
            .last()
            .is_some_and(|last| typed_sign(last).is_some());
        match typed {
            true => self.input.next_within(apart(together.len())),
            // A mouse that is moved on and on is drawn as well.
            false if together.len() >= STORM => Ok(None),
            false => self.input.next(),
        }
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

    /// Gives the terminal back, stops, and takes it again. The program does not stop where no
    /// shell could continue it.
    async fn suspend(&mut self, signals: &mut HeardSignals) -> anyhow::Result<()> {
        self.screen.leave();
        if job::can_be_continued() {
            signals.forget_stops().await;
            process::kill_process(process::getpid(), Kill::STOP).context("cannot stop")?;
        }
        signals.proceed().await;
        self.come_back()?;
        Ok(())
    }

    /// Takes the terminal, which may be in any state and of any size, if it is this program's.
    fn come_back(&mut self) -> anyhow::Result<LoopStep> {
        self.away = false;
        if !self.is_away() {
            self.screen.enter()?;
            self.size()?;
        }
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
