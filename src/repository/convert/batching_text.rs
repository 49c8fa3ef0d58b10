//! The batching settings in a `config.pbtxt`.

use std::fmt::Write;
use std::time::Duration;

use divisi_model::ensemble::{BatchSizes, QueuePolicy, Queueing, TimeoutAction};

use crate::batch::ModelRows;
use crate::steps::SIZES;

use super::models::ModelBatching;

/// Returns the message `dynamic_batching`, or an empty text if the model has no batches, and the
/// settings that Triton does not support.
pub(super) fn text(batching: &ModelBatching<'_>, rows: ModelRows) -> (String, Vec<&'static str>) {
    let mut missing = Vec::new();
    if !matches!(rows, ModelRows::UpTo(_)) {
        if batching.queueing.is_some() {
            missing.push("queue: a model without batches has no queue");
        }
        return (String::new(), missing);
    }
    // A manifest's default sizes are not a user's request.
    if *batching.sizes != BatchSizes::default() && lacks_usual(batching.sizes) {
        missing.push("batch_sizes: Triton also runs batches of other sizes");
    }
    let mut text = String::from("dynamic_batching {");
    let preferred = preferred(batching.sizes);
    if !preferred.is_empty() {
        add(
            &mut text,
            format_args!(" preferred_batch_size: {preferred:?}"),
        );
    }
    number(
        &mut text,
        "max_queue_delay_microseconds",
        batching.wait.as_micros(),
    );
    if let Some(queueing) = batching.queueing {
        queue(&mut text, queueing);
    }
    text += " }\n";
    (text, missing)
}

/// Returns the sizes that are neither powers of two nor the largest size.
fn preferred(sizes: &BatchSizes) -> Vec<usize> {
    let largest = sizes.largest().get();
    let all = sizes.iter().map(|size| size.get());
    let own = all.filter(|size| !SIZES.contains(size) && *size != largest);
    own.collect()
}

/// Returns whether a power of two below the largest size is missing.
fn lacks_usual(sizes: &BatchSizes) -> bool {
    let largest = sizes.largest().get();
    let mut usual = SIZES.into_iter().filter(|size| *size < largest);
    usual.any(|usual| sizes.iter().all(|size| size.get() != usual))
}

fn queue(text: &mut String, queueing: &Queueing) {
    let default = queueing.default_level();
    let usual = queueing.policy(default);
    let levels = queueing.levels().len();
    if levels > 1 {
        number(text, "priority_levels", levels as u128);
        number(text, "default_priority_level", default.number() as u128);
    }
    add(
        text,
        format_args!(" default_queue_policy {{{} }}", policy(usual)),
    );
    for level in queueing
        .levels()
        .filter(|level| queueing.policy(*level) != usual)
    {
        let (key, value) = (level.number(), policy(queueing.policy(level)));
        add(
            text,
            format_args!(" priority_queue_policy {{ key: {key} value {{{value} }} }}"),
        );
    }
}

fn policy(policy: QueuePolicy) -> String {
    let mut text = String::new();
    if let Some(timeout) = policy.timeout {
        let action = match timeout.action {
            TimeoutAction::Reject => "REJECT",
            TimeoutAction::Delay => "DELAY",
        };
        add(&mut text, format_args!(" timeout_action: {action}"));
        number(
            &mut text,
            "default_timeout_microseconds",
            micros(timeout.after),
        );
        if timeout.may_be_shorter {
            text += " allow_timeout_override: true";
        }
    }
    let most = policy.most.map_or(0, |most| most.get());
    number(&mut text, "max_queue_size", most.into());
    text
}

/// Returns a time in microseconds, at least 1, because 0 means none.
fn micros(time: Duration) -> u128 {
    time.as_micros().max(1)
}

/// Adds a field that is not 0.
fn number(text: &mut String, field: &str, value: u128) {
    if value > 0 {
        add(text, format_args!(" {field}: {value}"));
    }
}

/// Adds text. Writing to a string cannot fail.
fn add(text: &mut String, written: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(written);
}
