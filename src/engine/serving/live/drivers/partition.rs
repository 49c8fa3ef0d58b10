//! A set of this machine's cores: one thread runs its workers' batches one at a time.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candle_core::Tensor;

use crate::serving::batch::{Transfer, WorkerId};
use crate::serving::core::{Next, Stamps};
use crate::serving::keys::KeyMap;
use crate::serving::scheduler::{Discipline, WorkerSpec};
use divisi_model::ensemble::{Ensemble, OutputKind};
use divisi_runtime::compute::{ComputeError, Predictor, host_rows, read_rows, write_rows};
use divisi_runtime::device::{
    DeviceIndex, NoThread, ThreadPriority, ThreadTeam, pin_current_thread,
    set_current_thread_priority, thread_team,
};
use divisi_runtime::lock::Ranked;

use super::super::factory::BuildError;
use super::super::locks::{CpuWorkerRank, SharedLeaf};
use super::super::promise::{RulePanicked, caught};
use super::super::request::{BatchOutput, LiveBatch};
use super::driver::{
    BatchError, DeviceCapabilities, DeviceDriver, DeviceFault, DriverHost, NoSuchFault,
    ServedNetworks,
};
use super::thread::DriverThread;

/// Drives a set of cores.
pub(super) struct PartitionDriver {
    device: DeviceIndex,
    name: String,
    cores: Vec<usize>,
    priority: Option<ThreadPriority>,
    /// The threads of a partition with several cores. A batch is split evenly over them.
    team: Option<Arc<ThreadTeam>>,
    networks: ServedNetworks,
    workers: SharedLeaf<KeyMap<WorkerId, Arc<Ranked<CpuWorkerRank, CpuWorker>>>>,
    thread: DriverThread,
}

impl PartitionDriver {
    /// Creates a driver of cores as `device`, with threads of the given priority.
    ///
    /// # Errors
    /// No thread could be started.
    pub(super) fn new(
        device: DeviceIndex,
        name: &str,
        cores: &[usize],
        priority: Option<ThreadPriority>,
        networks: &ServedNetworks,
    ) -> Result<Self, NoThread> {
        Ok(PartitionDriver {
            device,
            name: name.to_owned(),
            team: thread_team(cores, priority)?,
            cores: cores.to_vec(),
            priority,
            networks: networks.clone(),
            workers: SharedLeaf::default(),
            thread: DriverThread::default(),
        })
    }

    fn serve(&self, host: &Arc<dyn DriverHost>) {
        pin_current_thread(&self.cores);
        // If the system refuses, the thread keeps its normal priority.
        self.priority.map(set_current_thread_priority);
        while !host.is_stopping() {
            match host.next(self.device) {
                Next::Run(batch) => self.run(host, &batch),
                Next::Copy(transfers) => self.skip_copies(host.as_ref(), &transfers),
                Next::Sleep(until) => self.thread.sleep(host.as_ref(), until),
            }
        }
    }

    /// Skips copies ahead, because partitions compute in host memory.
    fn skip_copies(&self, host: &dyn DriverHost, transfers: &[Transfer]) {
        for transfer in transfers {
            host.copied(self.device, transfer.part, host.now(), None);
        }
    }

    fn run(&self, host: &Arc<dyn DriverHost>, batch: &LiveBatch) {
        let start = Instant::now();
        let fail = |why| Arc::clone(host).worker_failed(batch, &why);
        let Some(worker) = self.worker(batch.worker) else {
            return fail(BatchError::NoWorker);
        };
        // A panic of a network must not stop the device. Its state may be broken, so the worker is
        // dropped and rebuilt.
        match caught(|| worker.lock().run(batch)) {
            Ok(Ok(timing)) => match &timing.folded {
                Ok(()) => finish(host.as_ref(), batch, start, &timing),
                Err(why) => host.not_folded(batch, why),
            },
            Ok(Err(error)) => fail(error.into()),
            Err(panic) => fail(panic.into()),
        }
    }

    fn worker(&self, id: WorkerId) -> Option<Arc<Ranked<CpuWorkerRank, CpuWorker>>> {
        self.workers.read().get(&id).cloned()
    }

    fn build_worker(&self, spec: WorkerSpec) -> Result<(), BuildError> {
        let ServedNetworks { ensemble, factory } = &self.networks;
        let predictor = factory.build(spec.network(), spec.size, self.team.clone())?;
        let worker = CpuWorker::new(predictor, spec, ensemble)?;
        let worker = Arc::new(Ranked::new(worker));
        self.workers.write().insert(spec.id, worker);
        Ok(())
    }
}

impl DeviceDriver for PartitionDriver {
    fn capabilities(&self) -> DeviceCapabilities {
        DeviceCapabilities {
            discipline: Discipline::OneAtATime,
            keeps_samples: false,
            computes: true,
            may_fail: false,
            faults_on_demand: false,
        }
    }

    fn start(self: Arc<Self>, host: &Arc<dyn DriverHost>) -> io::Result<()> {
        let (driver, host) = (Arc::clone(&self), Arc::clone(host));
        let name = match self.priority {
            Some(_) => format!("{} idle", self.name),
            None => self.name.clone(),
        };
        self.thread.start(&name, move || driver.serve(&host))
    }

    fn wake(&self) {
        self.thread.wake();
    }

    fn build(
        self: Arc<Self>,
        _host: &Arc<dyn DriverHost>,
        spec: WorkerSpec,
    ) -> Result<(), BuildError> {
        caught(|| self.build_worker(spec))?
    }

    fn remove(&self, worker: WorkerId) {
        let gone = self.workers.write().remove(&worker);
        // Its memory is freed after its last batch.
        drop(gone);
    }

    fn inject(
        self: Arc<Self>,
        _host: &Arc<dyn DriverHost>,
        _fault: DeviceFault,
    ) -> Result<(), NoSuchFault> {
        Err(NoSuchFault)
    }

    /// Waits for the current batch without a limit, because a kernel in this process always ends.
    fn stop(&self, _limit: Duration) {
        self.thread.join();
    }
}

fn finish(host: &dyn DriverHost, batch: &LiveBatch, start: Instant, timing: &Timing) {
    let end = Instant::now();
    let stamps = Stamps {
        started: host.time_of(start),
        copied: host.time_of(timing.copied),
        computed: host.time_of(timing.computed),
        returned: host.time_of(timing.computed),
        busy: end - start,
        expected: None,
    };
    let completed = host.finish(batch, &stamps, host.time_of(end));
    host.answer(batch, &stamps, completed);
}

/// A predictor with the tensors at both ends.
struct CpuWorker {
    predictor: Box<dyn Predictor>,
    input: Tensor,
    output: Tensor,
    inputs: usize,
    width: usize,
    /// The declared kind of its member's outputs.
    outputs: OutputKind,
}

/// The times at which a batch was copied in and computed.
struct Timing {
    copied: Instant,
    computed: Instant,
    /// The result of folding its answers.
    folded: Result<(), RulePanicked>,
}

impl CpuWorker {
    /// Creates a worker for batches of up to its size.
    fn new(
        predictor: Box<dyn Predictor>,
        spec: WorkerSpec,
        ensemble: &Ensemble,
    ) -> Result<Self, ComputeError> {
        let member = &ensemble.members[spec.member];
        let (inputs, width) = (member.input.shape.elements(), member.row_width());
        Ok(CpuWorker {
            predictor,
            input: host_rows(spec.size.get(), inputs)?,
            output: host_rows(spec.size.get(), width)?,
            inputs,
            width,
            outputs: member.outputs,
        })
    }

    /// Copies the batch in, runs it and folds its answers.
    fn run(&mut self, batch: &LiveBatch) -> Result<Timing, ComputeError> {
        self.copy_in(batch)?;
        let copied = Instant::now();
        self.predictor
            .predict(batch.rows, &self.input, &self.output)?;
        let computed = Instant::now();
        Ok(Timing {
            copied,
            computed,
            folded: self.fold(batch)?,
        })
    }

    fn copy_in(&self, batch: &LiveBatch) -> Result<(), ComputeError> {
        write_rows(&self.input, |rows| {
            let mut at = 0;
            for placed in &batch.ranges {
                let end = at + placed.slice.len * self.inputs;
                let to = &mut rows[at..end];
                placed.payload.read(&placed.range, placed.slice, to);
                at = end;
            }
        })
    }

    fn fold(&self, batch: &LiveBatch) -> Result<Result<(), RulePanicked>, ComputeError> {
        let mut folded = Ok(());
        read_rows(&self.output, |rows| {
            let output = BatchOutput {
                rows,
                width: self.width,
                outputs: self.outputs,
            };
            folded = output.fold(batch);
        })?;
        Ok(folded)
    }
}
