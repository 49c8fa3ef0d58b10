//! Raw mode of the terminal, taken again whatever a shell has set in between.

use std::io;
use std::sync::Mutex;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// The modes that the terminal had before, while they are set aside.
static FOUND: Mutex<Option<Termios>> = Mutex::new(None);

/// Takes raw mode. The modes that are there become those to be restored, unless raw mode is there.
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

/// Gives back the modes that were there before, once.
pub(super) fn give_back() {
    let found = FOUND.lock().ok().and_then(|mut found| found.take());
    if let Some(found) = found {
        // An error has nowhere to go.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &found);
    }
}

fn are_same(one: &Termios, other: &Termios) -> bool {
    one.input_modes == other.input_modes
        && one.output_modes == other.output_modes
        && one.local_modes == other.local_modes
}
