//! Formats costs and times for people.

/// The number of queries for which costs are shown and requested: the cost of a single query is
/// tiny.
pub const COST_QUERIES: f64 = 1e6;

/// The maximum number of digits after the point.
const MOST_DIGITS: f64 = 12.0;

/// Returns a number with three significant digits, or with all digits before its point: times of
/// networks and costs of queries span many powers of ten.
pub fn significant(value: f64) -> String {
    let power = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    let digits = (2.0 - power).clamp(0.0, MOST_DIGITS) as usize;
    match value == 0.0 {
        true => "0".to_owned(),
        false => format!("{value:.digits$}"),
    }
}
