//! A matrix under search: its entries as numbers, their memory bookings, and the predicted
//! throughput of a run. Scores neighbours without creating them.

use std::sync::Arc;

use crate::search::model::{Drain, LinearProgram, Rates, RunWorker, WorkerRate, steady};
use divisi_model::allocation::{Cell, Footprints, Frame, InvalidMatrix, Matrix};
use divisi_runtime::device::{DeviceIndex, Devices};

/// A change of one entry to batch size number `to`, or to no worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryEdit {
    /// The entry.
    pub cell: Cell,
    /// The number of the new batch size.
    pub to: Option<usize>,
}

/// A matrix under search that scores its neighbours without creating them.
#[derive(Debug)]
pub struct Position<'a> {
    rates: &'a Rates,
    budget: MemoryBudget,
    entries: Vec<Option<usize>>,
    /// The number of each entry's worker in the linear program.
    numbers: Vec<usize>,
    /// The number of workers of each member.
    counts: Vec<usize>,
    workers: Vec<RunWorker>,
    program: LinearProgram,
    score: f64,
    /// A buffer for neighbours.
    changed: Vec<RunWorker>,
    gone: Vec<usize>,
    new: Vec<WorkerRate>,
    scratch: LinearProgram,
    drain: Drain,
}

impl<'a> Position<'a> {
    /// Creates a position at `matrix`, with a `budget` without bookings.
    pub fn new(rates: &'a Rates, budget: MemoryBudget, matrix: &Matrix) -> Self {
        let entries = rates.devices() * rates.members();
        let mut position = Position {
            rates,
            budget,
            entries: vec![None; entries],
            numbers: vec![0; entries],
            counts: vec![0; rates.members()],
            workers: Vec::new(),
            program: LinearProgram::default(),
            score: 0.0,
            changed: Vec::new(),
            gone: Vec::new(),
            new: Vec::new(),
            scratch: LinearProgram::default(),
            drain: Drain::default(),
        };
        let number = |size| rates.sizes().iter().position(|s| *s == size);
        let workers = matrix.workers();
        let edits: Vec<EntryEdit> = workers
            .map(|(cell, size)| EntryEdit {
                cell,
                to: number(size),
            })
            .collect();
        position.go(&edits);
        position
    }

    /// Returns the samples per second of a run of this matrix.
    pub fn score(&self) -> f64 {
        self.score
    }

    /// Returns the rates of entries.
    pub fn rates(&self) -> &'a Rates {
        self.rates
    }

    /// Returns the booked memory.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Returns the number of the batch size at `cell`.
    pub fn get(&self, cell: Cell) -> Option<usize> {
        self.entries[self.index(cell)]
    }

    /// Returns the numbers of all entries' batch sizes, device by device.
    pub fn entries(&self) -> &[Option<usize>] {
        &self.entries
    }

    /// Returns to the entries of an earlier position.
    pub fn go_to(&mut self, entries: &[Option<usize>]) {
        let cells = self.cells().zip(entries);
        let changed = cells.filter(|(cell, to)| self.get(*cell) != **to);
        let edits: Vec<EntryEdit> = changed
            .map(|(cell, to)| EntryEdit { cell, to: *to })
            .collect();
        self.go(&edits);
    }

    /// Returns every cell, device by device.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        let (devices, members) = (self.rates.devices(), self.rates.members());
        Cell::all_cells(devices, members)
    }

    /// Returns whether a worker in this cell could help. On devices that are not shared, a worker
    /// without a gain in the linear program helps only if its batches are faster than those of the
    /// existing worker.
    pub fn promises(&self, cell: Cell, size: usize) -> bool {
        self.rates.are_shared()
            || self.get(cell).is_some_and(|old| size < old)
            || self.program.gains_from(&self.rates.worker(cell, size))
    }

    /// Returns whether the changed matrix is valid and fits.
    pub fn allows(&mut self, edits: &[EntryEdit]) -> bool {
        let entries = &self.entries;
        let members = self.rates.members();
        let old = |cell: Cell| entries[cell.index_in(members)];
        self.budget.fits(edits, old) && edits.iter().all(|e| self.leaves_a_worker(e, edits))
    }

    fn leaves_a_worker(&self, edit: &EntryEdit, edits: &[EntryEdit]) -> bool {
        if edit.to.is_some() {
            return true;
        }
        let of_member = edits.iter().filter(|e| e.cell.member == edit.cell.member);
        let change =
            of_member.map(|e| i64::from(e.to.is_some()) - i64::from(self.get(e.cell).is_some()));
        self.counts[edit.cell.member] as i64 + change.sum::<i64>() > 0
    }

    /// Returns the samples per second of a run of the changed matrix, which must be allowed.
    pub fn score_with(&mut self, edits: &[EntryEdit]) -> f64 {
        self.gone.clear();
        self.new.clear();
        self.changed.clone_from(&self.workers);
        for edit in edits {
            let entry = self.index(edit.cell);
            if self.entries[entry].is_some() {
                self.gone.push(self.numbers[entry]);
            }
            if let Some(size) = edit.to {
                self.new.push(self.rates.worker(edit.cell, size));
                self.changed.push(self.rates.runner(edit.cell, size));
            }
        }
        self.gone.sort_unstable();
        for worker in self.gone.iter().rev() {
            self.changed.swap_remove(*worker);
        }
        if self.rates.are_shared() {
            return self.drain.shared(self.rates, &self.changed);
        }
        let throughput = self
            .program
            .changed(&mut self.scratch, &self.gone, &self.new);
        steady(self.rates, throughput, &self.changed)
    }

    /// Moves to the changed matrix.
    pub fn go(&mut self, edits: &[EntryEdit]) {
        let entries = &self.entries;
        let members = self.rates.members();
        self.budget
            .apply(edits, |cell| entries[cell.index_in(members)]);
        for edit in edits {
            let entry = self.index(edit.cell);
            let count = &mut self.counts[edit.cell.member];
            *count -= usize::from(self.entries[entry].is_some());
            *count += usize::from(edit.to.is_some());
            self.entries[entry] = edit.to;
        }
        self.solve();
    }

    fn solve(&mut self) {
        self.workers.clear();
        for cell in self.cells() {
            if let Some(size) = self.get(cell) {
                let entry = self.index(cell);
                self.numbers[entry] = self.workers.len();
                self.workers.push(self.rates.runner(cell, size));
            }
        }
        let (members, devices) = (self.rates.members(), self.rates.devices());
        if self.rates.are_shared() {
            self.score = self.drain.shared(self.rates, &self.workers);
            return;
        }
        let rates: Vec<WorkerRate> = self.workers.iter().map(|w| w.rate).collect();
        self.program.renew(members, devices, &rates);
        self.score = steady(self.rates, self.program.throughput(), &self.workers);
    }

    /// Returns the matrix.
    ///
    /// # Errors
    /// The matrix is invalid.
    pub fn matrix(&self, frame: &Arc<Frame>) -> Result<Matrix, InvalidMatrix> {
        let size = |entry: &Option<usize>| entry.map(|size| self.rates.sizes()[size]);
        Matrix::new(Arc::clone(frame), self.entries.iter().map(size).collect())
    }

    fn index(&self, cell: Cell) -> usize {
        cell.index_in(self.rates.members())
    }
}

/// The memory of workers in each memory space, and the booked memory. It applies the ledger's rules
/// to precomputed numbers, because it is queried thousands of times per second.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    members: usize,
    sizes: usize,
    space_of: Vec<usize>,
    capacity: Vec<u64>,
    /// Weights and activations of each entry and batch size.
    needs: Vec<(u64, u64)>,
    /// The bytes of the sample pool in each space.
    pool: Vec<u64>,
    taken: Vec<u64>,
    /// The number of workers that share a member's weights, by member and space.
    sharers: Vec<usize>,
}

impl MemoryBudget {
    /// Creates a budget of devices without workers.
    pub fn new(frame: &Frame, devices: &Devices, footprints: &Footprints) -> Self {
        let (members, spaces) = (frame.members.len(), devices.spaces().len());
        let capacity = devices.spaces().iter().map(|s| s.bytes);
        let cells = Cell::all_cells(frame.devices.len(), members);
        let needs = cells.flat_map(|cell| {
            frame.batch_sizes.iter().map(move |size| {
                let booking = footprints.booking(cell, size);
                (booking.weight_bytes, booking.activation_bytes)
            })
        });
        let mut pool = vec![0; spaces];
        if let Some((space, bytes)) = footprints.pool(devices) {
            pool[space.0] = bytes;
        }
        MemoryBudget {
            members,
            sizes: frame.batch_sizes.count(),
            space_of: devices.iter().map(|d| d.space.0).collect(),
            capacity: capacity.collect(),
            needs: needs.collect(),
            taken: pool.clone(),
            pool,
            sharers: vec![0; spaces * members],
        }
    }

    /// Returns whether a worker at `cell` would fit alone next to the sample pool.
    pub fn fits_alone(&self, cell: Cell, size: usize) -> bool {
        let (weights, activations) = self.need(cell, size);
        let space = self.space_of[cell.device];
        self.pool[space] + weights + activations <= self.capacity[space]
    }

    /// Returns whether `edits` fit. `old` returns the present entries of their cells.
    pub fn fits(&mut self, edits: &[EntryEdit], old: impl Fn(Cell) -> Option<usize>) -> bool {
        self.apply(edits, &old);
        let fits = edits.iter().all(|edit| self.holds(edit.cell.device));
        for edit in edits.iter().rev() {
            self.change(edit.cell, edit.to, old(edit.cell));
        }
        fits
    }

    /// Books `edits`, even if they do not fit.
    pub fn apply(&mut self, edits: &[EntryEdit], old: impl Fn(Cell) -> Option<usize>) {
        for edit in edits {
            self.change(edit.cell, old(edit.cell), edit.to);
        }
    }

    /// Returns whether the bookings of a device's memory fit in it.
    pub fn holds(&self, device: DeviceIndex) -> bool {
        let space = self.space_of[device];
        self.taken[space] <= self.capacity[space]
    }

    /// Returns whether two devices use the same memory.
    pub fn shared(&self, a: DeviceIndex, b: DeviceIndex) -> bool {
        self.space_of[a] == self.space_of[b]
    }

    fn need(&self, cell: Cell, size: usize) -> (u64, u64) {
        self.needs[cell.index_in(self.members) * self.sizes + size]
    }

    fn change(&mut self, cell: Cell, from: Option<usize>, to: Option<usize>) {
        let space = self.space_of[cell.device];
        let sharers = space * self.members + cell.member.get();
        if let Some(size) = from {
            let (weights, activations) = self.need(cell, size);
            self.sharers[sharers] -= 1;
            let weights = if self.sharers[sharers] == 0 {
                weights
            } else {
                0
            };
            self.taken[space] -= activations + weights;
        }
        if let Some(size) = to {
            let (weights, activations) = self.need(cell, size);
            let weights = if self.sharers[sharers] == 0 {
                weights
            } else {
                0
            };
            self.sharers[sharers] += 1;
            self.taken[space] += activations + weights;
        }
    }
}
