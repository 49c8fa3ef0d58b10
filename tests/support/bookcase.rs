//! A source of models for tests: they put versions there, and deployments read them.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use divisi_engine::changes::Changes;
use divisi_engine::deployment::{
    CatalogueChange, Deployment, DeploymentStart, ModelSource, ModelsRead, ModelsToRead,
};
use divisi_engine::serving::{EngineOptions, PipelineIndex, Request};
use divisi_model::catalogue::{Interface, NewEntry};
use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::device::{Devices, Host};

use crate::folder::Folder;

pub fn network(name: &str, hidden: usize, answers: usize) -> Arc<Ensemble> {
    let folder = Folder::new();
    let manifest = format!(
        "name = \"{name}\"\nanswers = {{ values = {answers} }}\nsegment_size = 8\n\
         batch_sizes = [1, 4]\n[input]\nshape = [4]\n[[members]]\nname = \"{name}\"\n\
         network = {{ builder = \"perceptron\", hidden = [{hidden}] }}\n"
    );
    folder.write("ensemble.toml", manifest.as_bytes());
    Arc::new(Ensemble::read(&Files::from_path(folder.path())).expect("an ensemble"))
}

pub fn entry(name: &str, version: u64, ensemble: &Arc<Ensemble>) -> NewEntry {
    NewEntry {
        version: version.try_into().expect("from 1"),
        name: name.into(),
        ..NewEntry::from_ensemble(Arc::clone(ensemble), Interface::default())
    }
}

/// A source with the models that a test puts there, one version of each.
#[derive(Default)]
pub struct Bookcase(Mutex<BTreeMap<String, NewEntry>>);

impl Bookcase {
    pub fn of(entries: impl IntoIterator<Item = NewEntry>) -> Arc<Self> {
        let case = Bookcase::default();
        entries.into_iter().for_each(|entry| case.put(entry));
        Arc::new(case)
    }

    pub fn put(&self, entry: NewEntry) {
        let mut models = self.0.lock().expect("no panic");
        models.insert(entry.name.clone(), entry);
    }
}

impl ModelSource for Bookcase {
    fn names(&self) -> Vec<String> {
        let models = self.0.lock().expect("no panic");
        models.keys().cloned().collect()
    }

    fn read(&self, wanted: ModelsToRead<'_>) -> ModelsRead {
        let models = self.0.lock().expect("no panic");
        let wanted = models
            .values()
            .filter(|entry| wanted.names.contains(&entry.name));
        ModelsRead {
            entries: wanted.cloned().collect(),
            ..ModelsRead::default()
        }
    }
}

pub fn start(case: &Arc<Bookcase>, names: &[&str], memory_bytes: u64) -> Arc<Changes> {
    start_with(case, names, memory_bytes, EngineOptions::default())
}

pub fn start_with(
    case: &Arc<Bookcase>,
    names: &[&str],
    memory_bytes: u64,
    options: EngineOptions,
) -> Arc<Changes> {
    let host = Host {
        cores: vec![0, 1],
        memory_bytes,
    };
    start_on(case, names, Devices::default_of(&host), options)
}

pub fn start_on(
    case: &Arc<Bookcase>,
    names: &[&str],
    devices: Devices,
    options: EngineOptions,
) -> Arc<Changes> {
    let names = names.iter().map(ToString::to_string).collect();
    let start = DeploymentStart {
        name: "case".into(),
        devices,
        options,
        matrix: None,
    };
    let source = Arc::<Bookcase>::clone(case);
    let changes = Deployment::start(Some(source), case.read(ModelsToRead::first(&names)), start);
    Changes::new(changes.expect("starts"))
}

pub const ROOM: u64 = 4 << 30;

pub fn load(name: &str) -> CatalogueChange {
    CatalogueChange::Load(name.into())
}

pub fn served(changes: &Changes) -> Vec<String> {
    let running = changes.running();
    let entries = running.catalogue.entries().iter();
    let names = entries.map(|entry| format!("{} {}", entry.name(), entry.version()));
    names.collect()
}

/// Asks a model as a client does that waits for the next engine. Returns the numbers of its answer.
pub fn ask(changes: &Changes, name: &str) -> usize {
    loop {
        let running = changes.running();
        let number = running.catalogue.find(name, None).expect("it is served");
        let request = Request::new(&[0.1, 0.2, 0.3, 0.4]).to(PipelineIndex(number));
        let refused = match running.engine.predict(request) {
            Ok(outcome) => return outcome.expect("an answer").rows().map(<[f32]>::len).sum(),
            Err(refused) => refused,
        };
        let (tell, told) = channel();
        let waits = changes
            .deployment()
            .wait_for_engine(Box::new(move || tell.send(()).expect("it waits")));
        match waits {
            true => told.recv().expect("it is told"),
            false => assert_ne!(running.number, changes.running().number, "{refused}"),
        }
    }
}

/// So much memory that the second version fits alone, and not beside the first.
pub fn tight(case: &Arc<Bookcase>, second: &NewEntry) -> u64 {
    let roomy = start(case, &["a"], ROOM);
    case.put(second.clone());
    let plan = roomy.plan_change(&load("a")).expect("it fits");
    let memory = &plan.preview().memory[0];
    let during = memory.during.expect("both fit");
    assert!(during > memory.now.max(memory.after), "{memory:?}");
    during - 1
}
