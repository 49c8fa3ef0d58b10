//! Registrations that change while their tasks are served.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use divisi_engine::load::{Generator, LoadSamples};
use divisi_inference::protocol::ModelId;
use divisi_inference::service::ModelService;
use divisi_model::ensemble::Ensemble;
use divisi_model::error_kind::ErrorKind;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::policies::PolicyChoice;
use divisi_registry::records::{RecordedSource, StaleProfile};
use divisi_registry::store::StoreContents;
use divisi_session::TaskScaling;
use divisi_tasks::routing::{GoalChooser, LiveRouter};
use divisi_tasks::scaling::{LiveScaling, TaskRegistrations};
use divisi_tasks::service::TaskService;

use crate::common::{
    MIDDLING, Made, SMALL, WHOLE, contents, digits, opened, partitions, registered, serving,
};
use crate::wait::wait_until;

/// Registrations in memory.
struct Registered {
    contents: Mutex<Arc<StoreContents>>,
    is_written: AtomicBool,
}

impl Registered {
    fn new(made: &[Made]) -> Arc<Self> {
        Arc::new(Registered {
            contents: Mutex::new(Arc::new(task(made))),
            is_written: AtomicBool::new(true),
        })
    }

    fn write(&self, contents: StoreContents) {
        *self.contents.lock().expect("lock") = Arc::new(contents);
        self.is_written.store(true, Ordering::SeqCst);
    }
}

impl TaskRegistrations for Registered {
    fn is_written(&self) -> bool {
        self.is_written.load(Ordering::SeqCst)
    }

    fn contents(&self) -> Result<Option<Arc<StoreContents>>, String> {
        self.is_written.store(false, Ordering::SeqCst);
        Ok(Some(Arc::clone(&self.contents.lock().expect("lock"))))
    }

    fn read_again(&self, source: &RecordedSource) -> Result<Ensemble, StaleProfile> {
        match source.path.as_str() {
            "gone" => Err(StaleProfile::Unreadable("no such file".to_owned())),
            _ => Ok(digits()),
        }
    }
}

fn task(made: &[Made]) -> StoreContents {
    contents("numbers", registered(&digits(), made))
}

/// Returns the task with ensembles of these names. The ensemble `gone` cannot be read.
fn ensembles(names: &[&str]) -> StoreContents {
    let models = names.iter().map(|name| {
        let mut model = registered(&digits(), &[SMALL]);
        model.name = (*name).to_owned();
        if *name == "gone" {
            model.record.source.path = "gone".to_owned();
        }
        model
    });
    StoreContents {
        tasks: [("numbers".to_owned(), models.collect())].into(),
        ..StoreContents::default()
    }
}

fn followed(made: &[Made]) -> (Arc<LiveRouter>, Arc<LiveScaling>, Arc<Registered>) {
    let (live, store) = (serving(made), Registered::new(made));
    let registrations = Arc::clone(&store) as Arc<dyn TaskRegistrations>;
    let scaling =
        LiveScaling::start_following(Arc::clone(&live), PolicyChoice::Static, Some(registrations));
    (live, scaling.expect("starts"), store)
}

/// Returns the names of the served models.
fn served(live: &LiveRouter) -> Vec<String> {
    let running = live.deployment().running();
    let entries = running.catalogue.entries().iter();
    entries.map(|entry| entry.name().to_owned()).collect()
}

#[test]
fn a_server_follows_a_registration_without_losing_queries_or_counts() {
    let (live, _scaling, store) = followed(&[SMALL, MIDDLING]);
    let engine = Arc::clone(&live.deployment().running().engine);
    let any = GoalChooser::new(Arc::clone(&live), &[QueryGoals::default()]);
    let samples = LoadSamples::chosen_by(engine.catalogue(), Arc::new(any)).expect("samples");
    let pattern = "closed:4x1".parse().expect("a pattern");
    let generator = Generator::start(engine, samples, pattern, 1, None).expect("starts");
    let tally = Arc::clone(generator.tally());
    let answered = || {
        let counts: BTreeMap<_, _> = live.counts().variants;
        let of = |name: &str| counts.iter().find(|(of, _)| of.entry == name);
        ["numbers.sample.bf16.mlp", "numbers.sample.f32.all"]
            .map(|name| of(name).map_or(0, |(_, tally)| tally.answered))
    };
    wait_until("the small variant answers", || answered()[0] > 20);
    let before = answered();
    store.write(task(&[WHOLE]));
    wait_until("the whole ensemble answers", || answered()[1] > 20);
    assert_eq!(served(&live), ["numbers.sample.f32.all"]);
    generator.stop();
    wait_until("the load has ended", || generator.is_finished());
    let lost = [&tally.refused, &tally.failed].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(lost, [0, 0]);
    wait_until("all queries are counted", || {
        answered().iter().sum::<u64>() == tally.sent.load(Ordering::Relaxed)
    });
    assert!(answered()[0] >= before[0]);
}

#[test]
fn ensembles_come_and_go_and_a_missing_one_is_reported() {
    let (live, scaling, store) = followed(&[SMALL]);
    store.write(ensembles(&["a", "gone", "sample"]));
    wait_until("the new ensemble is served", || served(&live).len() == 2);
    let names = ["numbers.a.bf16.mlp", "numbers.sample.bf16.mlp"];
    assert_eq!(served(&live), names);
    let not_served = || {
        let tasks = scaling.view().tasks;
        tasks.first().map(|task| task.not_served.clone())
    };
    let why = "`gone` of task `numbers` is stale: its ensemble cannot be read: no such file; \
               register it again";
    wait_until("the missing ensemble is shown", || {
        not_served() == Some(vec![why.to_owned()])
    });
    store.write(ensembles(&["a"]));
    wait_until("the removed ensemble is gone", || served(&live).len() == 1);
    let notices = live.deployment().take_notices();
    assert!(
        notices.contains(&format!("not served: {why}")),
        "{notices:?}"
    );
}

#[test]
fn a_task_that_is_unregistered_is_served_again_once_it_is_registered() {
    let (live, scaling, store) = followed(&[SMALL]);
    store.write(StoreContents::default());
    wait_until("the task is dropped", || {
        live.router().tasks().names().next().is_none()
    });
    let why = live.router().tasks().dropped()[0].why.to_string();
    assert_eq!(
        why,
        "task `numbers` is not registered; registered tasks: none"
    );
    wait_until("it is shown", || {
        let tasks = scaling.view().tasks;
        tasks.first().is_some_and(|task| task.not_served == [&*why])
    });
    let service = TaskService::new(Arc::clone(&live));
    let asked = service.describe(&ModelId::new("numbers", ""));
    let refused = asked.expect_err("it is not served");
    assert_eq!(
        (refused.kind(), refused.to_string()),
        (ErrorKind::Unavailable, why)
    );
    store.write(task(&[SMALL, WHOLE]));
    wait_until("it is served again", || served(&live).len() == 2);
    let task = live.follow().tasks().catalog().task("numbers");
    let routed = live
        .follow()
        .route(task.expect("a task"), &QueryGoals::default(), 1);
    assert!(routed.is_ok(), "{:?}", routed.err());
}

#[test]
fn members_that_did_not_change_keep_their_networks() {
    let tasks = opened(&[SMALL, MIDDLING]);
    let read = |_: &RecordedSource| Ok::<_, StaleProfile>(digits());
    let mut again = task(&[SMALL, WHOLE]);
    again.tasks.get_mut("numbers").expect("the task")[0]
        .record
        .registered_at = 7;
    let devices = partitions(&["cpu:0"]);
    let reopened = tasks.reopened(&again, &devices, &read).expect("opens");
    let reopened = reopened.expect("it changed");
    let (before, now) = (
        &tasks.entries()[0].ensemble.members[0],
        &reopened.entries()[0].ensemble.members[0],
    );
    assert_eq!(before.name, now.name);
    assert!(Arc::ptr_eq(&before.weights, &now.weights));
    let same = reopened.reopened(&again, &devices, &read).expect("opens");
    assert!(same.is_none(), "nothing changed");
}
