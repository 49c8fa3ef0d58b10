//! The requests of `model_warmup`: how many there are, of which samples.

use divisi_model::catalogue::WarmupRequest;

use crate::common::Written;

/// A model of 4 numbers a row with a warm-up of the input `x`.
fn written(model: &str, warmup: &str, input: &str) -> Written {
    let written = Written::new();
    written.network("m", "affine.onnx").config(
        "m",
        &format!(
            "{model}\nmodel_warmup {{ name: \"w\" {warmup} inputs {{ key: \"x\" value {{\n\
             data_type: TYPE_FP32 {input} }} }} }}"
        ),
    );
    written
}

/// How often a request is asked, how often it repeats its samples, and these.
fn shown(request: &WarmupRequest) -> (usize, usize, &[f32]) {
    (request.count.get(), request.rows.get(), &request.values)
}

const BATCHED: &str = "max_batch_size: 8";
const WHOLE: &str = "input { name: \"x\" data_type: TYPE_FP32 dims: [ -1, 4 ] }";

#[test]
fn a_batch_repeats_one_sample_and_the_rest_of_the_file_is_left() {
    let written = written(
        BATCHED,
        "batch_size: 4 count: 3",
        "dims: 4 input_data_file: \"raw\"",
    );
    let values = [1_f32, 2.0, 3.0, 4.0, 9.0, 9.0];
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    written.file("m/warmup/raw", bytes);
    let model = written.single();
    let expected = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(shown(&model.warmup[0]), (3, 4, &expected[..]));
}

#[test]
fn a_model_without_a_batch_is_asked_whole_tensors_as_often_as_the_batch_size_says() {
    for (dims, samples) in [("[ 1, 4 ]", 1), ("[ 3, 4 ]", 3)] {
        let input = format!("dims: {dims} zero_data: true");
        let model = written(WHOLE, "batch_size: 2 count: 5", &input).single();
        let expected = vec![0.0; 4 * samples];
        assert_eq!(shown(&model.warmup[0]), (10, 1, &expected[..]), "{dims}");
    }
}

#[test]
fn a_row_is_enough_where_the_file_decides_the_batch() {
    let model = written("", "batch_size: 2", "dims: 4 zero_data: true").single();
    assert_eq!(shown(&model.warmup[0]), (1, 2, &[0.0; 4][..]));
}

#[test]
fn a_warm_up_of_batch_size_0_is_skipped_whatever_it_says() {
    for (warmup, input) in [
        ("batch_size: 0", "dims: 4 input_data_file: \"gone\""),
        ("", "dims: 4 zero_data: true"),
        ("", "dims: [ -1, 7 ]"),
        ("batch_size: 0 count: 7", ""),
    ] {
        let model = written(BATCHED, warmup, input).single();
        assert!(model.warmup.is_empty(), "{warmup} {input}");
        assert_eq!(model.config.warmup.len(), 1, "clients are told of it");
    }
}

#[test]
fn the_name_of_a_flag_asks_for_its_values() {
    let of = |input: &str| {
        let model = written(BATCHED, "batch_size: 1", input).single();
        model.warmup[0].values.clone()
    };
    let random = of("dims: 4 random_data: true");
    assert!(random.iter().any(|value| *value != 0.0), "{random:?}");
    assert_eq!(of("dims: 4 zero_data: false"), [0.0; 4]);
    assert_eq!(of("dims: 4 random_data: false"), random);
}

#[test]
fn warm_ups_that_cannot_be_asked_are_refused_by_field() {
    for (warmup, input, expected) in [
        (
            "batch_size: 1",
            "dims: 4 input_data_file: \"raw\"",
            "input `x`: input_data_file: m/warmup/raw: expected at least 16 bytes, found 15",
        ),
        (
            "batch_size: 1",
            "dims: 4 input_data_file: \"gone\"",
            "input `x`: input_data_file: m/warmup/gone: No such file or directory (os error 2)",
        ),
        (
            "batch_size: 1",
            "dims: 4",
            "input `x`: expected `zero_data`, `random_data` or `input_data_file`",
        ),
        (
            "batch_size: 9",
            "dims: 4 zero_data: true",
            "batch_size: expected at most 8, the model's largest batch, found 9",
        ),
        (
            "batch_size: 1 count: 65537",
            "dims: 4 zero_data: true",
            "count: expected at most 65536 requests in all warm-ups, found 65537",
        ),
        (
            "batch_size: 1",
            "dims: -1 zero_data: true",
            "input `x`: dims: expected numbers above 0, found -1",
        ),
    ] {
        let written = written(BATCHED, warmup, input);
        written.file("m/warmup/raw", [0; 15]);
        let failure = written.failure("m");
        let expected = format!("m/config.pbtxt:2: model_warmup `w`: {expected}");
        assert_eq!(failure, expected);
    }
}
