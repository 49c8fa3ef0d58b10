//! Several changes of a matrix at once, as far as memory reaches: what an operator does
//! to a whole row or column. What fits is asked of the session, whoever that is.

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
    /// A worker of the member on every device that has room for one of this batch size;
    /// workers that it has stay as they are.
    Spread {
        /// Its column in the matrix.
        member: MemberIndex,
        /// The batch size of new workers.
        size: BatchSize,
    },
    /// No worker on the device. Members that have no other worker get one where most
    /// memory is free, of the same batch size or the next smaller one that fits.
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
    /// The parts that were left out and why, one sentence each.
    pub notes: Vec<String>,
}

/// Changes the matrix of `setup`; nothing runs by it until it is applied.
///
/// # Errors
/// Nothing of it could be done; says why.
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
                "`{}` has a worker on every device already",
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
        // Those who are served elsewhere make room first.
        for (cell, _) in here(&self.setup.matrix) {
            if let Ok(less) = self.setup.matrix.with(cell, None) {
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

    /// Moves the worker to the device with most free memory that takes it.
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
        let text = format!("`{name}` fits nowhere else: {refused}");
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

    /// Devices other than `but`: most free memory first, then fewest FLOPs of workers,
    /// then the lowest number.
    fn hosts(&mut self, but: DeviceIndex) -> Vec<DeviceIndex> {
        // What is staged may be too much for the very device that is cleared.
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

    /// Goes on with `matrix` where it fits.
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
