//! Values that cannot be: refused wherever they are read from, and whatever is said to a
//! server, it goes on serving and can be stopped.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use divisi_engine::load::{LoadPattern, Rate};
use divisi_engine::serving::Request;
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::ServedCopies;
use divisi_model::ensemble::{MemberPrecision, Wait};
use divisi_session::remote::{RemoteSession, stop};
use divisi_session::wire::{SpanBatch, checked, decode, encode, pack, unpack};
use divisi_session::{Command, Health, LiveSession, Session, Setup, Snapshot};
use proptest::prelude::*;
use serde::Serialize;

use crate::common::{digits, fakes, start, until};
use crate::folder::Folder;
use crate::remote::{Raw, as_ask};
use crate::transport::{Puppet, serve, template, viewer};

/// Commands as they are written, with any numbers in them.
#[derive(Clone, Debug, Serialize)]
enum AnyCommand {
    Apply(AnySetup, Option<AnyTerms>),
    EndProbation(bool),
    Undo,
    Redo,
    SetTarget(Option<(Duration, f64)>),
    SetVote(usize, bool),
    SetMaxInf(usize, Option<u32>),
    LoseDevice(usize),
    RegainDevice(usize),
    SlowDevice(usize, f64),
    StartLoad(AnyPattern),
    StopLoad,
    StartSearch(AnyMethod),
    PauseSearch,
    ResumeSearch,
    CancelSearch,
    ClearLatency,
    StartRecording(String),
    StopRecording,
    Play(AnyPlay),
    TakeEditing(bool),
    KeepServing,
    LoadModel(String),
    UnloadModel { name: String, dependents: bool },
    SetMix(Option<String>),
}

#[derive(Clone, Debug, Serialize)]
struct AnySetup {
    models: ServedCopies,
    matrix: Matrix,
    policy: AnyPolicy,
    /// Rule, weights, votes, temperatures.
    combination: (u8, Vec<f64>, Vec<bool>, Vec<f64>),
    segment_size: usize,
    precisions: Vec<MemberPrecision>,
}

/// Time, p99, failures, accuracy.
type AnyTerms = (Duration, Option<f64>, Option<f64>, Option<f64>);

#[derive(Clone, Debug, Serialize)]
enum AnyPolicy {
    NoWait,
    OptWait(Duration),
    PipelinedOptWait(Duration),
    Static(Duration),
    Segment(Duration),
    Elastic(Option<u32>),
}

#[derive(Clone, Debug, Serialize)]
enum AnyPattern {
    Closed(u32, u32),
    Poisson(f64),
    Steady(f64),
    Burst(f64),
    Diurnal(f64, Duration),
    Replay(String, f64),
}

/// Algorithm, evaluator, bounds, restarts, finalists, goal, quiet.
type AnyMethod = (
    u8,
    u8,
    (usize, usize, u64),
    usize,
    usize,
    AnyGoal,
    bool,
    bool,
);

/// Objective, p99, rate, spare memory.
type AnyGoal = (u8, Option<Duration>, Option<f64>, u64);

#[derive(Clone, Debug, Serialize)]
enum AnyPlay {
    Pause(bool),
    Speed(f64),
    Seek(Duration),
}

impl AnyCommand {
    fn bytes(&self) -> Vec<u8> {
        encode(self).expect("encoded")
    }
}

fn setup() -> &'static Setup {
    static SETUP: OnceLock<Setup> = OnceLock::new();
    SETUP.get_or_init(|| template().setup())
}

/// The setup that runs, under another policy and with other numbers.
fn any_setup(policy: AnyPolicy, weight: f64, voting: usize, segment_size: usize) -> AnySetup {
    let members = setup().matrix.frame().members.len();
    AnySetup {
        models: Arc::clone(&setup().models),
        matrix: setup().matrix.clone(),
        policy,
        combination: (
            1,
            vec![weight; members],
            vec![true; voting],
            vec![1.0; members],
        ),
        segment_size,
        precisions: setup().precisions.clone(),
    }
}

/// The same with this temperature for every member, and for so many members.
fn with_temperatures(temperature: f64, members: usize) -> AnyCommand {
    let mut setup = any_setup(
        AnyPolicy::NoWait,
        1.0,
        setup().matrix.frame().members.len(),
        128,
    );
    setup.combination.3 = vec![temperature; members];
    AnyCommand::Apply(setup, None)
}

/// The same with nothing wrong but what is given.
fn with_policy(policy: AnyPolicy) -> AnyCommand {
    let members = setup().matrix.frame().members.len();
    AnyCommand::Apply(any_setup(policy, 1.0, members, 128), None)
}

fn with_terms(terms: AnyTerms) -> AnyCommand {
    let members = setup().matrix.frame().members.len();
    let setup = any_setup(AnyPolicy::NoWait, 1.0, members, 128);
    AnyCommand::Apply(setup, Some(terms))
}

fn search(method: AnyMethod) -> AnyCommand {
    AnyCommand::StartSearch(method)
}

const QUICK: AnyMethod = (3, 1, (10, usize::MAX, 1), 8, 3, PLAIN, false, false);
const PLAIN: AnyGoal = (0, None, None, 0);
const DAY: Duration = Duration::from_secs(86_400);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Commands that a person can type, at the edges of what is allowed.
fn allowed() -> Vec<AnyCommand> {
    use AnyCommand as C;
    use AnyPattern as P;
    let members = setup().matrix.frame().members.len();
    vec![
        with_policy(AnyPolicy::NoWait),
        with_policy(AnyPolicy::OptWait(Duration::ZERO)),
        with_policy(AnyPolicy::Segment(MINUTE)),
        with_policy(AnyPolicy::Elastic(Some(u32::MAX))),
        with_terms((DAY, Some(1e6), Some(0.0), Some(1.0))),
        C::Apply(any_setup(AnyPolicy::NoWait, 1.0, members, 1 << 20), None),
        with_temperatures(0.01, members),
        C::SetTarget(Some((Duration::from_nanos(1), 1.0))),
        C::SlowDevice(0, 0.1),
        C::SlowDevice(0, 100.0),
        C::StartLoad(P::Closed(1, 65_536)),
        C::StartLoad(P::Closed(4096, 1)),
        C::StartLoad(P::Poisson(1e-3)),
        C::StartLoad(P::Diurnal(1e9, Duration::from_millis(100))),
        C::StartLoad(P::Diurnal(1.0, 7 * DAY)),
        C::StartLoad(P::Replay("a.csv".into(), 1e3)),
        search(QUICK),
        search((
            2,
            0,
            (100_000, usize::MAX, u64::MAX),
            0,
            0,
            PLAIN,
            false,
            false,
        )),
        C::Play(AnyPlay::Speed(0.01)),
        C::Play(AnyPlay::Seek(Duration::MAX)),
    ]
}

/// Commands that nobody can type.
fn refused() -> Vec<AnyCommand> {
    use AnyCommand as C;
    use AnyPattern as P;
    const NO_NUMBERS: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0];
    let members = setup().matrix.frame().members.len();
    let over = MINUTE + Duration::from_nanos(1);
    let mut all = vec![
        with_policy(AnyPolicy::Elastic(Some(0))),
        C::Apply(any_setup(AnyPolicy::NoWait, 1.0, members, 0), None),
        C::Apply(
            any_setup(AnyPolicy::NoWait, 1.0, members, (1 << 20) + 1),
            None,
        ),
        C::Apply(any_setup(AnyPolicy::NoWait, 1.0, members, usize::MAX), None),
        C::Apply(any_setup(AnyPolicy::NoWait, 1.0, members + 1, 128), None),
        C::Apply(any_setup(AnyPolicy::NoWait, 1.0, 0, 128), None),
        with_temperatures(1.0, members + 1),
        with_temperatures(0.0, members),
        with_temperatures(1e6, members),
        with_terms((Duration::ZERO, None, None, None)),
        with_terms((Duration::MAX, None, None, None)),
        C::SetTarget(Some((Duration::ZERO, 0.5))),
        C::SetTarget(Some((Duration::MAX, 0.5))),
        C::SetMaxInf(0, Some(0)),
        C::StartLoad(P::Closed(0, 1)),
        C::StartLoad(P::Closed(4097, 1)),
        C::StartLoad(P::Closed(u32::MAX, 1)),
        C::StartLoad(P::Closed(1, 0)),
        C::StartLoad(P::Closed(1, 65_537)),
        C::StartLoad(P::Diurnal(1.0, Duration::ZERO)),
        C::StartLoad(P::Diurnal(1.0, Duration::from_millis(99))),
        C::StartLoad(P::Diurnal(1.0, Duration::MAX)),
        search((3, 1, (usize::MAX, 1, 1), 8, 3, PLAIN, false, false)),
        search((3, 1, (10, 1, 1), usize::MAX, 3, PLAIN, false, false)),
        search((3, 1, (10, 1, 1), 8, usize::MAX, PLAIN, false, false)),
        search((
            3,
            1,
            (10, 1, 1),
            8,
            3,
            (0, Some(Duration::ZERO), None, 0),
            false,
            false,
        )),
        search((
            3,
            1,
            (10, 1, 1),
            8,
            3,
            (0, Some(Duration::MAX), None, 0),
            false,
            false,
        )),
        search((
            3,
            1,
            (10, 1, 1),
            8,
            3,
            (0, None, Some(0.0), 0),
            false,
            false,
        )),
    ];
    for wait in [over, Duration::MAX] {
        let waiting = [
            AnyPolicy::OptWait(wait),
            AnyPolicy::PipelinedOptWait(wait),
            AnyPolicy::Static(wait),
            AnyPolicy::Segment(wait),
        ];
        all.extend(waiting.map(with_policy));
    }
    for wrong in NO_NUMBERS {
        all.extend([
            C::Apply(any_setup(AnyPolicy::NoWait, wrong, members, 128), None),
            with_temperatures(wrong, members),
            with_terms((SECOND, Some(wrong), None, None)),
            with_terms((SECOND, None, Some(wrong), None)),
            with_terms((SECOND, None, None, Some(wrong))),
            C::SetTarget(Some((SECOND, wrong))),
            search((
                3,
                1,
                (10, 1, 1),
                8,
                3,
                (0, None, Some(wrong), 0),
                false,
                false,
            )),
        ]);
    }
    for wrong in NO_NUMBERS
        .into_iter()
        .chain([0.0, f64::MIN_POSITIVE, f64::MAX])
    {
        all.extend([
            C::SlowDevice(0, wrong),
            C::StartLoad(P::Poisson(wrong)),
            C::StartLoad(P::Steady(wrong)),
            C::StartLoad(P::Burst(wrong)),
            C::StartLoad(P::Diurnal(wrong, MINUTE)),
            C::StartLoad(P::Replay("a.csv".into(), wrong)),
            C::Play(AnyPlay::Speed(wrong)),
        ]);
    }
    all
}

#[test]
fn a_command_that_nobody_can_type_cannot_be_read() {
    for command in allowed() {
        let read = decode::<Command>(&command.bytes());
        let read = read.unwrap_or_else(|e| panic!("{command:?}: {e}"));
        assert_eq!(encode(&read).expect("encoded"), command.bytes());
    }
    for command in refused() {
        let read = decode::<Command>(&command.bytes());
        let error = read.expect_err("nobody can type it").to_string();
        assert!(error.contains("expected"), "{command:?}: {error}");
    }
}

#[test]
fn who_asks_for_what_cannot_be_is_told_the_field_and_its_range() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(Puppet::new()), &folder);
    let mut raw = Raw::join(&path, false);
    let members = setup().matrix.frame().members.len();
    let segment = any_setup(AnyPolicy::NoWait, 1.0, members, 0);
    for (number, (command, why)) in [
        (
            AnyCommand::StartLoad(AnyPattern::Poisson(2e9)),
            "rate: expected 0.001 to 1000000000 a second, found 2000000000",
        ),
        (
            AnyCommand::StartLoad(AnyPattern::Closed(4097, 1)),
            "clients: expected 1 to 4096 clients, found 4097",
        ),
        (
            AnyCommand::Apply(segment, None),
            "segment size: expected 1 to 1048576 samples, found 0",
        ),
        (
            with_policy(AnyPolicy::OptWait(2 * MINUTE)),
            "policy.wait: expected 0ns to 60s, found 120s",
        ),
        (
            with_temperatures(0.0, members),
            "combination.temperatures: expected a temperature from 0.01 to 100, found 0",
        ),
        (
            search((9, 1, (10, 1, 1), 8, 3, PLAIN, false, false)),
            "algorithm: invalid value: integer `9`, expected variant index 0 <= i < 4",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        raw.ask(number as u64, &as_ask(&command.bytes()))
            .expect("asked");
        let refused = raw.answer(number as u64).expect_err(why);
        assert!(
            refused.contains("invalid request, or a request of"),
            "{refused}"
        );
        assert!(refused.ends_with(&format!(": {why}")), "{refused}");
    }
    hub.stopper()();
    hub.join();
}

#[test]
fn numbers_come_back_whole_or_are_refused() {
    type Numbers = (u64, i64, u16, i32, i16, u8, f32, Option<bool>);
    let numbers: Numbers = (
        u64::MAX,
        i64::MIN,
        u16::MAX,
        i32::MIN,
        -1,
        7,
        f32::MIN,
        Some(false),
    );
    let bytes = encode(&numbers).expect("encoded");
    assert_eq!(decode::<Numbers>(&bytes).expect("decoded"), numbers);
    let endless = [0xff; 11];
    for length in 0..=endless.len() {
        assert!(decode::<u64>(&endless[..length]).is_err(), "{length} bytes");
    }
    let large = encode(&70_000_u32).expect("encoded");
    assert!(decode::<u16>(&large).is_err());
    assert!(decode::<bool>(&[2]).is_err());
    assert!(decode::<String>(&[1, 0xff]).is_err(), "no UTF-8");
    let error = decode::<Vec<()>>(&encode(&u64::MAX).expect("encoded"));
    let error = error.expect_err("elements take time").to_string();
    assert!(error.contains("needs more than"), "{error}");
}

#[test]
fn text_bytes_and_plain_numbers_have_the_same_ranges() {
    let typed = |text: &str| text.parse::<LoadPattern>().is_ok();
    for (number, fits) in [(1e-3, true), (1e9, true), (9e-4, false), (1.1e9, false)] {
        assert_eq!(typed(&format!("poisson:{number}")), fits, "{number}");
        assert_eq!(Rate::new(number).is_ok(), fits);
        let bytes = encode(&number).expect("encoded");
        assert_eq!(decode::<Rate>(&bytes).is_ok(), fits);
    }
    let error = Rate::new(f64::NAN).expect_err("no number").to_string();
    assert_eq!(error, "expected 0.001 to 1000000000 a second, found NaN");
    for (number, nearest) in [
        (f64::NAN, 1e-3),
        (-1.0, 1e-3),
        (f64::INFINITY, 1e9),
        (5.0, 5.0),
    ] {
        assert_eq!(Rate::nearest(number).get(), nearest);
    }
    assert_eq!(Wait::nearest(Duration::MAX), Wait::MOST);
    let wait = Wait::new(Duration::MAX).expect_err("too long").to_string();
    assert!(wait.contains("expected 0ns to 60s"), "{wait}");
}

/// Numbers of all kinds, wrong ones more often than right ones.
fn numbers() -> impl Strategy<Value = f64> + Clone {
    let wrong = [
        f64::NAN,
        f64::INFINITY,
        -1.0,
        0.0,
        f64::MAX,
        f64::MIN_POSITIVE,
    ];
    let right = [0.1, 0.5, 1.0, 2.0, 100.0, 1e6];
    prop_oneof![
        prop::sample::select(wrong.to_vec()),
        prop::sample::select(right.to_vec())
    ]
}

fn times() -> impl Strategy<Value = Duration> + Clone {
    let all = vec![
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_millis(2),
        Duration::from_millis(100),
        MINUTE,
        DAY,
        Duration::MAX,
    ];
    prop::sample::select(all)
}

fn counts() -> impl Strategy<Value = usize> + Clone {
    let all = vec![0, 1, 2, 6, 8, 128, 1 << 20, 1 << 32, usize::MAX];
    prop::sample::select(all)
}

fn policies() -> impl Strategy<Value = AnyPolicy> {
    prop_oneof![
        Just(AnyPolicy::NoWait),
        times().prop_map(AnyPolicy::OptWait),
        times().prop_map(AnyPolicy::PipelinedOptWait),
        times().prop_map(AnyPolicy::Static),
        times().prop_map(AnyPolicy::Segment),
        prop::option::of(any::<u32>()).prop_map(AnyPolicy::Elastic),
    ]
}

fn patterns() -> impl Strategy<Value = AnyPattern> {
    let narrow = |n: usize| n as u32;
    prop_oneof![
        (counts(), counts()).prop_map(move |(c, s)| AnyPattern::Closed(narrow(c), narrow(s))),
        numbers().prop_map(AnyPattern::Poisson),
        numbers().prop_map(AnyPattern::Steady),
        numbers().prop_map(AnyPattern::Burst),
        (numbers(), times()).prop_map(|(rate, period)| AnyPattern::Diurnal(rate, period)),
        numbers().prop_map(|speed| AnyPattern::Replay("/no/such/file".into(), speed)),
    ]
}

fn setups() -> impl Strategy<Value = AnySetup> {
    let members = setup().matrix.frame().members.len();
    let voting = prop_oneof![4 => Just(members), 1 => counts().prop_map(|n| n.min(64))];
    (policies(), numbers(), voting, counts())
        .prop_map(|(policy, weight, voting, segment)| any_setup(policy, weight, voting, segment))
}

fn methods() -> impl Strategy<Value = AnyMethod> {
    let bounds = (counts(), counts(), any::<u64>());
    let goal = (
        0..2u8,
        prop::option::of(times()),
        prop::option::of(numbers()),
        any::<u64>(),
    );
    (
        0..5u8,
        0..3u8,
        bounds,
        counts(),
        counts(),
        goal,
        any::<bool>(),
        any::<bool>(),
    )
}

fn any_commands() -> impl Strategy<Value = AnyCommand> {
    use AnyCommand as C;
    let share = || prop::option::of(numbers());
    let terms = prop::option::of((times(), share(), share(), share()));
    prop_oneof![
        3 => (setups(), terms).prop_map(|(setup, terms)| C::Apply(setup, terms)),
        3 => patterns().prop_map(C::StartLoad),
        2 => methods().prop_map(C::StartSearch),
        1 => prop::option::of((times(), numbers())).prop_map(C::SetTarget),
        1 => (counts(), any::<bool>()).prop_map(|(member, votes)| C::SetVote(member, votes)),
        1 => (counts(), prop::option::of(any::<u32>())).prop_map(|(d, n)| C::SetMaxInf(d, n)),
        1 => counts().prop_map(C::LoseDevice),
        1 => counts().prop_map(C::RegainDevice),
        1 => (counts(), numbers()).prop_map(|(device, factor)| C::SlowDevice(device, factor)),
        1 => numbers().prop_map(|speed| C::Play(AnyPlay::Speed(speed))),
        1 => times().prop_map(|at| C::Play(AnyPlay::Seek(at))),
        1 => any::<bool>().prop_map(|hold| C::Play(AnyPlay::Pause(hold))),
        3 => prop::sample::select(vec![
            C::EndProbation(true), C::EndProbation(false), C::Undo, C::Redo, C::StopLoad,
            C::PauseSearch, C::ResumeSearch, C::CancelSearch, C::ClearLatency,
            C::StartRecording(String::new()), C::StopRecording, C::TakeEditing(true),
            C::TakeEditing(false), C::KeepServing, C::LoadModel("a".into()),
            C::UnloadModel { name: String::new(), dependents: true }, C::SetMix(None),
            C::SetMix(Some("digits=1".into())), C::SetMix(Some("digits=NaN".into())),
        ]),
    ]
}

/// Messages to a server: a command, or bytes that mean nothing.
fn said() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => any_commands().prop_map(|command| as_ask(&command.bytes())),
        1 => prop::collection::vec(any::<u8>(), 0..60)
            .prop_filter("it would end it", |bytes| bytes.first() != Some(&2)),
    ]
}

/// Says it all to a server of digits; a request is under way all the while.
fn outlives(all: &[Vec<u8>]) {
    let folder = Folder::new();
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    let values = [0.0; 64];
    let session = LiveSession::new(Arc::clone(&engine), fakes(&ensemble), None);
    let (hub, path) = serve(Box::new(session), &folder);
    let mut raw = Raw::join(&path, false);
    let mut pending = Vec::new();
    for (number, ask) in all.iter().enumerate() {
        raw.ask(number as u64, ask).expect("it listens");
        // Refused or not, there is an answer.
        let _ = raw.answer(number as u64);
        pending.extend(engine.submit(Request::new(&values)));
    }
    drop(raw);
    let mut ann = RemoteSession::join(&path, viewer("ann")).expect("it still serves");
    // The other one's leaving is noticed.
    until(&mut ann, |s| s.audience.editor.is_none());
    let _ = ann.command(Command::CancelSearch);
    ann.command(Command::StopLoad).expect("loads stop");
    let shown = until(&mut ann, |s| s.load.pattern.is_none());
    assert_eq!(shown.health, Health::Serving);
    stop(&path).expect("it can be stopped");
    hub.join();
    for request in pending {
        // Answered or failed, but not forgotten.
        let _ = request.wait();
    }
}

/// Random commands rarely do what is worst, so that is said first.
#[test]
fn the_worst_commands_leave_a_server_that_can_be_stopped() {
    let all: Vec<Vec<u8>> = refused().iter().map(|c| as_ask(&c.bytes())).collect();
    outlives(&all);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_commands_leave_a_server_that_can_be_stopped(
        all in prop::collection::vec(said(), 1..12),
    ) {
        outlives(&all);
    }
}

/// Whether a snapshot is one that can be drawn: who draws looks things up by their place.
fn is_whole(shown: &Snapshot) -> bool {
    let frame = shown.matrix.frame();
    let (devices, members) = (frame.devices.len(), frame.members.len());
    (shown.devices.len(), shown.members.len()) == (devices, members)
        && shown.entries.len() == devices * members
        && shown.setup().combination.check(members).is_ok()
        && shown.history.iter().all(|r| r.setup.check().is_ok())
}

/// Returns the bytes with a few of them changed, cut or added.
fn harmed(whole: &[u8], changes: &[(f64, u8)], cut: Option<f64>) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for (place, byte) in changes {
        let at = (place * bytes.len() as f64) as usize;
        bytes[at] = *byte;
    }
    if let Some(cut) = cut {
        bytes.truncate((cut * bytes.len() as f64) as usize);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Bytes that mean nothing, and harmed ones that once meant something: what is read is
    /// a whole value, which is written as it was read.
    #[test]
    fn hostile_bytes_are_refused_or_are_whole_values(
        noise in prop::collection::vec(any::<u8>(), 0..400),
        changes in prop::collection::vec((0.0..1.0f64, any::<u8>()), 0..6),
        cut in prop::option::of(0.0..1.0f64),
    ) {
        static WHOLE: OnceLock<(Snapshot, Vec<u8>, Vec<u8>)> = OnceLock::new();
        let (shown, snapshot, packed) = WHOLE.get_or_init(|| {
            let mut shown = template();
            let marks = shown.history.iter().map(|r| divisi_session::Mark {
                at: r.from,
                kind: divisi_session::MarkKind::Load,
                text: r.why.clone(),
            });
            shown.marks = marks.collect();
            let snapshot = encode(&shown).expect("encoded");
            let packed = pack(&shown).expect("packed");
            (shown, snapshot, packed)
        });
        let untouched = changes.is_empty() && cut.is_none();
        for bytes in [noise, harmed(snapshot, &changes, cut), harmed(packed, &changes, cut)] {
            if let Ok(command) = decode::<Command>(&bytes) {
                let again = decode::<Command>(&encode(&command).expect("encoded"));
                prop_assert!(again.is_ok(), "{command:?} is written and not read");
            }
            let read = decode::<Snapshot>(&bytes).or_else(|_| unpack(&bytes, 1 << 20));
            if let Ok(read) = read {
                prop_assert!(encode(&read).is_ok());
                prop_assert!(read.history.iter().all(|r| r.setup.check().is_ok()));
                prop_assert!(!untouched || &read == shown);
                if let Ok(read) = checked(read) {
                    prop_assert!(is_whole(&read), "{read:?}");
                }
            }
            if let Ok(batch) = decode::<SpanBatch>(&bytes) {
                let mut spans = Vec::new();
                if batch.unpack(&mut spans).is_ok() {
                    prop_assert_eq!(spans.len(), batch.len());
                    prop_assert!(spans.iter().all(|s| s.start <= s.end));
                }
            }
        }
        prop_assert!(!untouched || decode::<Snapshot>(snapshot).is_ok());
        let read = unpack(packed, 1 << 20).and_then(checked);
        prop_assert!(!untouched || read.is_ok());
    }
}
