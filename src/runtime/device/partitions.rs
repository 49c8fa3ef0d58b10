//! The partitions of the cores that are used if no device is named.

use std::fmt;
use std::time::Duration;

use super::devices::cpu_partition;
use super::host::{Disturbance, Host, HostLoad, cpu_quota, load_since_start};

/// The most partitions by default. On machines with more cores a partition gets several,
/// since every partition adds a copy of every worker's activations and a row to the matrix.
const MOST_PARTITIONS: usize = 8;

/// The most cores of a partition on a disturbed host.
const MOST_SHARED: usize = 8;

/// The most partitions of a candidate: a search over more rows takes too long to compare.
const MOST_CANDIDATE: usize = 32;

/// The mean share of the cores that other programs and machines take on a disturbed host.
const DISTURBED: f64 = 0.1;

/// The time of the look at a host before the choice of its partitions: ten ticks of its counters.
const LOOK: Duration = Duration::from_millis(100);

/// How the cores are divided into partitions by default.
///
/// A worker of one core waits for as long as another program has that core. The threads of a larger
/// partition share the work, and the system can move them. On two cores next to four programs, each
/// on half of a core, two partitions had 1.15 times the p99 of one; next to eight busy loops, 1.5
/// times; without other programs, 0.65 times (`benches/partitions`).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Partitioning {
    /// A partition for each core, or at most eight partitions of a few cores each.
    #[default]
    PerCore,
    /// As few partitions as possible, for this reason: of at most 8 cores each on up to 64 cores, and
    /// otherwise eight.
    Shared(SharedReason),
}

/// The reason for partitions of several cores.
#[derive(Clone, Debug, PartialEq)]
pub enum SharedReason {
    /// The host is disturbed.
    Disturbed(Vec<Disturbance>),
    /// The control group allows this many cores' worth of time, fewer than there are cores.
    Quota(f64),
}

impl Partitioning {
    /// Returns the partitioning for the present state of the host. Waits for at most 100 ms.
    pub fn for_host(host: &Host) -> Self {
        let quota = cpu_quota();
        let needs_look = host.cores.len() > 1;
        let load = needs_look.then(|| load_since_start(LOOK)).flatten();
        Partitioning::choose(host.cores.len(), load.as_ref(), quota)
    }

    /// Returns the partitioning for `cores` cores under a load and a limit of the control group in
    /// cores' worth of time, if they are known.
    pub fn choose(cores: usize, load: Option<&HostLoad>, quota: Option<f64>) -> Self {
        if cores < 2 {
            return Partitioning::PerCore;
        }
        if let Some(quota) = quota.filter(|&quota| quota < cores as f64) {
            return Partitioning::Shared(SharedReason::Quota(quota));
        }
        let taken = |load: &&HostLoad| load.others_on(None) + load.steal_on(None) > DISTURBED;
        let causes = load.filter(taken).map(|load| load.disturbances(None));
        match causes.filter(|causes| !causes.is_empty()) {
            Some(causes) => Partitioning::Shared(SharedReason::Disturbed(causes)),
            None => Partitioning::PerCore,
        }
    }

    /// Returns the partitionings to compare on a host, as names of devices: each core alone, pairs,
    /// and as many cores as possible in a partition.
    pub fn candidates(host: &Host) -> Vec<Vec<String>> {
        let cores = host.cores.len();
        let most = shared_size(cores);
        let is_few = |size: usize| size == most || cores.div_ceil(size) <= MOST_CANDIDATE;
        let fits = |size: &usize| *size <= most && is_few(*size);
        let mut sizes: Vec<usize> = [1, 2, most].into_iter().filter(fits).collect();
        sizes.dedup();
        let names = sizes.into_iter().map(|size| {
            let partitions = consecutive(host, size).map(|cores| cpu_partition(cores).name);
            partitions.collect()
        });
        names.collect()
    }

    /// Returns whether partitions have several cores for a reason.
    pub fn is_shared(&self) -> bool {
        matches!(self, Partitioning::Shared(_))
    }

    /// Returns the most cores of a partition of a host with `cores` cores.
    pub(super) fn size(&self, cores: usize) -> usize {
        match self {
            Partitioning::PerCore => cores.div_ceil(MOST_PARTITIONS).max(1),
            Partitioning::Shared(_) => shared_size(cores),
        }
    }
}

/// Returns the most cores of a partition if there are as few partitions as possible.
fn shared_size(cores: usize) -> usize {
    let fewest = cores.div_ceil(MOST_SHARED).max(1);
    cores.div_ceil(fewest.min(MOST_PARTITIONS)).max(1)
}

/// Returns the cores in groups of at most `size` consecutive ones. The name of a partition is a
/// range of cores, so a partition never reaches over a gap.
pub(super) fn consecutive(host: &Host, size: usize) -> impl Iterator<Item = &[usize]> {
    let runs = host.cores.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    runs.flat_map(move |run| run.chunks(size.max(1)))
}

/// The reason, such as "partitions of several cores, because other programs take 63 % of cpu:1".
impl fmt::Display for Partitioning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Partitioning::Shared(reason) = self else {
            return f.write_str("the default partitions of a quiet host");
        };
        f.write_str("partitions of several cores, because ")?;
        match reason {
            SharedReason::Disturbed(causes) => {
                let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
                f.write_str(&causes.join(" and "))
            }
            SharedReason::Quota(quota) => {
                let quota = format!("{quota:.2}");
                let quota = quota.trim_end_matches('0').trim_end_matches('.');
                write!(f, "the control group allows the time of only {quota} cores")
            }
        }
    }
}
