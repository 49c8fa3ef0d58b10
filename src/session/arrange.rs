//! Changes to a whole row or column of the matrix, as far as memory allows. The session checks what
//! fits.

use divisi_engine::serving::Setup;
use divisi_model::allocation::{Cell, Matrix};
use divisi_model::codes::Code;
use divisi_model::ensemble::BatchSize;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use super::Session;
use super::refusal::Refusal;
use super::snapshot::Snapshot;

/// A change of a whole row or column of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Adds a worker of the member on every device that has room for one of this batch size.
    /// Existing workers stay unchanged.
    Spread {
        /// Its column in the matrix.
        member: MemberIndex,
        /// The batch size of new workers.
        size: BatchSize,
    },
    /// Removes all workers from the device. A member without another worker gets one on the device
    /// with the most free memory, with the same batch size or the next smaller size that fits.
    Clear {
        /// Its row in the matrix.
        device: DeviceIndex,
    },
}

/// The outcome of [`arrange`].
#[derive(Clone, Debug, PartialEq)]
pub struct Arranged {
    /// The changed matrix.
    pub matrix: Matrix,
    /// One sentence for each part that was left out, with the reason.
    pub notes: Vec<String>,
}

/// Changes the matrix of `setup`. The running setup stays unchanged until the result is applied.
///
/// # Errors
/// Returns the reason if no part of the arrangement is possible.
pub fn arrange(
    session: &mut dyn Session,
    setup: &Setup,
    arrangement: Arrangement,
) -> Result<Arranged, Refusal> {
    let shown = session.snapshot();
    let mut work = Work {
        session,
        shown: &shown,
        setup: setup.clone(),
        notes: Vec::new(),
    };
    match arrangement {
        Arrangement::Spread { member, size } => work.spread(member, size)?,
        Arrangement::Clear { device } => work.clear(device)?,
    }
    Ok(Arranged {
        matrix: work.setup.matrix,
        notes: work.notes,
    })
}

struct Work<'a> {
    session: &'a mut dyn Session,
    shown: &'a Snapshot,
    setup: Setup,
    notes: Vec<String>,
}

impl Work<'_> {
    fn spread(&mut self, member: MemberIndex, size: BatchSize) -> Result<(), Refusal> {
        let mut added = 0;
        for device in DeviceIndex::all(self.shown.devices.len()) {
            let cell = Cell { device, member };
            if self.is_lost(device) || self.setup.matrix.get(cell).is_some() {
                continue;
            }
            let wider = self.changed(&[(cell, Some(size))])?;
            match self.take(wider) {
                Ok(()) => added += 1,
                Err(why) => self.notes.push(why.to_string()),
            }
        }
        match (added, self.notes.first()) {
            (0, Some(why)) => Err(nothing_arranged(why)),
            (0, None) => Err(nothing_arranged(&format!(
                "`{}` already has a worker on every device",
                self.setup.matrix.frame().members[member]
            ))),
            _ => Ok(()),
        }
    }

    fn clear(&mut self, device: DeviceIndex) -> Result<(), Refusal> {
        let here = |matrix: &Matrix| {
            let workers = matrix.workers().filter(move |w| w.0.device == device);
            workers.collect::<Vec<_>>()
        };
        if here(&self.setup.matrix).is_empty() {
            let name = &self.setup.matrix.frame().devices[device];
            return Err(nothing_arranged(&format!("{name} has no worker")));
        }
        // Members with workers elsewhere make room first.
        for (cell, _) in here(&self.setup.matrix) {
            if let Ok(less) = self.setup.matrix.with_entry(cell, None) {
                self.setup.matrix = less;
            }
        }
        let mut left = here(&self.setup.matrix);
        let members = &self.shown.members;
        let weight = |member: MemberIndex| members.get(member.get()).map_or(0, |m| m.parameters);
        left.sort_by_key(|(cell, _)| std::cmp::Reverse(weight(cell.member)));
        for (cell, size) in left {
            self.send_away(cell, size)?;
        }
        Ok(())
    }

    /// Moves the worker to the device with the most free memory that accepts it.
    fn send_away(&mut self, from: Cell, size: BatchSize) -> Result<(), Refusal> {
        let hosts = self.hosts(from.device);
        let mut sizes: Vec<BatchSize> = self.setup.matrix.frame().batch_sizes.iter().collect();
        sizes.retain(|s| *s <= size);
        let mut refused = nothing_arranged("there is no other device");
        for &smaller in sizes.iter().rev() {
            for &device in &hosts {
                let to = Cell { device, ..from };
                let moved = self.changed(&[(from, None), (to, Some(smaller))])?;
                match self.take(moved) {
                    Ok(()) => return self.sent(to, size, smaller),
                    Err(why) => refused = why,
                }
            }
        }
        let name = &self.setup.matrix.frame().members[from.member];
        let text = format!("`{name}` fits on no other device: {refused}");
        Err(nothing_arranged(&text))
    }

    fn sent(&mut self, to: Cell, size: BatchSize, given: BatchSize) -> Result<(), Refusal> {
        if given != size {
            let frame = self.setup.matrix.frame();
            let (device, member) = (&frame.devices[to.device], &frame.members[to.member]);
            let note = format!("`{member}` has batch size {given} on {device}, not {size}");
            self.notes.push(note);
        }
        Ok(())
    }

    /// Returns the devices other than `but`: those with the most free memory first, then those with
    /// the fewest FLOPs of workers, then the lowest number.
    fn hosts(&mut self, but: DeviceIndex) -> Vec<DeviceIndex> {
        // The staged setup can exceed the memory of the very device that is being cleared.
        let staged = self.session.preview(&self.setup).ok().map(|p| p.memory);
        let devices = self.shown.devices.iter();
        let running = || devices.map(|d| (0, d.memory_booked)).collect();
        let booked: Vec<(u64, u64)> = staged.unwrap_or_else(running);
        let free = |device: DeviceIndex| {
            let size = self.shown.devices[device].memory_bytes;
            size.saturating_sub(booked.get(device.get()).map_or(0, |b| b.1))
        };
        let count = self.shown.devices.len();
        let mut hosts: Vec<DeviceIndex> = DeviceIndex::all(count)
            .filter(|d| *d != but && !self.is_lost(*d))
            .collect();
        hosts.sort_by_key(|d| (std::cmp::Reverse(free(*d)), self.flops(*d), *d));
        hosts
    }

    fn flops(&self, device: DeviceIndex) -> u64 {
        let workers = self.setup.matrix.workers();
        let here = workers.filter(|(cell, _)| cell.device == device);
        let flops = |member: MemberIndex| self.shown.member(member).map_or(0, |m| m.flops);
        here.map(|(cell, _)| flops(cell.member)).sum()
    }

    fn is_lost(&self, device: DeviceIndex) -> bool {
        self.shown.device(device).is_some_and(|d| d.lost)
    }

    fn changed(&self, changes: &[(Cell, Option<BatchSize>)]) -> Result<Matrix, Refusal> {
        let matrix = &self.setup.matrix;
        let entries = matrix.cells().map(|cell| {
            let change = changes.iter().find(|c| c.0 == cell);
            change.map_or(matrix.get(cell), |c| c.1)
        });
        let changed = Matrix::new(matrix.frame().clone(), entries.collect());
        changed.map_err(|e| Refusal::new(Code::SetupInvalid, e.to_string()))
    }

    /// Continues with `matrix` if it fits.
    fn take(&mut self, matrix: Matrix) -> Result<(), Refusal> {
        let wanted = self.setup.with_matrix(matrix);
        self.session.preview(&wanted)?;
        self.setup = wanted;
        Ok(())
    }
}

fn nothing_arranged(why: &str) -> Refusal {
    Refusal::new(Code::NothingArranged, why)
}
