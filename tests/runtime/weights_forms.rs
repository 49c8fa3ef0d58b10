//! Weights as people have them: of other types, in several files, of other kinds.

use divisi_runtime::network::builders::{Builder, Published};
use divisi_runtime::network::{Shape, Weights};
use half::{bf16, f16};
use serde_json::{Map, Value, json};

use crate::folder::Folder;
use crate::weights::{Scratch, linear, opened};
use crate::weights_damage::small;
use crate::weights_made::{Tensor, encoded, notes, of, refused, safetensors, shards};

#[test]
fn halves_and_doubles_become_float32_and_that_is_said() {
    let (graph, bytes) = small();
    let weights = Weights::from_safetensors(&bytes, &graph).expect("valid");
    assert!(notes(&weights).is_empty());
    type Round = fn(f32) -> f32;
    let kinds: [(&str, Round); 3] = [
        ("F16", |v| f16::from_f32(v).to_f32()),
        ("BF16", |v| bf16::from_f32(v).to_f32()),
        ("F64", |v| v),
    ];
    for (kind, round) in kinds {
        let file = safetensors(&of(&graph, &weights, kind, str::to_owned));
        let read = opened(&file, &graph).expect(kind);
        for (name, values) in weights.iter() {
            let expected: Vec<f32> = values.iter().map(|v| round(*v)).collect();
            assert_eq!(read.get(name), expected, "{kind} {name}");
        }
        let count = graph.parameters().len();
        assert_eq!(
            notes(&read),
            [format!("{count} tensors converted from {kind} to float32")]
        );
    }
}

#[test]
fn types_may_be_mixed() {
    let tensors = [
        Tensor::new("fc.weight", "BF16", &[2, 3], &[0.5; 6]),
        Tensor::new("fc.bias", "F32", &[2], &[0.25; 2]),
    ];
    let read = opened(&safetensors(&tensors), &linear()).expect("valid");
    assert_eq!(notes(&read), ["1 tensor converted from BF16 to float32"]);
    assert_eq!(
        (read.get("fc.weight"), read.get("fc.bias")),
        (&[0.5; 6][..], &[0.25; 2][..])
    );
}

#[test]
fn values_that_cannot_be_are_said_with_their_tensor() {
    let (graph, bytes) = small();
    let weights = Weights::from_safetensors(&bytes, &graph).expect("valid");
    let variance = graph
        .parameters()
        .into_iter()
        .find(|p| p.name.ends_with("running_var"));
    let variance = variance.expect("a norm").name;
    let with = |kind: &'static str, name: &str, values: &[f64]| {
        let mut tensors = of(&graph, &weights, "F32", str::to_owned);
        let tensor = tensors.iter_mut().find(|t| t.name == name).expect(name);
        let single: Vec<f32> = values.iter().map(|v| *v as f32).collect();
        tensor.dtype = kind;
        tensor.bytes = match kind {
            "F64" => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            _ => encoded(kind, &single),
        };
        refused(opened(&safetensors(&tensors), &graph))
    };
    for (kind, values, said) in [
        (
            "F32",
            [1.0, -0.5],
            "value 1 is -0.5: a running variance cannot be below 0, 1 of 2 are",
        ),
        (
            "F16",
            [-1.0, -1.0],
            "value 0 is -1: a running variance cannot be below 0, 2 of 2 are",
        ),
        (
            "F32",
            [1.0, f64::NAN],
            "value 1 is not a finite number (NaN in float32), 1 of 2 are not",
        ),
        (
            "F64",
            [1.0, 1e300],
            "value 1 is not a finite number (inf in float32), 1 of 2 are not",
        ),
        (
            "BF16",
            [f64::INFINITY, 1.0],
            "value 0 is not a finite number",
        ),
    ] {
        let error = with(kind, &variance, &values);
        let expected = format!("does not fit the network: tensor `{variance}`: {said}");
        assert!(error.starts_with(&expected), "{kind}: {error}");
    }
    let mean = variance.replace("running_var", "running_mean");
    let mut tensors = of(&graph, &weights, "F32", str::to_owned);
    let tensor = tensors.iter_mut().find(|t| t.name == mean).expect("a mean");
    tensor.bytes = encoded("F32", &[-1.0; 2]);
    assert!(
        opened(&safetensors(&tensors), &graph).is_ok(),
        "means may be negative"
    );
}

#[test]
fn what_is_no_safetensors_is_recognised_and_what_to_do_is_said() {
    let zip = |name: &str, rest: &str| {
        let mut bytes = b"PK\x03\x04\x00\x00\x08\x08".to_vec();
        bytes.resize(26, 0);
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend(name.bytes());
        bytes.extend([0x80, 2]);
        bytes.extend(rest.bytes());
        bytes
    };
    let mut tar = b"sys_info".to_vec();
    tar.resize(512, 0);
    let mut later_tar = b"archive/pickle".to_vec();
    later_tar.resize(257, 0);
    later_tar.extend(b"ustar\x00");
    later_tar.resize(512, 0);
    let torch = "found a PyTorch checkpoint";
    for (what, bytes, said) in [
        (
            "a checkpoint",
            zip("archive/data.pkl", ""),
            "a PyTorch checkpoint (zip)",
        ),
        (
            "another order",
            zip("x/version", "PK\x01\x02x/data.pkl"),
            "a PyTorch checkpoint (zip)",
        ),
        (
            "older",
            b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.".to_vec(),
            "a PyTorch checkpoint (pickle)",
        ),
        ("older still", tar, "a PyTorch checkpoint (tar)"),
        ("by tar", later_tar, "a PyTorch checkpoint (tar)"),
        ("arrays", zip("arr_0.npy", ""), "NumPy's arrays (.npz)"),
        (
            "an array",
            b"\x93NUMPY\x01\x00v\x00{'descr'".to_vec(),
            "one NumPy array (.npy)",
        ),
        ("any zip", zip("letter.txt", ""), "found a zip"),
        (
            "an empty zip",
            [&b"PK\x05\x06"[..], &[0; 18]].concat(),
            "found a zip",
        ),
        (
            "gzip",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03abc".to_vec(),
            "a gzip file; unpack it first",
        ),
        ("text", b"Not Found".to_vec(), "found text"),
        ("a word", b"404\n".to_vec(), "found text"),
        (
            "a table",
            b"[[layers]]\nname = \"a\"\n".to_vec(),
            "found text",
        ),
        (
            "other letters",
            "Gewichte für alle, größer als der Anfang. "
                .repeat(20)
                .into_bytes(),
            "found text",
        ),
        (
            "ONNX",
            b"\x08\x07\x12\x07pytorch\x1a\x052.1.0:\x00".to_vec(),
            "an ONNX model",
        ),
        (
            "ONNX of others",
            b"\x08\x03\x3a\xff\x01\x0a\x10".to_vec(),
            "an ONNX model",
        ),
        ("GGUF", b"GGUF\x03\x00\x00\x00".to_vec(), "a GGUF file"),
        ("Keras", b"\x89HDF\r\n\x1a\n\x00".to_vec(), "an HDF5 file"),
        (
            "a pointer",
            b"version https://git-lfs.github.com/spec/v1\noid".to_vec(),
            "run `git lfs pull`",
        ),
        (
            "a page",
            b"\n<!DOCTYPE html><html>404".to_vec(),
            "a web page instead of the file",
        ),
    ] {
        let error = refused(opened(&bytes, &linear()));
        assert!(
            error.starts_with("expected safetensors, found"),
            "{what}: {error}"
        );
        assert!(error.contains(said), "{what}: {error}");
        let converts = !error.contains(torch) || error.contains("save_file(");
        assert!(converts && error.len() < 500, "{what}: {error}");
    }
    // What begins as safetensors is not taken for something else.
    let mut header = String::from("{\"a\":1");
    header += &" ".repeat(0x20708 - header.len());
    let mut bytes = 0x20708u64.to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    assert!(refused(opened(&bytes, &linear())).starts_with("not a readable safetensors file"));
}

#[test]
fn shards_are_read_by_their_index() {
    let (graph, bytes) = small();
    let whole = Weights::from_safetensors(&bytes, &graph).expect("valid");
    let tensors = of(&graph, &whole, "F32", |name| format!("model.{name}"));
    let folder = Folder::new();
    let index = shards(&folder, &tensors);
    let path = folder.write("model.safetensors.index.json", index.as_bytes());
    let read = Weights::open(path.as_ref(), &graph).expect("valid");
    assert!(read.iter().eq(whole.iter()));
    let count = tensors.len();
    assert_eq!(
        notes(&read),
        [
            "read from 2 shards".to_owned(),
            format!("prefix `model.` removed from {count} names")
        ]
    );
    assert!(read.check().is_ok());
    let held = refused(Weights::from_safetensors(index.as_bytes(), &graph));
    assert!(held.contains("found an index of shards"), "{held}");
    folder.write("b.safetensors", b"");
    assert!(read.check().is_err(), "a shard was written to");
}

#[test]
fn an_index_that_lies_is_refused() {
    let (graph, bytes) = small();
    let whole = Weights::from_safetensors(&bytes, &graph).expect("valid");
    let folder = Folder::new();
    let index = shards(&folder, &of(&graph, &whole, "F32", str::to_owned));
    let first = index.find(".safetensors").expect("a shard") - 1;
    let changed = |to: &str| format!("{}{to}{}", &index[..first], &index[first + 13..]);
    let many: Map<String, Value> = (0..300)
        .map(|i| (i.to_string(), i.to_string().into()))
        .collect();
    for (what, index, said) in [
        (
            "no such file",
            changed("c.safetensors"),
            "shard `c.safetensors`: No such file",
        ),
        (
            "above",
            changed("../a"),
            "expected files in the index's folder, found `../a`",
        ),
        (
            "elsewhere",
            changed("/etc/passwd"),
            "expected files in the index's folder, found `/etc/passwd`",
        ),
        (
            "the folder",
            changed("."),
            "expected files in the index's folder, found `.`",
        ),
        (
            "nothing",
            changed(""),
            "expected files in the index's folder, found ``",
        ),
        (
            "itself",
            changed("model.json"),
            "shard `model.json`: not a readable safetensors file",
        ),
        (
            "the wrong one",
            changed("b.safetensors"),
            "the index lists it in this file",
        ),
        (
            "no map",
            "{\"weights\": {}}".into(),
            "not a readable index of shards: missing field",
        ),
        (
            "no JSON",
            "{\"weight_map\": ".into(),
            "not a readable index of shards: EOF",
        ),
        (
            "too many",
            json!({ "weight_map": many }).to_string(),
            "expected at most 256 files, found 300",
        ),
        (
            "deep",
            "{\"weight_map\": ".to_owned() + &"[".repeat(100_000),
            "not a readable index",
        ),
        (
            "empty",
            "{\"weight_map\": {}}".into(),
            "tensors are missing",
        ),
    ] {
        let path = folder.write("model.json", index.as_bytes());
        let error = refused(Weights::open(path.as_ref(), &graph));
        assert!(error.contains(said), "{what}: {error}");
        assert!(error.len() < 500, "{what}: {error}");
    }
}

#[test]
fn errors_name_a_handful_and_count_the_rest() {
    let resnet = Builder::Published(Published::from_name("resnet152").expect("is published"));
    let graph = resnet.build(Shape::image(3, 64, 64), 1000).expect("builds");
    let wanted = graph.parameters().len();
    let unknown: Vec<Tensor> = (0..500)
        .map(|i| {
            Tensor::new(
                &format!("blocks.{i}.attention.qkv.weight"),
                "F32",
                &[1],
                &[0.0],
            )
        })
        .collect();
    let error = refused(opened(&safetensors(&unknown), &graph));
    let missing = format!("{wanted} tensors are missing: `conv1.weight`");
    assert!(error.contains(&missing), "{error}");
    assert!(
        error.contains("500 tensors belong to no layer: `blocks.0."),
        "{error}"
    );
    assert!(error.contains(" and 496 more"), "{error}");
    assert!(error.len() < 600, "{} characters", error.len());
    let long = Tensor::new(&"x\u{1b}[2J".repeat(10_000), "F32", &[1], &[0.0]);
    let error = refused(opened(&safetensors(&[long]), &linear()));
    assert!(error.len() < 600 && !error.contains('\u{1b}'), "{error}");
    let header = format!(
        r#"{{"a":{{"dtype":"F32","shape":"{}","data_offsets":[0,4]}}}}"#,
        "x".repeat(20_000)
    );
    let error = refused(opened(&crate::weights::file(&header, 4), &linear()));
    assert!(
        error.contains("in the header") && error.len() < 600,
        "{error}"
    );
    let scratch = Scratch::new(b"");
    assert!(refused(Weights::open(&scratch.0, &graph)).len() < 600);
}
