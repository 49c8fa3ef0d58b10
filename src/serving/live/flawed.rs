//! Requests with rows that are not what they should be: counted, named, and failed where
//! their caller takes no others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::serving::core::Owed;
use crate::serving::flaws::{Detail, FlawKind, Flaws};

use super::client::{Failure, RequestData};
use super::shared::EngineState;

impl EngineState {
    /// Counts and names what is wrong with complete requests, and fails those that are
    /// spoilt by it; gives the others.
    pub(super) fn without_spoilt(
        &self,
        finished: Owed<Arc<RequestData>>,
    ) -> Owed<Arc<RequestData>> {
        for done in finished.iter().filter(|done| done.payload.is_flawed()) {
            for (member, found) in flaws(&done.payload) {
                self.tell_flaws(member, found);
            }
        }
        let (spoilt, sound) = finished.split(|done| self.spoilt(&done.payload).is_some());
        spoilt.pay(|done| {
            if let Some(failure) = self.spoilt(&done.payload) {
                self.watched.failed.fetch_add(1, Ordering::Relaxed);
                done.payload.answer(|_| Err(failure));
            }
        });
        sound
    }

    /// Why a complete request must fail, if it must.
    fn spoilt(&self, data: &RequestData) -> Option<Failure> {
        if !data.is_flawed() || data.detail != Detail::Scores {
            return None;
        }
        let of_members = flaws(data);
        let voters = of_members.iter().filter(|(m, _)| data.rule.counts(**m));
        let spoilt = voters.filter(|(_, found)| found.not_finite > 0);
        let named: Vec<(String, usize)> = spoilt
            .map(|(member, found)| {
                let name = &self.ensemble.members[*member].name;
                (name.clone(), found.not_finite as usize)
            })
            .collect();
        (!named.is_empty()).then_some(Failure::NotFinite(named))
    }

    /// Counts what was found of a member, and says so now and then.
    fn tell_flaws(&self, member: usize, found: Flaws) {
        if !self.watched.flaws.add(member, found) {
            return;
        }
        let so_far = self.watched.flaws.of(member);
        let grave = match so_far.not_finite {
            0 => "warning",
            _ => "error",
        };
        let (name, words) = (&self.ensemble.members[member].name, so_far.words());
        self.notice(format!("{grave}: member `{name}` answered {words} so far"));
    }
}

/// What is wrong with a request's rows, by member.
fn flaws(data: &RequestData) -> BTreeMap<usize, Flaws> {
    let mut of_members: BTreeMap<usize, Flaws> = BTreeMap::new();
    for flaw in data.parts.iter().flat_map(|part| part.flaws()) {
        let kind: FlawKind = flaw.kind;
        of_members.entry(flaw.member).or_default().count(kind);
    }
    of_members
}
