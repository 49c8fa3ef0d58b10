//! The panel of tasks: goals, policies, decisions, jobs.

use std::time::Duration;

use divisi_session::{
    Command, ConsideredView, CountedOutcome, GoalCount, GoalSecond, JobView, LoadedVariant,
    PolicyComparison, PolicyOutcome, ScalingChange, ScalingView, StreamView, TaskCostView,
    TaskView, UnreachableView,
};

use divisi_console::linear::Watcher;

use crate::fake::{Bench, snapshot};

fn second(met: u32, missed: u32) -> GoalSecond {
    GoalSecond { met, missed }
}

fn outcome(policy: &str, missed: f64) -> PolicyOutcome {
    PolicyOutcome {
        policy: policy.to_owned(),
        missed,
        cost: 0.000_217,
        accuracy: 0.988,
        changes: 4,
    }
}

fn scaling() -> ScalingView {
    let stream = |goals: &str, rate, missed| StreamView {
        goals: goals.to_owned(),
        rate,
        missed,
        seconds: 4,
    };
    let change = |at, outcome| ScalingChange {
        at: Duration::from_secs(at),
        policy: "divisi".to_owned(),
        what: "+1 digits.int8.cnn-s+res-s of 32, -2 digits.f32.all of 8".to_owned(),
        outcome,
        shares_alone: false,
    };
    let loaded = |name: &str, state: &str| LoadedVariant {
        name: name.to_owned(),
        batch: 32,
        instances: 2,
        state: state.to_owned(),
    };
    let considered = |action: &str, outcome: &str, taken| ConsideredView {
        action: action.to_owned(),
        outcome: outcome.to_owned(),
        taken,
    };
    let all = ["static", "infaas", "infaas-ilp", "divisi"];
    ScalingView {
        policy: "divisi".to_owned(),
        policies: all.map(str::to_owned).to_vec(),
        held: None,
        tasks: vec![TaskView {
            name: "digits".to_owned(),
            streams: vec![
                stream("98.5 %, 20 ms", 820.0, 0.004),
                stream("any", 0.5, 0.0),
            ],
            seconds: [
                second(800, 0),
                second(790, 20),
                second(0, 0),
                second(300, 300),
            ]
            .to_vec(),
            unreachable: Some(UnreachableView {
                queries: 200,
                seconds: 0,
                nearest: "digits.f32.all in batches of 8 on 1 core: 0.40 points less accurate"
                    .to_owned(),
            }),
            cost: Some(TaskCostView {
                paid: 853.2,
                saturated: 0.109,
                seconds: 60,
            }),
            not_served: vec![
                "`m3` of task `digits` is stale: the network, weights or calibration of member \
                 `cnn` changed; register it again"
                    .to_owned(),
            ],
        }],
        loaded: vec![
            loaded("digits.int8.cnn-s+res-s", "active"),
            loaded("digits.f32.all", "overloaded"),
        ],
        changes: vec![
            change(12, Ok(Duration::from_millis(34))),
            ScalingChange {
                what: "+6 digits.f32.all of 8".to_owned(),
                shares_alone: true,
                ..change(20, Ok(Duration::ZERO))
            },
            change(31, Err("the pool of the host has no room".to_owned())),
        ],
        considered: vec![
            considered(
                "load 1 of digits.f32.all in batches of 8 on 1 core",
                "taken",
                true,
            ),
            considered("1 fewer of digits.bf16.mlp", "not before 41.0 s", false),
        ],
        comparison: Some(PolicyComparison {
            at: Duration::from_secs(412),
            over: Duration::from_secs(300),
            queries: 86_627,
            counted: CountedOutcome {
                policy: "divisi".to_owned(),
                whole: true,
                queries: GoalCount {
                    met: 55_000,
                    missed: 31_627,
                },
            },
            outcomes: vec![outcome("static", 0.021), outcome("divisi", 0.0)],
        }),
        jobs: vec![JobView {
            number: 3,
            task: "digits".to_owned(),
            goals: "99 %".to_owned(),
            rows: 1000,
            written: 250,
            state: "waits: queries take too much of the device's time".to_owned(),
            is_over: false,
        }],
    }
}

fn bench(width: u16, height: u16) -> Bench {
    let mut bench = Bench::new(width, height);
    bench.show(|shown| shown.scaling = Some(scaling()));
    bench.keys("a\r");
    bench
}

#[test]
fn goals_policies_decisions_and_jobs_are_shown() {
    for (width, height) in [(80, 24), (160, 50)] {
        screen!(format!("tasks_{width}x{height}"), bench(width, height));
    }
}

#[test]
fn lines_tell_each_change_once_and_none_of_shares_alone() {
    let mut watcher = Watcher::new(Duration::from_secs(3600));
    let mut shown = snapshot();
    let mut told = |scaling: &ScalingView| {
        shown.scaling = Some(scaling.clone());
        let lines = watcher.news(&shown);
        lines
            .iter()
            .filter(|line| line.contains("policy divisi"))
            .count()
    };
    let mut scaling = scaling();
    // One was made, one was not, and the policy itself is told of.
    assert_eq!(told(&scaling), 3);
    let [made, shares, _] = &scaling.changes[..] else {
        panic!("three changes");
    };
    let (made, shares) = (made.clone(), shares.clone());
    scaling.changes.push(shares.clone());
    assert_eq!(told(&scaling), 0);
    scaling.changes.pop();
    let what = "+7 digits.f32.all of 8".to_owned();
    scaling.changes.push(ScalingChange { what, ..shares });
    assert_eq!(told(&scaling), 0, "it takes the place of the one before");
    let at = Duration::from_secs(50);
    scaling.changes.push(ScalingChange { at, ..made });
    assert_eq!(told(&scaling), 1);
}

#[test]
fn the_panel_scrolls_to_what_does_not_fit() {
    let mut bench = bench(80, 16);
    assert!(!bench.plain().contains("batch jobs"));
    bench.keys(&"j".repeat(40));
    assert!(bench.plain().contains("batch jobs"), "{}", bench.plain());
}

#[test]
fn one_key_takes_the_next_policy_and_one_compares_them() {
    let mut bench = bench(80, 24);
    bench.keys("gw");
    let expected = [
        Command::SetScalingPolicy("static".to_owned()),
        Command::ComparePolicies,
    ];
    assert_eq!(bench.sent(), expected);
}

#[test]
fn why_no_policy_decides_is_said() {
    let mut bench = bench(80, 24);
    bench.show(|shown| {
        if let Some(scaling) = &mut shown.scaling {
            scaling.held = Some("what runs was changed by hand".to_owned());
        }
    });
    assert!(bench.plain().contains("what runs was changed by hand"));
}

#[test]
fn where_no_tasks_are_served_the_panel_says_how_they_are() {
    let mut bench = Bench::new(100, 24);
    bench.keys("a\rg");
    assert!(
        bench.plain().contains("`divisi --task TASK`"),
        "{}",
        bench.plain()
    );
    assert!(bench.sent().is_empty());
}

#[test]
fn lines_tell_of_changes_and_of_jobs_once() {
    let mut watcher = Watcher::new(Duration::from_secs(3600));
    let mut shown = snapshot();
    watcher.news(&shown);
    shown.scaling = Some(scaling());
    insta::assert_snapshot!(watcher.news(&shown).join("\n"));
    assert_eq!(watcher.news(&shown), Vec::<String>::new());
    let mut over = scaling();
    over.jobs[0].is_over = true;
    over.jobs[0].state = "done".to_owned();
    shown.scaling = Some(over);
    let lines = watcher.news(&shown);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].ends_with("250 of 1000 rows, done"), "{lines:?}");
}
