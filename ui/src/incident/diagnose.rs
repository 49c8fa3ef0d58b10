//! The problems in a snapshot, the most severe first.

use divisi_model::codes::Code;
use divisi_model::error_kind::ErrorKind;
use divisi_model::metrics::ErrorCount;
use divisi_runtime::device::DeviceIndex;
use divisi_session::{DeviceView, Health, ModelChangeState, Snapshot};

use super::{Culprit, Diagnosis, IncidentKind, Remedy, causes, remedies};
use crate::commands as c;
use crate::layout::Panel;
use crate::text::Severity::{Fault, Warning};
use crate::text::{MissedObjective, Severity, advice, format, lost_words};

/// The minimum number of invalid requests within a minute.
const BAD: u64 = 5;

/// Returns the current problems. A missing server hides all others: their figures are old.
pub(crate) fn diagnose(shown: &Snapshot) -> Vec<Diagnosis> {
    if shown.audience.lost {
        let text = "the server is gone; latencies, queues and counters are the last ones known";
        return vec![Diagnosis::new(IncidentKind::ServerGone, Fault, text)];
    }
    let mut found: Vec<Diagnosis> = closed(shown).into_iter().collect();
    found.extend(lost_devices(shown));
    found.extend(retired_workers(shown));
    found.extend(slow_devices(shown));
    found.extend(memory_short(shown));
    found.extend(queue_full(shown));
    found.extend(failing(shown));
    found.extend(bad_requests(shown));
    found.extend(host_busy(shown));
    found.extend(objective_missed(shown));
    // A fault is never behind a warning; else the order above stays.
    found.sort_by_key(|incident| incident.severity != Fault);
    found
}

impl Diagnosis {
    fn new(kind: IncidentKind, severity: Severity, text: impl Into<String>) -> Self {
        Diagnosis {
            kind,
            severity,
            text: text.into(),
            causes: Vec::new(),
            culprit: Culprit::default(),
            remedies: Vec::new(),
        }
    }

    fn caused(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.causes.extend(causes);
        self
    }

    fn at(mut self, culprit: Culprit) -> Self {
        self.culprit = culprit;
        self
    }

    fn helped(mut self, remedies: impl IntoIterator<Item = Remedy>) -> Self {
        self.remedies.extend(remedies);
        self
    }
}

fn closed(shown: &Snapshot) -> Option<Diagnosis> {
    let Health::Closed(why) = &shown.health else {
        return None;
    };
    let text = format!("all requests are refused: {why}");
    let incident = Diagnosis::new(IncidentKind::Closed, Fault, text);
    Some(
        incident
            .helped(remedies::undo(shown))
            .helped([remedies::edit("start workers"), log()]),
    )
}

fn lost_devices(shown: &Snapshot) -> impl Iterator<Item = Diagnosis> + '_ {
    let devices = DeviceIndex::enumerate(&shown.devices);
    devices
        .filter(|(_, device)| device.lost)
        .map(|(at, device)| lost_device(shown, at, device))
}

fn lost_device(shown: &Snapshot, at: DeviceIndex, device: &DeviceView) -> Diagnosis {
    let text = format!("{} is lost; other devices serve its members", device.name);
    let regain = device.faults_on_demand.then(|| {
        let words = format!("bring it back ({} at the cursor)", device.name);
        Remedy::new(&c::REGAIN_DEVICE, words)
    });
    Diagnosis::new(IncidentKind::DeviceLost(device.name.clone()), Fault, text)
        .caused(
            device
                .loss
                .iter()
                .map(|why| format!("its driver reports: {why}")),
        )
        .caused(unplaced(shown))
        .at(Culprit {
            device: Some(at),
            member: None,
        })
        .helped(regain)
        .helped([remedies::search(), remedies::edit("place members by hand")])
}

/// Returns the members without a worker.
fn unplaced(shown: &Snapshot) -> Option<String> {
    let frame = shown.matrix.frame();
    let has_worker = |name: &str| {
        let mut workers = shown.matrix.workers();
        workers.any(|(cell, _)| frame.member(cell.member) == Some(name))
    };
    let names = frame.members.iter().filter(|name| !has_worker(name));
    let names: Vec<&str> = names.map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("no worker is left for {}", names.join(", ")))
}

fn retired_workers(shown: &Snapshot) -> impl Iterator<Item = Diagnosis> + '_ {
    let retired = causes::entries(shown).filter(|(_, entry)| entry.retired);
    retired.filter_map(|(cell, entry)| {
        let device = &shown.device(cell.device)?.name;
        let member = &shown.member(cell.member)?.name;
        let kind = IncidentKind::WorkerRetired(device.clone(), member.clone());
        let text = format!(
            "the worker of {member} on {device} stopped after {} restarts",
            entry.restarts
        );
        let incident = Diagnosis::new(kind, Fault, text).at(Culprit {
            device: Some(cell.device),
            member: Some(cell.member),
        });
        Some(incident.helped([
            remedies::edit("apply a matrix: it restarts the worker"),
            log(),
        ]))
    })
}

/// Devices that compute more slowly than profiled. If the host is disturbed, that is the cause, and
/// one incident covers all its cores.
fn slow_devices(shown: &Snapshot) -> impl Iterator<Item = Diagnosis> + '_ {
    let slow = causes::slow_workers(shown).into_iter();
    slow.filter_map(|(cell, factor)| {
        let device = shown.device(cell.device)?;
        if is_host_disturbed(shown) && is_on_host(device) {
            return None;
        }
        let member = shown.member(cell.member)?;
        let text = format!(
            "{} is {} slower than its profile for {}",
            device.name,
            format::times(factor),
            member.name
        );
        let slowed = (device.slowdown != 1.0).then(|| {
            let factor = format::times(device.slowdown);
            format!("an operator slowed {} down {factor}", device.name)
        });
        let restore = slowed
            .is_some()
            .then(|| Remedy::new(&c::SLOW_DEVICE, "end the slowdown"));
        let incident = Diagnosis::new(IncidentKind::DeviceSlow(device.name.clone()), Warning, text);
        Some(
            incident
                .caused(causes::busy(shown, cell.device))
                .caused(slowed)
                .caused(causes::queue(member))
                .at(Culprit {
                    device: Some(cell.device),
                    member: None,
                })
                .helped(remedies::proposal(shown))
                .helped(restore)
                .helped([remedies::edit("move members"), remedies::search()]),
        )
    })
}

fn is_on_host(device: &DeviceView) -> bool {
    device.name.starts_with("cpu")
}

fn is_host_disturbed(shown: &Snapshot) -> bool {
    let host = shown.host.as_ref();
    host.is_some_and(|host| !host.disturbances().is_empty())
}

/// A change of models that was refused for want of memory.
fn memory_short(shown: &Snapshot) -> Option<Diagnosis> {
    let change = shown.model_change.as_ref()?;
    let ModelChangeState::Refused(why) = &change.state else {
        return None;
    };
    let codes = [Code::DoesNotFit, Code::MemoryLent, Code::MemoryReserved];
    if !codes.contains(&why.code()) {
        return None;
    }
    let text = format!("memory is short: {}: {why}", change.change);
    let incident = Diagnosis::new(IncidentKind::MemoryShort, Warning, text);
    Some(incident.caused(fullest(shown)).helped([
        remedies::look(Panel::Models, "unload another model there (d)"),
        remedies::edit("smaller batches (-) or int8 (i)"),
    ]))
}

/// Returns the memory space with the least room.
fn fullest(shown: &Snapshot) -> Option<String> {
    let share =
        |device: &DeviceView| device.memory_booked as f64 / device.memory_bytes.max(1) as f64;
    let devices = shown.devices.iter().filter(|device| !device.lost);
    let fullest = devices.max_by(|one, other| share(one).total_cmp(&share(other)))?;
    Some(format!(
        "{}: {} of {} booked",
        fullest.name,
        format::bytes(fullest.memory_booked),
        format::bytes(fullest.memory_bytes)
    ))
}

fn queue_full(shown: &Snapshot) -> Option<Diagnosis> {
    let lately = &shown.lately;
    if lately.refused.requests == 0 {
        return None;
    }
    let over = lately.over.as_secs_f64().max(1.0);
    let text = format!("requests refused: {}", lost_words(&lately.refused, over));
    let longest = causes::longest_queue(shown);
    let device = longest.and_then(|member| causes::busiest_device(shown, member));
    let queue = longest.and_then(|member| causes::queue(shown.member(member)?));
    let busy = device.and_then(|device| causes::busy(shown, device));
    let incident = Diagnosis::new(IncidentKind::QueueFull, Fault, text);
    Some(
        incident
            .caused(queue.into_iter().chain(busy))
            .caused(causes::last_error(shown))
            .at(Culprit {
                device,
                member: longest,
            })
            .helped(remedies::proposal(shown))
            .helped([remedies::search(), remedies::edit("add workers by hand")])
            .helped(remedies::load(shown))
            .helped(remedies::undo(shown)),
    )
}

fn failing(shown: &Snapshot) -> Option<Diagnosis> {
    let lately = &shown.lately;
    if lately.failed.requests == 0 {
        return None;
    }
    let over = lately.over.as_secs_f64().max(1.0);
    let text = format!("requests failed: {}", lost_words(&lately.failed, over));
    let incident = Diagnosis::new(IncidentKind::Failing, Fault, text);
    Some(
        incident
            .caused(causes::last_error(shown))
            .helped(remedies::undo(shown))
            .helped([log(), remedies::edit("change the allocation")]),
    )
}

/// Returns whether the client caused an error of this kind.
fn is_of_client(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::BadInput
            | ErrorKind::NotFound
            | ErrorKind::Method
            | ErrorKind::TooLarge
            | ErrorKind::Unsupported
            | ErrorKind::Unauthenticated
            | ErrorKind::Forbidden
            | ErrorKind::Slow
    )
}

fn bad_requests(shown: &Snapshot) -> Option<Diagnosis> {
    let errors = &shown.errors;
    let bad = errors.counts.iter().filter(|e| is_of_client(e.key.reason));
    let count: u64 = bad.map(ErrorCount::lately).sum();
    if count < BAD {
        return None;
    }
    let last = errors.last.iter().find(|e| is_of_client(e.key.reason));
    let sender = last.map_or(String::new(), |last| {
        format!("; the last from {}", last.sender)
    });
    let text = format!(
        "clients sent {} invalid requests in the last minute{sender}",
        format::grouped(count)
    );
    let message = last.map(|last| format!("its error: {}", last.message));
    let incident = Diagnosis::new(IncidentKind::BadRequests, Warning, text);
    Some(incident.caused(message).helped([remedies::look(
        Panel::Clients,
        "who sends them, and which errors they get",
    )]))
}

fn host_busy(shown: &Snapshot) -> Option<Diagnosis> {
    let host = shown.host.as_ref()?;
    let causes = host.disturbances();
    let gravest = causes.first()?;
    let window = format::seconds(host.load.window);
    let text = format!("the host is busy: {gravest} (last {window})");
    let incident = Diagnosis::new(IncidentKind::HostBusy, Warning, text);
    let others = causes.iter().skip(1).map(ToString::to_string);
    let remedy = advice(gravest, shown, &host.load);
    Some(
        incident
            .caused(others)
            .caused([remedy])
            .helped(remedies::proposal(shown))
            .helped([remedies::edit("move members, or compute in int8 (i)")])
            .helped(remedies::load(shown)),
    )
}

fn objective_missed(shown: &Snapshot) -> Option<Diagnosis> {
    let missed = MissedObjective::from_snapshot(shown)?;
    let incident = Diagnosis::new(IncidentKind::ObjectiveMissed, Warning, missed.text());
    let longest = causes::longest_queue(shown);
    let queue = longest.and_then(|member| causes::queue(shown.member(member)?));
    Some(
        incident
            .caused(missed.burn_rate())
            .caused(queue)
            .helped(remedies::proposal(shown))
            .helped(remedies::undo(shown))
            .helped([
                remedies::search(),
                remedies::look(Panel::Latency, "where the time goes"),
            ])
            .helped(remedies::load(shown)),
    )
}

fn log() -> Remedy {
    remedies::look(Panel::Log, "read the log")
}
