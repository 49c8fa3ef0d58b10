//! The scenes, on this machine's devices and on simulated GPUs.

use std::str::FromStr;
use std::time::Duration;

use divisi::ensemble::{PolicyKind, Wait};

use super::figures::Figure;
use super::plans::Plan;
use super::script::{Load, Scene, Step, Watch};
use crate::console::model::Panel;

use Step::{Apply, Clear, Gauge, Look, Note, Policy, Say, Search};

/// What a demonstration is shown on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The digits ensemble on this machine's devices.
    Digits,
    /// Twelve networks of ImageNet on 16 simulated GPUs.
    Simulated,
}

impl FromStr for Stage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "digits" => Ok(Stage::Digits),
            "simulated" => Ok(Stage::Simulated),
            _ => Err(format!("expected digits or simulated, found `{text}`")),
        }
    }
}

/// Its scenes.
pub(super) fn of(stage: Stage) -> Vec<Scene> {
    let words = match stage {
        Stage::Digits => &DIGITS,
        Stage::Simulated => &SIMULATED,
    };
    vec![
        alone(words),
        together(words),
        parallel(words),
        policies(words),
        reload(words),
        search(words),
    ]
}

/// What differs between the two.
struct Words {
    alone: [&'static str; 2],
    together: [&'static str; 2],
    parallel: [&'static str; 2],
    policies: &'static [(PolicyKind, &'static str, &'static str)],
    reload: [&'static str; 2],
    search: [&'static str; 2],
    /// Devices that all members share; 0: all.
    shared: usize,
    /// Requests that saturate: clients, and samples in each.
    full: (usize, usize),
    /// Requests that are watched under that load, and under single samples.
    whole: u64,
    single: u64,
}

const WAIT: Wait = Wait::millis(20);
const LONG_WAIT: Wait = Wait::millis(100);

static DIGITS: Words = Words {
    alone: [
        "One worker alone: the dearest network has the first device to itself, the five others \
         share the second. Every request needs all six.",
        "Look at the busy column: one device waits for the other. An ensemble is as fast as its \
         slowest member.",
    ],
    together: [
        "Co-location: all members share all devices, as evenly as their costs allow. Workers on \
         one device take turns.",
        "Both devices have about as much to do, so more samples are answered in a second with \
         the same machine.",
    ],
    parallel: [
        "Data parallelism: every member has a worker on every device; whichever is free takes \
         the next batch.",
        "No device waits while another has work left: what one member asks for is shared out \
         batch by batch.",
    ],
    policies: &[
        (
            PolicyKind::NoWait,
            "no-wait",
            "The burst: 150 requests slowly, 250 fast, and again. no-wait takes whatever is \
             there: short waits, small batches.",
        ),
        (
            PolicyKind::OptWait { wait: WAIT },
            "opt-wait",
            "opt-wait waits up to 20 ms for a full batch: fuller batches, and each request \
             pays for it in the slow part.",
        ),
        (
            PolicyKind::Static { wait: WAIT },
            "static",
            "static waits as well and pads to the full batch: it computes rows that nobody \
             asked for.",
        ),
        (
            PolicyKind::Elastic { max_inf: None },
            "elastic",
            "elastic splits a batch into lanes. CPU partitions run one lane at a time, so here \
             it does as no-wait does; see --on simulated.",
        ),
    ],
    reload: [
        "A reload under load: requests arrive all the time while another matrix takes over. \
         Watch the streams and the log.",
        "New workers were ready before the old ones drained, so nobody's request was lost.",
    ],
    search: [
        "A search: members are profiled once, thousands of matrices scored by a model, the best \
         few run. The load rests while it measures.",
        "Members wait for each other less in what was found; u brings back what ran before.",
    ],
    shared: 0,
    full: (16, 32),
    whole: 60,
    single: 400,
};

static SIMULATED: Words = Words {
    alone: [
        "One worker alone: each of twelve networks has a GPU of its own, four of sixteen are \
         idle. Every request needs all twelve.",
        "Look at the busy column: cheap networks wait for the dearest one. Most of twelve GPUs \
         is bought for nothing.",
    ],
    together: [
        "Co-location: the same twelve networks on six GPUs. Workers on one GPU run side by side \
         and fill what the others leave.",
        "Half of the GPUs do more than half of the work: each of them answers more samples in a \
         second than before.",
    ],
    parallel: [
        "Data parallelism: the four GPUs that were idle take batches of the four dearest \
         networks.",
        "The dearest networks have two workers each; what they asked for is shared out, and the \
         ensemble is as fast as the next slowest.",
    ],
    policies: &[
        (
            PolicyKind::NoWait,
            "no-wait",
            "The burst: 150 requests slowly, 250 fast, and again. no-wait takes whatever is \
             there; what comes later waits for the batch to end.",
        ),
        (
            PolicyKind::OptWait { wait: LONG_WAIT },
            "opt-wait",
            "opt-wait waits up to 100 ms for a full batch: fuller batches, and each request \
             pays for it in the slow part.",
        ),
        (
            PolicyKind::PipelinedOptWait { wait: LONG_WAIT },
            "pipelined",
            "The same, and samples are copied to the GPU while a batch computes there.",
        ),
        (
            PolicyKind::Elastic { max_inf: None },
            "elastic",
            "elastic starts what comes at once in idle lanes of 1, 1, 2, 4, …: nobody waits for \
             a batch to fill or to end.",
        ),
    ],
    reload: [
        "A reload under load: requests arrive all the time while another matrix takes over. \
         Watch the streams and the log.",
        "New workers were ready before the old ones drained, so nobody's request was lost.",
    ],
    search: [
        "A search: thousands of matrices scored by a model, the best run in virtual time. \
         Serving goes on meanwhile.",
        "All sixteen GPUs have work, with the batch sizes that suit; u brings back what ran \
         before.",
    ],
    shared: 6,
    full: (8, 16),
    whole: 40,
    single: 400,
};

fn full(words: &Words) -> Step {
    let (clients, samples) = words.full;
    Step::Load(Load::Full { clients, samples })
}

fn watch(answered: u64, seconds: u64) -> Step {
    let lasts = Duration::from_secs(seconds);
    Step::Watch(Watch { answered, lasts })
}

/// Serves as much as can be by `plan`, and writes down how much that is.
fn shown(words: &Words, title: &'static str, plan: Plan, name: &'static str) -> Scene {
    let captions = match plan {
        Plan::Alone => words.alone,
        Plan::Together(_) => words.together,
        _ => words.parallel,
    };
    let steps = vec![
        Say(captions[0]),
        Look(Panel::Allocation),
        Policy(PolicyKind::NoWait),
        Apply(plan),
        full(words),
        watch(words.whole / 4, 2),
        Clear,
        Look(Panel::Streams),
        watch(words.whole, 5),
        Note(Figure::PerDevice, name),
        Note(Figure::Throughput, name),
        Say(captions[1]),
        Look(Panel::Allocation),
    ];
    Scene { title, steps }
}

fn alone(words: &Words) -> Scene {
    shown(words, "One worker alone", Plan::Alone, "alone")
}

fn together(words: &Words) -> Scene {
    let plan = Plan::Together(words.shared);
    shown(words, "Co-location", plan, "together")
}

fn parallel(words: &Words) -> Scene {
    shown(words, "Data parallelism", Plan::Parallel, "parallel")
}

fn gauged(words: &Words, caption: &'static str) -> Vec<Step> {
    vec![
        Say(caption),
        Look(Panel::Throughput),
        Policy(PolicyKind::NoWait),
        Apply(Plan::Parallel),
        full(words),
        watch(words.whole / 4, 1),
        watch(words.whole / 2, 2),
        Gauge,
    ]
}

fn policies(words: &Words) -> Scene {
    let mut steps = gauged(
        words,
        "How much can be served at most? The burst that follows is measured by it.",
    );
    for (policy, name, caption) in words.policies {
        steps.extend([
            Say(caption),
            Look(Panel::Streams),
            Step::Load(Load::Stop),
            Step::Drain,
            Policy(*policy),
            Step::Load(Load::Burst(0.6)),
            watch(20, 0),
            Clear,
            watch(words.single, 4),
            Look(Panel::Latency),
            Note(Figure::P50, name),
            Note(Figure::P99, name),
        ]);
    }
    steps.extend([
        Policy(PolicyKind::NoWait),
        Say("The four side by side: what most requests wait (p50), and one in a hundred (p99)."),
    ]);
    Scene {
        title: "Four policies under the burst",
        steps,
    }
}

fn reload(words: &Words) -> Scene {
    let mut steps = gauged(
        words,
        "How much can be served at most? A good half of that arrives while workers change.",
    );
    steps.extend([
        Step::Load(Load::Stop),
        Step::Drain,
        Step::Load(Load::Poisson(0.5)),
        watch(words.single / 8, 1),
        Clear,
        watch(words.single / 2, 2),
        Note(Figure::P99, "before reload"),
        Say(words.reload[0]),
        Look(Panel::Streams),
        Apply(Plan::Together(0)),
        watch(words.single / 2, 3),
        Note(Figure::P99, "after"),
        Apply(Plan::Parallel),
        watch(words.single / 2, 3),
        Note(Figure::P99, "back again"),
        Note(Figure::Lost, "in two reloads"),
        Say(words.reload[1]),
        Look(Panel::Latency),
    ]);
    Scene {
        title: "A reload under load",
        steps,
    }
}

fn search(words: &Words) -> Scene {
    let measured = |name| {
        [
            watch(words.whole / 4, 2),
            watch(words.whole, 4),
            Note(Figure::PerDevice, name),
            Note(Figure::Throughput, name),
        ]
    };
    let mut steps = vec![
        Say(words.search[0]),
        Policy(PolicyKind::NoWait),
        Look(Panel::Allocation),
        Apply(Plan::Together(0)),
        full(words),
    ];
    steps.extend(measured("by hand"));
    steps.extend([Look(Panel::Search), Search, Apply(Plan::Best)]);
    steps.push(Look(Panel::Streams));
    steps.extend(measured("found"));
    steps.extend([Say(words.search[1]), Look(Panel::Allocation)]);
    Scene {
        title: "A search",
        steps,
    }
}
