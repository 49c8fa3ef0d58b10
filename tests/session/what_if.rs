//! What-if questions: their answers are what would happen, and nothing is staged or applied.

use std::sync::Arc;

use divisi_engine::search::{Cache, MeasuredAccuracy, evacuate};
use divisi_engine::serving::{Engine, EngineOptions};
use divisi_model::allocation::Matrix;
use divisi_model::codes::Code;
use divisi_model::ensemble::{Ensemble, Measure};
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};
use divisi_session::remote::{RemoteSession, Viewer};
use divisi_session::{
    AccuracyOutlook, Command, LiveSession, LoadPattern, Outlook, P99Outlook, RateFactor, Session,
    WhatIf, WhatIfAnswer, WhatIfReply,
};

use crate::common::{digits, everywhere, fakes, frame, small, until, v100s};
use crate::folder::Folder;
use crate::transport::serve;
use crate::wait::wait_for;

/// A session with two networks on `devices`, each with a worker on every device.
fn live(devices: Devices) -> LiveSession {
    let ensemble = small();
    let matrix = everywhere(&ensemble, &devices);
    on_matrix(&ensemble, devices, &matrix)
}

fn on_matrix(ensemble: &Arc<Ensemble>, devices: Devices, matrix: &Matrix) -> LiveSession {
    let engine = Engine::start(
        Arc::clone(ensemble),
        devices,
        matrix,
        fakes(ensemble),
        EngineOptions::default(),
    );
    LiveSession::new(Arc::new(engine.expect("starts")), fakes(ensemble), None)
}

fn answer(session: &mut dyn Session, question: &WhatIf) -> WhatIfAnswer {
    wait_for(|| match session.what_if(question) {
        Ok(WhatIfReply::Answer(answer)) => Ok(*answer),
        other => Err(other),
    })
}

fn rate(factor: f64) -> WhatIf {
    WhatIf::Rate(RateFactor::new(factor).expect("in range"))
}

fn samples_per_s(outlook: &Outlook) -> f64 {
    let throughput = outlook.throughput.as_ref().expect("it is predicted");
    assert!(throughput.low <= throughput.samples_per_s);
    assert!(throughput.samples_per_s <= throughput.high);
    throughput.samples_per_s
}

fn after(answer: &WhatIfAnswer) -> &Outlook {
    answer.after.as_ref().expect("requests are served")
}

const FIRST: DeviceIndex = DeviceIndex::new(0);

#[test]
fn a_lost_device_moves_work_by_the_rule_of_lost_devices() {
    let ensemble = small();
    let devices = v100s(2);
    let rows = [vec![8, 0], vec![0, 16]];
    let matrix = Matrix::from_rows(frame(&ensemble, &devices), &rows).expect("valid");
    let mut session = on_matrix(&ensemble, devices, &matrix);
    let answer = answer(&mut session, &WhatIf::LoseDevice(FIRST));
    let staged = answer.stages.clone().expect("it can be staged").matrix;
    let engine = Arc::clone(session.engine());
    let moved = evacuate(&matrix, &[FIRST], engine.devices(), &engine.footprints());
    assert_eq!(staged, moved.expect("it fits"));
    assert!(samples_per_s(after(&answer)) <= samples_per_s(&answer.before));
    session
        .command(Command::LoseDevice(FIRST))
        .expect("simulated");
    let lost = until(&mut session, |shown| shown.matrix != matrix);
    assert_eq!(lost.matrix, staged);
}

#[test]
fn nothing_serves_without_the_only_device() {
    let mut session = live(v100s(1));
    let answer = answer(&mut session, &WhatIf::LoseDevice(FIRST));
    assert!(answer.after.is_err(), "{:?}", answer.after);
    assert_eq!(answer.stages, None);
    assert!(matches!(answer.accuracy, AccuracyOutlook::Unknown(_)));
}

#[test]
fn a_question_changes_nothing() {
    let mut session = live(v100s(2));
    let before = session.snapshot();
    answer(&mut session, &WhatIf::LoseDevice(FIRST));
    answer(&mut session, &WhatIf::WithoutMember(MemberIndex::new(1)));
    let now = session.snapshot();
    assert_eq!(now.setup(), before.setup());
    assert_eq!((now.can_undo, now.history.len()), (false, 1));
}

#[test]
fn one_more_device_serves_more_and_costs_more() {
    let mut session = live(v100s(1));
    let answer = answer(&mut session, &WhatIf::OneMoreDevice(FIRST));
    let more = after(&answer);
    assert!(samples_per_s(more) > 1.5 * samples_per_s(&answer.before));
    assert_eq!(more.devices.len(), 2);
    let cost = |outlook: &Outlook| outlook.cost.clone().expect("v100 has a price").per_hour;
    assert_eq!(cost(more), 2.0 * cost(&answer.before));
    assert!(
        answer.notes[0].starts_with("its workers: "),
        "{:?}",
        answer.notes
    );
    assert_eq!(answer.accuracy, AccuracyOutlook::Same);
}

#[test]
fn an_ensemble_without_a_member_serves_more() {
    let mut session = live(v100s(1));
    let member = MemberIndex::new(1);
    let answer = answer(&mut session, &WhatIf::WithoutMember(member));
    assert!(samples_per_s(after(&answer)) > samples_per_s(&answer.before));
    let staged = answer.stages.expect("its vote can be turned off");
    assert_eq!(staged.combination.voting, [true, false]);
}

#[test]
fn the_accuracy_of_simulated_devices_is_unknown() {
    let mut session = live(v100s(1));
    let answer = answer(&mut session, &WhatIf::WithoutMember(MemberIndex::new(1)));
    let AccuracyOutlook::Unknown(why) = answer.accuracy else {
        panic!("{:?}", answer.accuracy);
    };
    assert!(why.contains("simulated"), "{why}");
}

#[test]
fn latency_is_unknown_without_requests() {
    let mut session = live(v100s(1));
    let answer = answer(&mut session, &rate(2.0));
    let P99Outlook::Unknown(why) = &answer.before.p99 else {
        panic!("{:?}", answer.before.p99);
    };
    assert!(why.contains("rate") || why.contains("no requests"), "{why}");
}

/// A session whose built-in clients have been answered.
fn loaded(pattern: LoadPattern) -> LiveSession {
    let mut session = live(v100s(1));
    session
        .command(Command::StartLoad(pattern))
        .expect("starts");
    until(&mut session, |shown| {
        shown.counters.answered > 200 && shown.now.as_secs() >= 1
    });
    session
}

#[test]
fn twice_the_clients_wait_longer() {
    let mut session = loaded(LoadPattern::closed(64, 8));
    let answer = answer(&mut session, &rate(2.0));
    let known = |outlook: &Outlook| match outlook.p99 {
        P99Outlook::Known { p99, low, high } => {
            assert!(low <= p99 && high.is_none_or(|high| p99 <= high));
            p99
        }
        _ => panic!("{:?}", outlook.p99),
    };
    assert!(known(after(&answer)) > known(&answer.before));
    let busy = answer.before.devices[0].busy.expect("it is simulated");
    assert!(busy.low <= busy.share && busy.share <= busy.high);
    assert_eq!(samples_per_s(after(&answer)), samples_per_s(&answer.before));
}

#[test]
fn more_requests_than_the_capacity_fill_the_queue() {
    let mut session = loaded(LoadPattern::poisson(500.0));
    let answer = answer(&mut session, &rate(100.0));
    let P99Outlook::Grows { samples_per_s, .. } = after(&answer).p99 else {
        panic!("{:?} of {:?}", after(&answer).p99, answer.before);
    };
    assert!(samples_per_s > 0.0);
}

#[test]
fn an_undo_is_predicted_before_it_is_made() {
    let mut session = live(v100s(2));
    let refused = session.what_if(&WhatIf::Undo).expect_err("nothing to undo");
    assert_eq!(refused.code(), Code::NoUndo);
    let old = session.snapshot();
    let rows = [vec![8, 8], vec![0, 0]];
    let new = Matrix::from_rows(old.matrix.frame().clone(), &rows).expect("valid");
    let setup = Box::new(old.setup().with_matrix(new.clone()));
    session
        .command(Command::Apply(setup, None))
        .expect("it fits");
    until(&mut session, |shown| shown.matrix == new && shown.can_undo);
    let answer = answer(&mut session, &WhatIf::Undo);
    assert!(samples_per_s(after(&answer)) > samples_per_s(&answer.before));
    let preview = answer.preview.expect("it is compared");
    assert_eq!(preview.difference.changed().count(), 2);
}

#[test]
fn unknown_devices_and_members_are_refused() {
    let mut session = live(v100s(1));
    let device = WhatIf::LoseDevice(DeviceIndex::new(7));
    let refused = session.what_if(&device).expect_err("there is none");
    assert_eq!(refused.code(), Code::UnknownDevice);
    let member = WhatIf::WithoutMember(MemberIndex::new(7));
    session.what_if(&member).expect_err("there is none");
}

#[test]
fn a_read_only_viewer_asks_over_the_socket() {
    let folder = Folder::new();
    let (hub, path) = serve(Box::new(live(v100s(2))), &folder);
    let guest = Viewer {
        name: "guest".into(),
        read_only: true,
    };
    let mut guest = RemoteSession::join(&path, guest).expect("joins");
    let answer = answer(&mut guest, &WhatIf::LoseDevice(FIRST));
    samples_per_s(after(&answer));
    let refused = guest.what_if(&WhatIf::Undo).expect_err("nothing to undo");
    assert_eq!(refused.code(), Code::NoUndo);
    hub.stopper()();
    hub.join();
}

/// The accuracies of an ensemble that were measured on a thousand samples.
fn measured(name: &str, value: f64) -> MeasuredAccuracy {
    MeasuredAccuracy {
        precision: name.parse().expect("a precision"),
        measure: Measure::Accuracy,
        value,
        samples: 1000,
        at: 0,
    }
}

#[test]
fn stored_accuracies_belong_to_the_weights() {
    let folder = Folder::new();
    let cache = Cache::at(folder.path());
    let all = [measured("f32", 0.98), measured("int8", 0.97)];
    cache.store_accuracies(&small(), &all).expect("written");
    assert_eq!(cache.accuracies(&small()), all);
    assert_eq!(cache.accuracies(&digits()), []);
}
