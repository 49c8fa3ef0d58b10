//! Lints: problems worth acting on, with the keys that show or change them.

use divisi_model::allocation::Cell;
use divisi_model::ensemble::BatchSize;
use divisi_session::{DeviceView, EntryView, Lost, MemberView, ProbationState, Snapshot};

use super::keys::{self, Hint};
use crate::commands as c;
use crate::layout::Panel;
use crate::model::Model;
use crate::text::Severity::{Fault, Information, Warning};
use crate::text::{MissedObjective, advice, lost_words};
use crate::text::{Severity, format};

/// A device with a smaller load counts as idle.
const IDLE: f64 = 0.5;
/// A batch with a smaller filled share counts as not filled.
const UNFILLED: f64 = 0.5;
/// A device with a higher load counts as busy. On other devices small batches are right, since they
/// do not wait.
const PRESSED: f64 = 0.7;
/// The minimum number of batches for a lint.
const ENOUGH: u64 = 20;
/// The minimum length of a queue for a lint, in samples.
const LONG: usize = 32;

/// More workers with the same problem are counted instead of named.
const FEW: usize = 2;

/// A description of a problem, and the keys that show or change it.
type Lint = (String, &'static [Hint]);

const EDIT: Hint = (&c::EDIT, "edit");
const SEARCH: Hint = (&c::SEARCH, "search");
const STREAMS: Hint = (c::focus(Panel::Streams), "streams");
const LATENCY: Hint = (c::focus(Panel::Latency), "latency");
const THROUGHPUT: Hint = (c::focus(Panel::Throughput), "throughput");
const MEMBERS: Hint = (c::focus(Panel::Members), "members");
const LOG: Hint = (c::focus(Panel::Log), "log");
const POLICY: Hint = (&c::POLICY, "policy");
const LOAD: Hint = (&c::LOAD, "load");

/// Returns sentences with their keys, the most severe first. Lints on requests need requests.
pub(super) fn lints(model: &Model) -> Vec<(Severity, String)> {
    let say = |(text, hints): Lint| match keys::words(model, hints) {
        none if none.is_empty() => text,
        keys => format!("{text} · {keys}"),
    };
    // The panel of incidents says more about the same problems.
    let has_incident = model.incidents.shown().next().is_some();
    let found = found(&model.snapshot, has_incident).into_iter();
    found.map(|(grave, lint)| (grave, say(lint))).collect()
}

/// Returns sentences without keys, for output without a screen.
pub fn texts(shown: &Snapshot) -> Vec<(Severity, String)> {
    let found = found(shown, false).into_iter();
    found.map(|(grave, (text, _))| (grave, text)).collect()
}

/// Returns the lints; with `has_incident`, only those that are never incidents.
fn found(shown: &Snapshot, has_incident: bool) -> Vec<(Severity, Lint)> {
    if shown.audience.lost && has_incident {
        return Vec::new();
    }
    if shown.audience.lost {
        let text = "the server is gone; latencies, queues and counters are the last ones known";
        return vec![(Fault, (text.to_owned(), &[LOG]))];
    }
    let mut found = Vec::new();
    let mut add = |grave, lints: Vec<Lint>| found.extend(lints.into_iter().map(|l| (grave, l)));
    // An old event is not a current fault.
    let spoils = match shown.lately.failed.requests {
        0 => Warning,
        _ => Fault,
    };
    add(spoils, not_finite(shown).collect());
    if !has_incident {
        add(Fault, lost(shown).collect());
        add(Fault, retired(shown).collect());
    }
    add(Warning, failed(shown).into_iter().collect());
    if !has_incident {
        add(Warning, disturbed(shown).collect());
    }
    if shown.throughput.samples_per_s >= 1.0 && !has_incident {
        add(Warning, missed(shown).into_iter().collect());
        add(Warning, interfered(shown).collect());
        add(Warning, growing(shown).collect());
        add(Warning, holding_up(shown).into_iter().collect());
    }
    if shown.throughput.samples_per_s >= 1.0 {
        add(Warning, copying(shown).collect());
        add(Warning, unfilled(shown));
        add(Warning, idle(shown));
    }
    add(Warning, not_probabilities(shown).collect());
    if shown.throughput.samples_per_s >= 1.0 {
        // Without busy devices, idle time is not a fault.
        add(Information, unpressed(shown).into_iter().collect());
    }
    found
}

/// Members that returned NaN or infinities. Requests with them fail if these members vote.
fn not_finite(shown: &Snapshot) -> impl Iterator<Item = Lint> + '_ {
    let members = shown.members.iter();
    let spoilt = members.filter(|m| m.flaws.not_finite > 0);
    spoilt.map(|m| {
        let count = format::short(m.flaws.not_finite as f64);
        let text = format!(
            "{} returned NaN or infinities for {count} samples so far",
            m.name
        );
        (text, &[LOG, MEMBERS][..])
    })
}

/// Members that are declared to return probabilities and do not.
fn not_probabilities(shown: &Snapshot) -> impl Iterator<Item = Lint> + '_ {
    let members = shown.members.iter();
    let wrong = members.filter(|m| m.flaws.not_probabilities > 0);
    wrong.map(|m| {
        let text = format!("{} returns values that are not probabilities", m.name);
        (text, &[LOG, MEMBERS][..])
    })
}

/// Requests that were refused or failed.
fn lost(shown: &Snapshot) -> impl Iterator<Item = Lint> + '_ {
    let lately = &shown.lately;
    let over = lately.over.as_secs_f64().max(1.0);
    let words =
        move |what: &str, lost: &Lost| format!("requests {what}: {}", lost_words(lost, over));
    let refused = (lately.refused.requests > 0)
        .then(|| (words("refused", &lately.refused), &[LOAD, SEARCH][..]));
    let failed =
        (lately.failed.requests > 0).then(|| (words("failed", &lately.failed), &[LOG, EDIT][..]));
    refused.into_iter().chain(failed)
}

/// Returns the workers with their devices and members.
fn workers(shown: &Snapshot) -> impl Iterator<Item = (&DeviceView, &MemberView, &EntryView)> + '_ {
    let cells = shown.matrix.cells().zip(&shown.entries);
    cells.filter_map(|(Cell { device, member }, entry)| {
        let (device, member) = (shown.device(device)?, shown.member(member)?);
        Some((device, member, entry))
    })
}

/// Workers that panicked too often. Applying any matrix restarts them.
fn retired(shown: &Snapshot) -> impl Iterator<Item = Lint> + '_ {
    let retired = workers(shown).filter(|w| w.2.retired);
    retired.map(|(device, member, _)| {
        let text = format!(
            "{} × {}: worker retired after panics",
            device.name, member.name
        );
        (text, &[LOG, EDIT][..])
    })
}

/// Returns the lint for a setup whose probation failed.
fn failed(shown: &Snapshot) -> Option<Lint> {
    let probation = shown.probation.as_ref()?;
    let ProbationState::Failed(why) = &probation.state else {
        return None;
    };
    let outcome = match probation.is_of_policy() {
        true => "a policy's change failed",
        false => "rolled back",
    };
    Some((format!("{outcome}: {why}"), &[LOG, LATENCY]))
}

/// Other programs or machines take time of the cores. This comes before slow requests, which it may
/// explain.
fn disturbed(shown: &Snapshot) -> impl Iterator<Item = Lint> + '_ {
    shown.host.iter().flat_map(move |host| {
        let window = format::seconds(host.load.window);
        host.disturbances().into_iter().map(move |cause| {
            let advice = advice(&cause, shown, &host.load);
            (format!("{cause} (last {window}); {advice}"), &[EDIT][..])
        })
    })
}

/// More requests than allowed miss the service objective, or the goals of tasks.
fn missed(shown: &Snapshot) -> Option<Lint> {
    let missed = MissedObjective::from_snapshot(shown)?;
    Some((missed.text(), &[LATENCY, SEARCH]))
}

/// Workers that are slowed down by others on their device, or by the device.
fn interfered(shown: &Snapshot) -> impl Iterator<Item = Lint> + '_ {
    workers(shown).filter_map(|(device, member, entry)| {
        let slower = format::times(entry.interfered?);
        let text = format!(
            "{} × {} takes {slower} the profiled time",
            device.name, member.name
        );
        Some((text, &[STREAMS, EDIT][..]))
    })
}

/// Returns whether a member's queue grows by more than a tenth of its throughput.
pub(super) fn grows(member: &MemberView) -> bool {
    member.queued > LONG && member.growth > (member.samples_per_s * 0.1).max(1.0)
}

fn growing(shown: &Snapshot) -> impl Iterator<Item = Lint> + '_ {
    let growing = shown.members.iter().filter(|m| grows(m));
    growing.map(|m| {
        let text = format!(
            "{}'s queue grows by {} samples/s, {} waiting",
            m.name,
            format::short(m.growth),
            format::grouped(m.queued as u64)
        );
        (text, &[THROUGHPUT, LOAD, EDIT][..])
    })
}

/// One member's queue is longer than all other queues together.
fn holding_up(shown: &Snapshot) -> Option<Lint> {
    let member = shown.members.iter().max_by_key(|m| m.queued)?;
    let all: usize = shown.members.iter().map(|m| m.queued).sum();
    let alone = shown.members.len() > 1 && member.queued > LONG && member.queued * 2 > all;
    alone.then(|| {
        let text = format!(
            "{} is the bottleneck: {} samples queued",
            member.name,
            format::grouped(member.queued as u64)
        );
        (text, &[STREAMS, EDIT, SEARCH][..])
    })
}

/// Copying takes longer than computing. A device on which this holds for all workers is reported
/// once.
fn copying(shown: &Snapshot) -> impl Iterator<Item = Lint> + '_ {
    let slow = |d: &DeviceView| !d.lost && d.copying > d.busy && d.copying > 0.05;
    let devices = shown.devices.iter().filter(move |d| slow(d)).map(|d| {
        let (copies, computes) = (d.copying * 100.0, d.busy * 100.0);
        let text = format!(
            "{} copies {copies:.0} % of the time and computes {computes:.0} %",
            d.name
        );
        (text, &[STREAMS, EDIT][..])
    });
    let rest = workers(shown).filter(move |w| !slow(w.0));
    let rest = rest.filter(|w| w.2.copying > 1.0 && w.2.batches >= ENOUGH);
    let entries = rest.map(|(device, member, entry)| {
        let text = format!(
            "{} × {}: copying takes {} the computing time",
            device.name,
            member.name,
            format::times(entry.copying)
        );
        (text, &[STREAMS, EDIT][..])
    });
    devices.chain(entries)
}

/// Devices that idle while others are busy, or that have no work at all.
fn idle(shown: &Snapshot) -> Vec<Lint> {
    let there = || shown.devices.iter().filter(|d| !d.lost);
    // A core that other programs have is not idle.
    let is_quiet = disturbed(shown).next().is_none();
    let works = is_quiet && there().any(|d| d.busy > 0.0);
    let (most, what) = match is_pressed(shown) {
        true => (IDLE, "devices idle more than half the time"),
        // A device without work is worth a look even if no other is busy.
        false => (f64::MIN_POSITIVE, "devices compute nothing"),
    };
    let idle: Vec<&DeviceView> = there().filter(|d| works && d.busy < most).collect();
    let hints = &[EDIT, SEARCH][..];
    match idle.as_slice() {
        few if few.len() <= 2 => few.iter().map(|d| (idle_words(d), hints)).collect(),
        many => {
            let text = format!("{} of {} {what}", many.len(), there().count());
            vec![(text, hints)]
        }
    }
}

/// Returns whether a device or queue is overloaded.
fn is_pressed(shown: &Snapshot) -> bool {
    let mut there = shown.devices.iter().filter(|d| !d.lost);
    there.any(|d| d.busy > PRESSED) || shown.members.iter().any(grows)
}

/// No device is busy and nothing disturbs the host: there is capacity left.
fn unpressed(shown: &Snapshot) -> Option<Lint> {
    let there: Vec<&DeviceView> = shown.devices.iter().filter(|d| !d.lost).collect();
    let busiest = there.iter().map(|d| d.busy).fold(0.0, f64::max);
    let is_quiet = disturbed(shown).next().is_none();
    (is_quiet && !there.is_empty() && !is_pressed(shown) && busiest < IDLE).then(|| {
        let share = (1.0 - busiest) * 100.0;
        let text = format!("all devices idle at least {share:.0} % of the time");
        (text, &[LOAD][..])
    })
}

fn idle_words(device: &DeviceView) -> String {
    let share = (1.0 - device.busy) * 100.0;
    format!("{} idle {share:.0} % of the time", device.name)
}

/// Workers on busy devices that start batches before these are half full. Several are counted.
fn unfilled(shown: &Snapshot) -> Vec<Lint> {
    let sizes = shown.matrix.cells().map(|c| shown.matrix.get(c));
    let poor = workers(shown).zip(sizes).filter_map(|(worker, size)| {
        let (device, _, entry) = worker;
        let size = size.filter(|size| size.get() > 1)?;
        let poor = entry.batches >= ENOUGH && entry.fill > 0.0 && entry.fill < UNFILLED;
        (poor && device.busy > PRESSED).then_some((worker, size))
    });
    let poor: Vec<_> = poor.collect();
    let hints = &[POLICY, EDIT][..];
    if poor.len() > FEW {
        let fills = poor.iter().map(|((_, _, entry), _)| entry.fill);
        let least = fills.fold(1.0, f64::min) * 100.0;
        let count = poor.len();
        let text = format!("{count} workers start batches less than half full, one {least:.0} %");
        return vec![(text, hints)];
    }
    let text =
        |((device, member, entry), size): &((&DeviceView, &MemberView, &EntryView), BatchSize)| {
            let fill = entry.fill * 100.0;
            let (device, member) = (&device.name, &member.name);
            format!("{device} × {member}: batches of {size} are {fill:.0} % full")
        };
    poor.iter().map(|worker| (text(worker), hints)).collect()
}
