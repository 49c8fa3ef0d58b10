//! Members without workers. Pipelines that use them take no requests until a reload brings a
//! worker. Other pipelines continue.

use std::time::Duration;

use crate::serving::batch::{PipelineIndex, RequestKey};
use crate::serving::door::DoorState;
use divisi_runtime::device::MemberIndex;

use super::{Core, Owed};

impl<T: Clone> Core<T> {
    /// Returns a member without a worker whose pipelines still take requests, or `None`. Returns
    /// `None` during a reload, because its workers are about to start.
    pub fn new_orphan(&self) -> Option<MemberIndex> {
        let mut members = MemberIndex::all(self.members);
        members.find(|member| self.is_orphaned(*member) && !self.orphans.contains(member))
    }

    fn is_orphaned(&self, member: MemberIndex) -> bool {
        !self.reloading && !self.scheduler.staying().any(|w| w.member == member)
    }

    /// Closes the pipelines of a member without workers, and the door if no pipeline is left. Fails
    /// their waiting requests.
    pub fn close_orphaned(&mut self, now: Duration, member: MemberIndex, reason: &str) -> Owed<T> {
        self.orphans.insert(member);
        for served in &mut self.pipelines {
            if served.flow.members().any(|of| of == member) {
                served.closed.get_or_insert_with(|| reason.to_owned());
            }
        }
        if self.pipelines.iter().all(|served| served.closed.is_some()) {
            self.shut = true;
            self.door.set(DoorState::Closed(reason.to_owned()));
        }
        let of_closed = self.requests.iter().filter(|(_, entry)| {
            let served = &self.pipelines[entry.pipeline.0];
            served.closed.is_some()
        });
        let mut keys: Vec<RequestKey> = of_closed.map(|(key, _)| *key).collect();
        keys.sort_unstable();
        self.fail_many(now, &keys)
    }

    /// Reopens closed pipelines that have workers again.
    pub fn reopen_if_served(&mut self) {
        let known = std::mem::take(&mut self.orphans);
        let left = known.into_iter().filter(|member| self.is_orphaned(*member));
        self.orphans = left.collect();
        let orphans = &self.orphans;
        for served in &mut self.pipelines {
            if !served.flow.members().any(|of| orphans.contains(&of)) {
                served.closed = None;
            }
        }
        let any_open = self.pipelines.iter().any(|served| served.closed.is_none());
        if self.shut && any_open {
            self.shut = false;
            self.door.set(DoorState::Open);
        }
    }

    /// Returns the reason why a pipeline takes no requests while the door is open, or `None`.
    pub fn closed(&self, pipeline: PipelineIndex) -> Option<&str> {
        self.pipelines[pipeline.0].closed.as_deref()
    }
}
