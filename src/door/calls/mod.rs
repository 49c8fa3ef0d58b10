//! Records of calls for the access log and for OpenTelemetry traces.

pub mod access;
mod finished;
mod record;
mod recorder;
mod trace_context;
pub mod traces;

pub(crate) use finished::{FinishedCall, GRPC, HTTP};
pub(crate) use record::CallRecord;
pub(crate) use recorder::CallRecorder;
pub use trace_context::{SpanContext, TraceParent, is_within};
