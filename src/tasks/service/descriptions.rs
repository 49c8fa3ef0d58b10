//! Descriptions of models under the names of tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use divisi_inference::service::ModelDescription;
use divisi_runtime::lock::Leaf;

use super::names::VERSION;

/// Descriptions by the name of a task or of one of its ensembles, each with its source.
#[derive(Default)]
pub(super) struct Descriptions(Leaf<BTreeMap<String, NamedDescription>>);

struct NamedDescription {
    of: Arc<ModelDescription>,
    named: Arc<ModelDescription>,
}

impl Descriptions {
    /// Returns the description of a model under another name.
    pub(super) fn named(&self, name: &str, of: &Arc<ModelDescription>) -> Arc<ModelDescription> {
        let mut known = self.0.lock();
        if let Some(known) = known.get(name).filter(|known| Arc::ptr_eq(&known.of, of)) {
            return Arc::clone(&known.named);
        }
        let named = Arc::new(renamed(name, of));
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
fn renamed(name: &str, of: &ModelDescription) -> ModelDescription {
    ModelDescription {
        name: name.to_owned(),
        version: VERSION.to_owned(),
        versions: vec![VERSION.to_owned()],
        cached: false,
        composing: Vec::new(),
        steps: Vec::new(),
        inner: Vec::new(),
        ..of.clone()
    }
}
