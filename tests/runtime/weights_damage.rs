//! Random damage to files of weights: refused, or whole.

use std::collections::BTreeMap;
use std::fs;

use divisi_runtime::network::builders::{Builder, Convnet};
use divisi_runtime::network::{Graph, Naming, ParameterRole, Pattern, Shape, Weights};
use proptest::prelude::*;

use crate::folder::Folder;
use crate::weights::{Scratch, opened};
use crate::weights_made::{Tensor, of, safetensors, shards};

/// A small network with a norm, and its weights as a file.
pub fn small() -> (Graph, Vec<u8>) {
    let convnet = Convnet {
        channels: vec![2],
        depth: 1,
        upscale: None,
    };
    let graph = Builder::Convnet(convnet)
        .build(Shape::image(1, 4, 4), 2)
        .expect("builds");
    let scratch = Scratch::new(b"");
    Weights::synthetic(&graph, 1)
        .write(&graph, &scratch.0)
        .expect("writes");
    let bytes = fs::read(&scratch.0).expect("reads");
    (graph, bytes)
}

/// The damage to a file.
#[derive(Clone, Debug)]
enum Damage {
    Byte(usize, u8),
    Cut(usize),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    /// A number of the header, counted, becomes another.
    Number(usize, u64),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<usize>;
    let numbers = prop_oneof![
        Just(0),
        Just(u64::MAX),
        Just(u64::MAX / 4),
        Just(1 << 61),
        any::<u64>(),
        0..64u64
    ];
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(a, b)| Damage::Byte(a, b)),
        at().prop_map(Damage::Cut),
        (at(), prop::collection::vec(any::<u8>(), 1..16)).prop_map(|(a, b)| Damage::Insert(a, b)),
        (at(), 1..32usize).prop_map(|(a, n)| Damage::Remove(a, n)),
        (at(), numbers).prop_map(|(a, n)| Damage::Number(a, n)),
    ]
}

fn hurt(bytes: &mut Vec<u8>, damage: Damage) {
    let len = bytes.len().max(1);
    match damage {
        Damage::Byte(at, to) => {
            if let Some(byte) = bytes.get_mut(at % len) {
                *byte = to;
            }
        }
        Damage::Cut(at) => bytes.truncate(at % len),
        Damage::Insert(at, what) => {
            let at = (at % len).min(bytes.len());
            bytes.splice(at..at, what);
        }
        Damage::Remove(at, n) => {
            let at = (at % len).min(bytes.len());
            bytes.drain(at..(at + n).min(bytes.len()));
        }
        Damage::Number(which, to) => renumber(bytes, which, to),
    }
}

fn renumber(bytes: &mut Vec<u8>, which: usize, to: u64) {
    let Some(length) = bytes.first_chunk::<8>().map(|l| u64::from_le_bytes(*l)) else {
        return;
    };
    let Some(header) = usize::try_from(length)
        .ok()
        .and_then(|n| bytes.get(8..8usize.checked_add(n)?))
    else {
        return;
    };
    let starts: Vec<usize> = (1..header.len())
        .filter(|&i| header[i].is_ascii_digit() && !header[i - 1].is_ascii_digit())
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = starts[which % starts.len()];
    let digits = header[start..]
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .count();
    let text = to.to_string();
    let length = length + text.len() as u64 - digits as u64;
    bytes.splice(8 + start..8 + start + digits, text.bytes());
    bytes[..8].copy_from_slice(&length.to_le_bytes());
}

/// The same weights as people have them.
fn forms(graph: &Graph, bytes: &[u8]) -> Vec<Vec<u8>> {
    let weights = Weights::from_safetensors(bytes, graph).expect("valid");
    let mut forms = vec![bytes.to_vec()];
    for (kind, prefix) in [
        ("F16", "module."),
        ("BF16", "_orig_mod.model."),
        ("F64", ""),
    ] {
        let mut tensors = of(graph, &weights, kind, |name| format!("{prefix}{name}"));
        tensors.push(Tensor::counter("bn.num_batches_tracked"));
        tensors.push(Tensor::new("aux.fc.weight", "F16", &[2], &[0.0; 2]));
        forms.push(safetensors(&tensors));
    }
    forms
}

/// Beginnings of files that are recognised.
fn beginnings() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        b"PK\x03\x04".to_vec(),
        b"PK\x03\x04\x14\0\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0x/data.pkl"
            .to_vec(),
        b"\x80\x02\x8a\x0al".to_vec(),
        b"\x08\x07\x12\x07pytorch".to_vec(),
        b"GGUF\x03".to_vec(),
        b"\x93NUMPY\x01\x00".to_vec(),
        b"{\"weight_map\": {\"fc.weight\": \"a\"}}".to_vec(),
        b"{\"weight_map\": {".to_vec(),
        b"<html".to_vec(),
        b"sys_info\0".to_vec(),
    ])
}

fn is_whole(weights: &Weights, graph: &Graph) -> bool {
    let sizes: BTreeMap<&str, usize> = weights.iter().map(|(n, v)| (n, v.len())).collect();
    let parameters = graph.parameters();
    sizes.len() == parameters.len()
        && parameters.iter().all(|p| {
            let positive = p.role != ParameterRole::RunningVariance;
            let possible = |v: &f32| v.is_finite() && (positive || *v >= 0.0);
            sizes[p.name.as_str()] == p.elements() && weights.get(&p.name).iter().all(possible)
        })
}

proptest! {
    #[test]
    fn damaged_files_are_refused_or_whole(
        damages in prop::collection::vec(damage(), 1..4),
        form in 0..4usize,
    ) {
        let (graph, bytes) = small();
        let mut bytes = forms(&graph, &bytes).swap_remove(form);
        for damage in damages {
            hurt(&mut bytes, damage);
        }
        match opened(&bytes, &graph) {
            Ok(weights) => prop_assert!(is_whole(&weights, &graph)),
            Err(error) => prop_assert!(error.to_string().len() < 2000, "{error}"),
        }
    }

    #[test]
    fn whatever_begins_like_another_kind_is_refused_in_few_words(
        start in beginnings(),
        damages in prop::collection::vec(damage(), 0..3),
        rest in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let (graph, _) = small();
        let mut bytes = [start, rest].concat();
        for damage in damages {
            hurt(&mut bytes, damage);
        }
        // Held in memory an index is refused, from a file it is read: both end.
        let held = Weights::from_safetensors(&bytes, &graph).expect_err("no tensors").to_string();
        let mapped = Weights::open(&Scratch::new(&bytes).0, &graph);
        let mapped = mapped.expect_err("no tensors").to_string();
        prop_assert!(held.len() < 600 && mapped.len() < 600, "{held} {mapped}");
    }

    #[test]
    fn damaged_indexes_and_shards_are_refused_or_whole(
        damages in prop::collection::vec((0..3usize, damage()), 1..4),
    ) {
        let (graph, bytes) = small();
        let weights = Weights::from_safetensors(&bytes, &graph).expect("valid");
        let folder = Folder::new();
        let index = shards(&folder, &of(&graph, &weights, "F32", str::to_owned));
        folder.write("index.json", index.as_bytes());
        for (file, damage) in damages {
            let name = ["index.json", "a.safetensors", "b.safetensors"][file];
            let mut bytes = fs::read(folder.join(name)).expect("reads");
            hurt(&mut bytes, damage);
            folder.write(name, &bytes);
        }
        match Weights::open(&folder.join("index.json"), &graph) {
            Ok(weights) => prop_assert!(is_whole(&weights, &graph)),
            Err(error) => prop_assert!(error.to_string().len() < 2000, "{error}"),
        }
    }

    #[test]
    fn names_that_are_said_never_break_reading(
        prefix in prop::option::of("[a-z.]{1,6}"),
        from in "[a-z.]{1,6}",
        to in "[a-z.]{1,6}",
        pattern in "[a-z*.]{1,6}",
        damages in prop::collection::vec(damage(), 0..3),
    ) {
        let (graph, bytes) = small();
        let mut bytes = forms(&graph, &bytes).swap_remove(1);
        for damage in damages {
            hurt(&mut bytes, damage);
        }
        let naming = Naming {
            prefix,
            rename: BTreeMap::from([(from, to)]),
            ignore: vec![Pattern::new(pattern)],
        };
        if let Ok(weights) = Weights::from_safetensors_as(&bytes, &graph, &naming) {
            prop_assert!(is_whole(&weights, &graph));
        }
    }
}
