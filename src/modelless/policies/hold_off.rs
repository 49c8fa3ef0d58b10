//! The time for which an instance must be superfluous before it is unloaded.

use std::collections::BTreeMap;
use std::time::Duration;

use super::situation::Situation;
use crate::variants::VariantIndex;

/// The times since when variants have a superfluous instance.
///
/// It is unloaded after its loading time (INFaaS §4.2.2), since restoring it would take as long,
/// and not before the minimum hold-off.
#[derive(Clone, Debug, Default)]
pub struct HoldOffs(BTreeMap<VariantIndex, Duration>);

impl HoldOffs {
    /// Records that a variant has a superfluous instance. Returns the time from which it may be
    /// unloaded, or `None` if that time has come.
    pub fn superfluous(
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
        // The next instance waits for its own hold-off.
        self.0.remove(&variant);
        None
    }

    /// Records that a variant needs all its instances.
    pub fn needed(&mut self, variant: VariantIndex) {
        self.0.remove(&variant);
    }
}
