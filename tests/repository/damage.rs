//! Whatever is written in a repository, loading it ends, and in a report.

use divisi_repository::config::ModelConfig;
use proptest::prelude::*;

use crate::common::Written;

const CONFIG: &str = "name: \"e\"\nplatform: \"ensemble\"\nmax_batch_size: 4\n\
    input [ { name: \"in\" data_type: TYPE_FP32 dims: [ 4 ] } ]\n\
    output [ { name: \"out\" data_type: TYPE_FP32 dims: [ -1 ] reshape { shape: [ 4 ] } } ]\n\
    version_policy: { latest: { num_versions: 1 } }\n\
    instance_group [ { count: 1 kind: KIND_CPU } ]\n\
    ensemble_scheduling { step [ { model_name: \"a\" model_version: -1\n\
    input_map { key: \"x\" value: \"in\" } output_map { key: \"y\" value: \"t\" } },\n\
    { model_name: \"a\" input_map { key: \"x\" value: \"t\" }\n\
    output_map { key: \"y\" value: \"out\" } } ] }\n";

/// A part of the text in place of another, some bytes, or nothing.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let index = any::<prop::sample::Index>;
    let change = (
        index(),
        index(),
        0usize..24,
        index(),
        prop::collection::vec(any::<u8>(), 0..4),
    );
    prop::collection::vec(change, 1..4).prop_map(|changes| {
        let mut text = CONFIG.as_bytes().to_vec();
        for (at, from, length, kind, bytes) in changes {
            if text.is_empty() {
                break;
            }
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            let from = from.index(text.len());
            let with = match kind.index(3) {
                0 => bytes,
                1 => text[from..(from + length).min(text.len())].to_vec(),
                _ => Vec::new(),
            };
            text.splice(at..end, with);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_damaged_configuration_is_read_or_refused_with_its_place(bytes in damaged()) {
        let text = String::from_utf8_lossy(&bytes);
        if let Err(fault) = ModelConfig::parse("c", &text) {
            let shown = fault.to_string();
            prop_assert!(shown.starts_with("c:"), "{}", shown);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_damaged_ensemble_leaves_its_models(bytes in damaged()) {
        let written = Written::new();
        written.network("a", "affine.onnx").file("e/config.pbtxt", &bytes);
        let report = written.load();
        prop_assert_eq!(report.models.len() + report.failures.len(), 2);
        prop_assert_eq!(&report.models[0].name, "a");
    }
}

#[test]
fn errors_quote_the_start_of_what_is_long() {
    let long = "x".repeat(100_000);
    for text in [
        format!("\"{long}\""),
        format!("{long}: 1"),
        format!("name: {long}"),
        format!("max_batch_size: \"{long}\""),
        format!("input {{ name: \"{long}\" data_type: TYPE_FP32 }}"),
        format!("input {{ name: \"a\" data_type: TYPE_{long} dims: 1 }}"),
    ] {
        let fault = ModelConfig::parse("c", &text).expect_err(&text[..20]);
        let shown = fault.to_string();
        assert!(shown.len() < 1200 && shown.contains("expected"), "{shown}");
    }
}
