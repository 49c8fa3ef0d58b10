//! A call that is over, as those who are told of it see it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use divisi_engine::serving::StepRun;

use divisi_inference::service::{InferenceTimes, ModelDescription};

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
    /// The steps that were run for it, where its trace is recorded.
    pub runs: Vec<CallRun>,
}

/// A run of a step, by names.
#[derive(Clone, Debug)]
pub(crate) struct CallRun {
    /// The step's name.
    pub step: String,
    /// The model that does the step, where clients can ask that by itself too.
    pub model: Option<String>,
    /// The name of the device that ran its batch.
    pub device: Option<String>,
    /// When it was, and how long it took.
    pub run: StepRun,
}

impl CallRun {
    /// Names the runs of a model's steps.
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
    /// Notes the steps that were run, if its trace is recorded.
    pub(crate) fn ran(&mut self, model: &ModelDescription, runs: &[StepRun]) {
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
