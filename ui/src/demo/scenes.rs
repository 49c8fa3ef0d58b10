//! The scenes, on this machine's devices and on simulated GPUs.

use std::time::Duration;

use DemoStep::{Conclude, Do, Gauge, Look, Note, Say};
use Given::{Apply, Clear, Load, Policy, Search};
use divisi_model::ensemble::PolicyKind;

use super::script::{DemoLoad, DemoPlan, DemoScene, DemoStep, DemoWatch, Given};
use super::words::{BEFORE, ChangeWords, Conclusion, DIGITS, FOUND, SIMULATED, StageWords};
use crate::layout::Panel;
use crate::model::{DemoStage, Figure};

/// Returns the scenes of a stage.
pub(super) fn for_stage(stage: DemoStage) -> Vec<DemoScene> {
    let words = match stage {
        DemoStage::Digits => &DIGITS,
        DemoStage::Simulated => &SIMULATED,
        DemoStage::Tasks => return super::tasks::scenes(),
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

fn full(words: &StageWords) -> DemoStep {
    let (clients, samples) = words.full;
    Do(Load(DemoLoad::Full { clients, samples }))
}

fn watch(answered: u64, seconds: u64) -> DemoStep {
    let lasts = Duration::from_secs(seconds);
    DemoStep::Watch(DemoWatch { answered, lasts })
}

/// Returns the steps that wait until a change has settled, then note the throughput.
fn measured(words: &StageWords, name: &'static str) -> [DemoStep; 4] {
    [
        watch(words.whole / 4, 2),
        watch(words.whole, 5),
        Note(Figure::PerDevice, name),
        Note(Figure::Throughput, name),
    ]
}

/// Returns the step that states the effect of a change, from measurements before and after it.
fn conclusion(told: &ChangeWords, from: &'static str, to: &'static str) -> DemoStep {
    Conclude(Conclusion::Change {
        figure: told.figure,
        from,
        to,
        means: told.means,
    })
}

fn alone(words: &StageWords) -> DemoScene {
    let mut steps = vec![
        Say(words.alone),
        Look(Panel::Allocation),
        Do(Policy(PolicyKind::NoWait)),
        Do(Apply(DemoPlan::Alone)),
        full(words),
        Look(Panel::Streams),
    ];
    steps.extend(measured(words, "alone"));
    steps.extend([Conclude(Conclusion::Spread), Look(Panel::Allocation)]);
    DemoScene {
        title: "One worker alone",
        steps,
    }
}

/// Returns a scene that serves with one plan, then with another, and compares them.
fn compared(
    words: &StageWords,
    title: &'static str,
    told: &ChangeWords,
    (before, from): (DemoPlan, &'static str),
    (after, to): (DemoPlan, &'static str),
) -> DemoScene {
    let mut steps = vec![
        Say(BEFORE),
        Look(Panel::Allocation),
        Do(Policy(PolicyKind::NoWait)),
        Do(Apply(before)),
        full(words),
    ];
    steps.extend(measured(words, from));
    steps.extend([
        Say(told.opening),
        Do(Apply(after)),
        Do(Clear),
        Look(Panel::Streams),
    ]);
    steps.extend(measured(words, to));
    steps.extend([conclusion(told, from, to), Look(Panel::Allocation)]);
    DemoScene { title, steps }
}

fn together(words: &StageWords) -> DemoScene {
    let (told, plan) = (&words.together, DemoPlan::Together(words.shared));
    let before = (DemoPlan::Alone, "alone");
    compared(words, "Co-location", told, before, (plan, "together"))
}

fn parallel(words: &StageWords) -> DemoScene {
    let told = &words.parallel;
    let before = match words.shared {
        0 => (DemoPlan::Together(0), "together"),
        _ => (DemoPlan::Alone, "alone"),
    };
    let after = (DemoPlan::Parallel, "parallel");
    compared(words, "Data parallelism", told, before, after)
}

fn gauged(words: &StageWords, caption: &'static str) -> Vec<DemoStep> {
    vec![
        Say(caption),
        Look(Panel::Throughput),
        Do(Policy(PolicyKind::NoWait)),
        Do(Apply(DemoPlan::Parallel)),
        full(words),
        watch(words.whole / 4, 1),
        watch(words.whole / 2, 2),
        Gauge,
    ]
}

fn policies(words: &StageWords) -> DemoScene {
    let mut steps = gauged(
        words,
        "Measuring the maximum throughput. The burst is scaled to it.",
    );
    for (policy, name, caption) in words.policies {
        steps.extend([
            Say(caption),
            Look(Panel::Streams),
            Do(Load(DemoLoad::Stop)),
            DemoStep::Drain,
            Do(Policy(*policy)),
            Do(Load(DemoLoad::Burst(0.6))),
            watch(20, 0),
            Do(Clear),
            watch(words.single, 4),
            Look(Panel::Latency),
            Note(Figure::P50, name),
            Note(Figure::P99, name),
        ]);
    }
    steps.extend([
        Do(Policy(PolicyKind::NoWait)),
        Conclude(Conclusion::Ranking),
    ]);
    DemoScene {
        title: "Four policies under the burst",
        steps,
    }
}

fn reload(words: &StageWords) -> DemoScene {
    let mut steps = gauged(
        words,
        "Measuring the maximum throughput. Half of it arrives during the reload.",
    );
    steps.extend([
        Do(Load(DemoLoad::Stop)),
        DemoStep::Drain,
        Do(Load(DemoLoad::Poisson(0.5))),
        watch(words.single / 8, 1),
        Do(Clear),
        watch(words.single / 2, 3),
        Note(Figure::P99, "before reload"),
        Say(
            "A reload under load: requests keep arriving while another matrix takes over. Watch the \
             streams and the log.",
        ),
        Look(Panel::Streams),
        DemoStep::Count,
        Do(Clear),
        Do(Apply(DemoPlan::Together(0))),
        watch(words.single / 2, 3),
        Note(Figure::P99, "in reload"),
        Do(Clear),
        Do(Apply(DemoPlan::Parallel)),
        watch(words.single / 2, 3),
        Note(Figure::P99, "back again"),
        Note(Figure::Lost, "in two reloads"),
        Conclude(Conclusion::Reloads {
            before: "before reload",
            after: "in reload",
        }),
        Look(Panel::Latency),
    ]);
    DemoScene {
        title: "A reload under load",
        steps,
    }
}

fn search(words: &StageWords) -> DemoScene {
    let mut steps = vec![
        Say(BEFORE),
        Do(Policy(PolicyKind::NoWait)),
        Look(Panel::Allocation),
        Do(Apply(DemoPlan::Together(0))),
        full(words),
    ];
    steps.extend(measured(words, "by hand"));
    steps.extend([
        Say(words.search.opening),
        Look(Panel::Search),
        Do(Search),
        Do(Apply(DemoPlan::Best)),
        Say(FOUND),
        Look(Panel::Streams),
    ]);
    steps.extend(measured(words, "found"));
    let conclusion = conclusion(&words.search, "by hand", "found");
    steps.extend([conclusion, Look(Panel::Allocation)]);
    DemoScene {
        title: "A search",
        steps,
    }
}
