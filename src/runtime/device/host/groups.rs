//! The limits of control groups on processor time: version 2 (cgroup-v2.rst of Linux) and
//! version 1 (sched-bwc.rst).

use std::path::{Component, Path, PathBuf};

use super::reading_of;

/// The most groups above each other that are read.
const MOST_LEVELS: usize = 32;

/// The folder under which the system shows control groups.
const ROOT: &str = "/sys/fs/cgroup";

/// The periods of a control group with a limit since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Periods {
    /// The periods in which the group had work.
    pub all: u64,
    /// The periods in which the group used up its quota, so that its threads had to wait.
    pub throttled: u64,
}

impl Periods {
    /// Reads the text of `cpu.stat`, in either version. Returns `None` if it has no periods:
    /// the group cannot be limited.
    pub fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut lines = text.lines().take(64);
            lines.find_map(|l| l.strip_prefix(name)?.trim().parse().ok())
        };
        Some(Periods {
            all: value("nr_periods ")?,
            throttled: value("nr_throttled ")?,
        })
    }

    /// Returns the share of throttled periods since `earlier`, or 0 without periods.
    pub(super) fn share_since(&self, earlier: &Periods) -> f64 {
        let all = self.all.saturating_sub(earlier.all);
        let throttled = self.throttled.saturating_sub(earlier.throttled);
        (throttled as f64 / all.max(1) as f64).min(1.0)
    }
}

/// Reads the text of `cpu.max` of version 2, such as `150000 100000`: the cores' worth of time
/// that the group may use. Returns `None` without a limit.
pub fn parse_quota(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(char::is_whitespace)?;
    quota_of(quota, period)
}

/// Reads the texts of `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1. Returns `None`
/// without a limit, which is a quota of -1.
pub fn quota_of(quota: &str, period: &str) -> Option<f64> {
    let quota: u64 = quota.trim().parse().ok()?;
    let period: u64 = period.trim().parse().ok().filter(|&p| p > 0)?;
    (quota > 0).then(|| quota as f64 / period as f64)
}

/// Returns the folders of this process's group and the groups above it, from the text of
/// `/proc/self/cgroup`. A path that leaves the folder of groups is replaced by that folder.
pub fn group_folders(text: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in text.lines().take(64) {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let top = match controllers {
            "" => PathBuf::from(ROOT),
            _ if controllers.split(',').any(|c| c == "cpu") => Path::new(ROOT).join("cpu"),
            _ => continue,
        };
        folders.extend(levels(&top, path));
    }
    folders
}

/// Returns the folder of `path` under `top`, and the folders above it up to `top`.
fn levels(top: &Path, path: &str) -> Vec<PathBuf> {
    let path = Path::new(path);
    let is_inside = path.components().all(|c| {
        matches!(c, Component::RootDir | Component::Normal(_)) && path.as_os_str().len() < 4096
    });
    let below = path.strip_prefix("/").ok().filter(|_| is_inside);
    let whole = top.join(below.unwrap_or(Path::new("")));
    let up = whole.ancestors().take_while(|a| a.starts_with(top));
    up.take(MOST_LEVELS).map(Path::to_path_buf).collect()
}

/// Reads the periods of the groups in `folders` that have any.
pub(super) fn read_periods(folders: &[PathBuf]) -> Vec<(PathBuf, Periods)> {
    let read = folders.iter().filter_map(|folder| {
        let periods = Periods::parse(&reading_of(&folder.join("cpu.stat"))?)?;
        Some((folder.clone(), periods))
    });
    read.collect()
}

/// Returns the cores' worth of processor time that this process's control groups allow, such as
/// 1.5, or `None` without a limit.
pub fn cpu_quota() -> Option<f64> {
    let folders = group_folders(&reading_of(Path::new("/proc/self/cgroup"))?);
    let quotas = folders.iter().filter_map(|folder| {
        let file = |name: &str| reading_of(&folder.join(name));
        let second = file("cpu.max").and_then(|text| parse_quota(&text));
        second.or_else(|| quota_of(&file("cpu.cfs_quota_us")?, &file("cpu.cfs_period_us")?))
    });
    quotas.min_by(f64::total_cmp)
}
