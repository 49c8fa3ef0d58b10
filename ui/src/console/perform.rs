//! Effects that concern the session or files, done.

use divisi::session::{Session, arrange};

use crate::config;
use crate::files::{self, FileError};
use crate::model::{ConsoleEvent, Effect};

/// Does what concerns the session and returns its answer.
///
/// # Errors
/// The effect, where it is about something else.
pub(super) fn for_session(
    effect: Effect,
    session: &mut dyn Session,
) -> Result<ConsoleEvent, Effect> {
    match effect {
        Effect::Send(command) => Ok(match session.command(command.clone()) {
            Ok(()) => ConsoleEvent::Accepted(command),
            Err(refusal) => ConsoleEvent::Refused(refusal.to_string()),
        }),
        Effect::Preview(setup) => {
            let preview = session.preview(&setup);
            Ok(ConsoleEvent::Previewed(setup, preview))
        }
        Effect::Arrange(setup, arrangement) => {
            let arranged = arrange(session, &setup, arrangement);
            Ok(ConsoleEvent::Arranged(setup, arranged))
        }
        other => Err(other),
    }
}

/// Does what concerns files and returns the answer.
///
/// # Errors
/// The effect, where it is about something else.
pub fn for_files(effect: Effect) -> Result<ConsoleEvent, Effect> {
    match effect {
        Effect::SaveLayout(layout) => {
            let wrote = config::save_layout(&layout);
            Ok(ConsoleEvent::Wrote(
                wrote.map_err(|e| FileError::Other(e.to_string())),
            ))
        }
        Effect::Look(path) => Ok(ConsoleEvent::Looked(files::look(&path))),
        Effect::Read(path) => {
            let text = files::read(&path);
            Ok(ConsoleEvent::Read(path, text))
        }
        Effect::Write {
            path,
            bytes,
            replace,
        } => Ok(ConsoleEvent::Wrote(files::write(&path, &bytes, replace))),
        other => Err(other),
    }
}
