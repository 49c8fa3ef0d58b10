//! The place where the profiles of registered ensembles are kept.

use divisi_engine::search::Control;
use divisi_engine::search::profiling::ProfileCondition;

/// A registered ensemble with the condition of its profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptModel {
    /// The task.
    pub task: String,
    /// The ensemble.
    pub ensemble: String,
    /// The condition of its profiles.
    pub condition: ProfileCondition,
}

/// Keeps the profiles of registered ensembles across runs of the program.
pub trait ProfileKeeper: Send + Sync {
    /// Returns the registered ensembles of all tasks.
    ///
    /// # Errors
    /// Returns the reason if they cannot be read.
    fn models(&self) -> Result<Vec<KeptModel>, String>;

    /// Marks the profiles of an ensemble as doubtful.
    ///
    /// # Errors
    /// Returns the reason if the mark cannot be kept.
    fn doubt(&self, model: &KeptModel) -> Result<(), String>;

    /// Measures the profiles of an ensemble again that were not measured on a quiet host, and keeps
    /// them. Returns the condition of the new profiles, or `None` if `control` cancelled it.
    ///
    /// # Errors
    /// Returns the reason if they cannot be measured or kept.
    fn measure_again(
        &self,
        model: &KeptModel,
        control: &Control,
    ) -> Result<Option<ProfileCondition>, String>;
}
