//! Network clients in words: addresses, callers, and calls by model.

use divisi_session::{CallerFigures, ModelCallers, Snapshot};

use super::format;

/// Returns a line each for the addresses, the callers and the refusals.
pub(super) fn door(shown: &Snapshot) -> Vec<String> {
    let Some(door) = &shown.door else {
        return Vec::new();
    };
    if !door.is_open() {
        return vec!["clients: not accepting connections; listen on accepts them".into()];
    }
    let (window, rate) = (
        format::counted_over(door.window),
        format::counted_over(door.rate_window),
    );
    let addresses = door.addresses.iter().map(|at| {
        let lack = at
            .lacks()
            .map_or(String::new(), |lack| format!(" ({lack})"));
        format!("{} {}{lack}", at.protocol.name(), at.address)
    });
    let (http, grpc) = (door.http_connections, door.grpc_connections);
    let mut lines = vec![format!(
        "clients: {}; {http} connected by HTTP, {grpc} by gRPC",
        addresses.collect::<Vec<_>>().join(", ")
    )];
    lines.extend(door.callers.iter().map(|caller| {
        let figures = &caller.figures;
        format!(
            "caller {}: {:.1} calls/s in {rate}; {} calls and {} failed in {window}",
            caller.name, figures.per_second, figures.calls, figures.failed
        )
    }));
    lines.extend(door.refusals.iter().map(|refused| {
        let (reason, lately) = (&refused.reason, refused.lately());
        let total = refused.total;
        format!("refused, {reason}: {lately} in {window}, {total} since listening began")
    }));
    lines
}

/// Returns a line for each model with its callers.
pub(super) fn of_models(shown: &Snapshot) -> Vec<String> {
    let Some(door) = &shown.door else {
        return Vec::new();
    };
    let window = format::counted_over(door.window);
    let models = shown.models.iter();
    let lines = models.filter_map(|model| {
        let asked = model.asked.as_ref()?;
        let version = model.version.map(|version| format!(" version {version}"));
        let (name, version) = (&model.name, version.unwrap_or_default());
        let words = callers(asked).join("; ");
        Some(format!("calls of {name}{version} in {window}: {words}"))
    });
    lines.collect()
}

/// Returns the callers of a model, then its refused or failed calls.
fn callers(asked: &ModelCallers) -> Vec<String> {
    let words = |name: &str, figures: &CallerFigures| {
        format!("{name} {} calls, {} failed", figures.calls, figures.failed)
    };
    let listed = asked.callers.iter();
    let mut all: Vec<String> = listed.map(|c| words(&c.name, &c.figures)).collect();
    let others = asked.others.as_ref();
    all.extend(others.map(|(count, figures)| words(&format!("{count} others"), figures)));
    let refusals = asked.refusals.iter();
    all.extend(refusals.map(|(reason, count)| format!("{count} {reason}")));
    all
}
