//! Settings that ask for more than is done are listed for the model that lacks it.

use crate::common::{Written, model};

/// An ensemble of one step, from `in` to `out`.
fn over(model: &str, [input, output]: [&str; 2]) -> String {
    format!(
        "platform: \"ensemble\"\nmax_batch_size: 4\n\
         input {{ name: \"in\" data_type: TYPE_FP32 dims: 4 }}\n\
         output {{ name: \"out\" data_type: TYPE_FP32 dims: 4 }}\n\
         ensemble_scheduling {{ step {{ model_name: \"{model}\" model_version: -1\n\
         input_map {{ key: \"{input}\" value: \"in\" }}\n\
         output_map {{ key: \"{output}\" value: \"out\" }} }} }}\n"
    )
}

/// A model with the settings `more`, an ensemble over it, and one over that.
fn nested(more: &str) -> Written {
    let written = Written::new();
    written
        .network("m", "affine.onnx")
        .config("m", &format!("max_batch_size: 4\n{more}"))
        .config("inner", &over("m", ["x", "y"]))
        .config("outer", &over("inner", ["in", "out"]));
    written
}

#[test]
fn queues_and_the_cache_of_a_model_are_listed_for_the_ensembles_over_it() {
    let report = nested(
        "response_cache { enable: true }\n\
         dynamic_batching { priority_levels: 2 default_priority_level: 1\n\
         default_queue_policy { max_queue_size: 3 }\n\
         priority_queue_policy { key: 2 value { max_queue_size: 5 } } }",
    )
    .load();
    assert!(model(&report, "m").not_honoured.is_empty());
    for ensemble in ["inner", "outer"] {
        let expected = [
            "step `m`: dynamic_batching.priority_levels",
            "step `m`: dynamic_batching.default_queue_policy",
            "step `m`: dynamic_batching.priority_queue_policy",
            "step `m`: response_cache",
        ];
        assert_eq!(model(&report, ensemble).not_honoured, expected);
    }
}

#[test]
fn batches_of_a_model_are_honoured_in_the_ensembles_over_it() {
    let batching = "dynamic_batching { preferred_batch_size: 3 max_queue_delay_microseconds: 9 }";
    let report = nested(batching).load();
    for model in &report.models {
        assert!(model.not_honoured.is_empty(), "{:?}", model.not_honoured);
    }
}

/// A field of Protocol Buffers that holds bytes, at most 127 of them.
fn field(number: u8, parts: &[&[u8]]) -> Vec<u8> {
    let held = parts.concat();
    let length = u8::try_from(held.len()).expect("few bytes");
    [vec![number << 3 | 2, length], held].concat()
}

/// An ONNX file that negates four numbers of 64 bits.
fn doubles() -> Vec<u8> {
    let rows = field(1, &[&field(2, &[b"N"])]);
    let shape = field(2, &[&rows, &field(1, &[&[1 << 3, 4]])]);
    let double = field(2, &[&field(1, &[&[1 << 3, 11], &shape])]);
    let named = |name: &[u8]| [field(1, &[name]), double.clone()].concat();
    let node = field(
        1,
        &[&field(1, &[b"x"]), &field(2, &[b"y"]), &field(4, &[b"Neg"])],
    );
    let tensors = [field(11, &[&named(b"x")]), field(12, &[&named(b"y")])].concat();
    let graph = field(7, &[&node, &field(2, &[b"g"]), &tensors]);
    [vec![1 << 3, 8], graph, field(8, &[&[2 << 3, 13]])].concat()
}

#[test]
fn tensors_of_64_bits_are_listed_as_computed_in_32() {
    let written = Written::new();
    written.file("m/1/model.onnx", doubles()).config(
        "m",
        "max_batch_size: 4\ninput { name: \"x\" data_type: TYPE_FP64 dims: 4 }\n\
         output { name: \"y\" data_type: TYPE_FP64 dims: 4 }",
    );
    let expected = [
        "input `x`: data_type: TYPE_FP64 is computed as TYPE_FP32",
        "output `y`: data_type: TYPE_FP64 is computed as TYPE_FP32",
    ];
    assert_eq!(written.single().not_honoured, expected);
}
