//! Published networks have the parameters and costs that others count for them.

use std::sync::Arc;

use candle_core::{Device, Tensor};
use divisi::compute::{FootprintModel, Lowered, NetworkOp};
use divisi::network::builders::{Builder, Published, ResnetSkeleton};
use divisi::network::{Graph, Shape, Weights};

use crate::compute::{difference, samples};

fn published(name: &str, side: usize) -> Graph {
    let network = Published::named(name).expect(name);
    Builder::Published(network)
        .build(Shape::image(3, side, side), 1000)
        .expect(name)
}

/// The side of the images a network was made for.
fn side(name: &str) -> usize {
    match name {
        "inception-v3" | "inception-v4" | "inception-resnet-v2" | "xception" => 299,
        _ => 224,
    }
}

#[test]
fn parameters_are_as_many_as_others_count() {
    // Learned parameters at 1000 classes, and whose count that is.
    let counts = [
        ("alexnet", 61_100_840, "torchvision alexnet"),
        ("densenet121", 7_978_856, "torchvision densenet121"),
        ("densenet169", 14_149_480, "torchvision densenet169"),
        ("densenet201", 20_013_928, "torchvision densenet201"),
        (
            "inception-resnet-v2",
            55_843_464,
            "timm inception_resnet_v2",
        ),
        // torchvision counts 27 161 264 with the auxiliary head of 3 326 696.
        (
            "inception-v3",
            27_161_264 - 3_326_696,
            "torchvision inception_v3",
        ),
        ("inception-v4", 42_679_816, "timm inception_v4"),
        ("mobilenet-v1", 4_231_976, "timm mobilenetv1_100"),
        ("mobilenet-v2", 3_504_872, "torchvision mobilenet_v2"),
        ("resnet18", 11_689_512, "torchvision resnet18"),
        ("resnet34", 21_797_672, "torchvision resnet34"),
        ("resnet50", 25_557_032, "torchvision resnet50"),
        ("resnet101", 44_549_160, "torchvision resnet101"),
        ("resnet152", 60_192_808, "torchvision resnet152"),
        ("resnext50-32x4d", 25_028_904, "torchvision resnext50_32x4d"),
        ("resnext101-32x4d", 44_177_704, "timm resnext101_32x4d"),
        ("vgg16", 138_357_544, "torchvision vgg16"),
        ("vgg19", 143_667_240, "torchvision vgg19"),
        ("xception", 22_855_952, "timm legacy_xception"),
    ];
    assert_eq!(
        counts.map(|(name, ..)| name),
        Published::ALL.map(|(_, n)| n)
    );
    for (name, count, source) in counts {
        let graph = published(name, side(name));
        assert_eq!(graph.parameter_count(), count, "{name}: {source}");
    }
}

#[test]
fn parameters_have_the_names_that_weight_files_have() {
    let names = [
        ("alexnet", "features.10.weight", "classifier.6.bias"),
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
        ("vgg19", "features.34.bias", "classifier.0.weight"),
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
        ("densenet201", 4.29),
        ("inception-v3", 5.71),
        ("mobilenet-v2", 0.30),
        ("resnet18", 1.81),
        ("resnet50", 4.09),
        ("resnet152", 11.51),
        ("resnext50-32x4d", 4.23),
        ("vgg19", 19.63),
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
    let build = |shape| Builder::Published(Published::InceptionV3).build(shape, 10);
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
        ("densenet121", 32),
        ("inception-resnet-v2", 75),
        ("inception-v3", 75),
        ("inception-v4", 75),
        ("mobilenet-v2", 32),
        ("resnet18", 32),
        ("resnext50-32x4d", 32),
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
