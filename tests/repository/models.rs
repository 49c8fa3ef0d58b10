//! A model that is a network's file: its tensors by name, type, dimensions and rows.

use divisi_repository::ModelRows;

use crate::common::{Written, shown};

#[test]
fn a_file_without_a_configuration_says_its_tensors_itself() {
    for (file, inputs, outputs) in [
        ("one.onnx", "x FP32 [3]", "y FP32 [1]"),
        ("image.onnx", "x FP32 [3, 16, 12]", "y FP32 [6]"),
        ("rows.onnx", "x FP32 [3, 5, 5]", "y FP32 [4]"),
    ] {
        let written = Written::new();
        let model = written.network("m", file).single();
        assert_eq!(shown(&model.inputs()), [inputs], "{file}");
        assert_eq!(shown(&model.outputs()), [outputs], "{file}");
        assert_eq!(model.batch, ModelRows::Open, "{file}");
        assert_eq!((&*model.name, model.version), ("m", 1));
    }
}

#[test]
fn a_network_that_mixes_its_rows_has_no_batch() {
    let written = Written::new();
    let model = written.network("m", "whole.onnx").single();
    assert_eq!(model.batch, ModelRows::Absent);
    assert_eq!(shown(&model.inputs()), ["x FP32 [2, 3, 5, 5]"]);
}

#[test]
fn samples_of_any_length_are_a_model_of_its_own() {
    let written = Written::new();
    let model = written.network("m", "lengths.onnx").single();
    assert!(model.answers_itself());
    assert_eq!(model.inputs()[0].to_string(), "INT64 [-1]");
    assert_eq!(
        shown(&model.outputs()),
        ["attended FP32 [-1, 8]", "pooled FP32 [8]"]
    );
    assert_eq!(
        (&*model.ensemble.name, &*model.ensemble.members[0].name),
        ("m", "m")
    );
}

/// The configuration of `two.onnx`.
fn two(batch: usize, input: &str, output: &str) -> String {
    format!(
        "platform: \"onnxruntime_onnx\"\nmax_batch_size: {batch}\n\
         input [\n  {{ name: \"x\" data_type: TYPE_FP32 dims: {input} }},\n  \
         {{ name: \"z\" data_type: TYPE_FP32 dims: [ 6 ] }}\n]\n\
         output [\n  {output}\n]\n"
    )
}

const BEST: &str = "{ name: \"best\" data_type: TYPE_INT64 dims: [ 1 ] reshape { shape: [ ] } }";

#[test]
fn outputs_are_those_that_the_configuration_names_in_its_order() {
    let written = Written::new();
    written
        .network("m", "two.onnx")
        .config("m", &two(8, "[ 4, 6 ]", BEST));
    let model = written.single();
    assert_eq!(shown(&model.inputs()), ["x FP32 [4, 6]", "z FP32 [6]"]);
    assert_eq!(shown(&model.outputs()), ["best INT64 [1]"]);
    assert_eq!(model.batch, ModelRows::UpTo(8));
}

#[test]
fn dimensions_may_be_others_than_the_models_by_reshape() {
    let written = Written::new();
    written.network("m", "image.onnx").config(
        "m",
        "max_batch_size: 4\n\
         input { name: \"x\" data_type: TYPE_FP32 dims: 576 reshape { shape: [ 3, 16, 12 ] } }\n\
         output { name: \"y\" data_type: TYPE_FP32 dims: [ 2, 3 ] reshape { shape: 6 } }",
    );
    let model = written.single();
    assert_eq!(shown(&model.inputs()), ["x FP32 [576]"]);
    assert_eq!(shown(&model.outputs()), ["y FP32 [2, 3]"]);
}

#[test]
fn without_a_batch_size_the_first_dimension_says_the_rows() {
    let tensors = |input: &str, output: &str| {
        format!(
            "max_batch_size: 0\ninput {{ name: \"x\" data_type: TYPE_FP32 dims: {input} }}\n\
             output {{ name: \"y\" data_type: TYPE_FP32 dims: {output} }}"
        )
    };
    for (file, input, output, batch, shown_as) in [
        (
            "one.onnx",
            "[ -1, 3 ]",
            "[ -1, 1 ]",
            ModelRows::Open,
            "x FP32 [3]",
        ),
        (
            "one.onnx",
            "[ 1, 3 ]",
            "[ 1, 1 ]",
            ModelRows::Absent,
            "x FP32 [1, 3]",
        ),
        (
            "rows.onnx",
            "[ 2, 3, 5, 5 ]",
            "[ 2, 4 ]",
            ModelRows::Exactly(2),
            "x FP32 [3, 5, 5]",
        ),
        (
            "whole.onnx",
            "[ 2, 3, 5, 5 ]",
            "[ 2, 4 ]",
            ModelRows::Absent,
            "x FP32 [2, 3, 5, 5]",
        ),
    ] {
        let written = Written::new();
        written
            .network("m", file)
            .config("m", &tensors(input, output));
        let model = written.single();
        assert_eq!(model.batch, batch, "{file} {input}");
        assert_eq!(shown(&model.inputs()), [shown_as], "{file}");
    }
}

#[test]
fn a_configuration_fixes_what_the_file_leaves_open() {
    let written = Written::new();
    written.network("m", "sides.onnx").config(
        "m",
        "max_batch_size: 4\ninput { name: \"x\" data_type: TYPE_FP32 dims: [ 3, 8, 6 ] }\n\
         output { name: \"y\" data_type: TYPE_FP32 dims: [ 3 ] }",
    );
    assert_eq!(shown(&written.single().inputs()), ["x FP32 [3, 8, 6]"]);
}

#[test]
fn a_configuration_may_leave_open_what_the_file_fixes() {
    let output = "{ name: \"y\" data_type: TYPE_FP32 dims: [ -1 ] }";
    for dims in ["[ -1, 6 ]", "[ 4, -1 ]", "[ -1, -1 ]"] {
        let written = Written::new();
        written
            .network("m", "two.onnx")
            .config("m", &two(8, dims, output));
        let inputs = shown(&written.single().inputs());
        assert!(inputs.contains(&"x FP32 [4, 6]".to_owned()), "{inputs:?}");
    }
}

#[test]
fn two_lengths_that_vary_are_refused() {
    let written = Written::new();
    written.network("m", "sides.onnx").config(
        "m",
        "max_batch_size: 4\ninput { name: \"x\" data_type: TYPE_FP32 dims: [ 3, -1, -1 ] }",
    );
    let failure = written.failure("m");
    let expected = "m/config.pbtxt:2: input.dims: only one length may be -1";
    assert!(failure.starts_with(expected), "{failure}");
}

#[test]
fn lengths_that_vary_may_be_said_too() {
    let input = |name: &str| format!("{{ name: \"{name}\" data_type: TYPE_INT64 dims: [ -1 ] }}");
    let written = Written::new();
    let inputs = ["ids", "attention_mask", "types"].map(input).join(", ");
    written.network("m", "lengths.onnx").config(
        "m",
        &format!(
            "max_batch_size: 16\ninput [ {inputs} ]\n\
             output {{ name: \"pooled\" data_type: TYPE_FP32 dims: [ 8 ] }}"
        ),
    );
    let model = written.single();
    assert_eq!(model.batch, ModelRows::UpTo(16));
    assert!(model.answers_itself());
}

/// The configuration of `lengths.onnx` without a batch, with more of it.
fn lengths(more: &str) -> Written {
    let input =
        |name: &str| format!("{{ name: \"{name}\" data_type: TYPE_INT64 dims: [ 1, -1 ] }}");
    let inputs = ["ids", "attention_mask", "types"].map(input).join(", ");
    let written = Written::new();
    written.network("m", "lengths.onnx").config(
        "m",
        &format!("max_batch_size: 0\ninput [ {inputs} ]\n{more}"),
    );
    written
}

#[test]
fn samples_of_any_length_may_come_one_at_a_time() {
    let output = "output { name: \"pooled\" data_type: TYPE_FP32 dims: [ 1, 8 ] }";
    let model = lengths(output).single();
    assert_eq!(model.batch, ModelRows::Exactly(1));
    let expected = [
        "output: `attended` is also available",
        "input.dims: -1 allows lengths up to 16; set the parameter `most_length` for another limit",
    ];
    assert_eq!(model.not_honoured, expected);
}

#[test]
fn the_longest_sample_is_said_by_a_parameter() {
    let most = |text: &str| {
        format!("parameters {{ key: \"most_length\" value {{ string_value: \"{text}\" }} }}")
    };
    let model = lengths(&most("12")).single();
    let known = model
        .ensemble
        .lengths
        .as_ref()
        .map(|lengths| lengths.largest());
    assert_eq!(known, Some(12));
    assert!(model.not_honoured.is_empty(), "{:?}", model.not_honoured);
    for wrong in ["1", "many", ""] {
        let failure = lengths(&most(wrong)).failure("m");
        let said = format!(
            "parameters.most_length: expected a length of at least 2, found \
                            `{wrong}`"
        );
        assert!(failure.contains(&said), "{failure}");
    }
}

#[test]
fn dimensions_that_a_file_leaves_open_are_for_the_configuration_to_say() {
    for (file, expected) in [
        (
            "sides.onnx",
            "set the sizes with `dims` of all inputs in m/config.pbtxt, such as `max_batch_size: \
             8` and `dims: [ 3,",
        ),
        (
            "two_sides.onnx",
            "set the sizes with `dims` of all inputs in m/config.pbtxt",
        ),
    ] {
        let written = Written::new();
        written.network("m", file);
        let failure = written.failure("m");
        let place = "m/1/model.onnx: input `";
        assert!(failure.starts_with(place), "{failure}");
        assert!(failure.contains(expected), "{failure}");
        assert!(
            !failure.contains("--shape") && !failure.contains("[input"),
            "{failure}"
        );
    }
}

#[test]
fn samples_of_any_length_keep_their_dimensions() {
    let output =
        "output { name: \"pooled\" data_type: TYPE_FP32 dims: 8 reshape { shape: [ 1, 8 ] } }";
    let failure = lengths(output).failure("m");
    let said = "output `pooled`: reshape: expected none if a length varies";
    assert!(failure.contains(said), "{failure}");
}

#[test]
fn a_model_whose_values_lie_beside_it_may_be_a_folder() {
    let written = Written::new();
    written
        .network_at("m/1/model.onnx/model.onnx", "vectors.onnx")
        .network_at("m/1/model.onnx/vectors.onnx.data", "vectors.onnx.data");
    assert_eq!(shown(&written.single().inputs()), ["x FP32 [12]"]);
}

#[test]
fn a_file_of_another_name_is_read_where_the_configuration_says_it() {
    let written = Written::new();
    written
        .network_at("m/1/net.onnx", "one.onnx")
        .config("m", "default_model_filename: \"net.onnx\"");
    assert_eq!(shown(&written.single().inputs()), ["x FP32 [3]"]);
}

const MLP: &str = "backend: \"divisi\"\nmax_batch_size: 64\n\
    input { name: \"image\" data_type: TYPE_FP32 dims: [ 1, 8, 8 ] }\n\
    output { name: \"logits\" data_type: TYPE_FP32 dims: [ 10 ] }\n";

fn weights(written: &Written) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sample_ensembles/digits");
    let bytes = std::fs::read(format!("{folder}/cnn-s.safetensors")).expect("weights");
    written.file("m/1/model.safetensors", bytes);
}

#[test]
fn a_file_of_weights_has_its_network_named_beside_it() {
    let network = "parameters { key: \"network\" value { string_value: \
                   \"{ builder = 'convnet', channels = [8, 16], depth = 1 }\" } }";
    let written = Written::new();
    weights(&written);
    written.config("m", &format!("{MLP}{network}"));
    let model = written.single();
    assert_eq!(shown(&model.inputs()), ["image FP32 [1, 8, 8]"]);
    assert_eq!(shown(&model.outputs()), ["logits FP32 [10]"]);
    assert!(model.not_honoured.is_empty(), "{:?}", model.not_honoured);
}

#[test]
fn weights_without_their_network_are_refused() {
    let parameter = |value: &str| {
        format!("{MLP}parameters {{ key: \"network\" value {{ string_value: \"{value}\" }} }}")
    };
    for (config, expected) in [
        (
            MLP.to_owned(),
            "parameters.network: expected the name of a network, or a file network.toml",
        ),
        (parameter("resnet51"), "unknown variant `resnet51`"),
        (parameter("{ builder = 1 }"), "builder: expected the name"),
        (
            parameter("{ builder = "),
            "m/config.pbtxt:5: parameters.network: ",
        ),
        (
            parameter("../other.toml"),
            "m/config.pbtxt:5: parameters.network: expected a file in the model's folder; \
             `../other.toml` leads out of the model's folder",
        ),
        (
            parameter("none.toml"),
            "m/config.pbtxt:5: parameters.network: expected a file in the model's folder; \
             m/none.toml: ",
        ),
        (parameter("alexnet"), "m/config.pbtxt:"),
        (
            parameter("{ builder = 'perceptron', hidden = [4] }"),
            "m/1/model.safetensors: ",
        ),
    ] {
        let written = Written::new();
        weights(&written);
        written.config("m", &config);
        let failure = written.failure("m");
        assert!(failure.contains(expected), "{failure}");
    }
}

#[test]
fn tensors_that_are_not_the_models_are_refused_by_line_name_and_expectation() {
    let output = "{ name: \"y\" data_type: TYPE_FP32 dims: [ 6 ] }";
    let named = |name: &str| output.replace("\"y\"", &format!("\"{name}\""));
    for (config, expected) in [
        (
            two(8, "[ 4, 5 ]", output),
            "m/config.pbtxt:4: input `x`: dims: the model takes [N, 4, 6] (the first is the \
             batch), found [4, 5]",
        ),
        (
            two(8, "[ 4 ]", output),
            "m/config.pbtxt:4: input `x`: dims: the model takes [N, 4, 6]",
        ),
        (
            two(8, "[ 4, 6 ]", &named("w")),
            "m/config.pbtxt:8: output: the model has no `w`; expected y, best",
        ),
        (
            two(8, "[ 4, 6 ]", &output.replace("FP32", "FP16")),
            "m/config.pbtxt:8: output `y`: data_type: expected FP32, found FP16",
        ),
        (
            two(8, "[ 4, 6 ]", &output.replace("6", "7")),
            "m/config.pbtxt:8: output `y`: dims: expected [6], found [7]",
        ),
        (
            two(8, "[ 4, 6 ]", &BEST.replace("shape: [ ]", "shape: [ 2 ]")),
            "output `best`: reshape.shape: expected [], found [2]",
        ),
        (
            two(8, "[ 4, 6 ]", &BEST.replace("dims: [ 1 ]", "dims: [ 2 ]")),
            "output `best`: reshape.shape: expected the same number of values as [2], found []",
        ),
        (
            two(0, "[ 4, 6 ]", output),
            "m/config.pbtxt:4: input `x`: dims: the model takes [N, 4, 6], found [4, 6]",
        ),
    ] {
        let written = Written::new();
        written.network("m", "two.onnx").config("m", &config);
        let failure = written.failure("m");
        assert!(failure.contains(expected), "{failure}\n{config}");
    }
}

#[test]
fn inputs_have_to_be_all_that_the_model_takes() {
    let written = Written::new();
    written.network("m", "two.onnx").config(
        "m",
        "max_batch_size: 2\ninput { name: \"x\" data_type: TYPE_FP32 dims: [ 4, 6 ] }",
    );
    let failure = written.failure("m");
    let expected = "m/config.pbtxt:2: input: the model also takes `z`, which is missing";
    assert_eq!(failure, expected);
}

#[test]
fn rows_of_a_model_without_a_batch_are_refused() {
    let written = Written::new();
    written
        .network("m", "whole.onnx")
        .config("m", "\nmax_batch_size: 8");
    let failure = written.failure("m");
    assert!(
        failure.contains("m/config.pbtxt:2: max_batch_size: expected 0"),
        "{failure}"
    );
}

#[test]
fn backends_that_do_not_run_here_say_the_way_out() {
    for (config, expected) in [
        (
            "backend: \"python\"",
            "m/config.pbtxt:1: backend: expected onnxruntime, divisi (safetensors) or ensemble, \
             found `python`; export its network to model.onnx",
        ),
        (
            "\nplatform: \"pytorch_libtorch\"",
            "m/config.pbtxt:2: platform: expected onnxruntime, divisi (safetensors) or ensemble, \
             found `pytorch_libtorch`; export the model with torch.onnx.export",
        ),
        (
            "platform: \"tensorrt_plan\"",
            "serve the ONNX file from which the plan was built",
        ),
        ("platform: \"tensorflow_savedmodel\"", "tf2onnx"),
        ("backend: \"dali\"", "pipeline.toml"),
        (
            "platform: \"onnxruntime_onnx\"\nbackend: \"python\"",
            "m/config.pbtxt:2: backend: expected onnxruntime, divisi (safetensors) or ensemble, \
             found `python`; export its network to model.onnx",
        ),
        (
            "backend: \"onnxruntime\"\nplatform: \"pytorch_libtorch\"",
            "m/config.pbtxt:2: platform: expected onnxruntime, divisi (safetensors) or ensemble, \
             found `pytorch_libtorch`; export the model with torch.onnx.export",
        ),
        (
            "platform: \"onnxruntime_onnx\"\nbackend: \"safetensors\"",
            "m/config.pbtxt:2: backend: expected a value that matches platform \
             `onnxruntime_onnx`, found `safetensors`",
        ),
        (
            "platform: \"ensemble\"\nbackend: \"onnxruntime\"",
            "m/config.pbtxt:2: backend: expected `ensemble`, found `onnxruntime`",
        ),
        (
            "backend: \"mine\"",
            "found `mine`; export the model to model.onnx",
        ),
    ] {
        let written = Written::new();
        written.network("m", "one.onnx").config("m", config);
        let failure = written.failure("m");
        assert!(failure.contains(expected), "{failure}");
    }
}

#[test]
fn a_version_without_a_network_says_what_is_there() {
    for (file, expected) in [
        (
            "m/1/model.pt",
            "m/1/model.pt: expected model.onnx or model.safetensors; export the model with \
             torch.onnx.export",
        ),
        (
            "m/1/model.plan",
            "m/1/model.plan: expected model.onnx or model.safetensors; serve the ONNX file",
        ),
        (
            "m/1/readme.txt",
            "m/1: expected model.onnx or model.safetensors, found readme.txt",
        ),
        (
            "m/readme.txt",
            "m: expected a folder for each version, such as `1`, found none",
        ),
    ] {
        let written = Written::new();
        written.file(file, "");
        let failure = written.failure("m");
        assert!(failure.contains(expected), "{failure}");
    }
}

#[test]
fn a_network_that_cannot_be_computed_fails_alone() {
    let written = Written::new();
    written
        .network("bad", "unknown.onnx")
        .network("good", "one.onnx");
    let report = written.load();
    assert_eq!(report.models.len(), 1);
    assert_eq!(
        (&*report.failures[0].name, report.failures[0].version),
        ("bad", Some(1))
    );
    let failure = report.failures[0].fault.to_string();
    assert!(failure.starts_with("bad/1/model.onnx: "), "{failure}");
}

#[test]
fn an_ensemble_or_pipeline_of_ours_is_a_model_too() {
    let manifest = "name = \"mine\"\nclasses = 2\n[input]\nshape = [4]\n[[members]]\n\
                    name = \"a\"\nnetwork = { builder = \"perceptron\", hidden = [8] }\n";
    let written = Written::new();
    written.file("voted/ensemble.toml", manifest);
    let model = written.single();
    assert_eq!(
        (&*model.name, model.version, &*model.ensemble.name),
        ("voted", 1, "voted")
    );
    assert!(model.ensemble.pipeline.is_none() && !model.answers_itself());
    written.file("voted/ensemble.toml", "name = 1");
    assert!(
        written
            .failure("voted")
            .starts_with("voted/ensemble.toml: ")
    );
}
