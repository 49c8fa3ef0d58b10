//! Determines whether missing inputs of a combination could have changed the resulting class.

use crate::dataflow::StepIndex;

use super::condition::position_of_largest;
use super::host::HostStep;
use super::{Pipeline, RowOrigin, StepRole, TensorSource};

/// The maximum error of a sum of shares in float32.
const ROUNDING: f32 = 1e-5;

impl Pipeline {
    /// Returns whether a combination's row has the same largest value for any values of the inputs
    /// at the places `late`, or `None` if this is unknown. `present` are the places of the
    /// available inputs, and `made` is the row made from them.
    ///
    /// It is known for votes, and for means of shares between 0 and 1, if the row is an output.
    pub fn is_certain(
        &self,
        step: StepIndex,
        present: &[usize],
        late: &[usize],
        made: &[f32],
    ) -> Option<bool> {
        let StepRole::Host(combination) = &self.step(step).role else {
            return None;
        };
        let weights = self.weights(step, combination)?;
        if made.is_empty() || !self.tells_class(step) {
            return None;
        }
        let total = |places: &[usize]| places.iter().map(|at| weights[*at]).sum::<f32>();
        let (here, missing) = (total(present), total(late));
        let largest = position_of_largest(made);
        let others = made.iter().enumerate().filter(|(at, _)| *at != largest);
        let second = others.map(|(_, v)| *v).fold(f32::NEG_INFINITY, f32::max);
        Some((made[largest] - second) * here > missing + ROUNDING * (here + missing))
    }

    /// Returns the weights of a combination's inputs, if all values of each input are at most 1.
    fn weights(&self, step: StepIndex, combination: &HostStep) -> Option<Vec<f32>> {
        let sources = &self.step(step).sources;
        let equal = || vec![1.0; sources.len()];
        let are_shares = || sources.iter().all(|source| self.is_share(source));
        match combination {
            HostStep::Vote => Some(equal()),
            HostStep::Mean if are_shares() => Some(equal()),
            HostStep::WeightedMean { weights } if are_shares() => Some(weights.clone()),
            _ => None,
        }
    }

    /// Returns whether the values of a tensor lie between 0 and 1.
    fn is_share(&self, source: &TensorSource) -> bool {
        let RowOrigin::Step(step) = source.origin else {
            return false;
        };
        let StepRole::Host(host) = &self.step(step).role else {
            return false;
        };
        matches!(host, HostStep::Softmax | HostStep::Sigmoid | HostStep::Vote)
    }

    /// Returns whether a step's result, or the position of its largest value, is an output.
    fn tells_class(&self, step: StepIndex) -> bool {
        self.outputs().iter().any(|output| {
            let RowOrigin::Step(made_by) = output.source.origin else {
                return false;
            };
            let by = self.step(made_by);
            let reads = || by.sources.iter().all(|s| s.origin == RowOrigin::Step(step));
            made_by == step || (by.role == StepRole::Host(HostStep::ArgMax) && reads())
        })
    }
}
