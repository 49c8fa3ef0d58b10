//! Connections: taken up to a bound, with time limits for clients that send or read slowly.

mod accept;
mod io;
mod secured;
mod unread;

pub(crate) use accept::{AcceptedConnection, CONNECTION, Ending, accept, too_many_connections};
pub(crate) use io::{Phase, TimeLimit, TimedIo, Unread, is_unread};
pub(crate) use secured::secured;
pub(crate) use unread::{StreamExecutor, UnreadAnswer};
