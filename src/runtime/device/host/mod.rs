//! The host: its cores and memory, its load, and threads that stay on a partition's cores.
//!
//! Only Linux pins threads and counts the load. [`HostCounters`] reads the system's counters, and
//! two readings make a [`HostLoad`]: the share of each core that this process, other programs and
//! other virtual machines took. [`HostWatch`] does this for one measurement, [`recent_load`] for the
//! last seconds.

mod cores;
mod counters;
mod groups;
mod load;
mod monitor;
mod team;
mod threads;
mod watch;

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

use sysinfo::{MemoryRefreshKind, RefreshKind, System};
#[cfg(target_os = "linux")]
use thread_priority::{NormalThreadSchedulePolicy, ThreadSchedulePolicy};

use crate::reading;

pub use cores::{CoreTicks, parse_cores};
pub use counters::HostCounters;
pub use groups::{Periods, cpu_quota, group_folders, parse_quota, quota_of};
pub(in crate::device) use load::partition_name;
pub use load::{CoreLoad, Disturbance, HostLoad, QUIET_OTHERS, QUIET_STEAL, QUIET_THROTTLED};
pub use monitor::{HostMonitor, load_since_start, recent_load};
pub use team::{NoThread, ThreadTeam};
pub use threads::{ThreadTime, parse_process};
pub use watch::HostWatch;

/// The host: the cores that this process may use and the memory that it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Numbers of the cores, ascending.
    pub cores: Vec<usize>,
    /// Memory for serving, in bytes.
    pub memory_bytes: u64,
}

/// Share of the host's memory that serving may book; the rest is for other programs.
const MEMORY_SHARE: f64 = 0.8;

/// Bytes assumed if the operating system does not report any.
const FALLBACK_MEMORY: u64 = 2 << 30;

impl Host {
    /// Reads cores and memory from the operating system, and respects the limit of a control group.
    pub fn discover() -> Self {
        let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let total =
            System::new_with_specifics(memory).map_or(FALLBACK_MEMORY, |system| {
                match system.cgroup_limits() {
                    Some(limits) if limits.total_memory > 0 => {
                        limits.total_memory.min(system.total_memory())
                    }
                    _ => system.total_memory(),
                }
            });
        Host {
            cores: cores(),
            memory_bytes: (total as f64 * MEMORY_SHARE) as u64,
        }
    }

    /// Returns the host with at most `bytes` of memory.
    #[must_use]
    pub fn with_memory(self, bytes: u64) -> Self {
        Host {
            memory_bytes: self.memory_bytes.min(bytes),
            ..self
        }
    }
}

fn cores() -> Vec<usize> {
    let allowed = allowed_cores();
    if !allowed.is_empty() {
        return allowed;
    }
    let count = std::thread::available_parallelism().map_or(1, NonZero::get);
    (0..count).collect()
}

/// Keeps the calling thread on `cores`. Returns `false` if the system refuses.
#[cfg(target_os = "linux")]
pub fn pin_current_thread(cores: &[usize]) -> bool {
    let mut set = rustix::thread::CpuSet::new();
    for &core in cores
        .iter()
        .filter(|&&c| c < rustix::thread::CpuSet::MAX_CPU)
    {
        set.set(core);
    }
    rustix::thread::sched_setaffinity(None, &set).is_ok()
}

/// Keeps the calling thread on `cores`. Returns `false`, since this system has no such call.
#[cfg(not(target_os = "linux"))]
pub fn pin_current_thread(_cores: &[usize]) -> bool {
    false
}

/// The priority of a thread while cores are scarce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadPriority {
    /// The thread gets a tenth of the time of a normal thread.
    Low,
    /// The thread gets almost no time while other threads need the core.
    Lowest,
    /// The thread gets only idle time, and leaves its core at once when another thread needs it.
    Idle,
}

impl ThreadPriority {
    /// Returns whether threads of this priority leave their core at once on this system.
    pub const fn is_preempted_at_once(self) -> bool {
        cfg!(target_os = "linux") && matches!(self, ThreadPriority::Idle)
    }
}

/// Gives the calling thread a lower priority. Returns `false` if the system refuses.
///
/// This cannot be undone, and the thread's children inherit it. Use it only for threads without
/// other work.
#[cfg(target_os = "linux")]
pub fn set_current_thread_priority(priority: ThreadPriority) -> bool {
    let nice = match priority {
        ThreadPriority::Low => 10,
        ThreadPriority::Lowest => 19,
        ThreadPriority::Idle => return make_current_thread_idle(),
    };
    // On Linux this is the calling thread's own, not the whole process's.
    rustix::process::setpriority_process(None, nice).is_ok()
}

#[cfg(target_os = "linux")]
fn make_current_thread_idle() -> bool {
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let (thread, least) = (
        thread_priority::thread_native_id(),
        thread_priority::ThreadPriority::Min,
    );
    thread_priority::set_thread_priority_and_policy(thread, least, policy).is_ok()
}

/// Gives the calling thread a lower priority. Returns `false`, since this system has no such call.
#[cfg(not(target_os = "linux"))]
pub fn set_current_thread_priority(_priority: ThreadPriority) -> bool {
    false
}

/// The most bytes of a file of counters; `/proc/stat` of the largest machines has less.
const MOST_COUNTERS: u64 = 1 << 20;

/// Reads a small file of the system, or returns `None` if it is absent or not as expected.
fn reading_of(path: &Path) -> Option<String> {
    reading::text_within(path, MOST_COUNTERS).ok()
}

/// Returns the cores of this process's first thread, which no partition pins.
#[cfg(target_os = "linux")]
fn process_cores() -> Vec<usize> {
    cores_of(Some(rustix::process::getpid()))
}

#[cfg(not(target_os = "linux"))]
fn process_cores() -> Vec<usize> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn allowed_cores() -> Vec<usize> {
    cores_of(None)
}

#[cfg(target_os = "linux")]
fn cores_of(thread: Option<rustix::thread::Pid>) -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(thread) else {
        return Vec::new();
    };
    (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|&core| set.is_set(core))
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn allowed_cores() -> Vec<usize> {
    Vec::new()
}

/// Returns a team with a thread for each core, or `None` for a single core: the worker's own thread
/// does its work. The threads may run on all of the cores, so that the system can move one away from
/// another program. They run at `priority` if it is given.
///
/// # Errors
/// The system cannot start the threads.
pub fn thread_team(
    cores: &[usize],
    priority: Option<ThreadPriority>,
) -> Result<Option<Arc<ThreadTeam>>, NoThread> {
    if cores.len() < 2 {
        return Ok(None);
    }
    let own: Arc<[usize]> = cores.into();
    let team = ThreadTeam::start(cores.len(), move || {
        pin_current_thread(&own);
        // If the system refuses, the thread keeps the normal priority.
        priority.map(set_current_thread_priority);
    });
    Ok(Some(Arc::new(team?)))
}
