//! `divisi network`: one network alone, as scripts use it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{divisi, fails, has, json, scratch};

/// A network small enough for a test, as a file of layers.
const LAYERS: &str = r#"
[[layers]]
name = "conv"
op = "conv2d"
channels = 4
kernel = 3

[[layers]]
name = "norm"
op = "batch-norm"

[[layers]]
name = "pool"
op = "global-avg-pool"

[[layers]]
name = "fc"
op = "linear"
features = 5
"#;

fn layers(name: &str) -> String {
    written(&format!("{name}.toml"), LAYERS.as_bytes())
}

fn written(name: &str, bytes: &[u8]) -> String {
    let path = scratch(name);
    fs::write(&path, bytes).expect("writes");
    path.to_string_lossy().into_owned()
}

/// An .npy file as NumPy writes float32.
fn npy(name: &str, shape: &str, values: &[f32]) -> String {
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    written(name, &crate::npy::npy("<f4", "False", shape, &data))
}

fn logits(path: &Path) -> Vec<f32> {
    let bytes = fs::read(path).expect("logits");
    let (values, _) = bytes[128..].as_chunks::<4>();
    values.iter().map(|v| f32::from_le_bytes(*v)).collect()
}

fn path(name: &str) -> (PathBuf, String) {
    let path = scratch(name);
    let text = path.to_string_lossy().into_owned();
    (path, text)
}

#[test]
fn list_names_every_published_network_with_its_costs() {
    let rows = json(&["network", "list", "--format", "json"]);
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 73);
    for row in rows {
        has(
            row,
            &["name", "parameters", "flops", "weight_bytes", "input"],
        );
    }
    let output = divisi(&["network", "list"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(
        text.contains("resnet50                 25557032     8.22      102.4  3×224×224"),
        "{text}"
    );
}

#[test]
fn show_has_all_that_others_need_to_build_the_same_network() {
    let file = layers("show");
    let report = json(&[
        "network", "show", &file, "--shape", "1,5,5", "--seed", "3", "--format", "json",
    ]);
    assert_eq!(report["synthetic"], true);
    let tensors = report["tensors"].as_array().expect("tensors");
    let names: Vec<_> = tensors.iter().filter_map(|t| t["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "conv.weight",
            "norm.weight",
            "norm.bias",
            "norm.running_mean",
            "norm.running_var",
            "fc.weight",
            "fc.bias"
        ]
    );
    let key = tensors[0]["key"].as_str().expect("a key as text");
    assert!(key.parse::<u64>().is_ok(), "{key}");
    assert!(tensors[0]["bound"].as_f64() > Some(0.8));
    assert_eq!(tensors[1]["constant"], 1.0);
    let nodes = report["graph"]["nodes"].as_array().expect("nodes");
    assert_eq!(nodes[0]["op"]["op"], "conv2d");
    assert_eq!(nodes[3]["inputs"][0], 3);
    let output = divisi(&["network", "show", "resnet50"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("synthetic weights"), "{text}");
    assert!(text.contains("layer4.2.conv3"), "{text}");
    assert!(!text.contains("plan for a processor"), "{text}");
}

#[test]
fn show_prints_the_plan_that_is_asked_for() {
    let file = layers("plan");
    let asked = ["network", "show", &file, "--shape", "1,5,5", "--plan"];
    let report = json(&[&asked[..], &["--format", "json"]].concat());
    let steps = report["plan"]["steps"].as_array().expect("steps");
    let methods: Vec<_> = steps.iter().filter_map(|s| s["method"].as_str()).collect();
    assert!(!methods.contains(&"candle"), "{methods:?}");
    assert_eq!(steps[0]["ends"][0], "norm", "{}", steps[0]);
    assert!(steps[0]["flops"].as_f64() > Some(0.0), "{}", steps[0]);
    let text = String::from_utf8(divisi(&asked).stdout).expect("text");
    assert!(text.contains("plan for a processor with"), "{text}");
    assert!(text.contains(" steps, 0 by Candle"), "{text}");
}

#[test]
fn run_answers_in_pieces_as_it_does_at_once() {
    let file = layers("run");
    let values: Vec<f32> = (0..7 * 25).map(|i| (i % 11) as f32 - 5.0).collect();
    let input = npy("seven.npy", "(7, 1, 5, 5)", &values);
    let rows = npy("rows.npy", "(7, 25)", &values);
    let answers = |input: &str, batch: &str| {
        let (path, text) = path(&format!("logits-{batch}.npy"));
        let report = json(&[
            "network",
            "run",
            &file,
            "--shape",
            "1,5,5",
            "--input",
            input,
            "--output",
            &text,
            "--batch",
            batch,
            "--threads",
            "1",
            "--format",
            "json",
        ]);
        assert_eq!(report["synthetic"], true);
        assert_eq!(report["samples"], 7);
        logits(&path)
    };
    let whole = answers(&input, "7");
    assert_eq!(whole.len(), 35);
    assert_eq!(answers(&input, "3"), whole);
    assert_eq!(answers(&rows, "1"), whole);
}

/// A network whose answers are beyond float32.
const BEYOND: &str = r#"
[[layers]]
name = "large"
op = "scale"
by = 3e38
"#;

#[test]
fn answers_without_a_number_in_json_are_the_words_of_a_server() {
    let file = written("beyond.toml", BEYOND.as_bytes());
    let input = npy("beyond.npy", "(2, 3)", &[10.0, -10.0, 0.0, 1.0, 10.0, 0.5]);
    for (name, expected) in [
        ("beyond.json", ["[Infinity,-Infinity,0.0,", ",Infinity,"]),
        ("beyond.jsonl", ["[Infinity,-Infinity,0.0]", ",Infinity,"]),
    ] {
        let (path, output) = path(name);
        let asked = ["network", "run", &file, "--shape", "3"];
        divisi(&[&asked[..], &["--input", &input, "--output", &output]].concat());
        let text = fs::read_to_string(path).expect("answers");
        assert!(expected.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn written_weights_answer_as_those_made_up() {
    let file = layers("weights");
    let input = npy("one.npy", "(1, 1, 5, 5)", &[0.5; 25]);
    let (_, weights) = path("written.safetensors");
    let report = json(&[
        "network", "weights", &file, "--shape", "1,5,5", "--seed", "9", "--output", &weights,
        "--format", "json",
    ]);
    assert_eq!(
        (&report["tensors"], &report["synthetic"]),
        (&7.into(), &true.into())
    );
    let answers = |with: [&str; 2]| {
        let (path, text) = path(&format!("with{}.npy", with[0]));
        let report = json(&[
            "network", "run", &file, "--shape", "1,5,5", "--input", &input, "--output", &text,
            with[0], with[1], "--force", "--format", "json",
        ]);
        (logits(&path), report["synthetic"].clone())
    };
    let (read, synthetic) = answers(["--weights", &weights]);
    assert_eq!(synthetic, false);
    let (made_up, synthetic) = answers(["--seed", "9"]);
    assert_eq!(synthetic, true);
    assert_eq!(read, made_up);
    assert_ne!(answers(["--seed", "8"]).0, made_up);
}

#[test]
fn bench_measures_speed_load_and_memory() {
    let file = layers("bench");
    for kernels in ["plain", json_best(&file).as_str()] {
        let report = json(&[
            "network",
            "bench",
            &file,
            "--shape",
            "1,5,5",
            "--batch",
            "2",
            "--threads",
            "1",
            "--duration",
            "0.1",
            "--kernels",
            kernels,
            "--format",
            "json",
        ]);
        has(
            &report,
            &[
                "network",
                "batch",
                "threads",
                "kernels",
                "synthetic",
                "samples_per_s",
                "ms_per_batch",
                "gflops",
                "load_s",
                "planned_bytes",
                "peak_bytes",
            ],
        );
        assert_eq!(report["kernels"], kernels);
        assert_eq!(report["synthetic"], true);
        assert!(report["samples_per_s"].as_f64() > Some(0.0));
    }
}

/// The kernels that are taken where nothing is said.
fn json_best(file: &str) -> String {
    let report = json(&[
        "network",
        "bench",
        file,
        "--shape",
        "1,5,5",
        "--duration",
        "0.1",
        "--format",
        "json",
    ]);
    report["kernels"].as_str().expect("a name").to_owned()
}

#[test]
fn errors_name_the_file_and_what_was_expected() {
    let file = layers("errors");
    let wrong = npy("wrong.npy", "(2, 7)", &[0.0; 14]);
    let broken = written(
        "broken.toml",
        LAYERS.replace("kernel = 3", "kernel = 9").as_bytes(),
    );
    let weights = written("broken.safetensors", b"nothing of the kind");
    let (_, output) = path("never.npy");
    let shape = ["--shape", "1,5,5", "--output", &output];
    let run = |arguments: &[&str]| {
        let all: Vec<&str> = ["network", "run"]
            .iter()
            .chain(arguments)
            .chain(&shape)
            .copied()
            .collect();
        fails(&all)
    };
    let cases: [(&[&str], &str); 6] = [
        (
            &["nothing-like-it", "--input", &wrong],
            "expected a name from `divisi network list`, a .toml file of",
        ),
        (
            &[&file, "--input", &wrong],
            "wrong.npy: not a readable .npy file: expected the shape [n, 1, 5, 5] or [n, 25], found [2, 7]",
        ),
        (
            &[&file, "--input", "/nowhere.npy"],
            "/nowhere.npy: No such file",
        ),
        (
            &[&file, "--input", "/dev/null"],
            "expected a .csv, .npy, .npz, .json",
        ),
        (
            &[&broken, "--input", &wrong],
            "broken.toml, line 2: layer `conv`: a kernel of 9",
        ),
        (
            &[
                &file,
                "--input",
                &npy("good.npy", "(1, 25)", &[0.0; 25]),
                "--weights",
                &weights,
            ],
            "broken.safetensors",
        ),
    ];
    for (arguments, said) in cases {
        let (code, error) = run(arguments);
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains(said), "{error}");
    }
    assert!(!Path::new(&output).exists());
    let (code, error) = fails(&["network", "bench", "alexnet", "--threads", "100000"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("--threads: expected 1 to"), "{error}");
    assert_eq!(
        fails(&["network", "bench", "alexnet", "--kernels", "some"]).0,
        Some(2)
    );
}
