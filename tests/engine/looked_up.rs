//! Ids that a network looks up in its tables: which it takes, and the samples that are refused for
//! others, or for a mask of zeros alone.

use std::fs;
use std::io::{Cursor, Write};
use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_model::codes::{Code, Coded};
use divisi_model::ensemble::{Ensemble, Files, Samples};
use divisi_runtime::onnx::OnnxModel;
use divisi_runtime::tensor::{RowCheck, Signature, TensorSpec};
use serde_json::json;

use crate::common::{networks, start};
use crate::npy::npy;
use crate::place::root;

fn signature() -> Signature {
    let file = root().join("tests/runtime/onnx_files/looked_up.onnx");
    let network = OnnxModel::open(&file).and_then(|model| model.network(None));
    let network = network.expect("a network");
    network.graph.signature()
}

fn ids(spec: &TensorSpec) -> Vec<String> {
    let each = (0..spec.elements().unwrap_or(0)).map(|at| {
        let range = spec.ids.as_ref().and_then(|ids| ids.at(at));
        range.map_or_else(|| "any".to_owned(), |range| range.to_string())
    });
    each.collect()
}

#[test]
fn an_input_takes_the_ids_that_the_tables_behind_it_have_rows_for() {
    let expected = [
        // Offsets of 0, 4 and 9 in a table of 12.
        (
            "fields",
            vec!["rows 0 to 11", "rows for -16 to 7", "rows for -21 to 2"],
        ),
        ("columns", vec!["rows 0 to 4", "rows 0 to 6"]),
        ("twice", vec!["rows 0 to 4"; 2]),
        ("before", vec!["rows for -3 to 6"; 2]),
        ("doubled", vec!["any"; 2]),
        ("free", vec!["any"; 2]),
    ];
    for (spec, (name, expected)) in signature().inputs.iter().zip(expected) {
        assert_eq!((spec.name.as_str(), ids(spec)), (name, strings(&expected)));
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_value_is_refused_where_its_own_table_has_no_row() {
    let check = RowCheck::new(&signature());
    let good = [11., 7., 2., 4., 6., 4., 0., 6., -3., 100., -100., 9e6, -9e6];
    assert_eq!(check.check(&[good, good].concat()), Ok(()));
    let cases = [
        (
            0,
            12.0,
            "`fields` of sample 1 has 12 at position 0",
            "rows 0 to 11",
        ),
        (
            1,
            8.0,
            "`fields` of sample 1 has 8 at position 1",
            "rows for -16 to 7",
        ),
        (
            3,
            5.0,
            "`columns` of sample 1 has 5 at position 0",
            "rows 0 to 4",
        ),
        (
            4,
            -8.0,
            "`columns` of sample 1 has -8 at position 1",
            "rows 0 to 6",
        ),
        (
            4,
            1.5,
            "`columns` of sample 1 has 1.5 at position 1",
            "rows 0 to 6",
        ),
        (
            8,
            7.0,
            "`before` of sample 1 has 7 at position 1",
            "rows for -3 to 6",
        ),
    ];
    for (at, value, place, range) in cases {
        let mut bad = good;
        bad[at] = value;
        let refused = check.check(&[good, bad].concat()).expect_err(place);
        let expected = format!("input {place}; the model's table has {range}");
        assert_eq!(refused.to_string(), expected);
    }
}

const ENCODER: &[u8] = include_bytes!("../runtime/onnx_files/lengths.onnx");

/// The encoder of 30 tokens and two types, for up to 16 tokens.
fn encoder() -> Arc<Ensemble> {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("encoder.onnx");
    fs::write(&file, ENCODER).expect("model");
    Arc::new(Ensemble::read(&Files::from_path(&file)).expect("reads"))
}

/// A sample of ids, mask and types.
type Sentence<'a> = [&'a [i64]; 3];

const GOOD: Sentence<'_> = [&[3, 29, 4], &[1, 1, 0], &[0, 1, 1]];

const NAMES: [&str; 3] = ["ids", "attention_mask", "types"];

/// Samples that are refused, and what is said of the second after a good one.
const BAD: [(Sentence<'_>, &str); 4] = [
    (
        [&[3, 40_000, 4], GOOD[1], GOOD[2]],
        "input `ids` of sample 1 has 40000 at position 1; the model's table has rows 0 to 29",
    ),
    (
        [&[3, 4, -31], GOOD[1], GOOD[2]],
        "input `ids` of sample 1 has -31 at position 2; the model's table has rows 0 to 29",
    ),
    (
        [GOOD[0], GOOD[1], &[2, 0, 0]],
        "input `types` of sample 1 has 2 at position 0; the model's table has rows 0 to 1",
    ),
    (
        [GOOD[0], &[0, 0, 0], GOOD[2]],
        "mask `attention_mask` of sample 1 is 0 everywhere; expected at least one other value",
    ),
];

/// Two samples as a file of a kind.
fn written(end: &str, samples: [Sentence<'_>; 2]) -> Vec<u8> {
    let inputs = |of: &[Sentence<'_>]| {
        let tensors = NAMES.iter().enumerate().map(|(at, name)| {
            let data: Vec<i64> = of.iter().flat_map(|s| s[at].to_vec()).collect();
            json!({"name": name, "datatype": "INT64", "shape": [of.len(), 3], "data": data})
        });
        json!({ "inputs": tensors.collect::<Vec<_>>() }).to_string()
    };
    match end {
        "json" => inputs(&samples).into_bytes(),
        "jsonl" => samples.map(|s| inputs(&[s])).join("\n").into_bytes(),
        _ => {
            let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
            for (at, name) in NAMES.iter().enumerate() {
                let values = samples.iter().flat_map(|s| s[at]);
                let bytes: Vec<u8> = values.flat_map(|v| v.to_le_bytes()).collect();
                let options = zip::write::SimpleFileOptions::default();
                archive
                    .start_file(format!("{name}.npy"), options)
                    .expect("starts");
                archive
                    .write_all(&npy("<i8", "False", "(2, 3)", &bytes))
                    .expect("writes");
            }
            archive.finish().expect("whole").into_inner()
        }
    }
}

#[test]
fn every_reader_refuses_ids_without_a_row_and_masks_of_zeros() {
    let ensemble = encoder();
    let form = ensemble.sample_form();
    for end in ["json", "jsonl", "npz"] {
        let name = format!("x.{end}");
        let read = |samples| Samples::parse(&name, written(end, samples), &form);
        read([GOOD, GOOD]).expect(end);
        for (bad, expected) in BAD {
            let refused = read([GOOD, bad]).expect_err(expected);
            assert_eq!(refused.to_string(), expected, "{end}");
        }
    }
}

/// Such ids are refused while they are read.
#[test]
fn an_id_that_float32_does_not_hold_is_refused_by_its_table() {
    let ensemble = encoder();
    let form = ensemble.sample_form();
    let bad = [&[3, (1 << 24) + 1, 4], GOOD[1], GOOD[2]];
    for (end, found) in [
        ("json", 16_777_217),
        ("jsonl", 16_777_217),
        ("npz", 16_777_216),
    ] {
        let refused = Samples::parse(&format!("x.{end}"), written(end, [GOOD, bad]), &form);
        let said = refused.expect_err(end).to_string();
        let expected = format!("has {found} at position 1; the model's table has rows 0 to 29");
        assert!(said.ends_with(&expected), "{said}");
    }
}

#[test]
fn the_door_refuses_ids_without_a_row_and_masks_of_zeros() {
    let ensemble = encoder();
    let engine = start(&ensemble, networks(&ensemble));
    let form = ensemble.sample_form();
    let samples = Samples::parse("x.json", written("json", [GOOD, GOOD]), &form).expect("reads");
    let (good, width) = (samples.values().to_vec(), samples.width());
    engine
        .predict(Request::new(&good))
        .expect("admitted")
        .expect("answered");
    let names = ensemble.tensors.as_ref().expect("tensors");
    let first = |name: &str| {
        let at = names.iter().position(|spec| spec.name == name).expect(name);
        width + 1 + 16 * at
    };
    let cases = [
        (first("ids") + 1, 1, 40_000.0, Code::RequestNoRow),
        // Behind the sample's own values.
        (first("ids") + 5, 1, 40_000.0, Code::RequestNoRow),
        (first("types"), 1, 2.0, Code::RequestNoRow),
        (first("attention_mask"), 3, 0.0, Code::RequestMasked),
    ];
    for (at, count, value, expected) in cases {
        let mut bad = good.clone();
        bad[at..at + count].fill(value);
        let refused = engine.predict(Request::new(&bad)).expect_err("refused");
        assert_eq!(refused.code(), expected, "{refused}");
    }
}

#[test]
fn made_up_samples_are_ones_that_the_check_lets_through() {
    let signature = signature();
    let made = Samples::synthetic_tensors(&signature, 256).expect("samples");
    assert_eq!(RowCheck::new(&signature).check(made.values()), Ok(()));
    let largest = (0..256).map(|at| made.row(at)[4]).fold(0.0, f32::max);
    assert_eq!(largest, 6.0, "all rows of its own table");
}
