//! Compressed gRPC messages. Answers are compressed only if the client compresses its requests:
//! most clients announce by default that they accept compressed answers.

use bytes::{Buf, Bytes};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tonic::Status;

use crate::packing::{Encoding, PIECE, Packer, WORTH};

use super::body::prefix;
use super::gather::PREFIX;

/// The header with the compression of a call's messages.
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
/// The header with the accepted encodings.
const ACCEPTED: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// The supported encodings of requests.
const KNOWN: &str = "identity,deflate,gzip";

/// The first byte of a compressed message.
pub(super) const PACKED: u8 = 1;

/// The compression of a call's messages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallEncoding {
    /// The encoding of request messages that are marked as compressed.
    pub request: Option<Encoding>,
    /// The encoding of answer messages, stored as an extension of the answer.
    pub answer: Option<Encoding>,
}

impl CallEncoding {
    /// Takes the encoding off the headers of a request, since later readers get unpacked messages.
    ///
    /// # Errors
    /// Returns an error if the encoding is not supported.
    pub(super) fn take(headers: &mut HeaderMap) -> Result<Self, Status> {
        let Some(header) = headers.remove(ENCODING) else {
            return Ok(CallEncoding::default());
        };
        let name = header.to_str().unwrap_or_default();
        let request = Encoding::named(name);
        if request.is_none() && name != "identity" {
            return Err(unknown(name));
        }
        let accepted = headers.get_all(ACCEPTED).iter();
        let accepted = accepted.filter_map(|header| header.to_str().ok());
        let mut accepted = accepted.flat_map(|text| text.split(',')).map(str::trim);
        let answer = request.filter(|encoding| accepted.any(|name| name == encoding.name()));
        Ok(CallEncoding { request, answer })
    }

    /// Adds the encoding to the headers of an answer.
    pub(super) fn say(encoding: Encoding, headers: &mut HeaderMap) {
        headers.insert(ENCODING, HeaderValue::from_static(encoding.name()));
    }
}

fn unknown(name: &str) -> Status {
    let message = format!("header `grpc-encoding`: expected one of {KNOWN}, found `{name}`");
    let mut status = Status::unimplemented(divisi_inference::error::shortened(message));
    let known = tonic::metadata::MetadataValue::from_static(KNOWN);
    status.metadata_mut().insert("grpc-accept-encoding", known);
    status
}

/// Compresses the messages of an answer one after another.
pub(super) struct AnswerPacker {
    encoding: Encoding,
    /// Messages that are not started.
    left: Bytes,
    message: Option<PartlyPacked>,
}

/// A message that is being compressed.
struct PartlyPacked {
    packer: Packer,
    /// The message with its prefix, which is sent unchanged if compression saves nothing.
    whole: Bytes,
    at: usize,
}

/// The state of an [`AnswerPacker`] after a step.
pub(super) enum PackedAnswer {
    /// There is more to do.
    Working,
    /// A message is ready to be sent.
    Ready(Bytes),
    /// All messages were returned.
    Empty,
}

impl AnswerPacker {
    /// Creates a packer without messages.
    pub(super) fn new(encoding: Encoding) -> Self {
        AnswerPacker {
            encoding,
            left: Bytes::new(),
            message: None,
        }
    }

    /// Returns whether all messages were returned.
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty() && self.message.is_none()
    }

    /// Adds complete messages with their prefixes. All earlier ones must have been returned.
    pub(super) fn put(&mut self, messages: Bytes) {
        self.left = messages;
    }

    /// Compresses one more piece.
    pub(super) fn step(&mut self) -> PackedAnswer {
        let Some(message) = &mut self.message else {
            return self.begin();
        };
        let until = message.whole.len().min(message.at + PIECE);
        let packed = message.packer.pack(&message.whole[message.at..until]);
        message.at = until;
        match packed.is_some() && until < message.whole.len() {
            true => PackedAnswer::Working,
            false => self.end(packed.is_some()),
        }
    }

    fn begin(&mut self) -> PackedAnswer {
        let Some(length) = self.left.get(1..PREFIX).map(|mut bytes| bytes.get_u32()) else {
            // Bytes that are not a message are sent unchanged.
            return match self.left.is_empty() {
                true => PackedAnswer::Empty,
                false => PackedAnswer::Ready(std::mem::take(&mut self.left)),
            };
        };
        let end = self.left.len().min(PREFIX + length as usize);
        let whole = self.left.split_to(end);
        if whole.len() < WORTH {
            return PackedAnswer::Ready(whole);
        }
        self.message = Some(PartlyPacked {
            packer: Packer::new(self.encoding),
            whole,
            at: PREFIX,
        });
        PackedAnswer::Working
    }

    fn end(&mut self, is_packed: bool) -> PackedAnswer {
        let Some(PartlyPacked { packer, whole, .. }) = self.message.take() else {
            return PackedAnswer::Empty;
        };
        let packed = packer.finish().filter(|_| is_packed);
        let packed = packed.filter(|packed| packed.len() + PREFIX < whole.len());
        PackedAnswer::Ready(match packed {
            Some(packed) => [&*prefix(PACKED, packed.len()), &packed].concat().into(),
            None => whole,
        })
    }
}
