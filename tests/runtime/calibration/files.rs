//! Calibrations in files: what is written is read, what is damaged is refused; members name them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use divisi_runtime::compute::calibration::{
    Calibration, KeptLayers, NetworkDigest, Percentile, RangeMethod, ValueRange,
};
use divisi_runtime::network::Weights;
use divisi_runtime::reading::ReadError;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::networks::{calibrated, small};
use crate::compute::weights;

fn read(text: &str) -> Result<Calibration, ReadError> {
    let graph = small();
    Calibration::from_json(text, &graph, &weights(&graph))
}

/// A whole file.
fn written() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let graph = small();
        let calibrated = calibrated(&graph, KeptLayers::none());
        calibrated.calibration.to_json(&graph)
    })
}

#[test]
fn what_was_written_is_read() {
    let graph = small();
    for kept in [KeptLayers::none(), "first,hidden".parse().expect("names")] {
        let calibration = calibrated(&graph, kept).calibration;
        let text = calibration.to_json(&graph);
        assert_eq!(read(&text).expect("whole"), calibration);
        let network = graph.with_softmax().expect("a vector");
        let read = Calibration::from_json(&text, &network, &weights(&graph));
        assert_eq!(read.expect("the same network"), calibration);
    }
}

/// Damages a file by a change of its JSON.
fn damaged(change: impl FnOnce(&mut Value)) -> String {
    let mut file: Value = serde_json::from_str(written()).expect("JSON");
    change(&mut file);
    file.to_string()
}

/// A part of the error, and the damage that leads to it.
type FileDamage = (&'static str, fn(&mut Value));

#[test]
fn what_is_damaged_is_refused_with_field_and_expectation() {
    let cases: [FileDamage; 16] = [
        ("version: expected 1, found 2", |f| f["version"] = json!(2)),
        ("missing field `version`", |f| *f = json!({})),
        ("missing field `rows`", |f| {
            f.as_object_mut().expect("an object").remove("rows");
        }),
        ("unknown field `more`", |f| f["more"] = json!(1)),
        ("network: expected", |f| f["network"] = json!("0123")),
        ("rows: expected at least 1, found 0", |f| {
            f["rows"] = json!(0)
        }),
        ("unknown variant `best`", |f| f["method"] = json!("best")),
        ("expected a percentage above 50", |f| {
            f["method"] = json!({ "percentile": 3.0 })
        }),
        ("ranges: `input`: expected finite numbers around 0", |f| {
            f["ranges"][0]["low"] = json!(0.5);
        }),
        ("ranges: `input`: expected finite numbers around 0", |f| {
            f["ranges"][0]["high"] = json!(1e39);
        }),
        ("invalid type: null", |f| {
            f["ranges"][0]["high"] = json!(null)
        }),
        (
            "ranges: expected the name of a layer, or `input`, found `x`",
            |f| {
                f["ranges"][1]["value"] = json!("x");
            },
        ),
        ("ranges: `input` appears twice", |f| {
            f["ranges"][1]["value"] = json!("input");
        }),
        ("kept: expected the name of a convolution", |f| {
            f["kept"] = json!(["relu"])
        }),
        ("kept: `fc` appears twice", |f| {
            f["kept"] = json!(["fc", "fc"])
        }),
        ("corrections: `fc`: expected 4 numbers, found 1", |f| {
            f["corrections"] = json!([{ "layer": "fc", "bias": [1.0] }]);
        }),
    ];
    for (expected, change) in cases {
        let why = read(&damaged(change)).expect_err(expected).to_string();
        assert!(why.contains(expected), "{why}, not {expected}");
    }
    let why = read(&damaged(|f| {
        f["corrections"] = json!([{ "layer": "fc", "bias": [0.0, 1.0, 1e39, 0.0] }]);
    }));
    let why = why.expect_err("infinite").to_string();
    assert!(
        why.contains("expected finite numbers, found inf at position 2"),
        "{why}"
    );
}

#[test]
fn a_calibration_of_other_weights_is_refused() {
    let graph = small();
    let other = Weights::synthetic(&graph, 3);
    let why = Calibration::from_json(written(), &graph, &other).expect_err("other weights");
    assert!(why.to_string().starts_with("network: expected "), "{why}");
    assert!(why.to_string().contains("another graph or other weights"));
}

fn ranges(count: usize) -> impl Strategy<Value = Vec<Option<ValueRange>>> {
    let range = (0f32..=f32::MAX, 0f32..=f32::MAX);
    let range = range.prop_map(|(low, high)| ValueRange::new(-low, high).expect("a range"));
    prop::collection::vec(prop::option::of(range), count)
}

proptest! {
    #[test]
    fn any_calibration_comes_back_from_its_file(
        ranges in ranges(8),
        hundredths in 5001u32..10_000,
        kept in prop::collection::btree_set(prop::sample::select(vec![0usize, 4]), 0..3),
        bias in prop::collection::vec(any::<f32>().prop_filter("finite", |v| v.is_finite()), 4),
    ) {
        let graph = small();
        let weights = weights(&graph);
        let method = RangeMethod::Percentile(Percentile::new(f64::from(hundredths) / 100.0).expect("a share"));
        let network = NetworkDigest::from_network(&graph, &weights);
        let calibration = Calibration::of_ranges(network, method, 9, ranges);
        let kept: BTreeSet<usize> = kept;
        let calibration = calibration.keeping(kept).corrected(BTreeMap::from([(6, bias)]));
        let read = Calibration::from_json(&calibration.to_json(&graph), &graph, &weights);
        prop_assert_eq!(read, Ok(calibration));
    }

    /// Whatever is cut out or written over, the file is refused or is a whole calibration.
    #[test]
    fn random_damage_ends_in_an_error_or_a_calibration(
        at in 0.0f64..1.0,
        length in 0usize..9,
        with in "[-0-9a-z{}\\[\\]\",:.]{0,6}",
    ) {
        let text = written();
        let start = (at * text.len() as f64) as usize;
        let end = (start + length).min(text.len());
        let damaged = format!("{}{with}{}", &text[..start], &text[end..]);
        if let Ok(calibration) = read(&damaged) {
            let again = read(&calibration.to_json(&small()));
            prop_assert_eq!(again, Ok(calibration));
        }
    }
}
