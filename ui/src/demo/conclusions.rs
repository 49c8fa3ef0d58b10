//! The captions at the end of scenes, from their measurements.

use std::time::Duration;

use divisi_modelless::quantities::significant;
use divisi_session::{PolicyOutcome, Snapshot};
use serde::Deserialize;

use crate::model::{Comparison, DemoState, Figure, FigureNote};
use crate::text::format;

/// The conclusion of a scene.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Conclusion {
    /// How evenly devices were used.
    Spread,
    /// A figure before and after, with the texts for a higher, an equal and a lower figure.
    Change {
        figure: Figure,
        from: String,
        to: String,
        means: [String; 3],
    },
    /// The lowest and the highest figure under different names.
    Ranking,
    /// The goals met under a policy for loading variants.
    Followed,
    /// The results of all such policies on the same queries.
    ComparedPolicies,
    /// The effect of two reloads on requests.
    Reloads { before: String, after: String },
}

const NOTHING: &str = "Nothing was measured here.";
/// A device busier than this has no time left.
const FULL: f64 = 0.85;
/// Devices whose load differs by less than this count as equal.
const EVEN: f64 = 0.10;

impl Conclusion {
    /// Returns the notes that it compares by name.
    pub(super) fn compared(&self) -> impl Iterator<Item = (Figure, &str)> {
        let pair = match self {
            Conclusion::Change {
                figure, from, to, ..
            } => Some((*figure, from, to)),
            Conclusion::Reloads { before, after } => Some((Figure::P99, before, after)),
            _ => None,
        };
        let notes = pair.map(|(figure, one, other)| [(figure, &**one), (figure, &**other)]);
        notes.into_iter().flatten()
    }

    /// Returns the caption.
    pub(super) fn text(&self, demo: &DemoState, shown: &Snapshot) -> String {
        let figures = SceneFigures(demo);
        let text = match self {
            Conclusion::Spread => spread(shown),
            Conclusion::Change {
                figure,
                from,
                to,
                means,
            } => figures.change(*figure, from, to, means),
            Conclusion::Ranking => figures.ranking(),
            Conclusion::Followed => goals_met(demo, shown),
            Conclusion::ComparedPolicies => policies(shown),
            Conclusion::Reloads { before, after } => figures.reloads(before, after),
        };
        text.unwrap_or_else(|| NOTHING.to_owned())
    }
}

/// The figures of the current scene.
struct SceneFigures<'a>(&'a DemoState);

impl SceneFigures<'_> {
    /// Returns the notes on `figure` in this scene.
    fn noted(&self, figure: Figure) -> impl Iterator<Item = &FigureNote> {
        let scene = self.0.scene();
        let here = move |n: &&FigureNote| n.scene == scene && n.figure == figure;
        self.0.notes.iter().filter(here)
    }

    fn named(&self, figure: Figure, name: &str) -> Option<&FigureNote> {
        self.noted(figure).find(|n| n.name == name)
    }

    fn change(&self, figure: Figure, from: &str, to: &str, means: &[String; 3]) -> Option<String> {
        let (before, after) = (self.named(figure, from)?, self.named(figure, to)?);
        let [more, same, less] = means;
        let (verdict, meaning) = match after.measured.against(before.measured) {
            Comparison::More => (format!("{} % more", percent(before, after)), more),
            Comparison::Less => (format!("{} % fewer", percent(before, after)), less),
            Comparison::Same => ("no significant change".into(), same),
        };
        let over = format::seconds(before.over.min(after.over));
        Some(format!(
            "{from} {} → {to} {} {}, {over} each: {verdict}. {meaning}",
            before.text(),
            after.text(),
            figure.title()
        ))
    }

    fn ranking(&self) -> Option<String> {
        let (p50, p99) = (self.extremes(Figure::P50)?, self.extremes(Figure::P99)?);
        let requests = self.noted(Figure::P99).map(|n| n.requests).min()?;
        Some(format!("{p50} {p99} Of {requests} requests each."))
    }

    fn extremes(&self, figure: Figure) -> Option<String> {
        let (least, most) = extremes(self.noted(figure), |n| n.measured.value)?;
        let verdict = match most.measured.against(least.measured) {
            Comparison::More => {
                let [least, most] = [least, most].map(|n| format!("{} {}", n.name, n.text()));
                format!("least {least}, most {most}")
            }
            _ => "no significant difference".to_owned(),
        };
        Some(format!("{}: {verdict}.", figure.title()))
    }

    fn reloads(&self, before: &str, after: &str) -> Option<String> {
        let lost = self.noted(Figure::Lost).next()?;
        let lost = match lost.measured.value {
            0.0 => "No request was lost in two reloads.".to_owned(),
            _ => format!(
                "{} requests were lost in two reloads: see the log.",
                lost.text()
            ),
        };
        let before = self.named(Figure::P99, before)?;
        let after = self.named(Figure::P99, after)?;
        let verdict = match after.measured.against(before.measured) {
            Comparison::More => "longer",
            Comparison::Less => "shorter",
            Comparison::Same => "no significant change",
        };
        let [was, is] = [before, after].map(FigureNote::text);
        let [first, then] = [before, after].map(|n| format::grouped(n.requests));
        Some(format!(
            "{lost} p99 {was} ms before ({first} requests), {is} ms with the first one ({then}): {verdict}."
        ))
    }
}

/// Returns the items with the lowest and the highest value.
fn extremes<T: Copy>(items: impl Iterator<Item = T>, value: impl Fn(T) -> f64) -> Option<(T, T)> {
    items.fold(None, |ends, item| {
        let (least, most) = ends.unwrap_or((item, item));
        let lower = value(item) < value(least);
        let higher = value(item) >= value(most);
        Some((
            if lower { item } else { least },
            if higher { item } else { most },
        ))
    })
}

fn percent(before: &FigureNote, after: &FigureNote) -> String {
    let change = after.measured.value / before.measured.value.max(f64::MIN_POSITIVE) - 1.0;
    let percent = 100.0 * change.abs();
    let digits = usize::from(percent < 9.95);
    format!("{percent:.digits$}")
}

/// Describes the load of the devices with workers.
fn spread(shown: &Snapshot) -> Option<String> {
    let rows = shown.matrix.rows();
    let used = shown.devices.iter().zip(&rows);
    let used = used.filter(|(_, row)| row.iter().any(|size| *size > 0));
    let busy: Vec<f64> = used.map(|(d, _)| d.busy).collect();
    let (least, most) = extremes(busy.iter().copied(), |busy| busy)?;
    let meaning = match (most - least < EVEN, most >= FULL) {
        (true, _) => "No device waits much for another.",
        (false, true) => "The others wait for the busiest: the slowest member limits an ensemble.",
        (false, false) => "Even the busiest was idle at times.",
    };
    let count = busy.len();
    let (least, most) = (100.0 * least, 100.0 * most);
    Some(format!(
        "The {count} devices with workers were {least:.0} to {most:.0} % busy in the last second. {meaning}"
    ))
}

/// Returns the goals met in the last watch, and the policy's changes during it.
fn goals_met(demo: &DemoState, shown: &Snapshot) -> Option<String> {
    let scaling = shown.scaling.as_ref()?;
    let (first, last) = (demo.looks.first()?.now, demo.looks.last()?.now);
    let over = last.saturating_sub(first);
    let counted = scaling.counted(over.as_secs() as usize);
    let changes = scaling.changes.iter();
    let changes = changes.filter(|change| change.at >= first && !change.shares_alone);
    let made: Vec<Duration> = changes.filter_map(|c| c.outcome.clone().ok()).collect();
    let times = match made.len() {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let changed = match made.iter().max() {
        None => "did not change".to_owned(),
        Some(longest) => format!("changed {times}, in at most {} ms", longest.as_millis()),
    };
    Some(format!(
        "{} queries in {}, {} missed a goal. Under {}, loaded variants {changed}; loaded now: {}.",
        format::grouped(counted.all()),
        format::seconds(over),
        format::grouped(counted.missed),
        scaling.policy,
        scaling.loaded.len()
    ))
}

/// Returns the policies with the fewest and the most missed goals, and with the lowest and the
/// highest cost.
fn policies(shown: &Snapshot) -> Option<String> {
    let comparison = shown.scaling.as_ref()?.comparison.as_ref()?;
    let outcomes = &comparison.outcomes;
    let missed = range(outcomes, |outcome| outcome.missed, format::missed)?;
    let cost = range(outcomes, |outcome| outcome.cost, significant)?;
    let counted = comparison.counted.queries.share_missed();
    let counted = counted.map_or(String::new(), |missed| {
        let (policy, missed) = (&comparison.counted.policy, format::missed(missed));
        format!(" Counted under {policy}: {missed} missed.")
    });
    Some(format!(
        "Simulated, {} queries of {}: missed goals {missed}; cost per million {cost}.{counted}",
        format::grouped(comparison.queries),
        format::seconds(comparison.over)
    ))
}

fn range(
    outcomes: &[PolicyOutcome],
    value: impl Fn(&PolicyOutcome) -> f64,
    text: impl Fn(f64) -> String,
) -> Option<String> {
    let (least, most) = extremes(outcomes.iter(), &value)?;
    let words = |of: &PolicyOutcome| format!("{} {}", of.policy, text(value(of)));
    Some(match value(least) < value(most) {
        true => format!("from {} to {}", words(least), words(most)),
        false => format!("at most {} by any", words(least)),
    })
}
