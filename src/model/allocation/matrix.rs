//! The allocation matrix and its rules.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ensemble::{BatchSize, BatchSizes, Ensemble};
use divisi_runtime::device::{DeviceIndex, Devices, MemberIndex};

/// The frame of a matrix: its rows, columns and allowed batch sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The devices' names, one per row.
    pub devices: Vec<String>,
    /// The members' names, one per column.
    pub members: Vec<String>,
    /// The allowed batch sizes.
    pub batch_sizes: BatchSizes,
}

impl Frame {
    /// Returns the frame of an ensemble on devices.
    pub fn from_ensemble(ensemble: &Ensemble, devices: &Devices) -> Arc<Self> {
        Arc::new(Frame {
            devices: devices.names(),
            members: ensemble.member_names(),
            batch_sizes: ensemble.batch_sizes.clone(),
        })
    }

    /// Returns the name of a device, or `None` if there is no such row.
    pub fn device(&self, device: DeviceIndex) -> Option<&str> {
        self.devices.get(device.get()).map(String::as_str)
    }

    /// Returns the name of a member, or `None` if there is no such column.
    pub fn member(&self, member: MemberIndex) -> Option<&str> {
        self.members.get(member.get()).map(String::as_str)
    }
}

/// The place of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// The row.
    pub device: DeviceIndex,
    /// The column.
    pub member: MemberIndex,
}

impl Cell {
    /// Iterates over the cells of a matrix of this size, device by device.
    pub fn all_cells(devices: usize, members: usize) -> impl Iterator<Item = Cell> + use<> {
        let row = move |device| {
            let members = MemberIndex::all(members);
            members.map(move |member| Cell { device, member })
        };
        DeviceIndex::all(devices).flat_map(row)
    }

    /// Returns its position among the cells of a matrix with `members` columns, device by device.
    #[inline]
    pub fn index_in(self, members: usize) -> usize {
        self.device.get() * members + self.member.get()
    }
}

/// An allocation: the members that run on each device, with their batch sizes.
///
/// Every member has a worker and every batch size is allowed. A matrix that breaks a rule cannot be
/// constructed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "MatrixRows", into = "MatrixRows")]
pub struct Matrix {
    frame: Arc<Frame>,
    entries: Vec<Option<BatchSize>>,
}

/// The serialised form of a matrix. Deserialising checks the rules.
#[derive(Serialize, Deserialize)]
struct MatrixRows {
    frame: Arc<Frame>,
    rows: Vec<Vec<i64>>,
}

impl TryFrom<MatrixRows> for Matrix {
    type Error = InvalidMatrix;

    fn try_from(written: MatrixRows) -> Result<Self, InvalidMatrix> {
        Matrix::from_rows(written.frame, &written.rows)
    }
}

impl From<Matrix> for MatrixRows {
    fn from(matrix: Matrix) -> Self {
        let number = |n: &usize| *n as i64;
        let rows = matrix.rows();
        MatrixRows {
            rows: rows
                .iter()
                .map(|r| r.iter().map(number).collect())
                .collect(),
            frame: matrix.frame,
        }
    }
}

/// The rule that a matrix would break.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidMatrix {
    /// The rows or columns differ from its frame.
    #[error("expected {devices} rows of {members} entries, found {found}")]
    Size {
        /// The number of devices.
        devices: usize,
        /// The number of members.
        members: usize,
        /// The actual size.
        found: String,
    },
    /// A member has no worker.
    #[error("member `{member}` has no worker; every member needs one")]
    NoWorker {
        /// The member's name.
        member: String,
    },
    /// A batch size is not allowed.
    #[error(
        "`{device}` × `{member}`: batch size {found} is not allowed, expected 0 or one of {allowed}"
    )]
    BatchSize {
        /// The device's name.
        device: String,
        /// The member's name.
        member: String,
        /// The actual number.
        found: i64,
        /// The allowed batch sizes.
        allowed: String,
    },
    /// The frame has no device.
    #[error("a matrix needs at least one device")]
    Empty,
}

impl Matrix {
    /// Creates a matrix from its entries, row by row (one row per device). `None` is no worker.
    ///
    /// # Errors
    /// The matrix breaks a rule.
    pub fn new(frame: Arc<Frame>, entries: Vec<Option<BatchSize>>) -> Result<Self, InvalidMatrix> {
        let (devices, members) = (frame.devices.len(), frame.members.len());
        if devices == 0 {
            return Err(InvalidMatrix::Empty);
        }
        if entries.len() != devices * members {
            return Err(InvalidMatrix::Size {
                devices,
                members,
                found: format!("{} entries", entries.len()),
            });
        }
        let matrix = Matrix { frame, entries };
        matrix.check()?;
        Ok(matrix)
    }

    /// Creates a matrix from rows of numbers, 0 for no worker.
    ///
    /// # Errors
    /// The matrix breaks a rule.
    pub fn from_rows(frame: Arc<Frame>, rows: &[Vec<i64>]) -> Result<Self, InvalidMatrix> {
        let (devices, members) = (frame.devices.len(), frame.members.len());
        if rows.len() != devices || rows.iter().any(|r| r.len() != members) {
            let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
            return Err(InvalidMatrix::Size {
                devices,
                members,
                found: format!("rows of {lengths:?} entries"),
            });
        }
        let mut entries = Vec::with_capacity(devices * members);
        for (device, row) in DeviceIndex::enumerate(rows) {
            for (member, &n) in MemberIndex::enumerate(row) {
                let size = u32::try_from(n).ok().and_then(BatchSize::new);
                if n != 0 && size.is_none() {
                    return Err(not_allowed(&frame, Cell { device, member }, n));
                }
                entries.push(size);
            }
        }
        Matrix::new(frame, entries)
    }

    fn check(&self) -> Result<(), InvalidMatrix> {
        for (cell, size) in self.workers() {
            if !self.frame.batch_sizes.contains(size) {
                return Err(not_allowed(&self.frame, cell, size.get() as i64));
            }
        }
        for (member, name) in MemberIndex::enumerate(&self.frame.members) {
            if self.column(member).all(|(_, size)| size.is_none()) {
                return Err(InvalidMatrix::NoWorker {
                    member: name.clone(),
                });
            }
        }
        Ok(())
    }

    /// Returns its frame.
    pub fn frame(&self) -> &Arc<Frame> {
        &self.frame
    }

    /// Returns the entry at `cell`, or `None` if it is empty or outside the matrix.
    pub fn get(&self, cell: Cell) -> Option<BatchSize> {
        let members = self.frame.members.len();
        let place = (cell.member.get() < members).then(|| cell.index_in(members))?;
        self.entries.get(place).copied().flatten()
    }

    /// Returns the matrix with another entry at `cell`.
    ///
    /// # Errors
    /// The new matrix breaks a rule, or the cell is outside the matrix.
    pub fn with_entry(&self, cell: Cell, entry: Option<BatchSize>) -> Result<Self, InvalidMatrix> {
        let (devices, members) = (self.frame.devices.len(), self.frame.members.len());
        if cell.device.get() >= devices || cell.member.get() >= members {
            return Err(InvalidMatrix::Size {
                devices,
                members,
                found: format!("an entry at {}, {}", cell.device, cell.member),
            });
        }
        let mut entries = self.entries.clone();
        entries[cell.index_in(members)] = entry;
        Matrix::new(Arc::clone(&self.frame), entries)
    }

    /// Iterates over all cells, device by device.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        let (devices, members) = (self.frame.devices.len(), self.frame.members.len());
        Cell::all_cells(devices, members)
    }

    /// Iterates over the workers: the entries that are not empty.
    pub fn workers(&self) -> impl Iterator<Item = (Cell, BatchSize)> + '_ {
        self.cells()
            .filter_map(|cell| self.get(cell).map(|size| (cell, size)))
    }

    /// Iterates over a member's entries, device by device.
    pub fn column(
        &self,
        member: MemberIndex,
    ) -> impl Iterator<Item = (DeviceIndex, Option<BatchSize>)> + '_ {
        DeviceIndex::all(self.frame.devices.len())
            .map(move |device| (device, self.get(Cell { device, member })))
    }

    /// Returns the entries as numbers, one row per device, 0 for no worker.
    pub fn rows(&self) -> Vec<Vec<usize>> {
        let (devices, members) = (self.frame.devices.len(), self.frame.members.len());
        let number = |entry: &Option<BatchSize>| entry.map_or(0, BatchSize::get);
        let row = |device| self.entries[device * members..][..members].iter();
        (0..devices)
            .map(|device| row(device).map(number).collect())
            .collect()
    }

    /// Returns every valid matrix that differs in exactly one entry. The paper's equation 2 also
    /// counts the unchanged entry; without it there are B·D·M − F matrices.
    pub fn neighbours(&self) -> Vec<Matrix> {
        let sizes = || self.frame.batch_sizes.iter().map(Some);
        self.cells()
            .flat_map(|cell| {
                std::iter::once(None)
                    .chain(sizes())
                    .filter(move |entry| *entry != self.get(cell))
                    .filter_map(move |entry| self.with_entry(cell, entry).ok())
            })
            .collect()
    }
}

fn not_allowed(frame: &Frame, cell: Cell, found: i64) -> InvalidMatrix {
    InvalidMatrix::BatchSize {
        device: frame.devices[cell.device].clone(),
        member: frame.members[cell.member].clone(),
        found,
        allowed: frame.batch_sizes.to_string(),
    }
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix{:?}", self.rows())
    }
}
