//! A quiet search leaves the devices to what serves; predictions come from what is known.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::search::{Algorithm, Cache, EvaluatorKind, PredictionBasis, worst_fit};
use divisi_engine::serving::{Engine, EngineOptions};
use divisi_model::allocation::{Footprints, Matrix};
use divisi_model::codes::Code;
use divisi_model::ensemble::PolicyKind;
use divisi_model::profile::Learnt;
use divisi_runtime::device::simulated::find_profile;
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};
use divisi_session::{
    Command, LiveSession, LoadPattern, SearchOrder, SearchState, Session, Snapshot,
};

use crate::common::{digits, fakes, frame, start, until};
use crate::wait::wait_for;

fn session() -> LiveSession {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    LiveSession::new(engine, fakes(&ensemble), None)
}

fn quiet() -> Command {
    let method = SearchOrder {
        quiet: true,
        ..SearchOrder::quick()
    };
    Command::StartSearch(method)
}

fn state(snapshot: &Snapshot) -> Option<&SearchState> {
    snapshot.search.as_ref().map(|s| &s.state)
}

fn served(session: &mut LiveSession) {
    let pattern = LoadPattern::closed(2, 16);
    session
        .command(Command::StartLoad(pattern))
        .expect("starts");
    let most = |s: &Snapshot| s.entries.iter().all(|e| e.batches > 2);
    until(session, most);
}

#[test]
fn a_quiet_search_never_measures_and_load_does_not_rest() {
    let mut session = session();
    served(&mut session);
    session.command(quiet()).expect("starts");
    let seen = until(&mut session, |s| {
        let search = s.search.as_ref().expect("started");
        assert!(!search.progress.measuring && !s.load.resting);
        search.state != SearchState::Running
    });
    assert_eq!(state(&seen), Some(&SearchState::Finished));
    let search = seen.search.expect("finished");
    assert_eq!(
        (search.evaluator.as_str(), search.progress.profiled),
        ("model", 0)
    );
    assert_eq!(search.scored_by, EvaluatorKind::Model);
    assert!(search.progress.best.is_some());
}

#[test]
fn a_quiet_search_of_what_nobody_knows_says_what_to_do() {
    let mut session = session();
    session.command(quiet()).expect("starts");
    let over = |s: &Snapshot| state(s) != Some(&SearchState::Running);
    let seen = until(&mut session, over);
    let Some(SearchState::Failed(why)) = state(&seen) else {
        panic!("{:?}", seen.search);
    };
    assert!(
        why.contains("no") && why.contains("serve some load"),
        "{why}"
    );
}

#[test]
fn a_quiet_search_takes_the_model() {
    let mut session = session();
    let method = SearchOrder {
        quiet: true,
        evaluator: EvaluatorKind::Bench,
        ..SearchOrder::default()
    };
    let refused = session.command(Command::StartSearch(method));
    let refused = refused.expect_err("by runs");
    assert_eq!(refused.code(), Code::SearchNeedsModel);
    assert!(refused.text().contains("requires evaluator model"));
}

#[test]
fn the_best_so_far_can_be_applied_while_the_search_goes_on() {
    let mut session = session();
    let pattern = LoadPattern::closed(2, 16);
    session
        .command(Command::StartLoad(pattern))
        .expect("starts");
    let search = Command::StartSearch(SearchOrder::default());
    session.command(search).expect("starts");
    let seen = until(&mut session, |s| {
        let best = s.search.as_ref().and_then(|q| q.progress.best.as_ref());
        best.is_some_and(|best| *best != s.matrix)
    });
    assert!(seen.load.resting, "it would be measured too");
    let best = seen.search.as_ref().and_then(|s| s.progress.best.clone());
    let best = best.expect("there is one");
    let setup = seen.setup().with_matrix(best.clone());
    let apply = Command::Apply(Box::new(setup), None);
    session.command(apply).expect("starts");
    until(&mut session, |s| s.matrix == best);
    let evaluations = |s: &Snapshot| s.search.as_ref().map_or(0, |q| q.progress.evaluations);
    let then = evaluations(&session.snapshot());
    until(&mut session, |s| {
        evaluations(s) > then || state(s) != Some(&SearchState::Running)
    });
    // It may have ended by itself.
    let _ = session.command(Command::CancelSearch);
    let after = until(&mut session, |s| {
        state(s) != Some(&SearchState::Running) && !s.load.resting
    });
    assert_eq!(after.matrix, best);
}

#[test]
fn without_a_profile_a_prediction_says_why_there_is_none_and_serving_teaches_it() {
    let mut session = session();
    let setup = session.snapshot().setup();
    let before = session.preview(&setup).expect("fits").prediction;
    assert_eq!((before.before, before.after), (None, None));
    assert!(before.source.starts_with("no profile"), "{}", before.source);
    served(&mut session);
    let known = wait_for(|| {
        session.snapshot();
        let prediction = session.preview(&setup).expect("fits").prediction;
        match prediction.before {
            Some(_) => Ok(prediction),
            None => Err(prediction),
        }
    });
    assert_eq!(
        known.source,
        "batches seen while serving; assumed range, 0 past errors"
    );
    assert_eq!(known.before, known.after);
    let after = known.after.expect("predicted");
    assert!(0.0 < after.low && after.low < after.samples_per_s && after.samples_per_s < after.high);
}

#[test]
fn no_throughput_is_predicted_in_numbers_of_which_there_is_no_profile() {
    let mut session = session();
    served(&mut session);
    let setup = session.snapshot().setup();
    let staged = setup.with_precision(MemberIndex::new(0), "int8".parse().expect("a name"));
    let said = wait_for(|| {
        session.snapshot();
        let prediction = session.preview(&staged).expect("fits").prediction;
        match prediction.before {
            Some(_) => Ok(prediction),
            None => Err(prediction),
        }
    });
    assert_eq!(said.after, None);
    let member = &setup.matrix.frame().members[0];
    let why = format!("no profile of {member} in int8 on ");
    assert!(said.source.starts_with(&why), "{}", said.source);
}

/// From what was learnt meanwhile, the prediction would have been another one each second.
#[test]
fn a_matrix_has_one_prediction_in_a_session_that_says_what_it_rests_on() {
    let mut session = session();
    served(&mut session);
    let setup = session.snapshot().setup();
    let first = wait_for(|| {
        session.snapshot();
        let prediction = session.preview(&setup).expect("fits").prediction;
        match prediction.before {
            Some(_) => Ok(prediction),
            None => Err(prediction),
        }
    });
    let batches = |s: &Snapshot| s.entries.iter().map(|e| e.batches).min().unwrap_or(0);
    let (then, at) = (batches(&session.snapshot()), session.snapshot().now);
    // More than a second on, when it used to be worked out anew, and much more was seen.
    let later = Duration::from_millis(1100);
    until(&mut session, |s| {
        batches(s) > 2 * then && s.now > at + later
    });
    let second = session.preview(&setup).expect("fits").prediction;
    assert_eq!(first, second);
    // A quiet search rests on the same.
    session.command(quiet()).expect("starts");
    let over = |s: &Snapshot| state(s) == Some(&SearchState::Finished);
    until(&mut session, over);
    assert_eq!(session.preview(&setup).expect("fits").prediction, first);
}

#[test]
fn a_prediction_is_of_the_policy_that_is_staged() {
    let ensemble = digits();
    let devices = Devices::simulated(&find_profile("v100").expect("built in"), 2);
    let footprints = Footprints::plan(&ensemble, &devices);
    let all = worst_fit(&frame(&ensemble, &devices), &devices, &footprints).expect("fits");
    let engine = Engine::start(
        Arc::clone(&ensemble),
        devices,
        &all,
        fakes(&ensemble),
        EngineOptions::default(),
    );
    let mut session = LiveSession::new(Arc::new(engine.expect("starts")), fakes(&ensemble), None);
    let mut setup = session.snapshot().setup();
    setup.policy = PolicyKind::Elastic { max_inf: None };
    let said = session.preview(&setup).expect("fits").prediction;
    assert!(said.after > said.before, "lanes side by side: {said:?}");
    setup.policy = session.snapshot().setup().policy;
    let said = session.preview(&setup).expect("fits").prediction;
    assert_eq!(said.after, said.before);
}

#[test]
fn simulated_devices_are_predicted_by_their_laws() {
    let ensemble = digits();
    let devices = Devices::simulated(&find_profile("v100").expect("built in"), 6);
    let footprints = Footprints::plan(&ensemble, &devices);
    let all = worst_fit(&frame(&ensemble, &devices), &devices, &footprints).expect("fits");
    let mut rows: Vec<Vec<i64>> = Vec::new();
    for row in all.rows() {
        rows.push(row.into_iter().map(|size| size as i64).collect());
    }
    let last = rows[5].clone();
    rows[5].fill(0);
    rows[4].iter_mut().zip(last).for_each(|(a, b)| *a += b);
    let fewer = Matrix::from_rows(Arc::clone(all.frame()), &rows).expect("valid");
    let engine = Engine::start(
        Arc::clone(&ensemble),
        devices,
        &all,
        fakes(&ensemble),
        EngineOptions::default(),
    );
    let mut session = LiveSession::new(Arc::new(engine.expect("starts")), fakes(&ensemble), None);
    let setup = session.snapshot().setup().with_matrix(fewer);
    let said = session.preview(&setup).expect("fits").prediction;
    assert!(said.source.starts_with("device laws; "), "{}", said.source);
    assert!(
        said.after <= said.before && said.after.is_some_and(|after| after.low > 0.0),
        "five devices do no more than six: {said:?}"
    );
}

#[test]
fn batch_times_are_learnt_as_a_line_through_what_was_seen() {
    let mut learnt = Learnt::default();
    assert_eq!(
        learnt.measured(MemberIndex::new(0), DeviceIndex::new(1), &[8]),
        None
    );
    learnt.see(MemberIndex::new(0), DeviceIndex::new(1), 10, 8.0, 0.012);
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let one = learnt
        .measured(MemberIndex::new(0), DeviceIndex::new(1), &[8, 128])
        .expect("seen");
    assert!(close(one.seconds(128), 0.012 * 16.0), "in proportion");
    learnt.see(MemberIndex::new(0), DeviceIndex::new(1), 10, 128.0, 0.132);
    let two = learnt
        .measured(MemberIndex::new(0), DeviceIndex::new(1), &[8, 32, 128])
        .expect("seen");
    assert!(close(two.seconds(32), 0.036) && close(two.seconds(8), 0.012));
    assert_eq!(
        learnt.measured(MemberIndex::new(0), DeviceIndex::new(2), &[8]),
        None,
        "another kind of device"
    );
}

/// Edit mode used to predict three times the throughput that the search had just measured.
#[test]
fn a_measured_matrix_is_predicted_as_it_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    let cache = Some(Cache::at(folder.path()));
    let mut session = LiveSession::new(engine, fakes(&ensemble), cache);
    let order = SearchOrder {
        algorithm: Algorithm::Greedy,
        ..SearchOrder::default()
    };
    session
        .command(Command::StartSearch(order))
        .expect("starts");
    let over = |s: &Snapshot| state(s) == Some(&SearchState::Finished);
    let seen = until(&mut session, over);
    let search = seen.search.as_ref().expect("finished");
    let best = search.progress.best.clone().expect("there is one");
    let measured = search.progress.best_score.expect("measured");
    let setup = seen.setup().with_matrix(best);
    let said = session.preview(&setup).expect("fits").prediction;
    let after = said.after.expect("predicted");
    assert_eq!(after.basis, PredictionBasis::Profiles);
    assert!(
        after.low <= measured && measured <= after.high,
        "{after:?} {measured}"
    );
}

#[test]
fn a_kept_result_reports_its_age_and_is_measured_again_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let ensemble = digits();
    let devices = Devices::simulated(&find_profile("v100").expect("built in"), 6);
    let footprints = Footprints::plan(&ensemble, &devices);
    let all = worst_fit(&frame(&ensemble, &devices), &devices, &footprints).expect("fits");
    let options = EngineOptions::default();
    let engine = Engine::start(
        Arc::clone(&ensemble),
        devices,
        &all,
        fakes(&ensemble),
        options,
    );
    let engine = Arc::new(engine.expect("starts"));
    let cache = Some(Cache::at(folder.path()));
    let mut session = LiveSession::new(engine, fakes(&ensemble), cache);
    let mut search = |again| {
        let order = SearchOrder {
            algorithm: Algorithm::WorstFit,
            again,
            ..SearchOrder::default()
        };
        session
            .command(Command::StartSearch(order))
            .expect("starts");
        let over = |s: &Snapshot| state(s) == Some(&SearchState::Finished);
        let seen = until(&mut session, over);
        seen.search.expect("finished")
    };
    let first = search(false);
    assert!(!first.cached && first.occasion.is_none());
    let second = search(false);
    assert!(second.cached);
    assert_eq!(second.occasion.as_deref(), Some("measured just now"));
    assert!(!search(true).cached, "measured again");
    assert!(search(false).cached);
}
