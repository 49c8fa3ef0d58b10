//! Which variants are loaded where, as the load changes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use divisi_engine::load::{EntryChooser, Generator, LoadSamples};
use divisi_model::catalogue::Catalogue;
use divisi_model::codes::Code;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::policies::{PolicyChoice, TaskDemand};
use divisi_modelless::quantities::{Accuracy, QueryCost, QueryRate};
use divisi_modelless::variants::{TaskIndex, VariantIndex};
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};
use divisi_session::{Command, Limited, LiveSession, Session, TaskScaling};
use divisi_tasks::routing::GoalChooser;
use divisi_tasks::scaling::{
    BusyGroups, GroupSeen, HostedModels, LiveScaling, ObservedWork, VariantScaler, WorkerCounts,
};
use divisi_tasks::served::{RunningVariant, ServedTasks};

use crate::common::{MIDDLING, Made, SMALL, WHOLE, opened, opened_tasks, partitions, serving};
use crate::wait::wait_until;

const SECOND: Duration = Duration::from_secs(1);

/// The sample's variants on one core, all of which run.
struct Played {
    tasks: Arc<ServedTasks>,
    devices: Devices,
    scaler: VariantScaler,
    now: Duration,
    /// How often what is hosted changed.
    changes: usize,
}

impl Played {
    fn new(policy: PolicyChoice) -> Self {
        let tasks = opened(&[SMALL, MIDDLING, WHOLE]);
        let devices = partitions(&["cpu:0"]);
        let running: Vec<RunningVariant> = (0..3)
            .map(|at| RunningVariant {
                variant: VariantIndex(at),
                entry: 0,
                devices: vec![(DeviceIndex::new(0), 1.0)],
            })
            .collect();
        Played {
            scaler: VariantScaler::new(Arc::clone(&tasks), policy, &devices, &running),
            tasks,
            devices,
            now: Duration::ZERO,
            changes: 0,
        }
    }

    /// Lets seconds pass in which queries with these goals arrive.
    fn seconds(&mut self, seconds: u32, asked: &[(f64, f64)]) {
        let demands: Vec<TaskDemand> = asked.iter().map(|(p, rate)| demand(*p, *rate)).collect();
        for _ in 0..seconds {
            self.now += SECOND;
            let step = self
                .scaler
                .decide(self.now, SECOND, &demands, ObservedWork::default());
            if let Some(wanted) = step.wanted {
                self.scaler.applied(self.now, wanted);
                self.changes += 1;
            }
        }
    }

    /// Returns the names of the groups that can answer.
    fn served(&self) -> Vec<&str> {
        let hosted = self.scaler.hosted();
        let arranged = HostedModels::new(&self.tasks, "numbers", hosted, &self.devices);
        let groups = arranged.expect("can be served").groups;
        let names = groups.into_iter().map(|at| &*self.tasks.groups()[at].name);
        names.collect()
    }
}

fn demand(percent: f64, rate: f64) -> TaskDemand {
    let rate = QueryRate::new(rate).expect("a rate");
    TaskDemand {
        task: TaskIndex(0),
        goals: QueryGoals {
            accuracy: Some(Accuracy::percent(percent).expect("percent")),
            ..QueryGoals::default()
        },
        rate,
        usual: rate,
        missed: 0.0,
        worth: QueryCost::new(1.0).expect("a cost"),
    }
}

const SMALL_NAME: &str = "numbers.sample.bf16.mlp";
const WHOLE_NAME: &str = "numbers.sample.f32.all";

#[test]
fn variants_that_nobody_needs_leave_after_the_hold_off_and_come_back_with_their_queries() {
    let mut played = Played::new(PolicyChoice::Divisi);
    assert_eq!(played.served().len(), 3);
    played.seconds(9, &[(80.0, 10.0)]);
    assert_eq!(played.served().len(), 3, "within the hold-off");
    played.seconds(9, &[(80.0, 10.0)]);
    assert_eq!(played.served(), [SMALL_NAME]);
    played.seconds(2, &[(80.0, 10.0), (98.0, 5.0)]);
    assert_eq!(played.served(), [SMALL_NAME, WHOLE_NAME]);
}

#[test]
fn a_task_that_nobody_asks_keeps_one_variant() {
    let mut played = Played::new(PolicyChoice::Divisi);
    played.seconds(40, &[]);
    assert_eq!(played.scaler.hosted().running().count(), 1);
}

#[test]
fn a_task_keeps_a_variant_beside_another_that_has_more_than_there_is_room_for() {
    let many: Vec<Made> = (1..=25).map(|members| Made { members, ..SMALL }).collect();
    let tasks = opened_tasks(&["first", "second"], &many);
    let running: Vec<RunningVariant> = (0..50)
        .map(|at| RunningVariant {
            variant: VariantIndex(at),
            entry: 0,
            devices: vec![(DeviceIndex::new(0), 1.0)],
        })
        .collect();
    let devices = partitions(&["cpu:0"]);
    let mut scaler =
        VariantScaler::new(Arc::clone(&tasks), PolicyChoice::Divisi, &devices, &running);
    let hosted_of = |scaler: &VariantScaler, task: u16| {
        let running = scaler.hosted().running();
        let of_task = running.filter(|(at, _)| tasks.catalog().task_of(*at) == TaskIndex(task));
        of_task.count()
    };
    assert_eq!((hosted_of(&scaler, 0), hosted_of(&scaler, 1)), (10, 10));
    for second in 1..40 {
        let now = second * SECOND;
        let step = scaler.decide(now, SECOND, &[], ObservedWork::default());
        if let Some(wanted) = step.wanted {
            scaler.applied(now, wanted);
        }
    }
    assert_eq!((hosted_of(&scaler, 0), hosted_of(&scaler, 1)), (1, 1));
}

#[test]
fn jobs_load_nothing_under_a_policy_that_changes_nothing() {
    for (policy, hosted) in [(PolicyChoice::Static, 0), (PolicyChoice::Divisi, 1)] {
        let tasks = opened(&[SMALL, WHOLE]);
        let small = RunningVariant {
            variant: VariantIndex(0),
            entry: 0,
            devices: vec![(DeviceIndex::new(0), 1.0)],
        };
        let devices = partitions(&["cpu:0"]);
        let mut scaler = VariantScaler::new(tasks, policy, &devices, &[small]);
        scaler.host_for_jobs(vec![VariantIndex(1)]);
        let step = scaler.decide(SECOND, SECOND, &[], ObservedWork::default());
        if let Some(wanted) = step.wanted {
            scaler.applied(SECOND, wanted);
        }
        assert_eq!(scaler.hosted().total(VariantIndex(1)), hosted, "{policy:?}");
    }
}

#[test]
fn static_keeps_all_that_is_there() {
    let mut played = Played::new(PolicyChoice::Static);
    played.seconds(40, &[(98.0, 5.0)]);
    assert_eq!((played.served().len(), played.changes), (3, 0));
}

#[test]
fn a_load_that_swings_faster_than_the_hold_off_changes_little_under_every_policy() {
    for policy in PolicyChoice::ALL {
        let mut played = Played::new(policy);
        for second in 0..60 {
            let rate = if second % 2 == 0 { 20.0 } else { 0.0 };
            played.seconds(1, &[(80.0, 20.0), (98.0, rate)]);
        }
        let most = 12;
        assert!(
            played.changes <= most,
            "{}: {}",
            policy.name(),
            played.changes
        );
    }
}

#[test]
fn what_cannot_be_served_is_not_tried_again_before_the_hold_off() {
    let mut played = Played::new(PolicyChoice::Divisi);
    let demands = [demand(80.0, 10.0)];
    let mut refusals = Vec::new();
    for _ in 0..40 {
        played.now += SECOND;
        let step = played
            .scaler
            .decide(played.now, SECOND, &demands, ObservedWork::default());
        if step.wanted.is_some() {
            refusals.push(played.now);
            played.scaler.refused(played.now);
        }
    }
    let gaps = refusals.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(refusals.len() > 1);
    assert!(gaps.min() >= Some(Duration::from_secs(10)), "{refusals:?}");
}

#[test]
fn another_policy_decides_from_the_second_in_which_it_is_chosen() {
    let mut played = Played::new(PolicyChoice::Static);
    played.seconds(20, &[(80.0, 10.0)]);
    played.scaler.choose(PolicyChoice::Divisi);
    played.seconds(20, &[(80.0, 10.0)]);
    assert_eq!(played.served(), [SMALL_NAME]);
}

#[test]
fn sub_ensembles_of_members_that_run_answer_too() {
    let first_two = Made {
        members: 0b11,
        millis: 5,
        right: 950,
        ..SMALL
    };
    let tasks = opened(&[SMALL, first_two]);
    let devices = partitions(&["cpu:0"]);
    let running = [RunningVariant {
        variant: VariantIndex(1),
        entry: 0,
        devices: vec![(DeviceIndex::new(0), 1.0)],
    }];
    let scaler = VariantScaler::new(Arc::clone(&tasks), PolicyChoice::Static, &devices, &running);
    let arranged = HostedModels::new(&tasks, "numbers", scaler.hosted(), &devices);
    assert_eq!(arranged.expect("can be served").groups, [0, 1]);
}

#[test]
fn groups_share_the_time_of_members_by_their_samples() {
    let tasks = opened(&[SMALL, WHOLE]);
    let entries = tasks.entries().to_vec();
    let catalogue = Catalogue::new("numbers", entries).expect("a catalogue");
    let workers: Vec<_> = MemberIndex::all(catalogue.models().members.len())
        .map(|member| {
            let counts = WorkerCounts {
                seconds: 0.4,
                samples: 100,
                batches: 100,
            };
            (DeviceIndex::new(0), member, counts)
        })
        .collect();
    let mut busy = BusyGroups::default();
    let devices = partitions(&["cpu:0"]);
    let seen = busy.update(&tasks, 0, &catalogue, &devices, &workers, vec![100, 25]);
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
    // 4 ms of a sample where the profile has 1 ms, and six times 4 ms where it has 20 ms.
    assert!(
        near(seen[0].busy, 0.4) && near(seen[0].slowdown, 4.0),
        "{seen:?}"
    );
    assert!(
        near(seen[1].busy, 0.6) && near(seen[1].slowdown, 1.2),
        "{seen:?}"
    );
    let seen = busy.update(&tasks, 0, &catalogue, &devices, &workers, vec![100, 25]);
    assert_eq!(seen, [GroupSeen::IDLE, GroupSeen::IDLE]);
}

#[test]
fn queries_are_answered_while_the_allocation_follows_them() {
    let live = serving(&[SMALL, MIDDLING, WHOLE]);
    let scaling = LiveScaling::start(Arc::clone(&live), PolicyChoice::Divisi).expect("starts");
    let engine = Arc::clone(&live.deployment().running().engine);
    let any = GoalChooser::new(Arc::clone(&live), &[QueryGoals::default()]);
    let samples = LoadSamples::chosen_by(engine.catalogue(), Arc::new(any)).expect("samples");
    let pattern = "closed:2x1".parse().expect("a pattern");
    let generator = Generator::start(engine, samples, pattern, 1, None).expect("starts");
    let tally = Arc::clone(generator.tally());
    wait_until("what nobody asks has left", || {
        let served = live.deployment().running().catalogue.entries().len();
        served == 1
    });
    generator.stop();
    wait_until("the load has ended", || generator.is_finished());
    let lost = [&tally.refused, &tally.failed].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(lost, [0, 0]);
    let view = scaling.view();
    assert_eq!((&*view.policy, view.held), ("divisi", None));
    assert!(
        view.changes.iter().all(|change| change.outcome.is_ok()),
        "{:?}",
        view.changes
    );
}

#[test]
fn no_policy_decides_after_what_runs_was_changed_by_hand() {
    let live = serving(&[SMALL, WHOLE]);
    let scaling = LiveScaling::start(Arc::clone(&live), PolicyChoice::Divisi).expect("starts");
    let running = live.deployment().running();
    let matrix = running.engine.matrix();
    let (cell, runs) = matrix.workers().next().expect("a worker");
    let sizes = &matrix.frame().batch_sizes;
    let other = sizes.iter().find(|size| *size != runs);
    let setup = running.engine.setup();
    let changed = setup.with_matrix(matrix.with_entry(cell, other).expect("allowed"));
    running
        .engine
        .apply_setup(&changed, &mut |_| {})
        .expect("applied");
    wait_until("it was seen", || scaling.view().held.is_some());
    assert_eq!(scaling.view().policy, "static");
    scaling.set_policy("infaas").expect("known");
    wait_until("it decides again", || scaling.view().held.is_none());
    assert_eq!(scaling.view().policy, "infaas");
}

#[test]
fn a_change_by_a_policy_is_undone_and_none_decides_after_it() {
    let live = serving(&[SMALL, MIDDLING, WHOLE]);
    let scaling = LiveScaling::start(Arc::clone(&live), PolicyChoice::Divisi).expect("starts");
    let changes = live.changes();
    let watching = LiveSession::of_changes(Arc::clone(changes), None);
    let mut session = watching.with_scaling(Arc::clone(&scaling) as Arc<dyn TaskScaling>);
    let served = || changes.running().catalogue.entries().len();
    wait_until("what nobody asks has left", || served() < 3);
    // The change is noted a moment after it is seen.
    wait_until("it can be undone", || session.snapshot().can_undo);
    session
        .command(Command::Undo)
        .expect("what left can come back");
    wait_until("it is back", || served() == 3);
    wait_until("it was seen", || scaling.view().held.is_some());
    assert_eq!(session.snapshot().matrix, changes.running().engine.matrix());
}

#[test]
fn the_console_shows_the_probation_of_a_policys_change() {
    let live = serving(&[SMALL, MIDDLING, WHOLE]);
    let scaling = LiveScaling::start(Arc::clone(&live), PolicyChoice::Divisi).expect("starts");
    let mut session = LiveSession::of_changes(Arc::clone(live.changes()), None);
    let ask = || {
        let routed = live.follow().route(TaskIndex(0), &QueryGoals::default(), 1);
        routed.expect("runs").answered(Duration::from_millis(1));
    };
    wait_until("a change is on probation", || {
        (0..5).for_each(|_| ask());
        session.snapshot().probation.is_some()
    });
    let shown = session.snapshot().probation.expect("on probation");
    assert_eq!(shown.checks[0].what, Limited::Goals);
    session
        .command(Command::EndProbation(false))
        .expect("it can");
    wait_until("the policy stops", || scaling.view().held.is_some());
    let served = live.deployment().running().catalogue.entries().len();
    assert_eq!(served, 3, "what the policy unloaded is back");
}

#[test]
fn queries_that_no_variant_meets_are_requests_that_were_refused_with_the_nearest() {
    let live = serving(&[SMALL, WHOLE]);
    let scaling = LiveScaling::start(Arc::clone(&live), PolicyChoice::Static).expect("starts");
    let watching = LiveSession::of_changes(Arc::clone(live.changes()), None);
    let mut session = watching.with_scaling(Arc::clone(&scaling) as Arc<dyn TaskScaling>);
    assert_eq!(session.snapshot().counters.refused, 0);
    let unmet = QueryGoals {
        accuracy: Some(Accuracy::percent(99.5).expect("percent")),
        ..QueryGoals::default()
    };
    let chooser = GoalChooser::new(Arc::clone(&live), &[unmet]);
    chooser.choose(1).map(drop).expect_err("refused");
    let shown = session.snapshot();
    assert_eq!(
        (shown.counters.refused, shown.lately.refused.requests),
        (1, 1)
    );
    let why = shown.lately.refused.why.expect("a reason");
    assert!(why.contains("0.50 points less accurate"), "{why}");
    wait_until("the second is over", || {
        let tasks = scaling.view().tasks;
        tasks
            .iter()
            .any(|task| task.seconds.iter().any(|second| second.missed == 1))
    });
    let unreachable = scaling.view().tasks[0].unreachable.clone().expect("lately");
    assert_eq!(unreachable.queries, 1);
    assert!(
        unreachable.nearest.ends_with("0.50 points less accurate"),
        "{unreachable:?}"
    );
}

#[test]
fn policies_are_compared_by_the_queries_of_the_last_minutes() {
    let live = serving(&[SMALL, WHOLE]);
    let scaling = LiveScaling::start(Arc::clone(&live), PolicyChoice::Static).expect("starts");
    assert_eq!(
        scaling.compare().map_err(|refusal| refusal.code()),
        Err(Code::NothingAsked)
    );
    wait_until("a second was counted", || !scaling.view().tasks.is_empty());
    for _ in 0..20 {
        let routed = live.follow().route(TaskIndex(0), &QueryGoals::default(), 1);
        routed.expect("runs").answered(Duration::from_millis(1));
    }
    scaling.compare().expect("asked");
    let outcomes = || {
        scaling
            .view()
            .comparison
            .map(|c| c.outcomes)
            .unwrap_or_default()
    };
    wait_until("all were played", || !outcomes().is_empty());
    let names: Vec<String> = outcomes()
        .into_iter()
        .map(|outcome| outcome.policy)
        .collect();
    assert_eq!(names, PolicyChoice::ALL.map(PolicyChoice::name));
    assert!(
        outcomes().iter().all(|outcome| outcome.missed == 0.0),
        "{:?}",
        outcomes()
    );
}
