//! What this machine has.

use std::num::NonZero;

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
    let allowed = super::pinning::allowed_cores();
    if !allowed.is_empty() {
        return allowed;
    }
    let count = std::thread::available_parallelism().map_or(1, NonZero::get);
    (0..count).collect()
}
