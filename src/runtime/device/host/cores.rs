//! The time of each core since the system's start, from `/proc/stat` (proc_stat(5)).

/// The most cores; further ones are left out. Linux's own sets of cores have this size.
const MOST_CORES: usize = 1024;

/// The time of one core since the system's start, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTicks {
    /// The number of the core.
    pub core: usize,
    /// Programs and the kernel ran.
    pub busy: u64,
    /// The core was idle or handled interrupts.
    pub rest: u64,
    /// The hypervisor ran other machines.
    pub steal: u64,
}

impl CoreTicks {
    /// Returns all ticks of the core. Damaged counters may exceed the range of integers.
    pub(super) fn total(&self) -> f64 {
        self.busy as f64 + self.rest as f64 + self.steal as f64
    }

    /// Returns the ticks since `earlier`.
    pub(super) fn since(&self, earlier: &CoreTicks) -> CoreTicks {
        CoreTicks {
            core: self.core,
            busy: self.busy.saturating_sub(earlier.busy),
            rest: self.rest.saturating_sub(earlier.rest),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }
}

/// Reads the cores of `/proc/stat`, ascending. Lines that are not understood are left out.
pub fn parse_cores(text: &str) -> Vec<CoreTicks> {
    let mut cores: Vec<CoreTicks> = text.lines().filter_map(core).take(MOST_CORES).collect();
    cores.sort_by_key(|c| c.core);
    cores.dedup_by_key(|c| c.core);
    cores
}

/// Reads a line such as `cpu0 21700 0 2981 9874 76 0 5 357 0 0`. Old systems have fewer fields.
fn core(line: &str) -> Option<CoreTicks> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    // The line of all cores has no number.
    let core = line.as_bytes().get(3).filter(|b| b.is_ascii_digit());
    let core = core.and_then(|_| words.next()?.parse().ok())?;
    let ticks: Result<Vec<u64>, _> = words.take(8).map(str::parse).collect();
    let ticks = ticks.ok().filter(|t| t.len() >= 4)?;
    let sum = |fields: &[usize]| {
        let values = fields.iter().filter_map(|&i| ticks.get(i));
        values.fold(0_u64, |sum, t| sum.saturating_add(*t))
    };
    Some(CoreTicks {
        core,
        // user, nice, system
        busy: sum(&[0, 1, 2]),
        // idle, iowait, irq, softirq
        rest: sum(&[3, 4, 5, 6]),
        steal: sum(&[7]),
    })
}
