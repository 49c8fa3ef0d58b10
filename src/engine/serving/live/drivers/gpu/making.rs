//! The creation of workers on a GPU and of their lanes: all lanes at first, later as required by
//! the policy.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use crate::serving::policy::lane_sizes;
use crate::serving::scheduler::WorkerSpec;
use divisi_runtime::compute::gpu::Program;

use super::super::super::factory::BuildError;
use super::super::super::promise::caught;
use super::super::super::request::LiveBatch;
use super::super::driver::BatchError;
use super::super::thread::BoundedThread;
use super::buffers::LaneBuffers;
use super::lane::GpuLane;
use super::serving::{ServingGpu, loss_in_build};
use super::worker::{GpuWorker, LaneHandle, sizes_with};

impl ServingGpu {
    /// Builds a worker with the lanes of the current policy, and waits until they are ready.
    ///
    /// # Errors
    /// The GPU cannot hold one of the lanes. None is left then.
    pub(super) fn make_worker(&self, spec: WorkerSpec) -> Result<GpuWorker, BuildError> {
        let factory = &self.slot.networks.factory;
        let program = factory.program(spec.network(), &self.context.gpu)?;
        let worker = GpuWorker::new(spec, program);
        let sizes = lane_sizes(self.host.policy(), spec.size, true);
        if let Err(reason) = self.make_lanes(&worker, &sizes) {
            await_end(worker.disband());
            return Err(reason);
        }
        Ok(worker)
    }

    /// Starts lanes of `sizes` and waits until they are ready.
    fn make_lanes(&self, worker: &GpuWorker, sizes: &[usize]) -> Result<(), BuildError> {
        for &rows in sizes {
            let ready = self.start_lane(worker, rows)?;
            let broken = || Err(BuildError::ThreadEnded);
            ready.recv().unwrap_or_else(|_| broken())?;
        }
        Ok(())
    }

    /// Starts a lane. The receiver gets its readiness or the error.
    fn start_lane(
        &self,
        worker: &GpuWorker,
        rows: usize,
    ) -> Result<Receiver<Result<(), BuildError>>, BuildError> {
        let start = LaneStart {
            gpu: self.clone(),
            program: Arc::clone(&worker.program),
            spec: worker.spec,
            rows,
        };
        let (inbox, batches) = channel();
        let (tell, ready) = channel();
        let device = &self.slot.name;
        let member = &self.slot.networks.ensemble.members[worker.spec.member].name;
        let body = move || start.run(&batches, &tell);
        let thread = BoundedThread::start(format!("{device} {member} {rows}"), body)
            .map_err(BuildError::Thread)?;
        worker.add(LaneHandle {
            size: rows,
            inbox,
            thread,
        });
        Ok(ready)
    }

    /// Passes a batch to its lane. After a change of the policy it first creates new lanes; the old
    /// ones are idle then.
    ///
    /// # Errors
    /// There is no lane for the batch. Returns the batch with the reason.
    #[allow(clippy::result_large_err, reason = "a batch is moved, not copied")]
    pub(super) fn hand_over(
        &self,
        worker: &GpuWorker,
        batch: LiveBatch,
    ) -> Result<(), (LiveBatch, BatchError)> {
        if let Err(why) = self.suit(worker, &batch) {
            return Err((batch, BatchError::LaneNotMade(why.to_string())));
        }
        worker.hand_over(batch)
    }

    fn suit(&self, worker: &GpuWorker, batch: &LiveBatch) -> Result<(), BuildError> {
        if worker.suits(batch) {
            return Ok(());
        }
        await_end(worker.disband());
        for rows in sizes_with(batch) {
            // Its first batch will show whether it is ready.
            drop(self.start_lane(worker, rows)?);
        }
        Ok(())
    }
}

/// Waits for idle lanes, which end at once.
fn await_end(threads: Vec<BoundedThread>) {
    let limit = Instant::now() + Duration::from_secs(1);
    for thread in threads {
        drop(thread.join_until(limit));
    }
}

/// The inputs of a lane's thread.
struct LaneStart {
    gpu: ServingGpu,
    program: Arc<dyn Program>,
    spec: WorkerSpec,
    rows: usize,
}

impl LaneStart {
    fn run(self, batches: &Receiver<LiveBatch>, tell: &Sender<Result<(), BuildError>>) {
        let gpu = self.gpu.clone();
        match caught(|| self.lane()).map_err(BuildError::from).flatten() {
            Ok(mut lane) => {
                // The receiver is dropped if the lane is created on demand.
                let _ = tell.send(Ok(()));
                lane.work(batches);
            }
            Err(reason) => {
                if let Some(lost) = loss_in_build(&reason) {
                    gpu.lose(lost);
                }
                let why = reason.to_string();
                let _ = tell.send(Err(reason));
                for batch in batches {
                    gpu.fail(batch, BatchError::LaneNotMade(why.clone()));
                }
            }
        }
    }

    fn lane(self) -> Result<GpuLane, BuildError> {
        let context = &self.gpu.context;
        let ensemble = &self.gpu.slot.networks.ensemble;
        let member = &ensemble.members[self.spec.member];
        let inputs = member.input.shape.elements();
        let width = member.row_width();
        let buffers = {
            let _one_at_a_time = context.making.lock();
            let program = self.program.as_ref();
            LaneBuffers::new(&context.gpu, program, self.rows, inputs, width)?
        };
        Ok(GpuLane {
            width,
            outputs: member.outputs,
            buffers,
            gpu: self.gpu,
        })
    }
}
