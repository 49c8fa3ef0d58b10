//! How the limits of a probation stand, in words.

use divisi::session::{Check, Limited};

use super::format;

/// In few signs: `p99 8.1 ms ≤ 12.0 ms (was 10.0 ms), 318 missing`.
pub fn short(check: &Check) -> String {
    let sign = match check.what {
        Limited::P99 | Limited::Failures => "≤",
        Limited::Accuracy => "≥",
    };
    let (name, limit) = (check.what.name(), check.what.text(check.limit));
    let missing = match missing(check) {
        Some(count) => format!(", {count} missing"),
        None => String::new(),
    };
    format!(
        "{name} {} {sign} {limit} ({}){missing}",
        value(check),
        was(check)
    )
}

/// In a sentence: how many are beyond the limit, how many may be, how many are missing.
pub fn long(check: &Check) -> String {
    let (asked, beyond) = match check.what {
        Limited::P99 => ("at most", "requests above it"),
        Limited::Failures => ("at most", "requests failed"),
        Limited::Accuracy => ("at least", "samples wrong"),
    };
    let missing = match missing(check) {
        Some(count) => format!("{count} more are needed to judge it"),
        None => "enough to judge it".into(),
    };
    format!(
        "{} {}, {asked} {}, {}; {} of {} {beyond}, {} may be; {missing}",
        check.what.name(),
        value(check),
        check.what.text(check.limit),
        was(check),
        format::grouped(check.beyond),
        format::grouped(check.counted),
        format::permille(check.allowed).trim(),
    )
}

fn value(check: &Check) -> String {
    let value = check.value.map(|v| check.what.text(v));
    value.unwrap_or_else(|| "–".into())
}

fn was(check: &Check) -> String {
    match check.baseline {
        Some(before) => format!("was {}", check.what.text(before)),
        None => "not known before".into(),
    }
}

fn missing(check: &Check) -> Option<String> {
    // Beyond this it is a way to say that the time before was too short.
    const MANY: u64 = 1_000_000_000;
    (check.missing > 0).then(|| match check.missing {
        n if n > MANY => "too many".into(),
        n => format::grouped(n),
    })
}
