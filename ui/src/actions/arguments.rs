//! Parses the words of a line into values.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use divisi_model::catalogue::NamedMix;
use divisi_model::ensemble::{BatchSize, MemberPrecision, PolicyKind};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{LoadPattern, RateFactor, SearchOrder, Slowdown, Snapshot, Target};

use crate::config::time;

/// Parses a word. Names refer to the shown snapshot. The error has the expected and the found value.
pub(super) type Parse<T> = fn(&str, &Snapshot) -> Result<T, String>;

fn among(names: &[String], name: &str, kind: &str) -> Result<usize, String> {
    let found = names.iter().position(|n| n == name);
    let wrong = || format!("no {kind} `{name}`: expected one of {}", names.join(", "));
    found.ok_or_else(wrong)
}

/// Parses a value with a parser of its own.
fn parsed<T: FromStr<Err: Display>>(word: &str) -> Result<T, String> {
    word.parse().map_err(|wrong: T::Err| wrong.to_string())
}

/// Parses a value, or `none` as the absence of a value.
fn unless<T>(
    none: &str,
    word: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    (word != none).then(|| parse(word)).transpose()
}

/// Parses a device, by its row in the matrix.
pub(super) fn device(word: &str, shown: &Snapshot) -> Result<DeviceIndex, String> {
    among(&shown.matrix.frame().devices, word, "device").map(DeviceIndex::new)
}

/// Parses a member, by its column in the matrix.
pub(super) fn member(word: &str, shown: &Snapshot) -> Result<MemberIndex, String> {
    among(&shown.matrix.frame().members, word, "member").map(MemberIndex::new)
}

/// Parses the name of a served model.
pub(super) fn served_model(word: &str, shown: &Snapshot) -> Result<String, String> {
    let names = shown.models.iter().map(|model| model.name.clone());
    let mut names: Vec<String> = names.collect();
    // A model has an entry for each of its versions.
    names.sort();
    names.dedup();
    among(&names, word, "model")?;
    Ok(word.to_owned())
}

/// Parses the name of a model that may be loaded.
pub(super) fn loadable_model(word: &str, shown: &Snapshot) -> Result<String, String> {
    // The folder of a model may be new since the models were read, so the loader checks the name.
    match shown.can_load {
        true => Ok(word.to_owned()),
        false => served_model(word, shown),
    }
}

/// Parses an entry of the matrix: a batch size, or 0 for no worker.
pub(super) fn entry(word: &str, shown: &Snapshot) -> Result<Option<BatchSize>, String> {
    let allowed = &shown.matrix.frame().batch_sizes;
    let size = |n| BatchSize::new(n).filter(|size| allowed.contains(*size));
    let entry = match word.parse::<u32>() {
        Ok(0) => Some(None),
        number => number.ok().and_then(size).map(Some),
    };
    let wrong = || {
        let sizes: Vec<String> = allowed.iter().map(|s| s.to_string()).collect();
        format!("expected a size of 0, {}, found `{word}`", sizes.join(", "))
    };
    entry.ok_or_else(wrong)
}

/// Parses the precision of a member, by its name.
pub(super) fn precision(word: &str, _: &Snapshot) -> Result<MemberPrecision, String> {
    parsed(word)
}

/// Parses a load, or `none`.
pub(super) fn load(word: &str, _: &Snapshot) -> Result<Option<LoadPattern>, String> {
    unless("none", word, parsed)
}

/// Parses traffic shares of models, or `seen`.
pub(super) fn mix(word: &str, _: &Snapshot) -> Result<Option<NamedMix>, String> {
    unless("seen", word, parsed)
}

/// Parses a batching policy.
pub(super) fn policy(word: &str, _: &Snapshot) -> Result<PolicyKind, String> {
    parsed(word)
}

/// Parses `on` or `off`.
pub(super) fn on_off(word: &str, _: &Snapshot) -> Result<bool, String> {
    match word {
        "on" => Ok(true),
        "off" => Ok(false),
        other => Err(format!("expected on or off, found `{other}`")),
    }
}

/// Parses the factor by which a device is slower.
pub(super) fn slowdown(word: &str, _: &Snapshot) -> Result<Slowdown, String> {
    let times = word.parse().ok().and_then(|f| Slowdown::new(f).ok());
    times.ok_or_else(|| format!("expected a factor from 0.1 to 100, found `{word}`"))
}

/// Parses the factor by which the rate of requests changes.
pub(super) fn rate_factor(word: &str) -> Result<RateFactor, String> {
    let factor = word.trim_start_matches('x');
    let factor = factor.parse().ok().and_then(|f| RateFactor::new(f).ok());
    factor.ok_or_else(|| format!("expected a factor from 0.01 to 100, found `{word}`"))
}

/// Parses a limit of samples in execution, or `none`.
pub(super) fn sample_bound(word: &str, _: &Snapshot) -> Result<Option<NonZeroU32>, String> {
    let wrong = |_| format!("expected a number above 0 or none, found `{word}`");
    unless("none", word, |number| number.parse().map_err(wrong))
}

/// Parses a file to record to, or `off`.
pub(super) fn record_to(word: &str, _: &Snapshot) -> Result<Option<PathBuf>, String> {
    unless("off", word, |path| Ok(PathBuf::from(path)))
}

/// Parses a search: the quick one, or the given algorithm and evaluator. `again` at the end ignores
/// kept results.
///
/// # Errors
/// A name is unknown, or the algorithm does not support the evaluator.
pub(super) fn search(words: &[&str]) -> Result<SearchOrder, String> {
    let (words, again) = match words {
        [words @ .., "again"] => (words, true),
        [_, _, wrong] => return Err(format!("expected `again`, found `{wrong}`")),
        words => (words, false),
    };
    let mut order = SearchOrder {
        again,
        ..SearchOrder::quick()
    };
    if let Some(algorithm) = words.first() {
        order.algorithm = algorithm.parse()?;
    }
    if let Some(evaluator) = words.get(1) {
        order.evaluator = evaluator.parse()?;
        order.bounds = SearchOrder::default().bounds;
    }
    order.check().map_err(|e| e.to_string())?;
    Ok(order)
}

/// Parses a service objective: a time and a percentage of requests, or `none`.
///
/// # Errors
/// A message with the expected and the found value.
pub(super) fn target(words: &[&str]) -> Result<Option<Target>, String> {
    let latency = match words {
        ["none"] => return Ok(None),
        [latency, ..] => time(latency)?,
        [] => Duration::ZERO,
    };
    let percent = words.get(1).map_or("99", |p| p.trim_end_matches('%'));
    let share = percent
        .parse::<f64>()
        .ok()
        .filter(|p| (0.0..=100.0).contains(p));
    let wrong = || format!("expected 0 to 100 percent, found `{percent}`");
    let share = share.ok_or_else(wrong)? / 100.0;
    let target = Target { latency, share };
    target.check().map_err(|e| e.to_string())?;
    Ok(Some(target))
}
