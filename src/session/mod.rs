//! What a console may see and ask. The console never touches the engine: it reads
//! a [`Session`] and sends it [`Command`]s.

mod command;
mod live;
mod snapshot;

pub use crate::load::LoadPattern;
pub use crate::search::{Algorithm as SearchKind, Method as SearchOrder};
pub use command::{Command, EditPreview, Refusal};
pub use live::LiveSession;
pub use snapshot::{
    Accuracy, Counters, DeviceView, EntryView, Health, LatencyView, LoadView, LogEntry, LogLevel,
    MemberView, Proposal, ReloadState, ReloadView, SearchState, SearchView, Snapshot,
    ThroughputView,
};

use crate::allocation::Matrix;
use crate::trace::Span;

/// A source of what is shown: a live engine now; a recording or a socket later.
pub trait Session: Send {
    /// Everything but the spans, as of now.
    fn snapshot(&mut self) -> Snapshot;

    /// Moves the spans since the last call to `into`, oldest first; gives how many
    /// were lost since the start.
    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64;

    /// Asks for something; it happens in the background and shows in later snapshots.
    ///
    /// # Errors
    /// Why it cannot be done now.
    fn command(&mut self, command: Command) -> Result<(), Refusal>;

    /// What applying `matrix` would change: workers and memory.
    ///
    /// # Errors
    /// Why it cannot be applied.
    fn preview(&mut self, matrix: &Matrix) -> Result<EditPreview, Refusal>;
}
