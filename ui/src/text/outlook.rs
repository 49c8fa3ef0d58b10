//! Answers to what-if questions in words: short for the columns of a table, long as lines.

use std::time::Duration;

use divisi_engine::search::{Predicted, TypicalError};
use divisi_session::{
    AccuracyOutlook, BusyShare, CostOutlook, DeviceForecast, Outlook, P99Outlook, WhatIfAnswer,
};

use super::format;

/// The sign of an unknown figure.
pub(crate) const UNKNOWN: &str = "?";

/// Returns samples per second with their interval: `2 400 (1 920 … 3 000)`.
pub(crate) fn throughput(outlook: &Outlook) -> String {
    let Ok(predicted) = &outlook.throughput else {
        return UNKNOWN.into();
    };
    let Predicted {
        samples_per_s,
        low,
        high,
        ..
    } = *predicted;
    let [rate, low, high] = [samples_per_s, low, high].map(whole);
    format!("{rate} ({low} … {high})")
}

fn whole(number: f64) -> String {
    format::grouped(number.max(0.0).round() as u64)
}

/// Returns a latency with its interval in milliseconds: `6.80 (5.10 … 9.00)`. A queue that grows is
/// `grows 120/s`.
pub(crate) fn p99(p99: &P99Outlook) -> String {
    match p99 {
        P99Outlook::Known { p99, low, high } => {
            let high = high.map_or("no limit".to_owned(), millis);
            format!("{} ({} … {high})", millis(*p99), millis(*low))
        }
        P99Outlook::Grows { samples_per_s, .. } => format!("queue +{}/s", whole(*samples_per_s)),
        P99Outlook::Unknown(_) => UNKNOWN.into(),
    }
}

fn millis(time: Duration) -> String {
    format::millis(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// Returns the change of accuracy: `same`, `−0.4 ± 0.2`, `2.1% differ`.
pub(crate) fn accuracy(accuracy: &AccuracyOutlook) -> String {
    match accuracy {
        AccuracyOutlook::Same => "same".into(),
        AccuracyOutlook::Measured {
            measure,
            change,
            within,
            ..
        } => {
            let change = format::quality_change(*measure, *change);
            let within = within.map(|within| format!(" ± {:.1}", 100.0 * within));
            format!("{}{}", change.trim(), within.unwrap_or_default())
        }
        AccuracyOutlook::AnswersChange { share, .. } => {
            format!("{} differ", format::permille(*share).trim())
        }
        AccuracyOutlook::Unknown(_) => UNKNOWN.into(),
    }
}

/// Returns the price of an hour: `3.06`.
pub(crate) fn cost(outlook: &Outlook) -> String {
    let cost = outlook.cost.as_ref();
    cost.map_or_else(|_| UNKNOWN.into(), |cost| format!("{:.2}", cost.per_hour))
}

/// Returns the answer as lines.
pub(crate) fn lines(answer: &WhatIfAnswer) -> Vec<String> {
    let before = &answer.before;
    let mut lines = answer.notes.clone();
    match &answer.after {
        Err(why) => lines.push(format!("requests could not be served: {why}")),
        Ok(after) => {
            lines.push(throughput_line(before, after));
            lines.extend(p99_lines(answer, after));
            lines.extend(load_line(before, after));
            lines.push(cost_line(before, after));
        }
    }
    lines.push(accuracy_line(&answer.accuracy));
    lines.push(errors_line(answer));
    lines
}

fn throughput_line(before: &Outlook, after: &Outlook) -> String {
    let predicted = match &after.throughput {
        Ok(predicted) => predicted,
        Err(why) => return format!("samples/s unknown: {why}"),
    };
    let known = before.throughput.as_ref().ok();
    let was = known.map_or(UNKNOWN.into(), |known| whole(known.samples_per_s));
    let gain = known.and_then(|was| format::gain(was.samples_per_s, predicted.samples_per_s));
    let gain = gain.map_or(String::new(), |gain| format!(", {gain}"));
    let (now, grounds) = (throughput(after), predicted.grounds());
    format!("samples/s at capacity: {was} → {now}{gain}; {grounds}")
}

fn p99_lines(answer: &WhatIfAnswer, after: &Outlook) -> Vec<String> {
    let mut lines = match &after.p99 {
        P99Outlook::Known { .. } => {
            let (was, now) = (p99(&answer.before.p99), p99(&after.p99));
            vec![format!("p99 in ms: {was} → {now}")]
        }
        P99Outlook::Grows {
            samples_per_s,
            full_after,
        } => {
            let (growth, full) = (whole(*samples_per_s), format::seconds(*full_after));
            vec![format!(
                "p99 grows: {growth} requests more wait each second; after {full} the queue is \
                 full, and as many are refused"
            )]
        }
        P99Outlook::Unknown(why) => vec![format!("p99 unknown: {why}")],
    };
    let load = &answer.load;
    if !load.words.is_empty() {
        let over = format::counted_over(load.over);
        lines.push(format!("load now: {}, counted over {over}", load.words));
    }
    lines
}

/// Returns the load of devices that changes.
fn load_line(before: &Outlook, after: &Outlook) -> Option<String> {
    let changed = changed_loads(before, after);
    let each: Vec<String> = changed
        .iter()
        .map(|(device, was)| {
            let was = was.map_or("–".to_owned(), |was| percent(was.share));
            let now = device.busy.map_or(UNKNOWN.to_owned(), share);
            format!("{} {was} → {now}", device.name)
        })
        .collect();
    (!each.is_empty()).then(|| format!("load of devices: {}", each.join(", ")))
}

/// The smallest change of a device's load that is shown.
const VISIBLE: f64 = 0.005;

/// Returns the devices whose load changes, with their earlier load.
pub(crate) fn changed_loads<'a>(
    before: &Outlook,
    after: &'a Outlook,
) -> Vec<(&'a DeviceForecast, Option<BusyShare>)> {
    let was = before.devices.iter().map(|device| device.busy);
    let was = was.chain(std::iter::repeat(None));
    let both = after.devices.iter().zip(was);
    let differs = |(device, was): &(&DeviceForecast, Option<BusyShare>)| match (device.busy, was) {
        (Some(now), Some(was)) => (now.share - was.share).abs() >= VISIBLE,
        (Some(_), None) => true,
        (None, _) => false,
    };
    both.filter(differs).collect()
}

/// Returns a busy share with its interval: `71% (60 … 85)`.
pub(crate) fn share(busy: BusyShare) -> String {
    let [low, high] = [busy.low, busy.high].map(|share| (100.0 * share).round());
    format!("{} ({low} … {high})", percent(busy.share))
}

/// Returns a share as a whole percentage.
pub(crate) fn percent(share: f64) -> String {
    format::percent(share).trim().to_owned()
}

fn cost_line(before: &Outlook, after: &Outlook) -> String {
    let CostOutlook {
        per_hour,
        per_million,
    } = match &after.cost {
        Ok(cost) => *cost,
        Err(why) => return format!("cost unknown: {why}"),
    };
    let million = per_million.map_or(String::new(), |(cost, low, high)| {
        format!("; a million samples at capacity {cost:.2} ({low:.2} … {high:.2})")
    });
    format!("cost per hour: {} → {per_hour:.2}{million}", cost(before))
}

fn accuracy_line(known: &AccuracyOutlook) -> String {
    match known {
        AccuracyOutlook::Same => "accuracy: same networks, precisions and votes".into(),
        AccuracyOutlook::Measured {
            measure, source, ..
        } => {
            let change = accuracy(known);
            format!("{}: {change}, from {source}", measure.name())
        }
        AccuracyOutlook::AnswersChange { share, source } => format!(
            "accuracy: {} of answers differ, from {source}; without labels it is unknown how many \
             of them are right",
            format::permille(*share).trim()
        ),
        AccuracyOutlook::Unknown(why) => format!("accuracy unknown: {why}"),
    }
}

fn errors_line(answer: &WhatIfAnswer) -> String {
    let of = |name: &str, error: Option<TypicalError>| match error {
        None => format!("{name} not measured yet"),
        Some(TypicalError { factor, errors }) => {
            let percent = 100.0 * (factor - 1.0);
            let word = if errors == 1 { "time" } else { "times" };
            format!("{name} off by {percent:.0} % in the middle, measured {errors} {word}")
        }
    };
    format!(
        "earlier predictions: {}; {}",
        of("throughput", answer.throughput_error),
        of("p99", answer.p99_error)
    )
}
