//! The demonstration of tasks: a load that swings, and the policies that follow it.

use std::time::Duration;

use divisi_console::console::{DemoStage, Wanted};
use divisi_session::{
    Command, CountedOutcome, GoalSecond, LoadedVariant, PolicyComparison, PolicyOutcome,
    ScalingChange, ScalingView, TaskView,
};

use crate::fake::{Bench, PLAIN};

fn scaling() -> ScalingView {
    ScalingView {
        policy: "static".to_owned(),
        policies: vec!["static".to_owned(), "divisi".to_owned()],
        tasks: vec![TaskView {
            name: "digits".to_owned(),
            ..TaskView::default()
        }],
        loaded: vec![LoadedVariant::default(); 3],
        ..ScalingView::default()
    }
}

fn demo(width: u16, height: u16) -> Bench {
    let stage = DemoStage::Tasks;
    let wanted = Wanted { stage, auto: false };
    let mut bench = Bench::demonstrating(width, height, PLAIN, wanted);
    bench.show(|shown| shown.scaling = Some(scaling()));
    // It began before anything was served.
    bench.keys("r");
    bench
}

fn outcome(policy: &str, missed: f64, cost: f64) -> PolicyOutcome {
    PolicyOutcome {
        policy: policy.to_owned(),
        missed,
        cost,
        accuracy: 0.99,
        changes: 1,
    }
}

/// A second passes, in which 100 queries are answered and one misses its goal; what was asked for is done,
/// and a policy other than `static` makes a change when it begins.
fn pass(bench: &mut Bench) {
    let asked = std::mem::take(&mut *bench.desk.sent.lock().unwrap());
    bench.show(|shown| {
        shown.now += Duration::from_secs(1);
        shown.counters.answered += 100;
        let now = shown.now;
        let scaling = shown.scaling.as_mut().unwrap();
        scaling.tasks[0]
            .seconds
            .push(GoalSecond { met: 99, missed: 1 });
        for command in asked {
            match command {
                Command::SetScalingPolicy(policy) => {
                    scaling.policy = policy.clone();
                    scaling.loaded.truncate(1);
                    scaling.changes.push(ScalingChange {
                        at: now + Duration::from_secs(5),
                        policy,
                        what: "-2 small".to_owned(),
                        outcome: Ok(Duration::from_millis(25)),
                        shares_alone: false,
                    });
                }
                Command::ComparePolicies => {
                    scaling.comparison = Some(PolicyComparison {
                        at: now,
                        over: Duration::from_secs(90),
                        queries: 9_000,
                        counted: CountedOutcome::default(),
                        outcomes: vec![outcome("static", 0.02, 3.0), outcome("divisi", 0.01, 1.5)],
                    });
                }
                Command::StartLoad(pattern) => shown.load.pattern = Some(pattern),
                _ => {}
            }
        }
    });
}

fn play(bench: &mut Bench) {
    for _ in 0..200 {
        if bench.text().contains('■') {
            return;
        }
        pass(bench);
    }
    panic!("the scene does not end:\n{}", bench.text());
}

#[test]
fn scenes_tell_what_was_counted_under_each_policy() {
    let mut bench = demo(120, 40);
    let told = [
        "4 500 queries in 45 s, 45 missed a goal. Under static, loaded variants did not change; loaded now: 3.",
        "4 500 queries in 45 s, 45 missed a goal. Under divisi, loaded variants changed once, in at most 25 ms; loaded now: 1.",
        "Simulated, 9 000 queries of 1 min 30 s: missed goals from divisi 1.0% to static 2.0%; cost per million from divisi 1.50 to static 3.00.",
    ];
    for (scene, told) in told.iter().enumerate() {
        play(&mut bench);
        let demo = bench.console.model().demo.as_ref().unwrap();
        assert_eq!(demo.caption(), *told, "scene {scene}");
        bench.keys("n");
    }
}

#[test]
fn captions_fit_into_a_small_terminal() {
    let mut bench = demo(80, 24);
    for end in [
        "static unloads none.",
        "loads or unloads variants.",
        "variants' profiles.",
    ] {
        wait_for_caption(&mut bench, end);
        play(&mut bench);
        bench.keys("n");
    }
}

/// Lets seconds pass until the screen holds how a caption ends.
fn wait_for_caption(bench: &mut Bench, end: &str) {
    for _ in 0..5 {
        let text = bench.text();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.contains(end) {
            return;
        }
        pass(bench);
    }
    panic!("`{end}` is not shown:\n{}", bench.text());
}
