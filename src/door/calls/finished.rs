//! The record of an ended call.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use divisi_engine::serving::StepRun;

use divisi_inference::service::{InferenceTimes, ModelDescription};

use super::trace_context::SpanContext;

/// An ended call.
#[derive(Clone, Debug)]
pub(crate) struct FinishedCall {
    /// `http` or `grpc`.
    pub protocol: &'static str,
    /// The method and path of HTTP, or the name of the gRPC call.
    pub call: String,
    /// The client's address.
    pub peer: SocketAddr,
    /// The name of its key.
    pub key: Option<Arc<str>>,
    /// The requested model; empty for other calls.
    pub model: String,
    /// The model's version.
    pub version: String,
    /// The client's id of the request.
    pub id: String,
    /// The number of answered samples.
    pub samples: u64,
    /// Whether the answer came from the cache.
    pub cached: bool,
    /// The status code of the protocol.
    pub status: u16,
    /// The error message; empty without an error.
    pub reason: String,
    /// The start time.
    pub began: SystemTime,
    /// The time until the answer.
    pub took: Duration,
    /// The time until the request to the model.
    pub asked: Duration,
    /// The times of the model.
    pub times: InferenceTimes,
    /// Its span context.
    pub trace: Option<SpanContext>,
    /// The steps that ran for it, if its trace is recorded.
    pub runs: Vec<CallRun>,
}

/// A run of a step, with names.
#[derive(Clone, Debug)]
pub(crate) struct CallRun {
    /// The step's name.
    pub step: String,
    /// The model of the step, if clients can also request it directly.
    pub model: Option<String>,
    /// The name of the device that ran the batch.
    pub device: Option<String>,
    /// The times of the run.
    pub run: StepRun,
}

impl CallRun {
    /// Adds names to the runs of a model's steps.
    fn all(model: &ModelDescription, runs: &[StepRun]) -> Vec<Self> {
        let named = runs.iter().map(|run| {
            let step = model.steps.get(run.step.get());
            let device = run.batch.and_then(|b| model.devices.get(b.device.get()));
            CallRun {
                step: step.map(|step| step.name.clone()).unwrap_or_default(),
                model: step.and_then(|step| Some(step.model.as_ref()?.name.clone())),
                device: device.cloned(),
                run: run.clone(),
            }
        });
        named.collect()
    }
}

impl FinishedCall {
    /// Records the steps that ran, if the trace is recorded.
    pub(crate) fn add_runs(&mut self, model: &ModelDescription, runs: &[StepRun]) {
        if self.trace.is_some_and(|trace| trace.sampled) {
            self.runs = CallRun::all(model, runs);
        }
    }

    /// Returns whether it was answered.
    pub(crate) fn is_answered(&self) -> bool {
        self.status == if self.protocol == HTTP { 200 } else { 0 }
    }
}

/// The name of HTTP.
pub(crate) const HTTP: &str = "http";

/// The name of gRPC.
pub(crate) const GRPC: &str = "grpc";
