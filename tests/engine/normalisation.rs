//! Values are normalised channel by channel, as torchvision does it, on every path.

use std::sync::{Arc, Mutex};

use candle_core::{Device, Tensor};
use divisi_engine::serving::{BuildError, PredictorFactory, Request};
use divisi_model::ensemble::{
    BatchSize, ComputedMember, Ensemble, Files, Input, Member, NormalisationSteps, PerChannel,
};
use divisi_runtime::compute::{ComputeError, FakePredictor, Predictor, read_rows, reference};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::network::Shape;
use proptest::prelude::*;

use crate::common::{networks, start};

/// As `torchvision.transforms.Normalize` for ImageNet, for pixels of 0 to 255.
const IMAGES: &str = r#"name = "images"
classes = 3
batch_sizes = [8]
segment_size = 16

[input]
shape = [3, 4, 4]
scale = 0.00392156862745098
mean = [0.485, 0.456, 0.406]
std = [0.229, 0.224, 0.225]

[calibration]
synthetic = 20

[[members]]
name = "plain"
network = { builder = "convnet", channels = [4], depth = 1 }

[[members]]
name = "large"
network = { builder = "convnet", channels = [4, 8], depth = 1 }
input = { shape = [3, 6, 6] }

[[members]]
name = "inception"
network = { builder = "convnet", channels = [4], depth = 1 }
input = { transform_input = true }

[[members]]
name = "own"
network = { builder = "perceptron" }
input = { scale = [1, 2, 3], shift = [0.5, 0, -0.5], mean = 0, std = [1, 0.5, 4.0] }

[[members]]
name = "the-same-in-other-words"
network = { builder = "perceptron" }
input = { scale = 0.00392156862745098, mean = [0.485, 0.456, 0.406] }
"#;

/// Of a vector, every feature is a channel.
const ROWS: &str = r#"name = "rows"
classes = 2
batch_sizes = [8]
segment_size = 16

[input]
shape = [4]
mean = [1, 2, 3, 4]
std = [0.5, 1, 2, 4]

[calibration]
synthetic = 20

[[members]]
name = "a"
network = { builder = "perceptron", hidden = [5] }

[[members]]
name = "b"
network = { builder = "perceptron" }
input = { shift = [4, 3, 2, 1] }
"#;

static IMAGE_FILES: &[(&str, &[u8])] = &[("ensemble.toml", IMAGES.as_bytes())];
static ROW_FILES: &[(&str, &[u8])] = &[("ensemble.toml", ROWS.as_bytes())];

fn read(files: &'static [(&'static str, &'static [u8])]) -> Arc<Ensemble> {
    let name = "normalised";
    Arc::new(Ensemble::read(&Files::Embedded { name, files }).expect("valid"))
}

const MEAN: [f64; 3] = [0.485, 0.456, 0.406];
const STD: [f64; 3] = [0.229, 0.224, 0.225];

/// `torchvision.models.inception.Inception3._transform_input`, as it is written there.
fn transform_input(x: [f64; 3]) -> [f64; 3] {
    [
        x[0] * (0.229 / 0.5) + (0.485 - 0.5) / 0.5,
        x[1] * (0.224 / 0.5) + (0.456 - 0.5) / 0.5,
        x[2] * (0.225 / 0.5) + (0.406 - 0.5) / 0.5,
    ]
}

/// One value of `channel` as a member of [`IMAGES`] or [`ROWS`] takes it, step by step.
fn by_the_steps(member: &str, channel: usize, value: f64) -> f64 {
    let normalised = (value * 0.00392156862745098 - MEAN[channel % 3]) / STD[channel % 3];
    match member {
        "plain" | "large" | "the-same-in-other-words" => normalised,
        "inception" => transform_input([normalised; 3])[channel],
        "own" => {
            let (scale, shift, std) = (
                [1.0, 2.0, 3.0][channel],
                [0.5, 0.0, -0.5][channel],
                [1.0, 0.5, 4.0][channel],
            );
            (value * scale + shift) / std
        }
        _ => {
            let i = channel as f64;
            let shift = if member == "b" { 4.0 - i } else { 0.0 };
            (value + shift - (i + 1.0)) / [0.5, 1.0, 2.0, 4.0][channel]
        }
    }
}

/// A whole sample as a member takes it; resized before it is normalised.
fn by_hand(ensemble: &Ensemble, member: &Member, sample: &[f32]) -> Vec<f32> {
    let plain = Input::new(member.input.shape, &NormalisationSteps::default()).expect("finite");
    let mut resized = vec![0.0; member.input.shape.elements()];
    plain.convert(ensemble.input.shape, sample.into(), &mut resized);
    let channel = resized.len() / member.input.shape.channels();
    let values = resized.iter().enumerate();
    values
        .map(|(i, v)| by_the_steps(&member.name, i / channel, f64::from(*v)) as f32)
        .collect()
}

fn is_near(a: &[f32], b: &[f32]) -> bool {
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * b.abs().max(1.0);
    a.len() == b.len() && a.iter().zip(b).all(near)
}

/// Keeps the rows that each member is given.
struct Spies(Arc<Mutex<Vec<Vec<f32>>>>);

struct Spy {
    member: MemberIndex,
    classes: usize,
    seen: Arc<Mutex<Vec<Vec<f32>>>>,
}

impl PredictorFactory for Spies {
    fn build(
        &self,
        network: ComputedMember,
        _: BatchSize,
        _: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        let seen = Arc::clone(&self.0);
        let classes = if seen.lock().expect("no panic").len() == 5 {
            3
        } else {
            2
        };
        Ok(Box::new(Spy {
            member: network.member,
            classes,
            seen,
        }))
    }
}

impl Predictor for Spy {
    fn predict(
        &mut self,
        batch: usize,
        input: &Tensor,
        output: &Tensor,
    ) -> Result<(), ComputeError> {
        read_rows(&input.narrow(0, 0, batch)?, |rows| {
            self.seen.lock().expect("no panic")[self.member].extend_from_slice(rows);
        })?;
        FakePredictor::new(self.member, self.classes).predict(batch, input, output)
    }
}

#[test]
fn workers_are_given_what_the_steps_give_by_hand() {
    for files in [IMAGE_FILES, ROW_FILES] {
        let ensemble = read(files);
        let seen = Arc::new(Mutex::new(vec![Vec::new(); ensemble.members.len()]));
        let engine = start(&ensemble, Arc::new(Spies(Arc::clone(&seen))));
        let samples = ensemble.calibration.clone().expect("made up");
        let request: Vec<f32> = samples.row(3).iter().map(|v| 127.5 + 127.5 * v).collect();
        let answer = engine.predict(Request::new(&request)).expect("admitted");
        answer.expect("answered");
        for (member, seen) in ensemble
            .members
            .iter()
            .zip(&*seen.lock().expect("no panic"))
        {
            let expected = by_hand(&ensemble, member, &request);
            assert!(
                is_near(seen, &expected),
                "{}: {seen:?} {expected:?}",
                member.name
            );
        }
    }
}

#[test]
fn members_that_take_the_same_share_it_in_whatever_words() {
    let images = read(IMAGE_FILES).transforms();
    assert_eq!(images.by_member(), [0, 1, 2, 3, 0]);
    assert_eq!(images.values(), 48 + 108 + 48 + 48);
    assert_eq!(read(ROW_FILES).transforms().by_member(), [0, 1]);
}

/// Returns the answers of an ensemble of this module to its calibration samples, by plain
/// computation.
pub fn plainly(ensemble: &Ensemble) -> Vec<Vec<f32>> {
    let samples = ensemble.calibration.as_ref().expect("made up");
    let answer = |i| {
        let mut mean = vec![0.0; ensemble.answer_width()];
        for member in &ensemble.members {
            let alone = probabilities(member, by_hand(ensemble, member, samples.row(i)));
            let share = ensemble.members.len() as f32;
            mean.iter_mut()
                .zip(alone)
                .for_each(|(m, a)| *m += a / share);
        }
        mean
    };
    (0..samples.len()).map(answer).collect()
}

/// Images, normalised channel by channel.
pub fn images() -> Arc<Ensemble> {
    read(IMAGE_FILES)
}

#[test]
fn an_engine_answers_what_plain_computation_of_normalised_samples_gives() {
    for files in [IMAGE_FILES, ROW_FILES] {
        let ensemble = read(files);
        let engine = start(&ensemble, networks(&ensemble));
        let samples = ensemble.calibration.clone().expect("made up");
        let answer = engine.predict(Request::new(samples.values()));
        let answer = answer.expect("admitted").expect("answered");
        for (row, expected) in answer.rows().zip(plainly(&ensemble)) {
            assert!(is_near(row, &expected), "{row:?} for {expected:?}");
        }
    }
}

fn probabilities(member: &Member, input: Vec<f32>) -> Vec<f32> {
    let graph = member.graph.with_softmax().expect("logits");
    let width = input.len();
    let x = Tensor::from_vec(input, (1, width), &Device::Cpu).expect("tensor");
    let mut weights = reference::Fixed::new(&graph, &member.weights);
    let answer = reference::run(&graph, &mut weights, &x).and_then(|t| t.flatten_all()?.to_vec1());
    answer.expect("runs")
}

#[test]
fn inceptions_own_input_is_pixels_from_minus_1_to_1() {
    let steps = NormalisationSteps {
        scale: PerChannel::All(1.0 / 255.0),
        mean: PerChannel::Each(MEAN.to_vec()),
        std: PerChannel::Each(STD.to_vec()),
        transform_input: true,
        ..NormalisationSteps::default()
    };
    let input = Input::new(Shape::image(3, 1, 1), &steps).expect("finite");
    for pixel in [0.0f32, 1.0, 127.5, 255.0] {
        let mut found = [0.0; 3];
        input.transform([pixel; 3][..].into(), &mut found);
        assert!(is_near(&found, &[pixel / 127.5 - 1.0; 3]), "{found:?}");
    }
}

fn per_channel(range: std::ops::Range<f64>) -> impl Strategy<Value = PerChannel> {
    prop_oneof![
        range.clone().prop_map(PerChannel::All),
        prop::collection::vec(range, 3).prop_map(PerChannel::Each),
    ]
}

fn at(numbers: &PerChannel, channel: usize) -> f64 {
    match numbers.numbers() {
        [one] => *one,
        each => each[channel],
    }
}

proptest! {
    #[test]
    fn one_multiplication_and_addition_are_all_the_steps(
        scale in per_channel(-2.0..2.0),
        shift in per_channel(-2.0..2.0),
        mean in per_channel(-2.0..2.0),
        std in per_channel(0.1..2.0),
        transform in any::<bool>(),
        values in prop::collection::vec(-300f32..300.0, 3 * 2 * 2 * 4),
    ) {
        let steps = NormalisationSteps { scale, shift, mean, std, transform_input: transform };
        let input = Input::new(Shape::image(3, 2, 2), &steps).expect("finite");
        let mut found = vec![0.0; values.len()];
        input.transform(values[..].into(), &mut found);
        for (i, (value, found)) in values.iter().zip(found).enumerate() {
            let channel = i / 4 % 3;
            let of = |numbers| at(numbers, channel);
            let scaled = f64::from(*value) * of(&steps.scale) + of(&steps.shift);
            let mut expected = (scaled - of(&steps.mean)) / of(&steps.std);
            if transform {
                expected = transform_input([expected; 3])[channel];
            }
            // Values go up to 6 000, so float32 rounds by up to 7e-4.
            let error = (f64::from(found) - expected).abs();
            prop_assert!(error <= 2e-3, "{found} {expected}");
        }
    }
}
