//! A GPU in software: streams are threads with queues, memory is counted, and tests can
//! hold its work, take its memory and let it fail.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Instant;

use divisi_runtime::device::gpu::{
    DeviceMemory, DeviceSlice, Event, Gauges, Gpu, GpuError, GpuInfo, HostSlice, PinnedBlock,
    PinnedMemory, Stream, Usage,
};

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Page-locked memory by address: all GPUs copy from all of it.
static PINNED: Mutex<BTreeMap<usize, Weak<SoftPinned>>> = Mutex::new(BTreeMap::new());

/// The state that tests see and steer.
#[derive(Debug, Default)]
pub struct State {
    pub used: AtomicU64,
    pub limit: AtomicU64,
    /// Allocations of device memory so far.
    pub allocations: AtomicUsize,
    /// Samples' bytes copied in, and copies.
    pub copied_in: AtomicU64,
    pub copies_in: AtomicUsize,
    /// Page-locked memory can be had.
    pub no_pinned: AtomicBool,
    pub lost: AtomicBool,
    /// The next allocation fails with what is here.
    pub refusal: Mutex<Option<GpuError>>,
    /// Work that is held back.
    pub copying: Gate,
    pub computing: Gate,
    /// Batches that wait at the gate or were computed.
    pub launched: AtomicUsize,
    next_address: AtomicU64,
    memory: Mutex<BTreeMap<u64, Weak<SoftMemory>>>,
}

/// Holds work back while it is closed.
#[derive(Debug, Default)]
pub struct Gate {
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub fn close(&self) {
        *lock(&self.closed) = true;
    }

    pub fn open(&self) {
        *lock(&self.closed) = false;
        self.changed.notify_all();
    }

    fn pass(&self, lost: &AtomicBool) {
        let closed = lock(&self.closed);
        let held = |closed: &mut bool| *closed && !lost.load(Ordering::Acquire);
        drop(self.changed.wait_while(closed, held));
    }
}

impl State {
    fn check(&self) -> Result<(), GpuError> {
        match self.lost.load(Ordering::Acquire) {
            true => Err(GpuError::Lost("it fell off the bus".into())),
            false => Ok(()),
        }
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Acquire)
    }

    /// Nothing works any more.
    pub fn lose(&self) {
        {
            let _gates = (lock(&self.copying.closed), lock(&self.computing.closed));
            self.lost.store(true, Ordering::Release);
        }
        self.copying.changed.notify_all();
        self.computing.changed.notify_all();
    }

    fn memory_at(&self, address: u64) -> Arc<SoftMemory> {
        let memory = lock(&self.memory);
        let (_, found) = memory.range(..=address).next_back().expect("an address");
        found.upgrade().expect("memory that is still there")
    }

    fn pinned_at(&self, pointer: usize) -> Arc<SoftPinned> {
        let pinned = lock(&PINNED);
        let (_, found) = pinned.range(..=pointer).next_back().expect("pinned");
        found.upgrade().expect("memory that is still there")
    }

    pub fn read(&self, slice: &DeviceSlice) -> Vec<f32> {
        let memory = self.memory_at(slice.address());
        let values = lock(&memory.values);
        let first = (slice.address() - memory.address) as usize / 4;
        values[first..first + slice.bytes / 4].to_vec()
    }

    pub fn write(&self, slice: &DeviceSlice, from: &[f32]) {
        let memory = self.memory_at(slice.address());
        let mut values = lock(&memory.values);
        let first = (slice.address() - memory.address) as usize / 4;
        values[first..first + from.len()].copy_from_slice(from);
    }

    fn host(&self, slice: &HostSlice) -> (Arc<SoftPinned>, usize) {
        let pointer = slice.pointer() as usize;
        let pinned = self.pinned_at(pointer);
        let first = (pointer - pinned.pointer() as usize) / 4;
        assert!(first + slice.floats() <= pinned.values.len(), "within");
        (pinned, first)
    }
}

/// See the module's text.
#[derive(Debug)]
pub struct SoftGpu {
    pub state: Arc<State>,
    info: GpuInfo,
}

impl SoftGpu {
    /// One with so much memory.
    pub fn new(info: GpuInfo) -> Arc<Self> {
        let state = State {
            limit: AtomicU64::new(info.memory_bytes),
            next_address: AtomicU64::new(1 << 20),
            ..State::default()
        };
        Arc::new(SoftGpu {
            state: Arc::new(state),
            info,
        })
    }
}

impl Gpu for SoftGpu {
    fn info(&self) -> &GpuInfo {
        &self.info
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn stream(&self) -> Result<Arc<dyn Stream>, GpuError> {
        self.state.check()?;
        Ok(Arc::new(SoftStream::new(&self.state)))
    }

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn DeviceMemory>, GpuError> {
        let state = &self.state;
        state.check()?;
        if let Some(refusal) = lock(&state.refusal).take() {
            return Err(refusal);
        }
        let mut memory = lock(&state.memory);
        if state.used() + bytes as u64 > state.limit.load(Ordering::Acquire) {
            return Err(GpuError::OutOfMemory(bytes as u64));
        }
        state.used.fetch_add(bytes as u64, Ordering::AcqRel);
        state.allocations.fetch_add(1, Ordering::AcqRel);
        let room = (bytes as u64).next_multiple_of(256) + 256;
        let address = state.next_address.fetch_add(room, Ordering::AcqRel);
        let new = Arc::new(SoftMemory {
            state: Arc::clone(state),
            address,
            values: Mutex::new(vec![f32::NAN; bytes / 4]),
        });
        memory.retain(|_, m| m.strong_count() > 0);
        memory.insert(address, Arc::downgrade(&new));
        Ok(new)
    }

    fn pinned(&self, floats: usize) -> Result<PinnedBlock, GpuError> {
        self.state.check()?;
        if self.state.no_pinned.swap(false, Ordering::AcqRel) {
            return Err(GpuError::Other("no memory can be locked".into()));
        }
        let new = Arc::new(SoftPinned {
            values: (0..floats).map(|_| AtomicU32::new(0)).collect(),
        });
        let mut pinned = lock(&PINNED);
        pinned.retain(|_, m| m.strong_count() > 0);
        pinned.insert(new.pointer() as usize, Arc::downgrade(&new));
        Ok(PinnedBlock::new(new))
    }

    fn usage(&self) -> Result<Usage, GpuError> {
        let (used, total) = (self.state.used(), self.info.memory_bytes);
        Ok(Usage {
            used,
            reserved: used,
            free: total - used,
            total,
        })
    }

    fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}

#[derive(Debug)]
struct SoftMemory {
    state: Arc<State>,
    address: u64,
    values: Mutex<Vec<f32>>,
}

impl DeviceMemory for SoftMemory {
    fn address(&self) -> u64 {
        self.address
    }

    fn bytes(&self) -> usize {
        lock(&self.values).len() * 4
    }
}

impl Drop for SoftMemory {
    fn drop(&mut self) {
        let bytes = self.bytes() as u64;
        self.state.used.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// Atomics, so that it can be copied from and to without `unsafe`.
#[derive(Debug)]
struct SoftPinned {
    values: Vec<AtomicU32>,
}

impl PinnedMemory for SoftPinned {
    fn pointer(&self) -> *mut f32 {
        self.values.as_ptr().cast::<f32>().cast_mut()
    }

    fn floats(&self) -> usize {
        self.values.len()
    }
}

type Op = Box<dyn FnOnce(&State) -> Result<(), GpuError> + Send>;

/// A queue with a thread.
#[derive(Debug)]
pub struct SoftStream {
    state: Arc<State>,
    ops: Sender<Queued>,
}

enum Queued {
    Work(Op),
    Mark(Arc<SoftEvent>),
}

impl SoftStream {
    fn new(state: &Arc<State>) -> Self {
        let (ops, queue) = channel::<Queued>();
        let of_thread = Arc::clone(state);
        thread::spawn(move || {
            let state = of_thread;
            let mut failed = None;
            for queued in queue {
                match queued {
                    Queued::Work(op) => {
                        let run = AssertUnwindSafe(|| op(&state));
                        let panicked = |_| Err(GpuError::Other("work panicked".into()));
                        let ran = || catch_unwind(run).unwrap_or_else(panicked);
                        let done = state.check().and_then(|()| ran());
                        failed = failed.or(done.err());
                    }
                    Queued::Mark(event) => {
                        let lost = state.check().err();
                        let outcome = failed.clone().or(lost);
                        event.set(outcome.map_or_else(|| Ok(Instant::now()), Err));
                    }
                }
            }
        });
        SoftStream {
            state: Arc::clone(state),
            ops,
        }
    }

    /// Queues a batch, which the gate of computing holds.
    pub fn compute(&self, op: Op) {
        self.queue(Box::new(move |state| {
            state.launched.fetch_add(1, Ordering::AcqRel);
            state.computing.pass(&state.lost);
            state.check()?;
            op(state)
        }));
    }

    fn queue(&self, op: Op) {
        drop(self.ops.send(Queued::Work(op)));
    }

    fn mark(&self) -> Arc<SoftEvent> {
        let event = Arc::<SoftEvent>::default();
        drop(self.ops.send(Queued::Mark(Arc::clone(&event))));
        event
    }
}

impl Stream for SoftStream {
    fn copy_in(&self, from: &HostSlice, to: &DeviceSlice) -> Result<(), GpuError> {
        self.state.check()?;
        assert_eq!(from.bytes(), to.bytes, "both ends have one length");
        let (from, to) = (from.clone(), to.clone());
        self.queue(Box::new(move |state| {
            state.copying.pass(&state.lost);
            state.check()?;
            let (pinned, first) = state.host(&from);
            let values = pinned.values[first..first + from.floats()].iter();
            let values = values.map(|v| f32::from_bits(v.load(Ordering::Acquire)));
            state.write(&to, &values.collect::<Vec<_>>());
            state.copies_in.fetch_add(1, Ordering::AcqRel);
            let bytes = from.bytes() as u64;
            state.copied_in.fetch_add(bytes, Ordering::AcqRel);
            Ok(())
        }));
        Ok(())
    }

    fn copy_out(&self, from: &DeviceSlice, to: &HostSlice) -> Result<(), GpuError> {
        self.state.check()?;
        assert_eq!(from.bytes, to.bytes(), "both ends have one length");
        let (from, to) = (from.clone(), to.clone());
        self.queue(Box::new(move |state| {
            let (pinned, first) = state.host(&to);
            for (place, value) in pinned.values[first..].iter().zip(state.read(&from)) {
                place.store(value.to_bits(), Ordering::Release);
            }
            Ok(())
        }));
        Ok(())
    }

    fn record(&self) -> Result<Arc<dyn Event>, GpuError> {
        self.state.check()?;
        Ok(self.mark())
    }

    fn wait(&self, _: &dyn Event) -> Result<(), GpuError> {
        panic!("serving lets no stream wait for another");
    }

    fn synchronize(&self) -> Result<(), GpuError> {
        self.mark().await_it().map(drop)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug, Default)]
struct SoftEvent {
    outcome: Mutex<Option<Result<Instant, GpuError>>>,
    happened: Condvar,
}

impl SoftEvent {
    fn set(&self, outcome: Result<Instant, GpuError>) {
        *lock(&self.outcome) = Some(outcome);
        self.happened.notify_all();
    }

    fn await_it(&self) -> Result<Instant, GpuError> {
        let waiting = lock(&self.outcome);
        let waited = self.happened.wait_while(waiting, |o| o.is_none());
        let outcome = waited.unwrap_or_else(PoisonError::into_inner);
        outcome.clone().expect("it happened")
    }
}

impl Event for SoftEvent {
    fn wait(&self) -> Result<(), GpuError> {
        self.await_it().map(drop)
    }

    fn is_done(&self) -> Result<bool, GpuError> {
        match &*lock(&self.outcome) {
            Some(Err(error)) => Err(error.clone()),
            outcome => Ok(outcome.is_some()),
        }
    }

    fn happened(&self) -> Result<Instant, GpuError> {
        let outcome = lock(&self.outcome).clone();
        outcome.unwrap_or_else(|| Err(GpuError::Other("it has not happened".into())))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
