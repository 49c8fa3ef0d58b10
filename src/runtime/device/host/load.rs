//! The load of the host during a period: who used its cores, and how long our threads waited.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The share of a core's time that other programs may take on a quiet host. Daemons and kernel
/// threads stay below; one busy program is far above.
pub const QUIET_OTHERS: f64 = 0.1;

/// The share of a core's time that the hypervisor may give to other machines on a quiet host.
pub const QUIET_STEAL: f64 = 0.05;

/// The share of the control group's periods that may be throttled on a quiet host.
pub const QUIET_THROTTLED: f64 = 0.05;

/// The load of the host during a period, by core. All shares are between 0 and 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostLoad {
    /// The length of the period.
    pub window: Duration,
    /// The cores that this process may use, ascending.
    pub cores: Vec<CoreLoad>,
    /// The share of time that this process's runnable threads waited for a core, or `None` if they
    /// hardly ran or the system does not count it. Threads also wait for each other, so a wait
    /// alone is no disturbance. Threads of low priority do not count.
    pub wait: Option<f64>,
    /// The share of the control group's periods in which the group used up its quota of processor
    /// time, or `None` if the system does not count it.
    pub throttled: Option<f64>,
}

/// The load of one core, as shares of its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreLoad {
    /// The number of the core.
    pub core: usize,
    /// The share that this process used.
    pub own: f64,
    /// The share that other programs and the kernel used. Interrupts do not count.
    pub others: f64,
    /// The share that the hypervisor gave to other machines while this core had work.
    pub steal: f64,
}

/// One disturbance of the host. Its text names the cause, such as
/// "other programs take 63 % of cpu:1".
#[derive(Clone, Debug, PartialEq)]
pub enum Disturbance {
    /// Other programs take this mean share of these cores, which are ascending.
    Others(Vec<usize>, f64),
    /// Other virtual machines take this mean share of these cores, which are ascending.
    Steal(Vec<usize>, f64),
    /// The control group was out of processor time in this share of its periods.
    Throttled(f64),
}

/// The uncertainty of a core's counted time in seconds: two ticks.
const TICKS: f64 = 0.02;

impl HostLoad {
    /// Returns the mean share of `cores` that other programs took, or of all cores without
    /// `cores`. Returns 0 if none of the cores is known.
    pub fn others_on(&self, cores: Option<&[usize]>) -> f64 {
        mean(self.chosen(cores).map(|c| c.others))
    }

    /// Returns the mean share of `cores` that the hypervisor gave to other machines, or of all
    /// cores without `cores`. Returns 0 if none of the cores is known.
    pub fn steal_on(&self, cores: Option<&[usize]>) -> f64 {
        mean(self.chosen(cores).map(|c| c.steal))
    }

    /// Returns whether anything disturbed `cores`, or any core without `cores`. The counters have
    /// ticks, so a short window needs a higher load to be certain.
    pub fn is_disturbed(&self, cores: Option<&[usize]>) -> bool {
        let window = self.window.as_secs_f64().max(1e-3);
        let factor = 1.0 + TICKS / (QUIET_OTHERS * window);
        !self.disturbances_above(cores, factor).is_empty()
    }

    /// Returns the disturbances of `cores`, or of all cores without `cores`.
    pub fn disturbances(&self, cores: Option<&[usize]>) -> Vec<Disturbance> {
        self.disturbances_above(cores, 1.0)
    }

    /// Returns the disturbances of `cores` whose share is above `factor` times the share that
    /// a quiet host may have.
    pub fn disturbances_above(&self, cores: Option<&[usize]>, factor: f64) -> Vec<Disturbance> {
        let others = self.above(cores, QUIET_OTHERS * factor, |c| c.others);
        let steal = self.above(cores, QUIET_STEAL * factor, |c| c.steal);
        let throttled = self.throttled.filter(|&t| t > QUIET_THROTTLED * factor);
        let others = others.map(|(cores, share)| Disturbance::Others(cores, share));
        let steal = steal.map(|(cores, share)| Disturbance::Steal(cores, share));
        let throttled = throttled.map(Disturbance::Throttled);
        others.into_iter().chain(steal).chain(throttled).collect()
    }

    /// Returns the cores with a share above `limit`, and the mean of their shares.
    fn above(
        &self,
        cores: Option<&[usize]>,
        limit: f64,
        share: impl Fn(&CoreLoad) -> f64,
    ) -> Option<(Vec<usize>, f64)> {
        let over = || self.chosen(cores).filter(|c| share(c) > limit);
        let numbers: Vec<usize> = over().map(|c| c.core).collect();
        (!numbers.is_empty()).then(|| (numbers, mean(over().map(&share))))
    }

    fn chosen(&self, cores: Option<&[usize]>) -> impl Iterator<Item = &CoreLoad> {
        let is_chosen = move |c: &&CoreLoad| cores.is_none_or(|cores| cores.contains(&c.core));
        self.cores.iter().filter(is_chosen)
    }
}

fn mean(shares: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = shares.fold((0.0, 0_u32), |(sum, count), share| (sum + share, count + 1));
    sum / f64::from(count.max(1))
}

impl Disturbance {
    /// Returns the share of time that the disturbance took, between 0 and 1.
    pub fn share(&self) -> f64 {
        match self {
            Disturbance::Others(_, share)
            | Disturbance::Steal(_, share)
            | Disturbance::Throttled(share) => *share,
        }
    }

    /// Returns a few words for narrow places, such as "others 63 % of cpu:1".
    pub fn short(&self) -> String {
        match self {
            Disturbance::Others(cores, share) => {
                format!("others {} of {}", percent(*share), names(cores))
            }
            Disturbance::Steal(_, share) => format!("steal {}", percent(*share)),
            Disturbance::Throttled(share) => format!("throttled {}", percent(*share)),
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = percent(self.share());
        match self {
            Disturbance::Others(cores, _) => {
                write!(f, "other programs take {share} of {}", names(cores))
            }
            Disturbance::Steal(cores, _) => {
                write!(f, "other virtual machines take {share} of {}", names(cores))
            }
            Disturbance::Throttled(_) => {
                write!(
                    f,
                    "the CPU limit of the control group throttles {share} of its periods"
                )
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Returns the name of the partition of some consecutive cores, such as `cpu:0-1`.
pub(in crate::device) fn partition_name(first: usize, last: usize) -> String {
    match first == last {
        true => format!("cpu:{first}"),
        false => format!("cpu:{first}-{last}"),
    }
}

/// Returns names of ascending cores, such as `cpu:0-1, cpu:3`.
fn names(cores: &[usize]) -> String {
    let runs = cores.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let named = runs.filter_map(|run| Some(partition_name(*run.first()?, *run.last()?)));
    named.collect::<Vec<_>>().join(", ")
}
