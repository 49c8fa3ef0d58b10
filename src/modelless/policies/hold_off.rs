//! How long something has to be superfluous before it is unloaded.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::variants::VariantIndex;

/// Since when variants have an instance too many.
///
/// One is unloaded after its loading time (INFaaS §4.2.2): to have it back would take as long.
#[derive(Clone, Debug, Default)]
pub(super) struct HoldOffs(BTreeMap<VariantIndex, Duration>);

impl HoldOffs {
    /// Notes that a variant has an instance too many. Returns the time from which on it may go, or
    /// `None` where that has come.
    pub(super) fn superfluous(
        &mut self,
        now: Duration,
        variant: VariantIndex,
        loading: Duration,
    ) -> Option<Duration> {
        let since = *self.0.entry(variant).or_insert(now);
        let from = since + loading;
        if now < from {
            return Some(from);
        }
        // The next one waits by itself.
        self.0.remove(&variant);
        None
    }

    /// Notes that a variant needs all its instances.
    pub(super) fn needed(&mut self, variant: VariantIndex) {
        self.0.remove(&variant);
    }
}
