//! Network clients in words: addresses, callers, and calls by model.

use divisi_session::{
    CallerFigures, CatalogueView, ErrorKey, ErrorKind, ErrorOutcome, ErrorSubject, ModelCallers,
    RequestError, Snapshot,
};

use super::format;

/// Returns a line each for the addresses, the callers and the errors.
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
            "caller {}: {:.1} calls/s in {rate}; {} calls and {} errors in {window}",
            caller.name, figures.per_second, figures.calls, figures.failed
        )
    }));
    lines.extend(shown.errors.counts.iter().map(|error| {
        let (words, lately) = (error_words(error.key), error.lately());
        let total = error.total;
        format!("errors, {words}: {lately} in {window}, {total} since the start")
    }));
    let last = shown.errors.last.iter().take(LAST);
    lines.extend(last.map(last_error));
    lines
}

/// The number of last errors in words.
const LAST: usize = 8;

/// Returns an error with its time and client.
pub(crate) fn last_error(error: &RequestError) -> String {
    let model = error.model.as_ref();
    let model = model.map_or(String::new(), |m| {
        format!(" to {} version {}", m.name, m.version)
    });
    format!(
        "error at {} of {}{model}: {}: {}",
        format::utc(error.at_ms),
        error.sender,
        error_words(error.key),
        error.message
    )
}

/// Returns a kind of error in words, such as `refused: bad input`.
pub(crate) fn error_words(key: ErrorKey) -> String {
    let reason = match (key.subject, key.reason) {
        (ErrorSubject::Request, ErrorKind::NotFound) => "no such model",
        (_, reason) => reason.words(),
    };
    match (key.subject, key.outcome) {
        (ErrorSubject::Call, _) => format!("other calls: {reason}"),
        (_, ErrorOutcome::Refused) => format!("refused: {reason}"),
        (_, ErrorOutcome::Failed) => format!("failed: {reason}"),
        (_, ErrorOutcome::Cancelled) => reason.to_owned(),
    }
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
        let words = callers(model, asked).join("; ");
        Some(format!("calls of {name}{version} in {window}: {words}"))
    });
    lines.collect()
}

/// Returns the callers of a model, then its errors.
fn callers(model: &CatalogueView, asked: &ModelCallers) -> Vec<String> {
    let words = |name: &str, figures: &CallerFigures| {
        format!("{name} {} calls, {} errors", figures.calls, figures.failed)
    };
    let listed = asked.callers.iter();
    let mut all: Vec<String> = listed.map(|c| words(&c.name, &c.figures)).collect();
    let others = asked.others.as_ref();
    all.extend(others.map(|(count, figures)| words(&format!("{count} others"), figures)));
    let errors = model.errors.iter();
    all.extend(errors.map(|(key, count)| format!("{count} {}", error_words(*key))));
    all
}
