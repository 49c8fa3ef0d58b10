//! Whether answers depend on what samples are padded with: convolutions over tokens, say, see more
//! than a mask of the attention hides.

use super::ComputeError;
use super::lowered::{Arena, Lowered};
use super::predictor::zeroed;
use super::varying::VaryingNetwork;
use crate::tensor::{DataType, Signature};

/// The largest difference that rounding makes, as a share of the largest value.
const ROUNDING: f32 = 1e-4;

impl VaryingNetwork {
    /// Checks that a sample is answered alike at its own length and padded to the first bucket.
    ///
    /// # Errors
    /// [`ComputeError::Padding`], or there is no network of that length.
    pub(super) fn check_padding(&self) -> Result<(), ComputeError> {
        let lengths = self.lengths();
        let (Some(mask), Some(&padded)) = (lengths.mask(), lengths.buckets().first()) else {
            return Ok(());
        };
        let length = padded.div_ceil(2);
        let row = made_up(self.signature(), length)?;
        let alone = self.answer(&row, (length, length), &self.lower(length)?)?;
        let answer = self.answer(&row, (length, padded), &*self.at(padded)?)?;
        let largest = alone.iter().fold(0.0f32, |most, v| most.max(v.abs()));
        let pairs = alone.iter().zip(&answer);
        let apart = pairs.fold(0.0f32, |most, (a, b)| most.max((a - b).abs()));
        let difference = apart / largest;
        // Of NaN nothing can be said.
        match difference > ROUNDING {
            true => Err(ComputeError::Padding {
                mask: mask.to_owned(),
                difference,
            }),
            false => Ok(()),
        }
    }

    /// Returns the answer to a sample of `length` that is run at length `ran`.
    fn answer(
        &self,
        row: &[f32],
        (length, ran): (usize, usize),
        lowered: &Lowered,
    ) -> Result<Vec<f32>, ComputeError> {
        let mut input = zeroed(lowered.inputs())?;
        let mut answer = zeroed(lowered.outputs())?;
        let mut whole = zeroed(self.outputs())?;
        self.signature().narrow(row, ran, &mut input);
        Arena::new(lowered, 1, 1)?.run(lowered, None, 1, &input, &mut answer)?;
        self.signature().widen(&answer, (length, ran), &mut whole);
        Ok(whole)
    }
}

/// Returns the row of a sample of `length`: integers of 1, which masks are where nothing is padded
/// and most tables have, and floats from −0.5 to 0.5.
fn made_up(signature: &Signature, length: usize) -> Result<Vec<f32>, ComputeError> {
    let values = signature.inputs.iter().map(|spec| {
        let count = spec.elements_at(length).unwrap_or(0);
        let float = |at: usize| (at * 7 % 13) as f32 / 13.0 - 0.5;
        let value = |at: usize| match spec.data_type {
            DataType::Bool => 1.0,
            integer if integer.is_integer() => 1.0,
            _ => float(at),
        };
        (0..count).map(value).collect::<Vec<f32>>()
    });
    let values: Vec<Vec<f32>> = values.collect();
    let mut row = zeroed(signature.input_width(signature.most()))?;
    signature.fill(&mut row, (length, length), |input| &values[input]);
    Ok(row)
}
