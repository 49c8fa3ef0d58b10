//! A call that is under way and will be counted.

use std::net::IpAddr;
use std::sync::Arc;

use divisi::lock::Leaf;

use crate::error::ErrorKind;

use super::Callers;
use super::who::CallerName;

/// The end of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CallEnd {
    /// Nobody said how: its client gave it up.
    #[default]
    GivenUp,
    Answered,
    Failed(ErrorKind),
}

/// A call that is counted once it is dropped.
pub(crate) struct CountedCall {
    callers: Arc<Callers>,
    state: Leaf<(CallerName, CallEnd)>,
}

impl CountedCall {
    /// Begins a call from an address.
    pub(crate) fn begin(callers: &Arc<Callers>, from: IpAddr) -> Self {
        CountedCall::of(callers, CallerName::Address(from))
    }

    fn of(callers: &Arc<Callers>, who: CallerName) -> Self {
        CountedCall {
            callers: Arc::clone(callers),
            state: Leaf::new((who, CallEnd::default())),
        }
    }

    /// Begins a call within this one, by the same caller.
    pub(crate) fn within(&self) -> Self {
        CountedCall::of(&self.callers, self.state.lock().0.clone())
    }

    /// Notes whose key came with it.
    pub(crate) fn is_by(&self, key: Arc<str>) {
        self.state.lock().0 = CallerName::Key(key);
    }

    /// Notes that it is answered, unless it failed before.
    pub(crate) fn is_answered(&self) {
        let mut state = self.state.lock();
        if state.1 == CallEnd::GivenUp {
            state.1 = CallEnd::Answered;
        }
    }

    /// Notes how it failed. The first note is the one that knows best.
    pub(crate) fn fails(&self, kind: ErrorKind) {
        let mut state = self.state.lock();
        if !matches!(state.1, CallEnd::Failed(_)) {
            state.1 = CallEnd::Failed(kind);
        }
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        let (who, end) = self.state.lock().clone();
        let failed = match end {
            CallEnd::Answered => None,
            CallEnd::Failed(kind) => Some(kind),
            CallEnd::GivenUp => Some(ErrorKind::Cancelled),
        };
        self.callers.count(&who, failed);
    }
}
