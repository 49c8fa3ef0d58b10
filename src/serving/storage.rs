//! The pool's bytes in host memory: written once, read by every worker.

use std::sync::{PoisonError, RwLock};

use crate::ensemble::Input;

use super::batch::Slice;

/// One block of slots an extent. A block's lock is held to write one request's rows
/// or to copy one batch's; different extents never wait for each other.
#[derive(Debug)]
pub struct Storage {
    extents: Vec<RwLock<Vec<f32>>>,
    slots: usize,
    width: usize,
}

impl Storage {
    /// Room for `extents` of `slots` samples of `width` values; an extent's memory
    /// is taken when it is first written.
    pub fn new(extents: usize, slots: usize, width: usize) -> Self {
        Storage {
            extents: (0..extents).map(|_| RwLock::default()).collect(),
            slots,
            width,
        }
    }

    /// Writes samples to their slots, scaled as the ensemble wants them.
    pub fn write(&self, slices: &[Slice], values: &[f32], input: &Input) {
        let mut rest = values;
        for slice in slices {
            let (now, later) = rest.split_at(slice.len * self.width);
            rest = later;
            let extent = &self.extents[slice.extent];
            let mut block = extent.write().unwrap_or_else(PoisonError::into_inner);
            if block.is_empty() {
                block.resize(self.slots * self.width, 0.0);
            }
            let first = slice.slot * self.width;
            input.transform(now, &mut block[first..first + now.len()]);
        }
    }

    /// Copies one slice's samples to `to`.
    pub fn read(&self, slice: Slice, to: &mut [f32]) {
        let extent = &self.extents[slice.extent];
        let block = extent.read().unwrap_or_else(PoisonError::into_inner);
        let first = slice.slot * self.width;
        to.copy_from_slice(&block[first..first + slice.len * self.width]);
    }
}
