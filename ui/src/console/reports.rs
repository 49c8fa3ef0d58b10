//! What is kept of a panic: a file that says what happened, where and in which build.

use std::backtrace::Backtrace;
use std::fs;
use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::path::PathBuf;
use std::thread;

use directories::ProjectDirs;

/// Describes a panic for a report.
pub(super) fn describe(info: &PanicHookInfo<'_>) -> String {
    let name = thread::current().name().unwrap_or("unnamed").to_owned();
    format!("thread `{name}`: {info}")
}

/// Writes a report with the way that led here, and says where it is. Errors have
/// nowhere to go.
pub(super) fn leave(what: &str) {
    let version = env!("CARGO_PKG_VERSION");
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let arguments: Vec<String> = std::env::args().collect();
    let text = format!(
        "divisi {version} on {system} {machine}\n{}\n\n{what}\n\n{}\n",
        arguments.join(" "),
        Backtrace::force_capture()
    );
    if let Some(path) = write(&text) {
        let said = format!("divisi: a report is in {}\n", path.display());
        let _ = io::stderr().write_all(said.as_bytes());
    }
}

/// Into the folder of the user's state, else the one for temporary files.
fn write(text: &str) -> Option<PathBuf> {
    let name = format!("panic-{}.txt", std::process::id());
    let state = ProjectDirs::from("", "", "divisi");
    let state = state.and_then(|dirs| dirs.state_dir().map(|d| d.join(&name)));
    let temporary = std::env::temp_dir().join(format!("divisi-{name}"));
    let places = state.into_iter().chain([temporary]);
    places.into_iter().find(|path| {
        path.parent().is_some_and(|p| fs::create_dir_all(p).is_ok())
            && fs::write(path, text).is_ok()
    })
}
