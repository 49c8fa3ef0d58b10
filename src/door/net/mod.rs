//! Connections: a bounded number, with time limits for clients that send or read slowly or are
//! idle.

mod accept;
mod ending;
mod io;
mod pace;
mod presence;
mod secured;
mod table;
mod unread;
mod waited;

pub(crate) use accept::{AcceptedConnection, CONNECTION, accept, too_many_connections};
pub(crate) use ending::Ending;
pub(crate) use io::{ExpectedBytes, Phase, TimedIo, Unread, is_unread};
pub use pace::BodyPace;
pub(crate) use pace::PaceLimit;
pub(crate) use presence::{OpenConnections, Presence, RequestUnderWay};
pub(crate) use secured::secured;
pub use table::{ConnectionNumber, ConnectionTable, EnteredConnection};
pub(crate) use unread::{StreamExecutor, UnreadAnswer};
pub(crate) use waited::WaitedBody;
