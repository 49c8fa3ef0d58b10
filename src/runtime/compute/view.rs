//! Where a value lies in the arena.

/// Where the values of one tensor lie: `pixels × channels`, `pitch` floats a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TensorView {
    pub place: ValuePlace,
    /// First channel within the pixel.
    pub first: usize,
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    /// Floats from one pixel to the next.
    pub pitch: usize,
}

impl TensorView {
    pub fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// Floats of the whole slot that one sample takes.
    pub fn sample_stride(&self) -> usize {
        self.pixels() * self.pitch
    }
}

/// The buffer a view looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValuePlace {
    Input,
    Slot(usize),
    /// Scratch that all threads share.
    Shared,
}
