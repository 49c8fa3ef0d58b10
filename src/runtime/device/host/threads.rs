//! The time of this process's threads, from `/proc/self/task` (proc_pid_stat(5)).

use std::time::Duration;

/// The length of a tick. Linux reports 100 ticks a second on all architectures of Divisi.
const TICK: Duration = Duration::from_millis(10);

/// The number of `SCHED_IDLE` in sched.h.
const IDLE_POLICY: u64 = 5;

/// The time of one thread since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadTime {
    /// The number of the thread, which the system uses again after the thread's end.
    pub id: u64,
    /// The time of the thread's start in ticks since the system's start.
    pub started: u64,
    /// The core on which the thread ran last.
    pub core: usize,
    /// The time that it ran.
    pub ran: Duration,
    /// The time that it waited for a core, or `None` if the system does not count it, or if the
    /// thread has a low priority and waits on purpose.
    pub waited: Option<Duration>,
}

impl ThreadTime {
    /// Reads the texts of `stat` and `schedstat` of a thread. Without `schedstat` times are
    /// precise to a tick only. Returns `None` if `stat` is not understood.
    pub fn parse(stat: &str, schedstat: Option<&str>) -> Option<Self> {
        let id = stat.split_ascii_whitespace().next()?.parse().ok()?;
        let fields = StatFields::parse(stat)?;
        let precise = schedstat.and_then(ran_and_waited);
        let is_low = fields.number(41) == Some(IDLE_POLICY) || fields.nice()? > 0;
        Some(ThreadTime {
            id,
            started: fields.number(22)?,
            core: usize::try_from(fields.number(39)?).ok()?,
            ran: precise.map_or(fields.ran()?, |(ran, _)| ran),
            waited: precise.map(|(_, waited)| waited).filter(|_| !is_low),
        })
    }
}

/// Reads the time that a process ran from its `stat`, with the time of threads that ended.
pub fn parse_process(stat: &str) -> Option<Duration> {
    StatFields::parse(stat)?.ran()
}

/// The fields of `stat` from the third on, numbered as in proc_pid_stat(5).
struct StatFields<'a>(Vec<&'a str>);

impl<'a> StatFields<'a> {
    /// The name of the thread, in brackets, may contain spaces and brackets.
    fn parse(stat: &'a str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(')')?;
        Some(StatFields(rest.split_ascii_whitespace().take(50).collect()))
    }

    fn number(&self, field: usize) -> Option<u64> {
        self.0.get(field.checked_sub(3)?)?.parse().ok()
    }

    fn nice(&self) -> Option<i64> {
        self.0.get(19 - 3)?.parse().ok()
    }

    /// Returns the time in user mode and in the kernel.
    fn ran(&self) -> Option<Duration> {
        let ticks = self.number(14)?.checked_add(self.number(15)?)?;
        let nanos = ticks.checked_mul(TICK.as_nanos() as u64)?;
        Some(Duration::from_nanos(nanos))
    }
}

/// Reads `schedstat`: the nanoseconds on a core and waiting for one, and the number of turns.
fn ran_and_waited(text: &str) -> Option<(Duration, Duration)> {
    let mut words = text.split_ascii_whitespace();
    let mut nanos = || words.next()?.parse().ok().map(Duration::from_nanos);
    Some((nanos()?, nanos()?))
}
