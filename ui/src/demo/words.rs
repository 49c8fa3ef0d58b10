//! The captions for each stage and the load that it is given; and the outcome of a scene, in
//! words made from what was measured in it.

use divisi_model::ensemble::{PolicyKind, Wait};
use divisi_session::Snapshot;

use super::tasks;
use crate::model::{Comparison, DemoState, Figure, FigureNote};
use crate::text::format;

/// The texts and sizes that differ between the two stages.
pub(super) struct StageWords {
    pub alone: &'static str,
    pub together: ChangeWords,
    pub parallel: ChangeWords,
    pub policies: &'static [(PolicyKind, &'static str, &'static str)],
    pub search: ChangeWords,
    /// Devices that all members share; 0: all.
    pub shared: usize,
    /// Requests that saturate: clients, and samples in each.
    pub full: (usize, usize),
    /// Requests that are watched under that load, and under single samples.
    pub whole: u64,
    pub single: u64,
}

/// A change of what runs: what it is before it is made, and what comes of it after.
pub(super) struct ChangeWords {
    pub opening: &'static str,
    /// The figure that is compared.
    pub figure: Figure,
    pub means: Means,
}

const WAIT: Wait = Wait::millis(20);
const LONG_WAIT: Wait = Wait::millis(100);
/// The caption for the first of two measurements.
pub(super) const BEFORE: &str = "First the matrix before, under the same load, to compare with.";

/// The caption while a search's matrix is measured.
pub(super) const FOUND: &str = "What the search found serves now, under the same load again. It is \
                                measured as long as the matrix before was.";

/// The first policy of both stages, which the others are compared with.
const NO_WAIT: (PolicyKind, &str, &str) = (
    PolicyKind::NoWait,
    "no-wait",
    "The burst: 150 requests slowly, 250 fast, and again. Under no-wait a worker takes \
     whatever is there.",
);

/// The outcome of data parallelism, where it gave more in this way.
const fn more_workers(more: &'static str) -> Means {
    Means {
        more,
        same: "More workers made no difference that shows.",
        less: "More workers cost more here than they gave.",
    }
}

/// The outcome of a search.
const SEARCHED: Means = Means {
    more: "u brings back what ran before.",
    same: "It made no difference that shows.",
    less: "What was set by hand was better: u brings it back.",
};

pub(super) static DIGITS: StageWords = StageWords {
    alone: "One worker alone: the dearest network has the first device to itself, the five others \
            share the second. Every request needs all six.",
    together: ChangeWords {
        opening: "Co-location: all members share all devices, as evenly as their costs allow. \
                  Workers on one device take turns.",
        figure: Figure::Throughput,
        means: Means {
            more: "Shared evenly, the machine answers more.",
            same: "Sharing made no difference that shows.",
            less: "Sharing cost more here than it gave.",
        },
    },
    parallel: ChangeWords {
        opening: "Data parallelism: every member has a worker on every device; whichever is free \
                  takes the next batch.",
        figure: Figure::Throughput,
        means: more_workers("Work was shared out better batch by batch."),
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
            "The same under static: it waits as well, and pads what is not full with rows that \
             nobody asked for.",
        ),
        (
            PolicyKind::Elastic { max_inf: None },
            "elastic",
            "The same under elastic, which splits a batch into lanes; CPU partitions run one lane \
             at a time. See --on simulated.",
        ),
    ],
    search: ChangeWords {
        opening: "A search: members are profiled, matrices scored by a model, the best few run. \
                  The load rests while it measures.",
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
            more: "Workers fill what others on their GPU leave.",
            same: "Sharing made no difference that shows.",
            less: "Workers on one GPU were in each other's way.",
        },
    },
    parallel: ChangeWords {
        opening: "Data parallelism: the four GPUs that were idle take batches of the four dearest \
                  networks.",
        figure: Figure::Throughput,
        means: more_workers("What the dearest asked for was shared out."),
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
            "The same under elastic: what comes is started at once in idle lanes of 1, 1, 2, 4, …",
        ),
    ],
    search: ChangeWords {
        opening: "A search: matrices scored by a model, the best run in virtual time. Serving goes \
                  on meanwhile.",
        figure: Figure::Throughput,
        means: SEARCHED,
    },
    shared: 6,
    full: (8, 16),
    whole: 40,
    single: 400,
};

/// The conclusion that a scene ends with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Conclusion {
    /// How evenly devices were busy.
    Spread,
    /// A figure before and after.
    Change {
        figure: Figure,
        from: &'static str,
        to: &'static str,
        means: Means,
    },
    /// The least and the most of what was taken under different names.
    Ranking,
    /// The goals that were met while a policy loaded variants.
    Followed,
    /// The outcome of every such policy on the same queries.
    ComparedPolicies,
    /// The effect of two reloads on requests.
    Reloads {
        before: &'static str,
        after: &'static str,
    },
}

/// The meaning of each outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct Means {
    pub more: &'static str,
    pub same: &'static str,
    pub less: &'static str,
}

const NOTHING: &str = "Nothing was measured here, so there is nothing to say of it.";
/// Busier than this a device has no time left.
const FULL: f64 = 0.85;
/// Devices nearer than this are as busy as each other.
const EVEN: f64 = 0.10;

impl Conclusion {
    /// The caption that the scene ends with.
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

/// The figures of the scene that is shown.
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
            Comparison::Same => ("no more change than chance makes".into(), means.same),
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
            _ => format!("{title}: no difference that can be told from chance."),
        })
    }

    fn reloads(&self, before: &'static str, after: &'static str) -> Option<String> {
        let lost = self.noted(Figure::Lost).next()?;
        let lost = match lost.measured.value {
            0.0 => "No request was lost in two reloads.".to_owned(),
            _ => format!(
                "{} requests were lost in two reloads: the log says why.",
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
            Comparison::Same => "no more change than chance makes",
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

/// How busy the devices that have workers were.
fn spread(shown: &Snapshot) -> Option<String> {
    let rows = shown.matrix.rows();
    let used = shown.devices.iter().zip(&rows);
    let used = used.filter(|(_, row)| row.iter().any(|size| *size > 0));
    let busy: Vec<f64> = used.map(|(d, _)| d.busy).collect();
    let least = busy.iter().copied().reduce(f64::min)?;
    let most = busy.iter().copied().reduce(f64::max)?;
    let meaning = match (most - least < EVEN, most >= FULL) {
        (true, _) => "None waits much for another.",
        (false, true) => {
            "The others wait for the busiest: an ensemble is as fast as its slowest member."
        }
        (false, false) => "Not even the busiest was busy all the time.",
    };
    let count = busy.len();
    let (least, most) = (100.0 * least, 100.0 * most);
    Some(format!(
        "The {count} devices with workers were {least:.0} to {most:.0} % busy in the last second. {meaning}"
    ))
}
