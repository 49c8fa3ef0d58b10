//! The messages of a connection, after the hellos: each a length and then so many
//! bytes.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::wire::{Delta, SpanBatch, WireError, decode, decode_first, encode};
use crate::{Audience, Command, EditPreview, Refusal, Setup, Snapshot};

use super::RemoteRefusal;

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

/// A request as it was received.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRequest {
    /// The number that the answer repeats.
    pub number: u64,
    /// The request, or why it could not be decoded.
    pub ask: Result<Ask, Refusal>,
}

impl ReceivedRequest {
    /// Decodes a request. Where only its number can be read, `ask` is a refusal.
    ///
    /// # Errors
    /// Not even the number can be decoded.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let (number, rest) = decode_first(bytes)?;
        let ask = decode(rest).map_err(not_understood);
        Ok(ReceivedRequest { number, ask })
    }
}

/// Returns the refusal of a request that could not be decoded.
fn not_understood(error: WireError) -> Refusal {
    let why = match error {
        WireError::Damaged(why) => why,
        other => other.to_string(),
    };
    RemoteRefusal::NotUnderstood(why).into()
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
    Refused(String),
}

/// An answer that is not a refusal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The command was taken.
    Done,
    /// The preview that was asked for.
    Preview(Box<EditPreview>),
}

/// Bytes of a message to the server, at most.
pub(super) const REQUEST: usize = 4 << 20;
/// Bytes of a message to a console, at most.
pub(super) const NEWS: usize = 64 << 20;

/// A message with its length before it.
///
/// # Errors
/// It cannot be written down.
pub(super) fn frame(message: &impl Serialize) -> Result<Vec<u8>, WireError> {
    let body = encode(message)?;
    let length = u32::try_from(body.len());
    let length = length.map_err(|_| WireError::Unwritable("too long".into()))?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Writes a message.
///
/// # Errors
/// The stream fails.
pub(super) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = frame(message).map_err(io::Error::other)?;
    to.write_all(&bytes)
}

/// Reads a message of at most `most` bytes.
///
/// # Errors
/// The stream ends or fails, or says something else.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl Read, most: usize) -> io::Result<T> {
    decode(&receive_bytes(from, most)?).map_err(io::Error::other)
}

/// Reads the bytes of a message, at most `most`.
///
/// # Errors
/// The stream ends or fails, or announces more.
pub(super) fn receive_bytes(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let found = u32::from_le_bytes(length) as usize;
    if found > most {
        return Err(io::Error::other(WireError::TooLong { found, most }));
    }
    let mut bytes = Vec::new();
    // Grows with what comes, not with what was announced.
    let read = from.by_ref().take(found as u64).read_to_end(&mut bytes)?;
    if read < found {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
