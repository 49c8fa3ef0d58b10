//! Raw mode of the terminal, set again regardless of a shell's changes in between.

use std::io;
use std::sync::Mutex;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal's previous modes, while raw mode is set.
static FOUND: Mutex<Option<Termios>> = Mutex::new(None);

/// Sets raw mode. The current modes are kept for the restoration, unless raw mode is already set.
///
/// # Errors
/// The terminal's modes cannot be read or set.
pub(super) fn take() -> io::Result<()> {
    let stdin = io::stdin();
    let now = tcgetattr(&stdin)?;
    let mut raw = now.clone();
    raw.make_raw();
    if let Ok(mut found) = FOUND.lock()
        && (found.is_none() || !are_same(&now, &raw))
    {
        *found = Some(now);
    }
    tcsetattr(&stdin, OptionalActions::Now, &raw)?;
    Ok(())
}

/// Restores the previous modes, once.
pub(super) fn give_back() {
    let found = FOUND.lock().ok().and_then(|mut found| found.take());
    if let Some(found) = found {
        // An error cannot be reported.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &found);
    }
}

fn are_same(one: &Termios, other: &Termios) -> bool {
    one.input_modes == other.input_modes
        && one.output_modes == other.output_modes
        && one.local_modes == other.local_modes
}
