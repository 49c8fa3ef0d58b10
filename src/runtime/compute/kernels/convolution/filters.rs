//! A convolution's weights as they are in the file, with the batch norm after it.

use super::super::panels::Panels;
use crate::network::Conv2d;

/// `[out, in / groups, height, width]`, each output scaled.
#[derive(Clone, Copy)]
pub(in crate::compute) struct Filters<'a> {
    pub conv: Conv2d,
    pub raw: &'a [f32],
    /// One factor an output channel; none for 1.
    pub scale: Option<&'a [f32]>,
    /// Called now and then: what was read before is not needed again.
    pub read: &'a dyn Fn(),
}

/// Floats of weights that are read between two calls of [`Filters::read`].
const READ: usize = 1 << 20;

impl Filters<'_> {
    /// Input channels of a group.
    pub fn inputs(&self) -> usize {
        self.raw.len() / (self.conv.channels * self.conv.kernel.area()).max(1)
    }

    /// Output channels of a group.
    pub fn outputs(&self) -> usize {
        self.conv.channels / self.conv.groups
    }

    /// What output channel `out` is multiplied with.
    pub fn factor(&self, out: usize) -> f32 {
        self.scale.map_or(1.0, |s| s[out])
    }

    /// The weights of output `out` (counted over all groups) for input `input` of its
    /// group: the kernel's lines after each other, not scaled.
    pub fn kernel(&self, out: usize, input: usize) -> &[f32] {
        let area = self.conv.kernel.area();
        &self.raw[(out * self.inputs() + input) * area..][..area]
    }

    /// Fills the panels of all groups; a panel's lines are kernel positions, then inputs.
    pub fn pack(&self, panels: Panels, packed: &mut [f32]) {
        let (inputs, area) = (self.inputs(), self.conv.kernel.area());
        let groups = packed.chunks_exact_mut(panels.floats().max(1));
        for (group, packed) in groups.enumerate() {
            let first = group * self.outputs();
            panels.pack(packed, |column| {
                let out = first + column;
                let factor = self.factor(out);
                let (first, len) = (out * inputs * area, inputs * area);
                if first % READ < len {
                    (self.read)();
                }
                let raw = &self.raw[first..][..len];
                (0..area).flat_map(move |at| (0..inputs).map(move |i| factor * raw[i * area + at]))
            });
        }
    }

    /// Fills the panels of narrow groups of `width`: a panel's lines are kernel positions,
    /// then the inputs of each column's own group.
    pub fn pack_narrow(&self, width: usize, panels: Panels, packed: &mut [f32]) {
        let area = self.conv.kernel.area();
        panels.pack(packed, |out| {
            let factor = self.factor(out);
            let raw = &self.raw[out * width * area..][..width * area];
            (0..area).flat_map(move |at| (0..width).map(move |i| factor * raw[i * area + at]))
        });
    }
}
