//! Where each value of a network lies: which buffer it is in, and which slot of the arena
//! each buffer gets.

use crate::network::{Graph, Shape};

use super::fuse::{FusedStep, StepKernel, ValueId};

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
    pub(super) fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// Floats of the whole slot that one sample takes.
    pub(super) fn sample_stride(&self) -> usize {
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

/// A value's buffer: its own, or a range of channels of a concatenation's.
#[derive(Clone, Copy, Debug)]
struct ValueBuffer {
    root: ValueId,
    first: usize,
}

/// ValueBuffers and shapes of all values.
pub(super) struct ValueBuffers {
    homes: Vec<ValueBuffer>,
    shapes: Vec<(usize, usize, usize)>,
}

impl ValueBuffers {
    pub(super) fn new(graph: &Graph, steps: &[FusedStep]) -> Self {
        let values = graph.nodes().len() + 2;
        let shapes = (0..values).map(|v| dims(graph, v)).collect();
        let homes = (0..values)
            .map(|root| ValueBuffer { root, first: 0 })
            .collect();
        let mut all = ValueBuffers { homes, shapes };
        // Backwards, so that a concatenation's own home is known before its inputs'.
        for step in steps.iter().rev() {
            if step.kernel == StepKernel::Concat {
                all.move_in(steps, step);
            }
        }
        all
    }

    /// Gives the inputs of a concatenation a home inside its buffer.
    fn move_in(&mut self, steps: &[FusedStep], concat: &FusedStep) {
        let home = self.homes[concat.output];
        let mut first = home.first;
        for &input in &concat.inputs {
            if joined_once(steps, input) && self.may_live_in(steps, input, home.root) {
                self.homes[input] = ValueBuffer {
                    root: home.root,
                    first,
                };
            }
            first += self.shapes[input].2;
        }
    }

    /// A step never reads the buffer that it writes, so a value whose maker reads
    /// the buffer, or that is read by a step writing to it, stays outside.
    fn may_live_in(&self, steps: &[FusedStep], value: ValueId, root: ValueId) -> bool {
        let inside = |v: ValueId| self.homes[v].root == root;
        let made_here = steps.iter().any(|s| s.output == value);
        made_here
            && steps.iter().all(|s| {
                let makes = s.output == value && s.reads().any(inside);
                let feeds = s.kernel != StepKernel::Concat
                    && inside(s.output)
                    && s.reads().any(|v| v == value);
                // A nested concatenation moves in with its own inputs or not at all.
                let carries = s.output == value
                    && s.kernel == StepKernel::Concat
                    && s.inputs.iter().any(|&i| self.homes[i].root == value);
                !makes && !feeds && !carries
            })
    }

    pub(super) fn view(&self, slots: &Slots, value: ValueId) -> TensorView {
        let home = self.homes[value];
        let (height, width, channels) = self.shapes[value];
        TensorView {
            place: match value {
                0 => ValuePlace::Input,
                _ => ValuePlace::Slot(slots.of_root[home.root]),
            },
            first: home.first,
            channels,
            height,
            width,
            pitch: self.shapes[home.root].2,
        }
    }

    /// Floats of a value itself, wherever it lives.
    pub(super) fn own_floats(&self, value: ValueId) -> usize {
        let (h, w, c) = self.shapes[value];
        h * w * c
    }

    fn floats(&self, root: ValueId) -> usize {
        let (h, w, c) = self.shapes[root];
        h * w * c
    }
}

/// Whether concatenations read the value exactly once: it can only be in one place.
fn joined_once(steps: &[FusedStep], value: ValueId) -> bool {
    let joins = steps.iter().filter(|s| s.kernel == StepKernel::Concat);
    joins
        .flat_map(|s| &s.inputs)
        .filter(|&&i| i == value)
        .count()
        == 1
}

/// `(height, width, channels)`; the value after the last node is the turned input.
fn dims(graph: &Graph, value: ValueId) -> (usize, usize, usize) {
    let shape = match value {
        0 => graph.input(),
        v => graph
            .nodes()
            .get(v - 1)
            .map_or(graph.input(), |node| node.shape),
    };
    match shape {
        Shape::Image {
            channels,
            height,
            width,
        } => (height, width, channels),
        Shape::Vector { features } => (1, 1, features),
    }
}

/// Slots of the arena: buffers whose lives do not overlap share one.
pub(super) struct Slots {
    /// Floats per sample of each slot.
    pub sizes: Vec<usize>,
    /// Whether each slot's values all die before the cut.
    pub early: Vec<bool>,
    /// Slot of each root value.
    of_root: Vec<usize>,
}

impl Slots {
    /// Values that die before step `cut` share no slot with others: the steps before it
    /// run in smaller chunks.
    pub(super) fn assign(
        buffers: &ValueBuffers,
        steps: &[FusedStep],
        answer: ValueId,
        cut: usize,
    ) -> Self {
        let values = buffers.homes.len();
        let mut last_use = vec![0usize; values];
        for (at, step) in steps.iter().enumerate() {
            for value in step.reads().chain([step.output]) {
                last_use[buffers.homes[value].root] = at;
            }
        }
        last_use[buffers.homes[answer].root] = usize::MAX;
        let mut slots = Slots {
            sizes: Vec::new(),
            early: Vec::new(),
            of_root: vec![usize::MAX; values],
        };
        let mut free: Vec<usize> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let root = buffers.homes[step.output].root;
            if slots.of_root[root] == usize::MAX {
                let early = last_use[root] < cut;
                slots.of_root[root] = slots.take(&mut free, buffers.floats(root), early);
            }
            let done = (1..values).filter(|&v| {
                buffers.homes[v].root == v && last_use[v] == at && slots.of_root[v] != usize::MAX
            });
            free.extend(done.map(|v| slots.of_root[v]));
        }
        slots
    }

    /// The free slot of its kind that wastes least, grown where none is large enough.
    fn take(&mut self, free: &mut Vec<usize>, floats: usize, early: bool) -> usize {
        let fit = |&slot: &usize| {
            let size = self.sizes[slot];
            (size < floats, size.abs_diff(floats))
        };
        let usable = (0..free.len()).filter(|&i| self.early[free[i]] == early);
        match usable.min_by_key(|&i| fit(&free[i])) {
            Some(i) => {
                let slot = free.swap_remove(i);
                self.sizes[slot] = self.sizes[slot].max(floats);
                slot
            }
            None => {
                self.sizes.push(floats);
                self.early.push(early);
                self.sizes.len() - 1
            }
        }
    }
}
