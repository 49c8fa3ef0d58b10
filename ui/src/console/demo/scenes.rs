//! The scenes, on this machine's devices and on simulated GPUs.

use std::str::FromStr;
use std::time::Duration;

use divisi::ensemble::PolicyKind;

use super::conclusions::Conclusion;
use super::figures::Figure;
use super::plans::Plan;
use super::script::{Load, Scene, Step, Watch};
use super::words::{BEFORE, DIGITS, FOUND, SIMULATED, Told, Words};
use crate::console::model::Panel;

use Step::{Apply, Clear, Conclude, Gauge, Look, Note, Policy, Say, Search};

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

fn full(words: &Words) -> Step {
    let (clients, samples) = words.full;
    Step::Load(Load::Full { clients, samples })
}

fn watch(answered: u64, seconds: u64) -> Step {
    let lasts = Duration::from_secs(seconds);
    Step::Watch(Watch { answered, lasts })
}

/// Lets what was changed settle, then writes down how much is served.
fn measured(words: &Words, name: &'static str) -> [Step; 4] {
    [
        watch(words.whole / 4, 2),
        watch(words.whole, 5),
        Note(Figure::PerDevice, name),
        Note(Figure::Throughput, name),
    ]
}

/// What came of a change, by what was measured on both sides of it.
fn conclusion(told: &Told, from: &'static str, to: &'static str) -> Step {
    Conclude(Conclusion::Change {
        figure: told.figure,
        from,
        to,
        means: told.means,
    })
}

fn alone(words: &Words) -> Scene {
    let mut steps = vec![
        Say(words.alone),
        Look(Panel::Allocation),
        Policy(PolicyKind::NoWait),
        Apply(Plan::Alone),
        full(words),
        Look(Panel::Streams),
    ];
    steps.extend(measured(words, "alone"));
    steps.extend([Conclude(Conclusion::Spread), Look(Panel::Allocation)]);
    Scene {
        title: "One worker alone",
        steps,
    }
}

/// Serves by one plan and then by another, and compares.
fn compared(
    words: &Words,
    title: &'static str,
    told: &Told,
    (before, from): (Plan, &'static str),
    (after, to): (Plan, &'static str),
) -> Scene {
    let mut steps = vec![
        Say(BEFORE),
        Look(Panel::Allocation),
        Policy(PolicyKind::NoWait),
        Apply(before),
        full(words),
    ];
    steps.extend(measured(words, from));
    steps.extend([Say(told.opening), Apply(after), Clear, Look(Panel::Streams)]);
    steps.extend(measured(words, to));
    steps.extend([conclusion(told, from, to), Look(Panel::Allocation)]);
    Scene { title, steps }
}

fn together(words: &Words) -> Scene {
    let (told, plan) = (&words.together, Plan::Together(words.shared));
    let before = (Plan::Alone, "alone");
    compared(words, "Co-location", told, before, (plan, "together"))
}

fn parallel(words: &Words) -> Scene {
    let told = &words.parallel;
    let before = match words.shared {
        0 => (Plan::Together(0), "together"),
        _ => (Plan::Alone, "alone"),
    };
    let after = (Plan::Parallel, "parallel");
    compared(words, "Data parallelism", told, before, after)
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
    steps.extend([Policy(PolicyKind::NoWait), Conclude(Conclusion::Ranking)]);
    Scene {
        title: "Four policies under the burst",
        steps,
    }
}

fn reload(words: &Words) -> Scene {
    let mut steps = gauged(
        words,
        "How much can be served at most? Half of that arrives while workers change.",
    );
    steps.extend([
        Step::Load(Load::Stop),
        Step::Drain,
        Step::Load(Load::Poisson(0.5)),
        watch(words.single / 8, 1),
        Clear,
        watch(words.single / 2, 3),
        Note(Figure::P99, "before reload"),
        Say(
            "A reload under load: requests arrive all the time while another matrix takes over. \
             Watch the streams and the log.",
        ),
        Look(Panel::Streams),
        Step::Count,
        Clear,
        Apply(Plan::Together(0)),
        watch(words.single / 2, 3),
        Note(Figure::P99, "in reload"),
        Clear,
        Apply(Plan::Parallel),
        watch(words.single / 2, 3),
        Note(Figure::P99, "back again"),
        Note(Figure::Lost, "in two reloads"),
        Conclude(Conclusion::Reloads {
            before: "before reload",
            after: "in reload",
        }),
        Look(Panel::Latency),
    ]);
    Scene {
        title: "A reload under load",
        steps,
    }
}

fn search(words: &Words) -> Scene {
    let mut steps = vec![
        Say(BEFORE),
        Policy(PolicyKind::NoWait),
        Look(Panel::Allocation),
        Apply(Plan::Together(0)),
        full(words),
    ];
    steps.extend(measured(words, "by hand"));
    steps.extend([
        Say(words.search.opening),
        Look(Panel::Search),
        Search,
        Apply(Plan::Best),
        Say(FOUND),
        Look(Panel::Streams),
    ]);
    steps.extend(measured(words, "found"));
    let conclusion = conclusion(&words.search, "by hand", "found");
    steps.extend([conclusion, Look(Panel::Allocation)]);
    Scene {
        title: "A search",
        steps,
    }
}
