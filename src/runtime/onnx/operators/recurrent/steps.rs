//! One step of a recurrent layer.

use super::{LayerDirection, RecurrentLayer, RecurrentState};
use crate::network::{Activation as Function, Binary, Op};
use crate::onnx::activation::Activation;
use crate::onnx::operators::inputs::Added;
use crate::onnx::partial::Refusal;

impl RecurrentLayer<'_, '_> {
    fn pair(&mut self, kind: Binary, a: &Activation, b: &Activation) -> Added {
        self.network.pair(self.node, kind, a, b)
    }

    fn apply(&mut self, function: Function, x: &Activation) -> Added {
        let x = match self.clip.filter(|clip| *clip > 0.0) {
            Some(clip) => {
                let (least, most) = (-clip, clip);
                let op = Op::from(Function::Clip { least, most });
                self.network.each(self.node, op, x)?
            }
            None => x.clone(),
        };
        self.network.each(self.node, Op::from(function), &x)
    }

    /// Returns gate number `at` of several side by side.
    fn gate(&mut self, gates: &Activation, at: usize, count: usize) -> Added {
        let (first, size) = (at * self.hidden, count * self.hidden);
        self.network.slice(self.node, gates, 1, first, size, 1)
    }

    /// Adds the product of the state, if there is one, with recurrent weights.
    fn with_state(
        &mut self,
        gates: &Activation,
        state: &RecurrentState,
        by: &LayerDirection,
    ) -> Added {
        match &state.hidden {
            None => Ok(gates.clone()),
            Some(hidden) => {
                let more = self.network.product(self.node, hidden, &by.recurrent)?;
                self.pair(Binary::Add, gates, &more)
            }
        }
    }

    pub(super) fn rnn(
        &mut self,
        own: &Activation,
        by: &LayerDirection,
        state: RecurrentState,
    ) -> Result<RecurrentState, Refusal> {
        let all = self.with_state(own, &state, by)?;
        let hidden = Some(self.apply(by.functions[0], &all)?);
        Ok(RecurrentState { hidden, cell: None })
    }

    /// Gates are in the order update, reset, candidate.
    pub(super) fn gru(
        &mut self,
        own: &Activation,
        by: &LayerDirection,
        state: RecurrentState,
    ) -> Result<RecurrentState, Refusal> {
        let f = by.functions[0];
        let (both, last) = (self.gate(own, 0, 2)?, self.gate(own, 2, 1)?);
        let weights = by.recurrent.clone();
        let Some(before) = &state.hidden else {
            let update = self.gate(&both, 0, 1)?;
            let update = self.apply(f, &update)?;
            let last = match &by.inner_bias {
                Some(bias) => {
                    let reset = self.gate(&both, 1, 1)?;
                    let reset = self.apply(f, &reset)?;
                    let more = self
                        .network
                        .with(self.node, Binary::Mul, &reset, bias, false)?;
                    self.pair(Binary::Add, &last, &more)?
                }
                None => last,
            };
            let new = self.apply(by.functions[1], &last)?;
            let rest = self
                .network
                .with_number(self.node, Binary::Sub, &update, 1.0, true)?;
            let hidden = Some(self.pair(Binary::Mul, &rest, &new)?);
            return Ok(RecurrentState { hidden, cell: None });
        };
        let of_both = self.gate(&weights, 0, 2)?;
        let more = self.network.product(self.node, before, &of_both)?;
        let both = self.pair(Binary::Add, &both, &more)?;
        let both = self.apply(f, &both)?;
        let (update, reset) = (self.gate(&both, 0, 1)?, self.gate(&both, 1, 1)?);
        let of_last = self.gate(&weights, 2, 1)?;
        let more = if self.is_reset_first() {
            let mut more = self.network.product(self.node, before, &of_last)?;
            if let Some(bias) = &by.inner_bias {
                more = self
                    .network
                    .with(self.node, Binary::Add, &more, bias, false)?;
            }
            self.pair(Binary::Mul, &reset, &more)?
        } else {
            let kept = self.pair(Binary::Mul, &reset, before)?;
            self.network.product(self.node, &kept, &of_last)?
        };
        let last = self.pair(Binary::Add, &last, &more)?;
        let new = self.apply(by.functions[1], &last)?;
        // (1 − z) · new + z · before
        let change = self.pair(Binary::Sub, before, &new)?;
        let change = self.pair(Binary::Mul, &update, &change)?;
        let hidden = Some(self.pair(Binary::Add, &new, &change)?);
        Ok(RecurrentState { hidden, cell: None })
    }

    /// Gates are in the order input, output, forget, cell.
    pub(super) fn lstm(
        &mut self,
        own: &Activation,
        by: &LayerDirection,
        state: RecurrentState,
    ) -> Result<RecurrentState, Refusal> {
        let all = self.with_state(own, &state, by)?;
        let input = self.gate(&all, 0, 1)?;
        let input = self.with_peephole(&input, state.cell.as_ref(), by, 0)?;
        let input = self.apply(by.functions[0], &input)?;
        let new = self.gate(&all, 3, 1)?;
        let new = self.apply(by.functions[1], &new)?;
        let mut cell = self.pair(Binary::Mul, &input, &new)?;
        if let Some(before) = &state.cell {
            let forget = match self.node.integer("input_forget") {
                // The cell keeps the share that the input does not replace.
                Some(1) => self
                    .network
                    .with_number(self.node, Binary::Sub, &input, 1.0, true)?,
                _ => {
                    let forget = self.gate(&all, 2, 1)?;
                    let forget = self.with_peephole(&forget, Some(before), by, 2)?;
                    self.apply(by.functions[0], &forget)?
                }
            };
            let kept = self.pair(Binary::Mul, &forget, before)?;
            cell = self.pair(Binary::Add, &kept, &cell)?;
        }
        let output = self.gate(&all, 1, 1)?;
        let output = self.with_peephole(&output, Some(&cell), by, 1)?;
        let output = self.apply(by.functions[0], &output)?;
        let shown = self
            .network
            .each(self.node, Op::from(by.functions[2]), &cell)?;
        Ok(RecurrentState {
            hidden: Some(self.pair(Binary::Mul, &output, &shown)?),
            cell: Some(cell),
        })
    }

    /// Adds the peephole of a gate to the cell.
    fn with_peephole(
        &mut self,
        gate: &Activation,
        cell: Option<&Activation>,
        by: &LayerDirection,
        which: usize,
    ) -> Added {
        let (Some(cell), Some(peepholes)) = (cell, &by.peepholes) else {
            return Ok(gate.clone());
        };
        let weights = &peepholes[which];
        let more = self
            .network
            .with(self.node, Binary::Mul, cell, weights, false)?;
        self.pair(Binary::Add, gate, &more)
    }
}
