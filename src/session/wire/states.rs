//! States as they are received: checks that the parts of a decoded snapshot are consistent, and
//! whether it differs from the last one.

use crate::{FigureHistory, FigureRecord, RequestRecord, SearchView, Snapshot};
use divisi_model::allocation::{Cell, Matrix};

use super::WireError;

/// Returns whether `shown` differs from the last state. The time, the load of the host and the last
/// second do not count, since they change even while nothing happens. They are set in `last`.
pub(crate) fn has_moved(last: &mut Option<Snapshot>, shown: &Snapshot) -> bool {
    let Some(last) = last else { return true };
    last.now = shown.now;
    last.second.clone_from(&shown.second);
    last.host.clone_from(&shown.host);
    last != shown
}

/// Returns a decoded snapshot if its parts are consistent.
///
/// # Errors
/// Returns an error that names the inconsistent part.
pub fn checked(shown: Snapshot) -> Result<Snapshot, WireError> {
    check(&shown).map(|()| shown)
}

/// Returns the history of decoded records.
///
/// # Errors
/// Returns an error if there are too many records or one has impossible numbers.
pub(crate) fn checked_history(records: Vec<FigureRecord>) -> Result<FigureHistory, WireError> {
    if !FigureHistory::has_room_for(records.len()) {
        let found = records.len();
        return Err(WireError::Damaged(format!("{found} records of figures")));
    }
    checked_records(records.iter())?;
    Ok(FigureHistory::from_records(records))
}

fn checked_records<'a>(records: impl Iterator<Item = &'a FigureRecord>) -> Result<(), WireError> {
    let mut records = records;
    match records.all(FigureRecord::is_valid) {
        true => Ok(()),
        false => Err(WireError::Damaged("impossible figures".into())),
    }
}

/// A bound on times in seconds that leaves room for additions.
const END_OF_TIME: u64 = 1 << 40;

/// More than any engine keeps.
const MOST_LINES: usize = 4096;

/// Checks that the parts of a decoded snapshot are consistent, since drawing it looks up entries by
/// position.
fn check(shown: &Snapshot) -> Result<(), WireError> {
    if shown.now.as_secs() >= END_OF_TIME {
        return Err(WireError::Damaged("a time out of range".into()));
    }
    let second = shown.second.iter();
    checked_records(second)?;
    bounded("lines of log", shown.log.len())?;
    bounded("marks", shown.marks.len())?;
    bounded("past setups", shown.history.len())?;
    let frame = shown.matrix.frame();
    let (devices, members) = (frame.devices.len(), frame.members.len());
    same("devices", shown.devices.len(), devices)?;
    same("members", shown.members.len(), members)?;
    same("entries", shown.entries.len(), devices * members)?;
    let combination = shown.combination.check(members);
    combination.map_err(|e| WireError::Damaged(e.to_string()))?;
    let shares = shown.devices.iter().filter_map(|d| d.shares_memory_of);
    if shares.into_iter().any(|of| of.get() >= devices) {
        return Err(WireError::Damaged("memory of an unknown device".into()));
    }
    let fits = |cell: &Cell| cell.device.get() < devices && cell.member.get() < members;
    let alike = |matrix: &Matrix| {
        let other = matrix.frame();
        (other.devices.len(), other.members.len()) == (devices, members)
    };
    let host = shown.host.as_ref();
    bounded("cores", host.map_or(0, |host| host.load.cores.len()))?;
    if let Some(door) = &shown.door {
        bounded("addresses", door.addresses.len())?;
        bounded("callers", door.callers.len())?;
    }
    bounded("kinds of errors", shown.errors.counts.len())?;
    bounded("last errors", shown.errors.last.len())?;
    bounded("slow requests", shown.requests.slowest.len())?;
    bounded("failed requests", shown.requests.failed.len())?;
    let requests = &shown.requests;
    for record in requests.slowest.iter().chain(&requests.failed) {
        check_request(record, devices, members)?;
    }
    for count in &shown.errors.counts {
        bounded("seconds of errors", count.series.len())?;
    }
    for model in &shown.models {
        let callers = model.asked.as_ref().map_or(0, |asked| asked.callers.len());
        bounded("callers", callers)?;
        bounded("kinds of errors", model.errors.len())?;
    }
    bounded("running batches", shown.under_way.len())?;
    bounded("models", shown.graphs.len())?;
    for graph in &shown.graphs {
        bounded("steps", graph.steps.len())?;
        if !graph.is_ordered() {
            return Err(WireError::Damaged(
                "a step that depends on a later step".into(),
            ));
        }
    }
    let proposal = shown.proposal.as_ref();
    let search = shown.search.as_ref();
    let whole = proposal.is_none_or(|p| fits(&p.cell) && alike(&p.matrix))
        && shown
            .probation
            .as_ref()
            .map(|probation| &probation.fallback)
            .is_none_or(|fallback| fallback.models != shown.copies || alike(&fallback.matrix))
        && search.is_none_or(|s| search_fits(s, &fits, &alike));
    match whole {
        true => Ok(()),
        false => Err(WireError::Damaged("an entry outside the matrix".into())),
    }
}

/// Checks that times can be added and that the place of the last run exists.
fn check_request(record: &RequestRecord, devices: usize, members: usize) -> Result<(), WireError> {
    let split = &record.split;
    let times = [
        record.ended,
        record.latency,
        record.received.unwrap_or_default(),
        split.admission,
        split.queueing,
        split.batching,
        split.copying,
        split.computing,
        split.combining,
    ];
    if times.iter().any(|time| time.as_secs() >= END_OF_TIME) {
        return Err(WireError::Damaged("a time out of range".into()));
    }
    let place = record.last.as_ref().and_then(|last| last.place);
    match place.is_none_or(|(device, member)| device.get() < devices && member.get() < members) {
        true => Ok(()),
        false => Err(WireError::Damaged("a run outside the matrix".into())),
    }
}

fn search_fits(
    search: &SearchView,
    fits: &impl Fn(&Cell) -> bool,
    alike: &impl Fn(&Matrix) -> bool,
) -> bool {
    let progress = &search.progress;
    progress.best.as_ref().is_none_or(alike)
        && progress.tried.iter().all(|t| fits(&t.cell))
        && progress
            .accepted
            .iter()
            .all(|a| a.changes.iter().all(|(cell, _)| fits(cell)))
}

/// Checks the length of lists that the console only trims when it draws them.
fn bounded(what: &str, found: usize) -> Result<(), WireError> {
    match found <= MOST_LINES {
        true => Ok(()),
        false => Err(WireError::Damaged(format!(
            "{found} {what}, expected at most {MOST_LINES}"
        ))),
    }
}

fn same(what: &str, found: usize, expected: usize) -> Result<(), WireError> {
    match found == expected {
        true => Ok(()),
        false => Err(WireError::Damaged(format!(
            "{found} {what}, expected {expected}"
        ))),
    }
}
