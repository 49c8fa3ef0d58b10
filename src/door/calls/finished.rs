//! A call that is over, as those who are told of it see it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::service::InferenceTimes;

use super::trace_context::SpanContext;

/// A call that is over.
#[derive(Clone, Debug)]
pub(crate) struct FinishedCall {
    /// `http` or `grpc`.
    pub protocol: &'static str,
    /// The method and path of HTTP, or the name of gRPC's call.
    pub call: String,
    /// The client's address.
    pub peer: SocketAddr,
    /// The name of its key.
    pub key: Option<Arc<str>>,
    /// The model that it asked; empty for calls that ask none.
    pub model: String,
    /// The model's version.
    pub version: String,
    /// The client's name for the request.
    pub id: String,
    /// The samples that were answered.
    pub samples: u64,
    /// Whether the answer was kept from before.
    pub cached: bool,
    /// The status of the protocol.
    pub status: u16,
    /// The words of an error; empty where there was none.
    pub reason: String,
    /// When it began.
    pub began: SystemTime,
    /// The time until its answer was there.
    pub took: Duration,
    /// The time until the model was asked.
    pub asked: Duration,
    /// The parts of the time of the model.
    pub times: InferenceTimes,
    /// Its part of a trace.
    pub trace: Option<SpanContext>,
}

impl FinishedCall {
    /// Returns whether it was answered.
    pub(crate) fn is_answered(&self) -> bool {
        self.status == if self.protocol == HTTP { 200 } else { 0 }
    }
}

/// The name of HTTP.
pub(crate) const HTTP: &str = "http";

/// The name of gRPC.
pub(crate) const GRPC: &str = "grpc";
