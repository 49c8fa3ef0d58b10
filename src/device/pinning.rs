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
