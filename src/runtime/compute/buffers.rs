//! The place of each value of a network: its buffer, and the slot of the arena that the buffer
//! takes.

use crate::network::{Graph, Shape, TensorOp};

use super::dynamic::RangedRow;
use super::fuse::{FusedStep, StepKernel, ValueId};
use super::reduced::{ReducedNumbers, ValueForm};

/// A view of the values of one tensor: `pixels × channels`, `pitch` floats a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorView {
    /// The buffer.
    pub place: ValuePlace,
    /// First channel within the pixel.
    pub first: usize,
    /// Channels of a pixel.
    pub channels: usize,
    /// Pixels of a column.
    pub height: usize,
    /// Pixels of a line.
    pub width: usize,
    /// Floats from one pixel to the next.
    pub pitch: usize,
}

impl TensorView {
    /// Returns the number of pixels.
    pub fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// Returns the view of `count` of its channels, from channel `first` on.
    pub(super) fn part(self, first: usize, count: usize) -> TensorView {
        TensorView {
            first: self.first + first,
            channels: count,
            ..self
        }
    }

    /// Returns whether its pixels are contiguous.
    pub(super) fn is_dense(&self) -> bool {
        self.pitch == self.channels
    }

    /// Returns the floats of the slot used by one sample.
    pub(super) fn sample_stride(&self) -> usize {
        self.pixels() * self.pitch
    }
}

/// A view of values that lie as numbers of fewer bits. Its lengths count these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReducedView {
    pub view: TensorView,
    pub numbers: ReducedNumbers,
}

impl ReducedView {
    /// Returns the floats of the slot used by one sample.
    pub(super) fn sample_floats(&self) -> usize {
        self.view.sample_stride() / self.numbers.group()
    }
}

/// The buffer of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValuePlace {
    /// The samples.
    Input,
    /// The value exists only as reduced numbers.
    Nowhere,
    /// A slot of the arena.
    Slot(usize),
    /// Scratch that all threads share, or the buffer that samples enter a GPU by.
    Shared,
}

/// A value's buffer: its own, a range of channels of a concatenation's buffer, or the buffer of the
/// value that it is a view of.
#[derive(Clone, Copy, Debug)]
struct ValueBuffer {
    root: ValueId,
    first: usize,
    pitch: usize,
}

/// The buffers and shapes of all values.
pub(super) struct ValueBuffers {
    buffers: Vec<ValueBuffer>,
    shapes: Vec<(usize, usize, usize)>,
}

impl ValueBuffers {
    pub(super) fn new(graph: &Graph, steps: &[FusedStep]) -> Self {
        let values = graph.nodes().len() + 2;
        let shapes: Vec<(usize, usize, usize)> = (0..values).map(|v| dims(graph, v)).collect();
        let buffers = (0..values)
            .map(|root| ValueBuffer {
                root,
                first: 0,
                pitch: shapes[root].2,
            })
            .collect();
        let mut all = ValueBuffers { buffers, shapes };
        let ranged = steps.iter().filter(|s| s.kernel == StepKernel::RangedBytes);
        ranged.for_each(|step| all.hold_bytes(step.output));
        // Backwards, so that a concatenation's own home is known before its inputs'.
        for step in steps.iter().rev() {
            if step.kernel == StepKernel::Concat {
                all.join(steps, step);
            }
        }
        for step in steps {
            all.share_view(step);
        }
        all
    }

    /// Makes a value's rows those of bytes by the range of a sample.
    fn hold_bytes(&mut self, value: ValueId) {
        let floats = RangedRow::for_values(self.shapes[value].2).floats();
        self.shapes[value].2 = floats;
        self.buffers[value].pitch = floats;
    }

    /// Places a view in the buffer of its input if the input is contiguous.
    fn share_view(&mut self, step: &FusedStep) {
        if !matches!(step.kernel, StepKernel::Tensor(TensorOp::View { .. })) {
            return;
        }
        let (from, to) = (step.inputs[0], step.output);
        // Samples are read where they arrived, and an answer cannot be placed there.
        let whole = self.buffers[from].pitch == self.shapes[from].2 && self.buffers[from].root != 0;
        let joined = self.buffers[to].root != to;
        if whole && !joined {
            self.buffers[to] = ValueBuffer {
                root: self.buffers[from].root,
                first: 0,
                pitch: self.shapes[to].2,
            };
        }
    }

    /// Returns whether a step has nothing to do, because its answer shares its input's buffer.
    pub(super) fn is_free(&self, step: &FusedStep) -> bool {
        let is_view = matches!(step.kernel, StepKernel::Tensor(TensorOp::View { .. }));
        is_view && self.buffers[step.inputs[0]].root == self.buffers[step.output].root
    }

    /// Places the inputs of a concatenation in its buffer if possible.
    fn join(&mut self, steps: &[FusedStep], concat: &FusedStep) {
        let buffer = self.buffers[concat.output];
        let mut first = buffer.first;
        for &input in &concat.inputs {
            if joined_once(steps, input) && self.may_share(steps, input, buffer.root) {
                self.buffers[input] = ValueBuffer { first, ..buffer };
            }
            first += self.shapes[input].2;
        }
    }

    /// Returns whether `value` may use the buffer of `root`. A step never reads the buffer that it
    /// writes. So a value stays outside if the step that makes it reads the buffer, or if a step
    /// that reads it writes to the buffer.
    fn may_share(&self, steps: &[FusedStep], value: ValueId, root: ValueId) -> bool {
        let inside = |v: ValueId| self.buffers[v].root == root;
        // Samples enter a tensor in one piece.
        let in_pieces = self.shapes[value].0 > 1;
        let makes =
            |s: &FusedStep| s.output == value && (s.kernel != StepKernel::Enter || in_pieces);
        let made_here = steps.iter().any(makes);
        made_here
            && steps.iter().all(|s| {
                let makes = s.output == value && s.reads_any(inside);
                let feeds = s.kernel != StepKernel::Concat && inside(s.output) && s.takes(value);
                // Strides may run across the ends of rows.
                let strided = s.tensors.is_some() && (s.takes(value) || s.output == value);
                // A nested concatenation moves in together with its own inputs or not at all.
                let carries = s.output == value
                    && s.kernel == StepKernel::Concat
                    && s.inputs.iter().any(|&i| self.buffers[i].root == value);
                !makes && !feeds && !strided && !carries
            })
    }

    /// Returns the number of values.
    pub(super) fn count(&self) -> usize {
        self.buffers.len()
    }

    /// Returns the value that owns the buffer of a value.
    pub(super) fn root(&self, value: ValueId) -> ValueId {
        self.buffers[value].root
    }

    /// Returns the view of a value's floats.
    pub(super) fn view(&self, slots: &Slots, value: ValueId) -> TensorView {
        let place = match value {
            0 => ValuePlace::Input,
            _ => slots.place(slots.floats[self.root(value)]),
        };
        self.placed(value, place)
    }

    /// Returns the view of a value's reduced numbers, or `None` if it has none.
    pub(super) fn reduced_view(
        &self,
        slots: &Slots,
        value: ValueId,
        form: ValueForm,
    ) -> Option<ReducedView> {
        let numbers = form.reduced?;
        let place = slots.place(slots.reduced[self.root(value)]);
        let view = self.placed(value, place);
        Some(ReducedView { view, numbers })
    }

    /// Returns the view of a value in some place.
    pub(super) fn placed(&self, value: ValueId, place: ValuePlace) -> TensorView {
        let buffer = self.buffers[value];
        let (height, width, channels) = self.shapes[value];
        TensorView {
            place,
            first: buffer.first,
            channels,
            height,
            width,
            pitch: buffer.pitch,
        }
    }

    /// Returns the floats of a value itself, whatever its buffer.
    pub(super) fn own_floats(&self, value: ValueId) -> usize {
        let (h, w, c) = self.shapes[value];
        h * w * c
    }

    fn floats(&self, root: ValueId) -> usize {
        let (h, w, c) = self.shapes[root];
        h * w * c
    }
}

/// Returns whether concatenations read the value exactly once. A value can only be in one place.
fn joined_once(steps: &[FusedStep], value: ValueId) -> bool {
    let joins = steps.iter().filter(|s| s.kernel == StepKernel::Concat);
    joins
        .flat_map(|s| &s.inputs)
        .filter(|&&i| i == value)
        .count()
        == 1
}

/// Returns `(height, width, channels)` of a value. The value after the last node is the input
/// with channels last.
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
        // Rows lie side by side, as the pixels of one line.
        Shape::Tensor(dims) => (
            1,
            dims.elements() / dims.last_size().max(1),
            dims.last_size(),
        ),
    }
}

/// The slots of the arena. Buffers that are not needed at the same time share one.
pub(super) struct Slots {
    /// Floats per sample of each slot.
    pub sizes: Vec<usize>,
    /// Whether only steps before the cut use each slot.
    pub early: Vec<bool>,
    /// Slots of the floats and of the reduced numbers of each root value.
    floats: Vec<Option<usize>>,
    reduced: Vec<Option<usize>>,
}

impl Slots {
    /// Assigns a slot to each buffer. Values that are needed before step `cut` alone share no
    /// slot with others, since the steps before it run in smaller chunks.
    pub(super) fn assign(
        buffers: &ValueBuffers,
        steps: &[FusedStep],
        answer: ValueId,
        cut: usize,
    ) -> Self {
        let forms = vec![ValueForm::FLOATS; buffers.count()];
        Slots::of_forms(buffers, &forms, steps, answer, cut)
    }

    /// Assigns a slot to each form of each buffer.
    pub(super) fn of_forms(
        buffers: &ValueBuffers,
        forms: &[ValueForm],
        steps: &[FusedStep],
        answer: ValueId,
        cut: usize,
    ) -> Self {
        let values = buffers.count();
        let mut last_use = vec![0usize; values];
        let mut of_root = vec![ValueForm::default(); values];
        for (at, step) in steps.iter().enumerate() {
            for value in step.reads().chain([step.output]) {
                let root = buffers.root(value);
                last_use[root] = at;
                of_root[root] = of_root[root].or(forms[value]);
            }
        }
        last_use[buffers.root(answer)] = usize::MAX;
        let mut slots = Slots {
            sizes: Vec::new(),
            early: Vec::new(),
            floats: vec![None; values],
            reduced: vec![None; values],
        };
        let mut free: Vec<usize> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let root = buffers.root(step.output);
            if slots.slots_of(root).next().is_none() {
                let (floats, early) = (buffers.floats(root), last_use[root] < cut);
                if of_root[root].float {
                    slots.floats[root] = Some(slots.take(&mut free, floats, early));
                }
                if let Some(numbers) = of_root[root].reduced {
                    let floats = floats.div_ceil(numbers.group());
                    slots.reduced[root] = Some(slots.take(&mut free, floats, early));
                }
            }
            let done = (1..values).filter(|&v| buffers.root(v) == v && last_use[v] == at);
            free.extend(done.flat_map(|v| slots.slots_of(v)).collect::<Vec<_>>());
        }
        slots
    }

    /// Iterates over the slots of a root value.
    fn slots_of(&self, root: ValueId) -> impl Iterator<Item = usize> {
        let slots = [self.floats[root], self.reduced[root]];
        slots.into_iter().flatten()
    }

    /// Returns a slot as the place of a value, or `Nowhere` without a slot.
    fn place(&self, slot: Option<usize>) -> ValuePlace {
        slot.map_or(ValuePlace::Nowhere, ValuePlace::Slot)
    }

    /// Makes the slot of a value's buffer `times` as large.
    pub(super) fn hold(&mut self, buffers: &ValueBuffers, value: ValueId, times: usize) {
        let root = buffers.root(value);
        if let Some(slot) = self.floats[root] {
            self.sizes[slot] = self.sizes[slot].max(buffers.floats(root) * times);
        }
    }

    /// Takes the free slot with the best fit and grows it if necessary, or adds a new slot.
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
