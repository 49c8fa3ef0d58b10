//! Memory beside what serves, lent to who measures in it: reloads and measurements book in
//! one place, so that both never take the same.

use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

use thiserror::Error;

use divisi_model::allocation::DoesNotFit;
use divisi_model::codes::{Code, Coded};
use divisi_runtime::device::Devices;
use divisi_runtime::lock::Ranked;

use super::engine::Engine;
use super::locks::ReservationRank;

/// Why memory cannot be reserved.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReserveError {
    /// The running matrix does not fit by itself.
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
    /// Somebody else has reserved it.
    #[error("another measurement is using the remaining memory")]
    Reserved,
    /// A change is under way.
    #[error("a reload is under way")]
    UnderWay,
}

impl Coded for ReserveError {
    fn code(&self) -> Code {
        match self {
            ReserveError::DoesNotFit(_) => Code::DoesNotFit,
            ReserveError::Reserved => Code::MemoryReserved,
            ReserveError::UnderWay => Code::ChangeUnderWay,
        }
    }
}

type RevokeCallback = Box<dyn Fn() + Send + Sync>;

/// The memory that is lent, if any is.
#[derive(Default)]
pub(super) struct Reserve {
    reserved: Ranked<ReservationRank, Option<ReservedMemory>>,
    back: Condvar,
}

struct ReservedMemory {
    /// The devices with the memory that is left to what serves.
    left: Devices,
    /// Asks who measures to leave.
    revoke: RevokeCallback,
}

impl Reserve {
    /// The devices with the memory that what serves may book; none: all of it.
    pub(super) fn left(&self) -> Option<Devices> {
        self.reserved
            .lock()
            .as_ref()
            .map(|reserved| reserved.left.clone())
    }

    /// Asks who measures to give it back, and waits for that for at most `time`.
    pub(super) fn take_back(&self, time: Duration) {
        let limit = Instant::now() + time;
        let mut reserved = self.reserved.lock();
        while let Some(held) = reserved.as_ref() {
            (held.revoke)();
            let rest = limit.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return;
            }
            reserved = reserved.wait_timeout(&self.back, rest);
        }
    }

    fn give_back(&self) {
        *self.reserved.lock() = None;
        self.back.notify_all();
    }
}

/// Memory that nobody else books until this is dropped.
pub struct Reservation {
    engine: Arc<Engine>,
    free: Devices,
}

impl Reservation {
    /// The devices with the memory that is reserved.
    pub fn free(&self) -> &Devices {
        &self.free
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.engine.reserve.give_back();
    }
}

impl Engine {
    /// Reserves all memory that the running matrix does not book. Until it is given back no
    /// reload books more than that matrix does. `revoke` is called, perhaps often, once the
    /// memory is needed since a device was lost: it must be quick and must not drop the
    /// reservation itself.
    ///
    /// # Errors
    /// A reload is under way, or somebody else has reserved the memory.
    pub fn reserve_rest(
        self: &Arc<Self>,
        revoke: impl Fn() + Send + Sync + 'static,
    ) -> Result<Reservation, ReserveError> {
        let Some(_no_reload) = self.applying.try_lock() else {
            return Err(ReserveError::UnderWay);
        };
        let booked = self.ledger(&self.matrix())?;
        let all = self.devices();
        let mut reserved = self.reserve.reserved.lock();
        if reserved.is_some() {
            return Err(ReserveError::Reserved);
        }
        *reserved = Some(ReservedMemory {
            left: all.within(&booked),
            revoke: Box::new(revoke),
        });
        Ok(Reservation {
            free: all.without(&self.faults().lost()).beside(&booked),
            engine: Arc::clone(self),
        })
    }
}
