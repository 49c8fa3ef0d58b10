//! The memory of this process, as Linux has it.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Bytes in memory now, at most since the start, and now of no file.
pub fn of_this_process() -> Result<Value> {
    let status = fs::read_to_string("/proc/self/status")?;
    Ok(json!({
        "resident": field(&status, "VmRSS:")?,
        "peak": field(&status, "VmHWM:")?,
        "anonymous": field(&status, "RssAnon:")?,
    }))
}

fn field(status: &str, name: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    Ok(kib.context(name.to_owned())?.parse::<u64>()? * 1024)
}
