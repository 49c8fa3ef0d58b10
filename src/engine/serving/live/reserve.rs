//! Memory lent for measurements next to the running models. Reloads and measurements book in one
//! place, so that they never take the same memory.

use std::sync::{Arc, Condvar};
use std::time::{Duration, Instant};

use thiserror::Error;

use divisi_model::allocation::DoesNotFit;
use divisi_model::codes::{Code, Coded};
use divisi_runtime::device::Devices;
use divisi_runtime::lock::Ranked;

use super::engine::Engine;
use super::locks::ReservationRank;

/// The reason why memory cannot be reserved.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReserveError {
    /// The running matrix does not fit by itself.
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
    /// The memory is already reserved.
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

/// The lent memory, if there is any.
#[derive(Default)]
pub(super) struct Reserve {
    reserved: Ranked<ReservationRank, Option<ReservedMemory>>,
    back: Condvar,
}

struct ReservedMemory {
    /// The devices with the memory left for serving.
    left: Devices,
    /// Asks the holder to release the memory.
    revoke: RevokeCallback,
}

impl Reserve {
    /// Returns the devices with the memory available for serving, or `None` if all of it is.
    pub(super) fn left(&self) -> Option<Devices> {
        self.reserved
            .lock()
            .as_ref()
            .map(|reserved| reserved.left.clone())
    }

    /// Asks the holder to release the memory, and waits at most `time` for it.
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

/// Memory that cannot be booked otherwise until this is dropped.
pub struct Reservation {
    engine: Arc<Engine>,
    free: Devices,
}

impl Reservation {
    /// Returns the devices with the reserved memory.
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
    /// Reserves all memory that the running matrix does not book. Until it is released, no reload
    /// books more than that matrix. If the memory is needed after the loss of a device, `revoke` is
    /// called, perhaps repeatedly. It must be quick and must not drop the reservation itself.
    ///
    /// # Errors
    /// A reload is under way, or the memory is already reserved.
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
            left: all.limited_to_booked(&booked),
            revoke: Box::new(revoke),
        });
        Ok(Reservation {
            free: all
                .without_memory_of(&self.faults().lost())
                .minus_booked(&booked),
            engine: Arc::clone(self),
        })
    }
}
