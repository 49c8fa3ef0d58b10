//! How long something has to be superfluous before it is unloaded.

use std::collections::BTreeMap;
use std::time::Duration;

use super::situation::Situation;
use crate::variants::VariantIndex;

/// Since when variants have an instance too many.
///
/// One is unloaded after its loading time (INFaaS §4.2.2), to have it back would take as long, and
/// not before the least hold-off.
#[derive(Clone, Debug, Default)]
pub(super) struct HoldOffs(BTreeMap<VariantIndex, Duration>);

impl HoldOffs {
    /// Notes that a variant has an instance too many. Returns the time from which on it may go, or
    /// `None` where that has come.
    pub(super) fn superfluous(
        &mut self,
        situation: &Situation<'_>,
        variant: VariantIndex,
    ) -> Option<Duration> {
        let now = situation.now;
        let since = *self.0.entry(variant).or_insert(now);
        let loading = situation.catalog.variant(variant).profile.loading;
        let from = since + loading.max(situation.rules.hold_off);
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
