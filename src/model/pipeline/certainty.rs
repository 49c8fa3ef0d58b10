//! Whether inputs that a combination is without could have changed the class that it tells.

use crate::dataflow::StepIndex;

use super::condition::position_of_largest;
use super::host::HostStep;
use super::{Pipeline, RowOrigin, StepRole, TensorSource};

/// The most that is lost when shares are added up in float32.
const ROUNDING: f32 = 1e-5;

impl Pipeline {
    /// Returns whether a row of a combination has the same largest value whatever its inputs at
    /// the places `late` hold, or `None` if that cannot be known. `present` are the places of the
    /// inputs that are there, `made` is the row that was made of them.
    ///
    /// It is known of votes, and of means of shares between 0 and 1, where the row is answered.
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

    /// The weights of a combination's inputs, where each is at most 1 in all of its values.
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

    /// Whether the values of a tensor lie between 0 and 1.
    fn is_share(&self, source: &TensorSource) -> bool {
        let RowOrigin::Step(step) = source.origin else {
            return false;
        };
        let StepRole::Host(host) = &self.step(step).role else {
            return false;
        };
        matches!(host, HostStep::Softmax | HostStep::Sigmoid | HostStep::Vote)
    }

    /// Whether a step's result is answered, or its largest value's position is.
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
