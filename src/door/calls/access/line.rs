//! A call as a line of the access log.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::calls::FinishedCall;

use super::AccessFormat;

/// Appends the line of a call to `to`; `left_out` calls before it have no line.
pub(super) fn write(to: &mut String, call: &FinishedCall, left_out: u64, format: AccessFormat) {
    match format {
        AccessFormat::Json => write_json(to, call, left_out),
        AccessFormat::Text => write_text(to, call, left_out),
    }
    to.push('\n');
}

#[derive(Serialize)]
struct JsonLine<'a> {
    time: String,
    protocol: &'static str,
    call: &'a str,
    client: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    status: u16,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    rows: u64,
    cached: bool,
    latency_us: u64,
    queue_us: u64,
    input_us: u64,
    compute_us: u64,
    output_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
    #[serde(skip_serializing_if = "is_none")]
    left_out: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn write_json(to: &mut String, call: &FinishedCall, left_out: u64) {
    let line = JsonLine {
        time: timestamp(call.began),
        protocol: call.protocol,
        call: &call.call,
        client: call.peer.to_string(),
        key: call.key.as_deref(),
        model: &call.model,
        version: &call.version,
        id: &call.id,
        status: call.status,
        reason: if call.is_answered() { "" } else { &call.reason },
        rows: call.samples,
        cached: call.cached,
        latency_us: micros(call.took),
        queue_us: micros(call.times.queue),
        input_us: micros(call.times.input),
        compute_us: micros(call.times.compute),
        output_us: micros(call.times.output),
        traceparent: call.trace.map(|trace| trace.to_string()),
        left_out,
    };
    // Serializing texts and numbers cannot fail.
    to.push_str(&serde_json::to_string(&line).unwrap_or_default());
}

// Writing to a string cannot fail.

fn write_text(to: &mut String, call: &FinishedCall, left_out: u64) {
    let key = call.key.as_deref().unwrap_or("-");
    let _ = write!(
        to,
        "{} {} {} {} \"{}\" {} {} us",
        timestamp(call.began),
        call.protocol,
        call.peer,
        plain(key),
        plain(&call.call),
        call.status,
        micros(call.took),
    );
    if !call.model.is_empty() {
        let times = &call.times;
        let _ = write!(
            to,
            " model={} version={} id=\"{}\" rows={} queue={} input={} compute={} output={}{}",
            plain(&call.model),
            plain(&call.version),
            plain(&call.id),
            call.samples,
            micros(times.queue),
            micros(times.input),
            micros(times.compute),
            micros(times.output),
            if call.cached { " cached" } else { "" },
        );
    }
    if let Some(trace) = &call.trace {
        let _ = write!(to, " trace={trace}");
    }
    if !call.is_answered() {
        let _ = write!(to, " reason=\"{}\"", plain(&call.reason));
    }
    if left_out > 0 {
        let _ = write!(to, " left_out={left_out}");
    }
}

/// Returns a text without line breaks and quotation marks.
fn plain(text: &str) -> String {
    let one = |c: char| match c {
        '"' => '\'',
        c if c.is_control() => '·',
        c => c,
    };
    text.chars().map(one).collect()
}

/// Returns a time according to RFC 3339, in UTC with milliseconds.
fn timestamp(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Returns the year, month and day of a day counted from 1970-01-01.
fn date(mut day: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for days in months {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    (year, month, day + 1)
}
