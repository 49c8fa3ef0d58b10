//! Batches whose answers cannot be used, and members that nobody serves.

use std::sync::Arc;

use crate::serving::batch::Batch;

use super::client::{Failure, RequestData};
use super::shared::EngineState;

impl EngineState {
    /// A batch was run and its answers cannot be folded.
    pub fn spoil(&self, batch: &Batch<Arc<RequestData>>, why: &str) {
        let (failed, mut woken) = {
            let (mut core, now) = (self.core(), self.now());
            (core.spoiled(now, batch), core.wake(now))
        };
        self.notice(format!("error: requests failed: {why}"));
        self.deliver_failures(failed, &Failure::Worker(why.to_owned()));
        woken.push(batch.device);
        self.poke(&woken);
    }

    /// A GPU that is gone, and what its driver said.
    fn loss(&self) -> Option<String> {
        let mut lanes = self.lanes.iter().enumerate();
        let (device, why) = lanes.find_map(|(d, lane)| Some((d, lane.board.as_ref()?.loss()?)))?;
        Some(format!("`{}`: {why}", self.devices.get(device).name))
    }

    /// Closes the door where a member has nobody left to serve it, and fails what
    /// waits for it.
    pub fn close_if_orphaned(&self) {
        let (reason, failed) = {
            let mut core = self.core();
            let Some(member) = core.orphan() else { return };
            let name = &self.ensemble.members[member].name;
            let why = self
                .loss()
                .map(|why| format!(": {why}"))
                .unwrap_or_default();
            let reason = format!("member `{name}` has no worker left{why}");
            let failed = core.close_orphaned(self.now(), &reason);
            (reason, failed)
        };
        self.notice(format!("error: {reason}; the door is closed"));
        self.deliver_failures(failed, &Failure::Worker(reason));
    }
}
