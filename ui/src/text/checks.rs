//! The limits of a probation, and their current values, in words.

use divisi_session::{Check, Limited};

use super::format;

/// Returns a short form: `p99 8.1 ms ≤ 12.0 ms (was 10.0 ms), 318 missing`.
pub(crate) fn short(check: &Check) -> String {
    let (name, limit) = (check.what.name(), check.what.text(check.limit));
    let missing = match missing(check) {
        Some(count) => format!(", {count} missing"),
        None => String::new(),
    };
    let (value, sign, was) = (value(check), sign(check), was(check));
    format!("{name} {value} {sign} {limit} ({was}){missing}")
}

/// Returns the shortest form: `p99 8.1 ≤ 12.0 ms`.
pub(crate) fn brief(check: &Check) -> String {
    let name = match check.what {
        Limited::P99 => "p99",
        Limited::Failures => "failed",
        Limited::Goals => "missed",
        Limited::Accuracy => "right",
    };
    let value = value(check);
    let value = value.split(' ').next().unwrap_or_default();
    let limit = check.what.text(check.limit);
    format!("{name} {value} {} {limit}", sign(check))
}

fn sign(check: &Check) -> &'static str {
    match check.what {
        Limited::P99 | Limited::Failures | Limited::Goals => "≤",
        Limited::Accuracy => "≥",
    }
}

/// Returns a sentence: the number beyond the limit, the permitted share, and the number still
/// missing.
pub(crate) fn long(check: &Check) -> String {
    let missing = match missing(check) {
        Some(count) => format!("{count} more needed for a decision"),
        None => "enough for a decision".into(),
    };
    format!("{}; {missing}", standing(check))
}

/// Returns the sentence for a line that may be cut at its end: `318 missing · p99 8.1 ms, …`.
pub(crate) fn missing_first(check: &Check) -> String {
    match missing(check) {
        Some(count) => format!("{count} missing · {}", standing(check)),
        None => standing(check),
    }
}

fn standing(check: &Check) -> String {
    let (asked, beyond) = match check.what {
        // The requested limit, rounded to the counted latencies.
        Limited::P99 => ("limit", "requests above it"),
        Limited::Failures => ("at most", "requests failed"),
        Limited::Goals => ("at most", "queries missed a goal"),
        Limited::Accuracy => ("at least", "samples wrong"),
    };
    format!(
        "{} {}, {asked} {}, {}; {} of {} {beyond}, {} allowed",
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
        None => "unknown before".into(),
    }
}

fn missing(check: &Check) -> Option<String> {
    // A larger number means that the time before was too short.
    const MANY: u64 = 1_000_000_000;
    (check.missing > 0).then(|| match check.missing {
        n if n > MANY => "too many".into(),
        n => format::grouped(n),
    })
}
