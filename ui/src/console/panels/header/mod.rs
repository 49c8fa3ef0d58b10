//! What serves, how it goes, and what is not as it should be.

mod signs;

pub use signs::probation;

use std::time::Duration;

use divisi::metrics::WINDOW;
use divisi::session::{Lost, Snapshot};

use crate::console::condition::Condition;
use crate::console::model::Model;
use crate::console::pen::Pen;
use crate::console::severity::Severity;
use crate::console::theme::Role;
use crate::console::{format, load};

pub type Piece = (String, Role);

/// Draws one or two lines, as many pieces as fit.
pub fn draw(pen: &mut Pen<'_>, model: &Model) {
    if pen.height() < 2 {
        let mut pieces = vec![identity(model, false), simulated(model)];
        pieces.extend([health(model), rate(model)]);
        let (faults, others) = troubles(model);
        pieces.extend(faults);
        pieces.extend(signs::signs(model));
        pieces.extend(others);
        return line(pen, 0, &pieces);
    }
    let long = pen.width() >= 96;
    let mut first = vec![
        (model.title.clone(), Role::Focus),
        identity(model, long),
        simulated(model),
        health(model),
    ];
    first.push(rate(model));
    first.extend(latency(&model.snapshot));
    line(pen, 0, &first);
    let (faults, others) = troubles(model);
    let mut second = faults;
    second.extend(signs::signs(model));
    second.extend(others);
    second.extend(settings(model));
    line(pen, 1, &second);
}

/// Pieces that do not fit are left out, from the last; what is wrong is cut instead.
fn line(pen: &mut Pen<'_>, y: u16, pieces: &[Piece]) {
    let mut x = 1;
    for (text, role) in pieces.iter().filter(|p| !p.0.is_empty()) {
        let room = pen.width().saturating_sub(x);
        let needed = x == 1 || (*role == Role::Bad && room >= 12);
        if format::width(text) > room && !needed {
            continue;
        }
        let text = format::fit(text, room);
        x = pen.text(x, y, &text, *role) + 2;
    }
}

fn identity(model: &Model, long: bool) -> Piece {
    let shown = &model.snapshot;
    let text = match long {
        true => format!(
            "{} · {} members · {} devices",
            shown.ensemble,
            shown.members.len(),
            shown.devices.len()
        ),
        false => shown.ensemble.to_string(),
    };
    (text, Role::Strong)
}

/// Answers of simulated devices mean nothing, whatever else the screen says.
fn simulated(model: &Model) -> Piece {
    let text = if model.snapshot.simulated {
        "SIMULATED"
    } else {
        ""
    };
    (text.to_owned(), Role::Warn)
}

fn health(model: &Model) -> Piece {
    let now = Condition::of(&model.snapshot);
    match (now, now.severity()) {
        (Condition::Starting, _) => ("○ starting".to_owned(), Role::Warn),
        (_, None) => (format!("● {}", now.short()), Role::Good),
        (_, Some(grave)) => (format!("{} {}", grave.sign(), now.short()), grave.role()),
    }
}

fn rate(model: &Model) -> Piece {
    let samples = model.snapshot.throughput.samples_per_s.max(0.0).round() as u64;
    (
        format!("{:>6} samples/s", format::grouped(samples)),
        Role::Strong,
    )
}

/// Of the last seconds, whose number is said; marked where too few requests tell.
fn latency(shown: &Snapshot) -> Vec<Piece> {
    let latency = &shown.latency.now.summary;
    let value = |share: f64, micros| match latency.is_enough_for(share) {
        _ if latency.count == 0 => ("–".to_owned(), Role::Dim),
        true => (format::millis(micros), Role::Text),
        false => (format!("~{}", format::millis(micros)), Role::Dim),
    };
    let ((p50, role), (p99, slow)) = (value(0.5, latency.p50), value(0.99, latency.p99));
    let mut pieces = vec![
        (format!("p50 {p50:>4}"), role),
        (format!("p99 {p99:>4} ms"), slow),
    ];
    pieces.extend(waiting(shown));
    pieces.push((format!("in {}", format::seconds(WINDOW)), Role::Dim));
    pieces
}

/// Waiting that no answer shows yet is not waited for this long.
const SHOWS: Duration = Duration::from_millis(100);

/// A request that has waited longer than any that was answered lately took.
fn waiting(shown: &Snapshot) -> Option<Piece> {
    let oldest = shown.oldest_waiting.filter(|oldest| *oldest >= SHOWS)?;
    let longest = Duration::from_micros(shown.latency.now.summary.max);
    (oldest > longest).then(|| {
        (
            format!("oldest waits {}", format::duration(oldest)),
            Role::Warn,
        )
    })
}

fn settings(model: &Model) -> Vec<Piece> {
    let shown = &model.snapshot;
    let load = match load::words(&shown.load) {
        Some(load) if shown.load.resting => format!("load {load} rests while the search measures"),
        Some(load) => format!("load {load}"),
        None => "no load".to_owned(),
    };
    let accuracy = shown.accuracy.filter(|a| a.answered > 0).map(|a| {
        format!(
            "accuracy {:.1} %",
            100.0 * a.right as f64 / a.answered as f64
        )
    });
    vec![
        (format!("policy {}", shown.policy), Role::Text),
        (precision(model), Role::Text),
        (load, Role::Text),
        (layout(model), Role::Dim),
        (accuracy.unwrap_or_default(), Role::Text),
        (
            format!("{} answered", format::grouped(shown.counters.answered)),
            Role::Dim,
        ),
    ]
}

/// In which numbers GPUs compute, where there are any.
fn precision(model: &Model) -> String {
    let precision = model.snapshot.precision;
    precision.map_or_else(String::new, |p| p.to_string())
}

/// Which layout is shown, where it is not the first.
fn layout(model: &Model) -> String {
    let first = model.arrangement.layouts().first();
    match first.is_some_and(|l| l.name == model.arrangement.name()) {
        true => String::new(),
        false => format!("layout {}", model.arrangement.name()),
    }
}

/// What should not be overlooked: requests that are being lost, then made-up weights and
/// other counters that are not zero.
fn troubles(model: &Model) -> (Vec<Piece>, Vec<Piece>) {
    let shown = &model.snapshot;
    let lately = &shown.lately;
    let mut pieces = Vec::new();
    if model.read_only {
        pieces.push(("read-only".to_owned(), Role::Warn));
    }
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
    for (name, count, severity) in counters.into_iter().filter(|c| c.1 > 0) {
        let text = format!("{name} {}", format::short(count as f64));
        pieces.push((text, severity.role()));
    }
    let lost = |p: &Piece| p.1 == Severity::Fault.role();
    pieces.into_iter().partition(lost)
}

/// What is being lost is a fault; what was lost before is to be looked at.
fn grave(lost: &Lost) -> Severity {
    match lost.requests {
        0 => Severity::Warning,
        _ => Severity::Fault,
    }
}
