//! Boxes: rules, average precision, targets, layouts of networks, and served.

use divisi::device::MemberIndex;
use divisi::ensemble::{
    AnswerKind, AnswerWidth, BoxCount, Combination, Corners, Ensemble, Files, Measure,
    MeasureTally, OutputKind, RuleKind, SampleForm, SampleTarget, Samples, ScoredBox, TargetBox,
    Targets, Threshold, VoteWeight,
};
use divisi::network::Shape;
use divisi::serving::Request;
use proptest::prelude::*;

use super::is_near;
use crate::common::{networks, start};

/// Up to so many boxes of two classes, and the least score.
fn boxes(most: u32, least: f64) -> AnswerKind {
    AnswerKind::Boxes {
        count: AnswerWidth::nearest(2),
        most: BoxCount::nearest(most),
        overlap: Threshold::new(0.55).expect("in range"),
        least: Threshold::new(least).expect("in range"),
    }
}

/// A folder with a manifest of the networks of `onnx_files`.
struct Detectors(tempfile::TempDir);

impl Detectors {
    /// Members of files and outputs, whose samples have these sides.
    fn new(answers: &str, [height, width]: [usize; 2], members: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/engine/answers/onnx_files"
        );
        let mut text = format!(
            "name = \"boxes\"\nanswers = {answers}\nbatch_sizes = [1, 4]\nsegment_size = 4\n\
             input = {{ shape = [1, {height}, {width}] }}\n"
        );
        for (number, (file, rest)) in members.iter().enumerate() {
            let name = format!("{file}.onnx");
            let from = std::path::Path::new(files).join(&name);
            std::fs::copy(from, folder.path().join(&name)).expect("copies");
            text += &format!(
                "[[members]]\nname = \"m{number}\"\nnetwork = {{ file = \"{name}\" }}\n{rest}\n"
            );
        }
        std::fs::write(folder.path().join("ensemble.toml"), text).expect("writes");
        Detectors(folder)
    }

    fn read(&self) -> Result<Ensemble, String> {
        Ensemble::read(&Files::at(self.0.path())).map_err(|e| e.to_string())
    }
}

const TWO: &str = "{ boxes = [\"cat\", \"dog\"], most = 4, score = 0.1 }";

/// Candidates of two classes: centre, width, height, scores.
type Candidate = [f32; 6];

/// A row of candidates as the network `yolo8` takes it: number by number, each twice.
fn yolo8(candidates: &[Candidate; 4]) -> Vec<f32> {
    let number = |at: usize| candidates.map(|candidate| 2.0 * candidate[at]);
    (0..6).flat_map(number).collect()
}

fn outputs() -> OutputKind {
    let folder = Detectors::new(TWO, [4, 6], &[("yolo8", "")]);
    folder.read().expect("valid").outputs()[0]
}

/// What members' candidates become under a rule, folded in an order.
fn combined(
    combination: &Combination,
    kind: AnswerKind,
    members: &[[Candidate; 4]],
    order: &[usize],
) -> Vec<ScoredBox> {
    let rule = combination.build_for(kind, &vec![outputs(); members.len()]);
    let mut state = vec![0.0; rule.state_width()];
    for member in order {
        let row: Vec<f32> = yolo8(&members[*member]).iter().map(|v| v / 2.0).collect();
        rule.fold(MemberIndex::new(*member), &row, &mut state);
    }
    let row = rule.finish(state, kind.width());
    kind.boxes()
        .and_then(|rows| rows.boxes(&row))
        .expect("boxes")
}

/// A candidate of class 0 by its corners.
fn candidate([left, top, right, bottom]: Corners, score: f32) -> Candidate {
    let middle = |a: f32, b: f32| (a + b) / 2.0;
    [
        middle(left, right),
        middle(top, bottom),
        right - left,
        bottom - top,
        score,
        0.0,
    ]
}

const NOTHING: Candidate = [0.0; 6];

fn found(class: u32, score: f32, corners: Corners) -> ScoredBox {
    ScoredBox {
        class,
        score,
        corners,
    }
}

fn are_near(a: &[ScoredBox], b: &[ScoredBox]) -> bool {
    let near = |a: f32, b: f32| (a - b).abs() <= 1e-4 * b.abs().max(1.0);
    let one = |(a, b): (&ScoredBox, &ScoredBox)| {
        let corners = a.corners.iter().zip(b.corners).all(|(a, b)| near(*a, b));
        a.class == b.class && near(a.score, b.score) && corners
    };
    a.len() == b.len() && a.iter().zip(b).all(one)
}

#[test]
fn boxes_are_suppressed_or_fused_as_worked_out_by_hand() {
    let first = [
        candidate([0.0, 0.0, 10.0, 10.0], 0.8),
        candidate([0.0, 1.0, 10.0, 10.0], 0.7),
        candidate([50.0, 50.0, 60.0, 60.0], 0.9),
        NOTHING,
    ];
    let second = [
        candidate([0.0, 0.0, 10.0, 12.0], 0.4),
        NOTHING,
        NOTHING,
        NOTHING,
    ];
    let weights = [1.0, 1.0]
        .map(|w| VoteWeight::new(w).expect("a weight"))
        .to_vec();
    let double = [3.0, 1.0]
        .map(|w| VoteWeight::new(w).expect("a weight"))
        .to_vec();
    for (rule, weights, expected) in [
        (
            RuleKind::Nms,
            &weights,
            vec![
                found(0, 0.9, [50.0, 50.0, 60.0, 60.0]),
                found(0, 0.8, [0.0, 0.0, 10.0, 10.0]),
            ],
        ),
        // The mean score of two of two members; one of two.
        (
            RuleKind::WeightedBoxesFusion,
            &weights,
            vec![
                found(0, 0.6, [0.0, 0.0, 10.0, (0.8 * 10.0 + 0.4 * 12.0) / 1.2]),
                found(0, 0.45, [50.0, 50.0, 60.0, 60.0]),
            ],
        ),
        (
            RuleKind::WeightedBoxesFusion,
            &double,
            vec![
                found(0, 2.7 / 4.0, [50.0, 50.0, 60.0, 60.0]),
                found(
                    0,
                    (2.4 + 0.4) / 2.0 * 2.0 / 4.0,
                    [0.0, 0.0, 10.0, (2.4 * 10.0 + 0.4 * 12.0) / 2.8],
                ),
            ],
        ),
    ] {
        let combination = Combination::new(rule, weights.clone());
        let result = combined(&combination, boxes(4, 0.1), &[first, second], &[0, 1]);
        assert!(are_near(&result, &expected), "{rule:?}: {result:?}");
    }
    let other_class = [[5.0, 5.0, 10.0, 10.0, 0.0, 0.7], NOTHING, NOTHING, NOTHING];
    let nms = Combination::new(RuleKind::Nms, weights);
    let both = combined(&nms, boxes(4, 0.1), &[first, other_class], &[0, 1]);
    assert_eq!(both.len(), 3, "boxes of other classes stay: {both:?}");
    let one = combined(&nms, boxes(1, 0.1), &[first, other_class], &[0, 1]);
    assert_eq!(one, both[..1], "no more than the most");
}

fn any_candidate() -> impl Strategy<Value = Candidate> {
    let side = 1.0f32..8.0;
    (
        0.0f32..20.0,
        0.0f32..20.0,
        side.clone(),
        side,
        0.0f32..1.0,
        0.0f32..1.0,
    )
        .prop_map(|(x, y, w, h, a, b)| [x, y, w, h, a, b])
}

proptest! {
    #[test]
    fn the_order_of_folding_changes_nothing(
        members in prop::collection::vec(prop::array::uniform4(any_candidate()), 3),
        order in Just(vec![0, 1, 2]).prop_shuffle(),
    ) {
        for rule in RuleKind::OF_BOXES {
            let combination = Combination::even(rule, 3);
            let straight = combined(&combination, boxes(8, 0.1), &members, &[0, 1, 2]);
            let shuffled = combined(&combination, boxes(8, 0.1), &members, &order);
            prop_assert_eq!(straight, shuffled);
        }
    }

    #[test]
    fn scores_stay_probabilities_and_fall(
        members in prop::collection::vec(prop::array::uniform4(any_candidate()), 3),
    ) {
        for rule in RuleKind::OF_BOXES {
            let all = combined(&Combination::even(rule, 3), boxes(8, 0.1), &members, &[0, 1, 2]);
            prop_assert!(all.iter().all(|found| (0.0..=1.0).contains(&found.score)));
            prop_assert!(all.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }
    }
}

/// Samples with boxes found and expected.
fn any_samples() -> impl Strategy<Value = Vec<(Vec<ScoredBox>, Vec<TargetBox>)>> {
    let corners = (0u8..4, 0u8..4, 2u8..6, 2u8..6)
        .prop_map(|(x, y, w, h)| [x, y, x + w, y + h].map(f32::from));
    let scored = (0u32..2, 1u16..1000, corners.clone())
        .prop_map(|(class, score, corners)| found(class, f32::from(score) / 1000.0, corners));
    let target = (0u32..2, corners).prop_map(|(class, corners)| TargetBox {
        class,
        corners,
        is_crowd: false,
    });
    let sample = (
        prop::collection::vec(scored, 0..5),
        prop::collection::vec(target, 0..4),
    );
    prop::collection::vec(sample, 1..4)
}

fn overlap(a: Corners, b: Corners) -> f64 {
    let side = |first: f32, last: f32| f64::from((last - first).max(0.0));
    let area = |c: Corners| side(c[0], c[2]) * side(c[1], c[3]);
    let both = [
        a[0].max(b[0]),
        a[1].max(b[1]),
        a[2].min(b[2]),
        a[3].min(b[3]),
    ];
    let shared = side(both[0], both[2]) * side(both[1], both[3]);
    shared / (area(a) + area(b) - shared)
}

/// The average precision of a class, by its definition: at each recall the highest precision
/// that is reached there or beyond.
fn precision(samples: &[(Vec<ScoredBox>, Vec<TargetBox>)], class: u32, least: f64) -> Option<f64> {
    let mut ranked: Vec<(f32, bool)> = Vec::new();
    let mut expected = 0;
    for (found, targets) in samples {
        let mut free: Vec<&TargetBox> = targets.iter().filter(|t| t.class == class).collect();
        expected += free.len();
        let mut found: Vec<&ScoredBox> = found.iter().filter(|f| f.class == class).collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        for one in found {
            let shares = free.iter().map(|t| overlap(one.corners, t.corners));
            let best = shares
                .enumerate()
                .filter(|(_, s)| *s >= least)
                .max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((at, _)) = best {
                free.remove(at);
            }
            ranked.push((one.score, best.is_some()));
        }
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let curve: Vec<(f64, f64)> = (1..=ranked.len())
        .map(|count| {
            let right = ranked[..count].iter().filter(|(_, right)| *right).count() as f64;
            (right / expected as f64, right / count as f64)
        })
        .collect();
    let at = |percent: u32| {
        let beyond = curve
            .iter()
            .filter(|(recall, _)| *recall >= f64::from(percent) / 100.0);
        beyond.map(|(_, precision)| *precision).fold(0.0, f64::max)
    };
    (expected > 0).then(|| (0..=100).map(at).sum::<f64>() / 101.0)
}

fn tallied(kind: AnswerKind, samples: &[(Vec<ScoredBox>, Vec<TargetBox>)]) -> MeasureTally {
    let mut tally = MeasureTally::new(kind);
    for (found, targets) in samples {
        let mut row = vec![0.0; kind.width()];
        row[0] = found.len() as f32;
        for (at, one) in found.iter().enumerate() {
            let [a, b, c, d] = one.corners;
            row[1 + 6 * at..][..6].copy_from_slice(&[one.class as f32, one.score, a, b, c, d]);
        }
        tally.add(&row, SampleTarget::Boxes(targets));
    }
    tally
}

proptest! {
    #[test]
    fn average_precision_is_that_of_its_definition(samples in any_samples()) {
        let tally = tallied(boxes(8, 0.1), &samples);
        for (measure, overlaps) in [(Measure::Map50, 50..=50), (Measure::Map, 50..=95)] {
            let each = overlaps.step_by(5).flat_map(|percent| {
                let of_class = |class| precision(&samples, class, f64::from(percent) / 100.0);
                (0..2).filter_map(of_class).collect::<Vec<f64>>()
            });
            let each: Vec<f64> = each.collect();
            let expected = (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64);
            let found = tally.value(measure);
            prop_assert_eq!(found.is_some(), expected.is_some());
            let near = found.zip(expected).is_none_or(|(a, b)| (a - b).abs() < 1e-9);
            prop_assert!(near, "{:?}: {:?} {:?}", measure, found, expected);
        }
    }
}

#[test]
fn boxes_in_a_crowd_count_neither_as_right_nor_as_wrong() {
    let target = |corners, is_crowd| TargetBox {
        class: 0,
        corners,
        is_crowd,
    };
    let single = target([0.0, 0.0, 4.0, 4.0], false);
    let crowd = target([10.0, 10.0, 30.0, 30.0], true);
    let found = vec![
        found(0, 0.9, [11.0, 11.0, 13.0, 13.0]),
        found(0, 0.8, [15.0, 15.0, 17.0, 17.0]),
        found(0, 0.7, [0.0, 0.0, 4.0, 4.0]),
    ];
    let kind = boxes(8, 0.1);
    let with = tallied(kind, &[(found.clone(), vec![single, crowd])]);
    assert_eq!(with.value(Measure::Map50), Some(1.0));
    let without = tallied(kind, &[(found, vec![single])]);
    assert!(
        without
            .value(Measure::Map50)
            .is_some_and(|ap| is_near(ap, 1.0 / 3.0))
    );
}

fn targeted(name: &str, text: &str) -> Result<Targets, String> {
    let names = ["cat", "dog"].map(str::to_owned);
    let form = SampleForm::new(Shape::image(1, 10, 20)).answers(boxes(4, 0.1), Some(&names));
    let samples = Samples::synthetic(2, 200).expect("some");
    let samples = samples
        .targeted_by(name, text.into(), &form)
        .map_err(|e| e.to_string())?;
    Ok(samples.targets().cloned().expect("targets"))
}

const COCO: &str = r#"{
    "images": [{"id": 7, "file_name": "a.jpg", "width": 40, "height": 10},
               {"id": 3, "file_name": "b.jpg", "width": 20, "height": 20}],
    "categories": [{"id": 18, "name": "dog"}, {"id": 1, "name": "person"}, {"id": 17, "name": "cat"}],
    "annotations": [{"image_id": 7, "category_id": 18, "bbox": [4, 2, 8, 6], "segmentation": [[1]]},
                    {"image_id": 3, "category_id": 1, "bbox": [0, 0, 1, 1]},
                    {"image_id": 3, "category_id": 17, "bbox": [2, 4, 6, 8], "iscrowd": 1}]}"#;

#[test]
fn targets_are_cocos_annotations_or_lists_of_boxes() {
    let expected = |is_crowd| {
        let target = |class, corners, is_crowd| TargetBox {
            class,
            corners,
            is_crowd,
        };
        Ok(Targets::Boxes(vec![
            vec![target(1, [2.0, 2.0, 6.0, 8.0], false)],
            vec![target(0, [2.0, 2.0, 8.0, 6.0], is_crowd)],
        ]))
    };
    assert_eq!(
        targeted("y.json", COCO),
        expected(true),
        "in pixels of the input"
    );
    let lists = "[[[\"dog\", 2, 2, 4, 6]], [[0, 2, 2, 6, 4]]]";
    assert_eq!(targeted("y.json", lists), expected(false));
    let lines = "[[1, 2, 2, 4, 6]]\n[[\"cat\", 2, 2, 6, 4]]\n";
    assert_eq!(targeted("y.jsonl", lines), expected(false));
    for (name, text, why) in [
        ("y.csv", "label\n1\n", "expected boxes in a .json file"),
        (
            "y.json",
            "[[[2, 0, 0, 1, 1]], []]",
            "row 0: expected a class below 2",
        ),
        (
            "y.json",
            "[[[0, 0, 0, -1, 1]], []]",
            "expected a box [x, y, width, height] of finite",
        ),
        (
            "y.json",
            "[[]]",
            "expected a row of targets for each of 2 samples, found 1",
        ),
        ("y.json", "{\"images\": []}", "missing field `annotations`"),
        ("y.jsonl", "[[0, 1, 2, 3]]\n[]\n", "row 0: expected COCO's"),
    ] {
        let found = targeted(name, text).expect_err(text);
        assert!(found.contains(why), "{text}: {found}");
    }
}

const CAT: Candidate = [2.0, 1.0, 2.0, 2.0, 0.75, 0.25];
const DOG: Candidate = [4.0, 2.0, 2.0, 4.0, 0.25, 0.5];

fn served(folder: &Detectors, sample: &[f32]) -> Vec<ScoredBox> {
    let ensemble = std::sync::Arc::new(folder.read().expect("valid"));
    let engine = start(&ensemble, networks(&ensemble));
    let answer = engine
        .predict(Request::new(sample))
        .expect("let in")
        .expect("answered");
    let row = answer.rows().next().expect("a row").to_vec();
    let rows = ensemble.answers.boxes().expect("boxes");
    rows.boxes(&row).expect("finite")
}

#[test]
fn the_layouts_of_usual_detectors_are_read() {
    let expected = [
        found(0, 0.75, [1.0, 0.0, 3.0, 2.0]),
        found(1, 0.5, [3.0, 0.0, 5.0, 4.0]),
    ];
    let folder = Detectors::new(TWO, [4, 6], &[("yolo8", "")]);
    let all = served(&folder, &yolo8(&[CAT, NOTHING, DOG, NOTHING]));
    assert!(are_near(&all, &expected), "{all:?}");
    // Objectness before the scores, candidate by candidate.
    let rest = "outputs = { objectness = true }";
    let folder = Detectors::new(TWO, [4, 7], &[("yolo5", rest)]);
    let with_object = |[x, y, w, h, a, b]: Candidate| [x, y, w, h, 0.5, 2.0 * a, 2.0 * b];
    let row = [CAT, NOTHING, DOG, NOTHING].map(with_object).concat();
    let row: Vec<f32> = row.iter().map(|v| 2.0 * v).collect();
    let all = served(&folder, &row);
    assert!(are_near(&all, &expected), "{all:?}");
    // Logits with a background, boxes as shares of an image of 7 by 4.
    let rest = "outputs = { relative = true, scores = \"logits\", background = \"last\" }";
    let folder = Detectors::new(TWO, [4, 7], &[("detr", rest)]);
    let logits = |c: Candidate| [c[4], c[5], 1.0 - c[4] - c[5]].map(|p| p.max(1e-9).ln());
    let shares = |c: Candidate| [c[0] / 7.0, c[1] / 4.0, c[2] / 7.0, c[3] / 4.0];
    let candidates = [CAT, NOTHING, DOG, NOTHING];
    let row = [
        candidates.map(logits).concat(),
        candidates.map(shares).concat(),
    ]
    .concat();
    let row: Vec<f32> = row.iter().map(|v| 2.0 * v).collect();
    let all = served(&folder, &row);
    assert!(are_near(&all, &expected), "{all:?}");
}

#[test]
fn members_of_several_layouts_vote_together() {
    let rest = "outputs = { objectness = true }";
    let folder = Detectors::new(
        TWO,
        [4, 7],
        &[
            ("yolo5", rest),
            (
                "detr",
                "outputs = { scores = \"logits\", background = \"first\" }",
            ),
        ],
    );
    let ensemble = folder.read().expect("valid");
    assert_eq!(ensemble.rule, RuleKind::WeightedBoxesFusion);
    let (rows, answer) = (ensemble.members[0].row_width(), ensemble.answer_width());
    assert_eq!(
        (rows, answer),
        (28, 25),
        "members' rows are wider than answers"
    );
    assert!(served(&folder, &[0.25; 28]).len() <= 4);
}

#[test]
fn manifests_of_boxes_that_do_not_fit_say_what_was_expected() {
    for (answers, outputs, why) in [
        (
            TWO,
            "outputs = { objectness = true }",
            "expected boxes as an output [n, 7] or [7, n], or as two [n, 4] and [n, 3], found FP32 [6, 4]",
        ),
        (
            TWO,
            "outputs = { form = 1 }",
            "for boxes a table of `boxes`",
        ),
        (
            TWO,
            "outputs = \"values\"",
            "expected `logits`, `probabilities` or a table",
        ),
        (TWO, "temperature = 2", "members.temperature: expected none"),
        (
            "{ boxes = 2, most = 2000 }",
            "",
            "answers.most: expected a whole number from 1 to 1000",
        ),
        (
            "{ boxes = 2, iou = 0 }",
            "",
            "answers.iou: expected a threshold",
        ),
        (
            "{ values = 24, most = 3 }",
            "",
            "answers.most: belongs to `boxes`",
        ),
    ] {
        let found = Detectors::new(answers, [4, 6], &[("yolo8", outputs)]).read();
        let found = found.map(|_| ()).expect_err(why);
        assert!(found.contains(why), "{found}");
    }
}

#[test]
fn candidates_that_are_no_boxes_are_left_out() {
    let odd = [
        [1.0, 1.0, -2.0, 1.0, 0.9, 0.0],
        [f32::MAX, 1.0, f32::MAX, 1.0, 0.9, 0.0],
        [2.0, 1.0, 2.0, 2.0, 7.0, 0.0],
        NOTHING,
    ];
    let even = Combination::even(RuleKind::WeightedBoxesFusion, 1);
    let all = combined(&even, boxes(4, 0.1), &[odd], &[0]);
    assert_eq!(all, [found(0, 1.0, [1.0, 0.0, 3.0, 2.0])]);
}
