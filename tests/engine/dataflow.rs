//! Graphs of steps in virtual time: each row of each request meets each step that it should meet
//! once, and what is let in ends, whatever the graph, the conditions and the policy.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use divisi_engine::serving::{
    Arrival, Batch, Beside, Core, CoreConfig, Discipline, DoorState, Finished, HostWork, Next,
    PipelineConfig, PipelineIndex, Stamps, StepStats, Transfer, WorkerSpec,
};
use divisi_model::dataflow::{
    Dataflow, DataflowError, FlowStep, RowJoin, RowSet, StepIndex, StepWork,
};
use divisi_model::ensemble::{BatchSize, MemberPrecision, PolicyKind, Wait};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use proptest::prelude::*;

const MEMBERS: usize = 3;
const SLOTS: usize = 8;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn model(member: usize, needs: &[u16]) -> FlowStep {
    FlowStep {
        work: StepWork::Model {
            member: MemberIndex::new(member),
            plane: member,
        },
        needs: needs.iter().map(|&n| StepIndex::new(n)).collect(),
        join: RowJoin::All,
    }
}

fn host(needs: &[u16], join: RowJoin) -> FlowStep {
    FlowStep {
        work: StepWork::Host,
        needs: needs.iter().map(|&n| StepIndex::new(n)).collect(),
        join,
    }
}

fn flow(steps: Vec<FlowStep>) -> Dataflow {
    let last = steps.len() - 1;
    Dataflow::new(steps, &[last]).expect("a graph")
}

/// Whether a gate lets a row of a request through.
fn opens(request: u64, part: usize, step: StepIndex, row: usize) -> bool {
    let mut x = request ^ ((part as u64) << 20) ^ ((step.get() as u64) << 40) ^ (row as u64) << 8;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    !(x >> 33).is_multiple_of(3)
}

/// Whether a model fails for a row.
fn fails(request: u64, part: usize, step: StepIndex, row: usize) -> bool {
    !opens(request ^ 0x5555, part, step, row)
}

/// A discrete-event driver for graphs.
struct Drive {
    core: Core<()>,
    flow: Arc<Dataflow>,
    now: Duration,
    running: Vec<(Duration, Running)>,
    finished: Vec<(Duration, Finished<()>)>,
    /// How often each (request, part, step, row) was run.
    runs: HashMap<(u64, usize, usize, usize), usize>,
    /// Steps of the host's that let some rows through.
    gates: Vec<StepIndex>,
    /// Members whose batches never end.
    stuck: Vec<usize>,
    /// Whether models fail for some rows.
    fails: bool,
}

enum Running {
    Batch(Box<Batch<()>>),
    Copy(Transfer),
    Host(Box<HostWork<()>>),
}

impl Drive {
    fn new(flow: Dataflow, extents: usize, policy: PolicyKind) -> Self {
        let flow = Arc::new(flow);
        let mut core = Core::new(CoreConfig {
            devices: vec![Discipline::OneAtATime, Discipline::SideBySide(Beside::Any)],
            members: MEMBERS,
            pipelines: vec![PipelineConfig {
                queueing: None,
                flow: Arc::clone(&flow),
                extents,
                slots: SLOTS,
            }],
            segment: SLOTS,
            policy,
            own_policies: Vec::new(),
        });
        core.door().set(DoorState::Open);
        for device in 0..2 {
            for member in 0..MEMBERS {
                let spec = WorkerSpec {
                    id: core.new_worker(),
                    device: DeviceIndex::new(device),
                    member: MemberIndex::new(member),
                    size: BatchSize::new(4).expect("a size"),
                    precision: MemberPrecision::default(),
                };
                core.add_worker(Duration::ZERO, spec);
            }
        }
        Drive {
            core,
            flow,
            now: Duration::ZERO,
            running: Vec::new(),
            finished: Vec::new(),
            runs: HashMap::new(),
            gates: Vec::new(),
            stuck: Vec::new(),
            fails: false,
        }
    }

    fn submit(&mut self, samples: usize) -> bool {
        let Ok(admitted) = self
            .core
            .admit(self.now, Arrival::with_samples(samples), |_| ())
        else {
            return false;
        };
        self.core.enqueue(self.now, admitted.request);
        true
    }

    fn start(&mut self) -> Option<Duration> {
        for work in self.core.take_host_work() {
            let end = self.now + ms(1);
            self.running.push((end, Running::Host(Box::new(work))));
        }
        let mut next = self.core.next_timer();
        for device in DeviceIndex::all(2) {
            loop {
                match self.core.next(self.now, device) {
                    Next::Run(batch) => self.begin(batch),
                    Next::Copy(transfers) => {
                        let end = self.now + ms(1);
                        let copies = transfers.into_iter().map(|t| (end, Running::Copy(t)));
                        self.running.extend(copies);
                    }
                    Next::Sleep(at) => {
                        next = next.into_iter().chain(at).min();
                        break;
                    }
                }
            }
        }
        let ends = self.running.iter().map(|(end, _)| *end);
        let ends = ends.filter(|end| *end < Duration::MAX);
        next.into_iter().chain(ends).min()
    }

    fn begin(&mut self, batch: Batch<()>) {
        for placed in &batch.ranges {
            let r = placed.range;
            for row in r.first..r.first + r.len {
                let key = (r.request.0, r.part, r.step.get(), row);
                *self.runs.entry(key).or_default() += 1;
            }
        }
        let end = match self.stuck.contains(&batch.member.get()) {
            true => Duration::MAX,
            false => self.now + ms(1 + batch.rows as u64),
        };
        self.running.push((end, Running::Batch(Box::new(batch))));
    }

    fn advance_to(&mut self, until: Duration) {
        while let Some(at) = self.start().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            let late = self.core.tick(self.now);
            assert!(late.is_empty(), "no request has a deadline");
            let early = self.core.lose_patience(self.now);
            early.pay(|f| self.finished.push((self.now, f)));
            let now = self.now;
            let over: Vec<Running> = self
                .running
                .extract_if(.., |(end, _)| *end <= now)
                .map(|(_, r)| r)
                .collect();
            over.into_iter().for_each(|running| self.end(running));
        }
        self.now = until;
    }

    fn end(&mut self, running: Running) {
        let done = match running {
            Running::Copy(t) => return self.core.copied(self.now, t.device, t.part),
            Running::Batch(batch) => {
                let started = batch.ranges.iter().map(|p| p.range.arrived).max();
                let stamps = Stamps {
                    started: started.unwrap_or_default(),
                    copied: started.unwrap_or_default(),
                    computed: self.now,
                    returned: self.now,
                    ..Stamps::default()
                };
                for placed in batch.ranges.iter().filter(|_| self.fails) {
                    let range = placed.range;
                    let of_range = range.rows();
                    let rows = RowSet::filter(range.part_samples, |row| {
                        of_range.contains(row)
                            && fails(range.request.0, range.part, range.step, row)
                    });
                    let (request, part) = (range.request, range.part);
                    self.core.lacks(request, part, range.step, &rows);
                }
                self.core.finish(self.now, &batch, stamps)
            }
            Running::Host(work) => {
                let rows = self.made(&work);
                self.core.host_step_done(self.now, &work, rows)
            }
        };
        done.pay(|finished| self.finished.push((self.now, finished)));
    }

    fn made(&mut self, work: &HostWork<()>) -> RowSet {
        let key = |row| (work.request.0, work.part, work.step.get(), row);
        for row in (0..work.samples).filter(|&row| work.rows.contains(row)) {
            *self.runs.entry(key(row)).or_default() += 1;
        }
        if !self.gates.contains(&work.step) {
            return work.rows.clone();
        }
        RowSet::filter(work.samples, |row| {
            work.rows.contains(row) && opens(work.request.0, work.part, work.step, row)
        })
    }

    /// How each step did.
    fn figures(&mut self) -> impl Iterator<Item = StepStats> + use<> {
        let stats = self.core.step_stats(self.now, PipelineIndex::default());
        stats.into_iter()
    }

    /// Rows of the host's steps that run.
    fn begun_by_the_host(&self) -> usize {
        let rows = self.running.iter().map(|(_, running)| match running {
            Running::Host(work) => work.rows.count(work.samples),
            Running::Batch(_) | Running::Copy(_) => 0,
        });
        rows.sum()
    }

    /// Whether a step's result should exist for a row, by the graph alone.
    fn exists(&self, request: u64, part: usize, step: StepIndex, row: usize) -> bool {
        let open = !self.gates.contains(&step) || opens(request, part, step, row);
        open && self.meets(request, part, step, row)
    }

    /// Whether a row should meet a step.
    fn meets(&self, request: u64, part: usize, step: StepIndex, row: usize) -> bool {
        let it = self.flow.step(step);
        let held = it
            .needs
            .iter()
            .filter(|need| self.exists(request, part, **need, row))
            .count();
        match it.join {
            RowJoin::All => held == it.needs.len(),
            RowJoin::Any => held > 0,
            RowJoin::Always => true,
            RowJoin::Quorum { least, .. } => held >= least,
        }
    }
}

/// A random graph of up to eight steps over three models; its gates.
fn graphs() -> impl Strategy<Value = (Dataflow, Vec<StepIndex>)> {
    let step = (
        0usize..6,
        prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    );
    prop::collection::vec(step, 1..9).prop_map(|drawn| {
        let (mut steps, mut gates) = (Vec::new(), Vec::new());
        for (at, (kind, needs)) in drawn.into_iter().enumerate() {
            let mut needs: Vec<u16> = match at {
                0 => Vec::new(),
                _ => needs.iter().map(|n| n.index(at) as u16).collect(),
            };
            needs.sort_unstable();
            needs.dedup();
            match kind {
                0..3 => steps.push(model(kind, &needs)),
                3 => steps.push(host(&needs, RowJoin::All)),
                4 if !needs.is_empty() => steps.push(host(&needs, RowJoin::Any)),
                5 if needs.len() == 2 => steps.push(host(&needs, RowJoin::Always)),
                _ => {
                    gates.push(StepIndex::new(at as u16));
                    steps.push(host(&needs, RowJoin::All));
                }
            }
        }
        (flow(steps), gates)
    })
}

fn policies() -> impl Strategy<Value = PolicyKind> {
    let wait = Wait::millis(7);
    prop::sample::select(vec![
        PolicyKind::NoWait,
        PolicyKind::OptWait { wait },
        PolicyKind::Static { wait },
        PolicyKind::Segment { wait },
        PolicyKind::PipelinedOptWait { wait },
        PolicyKind::Elastic { max_inf: None },
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn each_row_meets_each_step_that_it_should_meet_once(
        (graph, gates) in graphs(), policy in policies(),
        requests in prop::collection::vec((1usize..20, 0u64..6), 1..12),
    ) {
        let mut drive = Drive::new(graph, 8, policy);
        drive.gates = gates;
        let mut admitted = Vec::new();
        for (samples, gap) in requests {
            if drive.submit(samples) {
                admitted.push(samples);
            }
            let until = drive.now + ms(gap);
            drive.advance_to(until);
        }
        drive.advance_to(drive.now + ms(100_000));
        prop_assert_eq!(drive.finished.len(), admitted.len());
        prop_assert_eq!((drive.core.in_flight(), drive.core.pooled()), (0, 0));
        prop_assert!(drive.runs.values().all(|n| *n == 1));
        for (request, part, step, row) in drive.runs.keys() {
            let step = StepIndex::new(*step as u16);
            prop_assert!(drive.meets(*request, *part, step, *row), "one too many");
        }
        let wanted: Vec<StepIndex> = drive.flow.steps().map(|(at, _)| at)
            .filter(|at| drive.flow.all_steps().has(*at)).collect();
        let parts: std::collections::HashSet<(u64, usize, usize)> =
            drive.runs.keys().map(|(r, p, _, row)| (*r, *p, *row)).collect();
        for (step, figures) in drive.figures().enumerate() {
            let run = drive.runs.keys().filter(|(_, _, of, _)| *of == step).count();
            prop_assert_eq!(figures.rows, run as u64);
            prop_assert_eq!(figures.queued, 0);
        }
        let last: u64 = drive.figures().map(|figures| figures.last).sum();
        prop_assert_eq!(last, admitted.len() as u64);
        let due: usize = parts.iter().map(|(r, p, row)| {
            wanted.iter().filter(|s| drive.meets(*r, *p, **s, *row)).count()
        }).sum();
        prop_assert_eq!(drive.runs.len(), due);
    }

    #[test]
    fn the_parts_of_the_longest_chain_add_up_to_the_latency(
        (graph, gates) in graphs(), requests in prop::collection::vec((1usize..20, 0u64..6), 1..12),
    ) {
        let mut drive = Drive::new(graph, 8, PolicyKind::NoWait);
        drive.gates = gates;
        for (samples, gap) in requests {
            drive.submit(samples);
            let until = drive.now + ms(gap);
            drive.advance_to(until);
        }
        drive.advance_to(drive.now + ms(100_000));
        for (_, finished) in &drive.finished {
            prop_assert_eq!(finished.split.total(), finished.latency);
        }
    }

    #[test]
    fn a_pool_as_small_as_the_largest_request_lets_everything_end(
        (graph, gates) in graphs(), policy in policies(),
        requests in prop::collection::vec(1usize..=SLOTS, 1..20),
    ) {
        let mut drive = Drive::new(graph, 1, policy);
        drive.gates = gates;
        let many = requests.len();
        for samples in requests {
            while !drive.submit(samples) {
                let until = drive.now + ms(1);
                drive.advance_to(until);
                prop_assert!(drive.now < ms(100_000), "stuck");
            }
        }
        drive.advance_to(drive.now + ms(100_000));
        prop_assert_eq!(drive.finished.len(), many);
    }

    #[test]
    fn a_quorum_does_without_what_fails_and_fails_the_request_where_it_is_not_met(
        least in 1usize..=3, chained in any::<bool>(), follows in any::<bool>(),
        policy in policies(), patient in any::<bool>(),
        requests in 1u64..8, parts in 1usize..4,
    ) {
        let wait = if patient { ms(50_000) } else { ms(5) };
        let mut steps: Vec<FlowStep> = (0..3).map(|m| model(m, &[])).collect();
        let mut voters = [0, 1, 2];
        if chained {
            steps.push(model(0, &[2]));
            voters[2] = 3;
        }
        steps.push(host(&voters, RowJoin::Quorum { least, wait }));
        if follows {
            steps.push(host(&[steps.len() as u16 - 1], RowJoin::All));
        }
        let mut drive = Drive::new(flow(steps), 32, policy);
        drive.fails = true;
        let mut met = HashMap::new();
        for request in 0..requests {
            // Each part fills an extent.
            prop_assert!(drive.submit(parts * SLOTS));
            let is_sound = |row: usize| {
                let (part, row) = (row / SLOTS, row % SLOTS);
                let of = |step: u16| !fails(request, part, StepIndex::new(step), row);
                let voters = [of(0), of(1), of(2) && (!chained || of(3))];
                voters.into_iter().filter(|sound| *sound).count() >= least
            };
            met.insert(request, (0..parts * SLOTS).all(is_sound));
        }
        drive.advance_to(ms(200_000));
        prop_assert_eq!(drive.finished.len() as u64, requests);
        for (_, finished) in &drive.finished {
            // What is late by then is not known to fail.
            let is_met = met[&finished.request.0];
            prop_assert!(!(is_met && finished.unmet));
            prop_assert!(!patient || is_met != finished.unmet);
        }
        prop_assert_eq!((drive.core.in_flight(), drive.core.pooled()), (0, 0));
    }

    #[test]
    fn a_request_that_fails_in_the_middle_leaves_nothing_behind(
        (graph, gates) in graphs(), policy in policies(), samples in 1usize..20, at in 0u64..30,
    ) {
        let mut drive = Drive::new(graph, 8, policy);
        drive.gates = gates;
        drive.submit(samples);
        drive.advance_to(ms(at));
        let key = divisi_engine::serving::RequestKey(0);
        let failed = drive.core.fail(drive.now, key).len();
        let (ran, begun) = (drive.runs.len(), drive.begun_by_the_host());
        drive.advance_to(drive.now + ms(100_000));
        prop_assert_eq!(failed + drive.finished.len(), 1);
        // Steps of the host that had begun end still; nothing else is started.
        prop_assert!(drive.runs.len() <= ran + begun);
        prop_assert_eq!((drive.core.in_flight(), drive.core.pooled()), (0, 0));
    }
}

#[test]
fn outputs_that_nobody_asked_for_are_not_computed() {
    let steps = vec![model(0, &[]), model(1, &[0]), model(2, &[0])];
    let graph = Dataflow::new(steps, &[1, 2]).expect("a graph");
    let mut drive = Drive::new(graph, 2, PolicyKind::NoWait);
    let arrival = Arrival {
        outputs: Some(vec![StepIndex::new(1)]),
        ..Arrival::with_samples(3)
    };
    let admitted = drive.core.admit(ms(0), arrival, |_| ()).expect("let in");
    drive.core.enqueue(ms(0), admitted.request);
    drive.advance_to(ms(1000));
    assert_eq!(drive.finished.len(), 1);
    assert!(drive.runs.keys().all(|(_, _, step, _)| *step != 2));
}

fn voters(least: usize) -> Dataflow {
    let vote = RowJoin::Quorum {
        least,
        wait: ms(20),
    };
    let members = (0..3).map(|m| model(m, &[]));
    flow(members.chain([host(&[0, 1, 2], vote)]).collect())
}

#[test]
fn a_quorum_answers_when_its_time_is_over_without_a_member_that_hangs() {
    let mut drive = Drive::new(voters(2), 2, PolicyKind::NoWait);
    drive.stuck = vec![2];
    drive.submit(2);
    // Later requests of the member that hangs are dropped from its queue as well.
    drive.submit(2);
    drive.advance_to(ms(1000));
    let ended: Vec<Duration> = drive.finished.iter().map(|(at, _)| *at).collect();
    assert_eq!(ended, [ms(21); 2], "the wait, and a step of the host's");
    for (_, finished) in &drive.finished {
        assert_eq!(finished.split.total(), finished.latency);
        assert_eq!(finished.late, [StepIndex::new(2)]);
    }
    let late = drive.figures().map(|step| step.late);
    assert_eq!(late.collect::<Vec<_>>(), [0, 0, 2, 0]);
}

#[test]
fn a_quorum_waits_for_all_while_its_time_lasts() {
    let mut drive = Drive::new(voters(1), 2, PolicyKind::NoWait);
    drive.submit(1);
    drive.advance_to(ms(19));
    let ran = |drive: &Drive| drive.runs.keys().filter(|k| k.2 < 3).count();
    assert_eq!((drive.finished.len(), ran(&drive)), (1, 3));
    assert_eq!(
        drive.core.next_timer(),
        None,
        "nobody waits for it any more"
    );
}

#[test]
fn later_steps_of_older_requests_go_before_first_steps_of_newer_ones() {
    let mut drive = Drive::new(
        flow(vec![model(0, &[]), model(0, &[0])]),
        4,
        PolicyKind::NoWait,
    );
    for _ in 0..4 {
        drive.submit(4);
    }
    drive.advance_to(ms(1000));
    let ended: Vec<u64> = drive.finished.iter().map(|(_, f)| f.request.0).collect();
    assert_eq!(ended, [0, 1, 2, 3]);
}

#[test]
fn two_pipelines_share_a_model_and_its_batches() {
    let alone = Arc::new(flow(vec![model(0, &[])]));
    let after = Arc::new(flow(vec![host(&[], RowJoin::All), model(0, &[0])]));
    let pipeline = |flow: &Arc<Dataflow>| PipelineConfig {
        queueing: None,
        flow: Arc::clone(flow),
        extents: 2,
        slots: SLOTS,
    };
    let mut core: Core<()> = Core::new(CoreConfig {
        devices: vec![Discipline::OneAtATime],
        members: 1,
        pipelines: vec![pipeline(&alone), pipeline(&after)],
        segment: SLOTS,
        policy: PolicyKind::NoWait,
        own_policies: Vec::new(),
    });
    core.door().set(DoorState::Open);
    let spec = WorkerSpec {
        id: core.new_worker(),
        device: DeviceIndex::new(0),
        member: MemberIndex::new(0),
        size: BatchSize::new(8).expect("a size"),
        precision: MemberPrecision::default(),
    };
    core.add_worker(ms(0), spec);
    for pipeline in [1, 0] {
        let arrival = Arrival {
            pipeline: PipelineIndex(pipeline),
            ..Arrival::with_samples(2)
        };
        let admitted = core.admit(ms(0), arrival, |_| ()).expect("let in");
        core.enqueue(ms(0), admitted.request);
    }
    for work in core.take_host_work() {
        assert!(core.host_step_done(ms(1), &work, RowSet::ALL).is_empty());
    }
    let Next::Run(batch) = core.next(ms(1), DeviceIndex::new(0)) else {
        panic!("both wait");
    };
    assert_eq!((batch.samples, batch.ranges.len()), (4, 2));
    assert_eq!(core.finish(ms(2), &batch, Stamps::default()).len(), 2);
}

#[test]
fn a_graph_needs_an_order_without_cycles() {
    let cases = [
        (vec![], DataflowError::Empty),
        (
            vec![model(0, &[0])],
            DataflowError::Order { step: 0, needs: 0 },
        ),
        (
            vec![model(0, &[1]), model(1, &[])],
            DataflowError::Order { step: 0, needs: 1 },
        ),
        (
            vec![
                model(0, &[]),
                host(
                    &[0],
                    RowJoin::Quorum {
                        least: 2,
                        wait: ms(1),
                    },
                ),
            ],
            DataflowError::Quorum {
                step: 1,
                least: 2,
                of: 1,
            },
        ),
    ];
    for (steps, expected) in cases {
        let outputs: Vec<usize> = (0..steps.len()).rev().take(1).collect();
        assert_eq!(Dataflow::new(steps, &outputs), Err(expected));
    }
}

#[test]
fn figures_of_steps_say_where_the_time_of_rows_went_and_who_was_waited_for() {
    // A short step and a long one, which a step of the host's waits for.
    let steps = vec![model(0, &[]), model(1, &[0]), host(&[0, 1], RowJoin::All)];
    let mut drive = Drive::new(flow(steps), 2, PolicyKind::NoWait);
    drive.submit(3);
    drive.advance_to(ms(1));
    let queued = |drive: &mut Drive| drive.figures().map(|s| s.queued).collect::<Vec<_>>();
    assert_eq!(queued(&mut drive), [0; 3], "all rows of the first are run");
    drive.advance_to(ms(1000));
    let figures: Vec<StepStats> = drive.figures().collect();
    for (step, took) in [(0, ms(4)), (1, ms(4)), (2, ms(1))] {
        let found = &figures[step];
        assert_eq!(
            (found.rows, found.made, found.skipped, found.parts),
            (3, 3, 0, 1)
        );
        assert_eq!(
            (found.mean_wait(), found.mean_compute()),
            (ms(0), took),
            "step {step}"
        );
        assert_eq!((found.critical, found.last), (1, u64::from(step == 2)));
        assert_eq!(found.share(), Some(1.0));
    }
}

#[test]
fn rows_that_a_condition_keeps_back_count_as_skipped() {
    let steps = vec![
        host(&[], RowJoin::All),
        model(0, &[0]),
        host(&[1], RowJoin::Always),
    ];
    let mut drive = Drive::new(flow(steps), 2, PolicyKind::NoWait);
    drive.gates = vec![StepIndex::new(0)];
    for at in 1..=60 {
        assert!(drive.submit(1));
        drive.advance_to(ms(100 * at));
    }
    let figures: Vec<StepStats> = drive.figures().collect();
    assert_eq!(
        (figures[0].rows, figures[1].rows + figures[1].skipped),
        (60, 60)
    );
    assert_eq!(figures[0].made, figures[1].rows);
    assert!(figures[1].skipped > 0, "no row was kept back");
    // A request that it keeps back does not wait for the model.
    let kept_back = figures[1].skipped;
    let critical = figures.iter().map(|step| step.critical);
    assert!(critical.eq([60, 60 - kept_back, 60]), "{figures:?}");
}

#[test]
fn a_request_whose_quorum_is_not_met_is_told_while_other_steps_of_it_are_queued() {
    // Two quorums of models that fail for the row, and a model that is behind them in its queue.
    let quorum = RowJoin::Quorum {
        least: 2,
        wait: ms(50),
    };
    let steps = vec![
        model(0, &[]),
        model(1, &[]),
        model(2, &[]),
        host(&[0, 1], quorum),
    ];
    let graph = Dataflow::new(steps, &[2, 3]).expect("a graph");
    let mut drive = Drive::new(graph, 4, PolicyKind::NoWait);
    drive.fails = true;
    drive.stuck = vec![2];
    for _ in 0..4 {
        drive.submit(SLOTS);
    }
    drive.advance_to(ms(1000));
    let unmet = drive.finished.iter().filter(|(_, finished)| finished.unmet);
    assert_eq!(unmet.count(), 4);
}

#[test]
fn the_fold_of_an_ensemble_counts_its_rows() {
    let mut drive = Drive::new(Dataflow::ensemble(&[0, 1]), 2, PolicyKind::NoWait);
    drive.submit(3);
    drive.submit(2);
    drive.advance_to(ms(1000));
    let fold = drive.figures().nth(2).expect("a fold");
    assert_eq!((fold.rows, fold.parts, fold.critical), (5, 2, 2));
    assert_eq!(fold.share(), Some(1.0));
}
