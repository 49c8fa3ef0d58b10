//! A worker on a GPU: its lanes, each a thread, over one copy of the weights.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::compute::gpu::Program;
use crate::ensemble::PolicyKind;
use crate::lock::lock;
use crate::serving::lanes::lane_sizes;
use crate::serving::scheduler::WorkerSpec;

use super::super::factory::BuildError;
use super::super::shared::EngineState;
use super::board::GpuContext;
use super::hand::BoundedThread;
use super::lane::Lane;
use super::loss::{lose, reason_to_build};
use super::stage::LaneBuffers;
use super::{LiveBatch, guarded};

/// See the module's text.
pub struct GpuWorker {
    spec: WorkerSpec,
    program: Arc<dyn Program>,
    lanes: Mutex<Vec<LaneHandle>>,
}

/// One lane as others see it.
struct LaneHandle {
    size: usize,
    inbox: Sender<LiveBatch>,
    hand: BoundedThread,
}

/// What a lane's thread starts from.
struct Start {
    shared: Arc<EngineState>,
    opened: Arc<GpuContext>,
    program: Arc<dyn Program>,
    spec: WorkerSpec,
    rows: usize,
}

impl GpuWorker {
    /// A worker with the lanes that `policy` gives it, ready.
    ///
    /// # Errors
    /// The GPU cannot hold one of them; none is left then.
    pub fn new(
        shared: &Arc<EngineState>,
        opened: &Arc<GpuContext>,
        spec: WorkerSpec,
        policy: PolicyKind,
    ) -> Result<Self, BuildError> {
        let program = shared.factory.program(spec.member, &opened.gpu)?;
        let crew = GpuWorker {
            spec,
            program,
            lanes: Mutex::default(),
        };
        let sizes = lane_sizes(policy, spec.size, true);
        let made = crew.man(shared, opened, &sizes);
        if let Err(reason) = made {
            await_end(crew.disband());
            return Err(reason);
        }
        Ok(crew)
    }

    /// Starts lanes of `sizes` and waits until they are ready.
    fn man(
        &self,
        shared: &Arc<EngineState>,
        opened: &Arc<GpuContext>,
        sizes: &[usize],
    ) -> Result<(), BuildError> {
        for &rows in sizes {
            let ready = self.post(shared, opened, rows)?;
            let broken = || Err(BuildError::Other("its thread ended".into()));
            ready.recv().unwrap_or_else(|_| broken())?;
        }
        Ok(())
    }

    /// Starts a lane; it tells once it is ready, or why it is not.
    fn post(
        &self,
        shared: &Arc<EngineState>,
        opened: &Arc<GpuContext>,
        rows: usize,
    ) -> Result<Receiver<Result<(), BuildError>>, BuildError> {
        let start = Start {
            shared: Arc::clone(shared),
            opened: Arc::clone(opened),
            program: Arc::clone(&self.program),
            spec: self.spec,
            rows,
        };
        let (inbox, batches) = channel();
        let (tell, ready) = channel();
        let device = &shared.devices.get(self.spec.device).name;
        let member = &shared.ensemble.members[self.spec.member].name;
        let body = move || start.run(&batches, &tell);
        let hand = BoundedThread::start(format!("{device} {member} {rows}"), body)
            .map_err(|e| BuildError::Other(format!("a thread could not be started: {e}")))?;
        lock(&self.lanes).push(LaneHandle {
            size: rows,
            inbox,
            hand,
        });
        Ok(ready)
    }

    /// Hands a batch to its lane. Where the policy has changed, its lanes are made anew
    /// first: those of the old one are idle then.
    ///
    /// # Errors
    /// There is no lane for it; gives it back with the reason.
    #[allow(clippy::result_large_err, reason = "a batch is moved, not copied")]
    pub(super) fn give(
        &self,
        shared: &Arc<EngineState>,
        opened: &Arc<GpuContext>,
        batch: LiveBatch,
    ) -> Result<(), (LiveBatch, String)> {
        if let Err(why) = self.suit(shared, opened, &batch) {
            return Err((batch, why.to_string()));
        }
        let lanes = lock(&self.lanes);
        let sent = match lanes.get(batch.lane.index) {
            Some(post) => post.inbox.send(batch).map_err(|unsent| unsent.0),
            None => Err(batch),
        };
        sent.map_err(|batch| (batch, "its lane was not there".into()))
    }

    /// Whether its lanes are those that a batch was formed for.
    pub(super) fn suits(&self, batch: &LiveBatch) -> bool {
        let lanes = lock(&self.lanes);
        lanes.iter().map(|p| p.size).eq(sizes_with(batch))
    }

    fn suit(
        &self,
        shared: &Arc<EngineState>,
        opened: &Arc<GpuContext>,
        batch: &LiveBatch,
    ) -> Result<(), BuildError> {
        if self.suits(batch) {
            return Ok(());
        }
        await_end(self.disband());
        for rows in sizes_with(batch) {
            // Whether it got ready its first batch will tell.
            drop(self.post(shared, opened, rows)?);
        }
        Ok(())
    }

    /// Lets every lane end once it has done what it was given.
    pub(super) fn disband(&self) -> Vec<BoundedThread> {
        let posts = std::mem::take(&mut *lock(&self.lanes));
        posts.into_iter().map(|post| post.hand).collect()
    }
}

/// Lanes of the worker that a batch was formed for: those that split its batch size,
/// unless this one takes all of it.
fn sizes_with(batch: &LiveBatch) -> Vec<usize> {
    let whole = batch.lane.size == batch.size.get();
    let policy = match whole {
        true => PolicyKind::NoWait,
        false => PolicyKind::Elastic { max_inf: None },
    };
    lane_sizes(policy, batch.size, true)
}

/// Lanes that are idle end at once.
fn await_end(hands: Vec<BoundedThread>) {
    let limit = std::time::Instant::now() + Duration::from_secs(1);
    for hand in hands {
        drop(hand.join_until(limit));
    }
}

impl Start {
    fn run(self, batches: &Receiver<LiveBatch>, tell: &Sender<Result<(), BuildError>>) {
        let opened = Arc::clone(&self.opened);
        let shared = Arc::clone(&self.shared);
        let made = guarded(|| self.lane());
        match made {
            Ok(mut lane) => {
                // Nobody listens where it is made on demand.
                let _ = tell.send(Ok(()));
                lane.work(batches);
            }
            Err(reason) => {
                if let Some(lost) = reason_to_build(&reason) {
                    lose(&shared, opened.device, &opened, lost);
                }
                let why = reason.to_string();
                let _ = tell.send(Err(reason));
                for batch in batches {
                    opened.fail(batch, why.clone());
                    shared.poke(&[opened.device]);
                }
            }
        }
    }

    fn lane(self) -> Result<Lane, BuildError> {
        let (spec, shared) = (self.spec, &self.shared);
        let inputs = shared.ensemble.members[spec.member].input.shape.elements();
        let classes = shared.ensemble.classes;
        let _one_at_a_time = lock(&self.opened.making);
        let (gpu, program) = (&self.opened.gpu, self.program.as_ref());
        let stage = LaneBuffers::new(gpu, program, self.rows, inputs, classes)?;
        Ok(Lane {
            shared: Arc::clone(shared),
            opened: Arc::clone(&self.opened),
            stage,
        })
    }
}
