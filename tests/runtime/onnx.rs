//! ONNX files become networks that answer as ONNX Runtime does, or are refused with reasons.
//!
//! `tests/runtime/onnx_files/make.py` made the files and the answers.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::emulated::Emulated;
use crate::place::root;
use candle_core::{Device, Tensor};
use divisi_runtime::compute::gpu::{self, Precision};
use divisi_runtime::compute::{Lowered, NetworkOp, footprint};
use divisi_runtime::network::{Activation, Graph, Op, Shape, WeightsError};
use divisi_runtime::onnx::{OnnxError, OnnxModel, OnnxNetwork};
use divisi_runtime::tensor::TensorSpec;
use serde::Deserialize;

/// As a share of the largest value of an answer.
const TOLERANCE: f32 = 1e-4;

/// The answers of ONNX Runtime to samples of several tensors.
#[derive(Deserialize)]
struct TensorAnswers {
    /// Names and dimensions, with a batch of 1.
    inputs: Vec<(String, Vec<usize>)>,
    /// All inputs of a sample one after another.
    x: Vec<Vec<f32>>,
    /// All outputs one after another.
    y: Vec<Vec<f32>>,
}

/// The answers of ONNX Runtime.
#[derive(Deserialize)]
pub(super) struct Answers {
    pub(super) input: Shape,
    pub(super) x: Vec<Vec<f32>>,
    pub(super) y: Vec<Vec<f32>>,
}

fn folder() -> PathBuf {
    root().join("tests/runtime/onnx_files")
}

pub(super) fn file(name: &str) -> PathBuf {
    folder().join(name)
}

pub(super) fn network(name: &str, shape: Option<Shape>) -> Result<OnnxNetwork, OnnxError> {
    OnnxModel::open(&file(name)).and_then(|model| model.network(shape))
}

pub(super) fn answers(network: &OnnxNetwork, rows: &[Vec<f32>]) -> Vec<f32> {
    let lowered = Lowered::new(&network.graph, &network.weights).expect("lowers");
    let op = NetworkOp::new(Arc::new(lowered), rows.len(), None).expect("memory");
    let x = Tensor::from_vec(rows.concat(), (rows.len(), rows[0].len()), &Device::Cpu);
    let y = x.expect("rows").apply_op1_no_bwd(&op).expect("runs");
    y.flatten_all().and_then(|y| y.to_vec1()).expect("values")
}

#[test]
fn a_model_answers_as_onnx_runtime_does() {
    for name in [
        "image", "before", "vectors", "gates", "last", "curves", "tied", "singles", "tables",
        "idle",
    ] {
        let text = fs::read_to_string(file(&format!("{name}.json"))).expect("answers");
        let expected: Answers = serde_json::from_str(&text).expect("answers");
        let network = network(&format!("{name}.onnx"), None).expect(name);
        assert_eq!(network.graph.input(), expected.input, "{name}");
        // In one batch, although the file may say that it takes one row at a time.
        let ours = answers(&network, &expected.x);
        assert_near(name, &ours, &expected.y.concat());
    }
}

#[test]
fn layers_of_one_matrix_hold_it_once() {
    let network = network("tied.onnx", None).expect("tied");
    let (matrix, bias, out) = (32 * 32, 32, 32 * 4);
    let learned = matrix + 2 * bias + out;
    assert_eq!(network.graph.parameter_count(), learned as u64);
    // Three layers are folded as one; the one with another bias is folded with it.
    let folded = 4 * (2 * matrix + out) as u64;
    let planned = footprint(&network.graph, 1, 1).weight_bytes;
    assert!((folded..2 * folded).contains(&planned), "{planned} bytes");
    let apart = 4 * (4 * matrix + out) as u64;
    assert!(planned < apart, "{planned} bytes of {apart}");
}

fn assert_near(name: &str, ours: &[f32], theirs: &[f32]) {
    assert_eq!(ours.len(), theirs.len(), "{name}");
    let largest = theirs.iter().fold(0.0f32, |all, v| all.max(v.abs()));
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let error = (ours - theirs).abs() / largest;
        assert!(
            error <= TOLERANCE,
            "{name}, value {at}: {ours}, not {theirs}"
        );
    }
}

#[test]
fn a_model_of_tensors_answers_as_onnx_runtime_does() {
    for name in [
        "two",
        "attention",
        "encoder",
        "windows",
        "opset10",
        "opset18",
        "sizes",
        "kept",
        "recurrent",
        "ranks",
        "scattered",
        "integers",
        "fused",
        "rounded",
        "rows",
        "guarded",
        "standardised",
        "whole",
        "looked_up",
        "volumes",
        "strides",
        "biased",
        "places",
        "fourier",
        "normalised",
    ] {
        let text = fs::read_to_string(file(&format!("{name}.json"))).expect("answers");
        let expected: TensorAnswers = serde_json::from_str(&text).expect("answers");
        let given = expected.inputs.iter();
        let given: Vec<_> = given.map(|(n, dims)| (n.as_str(), dims.clone())).collect();
        let model = OnnxModel::open(&file(&format!("{name}.onnx"))).expect(name);
        let network = model.network_of(&given);
        let network = network.unwrap_or_else(|e| panic!("{name}: {e}"));
        // A sample may be several rows.
        let width = network.graph.input().elements();
        let rows = expected.x.concat();
        let rows: Vec<Vec<f32>> = rows.chunks(width).map(<[f32]>::to_vec).collect();
        let ours = answers(&network, &rows);
        assert_near(name, &ours, &expected.y.concat());
        if ["ranks", "integers"].contains(&name) {
            // Sorting, arc functions and bits have no kernels there.
            continue;
        }
        gpu::check(&network.graph, Precision::F32).expect(name);
        let emulated = Emulated::new(&network.graph, &network.weights, Precision::F32);
        let on_gpu = emulated.answer(&expected.x.concat());
        assert_near(&format!("{name} on a GPU"), &on_gpu, &expected.y.concat());
    }
}

#[test]
fn weights_that_stay_in_the_file_are_those_of_the_model_in_memory() {
    for name in [
        "encoder.onnx",
        "attention.onnx",
        "windows.onnx",
        "before.onnx",
        "quantised_pairs.onnx",
        "quantised_operators.onnx",
    ] {
        let bytes = fs::read(file(name)).expect(name);
        let held = OnnxModel::from_bytes(bytes).and_then(|model| model.network(None));
        let read = network(name, None).expect(name);
        let held = held.expect(name);
        assert!(read.weights.iter().eq(held.weights.iter()), "{name}");
    }
}

#[test]
fn a_model_that_is_written_to_after_it_was_opened_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.onnx");
    fs::copy(file("encoder.onnx"), &path).expect("copies");
    let network = OnnxModel::open(&path).and_then(|model| model.network(None));
    let weights = network.expect("loads").weights;
    weights.check().expect("unchanged");
    let longer = [fs::read(&path).expect("reads"), vec![0]].concat();
    fs::write(&path, longer).expect("writes");
    assert!(matches!(weights.check(), Err(WeightsError::Changed(_))));
}

#[test]
fn a_file_beside_a_model_that_is_written_to_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["vectors.onnx", "vectors.onnx.data"] {
        fs::copy(file(name), folder.path().join(name)).expect("copies");
    }
    let model = OnnxModel::open(&folder.path().join("vectors.onnx"));
    let network = model.and_then(|model| model.network(None)).expect("loads");
    network.weights.check().expect("unchanged");
    let beside = folder.path().join("vectors.onnx.data");
    let longer = [fs::read(&beside).expect("reads"), vec![0]].concat();
    fs::write(&beside, longer).expect("writes");
    let changed = network.weights.check();
    assert!(
        matches!(changed, Err(WeightsError::Changed(path)) if path.ends_with("vectors.onnx.data"))
    );
}

#[test]
fn a_network_says_what_it_takes_and_answers() {
    let model = OnnxModel::open(&file("two.onnx")).expect("decodes");
    let signature = model.network(None).expect("a network").graph.signature();
    let said = |specs: &[TensorSpec]| {
        let each = specs.iter().map(|s| format!("{} {s}", s.name));
        each.collect::<Vec<_>>()
    };
    assert_eq!(said(&signature.inputs), ["x FP32 [4, 6]", "z FP32 [6]"]);
    assert_eq!(said(&signature.outputs), ["y FP32 [6]", "best INT64 []"]);
}

#[test]
fn dimensions_that_vary_must_be_said() {
    let bytes = fs::read(file("encoder.onnx")).expect("bytes");
    let model = OnnxModel::from_bytes(bytes).expect("decodes");
    let wrong = |given: &[(&str, Vec<usize>)]| {
        let error = model.network_of(given).expect_err("refused");
        error.to_string()
    };
    let text = wrong(&[("ids", vec![1, 7])]);
    assert!(text.contains("`ids`: takes [N, 6], found [1, 7]"), "{text}");
    let text = wrong(&[("tokens", vec![1, 6])]);
    assert!(text.contains("expected ids, mask, types"), "{text}");
}

/// Returns how many operations of `graph` are `op`.
fn count(graph: &Graph, op: impl Into<Op>) -> usize {
    let op = op.into();
    graph.nodes().iter().filter(|n| n.op == op).count()
}

#[test]
fn what_several_nodes_spell_out_is_one_operation() {
    let curves = network("curves.onnx", None).expect("curves").graph;
    assert_eq!(count(&curves, Activation::Gelu), 3);
    assert_eq!(count(&curves, Activation::GeluTanh), 3);
    assert_eq!(count(&curves, Activation::Mish), 2);
    assert_eq!(count(&curves, Activation::HardSwish), 1);
    // The gates that something else reads stay gates.
    assert_eq!(count(&curves, Activation::Sigmoid), 2);
    assert_eq!(count(&curves, Op::Mul), 3);
    let gates = network("gates.onnx", None).expect("gates").graph;
    assert_eq!(count(&gates, Activation::Silu), 1);
    assert_eq!(count(&gates, Op::ChannelShuffle { groups: 2 }), 1);
}

#[test]
fn an_image_seen_channels_last_is_the_same_image() {
    let last = network("last.onnx", None).expect("last").graph;
    let is_conv = |op: &Op| matches!(op, Op::Conv2d(_));
    let convolutions = last.nodes().iter().filter(|n| is_conv(&n.op)).count();
    assert_eq!(convolutions, 4, "two of them products with each pixel");
    assert_eq!(count(&last, Op::LayerNorm { eps: 1e-6 }), 3);
    assert_eq!(count(&last, Activation::Gelu), 1);
}

#[test]
fn a_small_file_that_asks_for_much_memory_is_refused_at_the_node_that_does() {
    let budget = "more values than a file of this size may create";
    for (name, node, why) in [
        ("doubled", "Concat", budget),
        ("expanded", "Expand_e", budget),
        ("resized", "Resize", budget),
        ("padded", "Conv_c", "padding of 30000"),
        ("padded_far", "Conv_c", "padding of 2147483646"),
        ("directions", "LSTM", "expected 1 or 2 directions"),
        ("columns_far", "Col2Im_c", "columns of [1, 1, 4]"),
        ("hollow", "tensor `w`", "[1099511627776, 0]"),
        ("hollow_far", "Expand_e", budget),
        ("filled", "Neg_r", budget),
        ("positions", "NonZero_r", budget),
        ("ones", "ConstantOfShape_r", budget),
        ("ranged", "Range_r", budget),
    ] {
        let error = network(&format!("{name}.onnx"), None).expect_err(name);
        let text = error.to_string();
        assert!(text.contains(node) && text.contains(why), "{name}: {text}");
    }
}

#[test]
fn a_sample_that_looks_up_what_is_not_there_is_nan_whatever_follows() {
    let network = network("guarded.onnx", None).expect("guarded");
    let ours = answers(&network, &[vec![0.0, 4.0], vec![0.0, 5.0], vec![1.0, 2.0]]);
    let is_nan: Vec<bool> = ours.iter().map(|v| v.is_nan()).collect();
    assert_eq!(is_nan, [[false; 6], [true; 6], [false; 6]].concat());
    let again = answers(&network, &[vec![0.0, 4.0]]);
    assert_eq!(again, ours[..6], "the next batch is another one");
}

#[test]
fn what_is_left_of_integers_that_float32_does_not_hold_is_nan() {
    let network = network("hashes.onnx", None).expect("hashes");
    let ours = answers(&network, &[vec![-7.0], vec![4094.0], vec![5_592_405.0]]);
    let of = |n: i64| {
        let p = n * 4097;
        [p.rem_euclid(1021), p % 1021, p & 1023, p / 1021].map(|v| v as f32)
    };
    assert_eq!(ours[..8], [of(-7), of(4094)].concat());
    assert!(ours[8..].iter().all(|v| v.is_nan()), "{ours:?}");
    let far = super::onnx::network("far.onnx", None)
        .expect_err("refused")
        .to_string();
    assert!(
        far.contains("integer 2147483647 has more than 24 bits"),
        "{far}"
    );
}

#[test]
fn an_operand_that_an_operator_does_not_take_is_no_part_of_its_answer() {
    let made = network("surplus.onnx", None);
    let answer = answers(&made.expect("read"), &[vec![0.5, -1.0, 0.0, 2.0]]);
    assert_eq!(answer, [0.5, -1.0, 0.0, 2.0]);
}

#[test]
fn all_nodes_that_cannot_be_computed_are_named_at_once() {
    let error = network("unknown.onnx", None).expect_err("unknown operators");
    let text = error.to_string();
    for said in [
        "3 nodes",
        "RandomNormalLike (`RandomNormalLike_b`, `RandomNormalLike_e`)",
        "NonZero_d",
        "opset 17, inputs [1, 4]",
    ] {
        assert!(text.contains(said), "no `{said}` in: {text}");
    }
    for known in ["Relu", "Cast", "ReduceSum"] {
        assert!(!text.contains(known), "{text}");
    }
}

#[test]
fn a_node_that_does_not_fit_does_not_hide_what_else_is_wrong() {
    let error = network("faulty.onnx", None)
        .expect_err("two faults")
        .to_string();
    for said in ["2 nodes", "MatMul_a", "RandomNormalLike_b"] {
        assert!(error.contains(said), "no `{said}` in: {error}");
    }
}

#[test]
fn a_node_whose_weights_alone_say_that_it_cannot_be_computed_is_named_behind_another() {
    let error = network("behind.onnx", None).expect_err("two windows over all three axes");
    let error = error.to_string();
    for said in ["2 nodes", "Conv_a", "Conv_y", "three axes"] {
        assert!(error.contains(said), "no `{said}` in: {error}");
    }
    assert!(!error.contains("Conv_b"), "{error}");
}

#[test]
fn all_nodes_that_do_not_take_the_types_of_their_inputs_are_named_at_once() {
    let error = network("mistyped.onnx", None).expect_err("types that do not fit");
    let text = error.to_string();
    assert!(text.starts_with("7 nodes cannot be computed"), "{text}");
    for said in [
        "Add (`Add_sum`): input `whole`: expected FLOAT, the type of `x`, found INT64",
        "Not (`Not_not`): input `x`: expected BOOL, found FLOAT",
        "Where (`Where_where`): input `x`: expected BOOL, found FLOAT",
        "Gather (`Gather_gather`): input `place`: expected INT32 or INT64, found FLOAT",
        "Reshape (`Reshape_reshape`): input `place`: expected INT64, found FLOAT",
        "Relu (`Relu_relu`): input `less`: expected numbers, found BOOL",
        "Cast (`Cast_y`): output `y`: is declared as FLOAT, found INT32",
        "opset 17, inputs FLOAT, INT64",
    ] {
        assert!(text.contains(said), "no `{said}` in: {text}");
    }
    assert!(!text.contains("Neg"), "{text}");
}

#[test]
fn an_initialiser_has_the_type_that_its_input_declares() {
    let error = network("listed.onnx", None).expect_err("another type");
    let said = "initialiser `c`: is declared as FLOAT, found INT64";
    assert!(error.to_string().contains(said), "{error}");
}

#[test]
fn a_model_takes_samples_of_its_own_shape_alone() {
    let asked = Some(Shape::image(3, 16, 16));
    let error = network("image.onnx", asked).expect_err("another width");
    let text = error.to_string();
    assert!(text.contains("[3, 16, 12], found 3×16×16"), "{text}");
}

#[test]
fn values_beside_the_model_are_read_from_its_folder_alone() {
    let place = tempfile::tempdir().expect("a folder");
    let bytes = fs::read(file("vectors.onnx")).expect("bytes");
    let written = |name: &str, bytes: &[u8]| {
        let path = place.path().join(name);
        fs::write(&path, bytes).expect("written");
        OnnxModel::open(&path).and_then(|model| model.network(None))
    };
    let error = written("alone.onnx", &bytes).expect_err("no values");
    assert!(error.to_string().contains("vectors.onnx.data"), "{error}");

    let name = b"vectors.onnx.data";
    let at = bytes
        .windows(name.len())
        .position(|w| w == name)
        .expect("its name");
    for hostile in ["../../etc/passwd_", "/etc/passwd/../_x"] {
        let mut bytes = bytes.clone();
        bytes[at..at + name.len()].copy_from_slice(hostile.as_bytes());
        let error = written("hostile.onnx", &bytes)
            .expect_err("outside")
            .to_string();
        assert!(
            error.contains("not a path inside the model's folder"),
            "{error}"
        );
    }

    let data = fs::read(file("vectors.onnx.data")).expect("values");
    let short = &data[..data.len() - 1];
    fs::write(place.path().join("vectors.onnx.data"), short).expect("written");
    let error = written("short.onnx", &bytes)
        .expect_err("too short")
        .to_string();
    assert!(error.contains("expected"), "{error}");
}

#[cfg(unix)]
#[test]
fn values_behind_a_link_out_of_the_folder_are_refused_as_such() {
    let place = tempfile::tempdir().expect("a folder");
    let model = place.path().join("vectors.onnx");
    fs::copy(file("vectors.onnx"), &model).expect("copied");
    let link = place.path().join("vectors.onnx.data");
    std::os::unix::fs::symlink(file("vectors.onnx.data"), link).expect("linked");
    let opened = OnnxModel::open(&model).and_then(|model| model.network(None));
    let error = opened.expect_err("outside").to_string();
    assert!(
        error.contains("a link out of the model's folder"),
        "{error}"
    );
}

#[test]
fn one_of_several_outputs_can_be_chosen() {
    let open = || OnnxModel::open(&file("two.onnx")).expect("opens");
    let whole = open().network(None).expect("both outputs");
    let [first, second] = &whole.outputs[..] else {
        panic!("expected two outputs, found {:?}", whole.outputs);
    };
    for output in [first, second] {
        let one = open()
            .answering(&output.name)
            .and_then(|model| model.network(None));
        let one = one.expect("one output");
        assert_eq!(one.outputs, std::slice::from_ref(output));
        assert!(one.graph.nodes().len() <= whole.graph.nodes().len());
    }
    let error = open()
        .answering("none")
        .expect_err("no such output")
        .to_string();
    assert!(
        error.contains(&format!("expected {}, {}", first.name, second.name)),
        "{error}"
    );
}

#[test]
fn a_model_in_memory_has_no_folder() {
    let bytes = fs::read(file("vectors.onnx")).expect("bytes");
    let model = OnnxModel::from_bytes(bytes).expect("decodes");
    let error = model.network(None).expect_err("no folder").to_string();
    assert!(error.contains("was not read from a folder"), "{error}");
}

#[test]
fn a_file_of_something_else_is_refused() {
    let refused = |bytes: &[u8]| {
        let read = OnnxModel::from_bytes(bytes.to_vec());
        read.expect_err("refused").to_string()
    };
    let other = refused(b"network = { file");
    let unreadable = "not a readable ONNX file: failed to decode";
    assert!(other.starts_with(unreadable), "{other}");
    assert_eq!(refused(b""), "not a readable ONNX file: it has no graph");
}

#[test]
fn damaged_files_are_refused_or_read_and_never_end_the_process() {
    let take = |bytes: &[u8]| {
        let model = OnnxModel::from_bytes(bytes.to_vec());
        drop(model.and_then(|model| model.network(None)));
    };
    for name in [
        "image",
        "before",
        "vectors",
        "unknown",
        "gates",
        "last",
        "curves",
        "two",
        "attention",
        "encoder",
        "windows",
        "opset10",
        "opset18",
        "sizes",
        "kept",
        "mixed",
        "mistyped",
        "looked_up",
        "ranks",
        "scattered",
        "rows",
        "volumes",
        "places",
        "fourier",
    ] {
        let bytes = fs::read(file(&format!("{name}.onnx"))).expect("bytes");
        for at in (0..bytes.len()).step_by(3) {
            take(&bytes[..at]);
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                take(&damaged);
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_while_it_is_read_is_refused_as_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("encoder.onnx");
    fs::copy(file("encoder.onnx"), &path).expect("copied");
    let model = OnnxModel::open(&path).expect("encoder");
    let network = model.network(None).expect("its weights stay in the file");
    // Less than the page of the map that is read next.
    let cut = fs::OpenOptions::new().write(true).open(&path);
    cut.and_then(|file| file.set_len(16)).expect("is cut");
    let lowered = Lowered::new(&network.graph, &network.weights);
    drop(lowered.expect("what is gone is read as zeros"));
    let text = network
        .weights
        .check()
        .expect_err("it is another file")
        .to_string();
    assert!(text.contains("changed"), "{text}");
}
