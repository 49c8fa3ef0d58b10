//! Members that take samples in their own size and scale.

use std::sync::{Arc, Mutex};

use candle_core::{Device, Tensor};
use divisi_engine::serving::{
    BuildError, Engine, EngineError, EngineOptions, PredictorFactory, Request,
};
use divisi_model::allocation::{PoolBounds, SegmentTooLarge};
use divisi_model::ensemble::{
    Affine, BatchSize, ComputedMember, Ensemble, Files, Input, Member, NormalisationSteps,
    PerChannel, SampleValues, Samples, Transforms,
};
use divisi_runtime::compute::{ComputeError, FakePredictor, Predictor, read_rows, reference};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::network::Shape;

use crate::common::{everywhere, fakes, networks, start, two_devices};

/// Two members see 4×4 samples as they are but for the scale, one sees them at 6×6, one
/// at 6×6 in another scale.
const MANIFEST: &str = r#"name = "sizes"
classes = 3
batch_sizes = [8]
segment_size = 16

[input]
shape = [2, 4, 4]
scale = 0.5

[calibration]
synthetic = 20

[[members]]
name = "plain"
network = { builder = "convnet", channels = [4], depth = 1 }

[[members]]
name = "large"
network = { builder = "convnet", channels = [4, 8], depth = 1 }
input = { shape = [2, 6, 6] }

[[members]]
name = "shifted"
network = { builder = "perceptron", hidden = [5] }
input = { shape = [2, 6, 6], scale = 2.0, shift = -1.0 }

[[members]]
name = "plain-too"
network = { builder = "perceptron" }
"#;

static FILES: &[(&str, &[u8])] = &[("ensemble.toml", MANIFEST.as_bytes())];

fn ensemble() -> Arc<Ensemble> {
    let files = Files::Embedded {
        name: "sizes",
        files: FILES,
    };
    Arc::new(Ensemble::read(&files).expect("valid"))
}

#[test]
fn an_image_is_resized_between_the_centres_of_its_pixels_then_scaled() {
    let input = |width, scale, shift| {
        let steps = NormalisationSteps {
            scale: PerChannel::All(scale),
            shift: PerChannel::All(shift),
            ..NormalisationSteps::default()
        };
        Input::new(Shape::image(1, 1, width), &steps).expect("finite")
    };
    // By hand: position i of 4 reads the place (i + 0.5) · 2/4 − 0.5 of the 2 pixels.
    let cases = [
        (input(4, 1.0, 0.0), vec![0.0, 2.0, 6.0, 8.0]),
        (input(4, 10.0, 1.0), vec![1.0, 21.0, 61.0, 81.0]),
        (input(1, 1.0, 0.0), vec![4.0]),
        (input(2, 0.5, 0.0), vec![0.0, 4.0]),
    ];
    for (input, expected) in cases {
        let mut found = vec![0.0; expected.len()];
        input.convert(Shape::image(1, 1, 2), [0.0, 8.0][..].into(), &mut found);
        assert_eq!(found, expected, "{input:?}");
    }
}

#[test]
fn channels_and_samples_are_resized_each_by_itself() {
    let input = Input::new(Shape::image(2, 2, 2), &NormalisationSteps::default()).expect("finite");
    let mut found = [0.0; 16];
    let values = [1.0, 2.0, 3.0, 4.0];
    input.convert(Shape::image(2, 1, 1), values[..].into(), &mut found);
    let expected: Vec<f32> = [1.0, 2.0, 3.0, 4.0].iter().flat_map(|v| [*v; 4]).collect();
    assert_eq!(found[..], expected);
}

#[test]
fn members_with_one_input_share_it() {
    let ensemble = ensemble();
    let transforms = ensemble.transforms();
    let of: Vec<usize> = (0..4)
        .map(|m| transforms.index_of(MemberIndex::new(m)))
        .collect();
    assert_eq!(of, [0, 1, 2, 0]);
    assert_eq!(transforms.values(), 32 + 72 + 72);
    // What a member does not say is the ensemble's.
    assert_eq!(ensemble.members[1].input.normalisation.of(1).scale, 0.5);
    let alone = ensemble.single_member(MemberIndex::new(2)).transforms();
    assert_eq!(
        alone,
        Transforms::new(Shape::image(2, 4, 4), [ensemble.members[2].input.clone()])
    );
}

/// Keeps the rows that each member is given.
struct Spies {
    seen: Arc<Mutex<Vec<Vec<f32>>>>,
}

struct Spy {
    member: MemberIndex,
    seen: Arc<Mutex<Vec<Vec<f32>>>>,
}

impl PredictorFactory for Spies {
    fn build(
        &self,
        network: ComputedMember,
        _: BatchSize,
        _: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        let seen = Arc::clone(&self.seen);
        Ok(Box::new(Spy {
            member: network.member,
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
        FakePredictor::new(self.member, 3).predict(batch, input, output)
    }
}

#[test]
fn workers_are_given_exactly_what_resizing_by_hand_gives() {
    let ensemble = ensemble();
    let seen = Arc::new(Mutex::new(vec![Vec::new(); 4]));
    let engine = start(
        &ensemble,
        Arc::new(Spies {
            seen: Arc::clone(&seen),
        }),
    );
    let samples = ensemble.calibration.clone().expect("made up");
    engine
        .predict(Request::new(samples.row(3)))
        .expect("admitted")
        .expect("answered");
    for (member, seen) in ensemble
        .members
        .iter()
        .zip(&*seen.lock().expect("no panic"))
    {
        assert_eq!(*seen, by_hand(member, samples.row(3)), "{}", member.name);
    }
}

/// One 2×4×4 sample as `member` takes it, written down from the definition.
fn by_hand(member: &Member, sample: &[f32]) -> Vec<f32> {
    let Shape::Image { height: side, .. } = member.input.shape else {
        panic!("an image");
    };
    let place = |i: usize| ((i as f32 + 0.5) * (4.0 / side as f32) - 0.5).max(0.0);
    let neighbours = |at: f32| (at as usize, (at as usize + 1).min(3), at.fract());
    let mut values = Vec::new();
    for (channel, plane) in sample.chunks(16).enumerate() {
        let Affine { scale, shift } = member.input.normalisation.of(channel);
        for (y, x) in (0..side).flat_map(|y| (0..side).map(move |x| (y, x))) {
            let (top, bottom, v) = neighbours(place(y));
            let (left, right, h) = neighbours(place(x));
            let line = |y: usize| plane[4 * y + left] * (1.0 - h) + plane[4 * y + right] * h;
            let value = line(top) * (1.0 - v) + line(bottom) * v;
            values.push(value * scale + shift);
        }
    }
    values
}

#[test]
fn an_engine_answers_what_its_members_answer_alone() {
    let ensemble = ensemble();
    let engine = start(&ensemble, networks(&ensemble));
    let samples = ensemble.calibration.clone().expect("made up");
    let answer = engine
        .predict(Request::new(samples.values()))
        .expect("admitted")
        .expect("answered");
    for (i, row) in answer.rows().enumerate() {
        let mut mean = [0.0; 3];
        for member in &ensemble.members {
            let alone = probabilities(member, samples.row(i));
            mean.iter_mut().zip(alone).for_each(|(m, a)| *m += a / 4.0);
        }
        let close = row.iter().zip(mean).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(close, "sample {i}: {row:?} for {mean:?}");
    }
}

fn probabilities(member: &Member, sample: &[f32]) -> Vec<f32> {
    let graph = member.graph.with_softmax().expect("logits");
    let input = by_hand(member, sample);
    let width = input.len();
    let x = Tensor::from_vec(input, (1, width), &Device::Cpu).expect("tensor");
    let mut weights = reference::Fixed::new(&graph, &member.weights);
    let answer = reference::run(&graph, &mut weights, &x).and_then(|t| t.flatten_all()?.to_vec1());
    answer.expect("runs")
}

#[test]
fn the_pool_counts_every_size_and_stretches_for_two_segments_only_so_far() {
    let ensemble = ensemble();
    // The widest rule takes two floats a class.
    let sample = 4 * (ensemble.transforms().values() as u64 + 2 * 3);
    let two_segments = 32 * sample;
    let devices = two_devices();
    let start = |bytes| {
        let options = EngineOptions {
            pool: PoolBounds {
                bytes,
                ..PoolBounds::default()
            },
            ..EngineOptions::default()
        };
        let matrix = everywhere(&ensemble, &devices);
        let factory = fakes(&ensemble);
        Engine::start(
            Arc::clone(&ensemble),
            devices.clone(),
            &matrix,
            factory,
            options,
        )
    };
    let capacity = |bytes| {
        let engine = start(bytes).expect("holds two samples");
        // What runs can be planned again.
        assert!(engine.plan(&engine.setup()).is_ok());
        engine.telemetry().capacity()
    };
    assert_eq!(capacity(two_segments / 4 + 4), 32);
    assert_eq!(capacity(two_segments / 4 - 4), 30);
    match start(2 * sample / 4 - 4).map(|_| ()) {
        Err(EngineError::Segment(SegmentTooLarge {
            segment: 16,
            most: 0,
            ..
        })) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn made_up_samples_are_the_same_each_time_and_have_no_labels() {
    let samples = ensemble().calibration.clone().expect("made up");
    assert_eq!((samples.len(), samples.width()), (20, 32));
    assert_eq!(samples.labels(), None);
    assert_eq!(
        samples.values(),
        Samples::synthetic(20, 32).expect("some").values()
    );
    assert!(samples.values().iter().all(|v| v.abs() <= 1.0));
    assert_ne!(samples.row(0), samples.row(1));
}

#[test]
fn samples_in_bytes_are_the_same_as_numbers_at_any_address() {
    let steps = NormalisationSteps {
        scale: PerChannel::Each(vec![2.0, 0.5]),
        ..NormalisationSteps::default()
    };
    let shape = Shape::image(2, 1, 2);
    let scaled = Input::new(shape, &steps).expect("finite");
    let plain = Input::new(shape, &NormalisationSteps::default()).expect("finite");
    let resized = Input::new(Shape::image(2, 2, 3), &steps).expect("finite");
    let picked = Input::from_value_ranges(vec![1..2, 3..4]);
    let values: Vec<f32> = (0..12).map(|v| v as f32 - 4.5).collect();
    for input in [scaled, plain, resized, picked] {
        let width = input.shape.elements();
        let mut expected = vec![0.0; 3 * width];
        input.convert(shape, values[..].into(), &mut expected);
        for offset in 0..4 {
            let mut bytes = vec![0; offset];
            bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
            let received = SampleValues::Bytes(bytes[offset..].as_chunks().0);
            let mut found = vec![0.0; 3 * width];
            input.convert(shape, received, &mut found);
            assert_eq!(found, expected, "{input:?} at {offset}");
        }
    }
}

#[test]
fn the_first_value_that_is_no_number_is_found_wherever_it_lies() {
    for at in [0, 1, 1023, 1024, 3000] {
        for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut values = vec![1.0; 3001];
            values[at] = wrong;
            let bytes: Vec<[u8; 4]> = values.iter().map(|v| v.to_le_bytes()).collect();
            for values in [SampleValues::Floats(&values), SampleValues::Bytes(&bytes)] {
                assert_eq!(values.first_not_finite(), Some(at), "{wrong}");
            }
        }
    }
    assert_eq!(SampleValues::Floats(&[0.0; 2000]).first_not_finite(), None);
}
