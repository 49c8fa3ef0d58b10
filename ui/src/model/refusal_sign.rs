//! The sign of a change of the models that was refused: at the model until it was seen.

use std::time::Duration;

use divisi_session::{ModelChangeView, Snapshot};

/// How long the sign stays where nobody takes it away; the log says it on.
const STAYS: Duration = Duration::from_secs(60);

/// See the module's text.
#[derive(Clone, Copy, Debug, Default)]
pub struct RefusalSign {
    /// The number of the change, and when it was told.
    told: Option<(u64, Duration)>,
}

impl RefusalSign {
    /// Shows the last change, told now; nothing where it was not refused.
    pub fn show(&mut self, shown: &Snapshot) {
        let change = shown.model_change.as_ref();
        let refused = change.filter(|change| change.refusal().is_some());
        self.told = refused.map(|change| (change.number, shown.now));
    }

    /// Takes the sign away. Returns whether there was one.
    pub fn hide(&mut self, shown: &Snapshot) -> bool {
        let was_there = self.change(shown).is_some();
        self.told = None;
        was_there
    }

    /// Returns the refused change that is shown, or `None` if there is none any more.
    pub fn change<'a>(&self, shown: &'a Snapshot) -> Option<&'a ModelChangeView> {
        let (number, at) = self.told?;
        let change = shown.model_change.as_ref();
        let is_new = shown.now.saturating_sub(at) < STAYS;
        change.filter(|change| is_new && change.number == number && change.refusal().is_some())
    }
}
