//! Batches as graphs of the driver, if that is faster: one call instead of hundreds.
//!
//! The first batch of a number of rows is queued step by step, and its time on the host is compared
//! with its time on the GPU. If the host was too slow, the second batch is captured, and later
//! batches launch the graph. Every address in the graph stays the same, because samples are found
//! through the lane's table.

use std::time::{Duration, Instant};

use candle_core::cuda_backend::cudarc::driver::sys::{
    CUevent_flags, CUgraphInstantiate_flags, CUstreamCaptureMode,
};
use candle_core::cuda_backend::cudarc::driver::{CudaEvent, CudaGraph};

use crate::compute::ComputeError;
use crate::device::cuda::gpu_error;

use super::work::{Queue, QueuedWork};

/// The state of a batch: how it is queued next.
pub(super) enum Replay {
    /// It was not queued yet.
    Unknown,
    Tried(QueueTrial),
    /// Step by step, since a graph is not faster or cannot be captured.
    Steps,
    Graph(Captured),
}

/// A captured graph. Only its lane uses it, on one thread at a time.
pub(super) struct Captured(CudaGraph);

// SAFETY: the driver forbids concurrent calls on one graph; only one thread at a time uses the lane
// that owns it.
unsafe impl Send for Captured {}

impl Replay {
    /// Queues the batch.
    pub(super) fn run(&mut self, queue: &Queue, works: &[QueuedWork]) -> Result<(), ComputeError> {
        match std::mem::replace(self, Replay::Steps) {
            Replay::Unknown => {
                *self = Replay::Tried(QueueTrial::run(queue, works)?);
                Ok(())
            }
            Replay::Tried(trial) => {
                if trial.waits_for_the_host()?
                    && let Some(graph) = capture(queue, works)
                {
                    graph.0.launch().map_err(gpu_error)?;
                    *self = Replay::Graph(graph);
                    return Ok(());
                }
                queue.all(works)
            }
            Replay::Steps => queue.all(works),
            Replay::Graph(graph) => {
                graph.0.launch().map_err(gpu_error)?;
                *self = Replay::Graph(graph);
                Ok(())
            }
        }
    }
}

/// Captures the work as a graph, or returns `None` if some of it cannot be captured.
fn capture(queue: &Queue, works: &[QueuedWork]) -> Option<Captured> {
    // Other threads may call the driver meanwhile without spoiling the capture.
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    queue.stream.begin_capture(mode).ok()?;
    let queued = queue.all(works);
    let ended = queue.stream.end_capture(CUgraphInstantiate_flags(0));
    queued.ok()?;
    ended.ok().flatten().map(Captured)
}

/// The time that a batch took to queue, and to run.
pub(super) struct QueueTrial {
    start: CudaEvent,
    end: CudaEvent,
    queued: Duration,
}

impl QueueTrial {
    /// Queues `works` and notes how long that takes.
    pub(super) fn run(queue: &Queue, works: &[QueuedWork]) -> Result<Self, ComputeError> {
        let flags = Some(CUevent_flags::CU_EVENT_DEFAULT);
        let mark = || queue.stream.record_event(flags).map_err(gpu_error);
        let (start, began) = (mark()?, Instant::now());
        queue.all(works)?;
        let queued = began.elapsed();
        Ok(QueueTrial {
            start,
            end: mark()?,
            queued,
        })
    }

    /// Returns whether queuing took a large part of the time. Called after the batch is done.
    pub(super) fn waits_for_the_host(&self) -> Result<bool, ComputeError> {
        let ran = self.start.elapsed_ms(&self.end).map_err(gpu_error)?;
        Ok(self.queued.as_secs_f32() * 1e3 > SHARE * ran)
    }
}

/// The share of queuing in a batch's time above which a graph is faster.
const SHARE: f32 = 0.3;
