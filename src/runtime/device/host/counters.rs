//! The counters of the operating system that tell who uses the cores.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::cores::{CoreTicks, parse_cores};
use super::groups::{Periods, group_folders, read_periods};
use super::load::{CoreLoad, HostLoad};
use super::threads::{ThreadTime, parse_process};
use super::{process_cores, reading_of};

/// The most threads that are read; the time of further ones is known in sum only.
const MOST_THREADS: usize = 4096;

/// The share of a core that our threads have to run or wait for a wait to mean anything.
const LEAST_RUNNABLE: f64 = 0.01;

/// The counters of the host at one time. Two of them make a [`HostLoad`].
#[derive(Clone, Debug)]
pub struct HostCounters {
    at: Instant,
    cores: Vec<CoreTicks>,
    threads: Vec<ThreadTime>,
    /// The time of all threads of this process, with those that ended.
    process: Duration,
    groups: Vec<(PathBuf, Periods)>,
}

impl HostCounters {
    /// Reads the counters of this machine, which takes about 20 µs for each thread of the process.
    /// Returns `None` if the system has none: Linux without `/proc`, or another system.
    pub fn read() -> Option<Self> {
        let mut cores = parse_cores(&reading_of(Path::new("/proc/stat"))?);
        let usable = process_cores();
        cores.retain(|c| usable.is_empty() || usable.contains(&c.core));
        let process = parse_process(&reading_of(Path::new("/proc/self/stat"))?)?;
        let folders = reading_of(Path::new("/proc/self/cgroup"));
        let folders = folders.map_or_else(Vec::new, |text| group_folders(&text));
        let counters = HostCounters::new(Instant::now(), cores, process);
        let counters = counters?.with_threads(read_threads());
        Some(counters.with_groups(read_periods(&folders)))
    }

    /// Returns the counters of `cores`, ascending, at a time, and the time that the process had run. Returns
    /// `None` without cores.
    pub fn new(at: Instant, cores: Vec<CoreTicks>, process: Duration) -> Option<Self> {
        (!cores.is_empty()).then_some(HostCounters {
            at,
            cores,
            threads: Vec::new(),
            process,
            groups: Vec::new(),
        })
    }

    /// Returns the counters with the threads of this process.
    #[must_use]
    pub fn with_threads(self, threads: Vec<ThreadTime>) -> Self {
        HostCounters { threads, ..self }
    }

    /// Returns the counters with the periods of control groups, by folder.
    #[must_use]
    pub fn with_groups(self, groups: Vec<(PathBuf, Periods)>) -> Self {
        HostCounters { groups, ..self }
    }

    /// Returns the time of the counters.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// Returns the load of the host between `earlier` and these counters.
    pub fn load_since(&self, earlier: &Self) -> HostLoad {
        let window = self.at.saturating_duration_since(earlier.at);
        HostLoad {
            window,
            cores: self.cores_since(earlier, window),
            wait: self.wait_since(earlier, window),
            throttled: self.throttled_since(earlier),
        }
    }

    /// Divides the busy time of each core into ours and others'.
    ///
    /// A thread's time is known, but not on which cores it ran; it is first taken from the core
    /// of the thread's last turn. If that core was not busy for so long, the rest is taken from
    /// the other cores, by their busy time.
    fn cores_since(&self, earlier: &Self, window: Duration) -> Vec<CoreLoad> {
        let mut cores: Vec<CoreLoad> = self.busy_since(earlier);
        let (by_core, sum) = self.own_since(earlier, window);
        for core in &mut cores {
            let own = by_core.get(&core.core).copied().unwrap_or(0.0);
            core.own = own.min(core.others);
            core.others -= core.own;
        }
        let placed: f64 = cores.iter().map(|c| c.own).sum();
        let free: f64 = cores.iter().map(|c| c.others).sum();
        let moved = ((sum - placed) / free).clamp(0.0, 1.0);
        // Without free time the quotient is not a number or not needed.
        for core in cores.iter_mut().filter(|_| free > 0.0) {
            core.own += core.others * moved;
            core.others -= core.others * moved;
        }
        cores
    }

    /// Returns the shares of each core, all of its busy time as others'.
    fn busy_since(&self, earlier: &Self) -> Vec<CoreLoad> {
        let both = self.cores.iter().filter_map(|now| {
            let at = earlier.cores.binary_search_by_key(&now.core, |c| c.core);
            Some(now.since(&earlier.cores[at.ok()?]))
        });
        let shares = both.map(|ticks| {
            let total = ticks.total().max(1.0);
            CoreLoad {
                core: ticks.core,
                own: 0.0,
                others: ticks.busy as f64 / total,
                steal: ticks.steal as f64 / total,
            }
        });
        shares.collect()
    }

    /// Returns the share of time that our threads ran by their last core, and the share of all
    /// threads, in which those that ended count.
    fn own_since(&self, earlier: &Self, window: Duration) -> (HashMap<usize, f64>, f64) {
        let window = window.as_secs_f64().max(1e-9);
        let mut by_core = HashMap::new();
        for (thread, before) in self.pairs(earlier) {
            let before = before.map_or(Duration::ZERO, |b| b.ran);
            let ran = thread.ran.saturating_sub(before).as_secs_f64();
            *by_core.entry(thread.core).or_insert(0.0) += ran / window;
        }
        let process = self.process.saturating_sub(earlier.process).as_secs_f64();
        let sum = by_core.values().sum::<f64>().max(process / window);
        (by_core, sum)
    }

    fn wait_since(&self, earlier: &Self, window: Duration) -> Option<f64> {
        let mut ran = Duration::ZERO;
        let mut waited = Duration::ZERO;
        for (thread, before) in self.pairs(earlier) {
            let Some(all) = thread.waited else { continue };
            let was = before.map_or((Duration::ZERO, Duration::ZERO), |b| {
                (b.ran, b.waited.unwrap_or_default())
            });
            ran = ran.saturating_add(thread.ran.saturating_sub(was.0));
            waited = waited.saturating_add(all.saturating_sub(was.1));
        }
        let runnable = ran.saturating_add(waited).as_secs_f64();
        let is_enough = runnable > 0.0 && runnable >= LEAST_RUNNABLE * window.as_secs_f64();
        is_enough.then(|| (waited.as_secs_f64() / runnable).min(1.0))
    }

    /// Returns the highest share of throttled periods among this process's groups.
    fn throttled_since(&self, earlier: &Self) -> Option<f64> {
        let shares = self.groups.iter().filter_map(|(folder, now)| {
            let (_, before) = earlier.groups.iter().find(|(f, _)| f == folder)?;
            Some(now.share_since(before))
        });
        shares.max_by(f64::total_cmp)
    }

    /// Returns each thread with its earlier time, or `None` for threads that started since.
    fn pairs<'a>(
        &'a self,
        earlier: &'a Self,
    ) -> impl Iterator<Item = (&'a ThreadTime, Option<&'a ThreadTime>)> {
        let before: HashMap<(u64, u64), &ThreadTime> = earlier
            .threads
            .iter()
            .map(|t| ((t.id, t.started), t))
            .collect();
        let threads = self.threads.iter();
        threads.map(move |t| (t, before.get(&(t.id, t.started)).copied()))
    }
}

/// Reads the threads of this process. A thread that ends meanwhile is left out.
fn read_threads() -> Vec<ThreadTime> {
    let Ok(folder) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let folders = folder.filter_map(Result::ok).take(MOST_THREADS);
    let threads = folders.filter_map(|entry| {
        let file = |name: &str| reading_of(&entry.path().join(name));
        ThreadTime::parse(&file("stat")?, file("schedstat").as_deref())
    });
    threads.collect()
}
