//! Batches of a file: samples that stay apart, that are mixed, or that are one sample.

use divisi_runtime::onnx::OnnxModel;
use divisi_runtime::tensor::TensorSpec;

use super::onnx::{file, network};

fn refused(name: &str) -> String {
    let error = network(&format!("{name}.onnx"), None).expect_err(name);
    error.to_string()
}

#[test]
fn batches_that_meet_on_two_axes_are_refused_in_either_order() {
    for name in ["crossed", "crossed_back"] {
        let text = refused(name);
        assert!(text.contains("Sub_d") && text.contains("mix"), "{text}");
    }
}

#[test]
fn numbers_for_each_sample_of_a_batch_of_one_size_are_refused() {
    for (name, node) in [("scaled_rows", "QuantizeLinear_q"), ("gemm_rows", "Gemm_y")] {
        let text = refused(name);
        assert!(text.contains(node) && text.contains("mix"), "{text}");
    }
}

#[test]
fn nodes_that_mix_the_samples_of_a_batch_are_named_all_at_once() {
    let text = refused("mixed");
    let mixing = [
        "ReduceMean_mean",
        "Softmax_share",
        "MatMul_all",
        "Slice_head",
        "Gather_row",
        "CumSum_sum",
        "Div_shared",
        "Reshape_torn",
        "TopK_best",
    ];
    for said in mixing {
        assert!(text.contains(said), "no `{said}` in: {text}");
    }
    assert!(text.contains("mix the samples of a batch"), "{text}");
    assert!(text.contains("depend on the batch size"), "{text}");
    assert!(text.starts_with("9 nodes cannot be computed"), "{text}");
}

#[test]
fn a_fixed_batch_is_the_batch_where_its_rows_stay_apart_else_part_of_the_sample() {
    for (name, dims) in [("rows", "[3, 5, 5]"), ("whole", "[2, 3, 5, 5]")] {
        let network = network(&format!("{name}.onnx"), None).expect(name);
        let signature = network.graph.signature();
        let said: Vec<String> = signature.inputs.iter().map(TensorSpec::to_string).collect();
        assert_eq!(said, [format!("FP32 {dims}")], "{name}");
    }
}

#[test]
fn rows_of_a_sample_as_a_whole_are_no_samples() {
    let model = OnnxModel::open(&file("whole.onnx")).expect("decodes");
    let error = model
        .network_of(&[("x", vec![1, 3, 5, 5])])
        .expect_err("one row");
    let text = error.to_string();
    assert!(text.contains("ReduceMax_m"), "{text}");
}

#[test]
fn inputs_may_be_single_numbers() {
    let network = network("scalars.onnx", None).expect("a network");
    let signature = network.graph.signature();
    let said: Vec<String> = signature.inputs.iter().map(TensorSpec::to_string).collect();
    assert_eq!(said, ["FP32 []", "FP32 []"]);
}

#[test]
fn files_that_contradict_themselves_say_how() {
    for (name, said) in [
        ("range", "its step is 0"),
        ("mod", "an integer is divided by 0"),
        ("nothing", "it has no inputs, so its answers are constants"),
    ] {
        let text = refused(name);
        assert!(text.contains(said), "no `{said}` in: {text}");
    }
}
