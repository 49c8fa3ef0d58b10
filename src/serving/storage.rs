//! The pool's bytes in host memory: written once, read by every worker.

use std::sync::{PoisonError, RwLock};

use crate::ensemble::Transforms;

use super::batch::Slice;

/// One block of slots for each extent and each distinct input of the members. A block's
/// lock is held to write one request's rows or to copy one batch's; different blocks
/// never wait for each other.
#[derive(Debug)]
pub struct Storage {
    transforms: Transforms,
    /// `[transform][extent]`.
    blocks: Vec<Vec<RwLock<Vec<f32>>>>,
    slots: usize,
}

impl Storage {
    /// Room for `extents` of `slots` samples as each of `transforms` makes them; a
    /// block's memory is taken when it is first written.
    pub fn new(extents: usize, slots: usize, transforms: Transforms) -> Self {
        let extents = || (0..extents).map(|_| RwLock::default()).collect();
        Storage {
            blocks: transforms.distinct().iter().map(|_| extents()).collect(),
            transforms,
            slots,
        }
    }

    /// Writes samples to their slots, once as each distinct input wants them.
    pub fn write(&self, slices: &[Slice], values: &[f32]) {
        let width = self.transforms.sample().elements();
        let mut rest = values;
        for slice in slices {
            let (now, later) = rest.split_at(slice.len * width);
            rest = later;
            for transform in 0..self.blocks.len() {
                self.write_slice(*slice, transform, now);
            }
        }
    }

    fn write_slice(&self, slice: Slice, transform: usize, samples: &[f32]) {
        let input = self.transforms.distinct()[transform];
        let width = input.shape.elements();
        let block = &self.blocks[transform][slice.extent];
        let mut block = block.write().unwrap_or_else(PoisonError::into_inner);
        if block.is_empty() {
            block.resize(self.slots * width, 0.0);
        }
        let rows = &mut block[slice.slot * width..][..slice.len * width];
        input.convert(self.transforms.sample(), samples, rows);
    }

    /// Copies one slice's samples to `to`, as member number `member` takes them.
    pub fn read(&self, slice: Slice, member: usize, to: &mut [f32]) {
        let transform = self.transforms.of(member);
        let width = self.transforms.distinct()[transform].shape.elements();
        let block = &self.blocks[transform][slice.extent];
        let block = block.read().unwrap_or_else(PoisonError::into_inner);
        to.copy_from_slice(&block[slice.slot * width..][..slice.len * width]);
    }
}
