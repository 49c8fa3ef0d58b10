//! The header: the served ensemble, its condition, and problems.

mod door;
mod signs;

pub(super) use signs::watching;

use std::time::Duration;

use divisi_runtime::words::counted;
use divisi_session::{Lost, Snapshot};

use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::{Condition, MissedObjective, Severity, format, load_words, status};
use signs::HeaderPiece;

/// Pieces that are shown together or not at all.
type HeaderGroup = Vec<HeaderPiece>;

/// Draws one or two lines, as much as fits.
pub(crate) fn draw(painter: &mut Painter<'_>, model: &Model) {
    let width = painter.width();
    if painter.height() < 2 {
        return line(painter, 0, &only(model, width));
    }
    let settings = settings(model);
    let taken_by_settings = taken(&alone(settings.main.clone()));
    let (mut first, mut second) = (first(model, width), Vec::new());
    let (faults, others) = troubles(model);
    second.extend(alone(faults));
    // Someone who attaches to a server does not know its settings. Wide screens have room for them
    // after the signs.
    let first_settings = width < ROOMY && model.snapshot.audience.attached;
    if first_settings {
        second.extend(alone(signs::access(model)));
        second.extend(alone(settings.main.clone()));
        let room = width.saturating_sub(taken_by_settings);
        second.extend(beside(model, Vec::new(), others, room));
    } else {
        second.extend(beside(model, signs::access(model), others, width));
    }
    place_objective(model, &mut first, &mut second, width);
    line(painter, 0, &first);
    door::add(&mut second, model, width);
    if !first_settings {
        second.extend(alone(settings.main));
    }
    second.extend(alone(settings.further));
    let hang_up = model
        .hang_up()
        .map(|hang_up| (hang_up.hint().to_owned(), Role::Dim));
    second.extend(alone(hang_up));
    line(painter, 1, &second);
}

/// The width from which the second line has room for long signs.
const ROOMY: u16 = 110;

/// Returns the groups for a single line. A warning about missing protection is next to the name,
/// which is cut for it.
fn only(model: &Model, width: u16) -> Vec<HeaderGroup> {
    let (mut name, role) = identity(model, false);
    let unprotected = door::unprotected(model);
    if unprotected.is_some() {
        name = format::fit_name(&name, width / 2);
    }
    let mut groups = vec![vec![(name, role)]];
    groups.extend(unprotected);
    groups.extend(alone([simulated(model), health(model), rate(model)]));
    let (faults, others) = troubles(model);
    groups.extend(alone(faults));
    groups.extend(beside(model, signs::access(model), others, 0));
    groups
}

/// Returns a group for each piece.
fn alone(pieces: impl IntoIterator<Item = HeaderPiece>) -> Vec<HeaderGroup> {
    pieces.into_iter().map(|piece| vec![piece]).collect()
}

/// The places of the groups to leave out first if the first line is too narrow: the program's name,
/// then the group that a panel also shows.
const GOES: [usize; 2] = [0, 4];

/// Returns the groups of the first line: the served ensemble and its performance. Latencies are one
/// group, since a part of them would be of little use.
fn first(model: &Model, width: u16) -> Vec<HeaderGroup> {
    let name = (model.title.clone(), Role::Focus);
    let mut groups = alone([
        name,
        identity(model, width >= 96),
        simulated(model),
        health(model),
        rate(model),
    ]);
    groups.push(latency(model));
    groups.extend(alone(waiting(&model.snapshot)));
    for place in GOES {
        if taken(&groups) > width + 1 {
            groups[place].clear();
        }
    }
    groups
}

/// Moves the objective to the first line if there is room, else to the front of the second line.
fn place_objective(
    model: &Model,
    first: &mut Vec<HeaderGroup>,
    second: &mut Vec<HeaderGroup>,
    width: u16,
) {
    let groups = alone(objective(model));
    match taken(first) + taken(&groups) <= width + 1 {
        true => first.extend(groups),
        false => drop(second.splice(0..0, groups)),
    }
}

/// Returns the groups on other events: a disturbed host, editing rights, probation, recording, and
/// other `warnings`.
fn beside(
    model: &Model,
    access: Vec<HeaderPiece>,
    warnings: Vec<HeaderPiece>,
    width: u16,
) -> Vec<HeaderGroup> {
    let mut pieces: Vec<HeaderPiece> = signs::host(model).into_iter().collect();
    pieces.extend(access);
    let before = taken(&alone(pieces.iter().cloned()));
    pieces.extend(signs::signs(model, (width + 1).saturating_sub(before)));
    pieces.extend(warnings);
    alone(pieces)
}

/// Returns the width of the groups with the gaps between them.
fn taken(groups: &[HeaderGroup]) -> u16 {
    let there = groups.iter().filter(|g| wide(g) > 0);
    there.map(|g| wide(g) + 2).sum()
}

fn wide(group: &HeaderGroup) -> u16 {
    group.iter().map(|piece| format::width(&piece.0)).sum()
}

/// Draws the groups. If they do not fit, groups are left out from the last, but problems are cut
/// instead.
fn line(painter: &mut Painter<'_>, y: u16, groups: &[HeaderGroup]) {
    let mut x = 1;
    for group in groups.iter().filter(|g| wide(g) > 0) {
        let room = painter.width().saturating_sub(x);
        let bad = group.iter().any(|piece| piece.1 == Role::Bad);
        let needed = x == 1 || (bad && room >= 12);
        if wide(group) > room && !needed {
            continue;
        }
        for (text, role) in group {
            let text = format::fit(text, painter.width().saturating_sub(x));
            x = painter.text(x, y, &text, *role);
        }
        x += 2;
    }
}

fn identity(model: &Model, long: bool) -> HeaderPiece {
    let shown = &model.snapshot;
    let text = match long {
        true => format!(
            "{} · {} · {}",
            shown.ensemble,
            counted(shown.members.len(), "member"),
            counted(shown.devices.len(), "device")
        ),
        false => shown.ensemble.to_string(),
    };
    (text, Role::Strong)
}

/// Returns a permanent mark for simulated devices, whose answers mean nothing.
fn simulated(model: &Model) -> HeaderPiece {
    let text = if model.snapshot.simulated {
        "SIMULATED"
    } else {
        ""
    };
    (text.to_owned(), Role::Warn)
}

fn health(model: &Model) -> HeaderPiece {
    let now = Condition::from_snapshot(&model.snapshot);
    match (now, now.severity()) {
        (Condition::Serving, _) if model.snapshot.playback.is_some() => {
            ("recording".to_owned(), Role::Accent)
        }
        (Condition::Starting, _) => ("○ starting".to_owned(), Role::Warn),
        (_, None) => (format!("● {}", now.short()), Role::Good),
        (_, Some(grave)) => (
            format!("{} {}", grave.sign(), now.short()),
            Role::from(grave),
        ),
    }
}

fn rate(model: &Model) -> HeaderPiece {
    if model.snapshot.audience.lost {
        return (String::new(), Role::Dim);
    }
    let samples = model.snapshot.throughput.samples_per_s.max(0.0).round() as u64;
    (
        format!("{:>6} samples/s", format::grouped(samples)),
        Role::Strong,
    )
}

/// Returns the latencies of the last seconds with this time, marked if there were too few requests.
fn latency(model: &Model) -> HeaderGroup {
    let latency = &model.snapshot.latency.now.summary;
    let value = |share: f64, micros| match latency.is_enough_for(share) {
        _ if latency.count == 0 => ("–".to_owned(), Role::Dim),
        true => (format::millis(micros), Role::Text),
        false => (format!("~{}", format::millis(micros)), Role::Dim),
    };
    let ((p50, role), (p99, slow)) = (value(0.5, latency.p50), value(0.99, latency.p99));
    vec![
        (format!("{}  ", format::seconds(model.window())), Role::Dim),
        (format!("p50 {p50:>4}  "), role),
        (format!("p99 {p99:>4} ms"), slow),
    ]
}

/// Returns the service objective, if one is set, with the share of answered requests that met it.
fn objective(model: &Model) -> Option<HeaderPiece> {
    let shown = &model.snapshot;
    let missed = matches!(
        MissedObjective::from_snapshot(shown),
        Some(MissedObjective::Latency(..))
    );
    let role = if missed { Role::Warn } else { Role::Text };
    Some((crate::text::objective(shown)?, role))
}

/// The minimum waiting time to report.
const SHOWS: Duration = Duration::from_millis(100);

/// Returns the oldest waiting request, if it has waited longer than any recent answer took.
fn waiting(shown: &Snapshot) -> Option<HeaderPiece> {
    let oldest = shown.oldest_waiting.filter(|oldest| *oldest >= SHOWS)?;
    let longest = Duration::from_micros(shown.latency.now.summary.max);
    (oldest > longest).then(|| {
        (
            format!("oldest waiting {}", format::duration(oldest)),
            Role::Warn,
        )
    })
}

/// The settings in words.
struct HeaderSettings {
    /// Policy and load, which every width shows.
    main: [HeaderPiece; 2],
    further: [HeaderPiece; 4],
}

fn settings(model: &Model) -> HeaderSettings {
    let shown = &model.snapshot;
    let load = match load_words(&shown.load) {
        Some(load) if shown.load.resting => format!("load {load} paused for the search"),
        Some(load) => format!("load {load}"),
        None => "no load".to_owned(),
    };
    let figures = shown.quality.as_ref().map(|q| &q.figures[..]);
    let quality = figures.and_then(<[_]>::first).map(|figure| {
        let (name, text) = (figure.measure.name(), format::quality(*figure));
        let text = text.trim().replace('%', " %");
        format!("{name} {text} so far")
    });
    let answered = format!("{} answered", format::grouped(shown.counters.answered));
    HeaderSettings {
        main: [
            (format!("policy {}", status::policy(shown)), Role::Text),
            (load, Role::Text),
        ],
        further: [
            (precision(model), Role::Text),
            (layout(model), Role::Dim),
            (quality.unwrap_or_default(), Role::Text),
            (answered, Role::Dim),
        ],
    }
}

/// Returns the precision of GPUs, if there are any.
fn precision(model: &Model) -> String {
    let precision = model.snapshot.precision;
    precision.map_or_else(String::new, |p| p.to_string())
}

/// Returns the name of the layout, unless it is the first.
fn layout(model: &Model) -> String {
    let first = model.arrangement.layouts().first();
    match first.is_some_and(|l| l.name == model.arrangement.name()) {
        true => String::new(),
        false => format!("layout {}", model.arrangement.name()),
    }
}

/// Returns the faults, such as lost requests, then the warnings: synthetic weights and other
/// counters above zero.
fn troubles(model: &Model) -> (Vec<HeaderPiece>, Vec<HeaderPiece>) {
    let shown = &model.snapshot;
    let lately = &shown.lately;
    let mut pieces = Vec::new();
    if shown.synthetic {
        pieces.push(("synthetic weights".to_owned(), Role::Warn));
    }
    let counters = [
        ("refused", shown.counters.refused, grave(&lately.refused)),
        ("failed", shown.counters.failed, grave(&lately.failed)),
        ("cancelled", shown.counters.cancelled, Severity::Warning),
        ("restarts", shown.counters.worker_restarts, Severity::Fault),
        ("spans lost", model.lost_spans, Severity::Warning),
    ];
    // Shown once for all of them, if there is room.
    let mut since = if model.area.width >= 96 {
        " so far"
    } else {
        ""
    };
    for (name, count, severity) in counters.into_iter().filter(|c| c.1 > 0) {
        let count = format::short(count as f64);
        pieces.push((format!("{name} {count}{since}"), Role::from(severity)));
        since = "";
    }
    let lost = |p: &HeaderPiece| p.1 == Role::from(Severity::Fault);
    pieces.into_iter().partition(lost)
}

/// Returns the severity of lost requests: a fault if some were lost recently, else a warning.
fn grave(lost: &Lost) -> Severity {
    match lost.requests {
        0 => Severity::Warning,
        _ => Severity::Fault,
    }
}
