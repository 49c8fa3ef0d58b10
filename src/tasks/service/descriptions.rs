//! Descriptions of models under the names of tasks. They hold the task, so that a request that follows
//! does not look its name up again.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use divisi_inference::service::{ModelDescription, ResolvedModel};
use divisi_runtime::lock::Leaf;

use super::names::{AskedTask, VERSION};
use crate::served::ServedTasks;

/// Descriptions by the name of a task or of one of its ensembles, each with its source.
#[derive(Default)]
pub(super) struct Descriptions(Leaf<BTreeMap<String, NamedDescription>>);

/// The task of a description, among some registrations.
struct ResolvedTask {
    tasks: Weak<ServedTasks>,
    asked: AskedTask,
}

/// Returns the task of a description, or `None` if it is of other registrations or models.
pub(super) fn resolved(
    described: &ModelDescription,
    tasks: &Arc<ServedTasks>,
) -> Option<AskedTask> {
    let known = described.resolved.get::<ResolvedTask>()?;
    std::ptr::eq(known.tasks.as_ptr(), Arc::as_ptr(tasks)).then_some(known.asked)
}

struct NamedDescription {
    of: Arc<ModelDescription>,
    named: Arc<ModelDescription>,
}

impl Descriptions {
    /// Returns the description of a model under the name of a task or one of its ensembles.
    pub(super) fn named(
        &self,
        tasks: &Arc<ServedTasks>,
        asked: AskedTask,
        name: &str,
        of: &Arc<ModelDescription>,
    ) -> Arc<ModelDescription> {
        let mut known = self.0.lock();
        let is_same = |known: &&NamedDescription| {
            Arc::ptr_eq(&known.of, of) && resolved(&known.named, tasks).is_some()
        };
        if let Some(known) = known.get(name).filter(is_same) {
            return Arc::clone(&known.named);
        }
        let own = ResolvedModel::new(ResolvedTask {
            tasks: Arc::downgrade(tasks),
            asked,
        });
        let named = Arc::new(renamed(name, own, of));
        let (of, made) = (Arc::clone(of), Arc::clone(&named));
        known.insert(name.to_owned(), NamedDescription { of, named: made });
        named
    }

    /// Returns the last description under a name.
    pub(super) fn last(&self, name: &str) -> Option<Arc<ModelDescription>> {
        let known = self.0.lock();
        known.get(name).map(|known| Arc::clone(&known.named))
    }
}

/// Returns a description under another name. It disables the cache, since another variant may
/// answer an equal request, and leaves out steps, which belong to variants.
fn renamed(name: &str, resolved: ResolvedModel, of: &ModelDescription) -> ModelDescription {
    ModelDescription {
        name: name.to_owned(),
        resolved,
        version: VERSION.to_owned(),
        versions: vec![VERSION.to_owned()],
        cached: false,
        composing: Vec::new(),
        steps: Vec::new(),
        inner: Vec::new(),
        ..of.clone()
    }
}
