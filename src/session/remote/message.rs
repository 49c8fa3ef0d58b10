//! The messages of a connection after the greetings: each has a length and that number of bytes.
//! Messages to consoles are compressed.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::wire::{SpanBatch, WireError, decode, decode_first, encode, pack, unpack};
use crate::{
    Audience, Command, EditPreview, FigureRecord, Refusal, Setup, Snapshot, WhatIf, WhatIfReply,
};

use super::RemoteRefusal;

/// A console's introduction, its first message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Join {
    /// `user@terminal`.
    pub name: String,
    /// Whether it cannot make changes.
    pub read_only: bool,
}

/// A console's request, with a number that its answer repeats.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The number that the answer repeats.
    pub number: u64,
    /// The request itself.
    pub ask: Ask,
}

/// The kinds of requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// Pass a command to the session.
    Command(Command),
    /// Preview the changes that applying a setup would make.
    Preview(Box<Setup>),
    /// Shut the server down.
    Stop,
    /// Return the figures of the whole session.
    History,
    /// Predict the effects of a case.
    WhatIf(WhatIf),
}

/// A received request.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRequest {
    /// The number that the answer repeats.
    pub number: u64,
    /// The request, or the reason why it could not be decoded.
    pub ask: Result<Ask, Refusal>,
}

impl ReceivedRequest {
    /// Decodes a request. If only its number can be read, `ask` is a refusal.
    ///
    /// # Errors
    /// Returns an error if not even the number can be decoded.
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

/// A server's message to a console. A state is encoded from a reference.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Message<S = Box<Snapshot>> {
    /// The complete state.
    State(S),
    /// The spans since the last ones sent.
    Spans(SpanBatch),
    /// The part of the state that differs between viewers: the audience, and the number of spans
    /// dropped on the way to this viewer.
    You(Audience, u64),
    /// The answer to the request with this number.
    Answer(u64, Result<Reply, Refusal>),
    /// The server refuses this console, with the reason.
    Refused(String),
}

/// An answer that is not a refusal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The command was accepted.
    Done,
    /// The requested preview.
    Preview(Box<EditPreview>),
    /// The requested figures, oldest first.
    History(Vec<FigureRecord>),
    /// The answer to a what-if question, or that it is being computed.
    WhatIf(WhatIfReply),
}

/// The maximum bytes of a message to the server.
pub(super) const REQUEST: usize = 4 << 20;
/// The maximum bytes of a message to a console.
pub(super) const NEWS: usize = 64 << 20;

impl Message<&Snapshot> {
    /// Returns the message, compressed, with its length before it.
    ///
    /// # Errors
    /// Returns an error if the message cannot be encoded.
    pub(super) fn frame(&self) -> Result<Vec<u8>, WireError> {
        frame(&pack(self)?)
    }
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// Returns an error if the stream ends or fails, or if the message is invalid.
    pub(super) fn receive(from: &mut impl Read) -> io::Result<Self> {
        unpack(&receive_bytes(from, NEWS)?, NEWS).map_err(io::Error::other)
    }
}

/// Returns the bytes with their length before them.
fn frame(body: &[u8]) -> Result<Vec<u8>, WireError> {
    let length = u32::try_from(body.len());
    let length = length.map_err(|_| WireError::Unwritable("too long".into()))?;
    Ok([&length.to_le_bytes(), body].concat())
}

/// Writes a message to a server.
///
/// # Errors
/// Returns an error if the stream fails.
pub(super) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = encode(message).and_then(|body| frame(&body));
    to.write_all(&bytes.map_err(io::Error::other)?)
}

/// Reads a message to a server.
///
/// # Errors
/// Returns an error if the stream ends or fails, or if the message is invalid.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    decode(&receive_bytes(from, REQUEST)?).map_err(io::Error::other)
}

/// Reads the bytes of a message, at most `most`.
///
/// # Errors
/// Returns an error if the stream ends or fails, or announces a longer message.
pub(super) fn receive_bytes(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let found = u32::from_le_bytes(length) as usize;
    if found > most {
        return Err(io::Error::other(WireError::TooLong { found, most }));
    }
    let mut bytes = Vec::new();
    // The buffer grows with the received bytes, not with the announced length.
    let read = from.by_ref().take(found as u64).read_to_end(&mut bytes)?;
    if read < found {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
