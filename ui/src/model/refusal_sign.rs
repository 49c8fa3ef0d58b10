//! The mark of a refused change of models, shown at the model until it was seen.

use std::time::Duration;

use divisi_session::{ModelChangeView, Snapshot};

/// The time for which the mark stays; the log keeps the message.
const STAYS: Duration = Duration::from_secs(60);

/// The mark of a refused change of models.
#[derive(Clone, Copy, Debug, Default)]
pub struct RefusalSign {
    /// The number of the change, and the time at which it was shown.
    told: Option<(u64, Duration)>,
}

impl RefusalSign {
    /// Shows the last change if it was refused.
    pub fn show(&mut self, shown: &Snapshot) {
        let change = shown.model_change.as_ref();
        let refused = change.filter(|change| change.refusal().is_some());
        self.told = refused.map(|change| (change.number, shown.now));
    }

    /// Removes the mark. Returns whether there was one.
    pub fn hide(&mut self, shown: &Snapshot) -> bool {
        let was_there = self.change(shown).is_some();
        self.told = None;
        was_there
    }

    /// Returns the refused change with a mark, or `None` without a mark.
    pub fn change<'a>(&self, shown: &'a Snapshot) -> Option<&'a ModelChangeView> {
        let (number, at) = self.told?;
        let change = shown.model_change.as_ref();
        let is_new = shown.now.saturating_sub(at) < STAYS;
        change.filter(|change| is_new && change.number == number && change.refusal().is_some())
    }
}
