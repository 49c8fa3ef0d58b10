//! Ensembles from files: what is wrong is said with file, line, field and what was expected.

use std::fs;

use divisi_model::ensemble::{Ensemble, Files, PolicyKind, SampleForm, Samples, Wait};
use divisi_runtime::compute::gpu::Precision;
use divisi_runtime::network::Shape;

use crate::folder::Folder;
use crate::npy::npy;
use crate::place::root;

const MANIFEST: &str = r#"name = "tiny"
classes = 2
labels = ["no", "yes"]
rule = "weighted-average"
segment_size = 16
batch_sizes = [1, 4]
policy = { kind = "opt-wait", wait_ms = 3 }

[input]
shape = [1, 2, 2]
scale = 0.5

[calibration]
file = "samples.csv"
skip = 1

[[members]]
name = "a"
network = { builder = "perceptron", hidden = [3] }
vote_weight = 2.0

[[members]]
name = "b"
network = { file = "layers.toml" }
outputs = "probabilities"
"#;

const LAYERS: &str = r#"[[layers]]
name = "conv"
op = "conv2d"
channels = 2
kernel = 2

[[layers]]
name = "flat"
op = "flatten"

[[layers]]
name = "soft"
op = "softmax"
"#;

const SAMPLES: &str = "a,b,c,d,label\n1,2,3,4,0\n5,6,7,8,1\n";

/// An ensemble in a folder of its own.
struct Written(Folder);

impl Written {
    fn new(manifest: &str, layers: &str, samples: &str) -> Self {
        let folder = Folder::new();
        folder.write("ensemble.toml", manifest.as_bytes());
        folder.write("layers.toml", layers.as_bytes());
        folder.write("samples.csv", samples.as_bytes());
        Written(folder)
    }

    fn read(&self) -> Result<Ensemble, String> {
        Ensemble::read(&Files::from_path(self.0.path())).map_err(|e| {
            let text = e.to_string();
            text.replace(&format!("{}/", self.0.path().display()), "")
        })
    }
}

#[test]
fn a_manifest_may_say_in_which_numbers_gpus_compute() {
    let read = |manifest: &str| Written::new(manifest, LAYERS, SAMPLES).read();
    let silent = read(MANIFEST).expect("valid").precision;
    assert_eq!(silent, Precision::F32);
    for precision in Precision::ALL {
        let line = format!("classes = 2\nprecision = \"{precision}\"");
        let said = MANIFEST.replace("classes = 2", &line);
        assert_eq!(read(&said).expect("valid").precision, precision);
    }
}

#[test]
fn a_whole_manifest_is_understood() {
    let ensemble = Written::new(MANIFEST, LAYERS, SAMPLES)
        .read()
        .expect("valid");
    assert_eq!(ensemble.member_names(), ["a", "b"]);
    assert_eq!(
        ensemble.policy,
        PolicyKind::OptWait {
            wait: Wait::nearest(std::time::Duration::from_millis(3))
        }
    );
    assert_eq!(ensemble.calibration.as_ref().map(|s| s.len()), Some(1));
    assert!(ensemble.is_synthetic());
}

#[test]
fn mistakes_in_a_manifest_are_named_with_line_and_field() {
    let cases = [
        (
            "classes = 2",
            "clases = 2",
            "ensemble.toml:2: unknown field `clases`",
        ),
        (
            "classes = 2",
            "classes = -2",
            "ensemble.toml:2: classes: expected a whole number from 1",
        ),
        (
            "classes = 2",
            "classes = \"two\"",
            "ensemble.toml:2: classes: expected a whole number, found \"two\"",
        ),
        (
            "classes = 2",
            "classes = 99999999999999999999",
            "ensemble.toml:2: classes: expected a whole number of at most 64 bits, found 99999999999999999999",
        ),
        (
            "[\"no\", \"yes\"]",
            "[\"no\", \"no\"]",
            "ensemble.toml:3: labels: `no` names both class 0 and class 1; expected \
             different names",
        ),
        (
            "[\"no\", \"yes\"]",
            "[\"no\"]",
            "ensemble.toml:3: labels: expected one per class (2), found 1",
        ),
        (
            "weighted-average",
            "mode",
            "ensemble.toml:4: rule: unknown variant `mode`, expected one of `average`",
        ),
        (
            "segment_size = 16",
            "segment_size = 0",
            "ensemble.toml:5: segment_size: expected a whole number from 1",
        ),
        (
            "[1, 4]",
            "[0, 4]",
            "ensemble.toml:6: batch_sizes: expected batch sizes from 1",
        ),
        (
            "[1, 4]",
            "[]",
            "ensemble.toml:6: batch_sizes: expected at least one batch size",
        ),
        (
            "\"opt-wait\"",
            "\"maybe\"",
            "ensemble.toml:7: policy.kind: expected a policy (no-wait",
        ),
        (
            "rule = \"weighted-average\"",
            "precision = \"f64\"",
            "ensemble.toml:4: precision: expected f32, tf32, bf16, f16, int8 or auto, or two such as int8/bf16, found `f64`",
        ),
        (
            "wait_ms = 3",
            "wait_ms = -3",
            "ensemble.toml:7: policy.wait_ms: expected 0 to 60000",
        ),
        (
            "[1, 2, 2]",
            "[1, -2, 2]",
            "ensemble.toml:10: input.shape: no dimension may be negative",
        ),
        (
            "[1, 2, 2]",
            "[1, 2, 1, 1, 1, 1, 1, 1, 1]",
            "ensemble.toml:10: input.shape: a shape has 1 to 8 dimensions, found 9",
        ),
        (
            "scale = 0.5",
            "scale = nan",
            "ensemble.toml:11: input.scale: expected a finite number",
        ),
        (
            "skip = 1",
            "skip = 2",
            "samples.csv: expected at least one sample, found none",
        ),
        (
            "skip = 1",
            "skip = -1",
            "ensemble.toml:15: skip: expected a whole number from 0, found -1",
        ),
        (
            "skip = 1",
            "skip = true",
            "ensemble.toml:15: skip: expected a whole number from 0, found true",
        ),
        (
            "scale = 0.5",
            "scale = 1e300",
            "ensemble.toml:11: input.scale: expected a finite number, found 1e300",
        ),
        (
            "wait_ms = 3",
            "wait_ms = 1e300",
            "policy.wait_ms: expected 0 to 60000, found 1e300",
        ),
        (
            "vote_weight = 2.0",
            "vote_weight = 1e300",
            "for a member that does not vote, found 1e300",
        ),
        (
            "vote_weight = 2.0",
            "temperature = -1e300",
            "expected a temperature from 0.01 to 100, found -1e300",
        ),
        (
            "hidden = [3]",
            "hidden = [-3]",
            "network of `a`: expected a whole number from 0, found -3 in `hidden`",
        ),
        ("samples.csv", "nowhere.csv", "nowhere.csv: No such file"),
        (
            "samples.csv",
            "/dev/zero",
            "/dev/zero: expected a .csv, .npy, .npz, .json",
        ),
        (
            "skip = 1",
            "labels = \"/dev/zero\"",
            "/dev/zero: expected a .csv, .npy, .npz or .json file of labels",
        ),
        (
            "layers.toml",
            "/dev/zero",
            "/dev/zero: expected a file, found a device",
        ),
        (
            "vote_weight = 2.0",
            "weights = \"/dev/zero\"",
            "/dev/zero: expected a file, found a device",
        ),
        (
            "name = \"b\"",
            "name = \"a\"",
            "ensemble.toml:22: members.name: `a` appears twice",
        ),
        (
            "\"perceptron\"",
            "\"transformer\"",
            "network of `a`: builder: unknown variant `transformer`",
        ),
        (
            "hidden = [3]",
            "hiden = [3]",
            "network of `a`: unknown field `hiden`",
        ),
        (
            "hidden = [3]",
            "hidden = [0]",
            "network of `a`: layer `layers.0`: features must be at least 1",
        ),
        (
            "vote_weight = 2.0",
            "vote_weight = -1.0",
            "ensemble.toml:20: vote_weight: expected a number from 0.000001 to 1000000, or 0 for a member that does not vote, found -1",
        ),
        (
            "vote_weight = 2.0",
            "weights = \"a.safetensors\"",
            "ensemble.toml:20: members.weights: a.safetensors: No such file",
        ),
        (
            "hidden = [3] }",
            "hidden = [3] }\ninput = { shape = [3, 4, 4] }",
            "ensemble.toml:20: members.input.shape: expected an image of 1 channels, as in the \
             ensemble's input (1×2×2), found 3×4×4",
        ),
        (
            "hidden = [3] }",
            "hidden = [3] }\ninput = { shape = [4] }",
            "members.input.shape: expected an image of 1 channels, as in the ensemble's input \
             (1×2×2), found 4",
        ),
        (
            "hidden = [3] }",
            "hidden = [3] }\ninput = { scale = inf }",
            "ensemble.toml:20: members.input.scale: expected a finite number",
        ),
        (
            "scale = 0.5",
            "scale = [0.5, 0.5]",
            "ensemble.toml:11: input.scale: expected one number, or a list of 1 (one per \
             channel), found 2",
        ),
        (
            "scale = 0.5",
            "mean = []",
            "ensemble.toml:11: input.mean: expected one number, or a list of 1 (one per channel), \
             found 0",
        ),
        (
            "scale = 0.5",
            "scale = 0.5\nstd = [0.0]",
            "ensemble.toml:12: input.std: expected a number above 0, found 0",
        ),
        (
            "scale = 0.5",
            "scale = 0.5\nstd = -1",
            "ensemble.toml:12: input.std: expected a number above 0, found -1",
        ),
        (
            "scale = 0.5",
            "mean = [1e39]",
            "ensemble.toml:11: input.mean: expected a finite number, found 1",
        ),
        (
            "scale = 0.5",
            "mean = [\"red\"]",
            "ensemble.toml:11: mean: expected a number, or a list with one number per channel",
        ),
        (
            "scale = 0.5",
            "scale = 1e30\nstd = [1e-30]",
            "ensemble.toml:12: input: channel 0: the scale or shift exceeds float32",
        ),
        (
            "hidden = [3] }",
            "hidden = [3] }\ninput = { shape = [1, 4, 4], mean = [0.4, 0.5] }",
            "ensemble.toml:20: members.input.mean: expected one number, or a list of 1 (one per \
             channel), found 2",
        ),
        (
            "hidden = [3] }",
            "hidden = [3] }\ninput = { transform_input = true }",
            "ensemble.toml:20: members.input.transform_input: expected an image of 3 channels (red, green, blue), found 1×2×2",
        ),
        (
            "hidden = [3] }",
            "hidden = [3] }\ninput = { size = 4 }",
            "ensemble.toml:20: input: unknown field `size`",
        ),
        (
            "builder = \"perceptron\", hidden",
            "builder = \"resnet50\", hidden",
            "network of `a`: unknown field `hidden`: `resnet50` is a published network",
        ),
        (
            "builder = \"perceptron\", hidden = [3]",
            "builder = \"resnet49\"",
            "builder: unknown variant `resnet49`, expected `perceptron`",
        ),
        (
            "builder = \"perceptron\", hidden = [3]",
            "builder = \"resnet-skeleton\", depth = 11",
            "network of `a`: layer `resnet-skeleton`: depth: expected an even number from 10 to 132",
        ),
        (
            "vote_weight = 2.0",
            "temperature = 0.0",
            "ensemble.toml:20: members.temperature: expected a temperature from 0.01 to 100, found 0",
        ),
        (
            "rule = \"weighted-average\"",
            "temperature = 1000",
            "ensemble.toml:4: temperature: expected a temperature from 0.01 to 100, found 1000",
        ),
        (
            "vote_weight = 2.0",
            "temperature = 2.0\noutputs = \"values\"",
            "ensemble.toml:20: members.temperature: expected none, since `outputs = \"values\"`",
        ),
        (
            "rule = \"weighted-average\"",
            "rule = \"mean\"",
            "ensemble.toml:4: rule: unknown variant `mean`, expected one of `average`, `weighted-average`, `majority-vote`, `average-logits`",
        ),
        (
            "vote_weight = 2.0",
            "outputs = \"chances\"",
            "ensemble.toml:20: outputs: expected `logits`, `probabilities` or `values`",
        ),
        (
            "scale = 0.5",
            "layout = \"hwc\"",
            "ensemble.toml:11: layout: unknown variant `hwc`, expected `nchw` or `nhwc`",
        ),
        (
            "skip = 1",
            "labels = \"samples.csv\"",
            "samples.csv: the samples already have labels",
        ),
        ("skip = 1", "labels = \"y.npy\"", "y.npy: No such file"),
        (
            "file = \"samples.csv\"\nskip = 1",
            "synthetic = 4\nlabels = \"y.npy\"",
            "ensemble.toml:13: calibration.labels: only valid with `file`",
        ),
        (
            "file = \"samples.csv\"",
            "synthetic = 4",
            "ensemble.toml:13: calibration.skip: only valid with `file`",
        ),
        (
            "file = \"samples.csv\"",
            "file = \"samples.csv\"\nsynthetic = 4",
            "ensemble.toml:13: calibration: expected `file` or `synthetic`, found both",
        ),
        (
            "file = \"samples.csv\"\n",
            "",
            "calibration: expected `file` (samples) or `synthetic` (the number to generate), \
             found neither",
        ),
        (
            "file = \"samples.csv\"\nskip = 1",
            "synthetic = 0",
            "ensemble.toml:14: calibration.synthetic: expected a whole number from 1 to 33554432, found 0",
        ),
        (
            "file = \"samples.csv\"\nskip = 1",
            "synthetic = 33554433",
            "calibration.synthetic: expected a whole number from 1 to 33554432, found 33554433",
        ),
    ];
    for (right, wrong, said) in cases {
        assert!(MANIFEST.contains(right), "{right}");
        let manifest = MANIFEST.replacen(right, wrong, 1);
        let error = Written::new(&manifest, LAYERS, SAMPLES)
            .read()
            .expect_err(wrong);
        assert!(
            error.contains(said),
            "{wrong}\n  said: {error}\n  not: {said}"
        );
    }
}

/// Nothing that waits for a writer is opened.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_read() {
    let pipe = |path: &std::path::Path| {
        fs::remove_file(path).expect("a file");
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.expect("runs").success());
    };
    for name in ["ensemble.toml", "layers.toml", "samples.csv"] {
        let folder = Written::new(MANIFEST, LAYERS, SAMPLES);
        let path = folder.0.join(name);
        pipe(&path);
        let error = folder.read().expect_err(name);
        assert_eq!(error, format!("{name}: expected a file, found a pipe"));
        fs::remove_file(&path).expect("the pipe");
        fs::create_dir(&path).expect("a folder");
        let error = folder.read().expect_err(name);
        let said = match name {
            "samples.csv" => "found an empty folder",
            _ => "expected a file, found a folder",
        };
        let begins = error.starts_with(&format!("{name}: expected"));
        assert!(begins && error.ends_with(said), "{error}");
    }
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let folder = Written::new(MANIFEST, LAYERS, SAMPLES);
    let file = fs::File::options()
        .write(true)
        .open(folder.0.join("layers.toml"));
    file.and_then(|f| f.set_len(1 << 30)).expect("a hole");
    let error = folder.read().expect_err("a gibibyte");
    assert_eq!(error, "layers.toml: expected a text of at most 16 MiB");
}

#[test]
fn mistakes_in_a_layers_file_are_named_with_line_and_layer() {
    let cases = [
        (
            "kernel = 2",
            "kernel = 9",
            "layers.toml:1: layer `conv`: a kernel of 9",
        ),
        (
            "kernel = 2",
            "kernl = 2",
            "layers.toml:5: unknown field `kernl`",
        ),
        (
            "kernel = 2\n",
            "",
            "layers.toml:1: layer `conv`: field `kernel` is missing",
        ),
        (
            "kernel = 2",
            "kernel = \"2\"",
            "layers.toml:5: kernel: expected a whole number, or [height, width]",
        ),
        (
            "kernel = 2",
            "kernel = [1, 3]",
            "layers.toml:1: layer `conv`: a kernel of 3",
        ),
        (
            "\"softmax\"",
            "\"max-pool\"\nkernel = [1, 2]",
            "layer `soft`: kernel: a pool takes one number, found 1×2",
        ),
        (
            "\"softmax\"",
            "\"max-pool\"\nkernel = 1\ncount_include_pad = false",
            "layer `soft`: field `count_include_pad` does not belong to this operation",
        ),
        (
            "\"softmax\"",
            "\"scale\"",
            "layer `soft`: field `by` is missing",
        ),
        (
            "\"softmax\"",
            "\"softmx\"",
            "layers.toml:13: op: unknown variant `softmx`",
        ),
        (
            "\"softmax\"",
            "\"linear\"\nfeatures = 3",
            "network of `b`: the network returns 3",
        ),
        (
            "\"softmax\"",
            "\"softmax\"\nkernel = 1",
            "layers.toml:11: layer `soft`: field `kernel` does not belong",
        ),
        (
            "\"softmax\"",
            "\"add\"\nfrom = [\"conv\", \"nobody\"]",
            "layer `soft`: from: no layer `nobody`",
        ),
        (
            "\"soft\"",
            "\"flat\"",
            "layers.toml:11: two layers are named `flat`",
        ),
    ];
    for (right, wrong, said) in cases {
        let layers = LAYERS.replacen(right, wrong, 1);
        let error = Written::new(MANIFEST, &layers, SAMPLES)
            .read()
            .expect_err(wrong);
        assert!(
            error.contains(said),
            "{wrong}\n  said: {error}\n  not: {said}"
        );
    }
}

#[test]
fn every_operation_can_be_written_down() {
    let layers = r#"
        layers = [
            { name = "conv", op = "conv2d", channels = 4, kernel = [1, 3], padding = [0, 1], stride = 1, groups = 1, bias = true },
            { name = "bn", op = "batch-norm", eps = 1e-3 },
            { name = "half", op = "scale", by = 0.5 },
            { name = "sum", op = "add", from = ["conv", "half"] },
            { name = "six", op = "relu6" },
            { name = "zero", op = "relu" },
            { name = "both", op = "concat", from = ["six", "zero"] },
            { name = "up", op = "upscale", height = 5, width = 4 },
            { name = "max", op = "max-pool", kernel = 2, stride = 1 },
            { name = "mean", op = "avg-pool", kernel = 3, stride = 1, padding = 1, count_include_pad = false },
            { name = "to", op = "adaptive-avg-pool", height = 2, width = 3 },
            { name = "all", op = "global-avg-pool" },
            { name = "fc", op = "linear", features = 2, bias = false },
            { name = "soft", op = "softmax" },
        ]"#;
    let ensemble = Written::new(MANIFEST, layers, SAMPLES)
        .read()
        .expect("valid");
    let graph = &ensemble.members[1].graph;
    assert_eq!(graph.nodes().len(), 14);
    assert_eq!(graph.parameter_count(), 4 * 3 + 4 + 2 * 4 + 2 * 8);
}

#[test]
fn a_vector_has_one_size_for_all_members() {
    let vectors = r#"name = "rows"
        classes = 2
        input = { shape = [4] }
        [[members]]
        name = "a"
        network = { builder = "perceptron" }
        input = { scale = 2.0 }"#;
    let ensemble = Written::new(vectors, LAYERS, SAMPLES)
        .read()
        .expect("valid");
    assert_eq!(ensemble.members[0].input.normalisation.of(3).scale, 2.0);
    let resized = vectors.replace("{ scale = 2.0 }", "{ shape = [5] }");
    let error = Written::new(&resized, LAYERS, SAMPLES)
        .read()
        .expect_err("resized");
    let said = "ensemble.toml:7: members.input.shape: expected 4, as in the ensemble's input, \
                since a vector cannot be resized, found 5";
    assert_eq!(error, said);
}

#[test]
fn weights_that_do_not_belong_are_refused() {
    let manifest = MANIFEST.replace("vote_weight = 2.0", "weights = \"w.safetensors\"");
    let folder = Written::new(&manifest, LAYERS, SAMPLES);
    let mlp = root().join("sample_ensembles/digits/mlp.safetensors");
    let bytes = fs::read(mlp).expect("reads");
    let file = folder.0.join("w.safetensors");
    fs::write(&file, &bytes).expect("writes");
    let error = folder.read().expect_err("another network's");
    assert!(
        error.contains("w.safetensors: member `a`: does not fit the network"),
        "{error}"
    );
    assert!(
        error.contains("tensor `layers.0.weight`: expected shape [3, 4], found [64, 64]"),
        "{error}"
    );
    for cut in [0, 7, 8, 100, bytes.len() - 1] {
        fs::write(&file, &bytes[..cut]).expect("writes");
        let error = folder.read().expect_err("truncated");
        assert!(
            error.contains("w.safetensors: member `a`: not a readable safetensors file"),
            "{error}"
        );
    }
}

fn parse(name: &str, bytes: &[u8]) -> Result<Samples, String> {
    let form = SampleForm::new(Shape::image(1, 2, 2)).classes(2, None);
    Samples::parse(name, bytes.to_vec(), &form).map_err(|e| e.to_string())
}

#[test]
fn samples_of_the_wrong_kind_are_refused() {
    let cases = [
        ("x.csv", "", "expected 4 values per sample, found 0"),
        (
            "x.csv",
            "a,b,c,d\n",
            "expected at least one sample, found none",
        ),
        (
            "x.csv",
            "a,b,c\n1,2,3\n",
            "expected 4 values per sample, found 3",
        ),
        (
            "x.csv",
            "a,b,c,d\n1,2,3\n",
            "line 2: expected 4 columns, found 3",
        ),
        (
            "x.csv",
            "a,b,c,d\n1,2,x,4\n",
            "line 2: column c: expected a finite number, found `x`",
        ),
        (
            "x.csv",
            "a,b,c,d\r\n1,2,3,4\r\n\r\n1,2,x,4\r\n",
            "line 4: column c: expected a finite number, found `x`",
        ),
        (
            "x.csv",
            "a,b,c,d,label\n1,2,3,4,2\n",
            "line 2: column label: expected a class number below 2, found `2`",
        ),
        ("x.dat", "1 2 3 4", "expected a .csv, .npy, .npz, .json"),
        ("x.npy", "\u{1}nonsense", "not a readable .npy file"),
    ];
    for (name, text, said) in cases {
        let error = parse(name, text.as_bytes()).expect_err(text);
        assert!(error.contains(said), "{text:?}\n  said: {error}");
    }
}

#[test]
fn npy_files_are_read_and_lying_ones_refused() {
    let values: Vec<u8> = (0..8).flat_map(|i| (i as f32).to_le_bytes()).collect();
    for shape in ["(2, 4)", "(2, 1, 2, 2)"] {
        let samples = parse("x.npy", &npy("<f4", "False", shape, &values)).expect("two samples");
        assert_eq!(samples.values(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    }
    let bytes = parse("x.npy", &npy("|u1", "False", "(1, 4)", &[0, 1, 2, 255])).expect("a sample");
    assert_eq!(bytes.values(), [0.0, 1.0, 2.0, 255.0]);
    for (file, said) in [
        (
            npy("<f4", "False", "(2, 5)", &values),
            "expected the shape [n, 1, 2, 2] or [n, 4]",
        ),
        (
            npy("<f4", "False", "(99999999999, 4)", &values),
            "truncated",
        ),
        (
            npy("<f4", "False", "(3, 4)", &values),
            "not a readable .npy file",
        ),
        (npy("<f4", "True", "(2, 4)", &values), "expected C order"),
        (
            npy("<c8", "False", "(1, 4)", &values),
            "expected one of float16, float32, float64, int8, uint8",
        ),
    ] {
        let error = parse("x.npy", &file).expect_err(said);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
    }
}

#[test]
fn what_could_be_taken_for_samples_is_looked_at_twice() {
    let error = parse("x.csv", b"1,2,3,4\n5,6,7,8\n").expect_err("the first row would be lost");
    assert_eq!(
        error,
        "line 1: expected a header that names the columns, found numbers"
    );
    let error = parse("x.csv", b"a,b,c,d\n1,2,NaN,4\n").expect_err("NaN");
    assert_eq!(
        error,
        "line 2: column c: expected a finite number, found `NaN`"
    );
    let values: Vec<u8> = [1.0, f32::INFINITY, 3.0, 4.0]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let error = parse("x.npy", &npy("<f4", "False", "(1, 4)", &values)).expect_err("infinite");
    assert_eq!(error, "sample 0: value 1 is not a finite number");
    let overflowing = npy("<f4", "False", "(4611686018427387904, 4)", &values);
    assert!(
        parse("x.npy", &overflowing)
            .expect_err("2^64 values")
            .contains("truncated")
    );
}
