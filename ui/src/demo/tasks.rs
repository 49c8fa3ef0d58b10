//! The scenes about queries with goals, and their outcomes by counts.

use std::time::Duration;

use DemoStep::{Conclude, Do, Look, Say};
use divisi_modelless::quantities::significant;
use divisi_session::{PolicyOutcome, Snapshot};

use super::script::{DemoLoad, DemoScene, DemoStep, DemoWatch, Given};
use super::words::Conclusion;
use crate::layout::Panel;
use crate::model::DemoState;
use crate::text::format;

/// The period of the load's daily cycle.
const DAY: Duration = Duration::from_secs(40);
/// The mean queries per second, which the smallest variants serve on any machine.
const RATE: f64 = 2_000.0;

/// Returns the scenes.
pub(super) fn scenes() -> Vec<DemoScene> {
    vec![
        followed(
            "Queries with goals",
            "Queries require 98.5 % in 20 ms, 95 % in 10 ms, or 99.4 %. The cheapest suitable loaded \
             variant answers; the policy static unloads none.",
            "static",
        ),
        followed(
            "The allocation follows the load",
            "The same day under the policy divisi: every second it compares the queries with the devices' \
             time, and loads or unloads variants.",
            "divisi",
        ),
        compared(),
    ]
}

fn followed(title: &'static str, caption: &'static str, policy: &'static str) -> DemoScene {
    let swing = DemoLoad::Swing {
        rate: RATE,
        period: DAY,
    };
    DemoScene {
        title,
        steps: vec![
            Say(caption),
            Look(Panel::Tasks),
            Do(Given::Scaling(policy)),
            Do(Given::Load(swing)),
            DemoStep::Watch(DemoWatch {
                answered: 0,
                lasts: DAY + Duration::from_secs(5),
            }),
            Conclude(Conclusion::Followed),
        ],
    }
}

fn compared() -> DemoScene {
    DemoScene {
        title: "Six policies on the same queries",
        steps: vec![
            Say(
                "The queries of the last minutes run again under every policy, simulated in virtual time \
                 from the variants' profiles.",
            ),
            Look(Panel::Tasks),
            Do(Given::ComparePolicies),
            Conclude(Conclusion::ComparedPolicies),
        ],
    }
}

/// Returns the goals met in the last watch, and the policy's changes during it.
pub(super) fn goals_met(demo: &DemoState, shown: &Snapshot) -> Option<String> {
    let scaling = shown.scaling.as_ref()?;
    let (first, last) = (demo.looks.first()?.now, demo.looks.last()?.now);
    let over = last.saturating_sub(first);
    let counted = scaling.counted(over.as_secs() as usize);
    let changes = scaling.changes.iter();
    let changes = changes.filter(|change| change.at >= first && !change.shares_alone);
    let made: Vec<Duration> = changes.filter_map(|c| c.outcome.clone().ok()).collect();
    let changed = match made.iter().max() {
        None => "loaded variants did not change".to_owned(),
        Some(longest) => format!(
            "loaded variants changed {}, in at most {} ms",
            times(made.len()),
            longest.as_millis()
        ),
    };
    Some(format!(
        "{} queries in {}, {} missed a goal. Under {}, {changed}; loaded now: {}.",
        format::grouped(counted.all()),
        format::seconds(over),
        format::grouped(counted.missed),
        scaling.policy,
        scaling.loaded.len()
    ))
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}

/// Returns the policies with the fewest and the most missed goals, and with the lowest and the
/// highest cost.
pub(super) fn policies(shown: &Snapshot) -> Option<String> {
    let comparison = shown.scaling.as_ref()?.comparison.as_ref()?;
    let missed = extremes(
        &comparison.outcomes,
        |outcome| outcome.missed,
        |outcome| format!("{} {}", outcome.policy, format::missed(outcome.missed)),
    )?;
    let cost = extremes(
        &comparison.outcomes,
        |outcome| outcome.cost,
        |outcome| format!("{} {}", outcome.policy, significant(outcome.cost)),
    )?;
    let counted = comparison
        .counted
        .queries
        .share_missed()
        .map_or(String::new(), |missed| {
            let policy = &comparison.counted.policy;
            format!(
                " Counted under {policy}: {} missed.",
                format::missed(missed)
            )
        });
    Some(format!(
        "Simulated, {} queries of {}: missed goals {missed}; cost per million {cost}.{counted}",
        format::grouped(comparison.queries),
        format::seconds(comparison.over)
    ))
}

fn extremes(
    outcomes: &[PolicyOutcome],
    value: impl Fn(&PolicyOutcome) -> f64,
    words: impl Fn(&PolicyOutcome) -> String,
) -> Option<String> {
    let by_value = |a: &&PolicyOutcome, b: &&PolicyOutcome| value(a).total_cmp(&value(b));
    let least = outcomes.iter().min_by(by_value)?;
    let most = outcomes.iter().max_by(by_value)?;
    Some(match value(least) < value(most) {
        true => format!("from {} to {}", words(least), words(most)),
        false => format!("at most {} by any", words(least)),
    })
}
