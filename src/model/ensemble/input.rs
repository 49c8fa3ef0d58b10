//! The input of a network: the normalisation of each channel, and the conversion of the ensemble's
//! samples.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use divisi_runtime::compute::resize_planes;
use divisi_runtime::device::MemberIndex;
use divisi_runtime::network::Shape;

use super::sample_values::SampleValues;

/// The input of a network: its shape and the normalisation of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The shape of a sample.
    pub shape: Shape,
    /// The normalisation of its values.
    pub normalisation: Normalisation,
    /// The ranges of a sample's values that the network takes, concatenated, if a sample consists
    /// of several tensors, or `None` for all values.
    pub runs: Option<Arc<[Range<usize>]>>,
}

impl Input {
    /// Creates the input of samples of `shape`, normalised by `steps`.
    ///
    /// # Errors
    /// The factors of a channel are not finite in float32.
    pub fn new(shape: Shape, steps: &NormalisationSteps) -> Result<Self, NotFinite> {
        let normalisation = Normalisation::new(steps, shape)?;
        Ok(Input {
            shape,
            normalisation,
            runs: None,
        })
    }

    /// Creates the input of a network that takes ranges of a sample's values unchanged.
    pub fn from_ranges(shape: Shape, runs: Vec<Range<usize>>) -> Self {
        Input {
            shape,
            normalisation: Normalisation::IDENTITY,
            runs: Some(runs.into()),
        }
    }

    /// Creates the input of a vector from ranges of a sample's values.
    pub fn from_value_ranges(runs: Vec<Range<usize>>) -> Self {
        let features = runs.iter().map(ExactSizeIterator::len).sum();
        Input::from_ranges(Shape::Vector { features }, runs)
    }

    /// Returns the input of samples that already have this shape.
    #[must_use]
    pub fn with_shape(self, shape: Shape) -> Self {
        Input {
            shape,
            runs: None,
            ..self
        }
    }

    /// Returns whether samples of a shape are resized.
    pub fn resizes(&self, sample: Shape) -> bool {
        self.runs.is_none() && sample != self.shape
    }

    /// Normalises samples that already have this shape, from `from` to `to`.
    pub fn transform(&self, from: SampleValues<'_>, to: &mut [f32]) {
        self.normalisation.map(self.shape, from, to);
    }

    /// Converts samples of shape `sample` to this input: resizes them if the sizes differ
    /// (bilinear, half-pixel centres), then normalises them.
    ///
    /// The two shapes must be equal, or images with the same number of channels.
    pub fn convert(&self, sample: Shape, from: SampleValues<'_>, to: &mut [f32]) {
        if let Some(runs) = &self.runs {
            return gather(runs, sample.elements(), from, to);
        }
        match (sample, self.shape) {
            (
                Shape::Image { height, width, .. },
                Shape::Image {
                    height: rows,
                    width: columns,
                    ..
                },
            ) if self.resizes(sample) => {
                resize_planes((height, width), (rows, columns), &from.floats(), to);
                self.normalisation.apply(self.shape, to);
            }
            _ => self.transform(from, to),
        }
    }
}

/// Copies ranges of each sample of `width` values.
fn gather(runs: &[Range<usize>], width: usize, from: SampleValues<'_>, to: &mut [f32]) {
    let mut at = 0;
    for sample in 0..from.len() / width {
        for run in runs {
            let first = sample * width + run.start;
            let values = from.get(first..first + run.len());
            let to = &mut to[at..][..run.len()];
            values
                .into_iter()
                .for_each(|values| values.map_to(to, |v| v));
            at += run.len();
        }
    }
}

/// The distinct inputs of an ensemble's members. A sample is converted once for each distinct
/// input, regardless of the number of members and workers that read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Transforms {
    sample: Shape,
    distinct: Vec<Input>,
    of_member: Vec<usize>,
}

impl Transforms {
    /// Collects the distinct inputs of `members`, for samples of shape `sample`.
    pub fn new(sample: Shape, members: impl IntoIterator<Item = Input>) -> Self {
        let mut distinct: Vec<Input> = Vec::new();
        let of_member = members
            .into_iter()
            .map(|input| {
                let known = distinct.iter().position(|known| *known == input);
                known.unwrap_or_else(|| {
                    distinct.push(input);
                    distinct.len() - 1
                })
            })
            .collect();
        Transforms {
            sample,
            distinct,
            of_member,
        }
    }

    /// Creates transforms from these inputs, each with its number.
    pub fn from_inputs(sample: Shape, planes: Vec<Input>) -> Self {
        Transforms {
            sample,
            distinct: planes,
            of_member: Vec::new(),
        }
    }

    /// Returns the shape of a sample before it is converted.
    pub fn sample(&self) -> Shape {
        self.sample
    }

    /// Returns the index of a member's input in [`Transforms::distinct`].
    pub fn index_of(&self, member: MemberIndex) -> usize {
        self.of_member[member]
    }

    /// Returns the index of every member's input.
    pub fn by_member(&self) -> &[usize] {
        &self.of_member
    }

    /// Returns the distinct inputs, in the order of the first member with each input.
    pub fn distinct(&self) -> &[Input] {
        &self.distinct
    }

    /// Returns the number of values of one sample in all distinct inputs together.
    pub fn values(&self) -> usize {
        self.distinct.iter().map(|i| i.shape.elements()).sum()
    }
}

/// One number for all channels, or one number per channel.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, or a list with one number per channel"
)]
pub enum PerChannel {
    /// The same number for all channels.
    All(f64),
    /// A number for each channel.
    Each(Vec<f64>),
}

impl PerChannel {
    /// Returns the number of a channel, or NaN if there is no number.
    fn at(&self, channel: usize) -> f64 {
        match self {
            PerChannel::All(number) => *number,
            PerChannel::Each(numbers) => numbers.get(channel).copied().unwrap_or(f64::NAN),
        }
    }

    /// Returns all written numbers.
    pub fn numbers(&self) -> &[f64] {
        match self {
            PerChannel::All(number) => std::slice::from_ref(number),
            PerChannel::Each(numbers) => numbers,
        }
    }

    /// Returns whether there is a number for each of `channels`.
    pub fn covers(&self, channels: usize) -> bool {
        match self {
            PerChannel::All(_) => true,
            PerChannel::Each(numbers) => numbers.len() == channels,
        }
    }
}

/// The steps of normalisation, in this order: `× scale`, `+ shift`, `− mean`, `÷ std`, and the
/// input transform of torchvision's Inception.
///
/// `mean` and `std` are in units of scaled and shifted values, as in torchvision: pixels from 0 to
/// 255, a scale of 1/255, and the mean and standard deviation of values up to one (1.0). A channel
/// of an image is one of its planes, and a channel of a vector is one of its features.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalisationSteps {
    /// The factor of values.
    pub scale: PerChannel,
    /// The number added to scaled values.
    pub shift: PerChannel,
    /// The mean, which is subtracted.
    pub mean: PerChannel,
    /// The standard deviation. Values are divided by it.
    pub std: PerChannel,
    /// Whether to convert ImageNet's normalisation to values from −1 to 1, as `transform_input` of
    /// torchvision's Inception v3 and GoogLeNet does. For images of three channels.
    pub transform_input: bool,
}

impl Default for NormalisationSteps {
    /// Returns steps that change no value.
    fn default() -> Self {
        NormalisationSteps {
            scale: PerChannel::All(1.0),
            shift: PerChannel::All(0.0),
            mean: PerChannel::All(0.0),
            std: PerChannel::All(1.0),
            transform_input: false,
        }
    }
}

/// The mean and standard deviation of red, green and blue in ImageNet, as in torchvision.
const IMAGENET: [(f64, f64); 3] = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)];

impl NormalisationSteps {
    /// Combines all steps of one channel, in float64.
    fn of(&self, channel: usize) -> Affine {
        let std = self.std.at(channel);
        let mut scale = self.scale.at(channel) / std;
        let mut shift = (self.shift.at(channel) - self.mean.at(channel)) / std;
        if let (true, Some((mean, std))) = (self.transform_input, IMAGENET.get(channel)) {
            scale *= std / 0.5;
            shift = shift * (std / 0.5) + (mean - 0.5) / 0.5;
        }
        Affine {
            scale: scale as f32,
            shift: shift as f32,
        }
    }
}

/// `value × scale + shift`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Affine {
    /// The factor.
    pub scale: f32,
    /// The number added.
    pub shift: f32,
}

/// The factors of a channel are not finite in float32.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("channel {channel}: the scale or shift exceeds float32")]
pub struct NotFinite {
    /// The first such channel.
    pub channel: usize,
}

impl Affine {
    const IDENTITY: Affine = Affine {
        scale: 1.0,
        shift: 0.0,
    };

    fn map(self, from: SampleValues<'_>, to: &mut [f32]) {
        match self == Affine::IDENTITY {
            true => from.map_to(to, |v| v),
            false => from.map_to(to, |v| v * self.scale + self.shift),
        }
    }

    fn apply(self, values: &mut [f32]) {
        for value in values {
            *value = *value * self.scale + self.shift;
        }
    }
}

impl fmt::Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.shift < 0.0 { '−' } else { '+' };
        write!(f, "× {:.5} {sign} {:.5}", self.scale, self.shift.abs())
    }
}

/// One multiplication and one addition for each channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Normalisation {
    /// The same operation for all channels.
    All(Affine),
    /// One operation for each channel, not all equal.
    Each(Arc<[Affine]>),
}

impl Normalisation {
    /// Leaves values unchanged.
    pub const IDENTITY: Normalisation = Normalisation::All(Affine::IDENTITY);

    /// Combines the steps for samples of `shape`.
    ///
    /// # Errors
    /// The factors of a channel are not finite in float32.
    pub fn new(steps: &NormalisationSteps, shape: Shape) -> Result<Self, NotFinite> {
        let all: Vec<Affine> = (0..shape.channels()).map(|c| steps.of(c)).collect();
        let finite = |a: &Affine| a.scale.is_finite() && a.shift.is_finite();
        if let Some(channel) = all.iter().position(|a| !finite(a)) {
            return Err(NotFinite { channel });
        }
        let same = all.windows(2).all(|pair| pair[0] == pair[1]);
        Ok(match all.first() {
            Some(first) if same => Normalisation::All(*first),
            _ => Normalisation::Each(all.into()),
        })
    }

    /// Returns the multiplication and addition of a channel.
    pub fn of(&self, channel: usize) -> Affine {
        match self {
            Normalisation::All(affine) => *affine,
            Normalisation::Each(channels) => channels[channel],
        }
    }

    /// Normalises samples of `shape`, from `from` to `to`.
    fn map(&self, shape: Shape, from: SampleValues<'_>, to: &mut [f32]) {
        if let Normalisation::All(affine) = self {
            return affine.map(from, to);
        }
        // Converts sample by sample, so that copied values are still in cache.
        let sample = shape.elements();
        let mut rest = from;
        for to in to.chunks_exact_mut(sample) {
            let (from, later) = rest.split_at(sample);
            rest = later;
            from.map_to(to, |v| v);
            self.apply(shape, to);
        }
    }

    /// Normalises samples of `shape` in place.
    fn apply(&self, shape: Shape, values: &mut [f32]) {
        match (self, shape) {
            (Normalisation::All(affine), _) => affine.apply(values),
            (Normalisation::Each(channels), Shape::Vector { .. } | Shape::Tensor(_)) => {
                for row in values.chunks_exact_mut(shape.channels()) {
                    let features = row.iter_mut().zip(channels.iter());
                    features.for_each(|(v, a)| *v = *v * a.scale + a.shift);
                }
            }
            (Normalisation::Each(channels), Shape::Image { height, width, .. }) => {
                let planes = values.chunks_exact_mut(height * width);
                let planes = planes.zip(channels.iter().cycle());
                planes.for_each(|(plane, affine)| affine.apply(plane));
            }
        }
    }
}
