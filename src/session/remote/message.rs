//! What is said over a connection, after the hellos.

use serde::{Deserialize, Serialize};

use crate::session::wire::{Delta, SpanBatch, WireError, decode, decode_first};
use crate::session::{Audience, Command, EditPreview, Refusal, Setup, Snapshot};

use super::refusal::RemoteRefusal;

/// Who joins: the first thing a console says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Join {
    /// `user@terminal`.
    pub name: String,
    /// It changes nothing.
    pub read_only: bool,
}

/// A request of a console, with a number that its answer repeats.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The number that the answer repeats.
    pub number: u64,
    /// The request itself.
    pub ask: Ask,
}

/// A request as it was heard.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    /// The number that the answer repeats.
    pub number: u64,
    /// The request, or why it could not be decoded.
    pub ask: Result<Ask, Refusal>,
}

impl Heard {
    /// Decodes a request. Where only its number can be read, `ask` is a refusal.
    ///
    /// # Errors
    /// Not even the number can be decoded.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, WireError> {
        let (number, rest) = decode_first(bytes)?;
        let ask = decode(rest).map_err(unheard);
        Ok(Heard { number, ask })
    }
}

/// Returns the refusal of a request that could not be decoded.
fn unheard(error: WireError) -> Refusal {
    let why = match error {
        WireError::Damaged(why) => why,
        other => other.to_string(),
    };
    RemoteRefusal::NotUnderstood(why).into()
}

/// A request to the server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// Pass a command to the session.
    Command(Command),
    /// Preview the changes that applying a setup would make.
    Preview(Box<Setup>),
    /// End the server, in order.
    Stop,
}

/// A message of a server to a console.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// All that is shown; what follows counts from it.
    Whole(Box<Snapshot>),
    /// The change of the state since the last one sent.
    Change(Delta),
    /// Spans since those sent before.
    Spans(SpanBatch),
    /// The part of the state that differs from viewer to viewer: the audience, and the number
    /// of spans dropped on the way to this one.
    You(Audience, u64),
    /// The answer to the request of that number.
    Answer(u64, Result<Reply, Refusal>),
    /// This console may not join; says why.
    Sorry(String),
}

/// An answer that is not a refusal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The command was taken.
    Done,
    /// The preview that was asked for.
    Preview(Box<EditPreview>),
}
