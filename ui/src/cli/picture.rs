//! `divisi picture`: runs the console without a terminal and writes its screen to files.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::args::{KeyStep, PictureArgs, ScreenSize};
use super::start;
use crate::config;
use crate::console::{Colours, Console, ConsoleEvent, TerminalLook, picture};

/// Time between two snapshots of the session, as on a screen.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &PictureArgs) -> Result<()> {
    for path in &args.out {
        ending(path)?;
    }
    let mut console = serving(args)?;
    let ScreenSize(width, height) = args.size;
    console.handle(ConsoleEvent::Resize(width, height));
    watch(&mut console, args.after);
    for step in &args.keys.0 {
        match step {
            KeyStep::Press(key) => {
                // As if somebody had looked at what the keys before did.
                console.seen();
                console.handle(ConsoleEvent::Key(key.event()));
            }
            KeyStep::Wait(pause) => watch(&mut console, *pause),
        }
    }
    watch(&mut console, LOOK);
    let mut screen = Buffer::empty(Rect::new(0, 0, width, height));
    console.draw(&mut screen);
    for path in &args.out {
        let text = match ending(path)? {
            "txt" => picture::text(&screen),
            "ans" => picture::ansi(&screen),
            _ => picture::svg(&screen, &console.model().settings.styles),
        };
        fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn ending(path: &Path) -> Result<&str> {
    match path.extension().and_then(|e| e.to_str()) {
        Some(ending @ ("svg" | "ans" | "txt")) => Ok(ending),
        _ => bail!(
            "{}: expected a file that ends in .svg, .ans or .txt",
            path.display()
        ),
    }
}

/// Starts an engine and a console on it, as `divisi` does.
fn serving(args: &PictureArgs) -> Result<Console> {
    let look = TerminalLook {
        colours: Colours::True,
        ascii: args.ascii,
    };
    let mut settings = config::load()?.seen_with(look);
    if let Some(theme) = &args.theme {
        settings.choose(theme)?;
    }
    let session = start::session(
        &args.target,
        args.matrix.as_deref(),
        args.load.clone(),
        None,
    )?;
    let options = start::options(false, false);
    let mut console = Console::new(Box::new(session), &options, look);
    console.configure(settings);
    Ok(console)
}

/// Lets the engine serve for `pause` and refreshes the console meanwhile.
fn watch(console: &mut Console, pause: Duration) {
    let began = Instant::now();
    loop {
        console.refresh();
        let left = pause.saturating_sub(began.elapsed());
        if left.is_zero() {
            return;
        }
        sleep(left.min(LOOK));
    }
}
