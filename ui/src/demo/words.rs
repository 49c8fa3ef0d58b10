//! The captions for each stage and its load, and captions on the outcome of a scene from its
//! measurements.

use divisi_model::ensemble::{PolicyKind, Wait};
use divisi_session::Snapshot;

use super::tasks;
use crate::model::{Comparison, DemoState, Figure, FigureNote};
use crate::text::format;

/// The texts and sizes that differ between the stages.
pub(super) struct StageWords {
    pub alone: &'static str,
    pub together: ChangeWords,
    pub parallel: ChangeWords,
    pub policies: &'static [(PolicyKind, &'static str, &'static str)],
    pub search: ChangeWords,
    /// The number of devices shared by all members; 0 means all.
    pub shared: usize,
    /// The saturating load: clients, and samples in each request.
    pub full: (usize, usize),
    /// The requests to watch under that load, and under single samples.
    pub whole: u64,
    pub single: u64,
}

/// A change: its caption before, and its outcomes after.
pub(super) struct ChangeWords {
    pub opening: &'static str,
    /// The figure to compare.
    pub figure: Figure,
    pub means: Means,
}

const WAIT: Wait = Wait::millis(20);
const LONG_WAIT: Wait = Wait::millis(100);
/// The caption for the first of two measurements.
pub(super) const BEFORE: &str = "First the previous matrix under the same load, for comparison.";

/// The caption while the search's matrix is measured.
pub(super) const FOUND: &str =
    "Now the matrix of the search serves the same load, for the same time.";

/// The first policy of both stages, which the others are compared with.
const NO_WAIT: (PolicyKind, &str, &str) = (
    PolicyKind::NoWait,
    "no-wait",
    "The burst: 150 requests slowly, then 250 fast, repeatedly. Under no-wait a worker takes all \
     queued samples at once.",
);

/// Returns the outcomes of data parallelism, with the text for a gain.
const fn more_workers(more: &'static str) -> Means {
    Means {
        more,
        same: "More workers made no measurable difference.",
        less: "More workers cost more than they gained here.",
    }
}

/// The outcomes of a search.
const SEARCHED: Means = Means {
    more: "u restores the previous setup.",
    same: "It made no measurable difference.",
    less: "The manual setup was better: u restores it.",
};

pub(super) static DIGITS: StageWords = StageWords {
    alone: "One worker alone: the slowest network has the first device to itself, the five others \
            share the second. Every request needs all six.",
    together: ChangeWords {
        opening: "Co-location: all members share all devices, as evenly as their costs allow. \
                  Workers on one device take turns.",
        figure: Figure::Throughput,
        means: Means {
            more: "With even sharing, the machine answers more.",
            same: "Sharing made no measurable difference.",
            less: "Sharing cost more than it gained here.",
        },
    },
    parallel: ChangeWords {
        opening: "Data parallelism: every member has a worker on every device; a free worker takes \
                  the next batch.",
        figure: Figure::Throughput,
        means: more_workers("Work was distributed better, batch by batch."),
    },
    policies: &[
        NO_WAIT,
        (
            PolicyKind::OptWait { wait: WAIT },
            "opt-wait",
            "The same under opt-wait: a worker waits up to 20 ms for a full batch.",
        ),
        (
            PolicyKind::Static { wait: WAIT },
            "static",
            "The same under static: a worker also waits, and fills incomplete batches with padding \
             rows.",
        ),
        (
            PolicyKind::Elastic { max_inf: None },
            "elastic",
            "The same under elastic, which splits a batch into lanes. CPU partitions run one lane at \
             a time; see --on simulated.",
        ),
    ],
    search: ChangeWords {
        opening: "A search: it profiles members, scores matrices with a model and runs the best. \
                  The load pauses during measurements.",
        figure: Figure::Throughput,
        means: SEARCHED,
    },
    shared: 0,
    full: (16, 32),
    whole: 60,
    single: 400,
};

pub(super) static SIMULATED: StageWords = StageWords {
    alone: "One worker alone: each of twelve networks has a GPU of its own, four of sixteen are \
            idle. Every request needs all twelve.",
    together: ChangeWords {
        opening: "Co-location: the same twelve networks on six GPUs. Workers on one GPU run side \
                  by side.",
        figure: Figure::PerDevice,
        means: Means {
            more: "Workers use the time that others leave on their GPU.",
            same: "Sharing made no measurable difference.",
            less: "Workers on one GPU slowed each other down.",
        },
    },
    parallel: ChangeWords {
        opening: "Data parallelism: the four idle GPUs take batches of the four slowest networks.",
        figure: Figure::Throughput,
        means: more_workers("The slowest networks now have more workers."),
    },
    policies: &[
        NO_WAIT,
        (
            PolicyKind::OptWait { wait: LONG_WAIT },
            "opt-wait",
            "The same under opt-wait: a worker waits up to 100 ms for a full batch.",
        ),
        (
            PolicyKind::PipelinedOptWait { wait: LONG_WAIT },
            "pipelined",
            "The same under pipelined-opt-wait: samples are copied to the GPU while a batch \
             computes there.",
        ),
        (
            PolicyKind::Elastic { max_inf: None },
            "elastic",
            "The same under elastic: samples start at once in idle lanes of 1, 1, 2, 4, …",
        ),
    ],
    search: ChangeWords {
        opening: "A search: it scores matrices with a model and runs the best in virtual time. \
                  Serving continues.",
        figure: Figure::Throughput,
        means: SEARCHED,
    },
    shared: 6,
    full: (8, 16),
    whole: 40,
    single: 400,
};

/// The conclusion of a scene.
#[derive(Clone, Copy, Debug)]
pub(super) enum Conclusion {
    /// How evenly devices were used.
    Spread,
    /// A figure before and after.
    Change {
        figure: Figure,
        from: &'static str,
        to: &'static str,
        means: Means,
    },
    /// The lowest and the highest figure under different names.
    Ranking,
    /// The goals met under a policy for loading variants.
    Followed,
    /// The results of all such policies on the same queries.
    ComparedPolicies,
    /// The effect of two reloads on requests.
    Reloads {
        before: &'static str,
        after: &'static str,
    },
}

/// The text for each outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct Means {
    pub more: &'static str,
    pub same: &'static str,
    pub less: &'static str,
}

const NOTHING: &str = "Nothing was measured here.";
/// A device busier than this has no time left.
const FULL: f64 = 0.85;
/// Devices whose load differs by less than this count as equal.
const EVEN: f64 = 0.10;

impl Conclusion {
    /// Returns the caption at the end of the scene.
    pub(super) fn text(self, demo: &DemoState, shown: &Snapshot) -> String {
        let text = match self {
            Conclusion::Spread => spread(shown),
            Conclusion::Change {
                figure,
                from,
                to,
                means,
            } => SceneFigures(demo).change(figure, from, to, means),
            Conclusion::Ranking => SceneFigures(demo).ranking(),
            Conclusion::Followed => tasks::goals_met(demo, shown),
            Conclusion::ComparedPolicies => tasks::policies(shown),
            Conclusion::Reloads { before, after } => SceneFigures(demo).reloads(before, after),
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

    fn change(
        &self,
        figure: Figure,
        from: &'static str,
        to: &'static str,
        means: Means,
    ) -> Option<String> {
        let (before, after) = (self.named(figure, from)?, self.named(figure, to)?);
        let (verdict, meaning) = match after.measured.against(before.measured) {
            Comparison::More => (format!("{} % more", percent(before, after)), means.more),
            Comparison::Less => (format!("{} % fewer", percent(before, after)), means.less),
            Comparison::Same => ("no significant change".into(), means.same),
        };
        let numbers = [before, after].map(|n| format!("{} {}", n.name, n.text()));
        let over = format::seconds(before.over.min(after.over));
        let [before, after] = numbers;
        let title = figure.title();
        Some(format!(
            "{before} → {after} {title}, {over} each: {verdict}. {meaning}"
        ))
    }

    fn ranking(&self) -> Option<String> {
        let all = [self.extremes(Figure::P50)?, self.extremes(Figure::P99)?];
        let requests = self.noted(Figure::P99).map(|n| n.requests).min()?;
        Some(format!(
            "{} {} Of {requests} requests each.",
            all[0], all[1]
        ))
    }

    fn extremes(&self, figure: Figure) -> Option<String> {
        let by_value =
            |a: &&FigureNote, b: &&FigureNote| a.measured.value.total_cmp(&b.measured.value);
        let least = self.noted(figure).min_by(by_value)?;
        let most = self.noted(figure).max_by(by_value)?;
        let title = figure.title();
        Some(match most.measured.against(least.measured) {
            Comparison::More => format!(
                "{title}: least {} {}, most {} {}.",
                least.name,
                least.text(),
                most.name,
                most.text()
            ),
            _ => format!("{title}: no significant difference."),
        })
    }

    fn reloads(&self, before: &'static str, after: &'static str) -> Option<String> {
        let lost = self.noted(Figure::Lost).next()?;
        let lost = match lost.measured.value {
            0.0 => "No request was lost in two reloads.".to_owned(),
            _ => format!(
                "{} requests were lost in two reloads: see the log.",
                lost.text()
            ),
        };
        let (before, after) = (
            self.named(Figure::P99, before)?,
            self.named(Figure::P99, after)?,
        );
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

fn percent(before: &FigureNote, after: &FigureNote) -> String {
    let change = after.measured.value / before.measured.value.max(f64::MIN_POSITIVE) - 1.0;
    let percent = 100.0 * change.abs();
    match percent < 9.95 {
        true => format!("{percent:.1}"),
        false => format!("{percent:.0}"),
    }
}

/// Describes the load of the devices with workers.
fn spread(shown: &Snapshot) -> Option<String> {
    let rows = shown.matrix.rows();
    let used = shown.devices.iter().zip(&rows);
    let used = used.filter(|(_, row)| row.iter().any(|size| *size > 0));
    let busy: Vec<f64> = used.map(|(d, _)| d.busy).collect();
    let least = busy.iter().copied().reduce(f64::min)?;
    let most = busy.iter().copied().reduce(f64::max)?;
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
