//! `divisi __pick`: the desktop's file dialog in its own process.
//!
//! The dialog uses the session bus. If the bus goes away, the library ends the process; if the bus
//! does not answer, the library waits for ever. Neither may happen to a console.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Result, anyhow, bail};
use log::{Level, LevelFilter, Log, Metadata, Record};
use rfd::FileDialog;

/// The arguments of the file dialog.
#[derive(Debug, clap::Args)]
pub(crate) struct PickArgs {
    /// Choose a file to write
    #[arg(long, conflicts_with = "open")]
    save: bool,
    /// Choose a file to read
    #[arg(long)]
    open: bool,
    /// Initial folder
    folder: PathBuf,
    /// Initial name
    name: OsString,
}

/// Prints the chosen path, or nothing if the dialog was cancelled.
pub(crate) fn run(args: &PickArgs) -> Result<()> {
    if args.save == args.open {
        bail!("expected --save or --open");
    }
    listen()?;
    let dialog = FileDialog::new()
        .set_directory(&args.folder)
        .add_filter("TOML", &["toml"])
        .add_filter("all files", &["*"]);
    let chosen = match args.save {
        true => dialog
            .set_title("Write the setup")
            .set_file_name(args.name.to_string_lossy())
            .save_file(),
        false => dialog.set_title("Open a setup").pick_file(),
    };
    match (chosen, TROUBLE.lock().ok().and_then(|t| t.clone())) {
        (Some(path), _) => Ok(io::stdout().write_all(path.as_os_str().as_bytes())?),
        (None, Some(trouble)) => Err(anyhow!(trouble)),
        (None, None) => Ok(()),
    }
}

/// The last error logged by the library, which returns only `None`.
static TROUBLE: Mutex<Option<String>> = Mutex::new(None);
static LISTENER: ErrorListener = ErrorListener;

struct ErrorListener;

impl Log for ErrorListener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Error
    }

    fn log(&self, record: &Record<'_>) {
        if let (true, Ok(mut trouble)) = (self.enabled(record.metadata()), TROUBLE.lock()) {
            *trouble = Some(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

fn listen() -> Result<()> {
    log::set_logger(&LISTENER).map_err(|e| anyhow!("cannot listen for errors: {e}"))?;
    log::set_max_level(LevelFilter::Error);
    Ok(())
}
