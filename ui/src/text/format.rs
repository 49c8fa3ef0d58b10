//! Numbers and names as text of a known width, so that the screen does not jitter.

use std::time::Duration;

use divisi_model::ensemble::{Measure, Quality};

pub use divisi_runtime::words::{format_bytes as bytes, grouped};
use ratatui::text::Span;

/// Formats a number with at most four characters: `812`, `4.8k`, `48k`, `1.2M`.
pub fn short(value: f64) -> String {
    let value = if value.is_finite() {
        value.max(0.0)
    } else {
        0.0
    };
    let scales = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    for (scale, unit) in scales {
        // 999.6 would round to four digits, so the next unit starts a little early.
        if value >= scale * 0.9995 {
            let scaled = value / scale;
            let digits = usize::from(scaled < 9.95);
            return format!("{scaled:.digits$}{unit}");
        }
    }
    format!("{value:.0}")
}

/// Formats microseconds as milliseconds with three significant digits: `0.12`, `2.10`, `68.0`.
pub fn millis(micros: u64) -> String {
    let ms = micros as f64 / 1e3;
    let digits = match ms {
        m if m < 9.995 => 2,
        m if m < 99.95 => 1,
        _ => 0,
    };
    format!("{ms:.digits$}")
}

/// Formats a time for people: `0.3 ms`, `350 ms`, `12.3 s`, `2 min 05 s`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if time > Duration::ZERO && seconds < 0.001 {
        // A time above zero is never shown as zero.
        return format!("{:.1} ms", (seconds * 1e3).max(0.1));
    }
    if seconds < 1.0 {
        return format!("{} ms", time.as_millis());
    }
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = time.as_secs();
    if whole < 3600 {
        return format!("{} min {:02} s", whole / 60, whole % 60);
    }
    format!("{} h {:02} min", whole / 3600, whole / 60 % 60)
}

/// Formats a share as a whole percentage with four characters: ` 88%`.
pub fn percent(share: f64) -> String {
    let share = if share.is_finite() { share } else { 0.0 };
    format!("{:>3.0}%", (share * 100.0).clamp(0.0, 999.0))
}

/// Formats a gain over a start with its sign: `+38 %`.
pub fn gain(start: f64, now: f64) -> Option<String> {
    // Adding zero turns -0 into +0.
    let percent = ((now / start - 1.0) * 100.0).round() + 0.0;
    (start > 0.0 && now.is_finite()).then(|| format!("{percent:+.0} %"))
}

/// Formats a time in whole seconds: `12 s`, `2 min 05 s`.
pub fn seconds(time: Duration) -> String {
    match time.as_secs() {
        s if s < 60 => format!("{s} s"),
        _ => duration(time),
    }
}

/// Formats a time of day in UTC: `14:03:12Z`. The time is in milliseconds of Unix time.
pub fn utc(unix_ms: u64) -> String {
    let second = unix_ms / 1000 % (24 * 3600);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{hour:02}:{minute:02}:{:02}Z", second % 60)
}

/// Formats the time over which something is counted, in seconds: `60 s`.
pub fn counted_over(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

/// Formats a share with one decimal and six characters: `  1.8%`.
pub fn permille(share: f64) -> String {
    let share = if share.is_finite() { share } else { 0.0 };
    format!("{:>5.1}%", (share * 100.0).clamp(-99.9, 999.9))
}

/// Formats the share of met goals: `100%` only if all were met.
pub fn met(share: f64) -> String {
    match share < 1.0 {
        true if share > 0.999 => ">99.9%".to_owned(),
        true => permille(share).trim().to_owned(),
        false => "100%".to_owned(),
    }
}

/// Formats the share of missed goals: `0%` only if none was missed.
pub fn missed(share: f64) -> String {
    match share > 0.0 {
        true if share < 0.001 => "<0.1%".to_owned(),
        true => permille(share).trim().to_owned(),
        false => "0%".to_owned(),
    }
}

/// Formats the change of a share in points with its sign and six characters: `  +1.8`.
pub fn points(share: f64) -> String {
    let points = share * 100.0;
    match points.abs() < 0.05 {
        true => format!("{:>6}", "0.0"),
        false => format!("{points:>+6.1}").replace('-', "−"),
    }
}

/// Formats a figure of answers: a share with one decimal, or a number with four significant digits.
pub fn quality(figure: Quality) -> String {
    match figure.measure.is_share() {
        true => permille(figure.value),
        false => figure.text().replace('-', "−"),
    }
}

/// Formats the change of a figure with its sign: a share in points, others in their unit.
pub fn quality_change(measure: Measure, change: f64) -> String {
    match measure.is_share() {
        true => points(change),
        false if change < 0.0 => format!("−{}", measure.format_value(-change)),
        false => format!("+{}", measure.format_value(change)),
    }
}

/// Returns the width of `text` in columns.
pub fn width(text: &str) -> u16 {
    if text.is_ascii() {
        return u16::try_from(text.len()).unwrap_or(u16::MAX);
    }
    u16::try_from(Span::raw(text).width()).unwrap_or(u16::MAX)
}

/// Returns `text` in at most `most` columns, its end replaced by an ellipsis if needed.
pub fn fit(text: &str, most: u16) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 0;
    for c in text.chars() {
        let columns = width(c.encode_utf8(&mut [0; 4]));
        if used + columns + 1 > most {
            break;
        }
        used += columns;
        cut.push(c);
    }
    if most > 0 {
        cut.push('…');
    }
    cut
}

/// Returns `text` in at most `most` columns, its beginning replaced by an ellipsis if needed:
/// `…103000`.
pub fn fit_end(text: &str, most: u16) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let count = text.chars().count();
    let tails = (0..=count).map(|cut| text.chars().skip(cut).collect::<String>());
    let mut tails = tails.filter(|tail| width(tail) < most);
    tails
        .next()
        .map_or(String::new(), |tail| format!("…{tail}"))
}

/// Returns a name in at most `most` columns. It keeps its end, which distinguishes the names of a
/// family: `cn…-s`.
pub fn fit_name(name: &str, most: u16) -> String {
    if width(name) <= most || most < 4 {
        return fit(name, most);
    }
    let tail: Vec<char> = name.chars().rev().take(usize::from(most - 1) / 2).collect();
    let tail: String = tail.into_iter().rev().collect();
    let head = fit(name, most.saturating_sub(width(&tail)));
    format!("{head}{tail}")
}

/// Returns a device's name. `short` removes the common prefix of simulated devices.
pub fn device_name(name: &str, short: bool) -> &str {
    match short {
        true => name.strip_prefix("sim:").unwrap_or(name),
        false => name,
    }
}

/// Formats a factor: `×3`, `×2.5`.
pub fn times(factor: f64) -> String {
    let text = format!("{factor:.1}");
    format!("×{}", text.strip_suffix(".0").unwrap_or(&text))
}

/// Breaks `text` into lines of at most `most` columns, between words if possible.
pub fn wrap(text: &str, most: u16) -> Vec<String> {
    let most = most.max(1);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.extend(broken(word, most)),
        }
    }
    lines
}

/// Breaks a word into pieces of at most `most` columns, without losing any of it.
fn broken(word: &str, most: u16) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in word.chars() {
        let columns = width(c.encode_utf8(&mut [0; 4]));
        match pieces.last_mut() {
            Some(piece) if piece.is_empty() || width(piece) + columns <= most => piece.push(c),
            _ => pieces.push(c.to_string()),
        }
    }
    pieces
}
