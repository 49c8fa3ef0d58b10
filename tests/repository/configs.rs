//! `config.pbtxt` as a text: what is read of it, and what is wrong with others.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use divisi_model::ensemble::{QueuePolicy, QueueTimeout, Queueing, TimeoutAction};
use divisi_repository::LoadFault;
use divisi_repository::config::{
    DynamicBatching, InstanceGroup, InstancePlace, ModelConfig, WarmupData,
};

use crate::common::Written;

fn read(text: &str) -> ModelConfig {
    ModelConfig::parse("c", text).expect("a configuration")
}

#[track_caller]
fn fault(text: &str) -> String {
    let read: Result<ModelConfig, LoadFault> = ModelConfig::parse("c", text);
    read.expect_err("is wrong").to_string()
}

#[test]
fn the_text_format_is_read_in_all_its_forms() {
    let expected =
        read("max_batch_size: 8\ninput { name: \"xy\" data_type: TYPE_FP32 dims: [3, -1] }");
    for text in [
        "max_batch_size: 0x8; input: < name: 'xy', data_type: 11, dims: 3 dims: -1 >",
        "max_batch_size: 010, input [{ name: \"x\" # a comment\n 'y' data_type: TYPE_FP32 dims: [3, -1], }]",
        "\u{feff}max_batch_size: 8 input: [ { name: \"\\x78\\171\" data_type: TYPE_FP32 dims: [ 3,-1 ] } ]",
        "input { name: \"\\u0078y\" data_type: TYPE_FP32 dims: [3, -1] } max_batch_size: 8",
    ] {
        let mut found = read(text);
        found.inputs[0].line = expected.inputs[0].line;
        assert_eq!(found.inputs, expected.inputs, "{text}");
        assert_eq!(found.max_batch_size, Some(8), "{text}");
    }
}

#[test]
fn damaged_texts_are_refused_by_line_field_and_expectation() {
    for (text, expected) in [
        (
            "\nnmae: \"x\"",
            "c:2: unknown field `nmae`, expected one of name, platform",
        ),
        (
            "input { nmae: \"x\" }",
            "c:1: input: unknown field `nmae`, expected one of name",
        ),
        (
            "max_batch_size: \"8\"",
            "c:1: max_batch_size: expected a whole number from",
        ),
        ("max_batch_size: 9999999999", "found `9999999999`"),
        (
            "max_batch_size: -1",
            "c:1: max_batch_size: expected 0 or more, found -1",
        ),
        (
            "max_batch_size 8",
            "c:1: max_batch_size: expected `:`, found `8`",
        ),
        (
            "max_batch_size: 8 max_batch_size: 9",
            "c:1: max_batch_size: appears twice",
        ),
        (
            "max_batch_size: [8]",
            "c:1: max_batch_size: expected one value, found a list",
        ),
        (
            "name: x",
            "c:1: name: expected a string in quotes, found `x`",
        ),
        ("name: \"x", "c:1: a string without a closing \""),
        ("name: \"\\q\"", "c:1: unknown escape `\\q` in a string"),
        ("name: \"\\xff\"", "c:1: a string that is not UTF-8"),
        ("name: \"\\ud800\"", "c:1: an escape is not a character"),
        ("name: \"\\u12\"", "c:1: an escape has fewer than 4 digits"),
        ("name: \"\\x\"", "c:1: an escape in a string is not a byte"),
        ("name: \"\\", "c:1: a backslash at the end"),
        (
            "input {",
            "c:1: input: expected `}`, found the end of the file",
        ),
        (
            "input [ { }",
            "expected `,` or `]`, found the end of the file",
        ),
        ("input: 3", "c:1: input: expected `{`, found `3`"),
        ("}", "c:1: expected the name of a field, found `}`"),
        ("é", "c:1: expected a field, found `é`"),
        (
            "response_cache { enable: 2 }",
            "response_cache.enable: expected `true` or `false`",
        ),
        (
            "input { data_type: TYPE_FP31 }",
            "input.data_type: expected one of TYPE_INVALID, TYPE_BOOL",
        ),
        (
            "input { data_type: TYPE_INVALID name: \"x\" dims: 1 }",
            "expected a type such as TYPE_FP32",
        ),
        (
            "input { name: \"x\" dims: 1 }",
            "c:1: input.data_type: expected a type such as TYPE_FP32, found none",
        ),
        (
            "input { data_type: TYPE_FP32 dims: 1 }",
            "c:1: input.name: expected the name of a tensor",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 }",
            "c:1: input.dims: expected the dimensions of `x`",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: 0 }",
            "input.dims: expected -1 or a number above 0, found 0",
        ),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: 1 }\ninput { name: \"x\" data_type: TYPE_FP32 dims: 1 }",
            "c:2: input: `x` appears twice",
        ),
        (
            "dynamic_batching { }\nensemble_scheduling { }",
            "c:2: ensemble_scheduling: expected this field or `dynamic_batching`, found both",
        ),
        (
            "dynamic_batching { preferred_batch_size: 0 }",
            "preferred_batch_size: expected a number above 0, found 0",
        ),
        (
            "max_batch_size: 4 dynamic_batching { preferred_batch_size: [ 2, 8 ] }",
            "preferred_batch_size: expected a number above 0 up to max_batch_size, 4, found 8",
        ),
        (
            "ensemble_scheduling { step { } }",
            "ensemble_scheduling.step.model_name: expected the name of a model",
        ),
        (
            "ensemble_scheduling { step { model_name: \"m\" model_version: -2 } }",
            "model_version: expected -1 or a version above 0, found -2",
        ),
        (
            "ensemble_scheduling { step { model_name: \"m\" input_map { key: \"a\" } input_map { key: \"a\" } } }",
            "ensemble_scheduling.step.input_map: the key `a` appears twice",
        ),
        (
            "version_policy { specific { versions: 0 } }",
            "versions: expected a version above 0, found 0",
        ),
        (
            "model_warmup { batch_size: 1 inputs { key: \"x\" value { dims: 1 zero_data: true } } }",
            "model_warmup.inputs.value.data_type: expected a type such as TYPE_FP32, found none",
        ),
        (
            "model_warmup { batch_size: 1 inputs { key: \"x\" } }",
            "model_warmup.inputs.value: expected an input, found none",
        ),
    ] {
        let found = fault(text);
        assert!(found.contains(expected), "{found}\n{text}");
    }
}

#[test]
fn messages_within_messages_have_a_bound() {
    // No message of the interface file holds itself, so its depth is the bound.
    let deep = "optimization { cuda { graph_spec { graph_lower_bound { input { key: \"x\" value { dim: 1 } } } } } }";
    assert_eq!(read(deep).unused.len(), 2);
    let open = "input{".repeat(10_000);
    assert!(fault(&open).contains("unknown field `input`"));
}

#[test]
fn what_would_change_answers_is_refused_by_its_name() {
    for (text, expected) in [
        (
            "sequence_batching { }",
            "c:1: `sequence_batching` is not supported",
        ),
        (
            "model_transaction_policy { decoupled: true }",
            "c:1: `model_transaction_policy.decoupled` is not supported",
        ),
    ] {
        let found = fault(text);
        assert!(found.starts_with(expected), "{found}");
    }
    assert!(
        read("model_transaction_policy { decoupled: false }")
            .unused
            .is_empty()
    );
}

#[test]
fn what_is_read_and_not_honoured_is_named() {
    let unused = |text: &str| read(text).unused;
    for (text, expected) in [
        (
            "name: \"m\" platform: \"onnxruntime_onnx\" backend: \"onnxruntime\" max_batch_size: 2",
            &[][..],
        ),
        (
            "optimization { cuda { graphs: true } priority: PRIORITY_MAX }",
            &["optimization.cuda.graphs", "optimization.priority"],
        ),
        (
            "optimization { execution_accelerators { } }",
            &["optimization.execution_accelerators"],
        ),
        (
            "parameters { key: \"intra_op_thread_count\" value { string_value: \"4\" } }",
            &["parameters.intra_op_thread_count"],
        ),
        (
            "metric_tags { key: \"a\" value: \"b\" }",
            &["metric_tags.key", "metric_tags.value"],
        ),
        (
            "instance_group [ { count: 2 kind: KIND_GPU profile: \"p\" } ]",
            &["instance_group.profile"],
        ),
        (
            "instance_group { rate_limiter { priority: 1 } }",
            &["instance_group.rate_limiter.priority"],
        ),
        ("response_cache { enable: true }", &[]),
        ("response_cache { enable: false }", &[]),
        ("runtime: \"r\"", &["runtime"]),
        (
            "input { name: \"x\" data_type: TYPE_FP32 dims: 1 format: FORMAT_NCHW optional: true allow_ragged_batch: false }",
            &["input.format", "input.optional"],
        ),
        (
            "dynamic_batching { preserve_ordering: true }",
            &["dynamic_batching.preserve_ordering"],
        ),
        (
            "dynamic_batching { priority_levels: 2 default_priority_level: 1 default_queue_policy { max_queue_size: 3 timeout_action: DELAY } }",
            &[],
        ),
    ] {
        assert_eq!(unused(text), expected, "{text}");
    }
}

#[test]
fn what_servers_may_honour_is_handed_on() {
    let config = read(
        "dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100\n\
         priority_levels: 2 default_priority_level: 2 default_queue_policy { timeout_action: DELAY\n\
         default_timeout_microseconds: 5000 allow_timeout_override: true max_queue_size: 3 }\n\
         priority_queue_policy { key: 1 value { max_queue_size: 7 } } }\n\
         instance_group [ { count: 2 kind: KIND_GPU gpus: [ 0, 1 ] }, { kind: KIND_CPU } ]\n\
         response_cache { enable: true }\n\
         model_warmup { name: \"w\" batch_size: 2 inputs { key: \"x\" value { data_type: TYPE_FP32\n\
         dims: 3 random_data: true } } inputs { key: \"z\" value { data_type: TYPE_INT64 dims: 1\n\
         input_data_file: \"z\" } } }",
    );
    let usual = QueuePolicy {
        timeout: Some(QueueTimeout {
            after: Duration::from_millis(5),
            action: TimeoutAction::Delay,
            may_be_shorter: true,
        }),
        most: NonZeroU32::new(3),
    };
    let urgent = QueuePolicy {
        timeout: None,
        most: NonZeroU32::new(7),
    };
    let own = BTreeMap::from([(1, urgent)]);
    let queueing = Queueing::new(2, 2, usual, &own).expect("two levels");
    let expected = DynamicBatching {
        preferred: vec![4, 8],
        delay: Duration::from_micros(100),
        preserve_ordering: false,
        queueing: Some(Arc::new(queueing)),
    };
    assert_eq!(config.batching, Some(expected));
    let group = |count, place, gpus: &[u32]| InstanceGroup {
        count,
        place,
        gpus: gpus.to_vec(),
    };
    let expected = [
        group(2, InstancePlace::Gpus, &[0, 1]),
        group(1, InstancePlace::Processors, &[]),
    ];
    assert_eq!(config.instances, expected);
    assert!(config.cached);
    let warmup = &config.warmup[0];
    assert_eq!((&*warmup.name, warmup.rows, warmup.count), ("w", 2, 0));
    let data: Vec<_> = warmup
        .inputs
        .iter()
        .map(|input| input.data.clone())
        .collect();
    let file = WarmupData::File("z".into());
    assert_eq!(data, [Some(WarmupData::Random), Some(file)]);
}

#[test]
fn batches_are_of_the_sizes_that_the_configuration_prefers() {
    let written = Written::new();
    written.network("m", "one.onnx").config(
        "m",
        "max_batch_size: 12\ndynamic_batching { preferred_batch_size: 6 max_queue_delay_microseconds: 500 }",
    );
    let model = written.single();
    let sizes: Vec<usize> = model
        .ensemble
        .batch_sizes
        .iter()
        .map(|size| size.get())
        .collect();
    assert_eq!(sizes, [1, 2, 4, 6, 8, 12]);
    assert_eq!(model.ensemble.policy.to_string(), "opt-wait:0.5ms");
}

#[test]
fn the_name_is_that_of_the_folder() {
    let written = Written::new();
    written.network("m", "one.onnx").config("m", "name: \"n\"");
    let expected = "m/config.pbtxt:1: name: expected `m`, the name of its folder, found `n`";
    assert_eq!(written.failure("m"), expected);
}

#[test]
fn the_names_of_values_are_read_from_their_file() {
    let config = "max_batch_size: 2\ninput { name: \"x\" data_type: TYPE_FP32 dims: [ 3, 16, 12 ] }\n\
                  output { name: \"y\" data_type: TYPE_FP32 dims: 6 label_filename: \"names.txt\" }";
    let written = Written::new();
    written
        .network("m", "image.onnx")
        .config("m", config)
        .file("m/names.txt", "a\r\nb\nc\nd\ne\nf\n\n");
    let model = written.single();
    let (output, names) = &model.labels[0];
    assert_eq!((&**output, names.join(" ")), ("y", "a b c d e f".into()));
    let values = model.ensemble.answer_names.as_ref().expect("names");
    assert_eq!(values.len(), 6);
    written.file("m/names.txt", "\n");
    let place = "m/config.pbtxt:3: output `y`: label_filename: expected a file in the model's \
                 folder with one name per line; m/names.txt: ";
    assert_eq!(
        written.failure("m"),
        format!("{place}the file has no names")
    );
    std::fs::remove_file(written.path().join("m/names.txt")).expect("removed");
    let failure = written.failure("m");
    assert!(failure.starts_with(place), "{failure}");
}

#[test]
fn json_says_the_same_as_the_text_format() {
    let text = "name: \"m\" platform: \"onnxruntime_onnx\" max_batch_size: 8 \
        parameters { key: \"network\" value { string_value: \"n\" } } \
        version_policy { specific { versions: [ 1, 3 ] } }\n\
        input { name: \"x\" data_type: TYPE_FP32 dims: [ 3, -1 ] reshape { shape: 3 } }\n\
        dynamic_batching { preferred_batch_size: 4 max_queue_delay_microseconds: 100\n\
        priority_levels: 2 default_priority_level: 1\n\
        priority_queue_policy { key: 2 value { timeout_action: DELAY\n\
        default_timeout_microseconds: 7 } } }\n\
        instance_group { count: 2 kind: KIND_CPU }";
    let json = r#"{"name": "m", "platform": "onnxruntime_onnx", "maxBatchSize": 8, "backend": null,
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": ["3", -1], "reshape": {"shape": [3]}}],
        "version_policy": {"specific": {"versions": [1, "3"]}},
        "dynamicBatching": {"preferred_batch_size": [4], "maxQueueDelayMicroseconds": "100",
            "priority_levels": 2, "default_priority_level": 1,
            "priority_queue_policy": {"2": {"timeout_action": 1, "default_timeout_microseconds": "7"}}},
        "instance_group": [{"count": 2, "kind": "KIND_CPU"}],
        "parameters": {"network": {"string_value": "n"}}}"#;
    let of_json = ModelConfig::parse_json("c", json).expect("a configuration");
    let mut of_text = read(text);
    // Faults in JSON are all on line 1.
    for input in &mut of_text.inputs {
        input.line = 1;
    }
    assert_eq!(format!("{of_json:#?}"), format!("{of_text:#?}"));
}

#[test]
fn json_that_is_no_configuration_is_refused_by_its_field() {
    let deep = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    for (json, expected) in [
        ("[", "c:1: invalid JSON: "),
        ("1", "c:1: expected an object, found 1"),
        (
            "{\"no\": 1}",
            "c:1: unknown field `no`, expected one of name, ",
        ),
        ("{\"name\": 1}", "c:1: name: expected a string, found 1"),
        (
            "{\"max_batch_size\": 1.5}",
            "c:1: max_batch_size: expected a whole number from -2147483648",
        ),
        (
            "{\"max_batch_size\": 99999999999}",
            "c:1: max_batch_size: expected a whole number from",
        ),
        (
            "{\"input\": [{\"data_type\": \"FP32\"}]}",
            "c:1: input: data_type: expected one of TYPE_INVALID, ",
        ),
        (
            "{\"dynamic_batching\": {}, \"sequence_batching\": {}}",
            "c:1: sequence_batching: expected this field or `dynamic_batching`, found both",
        ),
        (&deep, "c:1: "),
    ] {
        let read = ModelConfig::parse_json("c", json);
        let found = read.expect_err(json).to_string();
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn priorities_that_cannot_be_are_refused_by_their_field() {
    for (text, expected) in [
        (
            "dynamic_batching { priority_levels: 600 default_priority_level: 1 }",
            "c:1: dynamic_batching.priority_levels: expected 1 to 512 levels, found 600",
        ),
        (
            "dynamic_batching { priority_levels: 2 }",
            "c:1: dynamic_batching.default_priority_level: expected a default level from 1 to 2, found 0",
        ),
        (
            "dynamic_batching { priority_levels: 2 default_priority_level: 1\n\
             priority_queue_policy { key: 3 value { max_queue_size: 1 } } }",
            "c:2: dynamic_batching.priority_queue_policy: expected policies for levels 1 to 2, \
             found one for level 3",
        ),
    ] {
        assert_eq!(fault(text), expected);
    }
}
