//! A session with a fixed state that records what it is asked for.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divisi_console::console::Wanted;
use divisi_console::console::{
    Colours, Console, ConsoleEvent, Effect, Options, PanelLayout, TerminalLook,
};
use divisi_engine::search::{
    Doubt, EvaluatorKind, Predicted, PredictionBasis, SearchProgress, TypicalError,
};
use divisi_engine::serving::{Flaws, GraphStep, GraphWork, StepGraph, StepStats};
use divisi_model::allocation::{Difference, Frame, Matrix};
use divisi_model::codes::Code;
use divisi_model::ensemble::{
    AnswerKind, AnswerWidth, BatchSizes, Combination, Measure, MemberPrecision, PolicyKind,
    RuleKind,
};
use divisi_model::metrics::{Bucket, LatencySummary, SplitMeans};
use divisi_model::trace::{Span, SpanKind};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub const PLAIN: TerminalLook = TerminalLook {
    colours: Colours::None,
    ascii: false,
};

/// The commands that the fake was sent, and what it will show next.
#[derive(Clone)]
pub struct Desk {
    pub sent: Arc<Mutex<Vec<Command>>>,
    pub shown: Arc<Mutex<Snapshot>>,
    pub refusal: Arc<Mutex<Option<String>>>,
    pub spans: Arc<Mutex<Vec<Span>>>,
    pub lost: Arc<AtomicU64>,
    pub history: Arc<Mutex<FigureHistory>>,
    /// Whether what-if questions have no answer yet.
    pub computing: Arc<AtomicBool>,
}

pub struct FakeSession {
    desk: Desk,
}

impl FakeSession {
    /// Another session on the same desk.
    pub fn at(desk: Desk) -> Self {
        FakeSession { desk }
    }
}

impl Session for FakeSession {
    fn snapshot(&mut self) -> Snapshot {
        self.desk.shown.lock().unwrap().clone()
    }

    fn now(&mut self) -> Duration {
        self.desk.shown.lock().unwrap().now
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        into.append(&mut self.desk.spans.lock().unwrap());
        self.desk.lost.load(Ordering::SeqCst)
    }

    fn history(&mut self) -> Result<FigureHistory, Refusal> {
        Ok(self.desk.history.lock().unwrap().clone())
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        if let Some(reason) = self.desk.refusal.lock().unwrap().clone() {
            return Err(Refusal::new(Code::DoesNotFit, reason));
        }
        self.desk.sent.lock().unwrap().push(command);
        Ok(())
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        let shown = self.desk.shown.lock().unwrap();
        let was = shown.setup();
        Ok(EditPreview {
            difference: Difference::between(&shown.matrix, &setup.matrix)
                .rebuilding(|cell| was.precisions[cell.member] != setup.precisions[cell.member]),
            memory: memory(&shown.devices),
            paused_members: Vec::new(),
            settings: settings(&was, setup),
            remarks: remarks(&was, setup),
            prediction: prediction(&was, setup),
        })
    }

    fn what_if(&mut self, question: &WhatIf) -> Result<WhatIfReply, Refusal> {
        if self.desk.computing.load(Ordering::SeqCst) {
            return Ok(WhatIfReply::Computing);
        }
        let running = self.desk.shown.lock().unwrap().setup();
        let setup = match question {
            WhatIf::Apply(setup) => Some(setup.as_ref().clone()),
            WhatIf::Undo | WhatIf::Redo | WhatIf::LoseDevice(_) => {
                Some(running.with_matrix(better()))
            }
            _ => None,
        };
        let preview = setup.as_ref().map(|setup| self.preview(setup));
        let preview = preview.transpose()?.map(Box::new);
        let answer = what_if_answer(question, setup, preview);
        Ok(WhatIfReply::Answer(Box::new(answer)))
    }
}

/// A made-up answer: a lost device is too much for the load, and the accuracy of precisions is unknown.
fn what_if_answer(
    question: &WhatIf,
    setup: Option<Setup>,
    preview: Option<Box<EditPreview>>,
) -> WhatIfAnswer {
    let before = outlook(4812.0, known(6800), &[0.86, 0.71]);
    let after = match question {
        WhatIf::LoseDevice(_) => {
            let grows = P99Outlook::Grows {
                samples_per_s: 120.0,
                full_after: Duration::from_secs(136),
            };
            outlook(680.0, grows, &[0.99, 0.0])
        }
        WhatIf::Rate(_) => outlook(4812.0, known(12_100), &[0.97, 0.93]),
        _ => outlook(5210.0, known(5100), &[0.81, 0.71]),
    };
    let accuracy = match question {
        WhatIf::AllIn(precision) => AccuracyOutlook::Unknown(format!(
            "not measured; `divisi accuracy digits --precisions {precision}` measures it"
        )),
        WhatIf::WithoutMember(_) => AccuracyOutlook::Measured {
            measure: Measure::Accuracy,
            change: -0.004,
            within: Some(0.002),
            source: "1204 recent answers with labels".into(),
        },
        _ => AccuracyOutlook::Same,
    };
    let stages = setup.filter(|_| matches!(question, WhatIf::LoseDevice(_)));
    WhatIfAnswer {
        stages: stages.map(Box::new),
        preview,
        load: AssumedLoad {
            words: "800 requests/s at random times".into(),
            requests_per_s: 800.0,
            over: Duration::from_secs(10),
        },
        before,
        after: Ok(after),
        accuracy,
        notes: Vec::new(),
        throughput_error: Some(TypicalError {
            factor: 1.04,
            errors: 9,
        }),
        p99_error: None,
    }
}

fn outlook(samples_per_s: f64, p99: P99Outlook, busy: &[f64]) -> Outlook {
    let devices = busy.iter().enumerate().map(|(at, share)| DeviceForecast {
        name: format!("cpu:{at}"),
        busy: Some(BusyShare {
            share: *share,
            low: share * 0.8,
            high: (share * 1.25).min(1.0),
        }),
    });
    Outlook {
        throughput: Ok(predicted(samples_per_s)),
        p99,
        devices: devices.collect(),
        cost: Err("no price of cpu:0 is known".into()),
    }
}

fn known(micros: u64) -> P99Outlook {
    let p99 = Duration::from_micros(micros);
    P99Outlook::Known {
        p99,
        low: p99.mul_f64(0.75),
        high: Some(p99.mul_f64(1.5)),
    }
}

fn predicted(samples_per_s: f64) -> Predicted {
    Predicted {
        samples_per_s,
        low: samples_per_s * 0.8,
        high: samples_per_s * 1.25,
        basis: PredictionBasis::Profiles,
        errors: 23,
    }
}

/// By profiles, of which there are none in other numbers than those that run.
fn prediction(now: &Setup, then: &Setup) -> Prediction {
    let both = now.precisions.iter().zip(&then.precisions);
    let changed = both.enumerate().find(|(_, (now, then))| now != then);
    let (after, source) = match changed {
        None => (Some(predicted(5210.0)), predicted(5210.0).grounds()),
        Some((member, (_, then))) => {
            let name = &now.matrix.frame().members[member];
            (None, format!("no profile of {name} in {then} on cpu:0 yet"))
        }
    };
    Prediction {
        before: Some(predicted(4812.0)),
        after,
        source,
    }
}

/// The remark on a processor that does not multiply brain floats.
pub(crate) const WIDENED: &str = "bf16: this processor's kernels (avx2) have no instructions for it; \
     values are widened to float32 while they are loaded";

fn remarks(now: &Setup, then: &Setup) -> Vec<String> {
    let both = now.precisions.iter().zip(&then.precisions);
    let mut changed = both.filter(|(now, then)| now != then);
    let is_widened = changed.any(|(_, then)| then.to_string() == "bf16");
    is_widened.then(|| WIDENED.to_owned()).into_iter().collect()
}

/// In words, what differs beside the matrix.
fn settings(now: &Setup, then: &Setup) -> Vec<String> {
    let policy =
        (now.policy != then.policy).then(|| format!("policy: {} → {}", now.policy, then.policy));
    let segment = (now.segment_size != then.segment_size)
        .then(|| format!("segment size: {} → {}", now.segment_size, then.segment_size));
    let (rule, other) = (now.combination.rule, then.combination.rule);
    let combination = (now.combination != then.combination)
        .then(|| format!("combination: {} → {}", rule.name(), other.name()));
    let precisions = SettingChange::between(now, then).into_iter();
    let precisions = precisions.filter(|change| matches!(change, SettingChange::Precision(..)));
    [policy, segment, combination]
        .into_iter()
        .flatten()
        .chain(precisions.flat_map(|change| change.words(&now.matrix.frame().members)))
        .collect()
}

/// A little more on the first device, as much on the others.
fn memory(devices: &[DeviceView]) -> Vec<(u64, u64)> {
    let more = |i: usize| if i == 0 { 118 << 20 } else { 0 };
    let booked = devices.iter().map(|d| d.memory_booked).enumerate();
    booked.map(|(i, now)| (now, now + more(i))).collect()
}

/// The other things that a console is opened with.
#[derive(Default)]
struct Wish {
    layouts: Vec<PanelLayout>,
    demo: Option<Wanted>,
}

/// A console on the fake, and the fake's desk.
pub struct Bench {
    pub console: Console,
    pub desk: Desk,
    pub size: (u16, u16),
}

impl Bench {
    pub fn new(width: u16, height: u16) -> Self {
        Bench::with(width, height, false, PLAIN)
    }

    pub fn with(width: u16, height: u16, read_only: bool, look: TerminalLook) -> Self {
        Bench::opened(width, height, read_only, look, spans(), Wish::default())
    }

    /// With layouts of a user's own.
    pub fn laid_out(width: u16, height: u16, layouts: Vec<PanelLayout>) -> Self {
        let wish = Wish {
            layouts,
            ..Wish::default()
        };
        Bench::opened(width, height, false, PLAIN, spans(), wish)
    }

    /// Nothing has run yet.
    pub fn empty(width: u16, height: u16, look: TerminalLook) -> Self {
        Bench::opened(width, height, false, look, Vec::new(), Wish::default())
    }

    pub fn demonstrating(width: u16, height: u16, look: TerminalLook, demo: Wanted) -> Self {
        let wish = Wish {
            demo: Some(demo),
            ..Wish::default()
        };
        Bench::opened(width, height, false, look, spans(), wish)
    }

    fn opened(
        width: u16,
        height: u16,
        read_only: bool,
        look: TerminalLook,
        spans: Vec<Span>,
        wish: Wish,
    ) -> Self {
        let desk = Desk {
            sent: Arc::default(),
            shown: Arc::new(Mutex::new(snapshot())),
            refusal: Arc::default(),
            spans: Arc::new(Mutex::new(spans)),
            lost: Arc::default(),
            history: Arc::default(),
            computing: Arc::default(),
        };
        let session = Box::new(FakeSession { desk: desk.clone() });
        let options = Options {
            read_only,
            mouse: false,
            title: "divisi".into(),
            layouts: wish.layouts,
            demo: wish.demo,
        };
        let mut console = Console::new(session, &options, look);
        console.handle(ConsoleEvent::Resize(width, height));
        console.refresh();
        Bench {
            console,
            desk,
            size: (width, height),
        }
    }

    /// Changes what the session shows, and lets the console see it.
    pub fn show(&mut self, change: impl FnOnce(&mut Snapshot)) -> bool {
        change(&mut self.desk.shown.lock().unwrap());
        self.console.refresh()
    }

    /// Lets time pass, and nothing else.
    pub fn pass(&mut self, time: Duration) {
        self.desk.shown.lock().unwrap().now += time;
    }

    pub fn press(&mut self, code: KeyCode) -> Vec<Effect> {
        self.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    pub fn control(&mut self, c: char) -> Vec<Effect> {
        self.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL))
    }

    /// Presses a key after a look at the screen.
    pub fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.console.mark_seen();
        self.console.handle(ConsoleEvent::Key(key))
    }

    pub fn paste(&mut self, text: &str) -> Vec<Effect> {
        self.console.mark_seen();
        self.console.handle(ConsoleEvent::Paste(text.into()))
    }

    pub fn keys(&mut self, text: &str) {
        for c in text.chars() {
            self.press(KeyCode::Char(c));
        }
    }

    pub fn sent(&self) -> Vec<Command> {
        self.desk.sent.lock().unwrap().clone()
    }

    pub fn buffer(&self) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size.0, self.size.1));
        self.console.draw(&mut buffer);
        buffer
    }

    /// The screen as text, with a rule so that what is at the ends of lines shows.
    /// The screen without the sides of frames.
    pub fn plain(&self) -> String {
        self.text().replace(['│', '┃'], " ")
    }

    pub fn text(&self) -> String {
        let buffer = self.buffer();
        let rows = buffer.content.chunks(usize::from(self.size.0));
        let mut text = String::new();
        for row in rows {
            let line: String = row.iter().map(|c| c.symbol()).collect();
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

fn frame() -> Arc<Frame> {
    let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    Arc::new(Frame {
        devices: names(&["cpu:0", "cpu:1"]),
        members: names(&["mlp", "cnn-s", "cnn-m", "res-s", "res-m", "dense"]),
        batch_sizes: BatchSizes::default(),
    })
}

pub fn matrix() -> Matrix {
    let rows = [vec![16, 0, 8, 0, 32, 0], vec![0, 8, 0, 16, 0, 8]];
    Matrix::from_rows(frame(), &rows).unwrap()
}

/// Applies `matrix` and changes nothing else of what the fake shows.
pub fn applied(matrix: Matrix) -> Command {
    Command::Apply(Box::new(snapshot().setup().with_matrix(matrix)), None)
}

pub fn better() -> Matrix {
    let rows = [vec![16, 0, 8, 0, 32, 0], vec![0, 8, 0, 16, 16, 8]];
    Matrix::from_rows(frame(), &rows).unwrap()
}

pub fn device(name: &str, busy: f64, booked: u64) -> DeviceView {
    DeviceView {
        name: name.into(),
        kind: "cpu".into(),
        faults_on_demand: false,
        busy,
        copying: 0.02,
        memory_booked: booked << 20,
        memory_bytes: 4096 << 20,
        shares_memory_of: None,
        side_by_side: false,
        lost: false,
        loss: None,
        gpu: None,
        slowdown: 1.0,
        max_inf: None,
        alive: 0,
    }
}

pub fn member(name: &str, queued: usize, samples_per_s: f64) -> MemberView {
    MemberView {
        name: name.into(),
        flops: 1_000_000,
        parameters: 10_000,
        synthetic: false,
        precision: MemberPrecision::default().resolved(Precision::F32),
        queued,
        growth: 0.0,
        samples_per_s,
        series: vec![samples_per_s as f32; 60],
        latency: LatencyView::default(),
        contribution: None,
        flaws: Flaws::default(),
    }
}

fn entries() -> Vec<EntryView> {
    let loads = [
        0.12, 0.0, 0.44, 0.0, 0.30, 0.0, 0.0, 0.31, 0.0, 0.22, 0.0, 0.18,
    ];
    let entry = |load: f64| EntryView {
        load,
        fill: 0.9,
        waiting: 0,
        copying: 0.05,
        batches: 1204,
        restarts: 0,
        retired: false,
        interfered: None,
        latency: LatencyView::default(),
    };
    loads
        .into_iter()
        .map(|l| {
            if l > 0.0 {
                entry(l)
            } else {
                EntryView::default()
            }
        })
        .collect()
}

/// As it was all the time.
fn latency() -> LatencyView {
    LatencyView {
        now: distribution(),
        since: distribution(),
    }
}

fn distribution() -> Distribution {
    let count = |i: i32| (4000.0 * (-0.08 * f64::from((i - 12) * (i - 12))).exp()) as u64 + 2;
    let edge = |i: i32| (400.0 * 2f64.powf(f64::from(i) / 4.0)) as u64;
    let bucket = |i: i32| Bucket {
        from: edge(i - 1),
        micros: edge(i),
        count: count(i),
    };
    Distribution {
        summary: LatencySummary {
            count: 48_120,
            p50: 2_100,
            p90: 4_230,
            p99: 6_800,
            p999: 12_100,
            max: 20_400,
        },
        buckets: (0..24).map(bucket).collect(),
        split: SplitMeans {
            admission: 4.0,
            queueing: 610.0,
            batching: 240.0,
            copying: 85.0,
            computing: 1460.0,
            combining: 12.0,
        },
        missed: None,
    }
}

fn log(at: f64, level: LogLevel, text: &str) -> LogEntry {
    LogEntry {
        at: Duration::from_secs_f64(at),
        level,
        text: text.into(),
    }
}

/// How a step did that ran for so many rows of as many requests.
pub fn step_stats(rows: u64, critical: u64) -> StepStats {
    StepStats {
        rows,
        made: rows,
        parts: rows,
        critical,
        waited: Duration::from_micros(610) * rows as u32,
        computed: Duration::from_micros(1460) * rows as u32,
        rows_per_s: rows as f64 / 10.0,
        queued: rows as usize % 97,
        ..StepStats::default()
    }
}

/// The graph of the ensemble.
fn graph() -> StepGraph {
    let names = ["mlp", "cnn-s", "cnn-m", "res-s", "res-m", "dense"];
    let step = |(at, name): (usize, &&str)| GraphStep {
        number: at as u16,
        name: (*name).into(),
        work: GraphWork::Model((*name).into()),
        needs: Vec::new(),
        when: None,
        quorum: None,
        is_output: false,
        stats: step_stats(48_120 + at as u64, [100, 200, 30_000, 400, 17_000, 500][at]),
    };
    let answer = GraphStep {
        number: names.len() as u16,
        name: "answer".into(),
        work: GraphWork::Rule("average".into()),
        needs: (0..names.len()).collect(),
        is_output: true,
        stats: StepStats {
            critical: 48_120,
            last: 48_120,
            ..StepStats::default()
        },
        ..step((0, &"answer"))
    };
    let members = names.iter().enumerate().map(step);
    StepGraph {
        model: "digits".into(),
        steps: members.chain([answer]).collect(),
    }
}

pub fn snapshot() -> Snapshot {
    let series = |i: u32| 4000.0 + 900.0 * (f64::from(i) / 6.0).sin();
    Snapshot {
        now: Duration::from_millis(42_000),
        started: None,
        second: None,
        requests: RequestsView::default(),
        generation: 0,
        models: Vec::new(),
        copies: Arc::default(),
        can_load: false,
        door: None,
        scaling: None,
        model_change: None,
        ensemble: "digits".into(),
        answers: AnswerKind::Classes {
            count: AnswerWidth::nearest(10),
        },
        pipeline: false,
        synthetic: true,
        simulated: false,
        precision: None,
        health: Health::Serving,
        matrix: matrix(),
        policy: PolicyKind::NoWait,
        own_policies: false,
        combination: Combination::equal_weights(RuleKind::Average, 6),
        segment_size: 128,
        target: None,
        marks: Vec::new(),
        history: Vec::new(),
        probation: None,
        audience: Audience::default(),
        playback: None,
        recording: None,
        devices: vec![device("cpu:0", 0.86, 812), device("cpu:1", 0.71, 640)],
        members: vec![
            member("mlp", 0, 4812.0),
            member("cnn-s", 12, 4810.0),
            member("cnn-m", 48, 4790.0),
            member("res-s", 8, 4801.0),
            member("res-m", 64, 4780.0),
            member("dense", 3, 4805.0),
        ],
        entries: entries(),
        graphs: vec![graph()],
        latency: latency(),
        latency_before: None,
        oldest_waiting: None,
        host: None,
        under_way: Vec::new(),
        throughput: ThroughputView {
            samples_per_s: 4812.0,
            requests_per_s: 602.0,
            series: (0..60).map(series).collect(),
            moment: Duration::from_secs(1),
        },
        quality: None,
        counters: Counters {
            answered: 48_120,
            refused: 3,
            ..Counters::default()
        },
        lately: LostRequests::default(),
        errors: divisi_session::ErrorsView::default(),
        load: LoadView {
            mix: None,
            resting: false,
            pattern: Some(LoadPattern::poisson(800.0)),
            sent: 48_200,
            behind: Duration::ZERO,
        },
        search: None,
        reload: None,
        proposal: None,
        log: vec![
            log(
                0.1,
                LogLevel::Info,
                "2 devices, 6 members, worst-fit allocation",
            ),
            log(0.8, LogLevel::Info, "6 workers ready"),
            log(
                12.4,
                LogLevel::Warn,
                "3 requests refused: 65 536 samples wait",
            ),
            log(
                30.2,
                LogLevel::Error,
                "worker cpu:1 × dense restarted: panic in network",
            ),
        ],
        can_undo: true,
        can_redo: false,
    }
}

pub fn search() -> SearchView {
    SearchView {
        algorithm: "greedy".into(),
        evaluator: "model".into(),
        scored_by: EvaluatorKind::Model,
        cached: false,
        occasion: None,
        goal: None,
        shortfall: None,
        state: SearchState::Running,
        max_iter: 10,
        progress: SearchProgress {
            iteration: 3,
            neighbour: 41,
            neighbours: 54,
            coverage: 1.0,
            start_score: Some(3770.0),
            best_score: Some(5210.0),
            best: Some(better()),
            start_doubt: Doubt::Runs {
                runs: 4,
                error: 0.006,
            },
            best_doubt: Doubt::Runs {
                runs: 4,
                error: 0.008,
            },
            scores: (0..41)
                .map(|i| 3500.0 + f64::from((i * 37) % 17) * 100.0)
                .collect(),
            history: vec![3770.0, 4400.0, 5100.0],
            evaluations: 149,
            bound: Some(5900.0),
            ..SearchProgress::default()
        },
        elapsed: Duration::from_millis(4200),
        left: Some(Duration::from_secs(12)),
    }
}

/// Batches of three steps on each worker, back to back on each device.
fn spans() -> Vec<Span> {
    let mut spans = Vec::new();
    for (device, workers) in [
        (0, [(0, 16, 8), (2, 8, 40), (4, 32, 64)]),
        (1, [(1, 8, 30), (3, 16, 44), (5, 8, 26)]),
    ] {
        let mut at = 41_000;
        while at < 42_000 {
            for (member, batch_size, ms) in workers {
                let mut step = |kind, from: u64, to: u64| {
                    spans.push(Span {
                        device: DeviceIndex::new(device),
                        member: MemberIndex::new(member),
                        batch_size,
                        lane: 0,
                        kind,
                        start: Duration::from_millis(from),
                        end: Duration::from_millis(to),
                        samples: batch_size,
                        batch: None,
                        request: 0,
                        requests: 1,
                        of_step: None,
                    });
                };
                step(SpanKind::Wait, at - 12, at);
                step(SpanKind::CopyIn, at, at + 2);
                step(SpanKind::Compute, at + 2, at + ms);
                step(SpanKind::Send, at + ms, at + ms + 3);
                at += ms + 3;
            }
        }
    }
    spans.sort_by_key(|s| s.end);
    spans
}

/// A server that waits for its first model.
pub fn nothing(shown: &mut Snapshot) {
    let frame = Arc::new(Frame {
        devices: shown.devices.iter().map(|d| d.name.clone()).collect(),
        members: Vec::new(),
        batch_sizes: BatchSizes::default(),
    });
    shown.matrix = Matrix::new(frame, Vec::new()).unwrap();
    shown.combination = Combination::equal_weights(RuleKind::Average, 0);
    shown.health = Health::Closed("no model is served: load one".into());
    shown.can_load = true;
    shown.members.clear();
    shown.entries.clear();
    shown.graphs.clear();
    shown.models.clear();
    shown.search = None;
}

/// 16 devices and 12 members, more than most screens can show.
pub fn many(shown: &mut Snapshot) {
    let sizes = BatchSizes::default();
    let devices: Vec<String> = (0..16).map(|d| format!("sim-a100:{d}")).collect();
    let members: Vec<String> = (0..12)
        .map(|m| format!("densenet-{}-k{m}", 100 + m))
        .collect();
    let size = |d: usize, m: usize| {
        if (d + m).is_multiple_of(3) {
            8i64 << (d % 5)
        } else {
            0
        }
    };
    let rows: Vec<Vec<i64>> = (0..16)
        .map(|d| (0..12).map(|m| size(d, m)).collect())
        .collect();
    shown.devices = devices.iter().map(|d| device(d, 0.5, 3000)).collect();
    shown.members = members.iter().map(|m| member(m, 1200, 48_120.0)).collect();
    shown.entries = vec![
        EntryView {
            load: 0.3,
            fill: 0.9,
            waiting: 0,
            copying: 0.05,
            batches: 7,
            restarts: 0,
            retired: false,
            interfered: None,
            latency: LatencyView::default(),
        };
        16 * 12
    ];
    let frame = Arc::new(Frame {
        devices,
        members,
        batch_sizes: sizes,
    });
    shown.matrix = Matrix::from_rows(frame, &rows).unwrap();
}
