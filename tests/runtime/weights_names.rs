//! Names in files of weights: wrappers, renaming, and what only training needs.

use divisi_runtime::network::builders::{Builder, Convnet, Published};
use divisi_runtime::network::{Graph, Naming, Pattern, Shape, Weights, WeightsError};
use proptest::prelude::*;

use crate::weights::opened;
use crate::weights_damage::small;
use crate::weights_made::{Tensor, notes, of, refused, safetensors};

fn network() -> (Graph, Weights) {
    let (graph, bytes) = small();
    let weights = Weights::from_safetensors(&bytes, &graph).expect("valid");
    (graph, weights)
}

fn naming(prefix: Option<&str>, rename: &[(&str, &str)], ignore: &[&str]) -> Naming {
    let owned = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
    Naming {
        prefix: prefix.map(str::to_owned),
        rename: rename.iter().map(owned).collect(),
        ignore: ignore.iter().map(|p| Pattern::new(*p)).collect(),
    }
}

#[test]
fn wrappers_around_names_are_recognised_and_said() {
    let (graph, weights) = network();
    for prefix in [
        "module.",
        "model.",
        "_orig_mod.",
        "module._orig_mod.",
        "_orig_mod.module.",
        "model._orig_mod.module.",
        "state_dict.model.",
        "net.",
    ] {
        let tensors = of(&graph, &weights, "F32", |name| format!("{prefix}{name}"));
        let count = tensors.len();
        let read = opened(&safetensors(&tensors), &graph).expect(prefix);
        assert!(read.iter().eq(weights.iter()), "{prefix}");
        let said = format!("prefix `{prefix}` removed from {count} names");
        assert_eq!(notes(&read), [said]);
    }
}

#[test]
fn wrappers_inside_of_names_and_old_names_are_rewritten() {
    let (graph, weights) = network();
    for wrapper in ["module", "_orig_mod", "_fsdp_wrapped_module"] {
        let inside = |name: &str| match name.rsplit_once('.') {
            Some((layer, part)) => format!("{layer}.{wrapper}.{part}"),
            None => name.to_owned(),
        };
        let read = opened(&safetensors(&of(&graph, &weights, "F32", inside)), &graph);
        let read = read.expect(wrapper);
        assert!(read.iter().eq(weights.iter()), "{wrapper}");
        let [said] = &notes(&read)[..] else {
            panic!("{:?}", notes(&read));
        };
        assert!(said.contains("names rewritten: `"), "{said}");
    }
    let densenet = Builder::Published(Published::from_name("densenet121").expect("is published"));
    let graph = densenet.build(Shape::image(3, 32, 32), 10).expect("builds");
    let weights = Weights::synthetic(&graph, 1);
    let old = |name: &str| {
        let mut name = name.to_owned();
        if name.contains("denselayer") {
            for part in ["norm1", "norm2", "conv1", "conv2"] {
                let (word, digit) = part.split_at(4);
                name = name.replace(&format!(".{part}."), &format!(".{word}.{digit}."));
            }
        }
        name
    };
    let read = opened(&safetensors(&of(&graph, &weights, "F32", old)), &graph);
    assert!(read.expect("as published").iter().eq(weights.iter()));
}

#[test]
fn which_of_two_copies_is_meant_is_not_guessed() {
    let convnet = Convnet {
        channels: vec![2],
        depth: 1,
        upscale: None,
    };
    let built = Builder::Convnet(convnet)
        .build(Shape::image(1, 4, 4), 2)
        .expect("builds");
    let weights = Weights::synthetic(&built, 1);
    let tensors = of(&built, &weights, "F32", str::to_owned);
    let mut twice = tensors.clone();
    twice.extend(of(&built, &weights, "F32", |name| format!("module.{name}")));
    // As many are wanted with the wrapper and without: then names are what they are.
    let error = refused(opened(&safetensors(&twice), &built));
    assert!(error.contains("tensors `"), "{error}");
    assert!(error.contains("both become `"), "{error}");
    let ignoring = naming(None, &[], &["module.*"]);
    let read = Weights::from_safetensors_as(&safetensors(&twice), &built, &ignoring);
    let read = read.expect("one of each");
    assert_eq!(notes(&read).len(), 1);
    let own = naming(Some("module"), &[], &[]);
    let read = Weights::from_safetensors_as(&safetensors(&twice), &built, &own);
    let said = notes(&read.expect("one of each"));
    let count = tensors.len();
    assert!(
        said[0].starts_with("prefix `module` removed from"),
        "{said:?}"
    );
    assert!(
        said[1].starts_with(&format!("ignored {count} tensors without the prefix: `")),
        "{said:?}"
    );
}

#[test]
fn what_only_training_needs_is_ignored_with_a_word() {
    let (graph, weights) = network();
    let mut tensors = of(&graph, &weights, "F32", |name| format!("module.{name}"));
    for name in [
        "module.AuxLogits.conv0.conv.weight",
        "module.AuxLogits.fc.weight",
        "module.aux1.conv.weight",
        "module.aux_classifier.0.weight",
    ] {
        tensors.push(Tensor::new(name, "F16", &[3], &[1.0; 3]));
    }
    tensors.push(Tensor::counter("module.stages.0.bn.num_batches_tracked"));
    tensors.push(Tensor::counter("n_averaged"));
    let read = opened(&safetensors(&tensors), &graph).expect("valid");
    assert!(read.iter().eq(weights.iter()));
    let said = notes(&read);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said[0].starts_with("prefix `module.` removed from "),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("ignored 2 counters of training: `"),
        "{said:?}"
    );
    assert!(
        said[2].starts_with("ignored 4 tensors of an auxiliary head: `module.A"),
        "{said:?}"
    );
    tensors.push(Tensor::new("module.auxiliary", "F32", &[3], &[1.0; 3]));
    tensors.push(Tensor::new("steps", "F32", &[1], &[1.0]));
    let error = refused(opened(&safetensors(&tensors), &graph));
    assert!(
        error.ends_with("2 tensors belong to no layer: `module.auxiliary`, `steps`"),
        "{error}"
    );
}

fn read_as(tensors: &[Tensor], graph: &Graph, naming: &Naming) -> Result<Weights, WeightsError> {
    Weights::from_safetensors_as(&safetensors(tensors), graph, naming)
}

#[test]
fn a_manifest_may_say_prefix_renames_and_what_to_ignore() {
    let (graph, weights) = network();
    let first = graph.parameters()[0].name.clone();
    let (layer, _) = first.rsplit_once('.').expect("a dot");
    let named = |name: &str| format!("backbone.{}", name.replacen(layer, "stem.c", 1));
    let mut tensors = of(&graph, &weights, "F32", named);
    tensors.push(Tensor::new("decoder.weight", "F32", &[1], &[0.0]));
    tensors.push(Tensor::new("backbone.mask.total_ops", "F32", &[1], &[0.0]));
    let said = naming(Some("backbone."), &[("stem.c", layer)], &["*.total_ops"]);
    let read = read_as(&tensors, &graph, &said).expect("valid");
    assert!(read.iter().eq(weights.iter()));
    let said = notes(&read);
    assert!(
        said[1].contains(&format!(
            "1 name renamed: `stem.c.weight` → `{layer}.weight`"
        )),
        "{said:?}"
    );
    assert!(
        said.iter()
            .any(|n| n == "ignored 1 tensor matched by `ignore`: `backbone.mask.total_ops`")
    );
    assert!(
        said.iter()
            .any(|n| n == "ignored 1 tensor without the prefix: `decoder.weight`")
    );
    let unsaid = refused(read_as(&tensors, &graph, &Naming::default()));
    assert!(unsaid.contains("have the prefix `backbone.`"), "{unsaid}");
}

#[test]
fn what_is_said_of_names_and_fits_nothing_is_refused() {
    let (graph, weights) = network();
    let tensors = of(&graph, &weights, "F32", str::to_owned);
    let names: Vec<&str> = tensors.iter().map(|t| t.name.as_str()).collect();
    let to = [(names[0], names[1])];
    for (naming, said) in [
        (
            naming(Some("encoder."), &[], &[]),
            "prefix: no tensor's name begins with `encoder.`; the file has `",
        ),
        (
            naming(None, &[("head", "fc")], &[]),
            "rename: no tensor is named `head`",
        ),
        (naming(None, &to, &[]), "both become `"),
        (naming(None, &[], &[names[0]]), "is missing"),
        (
            naming(None, &[], &["nothing*"]),
            "ignore: no tensor is named `nothing*`",
        ),
        (
            naming(None, &[], &[names[0], "*.total_ops"]),
            "ignore: no tensor is named `*.total_ops`",
        ),
    ] {
        let error = refused(read_as(&tensors, &graph, &naming));
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[test]
fn the_longest_beginning_is_renamed_and_only_whole_parts() {
    let tensor = |name: &str| Tensor::new(name, "F32", &[1], &[0.5]);
    let (graph, weights) = network();
    let names: Vec<String> = graph.parameters().into_iter().map(|p| p.name).collect();
    let (layer, _) = names[0].rsplit_once('.').expect("a dot");
    let mut tensors = of(&graph, &weights, "F32", |n| n.replacen(layer, "a.b", 1));
    tensors.push(tensor("a.bc"));
    let said = naming(None, &[("a", "nowhere"), ("a.b", layer)], &[]);
    let error = refused(read_as(&tensors, &graph, &said));
    assert!(
        error.ends_with("tensor `a.bc` belongs to no layer"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn patterns_match_what_a_plain_search_matches(
        pattern in "[ab*]{0,6}",
        name in "[ab]{0,8}",
    ) {
        fn plain(pattern: &[u8], name: &[u8]) -> bool {
            match (pattern, name) {
                ([], rest) => rest.is_empty(),
                ([b'*', rest @ ..], _) => (0..=name.len()).any(|n| plain(rest, &name[n..])),
                ([p, rest @ ..], [n, left @ ..]) => p == n && plain(rest, left),
                _ => false,
            }
        }
        let expected = plain(pattern.as_bytes(), name.as_bytes());
        prop_assert_eq!(Pattern::new(pattern).matches(&name), expected);
    }
}
