//! Facts that explain an incident, a sentence each.

use divisi_model::allocation::Cell;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{EntryView, MemberView, Snapshot};

use crate::text::format;

/// The minimum length of a queue to report, in samples.
const LONG: usize = 32;

/// Returns the worker with the greatest slowdown on each device: the device, the member and the
/// factor.
pub(super) fn slow_workers(shown: &Snapshot) -> Vec<(Cell, f64)> {
    let mut slow: Vec<(Cell, f64)> = Vec::new();
    for (cell, factor) in entries(shown).filter_map(|(c, e)| Some((c, e.interfered?))) {
        match slow
            .iter_mut()
            .find(|(known, _)| known.device == cell.device)
        {
            Some(known) if known.1 < factor => *known = (cell, factor),
            Some(_) => {}
            None => slow.push((cell, factor)),
        }
    }
    slow.sort_by(|one, other| other.1.total_cmp(&one.1));
    slow
}

/// Returns the entries of the matrix with their places.
pub(super) fn entries(shown: &Snapshot) -> impl Iterator<Item = (Cell, &EntryView)> {
    shown.matrix.cells().zip(&shown.entries)
}

/// Returns the load of a device next to the highest load of the others.
pub(super) fn busy(shown: &Snapshot, device: DeviceIndex) -> Option<String> {
    let own = shown.device(device)?;
    let others = shown.devices.iter().enumerate();
    let others = others.filter(|(at, other)| *at != device.get() && !other.lost);
    let most = others.map(|(_, other)| other.busy).reduce(f64::max);
    let busy = format::percent(own.busy).trim().to_owned();
    Some(match most {
        Some(most) => format!(
            "{} is {busy} busy, the other devices at most {} (1 s)",
            own.name,
            format::percent(most).trim()
        ),
        None => format!("{} is {busy} busy (1 s)", own.name),
    })
}

/// Returns the member with the longest queue, if that is long.
pub(super) fn longest_queue(shown: &Snapshot) -> Option<MemberIndex> {
    let members = MemberIndex::enumerate(&shown.members);
    let longest = members.max_by_key(|(_, member)| member.queued)?;
    (longest.1.queued >= LONG).then_some(longest.0)
}

/// Returns the device that computes most for a member.
pub(super) fn busiest_device(shown: &Snapshot, member: MemberIndex) -> Option<DeviceIndex> {
    let here = entries(shown).filter(|(cell, _)| cell.member == member);
    let here = here.filter(|(cell, _)| shown.matrix.get(*cell).is_some());
    let most = here.max_by(|one, other| one.1.load.total_cmp(&other.1.load));
    most.map(|(cell, _)| cell.device)
}

/// Returns the length of a queue and its growth.
pub(super) fn queue(member: &MemberView) -> Option<String> {
    let queued = format::grouped(member.queued as u64);
    (member.queued >= LONG).then(|| match member.growth {
        growth if growth >= 0.5 => format!(
            "{} has {queued} samples queued, growing by {}/s",
            member.name,
            format::short(growth)
        ),
        _ => format!("{} has {queued} samples queued", member.name),
    })
}

/// Returns the last error that a client saw.
pub(super) fn last_error(shown: &Snapshot) -> Option<String> {
    let error = shown.errors.last.first()?;
    Some(format!("last error: {}: {}", error.sender, error.message))
}
