//! One history of everything that runs: edits and loads are undone in the order of their making.

use std::num::NonZeroU32;
use std::sync::Arc;

use divisi_engine::deployment::CatalogueChange;
use divisi_engine::serving::{EngineOptions, Setup};
use divisi_model::codes::Code;
use divisi_runtime::device::simulated::find_profile;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};
use divisi_session::{Command, Health, LiveSession, Session, Snapshot};

use crate::bookcase::*;
use crate::common::until;
use crate::model_changes::{applied, is_settled, names};

fn case() -> Arc<Bookcase> {
    Bookcase::of(["a", "b", "c"].map(|name| entry(name, 1, &network(name, 8, 3))))
}

/// Gives the first worker of the running setup the largest batch size.
fn edited(session: &mut LiveSession) -> Snapshot {
    let shown = session.snapshot();
    let (cell, size) = shown.matrix.workers().next().expect("a worker");
    let sizes = &shown.matrix.frame().batch_sizes;
    let other = match size == sizes.largest() {
        true => sizes.smallest(),
        false => sizes.largest(),
    };
    let matrix = shown
        .matrix
        .with_entry(cell, Some(other))
        .expect("a matrix");
    let setup = Setup {
        matrix: matrix.clone(),
        ..shown.setup()
    };
    let apply = Command::Apply(Box::new(setup), None);
    session.command(apply).expect("is begun");
    until(session, |shown| shown.matrix == matrix && is_settled(shown))
}

/// The models and the matrix that run.
fn running(shown: &Snapshot) -> (Vec<String>, divisi_model::allocation::Matrix) {
    (names(shown).to_vec(), shown.matrix.clone())
}

#[test]
fn loads_and_edits_are_undone_step_by_step_in_the_order_of_their_making() {
    let changes = start(&case(), &["a"], ROOM);
    let mut session = LiveSession::of_changes(Arc::clone(&changes), None);
    let mut passed = vec![running(&session.snapshot())];
    let load = |name: &str| CatalogueChange::Load(name.into());
    passed.push(running(&applied(&mut session, load("b"), None)));
    passed.push(running(&edited(&mut session)));
    passed.push(running(&applied(&mut session, load("c"), None)));
    let last = passed.pop();
    while let Some(before) = passed.pop() {
        session.command(Command::Undo).expect("is begun");
        until(&mut session, |shown| {
            running(shown) == before && is_settled(shown)
        });
    }
    assert!(!session.snapshot().can_undo);
    for _ in 0..3 {
        until(&mut session, is_settled);
        session.command(Command::Redo).expect("is begun");
    }
    until(&mut session, |shown| Some(running(shown)) == last);
}

#[test]
fn an_edit_after_an_undone_load_leaves_nothing_to_redo() {
    let changes = start(&case(), &["a"], ROOM);
    let mut session = LiveSession::of_changes(changes, None);
    let load = CatalogueChange::Load("b".into());
    applied(&mut session, load, None);
    session.command(Command::Undo).expect("is begun");
    until(&mut session, |shown| {
        names(shown).len() == 1 && shown.can_redo
    });
    let shown = edited(&mut session);
    assert!(!shown.can_redo, "the load was undone before the edit");
}

#[test]
fn a_setup_of_other_models_than_the_running_ones_is_refused() {
    let changes = start(&case(), &["a"], ROOM);
    let mut session = LiveSession::of_changes(changes, None);
    let before = session.snapshot().setup();
    let load = CatalogueChange::Load("b".into());
    applied(&mut session, load, None);
    let apply = Command::Apply(Box::new(before), None);
    let refused = session.command(apply).expect_err("`b` would go unasked");
    assert_eq!(refused.code(), Code::OtherFrame);
}

#[test]
fn votes_of_several_models_are_refused_and_other_changes_go_on() {
    let changes = start(&case(), &["a", "b"], ROOM);
    let mut session = LiveSession::of_changes(changes, None);
    let vote = Command::SetVote(MemberIndex::new(0), false);
    let refused = session.command(vote).expect_err("each has its own rule");
    assert_eq!(refused.code(), Code::SetupInvalid);
    edited(&mut session);
}

#[test]
fn a_plan_to_load_a_version_that_was_undone_leaves_it_out() {
    let case = case();
    let changes = start(&case, &["a"], ROOM);
    case.put(entry("a", 2, &network("a", 8, 4)));
    let mut session = LiveSession::of_changes(Arc::clone(&changes), None);
    applied(&mut session, load("a"), None);
    session.command(Command::Undo).expect("is begun");
    until(&mut session, |shown| shown.can_redo && is_settled(shown));
    changes.plan_change(&load("a")).expect("it fits");
    changes.refresh().expect("the rest stays");
    assert_eq!(served(&changes)[0], "a 1");
    changes.load("a").expect("it is asked for");
    assert_eq!(served(&changes)[0], "a 2");
}

#[test]
fn other_models_do_not_bring_a_lost_device_back() {
    let devices = Devices::simulated(&find_profile("h200").expect("a profile"), 2);
    let changes = start_on(&case(), &["a", "b"], devices, EngineOptions::default());
    let mut session = LiveSession::of_changes(Arc::clone(&changes), None);
    let (lost, most) = (DeviceIndex::new(0), NonZeroU32::new(4));
    let limit = Command::SetMaxInf(DeviceIndex::new(1), most);
    session.command(limit).expect("a limit");
    session.command(Command::LoseDevice(lost)).expect("begun");
    until(&mut session, is_settled);
    changes.unload("b", false).expect("it can leave");
    let shown = session.snapshot();
    assert!(
        matches!(shown.health, Health::Degraded(_)),
        "{:?}",
        shown.health
    );
    let places = shown.matrix.workers().map(|(cell, _)| cell.device);
    assert!(places.into_iter().all(|device| device != lost));
    assert_eq!(shown.devices[1].max_inf, most);
    session
        .command(Command::RegainDevice(lost))
        .expect("it is lost");
}
