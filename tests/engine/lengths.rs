//! Samples of different lengths: what they may be, how they lie in rows, and that a batch of any
//! mixture is answered as each sample is by the network of its own length.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_model::ensemble::{Ensemble, Files, Samples};
use divisi_runtime::compute::{
    CpuPredictor, Family, LengthCost, Lowered, Predictor, VaryingNetwork, VaryingPredictor,
    host_rows, length_groups, read_rows, write_rows,
};
use divisi_runtime::network::Shape;
use divisi_runtime::onnx::{OnnxModel, OnnxNetwork, VaryingModel};
use divisi_runtime::tensor::{DataType, Lengths, Signature, TensorValue};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{networks, start};
use crate::place::root;

/// An encoder of up to 16 tokens, with a mask.
const ENCODER: &[u8] = include_bytes!("../runtime/onnx_files/lengths.onnx");

const TENSORS: &str = r#"
[[input.tensors]]
name = "attention_mask"
datatype = "INT64"
shape = [-1]

[[input.tensors]]
name = "ids"
datatype = "INT64"
shape = [-1]

[[input.tensors]]
name = "types"
datatype = "INT64"
shape = [-1]
"#;

/// The values of an answer to 16 tokens: eight for each token, and eight of the first.
const WIDTH: usize = 17 * 8;

fn model() -> OnnxModel {
    OnnxModel::from_bytes(ENCODER.to_vec()).expect("decodes")
}

fn varying(lengths: Lengths) -> (OnnxNetwork, Arc<VaryingModel>) {
    let open = model().open_lengths().expect("open");
    model().varying(&open, lengths).expect("varies")
}

fn masked(buckets: &[usize]) -> Lengths {
    Lengths::padded(buckets.to_vec(), "attention_mask".into()).expect("lengths")
}

fn integers(name: &str, values: &[i64]) -> (String, TensorValue) {
    let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let dims = vec![1, values.len()];
    let value = TensorValue::new(DataType::Int64, dims, bytes).expect("whole");
    (name.to_owned(), value)
}

/// A sentence, of which some tokens but the first may be masked.
fn sentence(ids: &[i64]) -> Vec<(String, TensorValue)> {
    let mask = |(at, id): (usize, &i64)| i64::from(at == 0 || id % 5 > 0);
    let mask: Vec<i64> = ids.iter().enumerate().map(mask).collect();
    let types: Vec<i64> = ids.iter().map(|id| id % 2).collect();
    vec![
        integers("ids", ids),
        integers("attention_mask", &mask),
        integers("types", &types),
    ]
}

fn row(signature: &Signature, ids: &[i64]) -> Vec<f32> {
    signature.rows(&sentence(ids)).expect("fits").0
}

/// Runs rows by any predictor.
fn run(predictor: &mut dyn Predictor, rows: &[Vec<f32>], outputs: usize) -> Vec<f32> {
    let input = host_rows(rows.len(), rows[0].len()).expect("rows");
    let output = host_rows(rows.len(), outputs).expect("rows");
    write_rows(&input, |to| to.copy_from_slice(&rows.concat())).expect("written");
    predictor
        .predict(rows.len(), &input, &output)
        .expect("runs");
    read_rows(&output, <[f32]>::to_vec).expect("read")
}

/// The answer of the network that is made for that many tokens alone.
fn alone(ids: &[i64]) -> Vec<(String, TensorValue)> {
    let model = model();
    let open = model.open_lengths().expect("open");
    let network = model.network_at(&open, ids.len()).expect("a network");
    let signature = network.graph.signature();
    let lowered = Lowered::new(&network.graph, &network.weights).expect("lowers");
    let mut predictor = CpuPredictor::new(Arc::new(lowered), 1, None).expect("memory");
    let outputs = network.graph.output().elements();
    let answer = run(&mut predictor, &[row(&signature, ids)], outputs);
    signature.answers(&answer, 1).expect("whole")
}

fn predictor(lengths: Lengths, batch: usize) -> (VaryingPredictor, Signature) {
    let (network, model) = varying(lengths);
    let weights = Arc::new(network.weights);
    let lowered = VaryingNetwork::new(&network.graph, weights, model, false, Family::best());
    let lowered = Arc::new(lowered.expect("lowers"));
    let predictor = VaryingPredictor::new(lowered, batch, None).expect("memory");
    (predictor, network.graph.signature())
}

fn assert_alike(found: &[(String, TensorValue)], expected: &[(String, TensorValue)]) {
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        assert_eq!(found.dims(), expected.dims(), "{name}");
        let [found, expected] = [found, expected].map(|v| v.floats().expect("floats"));
        let most = expected.iter().fold(0.0f32, |most, v| most.max(v.abs()));
        let apart = found.iter().zip(&expected).map(|(f, e)| (f - e).abs());
        let apart = apart.fold(0.0, f32::max) / most;
        assert!(apart < 1e-5, "{name}: {apart}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_mixture_is_answered_as_each_sample_alone(
        sentences in vec(vec(0i64..30, 1..=16), 1..12),
        masks in any::<bool>(),
    ) {
        let lengths = match masks {
            true => masked(&[2, 3, 8, 16]),
            false => Lengths::exact(16).expect("lengths"),
        };
        let (mut predictor, signature) = predictor(lengths, 12);
        let rows: Vec<Vec<f32>> = sentences.iter().map(|ids| row(&signature, ids)).collect();
        // Twice, since the second batch finds what the first left in memory.
        run(&mut predictor, &rows, WIDTH);
        let answers = run(&mut predictor, &rows, WIDTH);
        for (ids, answer) in sentences.iter().zip(answers.chunks_exact(WIDTH)) {
            let found = signature.answers_at(answer, 1, ids.len()).expect("whole");
            assert_alike(&found, &alone(ids));
        }
    }

    #[test]
    fn groups_hold_every_sample_once_at_its_length_or_a_longer_one_of_the_batch(
        lengths in vec(1usize..40, 0..60),
        group in 0.0..1e3f64,
    ) {
        let samples: Vec<(usize, usize)> = lengths.iter().copied().enumerate().collect();
        let cost = |length: usize| LengthCost { group, sample: length as f64 };
        let groups = length_groups(&samples, cost);
        let mut seen: Vec<usize> = groups.iter().flat_map(|g| g.samples.clone()).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
        for of in &groups {
            prop_assert!(of.samples.iter().all(|&at| lengths[at] <= of.length));
            prop_assert!(of.samples.iter().any(|&at| lengths[at] == of.length));
        }
        let total = |groups: &[divisi_runtime::compute::LengthGroup]| -> f64 {
            let each = groups.iter().map(|g| group + (g.samples.len() * g.length) as f64);
            each.sum()
        };
        let apart = length_groups(&samples, |length| LengthCost { group: 0.0, sample: length as f64 });
        prop_assert!(total(&groups) <= total(&apart) + 1e-6);
    }
}

#[test]
fn samples_join_longer_ones_where_a_group_of_their_own_costs_more() {
    let samples = [(0, 8), (1, 16), (2, 16), (3, 128)];
    let cases = [
        (0.0, vec![vec![0], vec![1, 2], vec![3]]),
        (20.0, vec![vec![0, 1, 2], vec![3]]),
        (1e6, vec![vec![0, 1, 2, 3]]),
    ];
    for (group, expected) in cases {
        let groups = length_groups(&samples, |length| LengthCost {
            group,
            sample: length as f64,
        });
        let found: Vec<Vec<usize>> = groups.into_iter().map(|g| g.samples).collect();
        assert_eq!(found, expected, "{group}");
    }
}

#[test]
fn a_row_whose_length_is_none_has_no_answer_and_the_others_keep_theirs() {
    let (mut predictor, signature) = predictor(masked(&[4, 16]), 8);
    let good = row(&signature, &[3, 4, 5]);
    for wrong in [0.0, -1.0, 2.5, 17.0, 1e30, f32::NAN] {
        let mut bad = good.clone();
        bad[0] = wrong;
        let answers = run(&mut predictor, &[good.clone(), bad, good.clone()], WIDTH);
        let rows: Vec<&[f32]> = answers.chunks_exact(WIDTH).collect();
        assert!(rows[1].iter().all(|v| v.is_nan()), "{wrong}");
        let apart = rows[0].iter().zip(rows[2]).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f32::max) < 1e-5, "{wrong}");
        assert!(rows[0].iter().all(|v| v.is_finite()), "{wrong}");
    }
}

#[test]
fn a_file_that_leaves_one_length_open_is_served_up_to_its_position_table() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("encoder.onnx");
    fs::write(&file, ENCODER).expect("model");
    let ensemble = Arc::new(Ensemble::read(&Files::from_path(&file)).expect("reads"));
    assert_eq!(ensemble.lengths, Some(masked(&[8, 16])));
    let samples = ensemble.calibration.clone().expect("made up");
    let lengths: Vec<f32> = (0..64).map(|at| samples.row(at)[0]).collect();
    assert!(
        lengths.iter().any(|length| *length != lengths[0]),
        "{lengths:?}"
    );
    let engine = start(&ensemble, networks(&ensemble));
    let answer = engine.predict(Request::new(&samples.rows(0, 8)));
    let answer = answer.expect("admitted").expect("answered");
    assert!(answer.rows().flatten().all(|v| v.is_finite()));
}

fn read(folder: &Path, input: &str) -> Result<Ensemble, String> {
    let manifest = format!(
        "name = \"text\"\nanswers = {{ values = {WIDTH} }}\n[input]\n{input}\n{TENSORS}\n\
         [[members]]\nname = \"encoder\"\nnetwork = {{ file = \"encoder.onnx\" }}\n"
    );
    fs::write(folder.join("encoder.onnx"), ENCODER).expect("model");
    fs::write(folder.join("ensemble.toml"), manifest).expect("manifest");
    Ensemble::read(&Files::from_path(folder)).map_err(|e| e.to_string())
}

#[test]
fn a_network_whose_answers_depend_on_padding_is_not_padded() {
    let model = include_bytes!("../runtime/onnx_files/unmasked.onnx");
    let model = || OnnxModel::from_bytes(model.to_vec()).expect("decodes");
    let lowered = |lengths: Lengths| {
        let open = model().open_lengths().expect("open");
        let (network, by_length) = model().varying(&open, lengths).expect("varies");
        let weights = Arc::new(network.weights);
        VaryingNetwork::new(&network.graph, weights, by_length, false, Family::best())
    };
    let error = lowered(masked(&[4, 8])).expect_err("padded");
    let said = "although `attention_mask` is 0 there; remove the mask";
    assert!(error.to_string().contains(said), "{error}");
    lowered(Lengths::exact(8).expect("lengths")).expect("nothing is padded");
    // Alone, without a manifest that could say so, its lengths are exact by themselves.
    let [unmasked, encoder] = ["unmasked", "lengths"].map(|name| {
        let file = root().join(format!("tests/runtime/onnx_files/{name}.onnx"));
        let ensemble = Ensemble::read(&Files::from_path(&file)).expect(name);
        ensemble.lengths.expect("a length varies")
    });
    assert_eq!(unmasked.mask(), None);
    assert_eq!(encoder.mask(), Some("attention_mask"));
}

#[test]
fn manifests_say_lengths_as_a_list_or_by_steps() {
    let folder = tempfile::tempdir().expect("folder");
    let mask = "mask = \"attention_mask\"";
    let cases = [
        ("lengths = [4, 16]", masked(&[4, 16])),
        ("lengths = { most = 16, step = 6 }", masked(&[6, 12, 16])),
        ("lengths = { most = 16 }", masked(&[8, 16])),
    ];
    for (written, expected) in cases {
        let ensemble = read(folder.path(), &format!("{written}\n{mask}")).expect(written);
        assert_eq!(ensemble.lengths, Some(expected), "{written}");
    }
    let ensemble = read(folder.path(), "lengths = { most = 16 }").expect("reads");
    assert_eq!(ensemble.lengths, Lengths::exact(16).ok());
}

#[test]
fn manifests_of_lengths_that_cannot_be_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("folder");
    let mask = "mask = \"attention_mask\"";
    let cases = [
        (String::new(), "or `input.lengths`"),
        (
            format!("lengths = [32]\n{mask}"),
            "samples of 32 tokens are too long: the model has positions for 16",
        ),
        (format!("lengths = []\n{mask}"), "1 to 64 buckets"),
        (format!("lengths = [8, 4]\n{mask}"), "in ascending order"),
        (format!("lengths = [0, 4]\n{mask}"), "in ascending order"),
        (
            format!("lengths = {{ most = 1 }}\n{mask}"),
            "expected a largest length of 2 to",
        ),
        (
            format!("lengths = {{ most = 16, step = 0 }}\n{mask}"),
            "step: expected at least 1",
        ),
        (
            format!("lengths = {{ most = 10000000, step = 1 }}\n{mask}"),
            "1 to 64 buckets",
        ),
        ("lengths = [8, 16]".into(), "padding requires `mask`"),
        (
            "lengths = { most = 16, step = 8 }".into(),
            "padding requires `mask`",
        ),
        (
            "lengths = [16]\nmask = \"words\"".into(),
            "expected one of attention_mask, ids, types",
        ),
    ];
    for (input, expected) in cases {
        let refused = read(folder.path(), &input).expect_err(&input);
        assert!(refused.contains(expected), "{input}\n{refused}");
    }
}

/// Writes a file of the tests' networks into a folder, and returns its path.
fn model_in(folder: &Path, name: &str) -> PathBuf {
    let files = root().join("tests/runtime/onnx_files");
    fs::copy(files.join(name), folder.join(name)).expect("model");
    folder.join(name)
}

#[test]
fn open_dimensions_are_named_and_a_shape_fixes_them() {
    let folder = tempfile::tempdir().expect("folder");
    let cases = [
        (
            "sides.onnx",
            "input `x`: takes samples of [3, height, width] and leaves `height` and `width` open; set \
             all sizes with --shape 3,224,224 or `shape = [3,224,224]` in \
             [input]",
        ),
        (
            "unnamed_sides.onnx",
            "takes samples of [3, ?, ?] and leaves dimension 2 and dimension 3 open",
        ),
        (
            "two_sides.onnx",
            "input `a`: is [batch, 3, height, width] and leaves `height` and `width` open; set \
             all sizes with `shape` in a table `[[input.tensors]]`",
        ),
    ];
    for (name, said) in cases {
        let file = model_in(folder.path(), name);
        let refused = Ensemble::read(&Files::from_path(&file))
            .expect_err(name)
            .to_string();
        assert!(refused.contains(said), "{refused}");
    }
    let shaped = |name: &str, shape: Shape| {
        let files = Files::from_path(&model_in(folder.path(), name)).with_shape(shape);
        Ensemble::read(&files.expect("a network alone")).map_err(|e| e.to_string())
    };
    let ensemble = shaped("sides.onnx", Shape::image(3, 4, 6)).expect("fits");
    assert_eq!(ensemble.input.shape, Shape::image(3, 4, 6));
    let refused = shaped("sides.onnx", Shape::image(1, 4, 6)).expect_err("one channel");
    assert!(refused.contains("found 1×4×6"), "{refused}");
    let encoder = shaped("lengths.onnx", Shape::vector(5)).expect("a length");
    assert_eq!(
        (encoder.lengths, encoder.input.shape),
        (None, Shape::vector(15))
    );
    assert!(
        Files::from_path(folder.path())
            .with_shape(Shape::vector(5))
            .is_none()
    );
}

#[test]
fn the_shape_of_a_manifest_fixes_open_heights_and_widths() {
    let folder = tempfile::tempdir().expect("folder");
    model_in(folder.path(), "sides.onnx");
    model_in(folder.path(), "two_sides.onnx");
    let tensor = |name: &str| {
        format!("[[input.tensors]]\nname = \"{name}\"\ndatatype = \"FP32\"\nshape = [3, 4, 6]\n")
    };
    let cases = [
        ("sides.onnx", "[input]\nshape = [3, 4, 6]\n".to_owned(), 72),
        ("two_sides.onnx", tensor("a") + &tensor("b"), 144),
    ];
    for (name, input, width) in cases {
        let manifest = format!(
            "name = \"m\"\nclasses = 3\n{input}[[members]]\nname = \"m\"\n\
             network = {{ file = \"{name}\" }}\n"
        );
        fs::write(folder.path().join("ensemble.toml"), manifest).expect("manifest");
        let ensemble = Ensemble::read(&Files::from_path(folder.path())).expect(name);
        assert_eq!(ensemble.input.shape.elements(), width, "{name}");
    }
}

fn line(ids: &[i64]) -> String {
    let tensor = |(name, _): &(String, TensorValue), data: Vec<i64>| json!({"name": name, "datatype": "INT64", "shape": [1, ids.len()], "data": data});
    let tensors = sentence(ids);
    let inputs: Vec<Value> = tensors
        .iter()
        .map(|t| {
            let floats = t.1.floats().expect("integers");
            tensor(t, floats.iter().map(|v| *v as i64).collect())
        })
        .collect();
    json!({ "inputs": inputs }).to_string()
}

fn ensemble(folder: &Path) -> Ensemble {
    read(folder, "lengths = [8, 16]\nmask = \"attention_mask\"").expect("reads")
}

#[test]
fn lines_of_json_hold_samples_of_different_lengths() {
    let folder = tempfile::tempdir().expect("folder");
    let ensemble = ensemble(folder.path());
    let form = ensemble.sample_form();
    let text = format!("{}\n\n{}\n", line(&[1, 2, 3]), line(&[4; 16]));
    let samples = Samples::parse("x.jsonl", text.into_bytes(), &form).expect("reads");
    assert_eq!((samples.len(), samples.width()), (2, 49));
    assert_eq!(samples.row(0)[0], 3.0);
    assert_eq!(samples.row(0)[17..24], [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(samples.row(1)[0], 16.0);
    let cases = [
        (
            line(&[1; 17]),
            "line 1: input `attention_mask`: expected a length from 1 to 16, found 17",
        ),
        (line(&[]), "expected a length from 1 to 16, found 0"),
    ];
    for (text, expected) in cases {
        let refused = Samples::parse("x.jsonl", text.clone().into_bytes(), &form);
        let refused = refused.expect_err(&text).to_string();
        assert!(refused.contains(expected), "{text}\n{refused}");
    }
}

#[test]
fn samples_of_a_fixed_length_beyond_the_position_table_are_refused_by_the_table() {
    let model = model();
    let open = model.open_lengths().expect("open");
    model.network_at(&open, 16).expect("as many as positions");
    for length in [17, 600] {
        let refused = model.network_at(&open, length).expect_err("too long");
        let expected =
            format!("samples of {length} tokens are too long: the model has positions for 16");
        assert!(refused.to_string().ends_with(&expected), "{refused}");
    }
}

#[test]
fn lengths_that_make_no_buckets_cannot_be() {
    let named = || "mask".to_owned();
    for (made, expected) in [
        (
            Lengths::exact(1),
            "expected a largest length of 2 to 16777216, found 1",
        ),
        (
            Lengths::padded(vec![], named()),
            "expected 1 to 64 buckets, found 0",
        ),
        (
            Lengths::padded(vec![4, 4], named()),
            "expected buckets of at least 1 in ascending order, found [4, 4]",
        ),
    ] {
        assert_eq!(made.map_err(|e| e.to_string()), Err(expected.to_owned()));
    }
    for most in [2, 8, 9, 100, 128, 300, 512, 5000] {
        let lengths = Lengths::padded(Lengths::usual_buckets(most), named()).expect("buckets");
        assert_eq!(lengths.largest(), most);
        assert_eq!((lengths.bucket(0), lengths.bucket(most + 1)), (None, None));
        for length in 1..=most {
            let bucket = lengths.bucket(length).expect("in range");
            let room = (length / 4).max(16);
            assert!(
                (length..=length + room).contains(&bucket),
                "{length}: {bucket}"
            );
        }
    }
}
