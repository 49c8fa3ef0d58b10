//! Codes of all that is refused or fails: stable, one a meaning, each reached by a type.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use divisi_engine::changes::{ChangeRefusal, Terms};
use divisi_engine::deployment::DeploymentError;
use divisi_engine::load::{LoadError, MissingSamples};
use divisi_engine::search::MethodError;
use divisi_engine::serving::{
    ApplyError, Failure, FaultError, NoFallback, PlanError, Refused, ReserveError, SetupError,
};
use divisi_model::allocation::DoesNotFit;
use divisi_model::catalogue::MixError;
use divisi_model::codes::{Code, Coded};
use divisi_model::ensemble::PolicyError;
use divisi_model::ranged::FieldOutOfRange;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_runtime::tensor::{IdRange, SampleFault};
use divisi_session::remote::RemoteRefusal;
use divisi_session::{Refusal, SessionRefusal, Target};

/// The codes with their statuses of HTTP and gRPC. Programs know these: lines are added,
/// and none is ever changed or taken away.
const FROZEN: &str = "\
request_too_large 400 3
request_empty 400 3
request_shape 400 3
request_output 400 3
request_not_finite 400 3
request_no_row 400 3
request_masked 400 3
pool_full 503 8
queue_full 503 14
queue_timeout 503 14
door_starting 503 14
door_closed 503 14
deadline 504 4
cancelled 499 1
worker_failed 500 13
engine_stopped 503 14
rule_panicked 500 13
step_failed 500 13
answer_inexact 501 12
request_dropped 500 13
member_not_finite 500 13
setup_invalid 400 3
model_used 409 9
models_fixed 501 12
models_polled 503 14
models_unreadable 503 14
no_models 409 9
does_not_fit 409 9
memory_lent 409 9
memory_reserved 409 9
device_lost 409 9
device_not_lost 409 9
other_frame 409 9
plan_stale 409 10
change_under_way 409 10
change_nothing 409 9
change_panicked 500 13
no_probation 409 9
no_undo 409 9
no_redo 409 9
terms_invalid 400 3
target_invalid 400 3
worker_not_built 500 13
no_fallback 500 13
not_a_simulated_device 501 12
device_not_opened 503 14
unknown_device 404 5
unknown_member 404 5
nothing_arranged 409 9
no_samples 409 9
mix_invalid 400 3
load_too_large 400 3
load_file 400 3
search_invalid 400 3
search_goal_invalid 400 3
search_needs_model 400 3
search_running 409 9
search_not_running 409 9
thread_not_started 503 8
not_recordable 501 12
recording_under_way 409 9
recording_failed 409 9
recording_none 409 9
is_recording 409 9
is_no_recording 409 9
read_only 403 7
another_edits 403 7
nobody_else 409 9
not_left_running 501 12
path_relative 400 3
not_understood 400 3
server_gone 503 14
server_silent 504 4
model_unknown 404 5
model_invalid 400 3
model_unsupported 501 12
no_tasks 501 12
policy_unknown 404 5
nothing_asked 409 9
no_door 501 12
door_open 409 9
door_not_open 409 9
address_not_listened 409 9
";

fn text() -> String {
    String::new()
}

fn does_not_fit() -> DoesNotFit {
    DoesNotFit::Worker {
        member: text(),
        device: text(),
        batch: 8,
        needed: 2,
        free: 1,
        capacity: 1,
    }
}

fn of_requests() -> Vec<Box<dyn Coded>> {
    vec![
        Box::new(Refused::TooLarge {
            samples: 2,
            most: 1,
        }),
        Box::new(Refused::Full {
            samples: 2,
            free: 1,
        }),
        Box::new(Refused::QueueFull {
            priority: 1,
            most: 1,
        }),
        Box::new(Refused::Starting),
        Box::new(Refused::Closed(text())),
        Box::new(Refused::Shape {
            expected: 2,
            found: 1,
        }),
        Box::new(Refused::Empty),
        Box::new(Refused::Output {
            output: 1,
            outputs: 1,
        }),
        Box::new(Refused::NotFinite {
            sample: 0,
            value: 0,
        }),
        Box::new(Refused::Sample(SampleFault::Masked {
            input: text(),
            sample: 0,
        })),
        Box::new(Refused::Sample(SampleFault::Id {
            input: text(),
            sample: 0,
            position: 0,
            id: text(),
            range: IdRange::for_table(1),
        })),
        Box::new(Failure::Deadline),
        Box::new(Failure::QueueTimeout),
        Box::new(Failure::Cancelled),
        Box::new(Failure::Worker(text())),
        Box::new(Failure::Stopped(text())),
        Box::new(Failure::RulePanicked(text())),
        Box::new(Failure::Step {
            step: text(),
            reason: text(),
        }),
        Box::new(Failure::Inexact {
            step: text(),
            output: text(),
        }),
        Box::new(Failure::Dropped),
        Box::new(Failure::NotFinite(Vec::new())),
    ]
}

fn of_changes() -> Vec<Box<dyn Coded>> {
    let no_time = Terms {
        lasts: Duration::ZERO,
        p99: None,
        failures: None,
        accuracy: None,
    };
    vec![
        Box::new(PlanError::OtherFrame),
        Box::new(PlanError::DeviceLost(text())),
        Box::new(PlanError::DoesNotFit(does_not_fit())),
        Box::new(PlanError::Lent(does_not_fit())),
        Box::new(PlanError::Policy(PolicyError::Unknown(text()))),
        Box::new(SetupError::SegmentSize { size: 0 }),
        Box::new(ApplyError::Stale),
        Box::new(ApplyError::Worker(text())),
        Box::new(ApplyError::NoFallback(NoFallback(text()))),
        Box::new(ApplyError::Panicked(text())),
        Box::new(FaultError::NotLost(text())),
        Box::new(FaultError::NotSimulated(text())),
        Box::new(FaultError::NotOpened(text())),
        Box::new(ReserveError::Reserved),
        Box::new(ChangeRefusal::Nothing),
        Box::new(ChangeRefusal::UnderWay),
        Box::new(ChangeRefusal::NoProbation),
        Box::new(ChangeRefusal::NoUndo),
        Box::new(ChangeRefusal::NoRedo),
        Box::new(ChangeRefusal::Terms(no_time.check().expect_err("no time"))),
    ]
}

fn of_models() -> Vec<Box<dyn Coded>> {
    vec![
        Box::new(DeploymentError::Unknown(text())),
        Box::new(DeploymentError::Failed {
            name: text(),
            reason: text(),
        }),
        Box::new(DeploymentError::Breaks {
            name: text(),
            by: text(),
            reason: text(),
        }),
        Box::new(DeploymentError::Used {
            name: text(),
            by: text(),
        }),
        Box::new(DeploymentError::Ending),
        Box::new(DeploymentError::Fixed),
        Box::new(DeploymentError::Polled),
        Box::new(DeploymentError::Nothing(text())),
        Box::new(DeploymentError::Beside {
            device: text(),
            needed: 2,
            free: 1,
        }),
    ]
}

fn out_of_range() -> FieldOutOfRange {
    let nothing = Target {
        latency: Duration::ZERO,
        share: 1.0,
    };
    nothing.check().expect_err("no latency")
}

fn of_sessions() -> Vec<Box<dyn Coded>> {
    let path = PathBuf::new;
    let refusals = [
        SessionRefusal::NoSamples(MissingSamples("a".into())),
        SessionRefusal::NothingServed,
        SessionRefusal::Mix(MixError::Twice("a".into())),
        SessionRefusal::UnknownDevice {
            found: DeviceIndex::new(1),
            last: DeviceIndex::new(0),
        },
        SessionRefusal::UnknownMember {
            found: MemberIndex::new(1),
            last: MemberIndex::new(0),
        },
        SessionRefusal::Target(out_of_range()),
        SessionRefusal::Search(MethodError::TooMany {
            field: "restarts",
            most: 1,
            found: 2,
        }),
        SessionRefusal::Search(MethodError::Goal(out_of_range())),
        SessionRefusal::Search(MethodError::NeedsModel(text())),
        SessionRefusal::SearchRunning,
        SessionRefusal::SearchNotRunning,
        SessionRefusal::LoadTooLarge {
            samples: 2,
            most: 1,
        },
        SessionRefusal::Load(LoadError::File {
            path: path(),
            reason: text(),
        }),
        SessionRefusal::Thread(ErrorKind::OutOfMemory.into()),
        SessionRefusal::NotRecordable,
        SessionRefusal::RecordingUnderWay(path()),
        SessionRefusal::RecordingFailed {
            path: path(),
            why: text(),
        },
        SessionRefusal::RecordingNone,
        SessionRefusal::IsRecording,
        SessionRefusal::IsNoRecording,
        SessionRefusal::NobodyElse,
        SessionRefusal::NotLeftRunning,
        SessionRefusal::NoTasks,
        SessionRefusal::PolicyUnknown {
            found: text(),
            known: text(),
        },
        SessionRefusal::NothingAsked,
        SessionRefusal::Comparing,
        SessionRefusal::NoDoor,
        SessionRefusal::DoorOpen,
        SessionRefusal::DoorNotOpen,
        SessionRefusal::NotListened(text()),
    ];
    let far = [
        RemoteRefusal::ReadOnly,
        RemoteRefusal::AnotherEdits(text()),
        RemoteRefusal::PathRelative(path()),
        RemoteRefusal::NotUnderstood(text()),
        RemoteRefusal::Gone(text()),
        RemoteRefusal::Silent(Duration::ZERO),
    ];
    let boxed = |refusal| Box::new(refusal) as Box<dyn Coded>;
    let far = far.into_iter().map(|r| Box::new(r) as Box<dyn Coded>);
    refusals.into_iter().map(boxed).chain(far).collect()
}

#[test]
fn names_and_statuses_are_what_programs_know() {
    let lines = Code::ALL
        .iter()
        .map(|code| format!("{code} {} {}\n", code.http(), code.grpc()));
    assert_eq!(lines.collect::<String>(), FROZEN);
}

#[test]
fn no_two_codes_have_one_name() {
    let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(names.len(), Code::ALL.len());
    for name in names {
        assert!(
            name.chars().all(|c| c == '_' || c.is_ascii_lowercase()),
            "{name}"
        );
    }
}

#[test]
fn every_code_is_some_types() {
    let all = [of_requests(), of_changes(), of_models(), of_sessions()];
    let mut reached: BTreeSet<Code> = all.iter().flatten().map(|coded| coded.code()).collect();
    // What the arrangement of a matrix refuses has no type of its own.
    reached.insert(Code::NothingArranged);
    // These are of the repository, a crate above the engine.
    let of_models = [
        Code::ModelUnknown,
        Code::ModelInvalid,
        Code::ModelsUnreadable,
        Code::ModelUnsupported,
    ];
    reached.extend(of_models);
    let missing: Vec<&Code> = Code::ALL.iter().filter(|c| !reached.contains(c)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_code_is_written_as_its_name_and_read_again() {
    for code in Code::ALL {
        let written = serde_json::to_string(code).expect("a name");
        assert_eq!(written, format!("\"{code}\""));
        assert_eq!(serde_json::from_str::<Code>(&written).ok(), Some(*code));
    }
    let unknown = serde_json::from_str::<Code>("\"no_such_code\"");
    let why = unknown.expect_err("there is none").to_string();
    assert!(why.contains("`no_such_code` is no code"), "{why}");
}

#[test]
fn a_refusal_keeps_its_code_and_words_on_its_way() {
    let refusal = Refusal::from(SessionRefusal::SearchRunning);
    let bytes = postcard::to_allocvec(&refusal).expect("bytes");
    let read: Refusal = postcard::from_bytes(&bytes).expect("the same version");
    assert_eq!(read, refusal);
    assert_eq!(read.code(), Code::SearchRunning);
    assert_eq!(read.to_string(), "a search is running; cancel it first");
}
