//! What is said over a connection, after the hellos.

use serde::{Deserialize, Serialize};

use crate::session::wire::{Delta, SpanBatch, WireError, decode, decode_first};
use crate::session::{Audience, Command, EditPreview, Refusal, Setup, Snapshot};

use super::refusal::RemoteRefusal;

/// Who joins: the first thing a console says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Join {
    /// `user@terminal`.
    pub name: String,
    /// It changes nothing.
    pub read_only: bool,
}

/// What a console asks for, by a number that its answer has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub number: u64,
    pub ask: Ask,
}

/// A request as it was heard.
#[derive(Clone, Debug)]
pub struct Heard {
    pub number: u64,
    /// Or why it means nothing.
    pub ask: Result<Ask, Refusal>,
}

impl Heard {
    /// What `bytes` ask for.
    ///
    /// # Errors
    /// There is no number that could be answered.
    pub fn of(bytes: &[u8]) -> Result<Self, WireError> {
        let (number, rest) = decode_first(bytes)?;
        let ask = decode(rest).map_err(unheard);
        Ok(Heard { number, ask })
    }
}

/// What is said of a request whose values cannot be.
fn unheard(error: WireError) -> Refusal {
    let why = match error {
        WireError::Damaged(why) => why,
        other => other.to_string(),
    };
    RemoteRefusal::NotUnderstood(why).into()
}

/// What can be asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    Command(Command),
    Preview(Box<Setup>),
    /// End the server, in order.
    Stop,
}

/// What a server says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// All that is shown; what follows counts from it.
    Whole(Box<Snapshot>),
    Change(Delta),
    Spans(SpanBatch),
    /// What differs from viewer to viewer: who it is among, and spans lost on its way.
    You(Audience, u64),
    Answer(u64, Result<Reply, Refusal>),
    /// This console may not join; says why.
    Sorry(String),
}

/// An answer that is not a refusal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    Done,
    Preview(Box<EditPreview>),
}
