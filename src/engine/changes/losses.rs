//! Lost devices: their workers move elsewhere, one device after another.

use std::time::Duration;

use divisi_runtime::device::DeviceIndex;

use super::change_log::MarkKind;
use super::event::{ChangeOrigin, ChangeRefusal, ChangeWork};
use super::machine::ChangeMachine;
use super::status::{Actions, UnderWay};

impl ChangeMachine {
    pub(super) fn lose(
        &mut self,
        now: Duration,
        device: DeviceIndex,
    ) -> Result<Actions, ChangeRefusal> {
        self.check_free()?;
        let text = format!("{} lost", self.frame.devices[device]);
        let mut actions = self.make_way(&text);
        self.log.mark(now, MarkKind::Device, text);
        let change = UnderWay::new(now, ChangeOrigin::Evacuation);
        actions.push(self.begin(change, ChangeWork::Evacuate(device)));
        Ok(actions)
    }

    /// Evacuates the first lost device, unless a change is under way.
    pub(super) fn next_loss(&mut self, now: Duration) -> Actions {
        if self.under_way.is_some() {
            return Actions::new();
        }
        let Some((device, reason)) = self.lost.pop_front() else {
            return Actions::new();
        };
        let text = format!("{} lost: {reason}", self.frame.devices[device]);
        let mut actions = self.make_way(&text);
        self.log.mark(now, MarkKind::Device, text);
        let work = match self.is_closing {
            true => ChangeWork::Abandon(device),
            false => ChangeWork::Evacuate(device),
        };
        let change = UnderWay::new(now, ChangeOrigin::Evacuation);
        actions.push(self.begin(change, work));
        actions
    }
}
