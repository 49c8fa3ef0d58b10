//! The served throughput at capacity, which measures the running setup.

use divisi_engine::search::CapacityWatch;
use divisi_engine::serving::Observed;

/// The busy share from which a device does not rest.
const BUSY: f64 = 0.95;

/// Returns whether a member has a full batch waiting for each of its workers, and all devices of
/// these workers are busy.
pub(super) fn is_at_capacity(seen: &Observed) -> bool {
    seen.members.iter().enumerate().any(|(member, stats)| {
        let own = seen.workers.iter().map(|worker| worker.spec);
        let own: Vec<_> = own.filter(|spec| spec.member.get() == member).collect();
        let rows: usize = own.iter().map(|spec| spec.size.get()).sum();
        let is_busy = |device: usize| seen.devices.get(device).is_some_and(|d| d.busy >= BUSY);
        let is_busy = own.iter().all(|spec| is_busy(spec.device.get()));
        rows > 0 && stats.queued >= rows && is_busy
    })
}

/// Returns the mean samples per second of the complete moments in the last period of a
/// [`CapacityWatch`], or `None` without answers.
pub(super) fn mean_rate(seen: &Observed) -> Option<f64> {
    let moments = CapacityWatch::PERIOD.as_nanos() / seen.moment.as_nanos().max(1);
    let moments = usize::try_from(moments).ok()?;
    // The last moment is under way.
    let complete = seen.series.split_last()?.1;
    let period = complete.get(complete.len().checked_sub(moments)?..)?;
    Some(period.iter().sum::<f64>() / moments.max(1) as f64).filter(|rate| *rate > 0.0)
}
