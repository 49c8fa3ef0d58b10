//! The terminal: taken once and restored exactly once on every way out. Also the reports of panics:
//! a file with the message, the place and the build.

use std::backtrace::Backtrace;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::panic::PanicHookInfo;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once};
use std::thread::{self, ThreadId};

use anyhow::Context;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
    EnterAlternateScreen, LeaveAlternateScreen,
};
use crossterm::{execute, queue};
use divisi_model::user_folders;
use ratatui::Terminal;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::Rect;

use super::core::Console;
use super::{job, raw};

/// Whether the console holds the terminal. The thread that sets it to false restores the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Panics of other threads while the console had the screen, to report afterwards.
static REPORTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The hook is set once per process.
static HOOK: Once = Once::new();
/// The most reports; further ones repeat earlier ones.
const MOST_REPORTS: usize = 8;

/// Standard output while the console holds the terminal. Afterwards nothing is written, since
/// showing the cursor once more would panic if the terminal has gone.
struct TerminalOutput(Stdout);

impl Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match TAKEN.load(Ordering::SeqCst) {
            true => self.0.write(bytes),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match TAKEN.load(Ordering::SeqCst) {
            true => self.0.flush(),
            false => Ok(()),
        }
    }
}

/// The terminal while the console holds it.
pub(super) struct TerminalScreen {
    // Standard output without this buffer writes at every newline and every kilobyte.
    terminal: Terminal<CrosstermBackend<BufWriter<TerminalOutput>>>,
    mouse: bool,
}

impl TerminalScreen {
    /// Takes the terminal: raw mode, the alternate screen, no cursor.
    ///
    /// # Errors
    /// The terminal does not accept these modes.
    pub(super) fn take(mouse: bool) -> anyhow::Result<Self> {
        watch_panics();
        // The console itself drops colours; crossterm's own way would also reset bold and reverse.
        crossterm::style::force_color_output(true);
        let terminal = Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(
            1 << 16,
            TerminalOutput(io::stdout()),
        )));
        let terminal = terminal.context("cannot read the terminal's size")?;
        let mut screen = TerminalScreen { terminal, mouse };
        screen.enter()?;
        Ok(screen)
    }

    /// Takes the terminal again, after `leave` or any other change.
    ///
    /// # Errors
    /// The terminal does not accept these modes.
    pub(super) fn enter(&mut self) -> anyhow::Result<()> {
        raw::take().context("cannot set the terminal to raw mode")?;
        TAKEN.store(true, Ordering::SeqCst);
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            DisableLineWrap,
            // Pasted input arrives as text instead of keys.
            EnableBracketedPaste,
            Hide
        )?;
        self.set_mouse(self.mouse)?;
        self.redraw()
    }

    /// Restores the terminal, such as before a stop. A terminal that already belongs to another
    /// program keeps its modes.
    pub(super) fn leave(&mut self) {
        restore();
    }

    /// Turns the mouse on or off.
    ///
    /// # Errors
    /// Writing to the terminal failed.
    pub(super) fn set_mouse(&mut self, on: bool) -> anyhow::Result<()> {
        self.mouse = on;
        match on {
            true => execute!(io::stdout(), EnableMouseCapture)?,
            false => execute!(io::stdout(), DisableMouseCapture)?,
        }
        Ok(())
    }

    /// Discards the previous frame, so that the next one is drawn completely. It does not query the
    /// cursor's place, which would race with reading events.
    ///
    /// # Errors
    /// The terminal's size cannot be read.
    pub(super) fn redraw(&mut self) -> anyhow::Result<()> {
        let size = self.size()?;
        self.terminal.resize(size)?;
        Ok(())
    }

    /// Returns the area of the screen.
    ///
    /// # Errors
    /// The terminal's size cannot be read.
    pub(super) fn size(&self) -> anyhow::Result<Rect> {
        let size = self.terminal.backend().size()?;
        Ok(Rect::new(0, 0, size.width, size.height))
    }

    /// Returns whether the terminal has gone: its window was closed, or its connection was lost.
    /// Reading from it then returns nothing without an end.
    pub(super) fn is_gone(&self) -> bool {
        !(io::stdout().is_terminal() && io::stdin().is_terminal())
    }

    /// Draws the differences from the last frame, as one update if the terminal supports that.
    ///
    /// # Errors
    /// Writing to the terminal failed.
    pub(super) fn draw(&mut self, console: &Console) -> anyhow::Result<()> {
        queue!(io::stdout(), BeginSynchronizedUpdate)?;
        self.terminal
            .draw(|frame| console.draw(frame.buffer_mut()))?;
        execute!(io::stdout(), EndSynchronizedUpdate)?;
        Ok(())
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal if the console holds it. Errors cannot be reported.
fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        DisableBracketedPaste,
        DisableMouseCapture,
        EnableLineWrap,
        LeaveAlternateScreen,
        Show
    );
    if job::is_foreground() {
        raw::give_back();
    }
    tell_reports();
}

fn tell_reports() {
    let reports = REPORTS.lock().map(|mut r| std::mem::take(&mut *r));
    let told = reports.unwrap_or_default();
    for report in &told {
        let _ = writeln!(io::stderr(), "{report}");
    }
    if !told.is_empty() {
        save_report(&told.join("\n\n"));
    }
}

/// Sets the panic hook. A panic of the console's thread restores the terminal before it is
/// reported. A panic of another thread may be caught there, so its report is kept for later and
/// does not write over the screen.
fn watch_panics() {
    HOOK.call_once(|| {
        let console: ThreadId = thread::current().id();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if thread::current().id() != console && TAKEN.load(Ordering::SeqCst) {
                return keep_report(info);
            }
            restore();
            before(info);
            save_report(&describe_panic(info));
        }));
    });
}

fn keep_report(info: &PanicHookInfo<'_>) {
    if let Ok(mut kept) = REPORTS.lock()
        && kept.len() < MOST_REPORTS
    {
        kept.push(describe_panic(info));
    }
}

/// Describes a panic for a report.
fn describe_panic(info: &PanicHookInfo<'_>) -> String {
    let name = thread::current().name().unwrap_or("unnamed").to_owned();
    format!("thread `{name}`: {info}")
}

/// Writes a report with a backtrace and prints its path. Errors cannot be reported.
fn save_report(what: &str) {
    let version = env!("CARGO_PKG_VERSION");
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let arguments: Vec<String> = std::env::args().collect();
    let text = format!(
        "divisi {version} on {system} {machine}\n{}\n\n{what}\n\n{}\n",
        arguments.join(" "),
        Backtrace::force_capture()
    );
    if let Some(path) = write_report(&text) {
        let said = format!("divisi: a report is in {}\n", path.display());
        let _ = io::stderr().write_all(said.as_bytes());
    }
}

/// Writes to the folder of the user's state, else to the temporary folder.
fn write_report(text: &str) -> Option<PathBuf> {
    let name = format!("panic-{}.txt", std::process::id());
    let state = user_folders::state().map(|folder| folder.join(&name));
    let temporary = std::env::temp_dir().join(format!("divisi-{name}"));
    let places = state.into_iter().chain([temporary]);
    places.into_iter().find(|path| {
        path.parent().is_some_and(|p| fs::create_dir_all(p).is_ok())
            && fs::write(path, text).is_ok()
    })
}
