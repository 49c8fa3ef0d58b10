//! Records of calls, and who reads them: the access log, and traces for OpenTelemetry.

pub mod access;
mod record;
mod recorder;
mod trace_context;
pub mod traces;

pub(crate) use record::{CallRecord, FinishedCall, GRPC, HTTP};
pub(crate) use recorder::CallRecorder;
pub use trace_context::{SpanContext, TraceParent, is_within};
