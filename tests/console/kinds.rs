//! Answers that are no class scores, as commands and panel 7 show them.

use crossterm::event::KeyCode;
use divisi_model::ensemble::{AnswerKind, AnswerWidth, Measure, Quality, RuleKind, Threshold};
use divisi_session::{AnswerQuality, Command, MemberContribution, Snapshot};

use crate::answering::Answering;
use crate::cli::{divisi, fails, json};
use crate::fake::Bench;

const VALUES: &str = "answers = { values = [\"x\", \"y\"] }";
const LABELS: &str = "answers = { labels = [\"sea\", \"sky\"] }";

/// Members answer 1, 2 and 6 times a sample; the second is right.
const VALUE_SAMPLES: &[u8] = b"a,b,x,y\n1,2,2,4\n-3,1,-6,2\n";
const LABEL_SAMPLES: &[u8] = b"a,b,labels\n1,-2,sea\n3,1,sea;sky\n-1,-1,sky\n";

fn folder(answers: &str, samples: &[u8]) -> (Answering, String, String) {
    let folder = Answering::new(answers, 2, "");
    let samples = folder.write("samples.csv", samples);
    let at = folder.0.path().to_string_lossy().into_owned();
    (folder, at, samples)
}

fn out(arguments: &[&str]) -> String {
    let output = divisi(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn values_are_predicted_under_their_names_and_compared_by_errors() {
    let (_folder, at, samples) = folder(VALUES, VALUE_SAMPLES);
    let predict = [
        "predict",
        &at,
        "--input",
        &samples,
        "--devices",
        "cpu:0",
        "--members",
    ];
    let csv = out(&predict);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "sample,x,y,m0.x,m0.y,m1.x,m1.y,m2.x,m2.y");
    assert_eq!(lines[1], "0,3,6,1,2,2,4,6,12");
    let report = json(&[&predict[..], &["--format", "json"]].concat());
    assert_eq!(
        report["answers"][0]["values"],
        serde_json::json!({"x": 3.0, "y": 6.0})
    );
    assert_eq!(report["answers"][0]["class"], serde_json::Value::Null);
    assert_eq!(report["answers"][0]["members"][1]["values"]["y"], 4.0);
    assert!(report["rmse"].as_f64() > Some(1.0) && report["mean_absolute_error"].is_f64());
    assert!(report.get("accuracy").is_none(), "{report}");
}

#[test]
fn labels_are_predicted_by_their_names() {
    let (_folder, at, samples) = folder(LABELS, LABEL_SAMPLES);
    let predict = ["predict", &at, "--input", &samples, "--devices", "cpu:0"];
    let csv = out(&predict);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows[0], "sample,labels,score_sea,score_sky");
    assert!(
        rows[1].starts_with("0,sea,0.") && rows[2].starts_with("1,sea;sky,0."),
        "{csv}"
    );
    assert!(rows[3].starts_with("2,,0."), "no label: {csv}");
    let report = json(&[&predict[..], &["--format", "json"]].concat());
    assert_eq!(
        report["answers"][1]["labels"],
        serde_json::json!(["sea", "sky"])
    );
    assert_eq!(report["answers"][2]["labels"], serde_json::json!([]));
    // Three labels are right and one is missed.
    assert!(
        report["micro_f1"]
            .as_f64()
            .is_some_and(|f| (f - 6.0 / 7.0).abs() < 1e-9)
    );
    assert!(
        report["exact_match"]
            .as_f64()
            .is_some_and(|e| (e - 2.0 / 3.0).abs() < 1e-9)
    );
}

#[test]
fn accuracy_names_the_measures_and_only_rules_that_suit() {
    let (_folder, at, samples) = folder(VALUES, VALUE_SAMPLES);
    let ask = ["accuracy", &at, "--input", &samples, "--devices", "cpu:0"];
    let text = out(&ask);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("on 2 samples"), "{text}");
    assert_eq!(lines[1].split_whitespace().next(), Some("RMSE"));
    assert!(lines[1].ends_with("mean absolute error"), "{text}");
    assert_eq!(
        lines[3].split_whitespace().collect::<Vec<_>>(),
        ["m1", "0", "0"]
    );
    let report = json(&[&ask[..], &["--format", "json"]].concat());
    let rules = report["rules"].as_array().expect("rules");
    let names: Vec<_> = rules
        .iter()
        .filter_map(|rule| rule["name"].as_str())
        .collect();
    assert_eq!(names, ["average", "weighted-average", "median"]);
    assert_eq!(rules[2]["rmse"], 0.0, "the middle one is right");
    let bare = folder_without_targets();
    let (code, error) = fails(&["accuracy", &bare.1, "--input", &bare.2]);
    assert_eq!(code, Some(1));
    assert!(error.contains("the samples have no targets"), "{error}");
}

fn folder_without_targets() -> (Answering, String, String) {
    folder(VALUES, b"a,b\n1,2\n")
}

#[test]
fn targets_may_lie_beside_samples() {
    let (folder, at, samples) = folder(VALUES, b"a,b\n1,2\n-3,1\n");
    let targets = folder.write("y.csv", b"x,y\n2,4\n-6,2\n");
    let ask = ["accuracy", &at, "--input", &samples, "--targets", &targets];
    let report = json(&[&ask[..], &["--devices", "cpu:0", "--format", "json"]].concat());
    assert_eq!(report["members"][1]["rmse"], 0.0);
}

#[test]
fn check_says_what_is_answered() {
    let (_folder, at, _) = folder(LABELS, LABEL_SAMPLES);
    let text = out(&["check", &at, "--devices", "cpu:0"]);
    assert!(text.contains("· 2 labels, threshold 0.5"), "{text}");
    let report = json(&["check", &at, "--devices", "cpu:0", "--format", "json"]);
    assert_eq!(report["answers"]["labels"]["count"], 2);
    assert!(report.get("classes").is_none());
}

const MASKS: &str = "answers = { masks = [\"sky\", \"road\"], size = [1, 2] }";
const TOKENS: &str = "answers = { tokens = [\"O\", \"B-PER\"], length = 2 }";

/// An ensemble of four numbers, samples and their targets.
fn positions(answers: &str, targets: &str) -> (Answering, String, String, String) {
    let folder = Answering::new(answers, 4, "");
    let samples = folder.write("x.json", b"[[9, 0, 0, 9], [0, 0, 9, 9]]");
    let targets = folder.write("y.json", targets.as_bytes());
    let at = folder.0.path().to_string_lossy().into_owned();
    (folder, at, samples, targets)
}

#[test]
fn masks_are_predicted_as_numbers_of_classes_and_compared_by_iou() {
    let (folder, at, samples, targets) = positions(MASKS, "[[[0, 1]], [[1, 255]]]");
    let ask = [
        "--input",
        &samples,
        "--targets",
        &targets,
        "--devices",
        "cpu:0",
    ];
    let predict = [&["predict", &at], &ask[..]].concat();
    let csv = out(&predict);
    assert_eq!(csv, "sample,share_sky,share_road\n0,0.5,0.5\n1,0,1\n");
    let report = json(&[&predict[..], &["--format", "json", "--members"]].concat());
    assert_eq!(report["answers"][0]["mask"], serde_json::json!([[0, 1]]));
    assert_eq!(report["answers"][1]["members"][0]["mask"][0][0], 1);
    assert_eq!(
        (&report["mean_iou"], &report["pixel_accuracy"]),
        (&1.0.into(), &1.0.into())
    );
    let (array, masks) = (folder.0.join("a.npy"), folder.0.join("masks"));
    std::fs::create_dir(&masks).expect("creates");
    for to in [&array, &masks] {
        out(&[&predict[..], &["--output", &to.to_string_lossy()]].concat());
    }
    let array = std::fs::read(array).expect("written");
    assert!(
        array.ends_with(&[0, 1, 1, 1]) && array.len() == 132,
        "{array:?}"
    );
    assert!(
        String::from_utf8_lossy(&array)
            .contains("'|u1', 'fortran_order': False, 'shape': (2, 1, 2)")
    );
    assert!(masks.join("0.png").is_file() && masks.join("1.png").is_file());
    let text = out(&[&["accuracy", &at], &ask[..]].concat());
    assert!(
        text.contains("mean IoU") && text.contains("weighted-average"),
        "{text}"
    );
}

#[test]
fn tokens_are_predicted_by_their_names_and_compared_by_spans() {
    let (_folder, at, samples, targets) = positions(TOKENS, "[[\"O\", \"B-PER\"], [\"O\", -100]]");
    let ask = [
        "--input",
        &samples,
        "--targets",
        &targets,
        "--devices",
        "cpu:0",
    ];
    let predict = [&["predict", &at], &ask[..]].concat();
    assert_eq!(out(&predict), "sample,token_0,token_1\n0,O,B-PER\n1,O,O\n");
    let report = json(&[&predict[..], &["--format", "json"]].concat());
    assert_eq!(
        report["answers"][0]["tokens"],
        serde_json::json!(["O", "B-PER"])
    );
    assert_eq!(
        (&report["span_f1"], &report["token_accuracy"]),
        (&1.0.into(), &1.0.into())
    );
    let (code, error) = fails(&[&predict[..], &["--output", "/tmp"]].concat());
    assert_eq!(code, Some(1));
    assert!(
        error.contains("expected a file for answers of tokens"),
        "{error}"
    );
}

#[test]
fn boxes_are_predicted_a_row_each_and_compared_as_coco_does() {
    let folder = Answering::new("answers = { values = 2 }", 2, "");
    let network = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/engine/answers/onnx_files/yolo8.onnx"
    );
    let network = std::fs::read(network).expect("a network");
    folder.write("yolo8.onnx", &network);
    let manifest = "name = \"boxes\"\nanswers = { boxes = [\"cat\", \"dog\"], most = 4 }\n\
                    input = { shape = [1, 4, 6] }\n[[members]]\nname = \"m\"\n\
                    network = { file = \"yolo8.onnx\" }\n";
    folder.write("ensemble.toml", manifest.as_bytes());
    // Four candidates, number by number, each twice: one box of a dog.
    let numbers = [
        4.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0,
    ];
    let scores = [0.0, 0.0, 0.0, 0.0, 1.5, 0.0, 0.0, 0.0];
    let row: Vec<f64> = numbers.into_iter().chain(scores).collect();
    let samples = folder.write("x.json", format!("[{row:?}]").as_bytes());
    let targets = folder.write("y.jsonl", b"[[\"dog\", 1, 1, 2, 1]]\n");
    let at = folder.0.path().to_string_lossy().into_owned();
    let ask = [
        "--input",
        &samples,
        "--targets",
        &targets,
        "--devices",
        "cpu:0",
    ];
    let csv = out(&[&["predict", &at], &ask[..]].concat());
    assert_eq!(
        csv,
        "sample,member,class,score,left,top,right,bottom\n0,,dog,0.75,1,1.5,3,2.5\n"
    );
    let report = json(&[&["predict", &at, "--format", "json"], &ask[..]].concat());
    let found = &report["answers"][0]["boxes"][0];
    assert_eq!(
        (&found["class"], &found["score"]),
        (&"dog".into(), &0.75.into())
    );
    // The boxes share a third: less than a half.
    assert_eq!(
        (&report["map_50"], &report["map"]),
        (&0.0.into(), &0.0.into())
    );
    let text = out(&[&["accuracy", &at], &ask[..]].concat());
    assert!(
        text.contains("mAP@[.5:.95]") && text.contains("weighted-boxes-fusion"),
        "{text}"
    );
    let rows = text.lines().filter(|line| line.starts_with("  "));
    let ends: Vec<usize> = rows.map(|line| line.chars().count()).collect();
    assert!(
        ends.windows(2).all(|pair| pair[0] == pair[1]),
        "aligned\n{text}"
    );
    let text = out(&["check", &at, "--devices", "cpu:0"]);
    assert!(text.contains("up to 4 boxes of 2 classes"), "{text}");
}

fn quality(measure: Measure, value: f64) -> Quality {
    Quality { measure, value }
}

/// A session whose members answer so, the second one worse than without it.
fn answering(shown: &mut Snapshot, answers: AnswerKind) {
    shown.answers = answers;
    shown.synthetic = false;
    let (alike, main) = (Measure::of_similarity(answers), Measure::main(answers));
    shown.quality = Some(AnswerQuality {
        figures: vec![quality(main, 0.25)],
        answered: 100,
    });
    for (member, view) in shown.members.iter_mut().enumerate() {
        let flips = main.is_share().then_some(0.125);
        view.contribution = Some(MemberContribution {
            weighed: 100,
            agreement: quality(alike, 0.0625),
            quality: Some(quality(main, 0.5)),
            flips,
            otherwise: Some(0.03125),
            quality_change: Some(if member == 1 { -0.0125 } else { 0.0125 }),
            ..MemberContribution::default()
        });
    }
}

fn shown(answers: AnswerKind) -> Bench {
    let mut bench = Bench::new(120, 40);
    bench.show(|shown| answering(shown, answers));
    bench.keys("7z");
    bench
}

fn has(bench: &Bench, words: &[&str]) {
    let text = bench.text();
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

fn values(normalise: bool) -> AnswerKind {
    AnswerKind::Values {
        count: AnswerWidth::nearest(2),
        normalise,
    }
}

fn labels() -> AnswerKind {
    AnswerKind::Labels {
        count: AnswerWidth::nearest(2),
        threshold: Threshold::default(),
    }
}

#[test]
fn panel_7_tells_members_of_values_by_errors() {
    let bench = shown(values(false));
    has(
        &bench,
        &["differs", "RMSE", "moves", "± RMSE", "RMSE 0.2500 so far"],
    );
    has(&bench, &["0.06250", "0.5000", "0.03125", "−0.01250"]);
    has(
        &bench,
        &["answers would differ: RMSE 0.03125 to the current ones, RMSE +0.01250"],
    );
    for word in ["class", "accuracy", "entropy", "flips", "points"] {
        assert!(!bench.text().contains(word), "{word}: {}", bench.text());
    }
}

#[test]
fn panel_7_tells_members_of_embeddings_by_cosines() {
    let bench = shown(values(true));
    has(
        &bench,
        &[
            "alike",
            "cosine",
            "without",
            "± cosine",
            "mean cosine 0.2500 so far",
        ],
    );
}

#[test]
fn panel_7_tells_members_of_labels_by_f1() {
    let bench = shown(labels());
    has(
        &bench,
        &[
            "agree",
            "micro F1",
            "flips",
            "± points",
            "micro F1 25.0 % so far",
        ],
    );
    has(
        &bench,
        &["12.5% of answers would change labels, micro F1 +1.2 points"],
    );
}

#[test]
fn the_dialog_offers_the_rules_that_suit() {
    for (answers, presses, rule) in [
        (values(false), 2, RuleKind::Median),
        (values(false), 3, RuleKind::Average),
        (labels(), 2, RuleKind::MajorityVote),
    ] {
        let mut bench = Bench::new(120, 40);
        bench.show(|shown| answering(shown, answers));
        bench.keys("V");
        bench.keys(&" ".repeat(presses));
        bench.press(KeyCode::Enter);
        if rule == RuleKind::Average {
            assert!(bench.sent().is_empty());
            continue;
        }
        bench.keys("y");
        let sent = bench.sent();
        let staged = sent.iter().find_map(|command| match command {
            Command::Apply(setup, _) => Some(setup.combination.rule),
            _ => None,
        });
        assert_eq!(staged, Some(rule), "{answers:?}");
    }
}

#[test]
fn the_tokens_of_texts_are_predicted_with_their_part_of_the_text() {
    let folder = tempfile::tempdir().expect("folder");
    let of = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files = [
        ("tests/runtime/onnx_files/tagger.onnx", "tagger.onnx"),
        ("sample_ensembles/snippets/tokenizer.json", "tokenizer.json"),
    ];
    for (from, to) in files {
        std::fs::copy(of.join(from), folder.path().join(to)).expect("copied");
    }
    let manifest = "name = \"t\"\nanswers = { tokens = [\"O\", \"B-X\", \"I-X\"], length = 16 }\n\
                    [input.text]\ntokenizer = \"tokenizer.json\"\nlength = 16\n\
                    [[members]]\nname = \"m\"\nnetwork = { file = \"tagger.onnx\" }\n";
    std::fs::write(folder.path().join("ensemble.toml"), manifest).expect("manifest");
    let at = folder.path().to_string_lossy();
    let ask = ["predict", &at, "--text", "x = 1;", "--devices", "cpu:0"];
    let table = out(&ask);
    assert_eq!(
        table,
        "sample,token,text,class\n0,0,[CLS],B-X\n0,1,x,O\n0,2,=,B-X\n0,3,1,O\n0,4,;,I-X\n\
         0,5,[SEP],I-X\n"
    );
    let report = json(&[&ask[..], &["--format", "json"]].concat());
    let answer = &report["answers"][0];
    let pieces = serde_json::json!(["[CLS]", "x", "=", "1", ";", "[SEP]"]);
    assert_eq!(answer["token_texts"], pieces);
    assert_eq!(answer["tokens"].as_array().map(Vec::len), Some(6));
    let array = folder.path().join("a.npy");
    out(&[&ask[..], &["--output", &array.to_string_lossy()]].concat());
    let array = std::fs::read(array).expect("written");
    assert!(
        array.ends_with(&[255; 10]) && array.len() == 128 + 16,
        "{array:?}"
    );
}

/// A folder with a network of the tests, and the network's path.
fn network(name: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("folder");
    let of = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/runtime/onnx_files");
    let path = folder.path().join(name);
    std::fs::copy(of.join(name), &path).expect("copied");
    let path = path.to_string_lossy().into_owned();
    (folder, path)
}

#[test]
fn values_of_several_outputs_have_the_names_of_these() {
    let (folder, encoder) = network("encoder.onnx");
    let tensor = |name: &str| serde_json::json!({"name": name, "datatype": "INT64", "shape": [1, 6], "data": [1, 1, 1, 1, 1, 1]});
    let tensors = ["ids", "mask", "types"].map(tensor);
    let request = serde_json::json!({ "inputs": tensors });
    let samples = folder.path().join("x.json");
    std::fs::write(&samples, request.to_string()).expect("written");
    let samples = samples.to_string_lossy();
    let ask = [
        "predict",
        &encoder,
        "--input",
        &samples,
        "--devices",
        "cpu:0",
    ];
    let table = out(&ask);
    let heads: Vec<&str> = table.lines().next().expect("a head").split(',').collect();
    assert_eq!(
        (heads[1], heads[49], heads.len()),
        ("attended_0", "pooled_0", 57)
    );
    let report = json(&[&ask[..], &["--format", "json"]].concat());
    let values = &report["answers"][0]["values"];
    let count = |name: &str| values[name].as_array().map(Vec::len);
    assert_eq!((count("attended"), count("pooled")), (Some(48), Some(8)));
}

#[test]
fn a_shape_fixes_what_a_network_leaves_open() {
    let (_folder, sides) = network("sides.onnx");
    let (_, error) = fails(&["check", &sides, "--devices", "cpu:0"]);
    assert!(
        error.contains("leaves `height` and `width` open"),
        "{error}"
    );
    let checked = out(&["check", &sides, "--devices", "cpu:0", "--shape", "3,4,6"]);
    assert!(checked.contains("input [3, 4, 6]"), "{checked}");
    let (_, error) = fails(&["check", "digits", "--shape", "3,4,6"]);
    assert!(
        error.contains("--shape: only valid for an .onnx file; in a manifest, set `shape`"),
        "{error}"
    );
}

#[test]
fn a_file_of_samples_is_no_ensemble() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("x.npy");
    std::fs::write(&path, b"").expect("written");
    let path = path.to_string_lossy();
    for command in ["check", "bench"] {
        let (_, error) = fails(&[command, &path]);
        assert!(error.contains("found a file of samples"), "{error}");
        assert!(error.contains(&format!("--input {path}")), "{error}");
    }
}
