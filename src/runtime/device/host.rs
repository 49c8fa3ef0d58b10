//! The host: its cores and memory, and threads that stay on a partition's cores (Linux;
//! elsewhere they roam).

use std::num::NonZero;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// The cores this process may use and the memory it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub cores: Vec<usize>,
    /// Memory for serving, in bytes.
    pub memory_bytes: u64,
}

/// Share of the memory found that serving may book; the rest is for everything else.
const MEMORY_SHARE: f64 = 0.8;

/// Taken where the operating system does not say.
const FALLBACK_MEMORY: u64 = 2 << 30;

impl Host {
    /// Asks the operating system; a control group's limit counts.
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

    /// The same host with at most `bytes` of memory.
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

/// Keeps the calling thread on `cores`; false where the system does not let it.
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

/// Keeps the calling thread on `cores`; false where the system does not let it.
#[cfg(not(target_os = "linux"))]
pub fn pin_current_thread(_cores: &[usize]) -> bool {
    false
}

/// Lets every other thread go first from now on; false where the system does not. It
/// cannot be taken back: only for threads that do nothing else afterwards.
#[cfg(target_os = "linux")]
pub fn yield_to_all_others() -> bool {
    // On Linux this is the calling thread's own, not the whole process's.
    rustix::process::setpriority_process(None, LOWEST).is_ok()
}

/// Lets every other thread go first from now on; false where the system does not.
#[cfg(not(target_os = "linux"))]
pub fn yield_to_all_others() -> bool {
    false
}

/// The least urgent that a thread can be.
#[cfg(target_os = "linux")]
const LOWEST: i32 = 19;

#[cfg(target_os = "linux")]
fn allowed_cores() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
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

/// A pool with one thread a core, pinned; none for a single core, whose work the
/// worker's own thread does.
///
/// # Errors
/// The system gives no more threads.
pub fn thread_pool(cores: &[usize]) -> Result<Option<Arc<ThreadPool>>, ThreadPoolBuildError> {
    if cores.len() < 2 {
        return Ok(None);
    }
    let own = cores.to_vec();
    let pool = ThreadPoolBuilder::new()
        .num_threads(cores.len())
        .thread_name(|i| format!("partition-{i}"))
        .start_handler(move |i| {
            pin_current_thread(&own[i..=i]);
        })
        .build()?;
    Ok(Some(Arc::new(pool)))
}
