//! Messages of gRPC that are compressed. A client that compresses what it asks is answered likewise; one
//! that merely could unpack answers is not, since most clients say so of themselves unasked.

use bytes::{Buf, Bytes};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tonic::Status;

use crate::packing::{Encoding, PIECE, Packer, WORTH};

use super::body::prefix;
use super::gather::PREFIX;

/// The header that says how the messages of a call are compressed.
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
/// The header that says which encodings one can unpack.
const ACCEPTED: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// The encodings of requests.
const KNOWN: &str = "identity,deflate,gzip";

/// The first byte of a message that is compressed.
pub(super) const PACKED: u8 = 1;

/// How the messages of a call are compressed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallEncoding {
    /// Those of the request that say so of themselves.
    pub request: Option<Encoding>,
    /// Those of the answer; an extension of that.
    pub answer: Option<Encoding>,
}

impl CallEncoding {
    /// Takes the encoding off the headers of a request: the messages that others read of it are not
    /// compressed any more.
    ///
    /// # Errors
    /// The request is compressed in another way.
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

    /// Says in the headers of an answer that its messages may be compressed.
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

/// Packs the messages of an answer, one after another.
pub(super) struct AnswerPacker {
    encoding: Encoding,
    /// Messages that were not begun.
    left: Bytes,
    message: Option<PartlyPacked>,
}

/// A message that is being packed.
struct PartlyPacked {
    packer: Packer,
    /// The message with its prefix, as it is sent if packing saves nothing.
    whole: Bytes,
    at: usize,
}

/// The state of an [`AnswerPacker`] after a step.
pub(super) enum PackedAnswer {
    /// There is more to be done.
    Working,
    /// A message is ready to be sent.
    Ready(Bytes),
    /// All messages were returned.
    Empty,
}

impl AnswerPacker {
    /// Creates one without messages.
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

    /// Takes whole messages with their prefixes. Those before must have been returned.
    pub(super) fn put(&mut self, messages: Bytes) {
        self.left = messages;
    }

    /// Packs one piece more.
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
            // What is no message is sent as it is.
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
