//! Messages of gRPC are measured before they are decoded: what the decoder takes is never refused as
//! malformed, and is never larger than it was said to be.

use std::mem::size_of;

use bytes::Bytes;
use divisi_door::grpc::{WireFault, decoded_size};
use divisi_door::limits::ServerLimits;
use divisi_door::proto::inference as proto;
use divisi_inference::bounds::RequestBounds;
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use prost::Message;
use proto::infer_parameter::ParameterChoice;
use proto::model_infer_request::{InferInputTensor, InferRequestedOutputTensor};
use proto::{InferParameter, InferTensorContents, ModelInferRequest};

/// As much as fits.
fn unbounded() -> ServerLimits {
    ServerLimits {
        request: RequestBounds {
            tensors: usize::MAX,
            rank: usize::MAX,
            ..RequestBounds::default()
        },
        bodies: usize::MAX,
        ..ServerLimits::default()
    }
}

fn size(message: &[u8]) -> Result<usize, WireFault> {
    decoded_size::<ModelInferRequest>(message, &unbounded())
}

/// The bytes that a message takes beside those that it arrived in, without room for more.
fn memory(of: &ModelInferRequest) -> usize {
    let inputs = of.inputs.iter().map(|input| {
        let texts = input.name.len() + input.datatype.len();
        let contents = input.contents.as_ref().map_or(0, contents);
        size_of_val(input) + texts + size_of_val(&*input.shape) + contents
    });
    let outputs = of.outputs.iter();
    let outputs = outputs.map(|output| size_of_val(output) + output.name.len());
    let parameters = of.parameters.len() * size_of::<(String, InferParameter)>();
    let names = of.model_name.len() + of.model_version.len() + of.id.len();
    names
        + parameters
        + inputs.sum::<usize>()
        + outputs.sum::<usize>()
        + size_of_val(&*of.raw_input_contents)
}

fn contents(of: &InferTensorContents) -> usize {
    size_of_val(&*of.bool_contents)
        + size_of_val(&*of.int_contents)
        + size_of_val(&*of.int64_contents)
        + size_of_val(&*of.uint_contents)
        + size_of_val(&*of.uint64_contents)
        + size_of_val(&*of.fp32_contents)
        + size_of_val(&*of.fp64_contents)
        + size_of_val(&*of.bytes_contents)
}

fn parameter() -> impl Strategy<Value = InferParameter> {
    let choice = prop_oneof![
        any::<bool>().prop_map(ParameterChoice::BoolParam),
        any::<i64>().prop_map(ParameterChoice::Int64Param),
        any::<f64>().prop_map(ParameterChoice::DoubleParam),
        ".{0,8}".prop_map(ParameterChoice::StringParam),
    ];
    proptest::option::of(choice).prop_map(|parameter_choice| InferParameter { parameter_choice })
}

fn values() -> impl Strategy<Value = InferTensorContents> {
    let texts = vec(vec(any::<u8>(), 0..6).prop_map(Bytes::from), 0..6);
    let numbers = (
        vec(any::<bool>(), 0..6),
        vec(any::<i32>(), 0..6),
        vec(any::<i64>(), 0..6),
        vec(any::<u32>(), 0..6),
        vec(any::<u64>(), 0..6),
        vec(any::<f32>(), 0..6),
        vec(any::<f64>(), 0..6),
    );
    (numbers, texts).prop_map(|(numbers, bytes_contents)| InferTensorContents {
        bool_contents: numbers.0,
        int_contents: numbers.1,
        int64_contents: numbers.2,
        uint_contents: numbers.3,
        uint64_contents: numbers.4,
        fp32_contents: numbers.5,
        fp64_contents: numbers.6,
        bytes_contents,
    })
}

fn input() -> impl Strategy<Value = InferInputTensor> {
    let shape = vec(any::<i64>(), 0..5);
    let parameters = hash_map(".{0,5}", parameter(), 0..3);
    let contents = proptest::option::of(values());
    (".{0,9}", "[A-Z0-9]{0,5}", shape, parameters, contents).prop_map(
        |(name, datatype, shape, parameters, contents)| InferInputTensor {
            name,
            datatype,
            shape,
            parameters,
            contents,
        },
    )
}

fn message() -> impl Strategy<Value = ModelInferRequest> {
    let names = (".{0,9}", ".{0,3}", ".{0,9}");
    let parameters = hash_map(".{0,5}", parameter(), 0..4);
    let output = (".{0,9}", hash_map(".{0,5}", parameter(), 0..3));
    let output =
        output.prop_map(|(name, parameters)| InferRequestedOutputTensor { name, parameters });
    let raw = vec(vec(any::<u8>(), 0..20).prop_map(Bytes::from), 0..4);
    let lists = (vec(input(), 0..4), vec(output, 0..4), raw);
    (names, parameters, lists).prop_map(|(names, parameters, lists)| ModelInferRequest {
        model_name: names.0,
        model_version: names.1,
        id: names.2,
        parameters,
        inputs: lists.0,
        outputs: lists.1,
        raw_input_contents: lists.2,
    })
}

/// Checks that what is decoded was measured.
fn check(bytes: &[u8]) {
    if let Ok(decoded) = ModelInferRequest::decode(Bytes::copy_from_slice(bytes)) {
        let size = size(bytes).expect("the decoder takes it");
        assert!(size >= memory(&decoded), "{size}: {decoded:?}");
    }
}

proptest! {
    #[test]
    fn a_message_is_measured_and_never_refused(message in message()) {
        check(&message.encode_to_vec());
        prop_assert!(size(&message.encode_to_vec()).is_ok());
    }

    #[test]
    fn the_size_of_a_message_without_parameters_is_its_memory(mut message in message()) {
        message.parameters.clear();
        message.inputs.iter_mut().for_each(|input| input.parameters.clear());
        message.outputs.iter_mut().for_each(|output| output.parameters.clear());
        prop_assert_eq!(size(&message.encode_to_vec()), Ok(memory(&message)));
    }

    #[test]
    fn what_is_left_of_a_damaged_message_is_measured(
        message in message(),
        at in any::<prop::sample::Index>(),
        other in any::<u8>(),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = message.encode_to_vec();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = other;
            bytes.truncate(1 + end.index(bytes.len()));
        }
        check(&bytes);
    }

    #[test]
    fn any_bytes_are_measured_or_refused(bytes in vec(any::<u8>(), 0..64)) {
        check(&bytes);
    }
}

#[test]
fn more_entries_than_there_may_be_are_refused_by_their_list() {
    let limits = ServerLimits {
        request: RequestBounds {
            tensors: 3,
            rank: 2,
            ..RequestBounds::default()
        },
        ..ServerLimits::default()
    };
    let most = |message: &[u8]| decoded_size::<ModelInferRequest>(message, &limits);
    // Empty entries of each list, and the dimensions of an input, one by one and packed.
    for (tag, name) in [
        (0x2a, "inputs"),
        (0x32, "outputs"),
        (0x3a, "raw_input_contents"),
    ] {
        assert!(most(&[tag, 0].repeat(3)).is_ok(), "{name}");
        let fault = WireFault::TooMany { name, most: 3 };
        assert_eq!(most(&[tag, 0].repeat(4)), Err(fault));
    }
    let shape = WireFault::TooMany {
        name: "shape",
        most: 2,
    };
    assert!(most(&[0x2a, 4, 0x18, 1, 0x18, 1]).is_ok());
    assert_eq!(most(&[0x2a, 6, 0x18, 1, 0x18, 1, 0x18, 1]), Err(shape));
    assert_eq!(most(&[0x2a, 6, 0x1a, 2, 1, 1, 0x18, 1]), Err(shape));
    // Another input has dimensions of its own.
    let two = [0x2a, 4, 0x1a, 2, 1, 1].repeat(2);
    assert!(most(&two).is_ok());
}

#[test]
fn a_message_that_would_take_more_memory_than_all_may_is_refused() {
    let limits = ServerLimits {
        bodies: 1000,
        ..ServerLimits::default()
    };
    let texts = |count: usize| {
        let contents = [0x42, 0].repeat(count);
        let input = [&[0x2a, contents.len() as u8][..], &contents].concat();
        [&[0x2a, input.len() as u8][..], &input].concat()
    };
    let size = |count| decoded_size::<ModelInferRequest>(&texts(count), &limits);
    assert!(size(10).is_ok());
    assert_eq!(size(40), Err(WireFault::TooLarge { most: 1000 }));
}

#[test]
fn lengths_and_numbers_that_lead_out_of_a_message_are_refused() {
    let cases: [&[u8]; 9] = [
        // A list, an input and its contents that are longer than what is there.
        &[0x3a, 5, 1],
        &[
            0x2a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
        ],
        &[0x2a, 2, 0x2a, 9, 0x42, 0, 0x42, 0, 0x42, 0, 0x42],
        // A number of eleven bytes, one that breaks off, a field 0, a kind that there is not.
        &[
            0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1,
        ],
        &[0x18, 0x80],
        &[0x00, 1],
        &[0x0f],
        // The end of a group that has not begun, and one that does not end.
        &[0x0c],
        &[0x0b, 0x18, 1],
    ];
    for bytes in cases {
        assert_eq!(size(bytes), Err(WireFault::Malformed), "{bytes:?}");
        assert!(ModelInferRequest::decode(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn groups_are_skipped_however_deep_they_lie() {
    // Field 15, which no message has.
    let nested = |depth: usize| [[0x7b].repeat(depth), [0x7c].repeat(depth)].concat();
    assert_eq!(size(&nested(50)), Ok(0));
    check(&nested(50));
    assert_eq!(size(&nested(1_000_000)), Ok(0));
    assert_eq!(size(&[0x7b].repeat(1_000_000)), Err(WireFault::Malformed));
}
