//! `divisi picture`: runs the console without a terminal and writes its screen to files.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use divisi_server::{ServeOptions, Server, StartLoad};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::args::{ServingTarget, parse_start_load};
use super::output::OutputFile;
use super::start;
use super::tasks::NamedModels;
use crate::commands::Key;
use crate::config::{self, time};
use crate::console::{Colours, Console, ConsoleEvent, TerminalLook, picture};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PictureArgs {
    #[command(flatten)]
    target: ServingTarget,
    /// Start with the matrix in this file (default: worst-fit decreasing)
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Initial load, as for the console
    #[arg(long, value_name = "PATTERN", default_value = "usual", value_parser = parse_start_load)]
    load: StartLoad,
    /// Columns and rows of the screen
    #[arg(long, value_name = "WxH", default_value = "160x50")]
    size: ScreenSize,
    /// Serving time before the first key
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = time)]
    after: Duration,
    /// Keys to type, space-separated; `wait:2s` pauses
    #[arg(long, value_name = "KEYS", default_value = "", value_parser = parse_steps)]
    keys: KeySteps,
    /// Theme: dark, light, high-contrast or a file in themes/
    #[arg(long, value_name = "NAME")]
    theme: Option<String>,
    /// Draw with ASCII characters only
    #[arg(long)]
    ascii: bool,
    /// Output file: .svg, .ans or .txt; repeatable
    #[arg(long, value_name = "FILE", required = true)]
    out: Vec<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// Columns and rows.
#[derive(Clone, Copy, Debug)]
struct ScreenSize(u16, u16);

impl FromStr for ScreenSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('x');
        let parsed = parts.and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        let right = parsed.filter(|(w, h)| (1..=500).contains(w) && (1..=300).contains(h));
        let wrong = || format!("expected columns x rows, at most 500x300, found `{text}`");
        right.map(|(w, h)| ScreenSize(w, h)).ok_or_else(wrong)
    }
}

/// Keys and pauses in their order.
#[derive(Clone, Debug, Default)]
struct KeySteps(Vec<KeyStep>);

#[derive(Clone, Copy, Debug)]
enum KeyStep {
    Press(Key),
    Wait(Duration),
}

fn parse_steps(text: &str) -> Result<KeySteps, String> {
    let step = |word: &str| match word.strip_prefix("wait:") {
        Some(pause) => time(pause).map(KeyStep::Wait),
        None => word.parse().map(KeyStep::Press),
    };
    let steps: Result<Vec<KeyStep>, String> = text.split_whitespace().map(step).collect();
    steps.map(KeySteps)
}

/// The interval between two snapshots of the session, as on a screen.
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
                // Marks the effects of the previous keys as seen.
                console.mark_seen();
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
        OutputFile::new(path, args.force)?.write(&text)?;
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

/// Starts an engine and a console on it, like `divisi`.
fn serving(args: &PictureArgs) -> Result<Console> {
    let look = TerminalLook {
        colours: Colours::True,
        ascii: args.ascii,
    };
    let mut settings = config::load()?.seen_with(look);
    if let Some(theme) = &args.theme {
        settings.choose(theme)?;
    }
    let options = ServeOptions {
        matrix: args.matrix.clone(),
        load: args.load.clone(),
        ..ServeOptions::default()
    };
    let named = NamedModels::from_target(&args.target);
    let Server { session, .. } = start::server(&named, options)?;
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
