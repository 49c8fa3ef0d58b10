//! What is said on each stage, and how much is asked of it there.

use divisi::ensemble::{PolicyKind, Wait};

use super::conclusions::Means;
use crate::model::Figure;

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
        means: Means {
            more: "Work was shared out better batch by batch.",
            same: "More workers made no difference that shows.",
            less: "More workers cost more here than they gave.",
        },
    },
    policies: &[
        (
            PolicyKind::NoWait,
            "no-wait",
            "The burst: 150 requests slowly, 250 fast, and again. Under no-wait a worker takes \
             whatever is there.",
        ),
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
        means: Means {
            more: "u brings back what ran before.",
            same: "It made no difference that shows.",
            less: "What was set by hand was better: u brings it back.",
        },
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
        means: Means {
            more: "What the dearest asked for was shared out.",
            same: "More workers made no difference that shows.",
            less: "More workers cost more here than they gave.",
        },
    },
    policies: &[
        (
            PolicyKind::NoWait,
            "no-wait",
            "The burst: 150 requests slowly, 250 fast, and again. Under no-wait a worker takes \
             whatever is there.",
        ),
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
        means: Means {
            more: "u brings back what ran before.",
            same: "It made no difference that shows.",
            less: "What was set by hand was better: u brings it back.",
        },
    },
    shared: 6,
    full: (8, 16),
    whole: 40,
    single: 400,
};
