//! The gauges of a GPU. A separate thread reads them at most once a second, and only while a reader
//! requests them. So a slow or hanging management library delays neither serving nor a screen.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::lock::lock;

/// Load, temperature, power and memory of a GPU, as far as the management library reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gauges {
    /// Share of the last sampling period in which a kernel ran, 0 to 1.
    pub busy: Option<f64>,
    /// Degrees Celsius.
    pub temperature: Option<u32>,
    /// Watts.
    pub power: Option<f64>,
    /// Bytes in use by all processes.
    pub memory_used: Option<u64>,
    /// Bytes that other processes use.
    pub others_bytes: Option<u64>,
}

/// Returns the bytes that processes other than `own` use, or `None` if that cannot be known.
///
/// `processes` are process numbers with the bytes that they use, as far as known; a process
/// may be listed twice. The sum cannot be known if one of the numbers of bytes is missing, or
/// if `own` is not listed, as in a container that numbers processes differently.
pub fn others_bytes(processes: &[(u32, Option<u64>)], own: u32) -> Option<u64> {
    let mut by_process = BTreeMap::new();
    for (process, bytes) in processes {
        let most = by_process.entry(process).or_insert(0);
        *most = (*bytes)?.max(*most);
    }
    by_process.remove(&own)?;
    Some(by_process.values().sum())
}

/// The shortest time between two readings.
const EVERY: Duration = Duration::from_secs(1);

/// The longest that the first caller waits for the first reading.
const FIRST: Duration = Duration::from_millis(300);

/// Reads gauges at most once a second, and only while a reader requests them.
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
    /// The latest reading, and its time.
    value: Gauges,
    read_at: Option<Instant>,
    /// Whether a reader has requested the gauges since the last read.
    wanted: bool,
    over: bool,
}

impl Sampler {
    /// Creates a sampler that calls `read`, for the first time at the first request. If no thread
    /// can be started, the gauges stay unknown.
    pub fn new(read: impl FnMut() -> Gauges + Send + 'static) -> Self {
        let shared = Arc::<SamplerShared>::default();
        let inner = Arc::clone(&shared);
        let thread = thread::Builder::new().name("gauges".into());
        if thread.spawn(move || run(&inner, read)).is_err() {
            lock(&shared.state).over = true;
        }
        Sampler { shared }
    }

    /// Returns the latest gauges, which are at most a second older than the call before.
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
    /// Signals the thread to end without waiting for it, because the library may hang.
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

/// Waits until a new reading is requested and due. Returns `false` after the sampler is dropped.
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
