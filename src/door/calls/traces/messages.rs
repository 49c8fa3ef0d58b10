//! The used messages of OTLP: field numbers and types are those of OpenTelemetry's protocol 1.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message;

use crate::calls::FinishedCall;
use crate::calls::trace_context::{SpanContext, random};

/// A request to a collector.
#[derive(Clone, PartialEq, Message)]
pub struct ExportRequest {
    /// The spans by program.
    #[prost(message, repeated, tag = "1")]
    pub resources: Vec<ResourceSpans>,
}

/// The spans of a program.
#[derive(Clone, PartialEq, Message)]
pub struct ResourceSpans {
    /// The program.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// The spans by library.
    #[prost(message, repeated, tag = "2")]
    pub scopes: Vec<ScopeSpans>,
}

/// A program.
#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    /// Its attributes.
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<Attribute>,
}

/// The spans of a library.
#[derive(Clone, PartialEq, Message)]
pub struct ScopeSpans {
    /// The library.
    #[prost(message, optional, tag = "1")]
    pub scope: Option<TraceScope>,
    /// Its spans.
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<TraceSpan>,
}

/// A library.
#[derive(Clone, PartialEq, Message)]
pub struct TraceScope {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its version.
    #[prost(string, tag = "2")]
    pub version: String,
}

/// A span of a trace.
#[derive(Clone, PartialEq, Message)]
pub struct TraceSpan {
    /// The trace, 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    /// The span, 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
    /// The parent span; empty for the root of a trace.
    #[prost(bytes = "vec", tag = "4")]
    pub parent_span_id: Vec<u8>,
    /// Its name.
    #[prost(string, tag = "5")]
    pub name: String,
    /// 1 for an internal span, 2 for the server's side of a call.
    #[prost(int32, tag = "6")]
    pub kind: i32,
    /// The start in nanoseconds of Unix time.
    #[prost(fixed64, tag = "7")]
    pub start_ns: u64,
    /// The end in nanoseconds of Unix time.
    #[prost(fixed64, tag = "8")]
    pub end_ns: u64,
    /// Its attributes.
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<Attribute>,
    /// Links to spans of other traces.
    #[prost(message, repeated, tag = "13")]
    pub links: Vec<SpanLink>,
    /// The outcome.
    #[prost(message, optional, tag = "15")]
    pub status: Option<SpanStatus>,
    /// The flags of its trace.
    #[prost(fixed32, tag = "16")]
    pub flags: u32,
}

/// A link to another span.
#[derive(Clone, PartialEq, Message)]
pub struct SpanLink {
    /// Its trace, 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    /// The span, 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
    /// The flags of its trace.
    #[prost(fixed32, tag = "6")]
    pub flags: u32,
}

/// The outcome of a span.
#[derive(Clone, PartialEq, Message)]
pub struct SpanStatus {
    /// The error message.
    #[prost(string, tag = "2")]
    pub message: String,
    /// 1 for success, 2 for an error.
    #[prost(int32, tag = "3")]
    pub code: i32,
}

/// An attribute.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    /// Its name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AttributeValue>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeValue {
    /// The value with its type.
    #[prost(oneof = "AttributeKind", tags = "1, 2, 3")]
    pub kind: Option<AttributeKind>,
}

/// The types of values.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum AttributeKind {
    /// A text.
    #[prost(string, tag = "1")]
    Text(String),
    /// True or false.
    #[prost(bool, tag = "2")]
    Flag(bool),
    /// A whole number.
    #[prost(int64, tag = "3")]
    Number(i64),
}

/// The kinds of spans.
pub(super) const INTERNAL: i32 = 1;
const SERVER: i32 = 2;

/// Wraps spans in a request to a collector.
pub(super) fn export(spans: Vec<TraceSpan>) -> ExportRequest {
    let text = |key: &str, value: &str| attribute(key, AttributeKind::Text(value.into()));
    let version = env!("CARGO_PKG_VERSION");
    let scope = TraceScope {
        name: "divisi".into(),
        version: version.into(),
    };
    ExportRequest {
        resources: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: vec![
                    text("service.name", "divisi"),
                    text("service.version", version),
                ],
            }),
            scopes: vec![ScopeSpans {
                scope: Some(scope),
                spans,
            }],
        }],
    }
}

/// Returns the spans of a call: the whole call, and the parts of its model time if its steps are
/// not recorded.
pub(super) fn spans(call: &FinishedCall, context: SpanContext) -> Vec<TraceSpan> {
    let begin = nanos(call.began);
    let whole = TraceSpan {
        parent_span_id: context
            .parent
            .map_or_else(Vec::new, |p| p.to_be_bytes().into()),
        attributes: attributes(call),
        status: (!call.is_answered()).then(|| SpanStatus {
            message: call.reason.clone(),
            code: 2,
        }),
        ..span(context, context.span, &call.call, SERVER, begin, call.took)
    };
    let mut all = vec![whole];
    if !call.runs.is_empty() {
        return all;
    }
    let mut at = begin + length(call.asked);
    let times = call.times;
    let parts = [
        ("queue", times.queue),
        ("compute input", times.input),
        ("compute infer", times.compute),
        ("compute output", times.output),
    ];
    for (name, time) in parts.into_iter().filter(|(_, time)| !time.is_zero()) {
        all.push(TraceSpan {
            parent_span_id: context.span.to_be_bytes().into(),
            ..span(context, random(), name, INTERNAL, at, time)
        });
        at += length(time);
    }
    all
}

pub(super) fn span(
    context: SpanContext,
    span: u64,
    name: &str,
    kind: i32,
    start_ns: u64,
    time: Duration,
) -> TraceSpan {
    TraceSpan {
        trace_id: context.trace.to_be_bytes().into(),
        span_id: span.to_be_bytes().into(),
        name: name.to_owned(),
        kind,
        start_ns,
        end_ns: start_ns + length(time),
        flags: u32::from(context.sampled),
        ..TraceSpan::default()
    }
}

pub(super) fn nanos(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, length)
}

pub(super) fn length(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX >> 1)
}

pub(super) fn attribute(key: &str, kind: AttributeKind) -> Attribute {
    Attribute {
        key: key.to_owned(),
        value: Some(AttributeValue { kind: Some(kind) }),
    }
}

fn attributes(call: &FinishedCall) -> Vec<Attribute> {
    let text = |value: &str| AttributeKind::Text(value.to_owned());
    let status = match call.protocol {
        "grpc" => "rpc.grpc.status_code",
        _ => "http.response.status_code",
    };
    let mut all = vec![
        attribute("client.address", text(&call.peer.ip().to_string())),
        attribute("network.protocol.name", text(call.protocol)),
        attribute(status, AttributeKind::Number(call.status.into())),
    ];
    if let Some(key) = &call.key {
        all.push(attribute("divisi.key", text(key)));
    }
    if !call.model.is_empty() {
        let samples = i64::try_from(call.samples).unwrap_or(i64::MAX);
        all.extend([
            attribute("divisi.model", text(&call.model)),
            attribute("divisi.version", text(&call.version)),
            attribute("divisi.request", text(&call.id)),
            attribute("divisi.rows", AttributeKind::Number(samples)),
            attribute("divisi.cached", AttributeKind::Flag(call.cached)),
        ]);
    }
    all
}
