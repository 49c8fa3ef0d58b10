//! Samples that are texts: tokens, files of texts, manifests, and tokenizers that are damaged.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use divisi_engine::serving::Request;
use divisi_model::ensemble::samples::TextTokenizer;
use divisi_model::ensemble::{Ensemble, Files, RuleKind, Samples};
use divisi_runtime::tensor::Lengths;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{networks, start};
use crate::place::root;

/// The tokens of a sample of the ensemble.
const LENGTH: usize = 48;

fn folder() -> PathBuf {
    root().join("sample_ensembles/snippets")
}

fn snippets() -> Ensemble {
    Ensemble::read(&Files::from_path(&folder())).expect("snippets is valid")
}

fn tokenizer_json() -> String {
    fs::read_to_string(folder().join("tokenizer.json")).expect("tokenizer")
}

/// Reads an ensemble of the network of mean embeddings, with `input` in its manifest and this
/// tokenizer beside it.
fn read(input: &str, tokenizer: &str, network: &str) -> Result<Ensemble, String> {
    let made = tempfile::tempdir().expect("folder");
    fs::copy(folder().join("mean.onnx"), made.path().join("mean.onnx")).expect("model");
    fs::write(made.path().join("tokenizer.json"), tokenizer).expect("tokenizer");
    let manifest = format!(
        "name = \"t\"\nclasses = 5\n{input}\n[[members]]\nname = \"mean\"\nnetwork = {network}\n"
    );
    fs::write(made.path().join("ensemble.toml"), manifest).expect("manifest");
    Ensemble::read(&Files::from_path(made.path())).map_err(|e| e.to_string())
}

const NETWORK: &str = "{ file = \"mean.onnx\" }";
const TEXT: &str = "[input.text]\ntokenizer = \"tokenizer.json\"\nlength = 48\n";

/// Reads samples of the ensemble from the bytes of a file called `name`.
fn parse(ensemble: &Ensemble, name: &str, bytes: &[u8]) -> Result<Samples, String> {
    let read = Samples::parse(name, bytes.to_vec(), &ensemble.sample_form());
    read.map_err(|e| e.to_string())
}

/// Returns the ids of a sample, without what pads it.
fn ids(row: &[f32]) -> Vec<u32> {
    let (ids, mask) = row[1..].split_at(LENGTH);
    let count = mask.iter().filter(|m| **m == 1.0).count();
    assert_eq!(row[0], count as f32, "its length comes first");
    assert!(mask[count..].iter().chain(&ids[count..]).all(|v| *v == 0.0));
    ids[..count].iter().map(|id| *id as u32).collect()
}

#[test]
fn texts_have_the_tokens_that_hugging_face_makes_of_them() {
    let ensemble = snippets();
    let cases: [(&str, Option<&str>, &[u32]); 3] = [
        ("let x = 1;", None, &[1, 373, 223, 90, 271, 324, 29, 2]),
        (
            "Größe = 3 # µm",
            None,
            &[
                1, 41, 84, 130, 117, 130, 256, 71, 271, 583, 223, 5, 223, 129, 116, 79, 2,
            ],
        ),
        (
            "import os",
            Some("## Networks"),
            &[1, 378, 751, 283, 85, 2, 440, 495, 390, 85, 2],
        ),
    ];
    for (text, pair, expected) in cases {
        let line = json!({"text": text, "text_pair": pair}).to_string();
        let samples = parse(&ensemble, "x.jsonl", line.as_bytes()).expect("reads");
        assert_eq!(ids(samples.row(0)), expected, "{text}");
        assert_eq!(samples.cut_texts(), 0);
    }
}

#[test]
fn long_texts_lose_their_end_and_keep_the_tokens_around_it() {
    let ensemble = snippets();
    let line = json!({"text": "x = 1 ".repeat(40), "text_pair": "import os ".repeat(40)});
    let pair = parse(&ensemble, "x.jsonl", line.to_string().as_bytes()).expect("reads");
    let tokens = ids(pair.row(0));
    // As much of each text of a pair, as with `truncation=True`.
    assert_eq!(
        (tokens.len(), tokens[0], tokens[23], tokens[47]),
        (48, 1, 2, 2)
    );
    let long = "a b ".repeat(100_000);
    let samples = Samples::of_texts(["short", &long], &ensemble.sample_form()).expect("reads");
    let tokens = ids(samples.row(1));
    assert_eq!((tokens.len(), tokens[46], tokens[47]), (48, 288, 2));
    assert_eq!(samples.cut_texts(), 1);
    assert_eq!(samples.texts()[1].text, long);
}

#[test]
fn every_kind_of_file_holds_the_same_texts() {
    let ensemble = snippets();
    let texts = ["let x = 1;", "import os, sys", "## Über \"uns\""];
    let labels = ["rust", "python", "markdown"];
    let records: Vec<Value> = texts
        .iter()
        .zip(labels)
        .map(|(text, label)| json!({"id": 7, "text": text, "label": label}))
        .collect();
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    let csv = "id,text,label\n7,let x = 1;,rust\n7,\"import os, sys\",python\n\
               7,\"## Über \"\"uns\"\"\",1\n";
    let object = json!({"texts": texts, "labels": labels}).to_string();
    let files = [
        ("x.csv", csv.to_owned()),
        ("x.json", Value::from(records).to_string()),
        ("x.json", object),
        ("x.jsonl", lines.join("\n")),
    ];
    let plain = format!("\u{feff}{}\r\n\n", texts.join("\r\n"));
    let plain = parse(&ensemble, "x.txt", plain.as_bytes()).expect("reads");
    assert_eq!(plain.len(), 3);
    for (name, text) in files {
        let samples = parse(&ensemble, name, text.as_bytes()).expect(name);
        assert_eq!(samples.values(), plain.values(), "{name}");
        assert_eq!(samples.labels(), Some([3, 2, 1].as_slice()), "{name}");
        assert_eq!(samples.texts(), plain.texts(), "{name}");
    }
    let rest = plain.skip(2).expect("one is left");
    assert_eq!(rest.texts()[0].text, texts[2]);
}

#[test]
fn one_text_is_a_set_of_one() {
    let ensemble = snippets();
    let files = [
        ("x.json", "[\"one\"]"),
        ("x.json", "[{\"text\": \"one\"}]"),
        ("x.jsonl", "\"one\""),
        ("x.txt", "one"),
        ("x.csv", "text\none\n"),
    ];
    for (name, text) in files {
        let samples = parse(&ensemble, name, text.as_bytes()).expect(name);
        assert_eq!(
            (samples.len(), samples.texts()[0].text.as_str()),
            (1, "one")
        );
    }
}

#[test]
fn tensors_of_tokens_are_samples_too() {
    let ensemble = snippets();
    let tensor = |name: &str, first: i64| {
        let row: Vec<i64> = (0..LENGTH as i64).map(|_| first).collect();
        json!({"name": name, "datatype": "INT64", "shape": [1, LENGTH], "data": row})
    };
    let request = json!({"inputs": [tensor("input_ids", 5), tensor("attention_mask", 1)]});
    let samples = parse(&ensemble, "x.json", request.to_string().as_bytes()).expect("reads");
    assert_eq!(ids(samples.row(0)), [5; LENGTH]);
    assert!(samples.texts().is_empty());
}

#[test]
fn files_without_texts_are_refused_with_the_reason() {
    let ensemble = snippets();
    let cases: [(&str, &[u8], &str); 15] = [
        ("x.txt", b"one\n\ntwo", "line 2: expected a non-empty text"),
        ("x.txt", b"one\n\xff\xfe", "line 2: expected UTF-8 text"),
        ("x.txt", b" \n", "line 1: expected a non-empty text"),
        (
            "x.csv",
            b"a,label\nx,rust\n",
            "a column `text`, found a, label",
        ),
        ("x.csv", b"text\n\xff\n", "invalid utf-8"),
        (
            "x.csv",
            b"text,label\n \t,rust\n",
            "line 2: column text: expected a non-empty text",
        ),
        (
            "x.csv",
            b"text,label\na,latin\n",
            "line 2: column label: expected a class",
        ),
        ("x.csv", b"text\n", "expected at least one sample"),
        ("x.json", b"[\"a\", null]", "line 1, column 10"),
        ("x.json", b"{\"text\": \"a\"}", "found `text`"),
        (
            "x.json",
            b"[{\"label\": 1}]",
            "row 0: expected the field `text`",
        ),
        (
            "x.jsonl",
            b"{\"text\": \"a\"}\n{\"text\": \"\"}",
            "row 1: expected a non-empty text",
        ),
        (
            "x.jsonl",
            b"{\"text\": \"a\", \"label\": 1}\n\"b\"",
            "a label for each of 2",
        ),
        (
            "x.jsonl",
            b"[1, 2]",
            "expected a text, or an object with the field `text`",
        ),
        ("x.npy", b"", "expected texts: a .txt"),
    ];
    for (name, bytes, expected) in cases {
        let found = parse(&ensemble, name, bytes).expect_err(name);
        assert!(found.contains(expected), "{name}: {found}");
    }
    let digits = crate::common::digits();
    let found = parse(&digits, "x.txt", b"a text").expect_err("no text");
    assert!(
        found.contains("the ensemble has no [input.text]"),
        "{found}"
    );
}

#[test]
fn the_networks_answer_texts_as_onnx_runtime_does() {
    let ensemble = Arc::new(snippets());
    let texts = ["pub fn width(&self) -> usize {", "import numpy as np"];
    let expected = [
        [-6.142_494, -4.377_024, -3.194_713_8, 11.621_58, -14.978_471],
        [
            -0.690_625_6,
            -2.848_446_4,
            5.352_798,
            -1.561_447_9,
            -5.997_160_4,
        ],
        [-9.734_114, -8.460_09, -3.523_094_7, 20.367_067, -14.709_395],
        [-2.336_269, -3.683_945_7, 12.278_972, 0.791_782, -12.494_226],
        [-1.823_365_8, -3.175_151, -4.053_146, 8.141_73, -3.789_718],
        [
            -2.607_091_2,
            -4.955_502_5,
            7.717_219_4,
            0.953_250_9,
            -4.235_880_4,
        ],
    ];
    let samples = Samples::of_texts(texts, &ensemble.sample_form()).expect("reads");
    for (at, member) in ensemble.member_names().iter().enumerate() {
        let index = divisi_runtime::device::MemberIndex::new(at);
        let mut alone = ensemble.single_member(index);
        let own = Arc::make_mut(&mut alone.members[0]);
        own.outputs = divisi_model::ensemble::OutputKind::Values;
        alone.rule = RuleKind::Average;
        let alone = Arc::new(alone);
        let engine = start(&alone, networks(&alone));
        let answer = engine.predict(Request::new(samples.values()));
        let answer = answer.expect("admitted").expect("answered");
        for (row, expected) in answer.rows().zip(&expected[2 * at..]) {
            let apart = row
                .iter()
                .zip(expected)
                .map(|(a, b): (&f32, &f32)| (a - b).abs());
            let most = apart.fold(0.0, f32::max);
            assert!(most < 2e-3, "{member}: {row:?}");
        }
    }
}

#[test]
fn tensors_that_are_written_may_have_names_of_their_own() {
    let tensors = "[[input.tensors]]\nname = \"attention_mask\"\ndatatype = \"INT64\"\nshape = [48]\n\
                   [[input.tensors]]\nname = \"input_ids\"\ndatatype = \"INT64\"\nshape = [48]\n";
    let ensemble = read(&format!("{TEXT}{tensors}"), &tokenizer_json(), NETWORK);
    let ensemble = ensemble.expect("reads");
    let form = ensemble.sample_form();
    let samples = Samples::of_texts(["let x = 1;"], &form).expect("reads");
    assert_eq!(
        samples.row(0)[..10],
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    );
    assert_eq!(samples.row(0)[LENGTH..][..3], [1.0, 373.0, 223.0]);
    let swapped = "ids = \"attention_mask\"\nmask = \"input_ids\"\n";
    let ensemble = read(&format!("{TEXT}{swapped}"), &tokenizer_json(), NETWORK);
    let names = ensemble.expect("reads").tensors.expect("named");
    assert_eq!(names.len(), 2);
}

#[test]
fn texts_have_their_own_lengths_where_a_mask_hides_what_is_padded() {
    let usual = || Lengths::padded(vec![8, 16, 32, 48], "attention_mask".into()).ok();
    let cases = [
        ("", usual()),
        (
            "[input]\nlengths = [24, 48]\n",
            Lengths::padded(vec![24, 48], "attention_mask".into()).ok(),
        ),
        ("[input]\nlengths = { most = 48 }\n", usual()),
        (
            "[input]\nlengths = { most = 48, step = 40 }\nmask = \"attention_mask\"\n",
            Lengths::padded(vec![40, 48], "attention_mask".into()).ok(),
        ),
    ];
    for (written, expected) in cases {
        let ensemble = read(&format!("{written}{TEXT}"), &tokenizer_json(), NETWORK);
        let ensemble = ensemble.expect(written);
        assert_eq!(ensemble.lengths, expected, "{written}");
        let samples = Samples::of_texts(["let x = 1;"], &ensemble.sample_form()).expect("reads");
        assert_eq!(samples.width(), 1 + 2 * LENGTH);
        assert_eq!(ids(samples.row(0)), [1, 373, 223, 90, 271, 324, 29, 2]);
    }
}

#[test]
fn texts_have_their_own_lengths_if_answers_depend_on_the_padding() {
    let folder = tempfile::tempdir().expect("folder");
    let model = include_bytes!("../runtime/onnx_files/unmasked.onnx");
    fs::write(folder.path().join("mean.onnx"), model).expect("model");
    fs::write(folder.path().join("tokenizer.json"), tokenizer_json()).expect("tokenizer");
    let manifest = format!(
        "name = \"t\"\nanswers = {{ values = 1 }}\n{TEXT}ids = \"ids\"\n[[members]]\n\
         name = \"mean\"\nnetwork = {NETWORK}\n"
    );
    fs::write(folder.path().join("ensemble.toml"), manifest).expect("manifest");
    let ensemble = Ensemble::read(&Files::from_path(folder.path())).expect("reads");
    let own = ensemble.members[0].graph.lengths();
    assert_eq!(own, Lengths::exact(LENGTH).ok().as_ref());
    assert_eq!(ensemble.input.shape.elements(), 1 + 2 * LENGTH);
}

#[test]
fn lengths_that_are_not_those_of_texts_are_refused() {
    let fixed = "[[input.tensors]]\nname = \"input_ids\"\ndatatype = \"INT64\"\nshape = [48]\n";
    let cases = [
        (
            format!("[input]\nlengths = [8, 32]\n{TEXT}"),
            "input.lengths: expected 48 as the largest (the length of texts), found 32",
        ),
        (
            format!("[input]\nlengths = [48]\n{TEXT}{fixed}"),
            "input.lengths: expected networks that leave the length of texts open, found none",
        ),
    ];
    for (input, expected) in cases {
        let found = read(&input, &tokenizer_json(), NETWORK).expect_err(&input);
        assert!(found.contains(expected), "{input}\n{found}");
    }
}

#[test]
fn manifests_whose_texts_cannot_be_tokens_are_refused_with_the_reason() {
    let short = TEXT.replace("48", "3");
    let none = TEXT.replace("48", "0");
    let absent = TEXT.replace("tokenizer.json", "absent.json");
    let both = format!("[input]\nshape = [96]\n{TEXT}");
    let scaled = format!("[input]\nscale = 2.0\n{TEXT}");
    let renamed = format!("{TEXT}ids = \"tokens\"\n");
    let tensors = "[[input.tensors]]\nname = \"input_ids\"\ndatatype = \"INT64\"\nshape = [40]\n";
    let other = format!("{TEXT}{tensors}");
    let cases = [
        (
            short.as_str(),
            NETWORK,
            "ensemble.toml:5: input.text.length: expected at least 5",
        ),
        (
            &none,
            NETWORK,
            "input.text.length: expected a whole number from 1 to 65536, found 0",
        ),
        (&absent, NETWORK, "absent.json"),
        (
            &both,
            NETWORK,
            "input: expected `shape` or `text`, found both",
        ),
        (&scaled, NETWORK, "named tensors are not normalised"),
        (&renamed, NETWORK, "the input has `input_ids`"),
        (
            &other,
            NETWORK,
            "`input_ids`: expected dimensions of [48], the length of texts",
        ),
        (
            TEXT,
            "{ builder = \"perceptron\", hidden = [4] }",
            "network of `mean`: expected an .onnx file, since the ensemble's input has named \
             tensors or is text",
        ),
        (
            "[input]\n",
            NETWORK,
            "input: expected `shape`, `text` (a tokenizer), or `tensors`",
        ),
    ];
    for (input, network, expected) in cases {
        let found = read(input, &tokenizer_json(), network).expect_err(input);
        assert!(found.contains(expected), "{input}\n{found}");
    }
}

#[test]
fn a_tokenizer_of_another_vocabulary_is_refused() {
    let mut other: Value = serde_json::from_str(&tokenizer_json()).expect("JSON");
    other["model"]["vocab"]["zzzz"] = json!(768);
    let found = read(TEXT, &other.to_string(), NETWORK).expect_err("too large");
    let expected = "ensemble.toml:4: input.text.tokenizer: the vocabulary differs: its ids go up \
                    to 768, but there are only 768 in the table of member `mean`";
    assert!(found.ends_with(expected), "{found}");
}

#[test]
fn tokenizers_that_would_not_end_or_not_repeat_are_refused() {
    let changed = |pointer: &str, value: Value| {
        let mut file: Value = serde_json::from_str(&tokenizer_json()).expect("JSON");
        let (parent, field) = pointer.rsplit_once('/').expect("a field");
        file.pointer_mut(parent).expect("there")[field] = value;
        file.to_string()
    };
    let longer = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaaaa"});
    let steps = json!({"type": "Sequence", "normalizers": [longer, longer, longer, longer]});
    let strips = json!({"type": "Sequence", "normalizers": vec![json!({"type": "NFKC"}); 99]});
    let unigram =
        json!({"type": "Unigram", "unk_id": 0, "vocab": [["a", 0], ["b".repeat(600), 1]]});
    let special = json!({"SpecialToken": {"id": "[CLS]", "type_id": 0}});
    let template = Value::from(vec![special; 60]);
    let cases = [
        (
            changed("/normalizer", steps),
            "lengthen a text at most 4096 times",
        ),
        (
            changed("/model/max_input_chars_per_word", json!(1u64 << 40)),
            "expected at most 1000",
        ),
        (
            changed("/model/dropout", json!(0.1)),
            "model.dropout: expected none",
        ),
        (
            changed("/normalizer", strips),
            "normalizer: expected at most 64 steps",
        ),
        (
            changed("/model", unigram),
            "expected tokens of at most 512 bytes",
        ),
        (changed("/model/vocab", json!({})), "tokenizer.json"),
        (
            changed("/padding/pad_id", json!(99_999)),
            "token 99999, but its vocabulary ends at 767",
        ),
        (
            changed("/post_processor/single", template),
            "expected at least",
        ),
        (
            tokenizer_json()[..9_000].to_owned(),
            "expected a tokenizer.json",
        ),
        ("{}".to_owned(), "expected a tokenizer.json"),
        (String::new(), "expected a tokenizer.json"),
        ("[".repeat(100_000), "expected a tokenizer.json"),
    ];
    for (text, expected) in cases {
        let found = read(TEXT, &text, NETWORK).expect_err(expected);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn tokens_that_only_the_rules_of_the_file_make_are_refused() {
    let text = tokenizer_json().replace("\"ids\":[1]", "\"ids\":[4000000]");
    let tokenizer = TextTokenizer::parse(&text, LENGTH).expect("a tokenizer");
    let found = tokenizer.encode("a text", None).expect_err("beyond");
    let expected = "the tokenizer makes token 4000000, but its vocabulary ends at 767";
    assert_eq!(found.to_string(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_damaged_tokenizer_is_refused_or_stays_within_its_bounds(
        spots in prop::collection::vec((0usize..20_000, any::<u8>()), 1..4),
    ) {
        let mut bytes = tokenizer_json().into_bytes();
        for (at, byte) in spots {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(tokenizer) = TextTokenizer::parse(&text, LENGTH)
            && let Ok((encoding, _)) = tokenizer.encode("let größe = 1; // a text", Some("pair"))
        {
            prop_assert!(encoding.get_ids().len() <= LENGTH);
            prop_assert!(encoding.get_ids().iter().all(|id| *id <= tokenizer.highest()));
        }
    }
}
