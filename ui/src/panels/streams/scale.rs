//! Times from microseconds to minutes, as text.

use std::time::Duration;

use crate::text::format;

/// A round length of time: `200 µs`, `50 ms`, `5 s`, `10 min`.
pub(super) fn round(length: Duration) -> String {
    let micros = length.as_micros();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 if micros.is_multiple_of(1000) => format!("{} ms", micros / 1000),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        1_000_000..60_000_000 if micros.is_multiple_of(1_000_000) => {
            format!("{} s", micros / 1_000_000)
        }
        m if m >= 60_000_000 && m.is_multiple_of(60_000_000) => format!("{} min", m / 60_000_000),
        _ => format::duration(length),
    }
}

/// How long a step took, three significant digits: `412 µs`, `12.3 ms`, `1.23 s`.
pub(super) fn taken(time: Duration) -> String {
    let micros = time.as_nanos() as f64 / 1e3;
    let (value, unit) = match micros {
        m if m < 999.5 => (m, "µs"),
        m if m < 999_500.0 => (m / 1e3, "ms"),
        m => (m / 1e6, "s"),
    };
    let digits = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// A moment since the engine's start, as exact as the picture is.
pub(super) fn moment(at: Duration, length: Duration) -> String {
    let digits = match length.as_micros() {
        0..10_000 => 6,
        10_000..60_000_000 => 3,
        _ => 1,
    };
    format!("{:.digits$} s", at.as_secs_f64())
}
