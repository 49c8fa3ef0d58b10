//! Gauges read in a thread of their own: whoever asks gets what was read last and never
//! waits for a driver that takes its time.
//!
//! They are read at most once a second and only while somebody asks, so that a management library
//! that hangs holds neither serving nor a screen up.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::lock::lock;

/// How a GPU is doing, as far as the management library says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gauges {
    /// Share of the last sampling period in which a kernel ran, 0 to 1.
    pub busy: Option<f64>,
    /// Degrees Celsius.
    pub temperature: Option<u32>,
    /// Watts.
    pub power: Option<f64>,
    /// Bytes in use, by everybody.
    pub memory_used: Option<u64>,
    /// Bytes that other processes use.
    pub others_bytes: Option<u64>,
}

/// Bytes that processes other than `own` use, of processes with what they use where that
/// is told; a process may be there twice. None where it cannot be known: something is not
/// told, or `own` is not among them, so that nobody knows who is who (as in a container
/// that counts processes differently).
pub fn others_bytes(processes: &[(u32, Option<u64>)], own: u32) -> Option<u64> {
    let mut by_process = BTreeMap::new();
    for (process, bytes) in processes {
        let most = by_process.entry(process).or_insert(0);
        *most = (*bytes)?.max(*most);
    }
    by_process.remove(&own)?;
    Some(by_process.values().sum())
}

/// Between two readings at least.
const EVERY: Duration = Duration::from_secs(1);

/// Who asks first waits so long at most.
const FIRST: Duration = Duration::from_millis(300);

/// Reads while somebody asks.
#[derive(Debug)]
pub struct Sampler {
    shared: Arc<SamplerShared>,
}

#[derive(Debug, Default)]
struct SamplerShared {
    state: Mutex<SamplerState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SamplerState {
    /// What was read last, and when.
    value: Gauges,
    read_at: Option<Instant>,
    /// Somebody asked since.
    wanted: bool,
    over: bool,
}

impl Sampler {
    /// Reads by `read`, for the first time when somebody asks. Where no thread can be
    /// started nothing is ever known.
    pub fn new(read: impl FnMut() -> Gauges + Send + 'static) -> Self {
        let shared = Arc::<SamplerShared>::default();
        let inner = Arc::clone(&shared);
        let thread = thread::Builder::new().name("gauges".into());
        if thread.spawn(move || run(&inner, read)).is_err() {
            lock(&shared.state).over = true;
        }
        Sampler { shared }
    }

    /// What was read last; it is at most a second older than the last time anybody asked.
    pub fn latest(&self) -> Gauges {
        let mut state = lock(&self.shared.state);
        state.wanted = true;
        self.shared.changed.notify_all();
        let unread = |s: &mut SamplerState| s.read_at.is_none() && !s.over;
        let waited = self.shared.changed.wait_timeout_while(state, FIRST, unread);
        waited.unwrap_or_else(PoisonError::into_inner).0.value
    }
}

impl Drop for Sampler {
    /// The thread ends by itself: a driver that hangs holds nobody up.
    fn drop(&mut self) {
        lock(&self.shared.state).over = true;
        self.shared.changed.notify_all();
    }
}

fn run(shared: &SamplerShared, mut read: impl FnMut() -> Gauges) {
    while await_turn(shared) {
        let value = read();
        let mut state = lock(&shared.state);
        state.value = value;
        state.read_at = Some(Instant::now());
        shared.changed.notify_all();
    }
}

/// Waits until somebody wants a new reading and it is time; false once it is over.
fn await_turn(shared: &SamplerShared) -> bool {
    let state = lock(&shared.state);
    let idle = |s: &mut SamplerState| !s.wanted && !s.over;
    let state = shared.changed.wait_while(state, idle);
    let state = state.unwrap_or_else(PoisonError::into_inner);
    let since = state.read_at.map_or(EVERY, |at| at.elapsed());
    let left = EVERY.saturating_sub(since);
    let state = shared.changed.wait_timeout_while(state, left, |s| !s.over);
    let mut state = state.unwrap_or_else(PoisonError::into_inner).0;
    state.wanted = false;
    !state.over
}
