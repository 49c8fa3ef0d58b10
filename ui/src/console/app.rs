//! The main loop: takes events, ticks and signals, and draws frames.

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
use super::notify::Notifier;
use super::pace::{Due, Pace};
use super::terminal::TerminalScreen;
use crate::config;
use crate::model::{ConsoleEvent, Effect, Options};
use crate::text::WallClock;

/// The time within which keys belong to a paste. Typed keys are further apart.
const TOGETHER: Duration = Duration::from_millis(10);
/// The interval between checks whether the terminal belongs to this program again.
const AWAY: Duration = Duration::from_millis(200);
/// The most events handled before a frame.
const STORM: usize = 256;

/// Shows the session on the terminal until the user quits or a signal ends it.
///
/// # Errors
/// Standard output is not a terminal, or the terminal fails.
pub async fn run(session: Box<dyn Session>, options: Options) -> anyhow::Result<()> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        bail!(
            "the console needs a terminal on standard input and output; see `divisi --help` for reports without one"
        );
    }
    let settings = config::load()?;
    let mut console = Console::new(session, &options, config::terminal_look());
    console.set_clock(WallClock::of_system());
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
        notifier: Notifier::default(),
    };
    app.size()?;
    match app.drive(&mut signals).await {
        Ok(LoopEnd::Asked) => return Ok(()),
        // Once the terminal has gone, any error on it is a consequence.
        Err(error) if !app.screen.is_gone() => return Err(error),
        Ok(LoopEnd::HungUp) | Err(_) => {}
    }
    // No question is possible; the options decide about the engine.
    app.console.handle(ConsoleEvent::HungUp);
    Ok(())
}

/// Returns the longest pause before the next key of a paste. After several keys at once, the rest
/// may be late on a busy machine.
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

/// The reason why the loop ended.
enum LoopEnd {
    /// A key or a signal.
    Asked,
    /// The terminal has gone.
    HungUp,
}

struct App {
    // The screen is dropped first, so that the shell is visible while requests finish.
    screen: TerminalScreen,
    console: Console,
    /// The input of the terminal.
    input: TerminalInput,
    /// Whether the terminal belongs to another program, since a shell has put this one into the
    /// background.
    away: bool,
    /// Whether the picture differs from the screen.
    dirty: bool,
    /// Reports changed configuration files.
    config: config::ConfigWatch,
    /// The time of the next snapshot.
    pace: Pace,
    /// The desktop's file dialog, while it is open.
    native: Native,
    /// The messages on incidents.
    notifier: Notifier,
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
            self.console.mark_seen();
        }
        Ok(())
    }

    /// Returns whether the terminal belongs to another program. If so, this program stops reading
    /// and drawing, and restores its settings.
    fn is_away(&mut self) -> bool {
        if !self.away && !job::is_foreground() {
            self.away = true;
            self.screen.leave();
        }
        self.away
    }

    /// Takes news from the session.
    fn tick(&mut self) -> LoopStep {
        if self.screen.is_gone() {
            return LoopStep::HungUp;
        }
        let changed = match self.pace.due(Instant::now()) {
            Due::Spans => self.console.follow(),
            Due::Everything => self.console.refresh(),
        };
        self.dirty |= changed;
        for effect in self.console.take_effects() {
            if let Effect::Notify(text) = effect {
                self.notify(&text);
            }
        }
        self.pace
            .schedule(Instant::now(), changed, self.console.model());
        LoopStep::On
    }

    /// Handles events that arrived together, so that they are drawn once.
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

    /// Returns the next event that arrived together with the others.
    fn next_beside(&mut self, together: &[Input]) -> io::Result<Option<Input>> {
        let typed = together
            .last()
            .is_some_and(|last| typed_sign(last).is_some());
        match typed {
            true => self.input.next_within(apart(together.len())),
            // Continuous mouse movement must not delay drawing.
            false if together.len() >= STORM => Ok(None),
            false => self.input.next(),
        }
    }

    /// Passes the event to the console and carries its effects out.
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
                Err(Effect::Notify(text)) => self.notify(&text),
                // The console has sent the other effects to the session.
                Err(_) => {}
            }
        }
        Ok(LoopStep::On)
    }

    /// Tells the operator about an incident.
    fn notify(&mut self, text: &str) {
        let mut output = io::stdout();
        let terminal = (!self.is_away()).then_some(&mut output as &mut dyn io::Write);
        let config = &self.console.model().settings.config;
        self.notifier.tell(text, config, terminal);
    }

    /// Restores the terminal, stops, and takes the terminal again. The program does not stop if no
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

    /// Takes the terminal, in any state and of any size, if it belongs to this program.
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
