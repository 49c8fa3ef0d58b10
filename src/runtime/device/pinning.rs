//! Threads that stay on their partition's cores (Linux; elsewhere they roam).

use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

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
pub(super) fn allowed_cores() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|&core| set.is_set(core))
        .collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn allowed_cores() -> Vec<usize> {
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
