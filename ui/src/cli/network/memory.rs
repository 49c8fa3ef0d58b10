//! How much memory this process has resident, where the system says.

use std::fs;

/// Bytes resident now.
pub fn resident() -> Option<u64> {
    status("VmRSS:")
}

/// The most bytes that were ever resident.
pub fn peak() -> Option<u64> {
    status("VmHWM:")
}

/// A line of `/proc/self/status` (Linux): its number is in KiB.
fn status(field: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kibibytes)
}
