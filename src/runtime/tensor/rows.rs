//! Named tensors as rows of a network, and rows as named tensors.
//!
//! A row holds all tensors of a sample one after another. If lengths vary, the first value of the
//! row is the sample's length. Every tensor then takes the space of the largest length, with
//! padding after the sample's own values.

use crate::reading::ReadError;

use super::lengths::copy_part;
use super::row_check::SampleFault;
use super::signature::{Dimension, Signature, SignatureError, TensorSpec};
use super::value::{TensorError, TensorValue};

/// The most values of the rows of a request: 4 GiB.
const MOST_VALUES: usize = 1 << 30;

impl Signature {
    /// Returns rows with all inputs of each sample one after another, and the number of samples.
    /// All samples have one length.
    ///
    /// # Errors
    /// The tensors do not match the signature.
    pub fn rows(
        &self,
        tensors: &[(String, TensorValue)],
    ) -> Result<(Vec<f32>, usize), SignatureError> {
        self.check_names(tensors)?;
        let mut parts = Vec::with_capacity(self.inputs.len());
        for spec in &self.inputs {
            parts.push(values(spec, tensors)?);
        }
        let batch = parts.first().map_or(0, |part| part.batch);
        let others = self.inputs.iter().zip(&parts);
        if let Some((spec, part)) = others.into_iter().find(|(_, part)| part.batch != batch) {
            return Err(spec.other_batch(part.batch, &self.inputs[0], batch).into());
        }
        let length = self.length(&parts)?;
        let most = MOST_VALUES / self.input_width(self.largest_length()).max(1);
        if batch > most {
            let expected = format_args!("at most {most} samples");
            return Err(ReadError::expected(expected, batch).into());
        }
        let mut rows = vec![0.0; batch * self.input_width(self.largest_length())];
        let width = rows.len() / batch.max(1);
        for (at, row) in rows.chunks_exact_mut(width.max(1)).enumerate() {
            self.fill(row, length, length, |input| {
                let values = &parts[input].values;
                let each = values.len() / batch;
                &values[at * each..][..each]
            });
        }
        Ok((rows, batch))
    }

    /// Returns the input that a value of a row belongs to, or `None` if it is the row's length.
    pub fn input_of(&self, value: usize) -> Option<&TensorSpec> {
        let mut first = self.leading_values();
        let mut behind = self.inputs.iter().filter(|spec| {
            first += spec
                .elements_at(self.largest_length())
                .unwrap_or(usize::MAX - first);
            value < first
        });
        if value < self.leading_values() {
            return None;
        }
        behind.next()
    }

    /// Writes a sample of `length` into a row of zeros. `values` returns each input by number, as
    /// it is in a sample of length `held`, which is that or more.
    pub fn fill<'v>(
        &self,
        row: &mut [f32],
        length: usize,
        held: usize,
        values: impl Fn(usize) -> &'v [f32],
    ) {
        let mut first = self.leading_values();
        if let (Some(_), Some(lead)) = (&self.lengths, row.first_mut()) {
            *lead = length as f32;
        }
        for (input, spec) in self.inputs.iter().enumerate() {
            let most = spec.dims_at(self.largest_length());
            self.pad(spec, &mut row[first..]);
            let [held, part] = [held, length].map(|at| spec.dims_at(at));
            copy_part(values(input), &held, &part, &mut row[first..], &most);
            first += most.iter().product::<usize>();
        }
    }

    /// Fills a tensor of zeros with the padding of its input, if that is not 0.
    fn pad(&self, spec: &TensorSpec, values: &mut [f32]) {
        let fill = self.lengths.as_ref().map_or(0.0, |l| l.fill_of(&spec.name));
        if fill > 0.0 && spec.varies() {
            let size = spec.elements_at(self.largest_length()).unwrap_or(0);
            values[..size].fill(fill);
        }
    }

    fn check_names(&self, tensors: &[(String, TensorValue)]) -> Result<(), ReadError> {
        for (at, (name, _)) in tensors.iter().enumerate() {
            if !self.inputs.iter().any(|spec| spec.name == *name) {
                let known: Vec<&str> = self.inputs.iter().map(|s| &*s.name).collect();
                return Err(ReadError::new(format_args!(
                    "no input is named `{name}`, expected {}",
                    known.join(", ")
                )));
            }
            if tensors[..at].iter().any(|(other, _)| other == name) {
                return Err(ReadError::new(format_args!("input `{name}` appears twice")));
            }
        }
        Ok(())
    }

    /// Returns the common length of all parts, or the largest length if none varies.
    fn length(&self, parts: &[InputPart]) -> Result<usize, ReadError> {
        let mut known: Option<(&TensorSpec, usize)> = None;
        let each = self.inputs.iter().zip(parts);
        let each = each.flat_map(|(spec, part)| part.lengths.iter().map(move |l| (spec, *l)));
        for (spec, found) in each {
            match known {
                Some((first, expected)) if expected != found => {
                    return Err(spec.other_length(found, first, expected));
                }
                _ => known = Some((spec, found)),
            }
            if found > self.largest_length() || found == 0 {
                return Err(spec.wrong_length(found, self.largest_length()));
            }
        }
        Ok(known.map_or(self.largest_length(), |(_, length)| length))
    }

    /// Returns the largest length, or 0 if no length varies.
    pub fn largest_length(&self) -> usize {
        self.lengths.as_ref().map_or(0, |lengths| lengths.largest())
    }

    /// Returns the number of values of a row before its tensors: 1 for the length if it varies,
    /// else 0.
    pub fn leading_values(&self) -> usize {
        usize::from(self.lengths.is_some())
    }

    /// Returns the values of a row of a sample of `length`.
    pub fn input_width(&self, length: usize) -> usize {
        self.leading_values() + width(&self.inputs, length)
    }

    /// Returns the values of an answer to a sample of `length`.
    pub fn output_width(&self, length: usize) -> usize {
        width(&self.outputs, length)
    }

    /// Copies a sample's row into `to`, a row of samples of `length`, which is the sample's or
    /// more.
    pub fn narrow(&self, row: &[f32], length: usize, to: &mut [f32]) {
        let mut at = [self.leading_values(); 2];
        to[..at[0]].copy_from_slice(&row[..at[0]]);
        for spec in &self.inputs {
            let dims = [spec.dims_at(self.largest_length()), spec.dims_at(length)];
            let (from, to) = (&row[at[0]..], &mut to[at[1]..]);
            copy_part(from, &dims[0], &dims[1], to, &dims[1]);
            at = [0, 1].map(|i| at[i] + dims[i].iter().product::<usize>());
        }
    }

    /// Copies an answer to a sample of `length` that was run at length `ran` into a row of answers,
    /// and fills the rest with zeros.
    pub fn widen(&self, answer: &[f32], length: usize, ran: usize, row: &mut [f32]) {
        let mut at = [0; 2];
        if self.outputs.iter().any(TensorSpec::varies) {
            row.fill(0.0);
        }
        for spec in &self.outputs {
            let [ran, most] = [ran, self.largest_length()].map(|at| spec.dims_at(at));
            let (from, to) = (&answer[at[0]..], &mut row[at[1]..]);
            copy_part(from, &ran, &spec.dims_at(length), to, &most);
            at = [(at[0], ran), (at[1], most)].map(|(at, d)| at + d.iter().product::<usize>());
        }
    }

    /// Returns the answers in `rows` by name, for `batch` samples of the largest length.
    ///
    /// # Errors
    /// The rows have another length, or an output's values vary in size.
    pub fn answers(
        &self,
        rows: &[f32],
        batch: usize,
    ) -> Result<Vec<(String, TensorValue)>, ReadError> {
        self.answers_at(rows, batch, self.largest_length())
    }

    /// Returns the answers in `rows` by name, for `batch` samples of `length`.
    ///
    /// # Errors
    /// As for [`Signature::answers`].
    pub fn answers_at(
        &self,
        rows: &[f32],
        batch: usize,
        length: usize,
    ) -> Result<Vec<(String, TensorValue)>, ReadError> {
        let width = self.output_width(self.largest_length());
        let mut first = 0;
        let mut answers = Vec::new();
        for spec in &self.outputs {
            let [most, dims] = [self.largest_length(), length].map(|at| spec.dims_at(at));
            let size: usize = dims.iter().product();
            let mut values = vec![0.0; batch * size];
            let each = rows.chunks_exact(width.max(1)).take(batch);
            for (row, to) in each.zip(values.chunks_exact_mut(size.max(1))) {
                copy_part(&row[first..], &most, &dims, to, &dims);
            }
            let dims = std::iter::once(batch).chain(dims).collect();
            let value = TensorValue::of_floats(spec.data_type, dims, &values)?;
            answers.push((spec.name.clone(), value));
            first += most.iter().product::<usize>();
        }
        Ok(answers)
    }
}

fn width(specs: &[TensorSpec], length: usize) -> usize {
    let sizes = specs.iter().map(|spec| spec.elements_at(length));
    sizes.fold(0, |all, size| {
        all.saturating_add(size.unwrap_or(usize::MAX))
    })
}

/// Returns the fault of an integer that is too large for float32 at a position that is looked up in
/// a table. `values` is the number of values of a sample.
fn without_row(spec: &TensorSpec, values: usize, error: &TensorError) -> Option<SampleFault> {
    let &TensorError::Inexact { at, value } = error else {
        return None;
    };
    let (sample, position) = (at / values.max(1), at % values.max(1));
    let range = spec.ids.as_ref()?.at(position)?;
    (!range.contains_integer(value)).then(|| SampleFault::Id {
        input: spec.name.clone(),
        sample,
        position,
        id: value.to_string(),
        range,
    })
}

/// One input of all samples.
struct InputPart {
    batch: usize,
    /// The sizes of its dimensions that vary.
    lengths: Vec<usize>,
    values: Vec<f32>,
}

fn values(
    spec: &TensorSpec,
    tensors: &[(String, TensorValue)],
) -> Result<InputPart, SignatureError> {
    let name = &spec.name;
    let Some((_, tensor)) = tensors.iter().find(|(n, _)| n == name) else {
        let wrong = format_args!("input `{name}` is missing, expected {spec}");
        return Err(ReadError::new(wrong).into());
    };
    let place = |error: ReadError| error.at(format_args!("input `{name}`"));
    if tensor.data_type() != spec.data_type {
        let wrong = ReadError::expected(spec.data_type, tensor.data_type());
        return Err(place(wrong).into());
    }
    match tensor.dims() {
        [batch, sample @ ..] if *batch > 0 && spec.fits(sample) => {
            let floats = tensor.floats().map_err(|error| {
                let values = sample.iter().product();
                match without_row(spec, values, &error) {
                    Some(fault) => SignatureError::Sample(fault),
                    None => place(ReadError::new(error)).into(),
                }
            })?;
            let sizes = spec.dims.iter().zip(sample);
            let varying = sizes.filter(|(d, _)| **d == Dimension::Varies);
            Ok(InputPart {
                batch: *batch,
                lengths: varying.map(|(_, size)| *size).collect(),
                values: floats,
            })
        }
        found => Err(SignatureError::Dims {
            name: name.clone(),
            expected: spec.to_string(),
            found: found.to_vec(),
        }),
    }
}
