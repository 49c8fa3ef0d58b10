//! Published networks have the parameters and costs that others count for them.

use std::fs;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use divisi_runtime::compute::{FootprintModel, Lowered, NetworkOp};
use divisi_runtime::network::builders::{Builder, Published, ResnetSkeleton};
use divisi_runtime::network::{Graph, Shape, Weights};
use serde::Deserialize;

use crate::compute::{difference, samples};
use crate::place::root;

fn published(name: &str, side: usize) -> Graph {
    let network = Published::from_name(name).expect(name);
    Builder::Published(network)
        .build(Shape::image(3, side, side), 1000)
        .expect(name)
}

/// The side of the images a network was made for.
fn side(name: &str) -> usize {
    let Some(Shape::Image { height, .. }) = Published::from_name(name).map(Published::input) else {
        panic!("{name} is not published");
    };
    height
}

/// The tensors of a network, as the library has them whose names it has.
#[derive(Deserialize)]
struct Tensors {
    network: String,
    model: String,
    /// Learned parameters at 1000 classes.
    parameters: u64,
    /// Of the names and shapes of all tensors, in any order.
    checksum: String,
}

/// FNV-1a of 64 bits (Fowler, Noll and Vo).
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn tensors() -> Vec<Tensors> {
    let path = root().join("tests/pytorch/tensors.json");
    let text = fs::read_to_string(path).expect("tensors.json");
    serde_json::from_str(&text).expect("tensors")
}

#[test]
fn parameters_are_as_many_as_others_count_and_have_their_names_and_shapes() {
    let all = tensors();
    for network in Published::all() {
        let name = network.name();
        let theirs = all.iter().find(|t| t.network == name);
        let theirs = theirs.unwrap_or_else(|| panic!("{name} is not compared"));
        let graph = published(name, side(name));
        assert_eq!(
            graph.parameter_count(),
            theirs.parameters,
            "{}",
            theirs.model
        );
        let parameters = graph.parameters();
        let hashes = parameters
            .iter()
            .map(|p| hash(&format!("{} {:?}", p.name, p.shape)));
        let sum = hashes.fold(0, u64::wrapping_add);
        assert_eq!(format!("{sum:016x}"), theirs.checksum, "{}", theirs.model);
    }
}

/// A network with 1000 classes as it is recorded in `published.txt`: name, side of the images,
/// layers, parameters, FLOPs, and the checksum of all layers in the JSON of `divisi network show`.
fn recorded(network: Published) -> String {
    let (name, side) = (network.name(), side(network.name()));
    let graph = published(name, side);
    let (layers, parameters) = (graph.nodes().len(), graph.parameter_count());
    let json = serde_json::to_string(graph.nodes()).expect("JSON");
    let (flops, checksum) = (graph.flops(), hash(&json));
    format!("{name} {side} {layers} {parameters} {flops} {checksum:016x}")
}

#[test]
fn every_published_network_has_the_recorded_layers() {
    let records = fs::read_to_string(root().join("tests/runtime/published.txt")).expect("records");
    let networks = Published::all().map(recorded);
    assert_eq!(
        networks.collect::<Vec<_>>(),
        records.lines().collect::<Vec<_>>()
    );
}

#[test]
fn every_published_network_answers_the_classes_that_are_asked_for() {
    for network in Published::all() {
        let name = network.name();
        let graph = Builder::Published(network).build(network.input(), 7);
        assert_eq!(graph.expect(name).output(), Shape::vector(7), "{name}");
    }
}

#[test]
fn parameters_have_the_names_that_weight_files_have() {
    let names = [
        ("alexnet", "features.10.weight", "classifier.6.bias"),
        (
            "convnext-tiny",
            "features.1.0.layer_scale",
            "features.1.0.block.3.weight",
        ),
        (
            "densenet121",
            "features.denseblock4.denselayer16.norm2.running_var",
            "features.transition3.conv.weight",
        ),
        (
            "inception-resnet-v2",
            "repeat_1.19.conv2d.bias",
            "mixed_7a.branch2.2.bn.weight",
        ),
        (
            "inception-v3",
            "Mixed_7c.branch3x3dbl_3b.bn.running_mean",
            "Conv2d_1a_3x3.conv.weight",
        ),
        (
            "inception-v4",
            "features.21.branch2_3b.conv.weight",
            "last_linear.weight",
        ),
        (
            "mobilenet-v1",
            "blocks.3.5.conv_pw.weight",
            "conv_stem.weight",
        ),
        (
            "mobilenet-v2",
            "features.1.conv.1.weight",
            "features.17.conv.3.running_var",
        ),
        (
            "resnet152",
            "layer3.35.conv3.weight",
            "layer1.0.downsample.1.bias",
        ),
        (
            "swin-t",
            "features.1.0.attn.relative_position_bias_table",
            "features.2.reduction.weight",
        ),
        ("vgg19", "features.34.bias", "classifier.0.weight"),
        (
            "vit-b-16",
            "class_token",
            "encoder.layers.encoder_layer_0.self_attention.in_proj_weight",
        ),
        (
            "xception",
            "block12.rep.4.pointwise.weight",
            "block1.rep.0.conv1.weight",
        ),
    ];
    for (network, one, other) in names {
        let parameters = published(network, side(network)).parameters();
        for name in [one, other] {
            assert!(
                parameters.iter().any(|p| p.name == name),
                "{network}: {name}"
            );
        }
    }
}

#[test]
fn multiplications_are_as_many_as_others_count() {
    // Thousand million multiply-adds of one image, as torchvision documents them.
    let counts = [
        ("alexnet", 0.71),
        ("densenet121", 2.83),
        ("convnext-tiny", 4.46),
        ("densenet201", 4.29),
        ("efficientnet-b0", 0.39),
        ("googlenet", 1.50),
        ("inception-v3", 5.71),
        ("mobilenet-v2", 0.30),
        ("resnet18", 1.81),
        ("resnet50", 4.09),
        ("resnet152", 11.51),
        ("resnext50-32x4d", 4.23),
        ("swin-t", 4.49),
        ("vgg19", 19.63),
        ("vit-b-16", 17.56),
    ];
    for (name, giga) in counts {
        let found = published(name, side(name)).flops() as f64 / 2e9;
        // Theirs leave out norms, activations and pools, ours do not.
        assert!(
            (found / giga - 1.0).abs() < 0.04,
            "{name}: {found} for {giga}"
        );
    }
}

#[test]
fn the_skeleton_is_resnet34_at_depth_34_and_grows_with_depth_and_width() {
    let build = |depth, width, side, classes| {
        let skeleton = ResnetSkeleton { depth, width };
        Builder::ResnetSkeleton(skeleton)
            .build(Shape::image(3, side, side), classes)
            .map_err(|e| e.to_string())
    };
    let same = build(34, 1.0, 224, 1000).expect("builds");
    assert_eq!(same, published("resnet34", 224));
    let mut last = 0;
    for depth in (10..=132).step_by(2) {
        let graph = build(depth, 0.5, 32, 100).expect("builds");
        let convolutions = graph.nodes().iter().filter(|n| n.name.contains("conv"));
        assert_eq!(convolutions.count() + 1, depth, "with the classifier");
        assert!(graph.parameter_count() > last);
        last = graph.parameter_count();
    }
    for (depth, width, said) in [
        (
            9,
            1.0,
            "depth: expected an even number from 10 to 132, found 9",
        ),
        (
            134,
            1.0,
            "depth: expected an even number from 10 to 132, found 134",
        ),
        (10, 0.0, "width: expected 0.25 to 4, found 0"),
        (10, f64::NAN, "width: expected 0.25 to 4, found NaN"),
    ] {
        let error = build(depth, width, 32, 10).expect_err(said);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn an_image_too_small_for_a_network_is_refused_where_it_ends() {
    let build = |shape| {
        Builder::Published(Published::from_name("inception-v3").expect("is published"))
            .build(shape, 10)
    };
    assert!(build(Shape::image(3, 75, 75)).is_ok());
    let error = build(Shape::image(3, 74, 74)).expect_err("too small");
    assert!(error.to_string().contains("layer `Mixed_7a"), "{error}");
    let error = build(Shape::vector(75)).expect_err("no image");
    assert!(error.to_string().contains("takes an image"), "{error}");
}

#[test]
fn large_networks_are_planned_for_any_batch() {
    for name in ["densenet201", "inception-resnet-v2", "resnet152"] {
        let graph = published(name, 299);
        let model = FootprintModel::new(&graph);
        let sizes = [8, 16, 32, 64, 128].map(|size| model.at(size, 1).activation_bytes);
        assert!(sizes.is_sorted(), "{name}: {sizes:?}");
    }
}

fn skeleton(depth: usize, width: f64, side: usize) -> Graph {
    let skeleton = Builder::ResnetSkeleton(ResnetSkeleton { depth, width });
    let graph = skeleton.build(Shape::image(3, side, side), 100);
    graph.expect("builds")
}

#[test]
fn lowered_networks_answer_as_plain_candle() {
    // At the smallest images they take, or a little more.
    let sides = [
        ("convnext-tiny", 32),
        ("deit-tiny-patch16-224", 48),
        ("densenet121", 32),
        ("efficientnet-b0", 32),
        ("googlenet", 32),
        ("inception-resnet-v2", 75),
        ("inception-v3", 75),
        ("inception-v4", 75),
        ("mnasnet0-5", 32),
        ("mobilenet-v2", 32),
        ("mobilenet-v3-small", 32),
        ("regnet-y-400mf", 32),
        ("resnet18", 32),
        ("resnext50-32x4d", 32),
        ("shufflenet-v2-x0-5", 32),
        ("squeezenet1-1", 32),
        ("swin-t", 80),
        ("xception", 33),
    ];
    let published = sides.map(|(name, side)| (name, published(name, side)));
    let skeletons = [
        ("a deep skeleton", skeleton(132, 0.25, 32)),
        ("a wide skeleton", skeleton(10, 1.5, 64)),
    ];
    for (name, graph) in published.into_iter().chain(skeletons) {
        let difference = difference(&graph, &Weights::synthetic(&graph, 1), 1);
        assert!(difference < 1e-4, "{name}: {difference}");
    }
}

#[test]
fn made_up_weights_keep_values_in_bounds_however_deep_the_network() {
    let cases = [
        ("densenet121", published("densenet121", 64)),
        ("inception-resnet-v2", published("inception-resnet-v2", 139)),
        ("mobilenet-v2", published("mobilenet-v2", 128)),
        ("convnext-small", published("convnext-small", 64)),
        ("swin-t", published("swin-t", 64)),
        ("resnet152", published("resnet152", 64)),
        ("xception", published("xception", 128)),
        ("a deep skeleton", skeleton(132, 0.25, 32)),
    ];
    for (name, graph) in cases {
        let answers = answers(&graph, 2);
        let mean_square = answers.iter().map(|v| v * v).sum::<f32>() / answers.len() as f32;
        assert!((1e-3..1e3).contains(&mean_square), "{name}: {mean_square}");
        let (first, second) = answers.split_at(answers.len() / 2);
        assert_ne!(first, second, "{name}: answers depend on samples");
    }
}

fn answers(graph: &Graph, batch: usize) -> Vec<f32> {
    let lowered = Arc::new(Lowered::new(graph, &Weights::synthetic(graph, 1)).expect("lowers"));
    let op = NetworkOp::new(lowered, batch, None).expect("op");
    let shape = (batch, graph.input().elements());
    let x = Tensor::from_vec(samples(batch, graph.input()), shape, &Device::Cpu).expect("x");
    let y = x
        .apply_op1_no_bwd(&op)
        .and_then(|y| y.flatten_all()?.to_vec1());
    y.expect("runs")
}
