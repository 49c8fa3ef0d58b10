//! Checks whether a network for texts of one length depends on the padding of shorter texts.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use divisi_runtime::compute::{PADDING_ROUNDING, largest_difference};
use divisi_runtime::tensor::TensorSpec;

use super::samples::TokenTensor;
use super::{Ensemble, Member};

/// The number of synthetic texts of each tested length.
const TEXTS: usize = 8;

impl Ensemble {
    /// Returns whether a member for texts of one length answers differently if a shorter text has
    /// other padding ids, determined by a trial. Returns false if the trial is not possible.
    pub(super) fn depends_on_padding(&self, member: &Member) -> bool {
        let Some(inputs) = self.token_inputs(member) else {
            return false;
        };
        let length = inputs[0].0.elements().unwrap_or(0);
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let lengths = [1, length / 2, length.saturating_sub(1)].map(|tokens| tokens.max(1));
        let pairs = lengths.iter().flat_map(|tokens| [*tokens; TEXTS]);
        let pairs: Vec<[Vec<f32>; 2]> = pairs
            .map(|tokens| rows(&inputs, tokens, self.padding(), &mut random))
            .collect();
        let apart = largest_difference(&member.graph, &member.weights, &pairs);
        apart.is_ok_and(|apart| apart > PADDING_ROUNDING)
    }

    /// Returns the id that pads texts, or 0 if samples are not texts.
    pub(super) fn padding(&self) -> u32 {
        self.text
            .as_ref()
            .map_or(0, |text| text.tokenizer().padding())
    }

    /// Returns the inputs of a member with the tokenizer output for each, or `None` if the member
    /// takes other inputs.
    fn token_inputs(&self, member: &Member) -> Option<Vec<(TensorSpec, TokenTensor)>> {
        let (text, tensors) = (self.text.as_ref()?, self.tensors.as_ref()?);
        let kinds = tensors.iter().zip(text.kinds());
        let inputs = member.graph.signature().inputs.into_iter().map(|spec| {
            let mut named = kinds.clone().filter(|(known, _)| known.name == spec.name);
            named.next().map(|(_, kind)| (spec, *kind))
        });
        let inputs: Vec<(TensorSpec, TokenTensor)> = inputs.collect::<Option<_>>()?;
        (!inputs.is_empty()).then_some(inputs)
    }
}

/// Returns a row of a text of `tokens` random ids padded with `padding`, and the same text with
/// other padding.
fn rows(
    inputs: &[(TensorSpec, TokenTensor)],
    tokens: usize,
    padding: u32,
    random: &mut ChaCha8Rng,
) -> [Vec<f32>; 2] {
    let mut rows = [Vec::new(), Vec::new()];
    for (spec, kind) in inputs {
        let ids = spec.ids.as_ref().map_or(1, |ids| ids.most().max(1) as u64);
        for at in 0..spec.elements().unwrap_or(0) {
            let id = random.random_range(0..=ids) as f32;
            let (is_text, padding) = (at < tokens, padding as f32);
            let [one, other] = match kind {
                TokenTensor::Ids if is_text => [id, id],
                TokenTensor::Ids => [padding, id],
                TokenTensor::Mask => [f32::from(u8::from(is_text)); 2],
                TokenTensor::Types => [0.0; 2],
                TokenTensor::Positions => [at as f32; 2],
            };
            rows[0].push(one);
            rows[1].push(other);
        }
    }
    rows
}
