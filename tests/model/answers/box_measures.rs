//! Average precision of boxes against its definition, and targets that are boxes.

use divisi_model::ensemble::{
    AnswerKind, Corners, Measure, MeasureTally, SampleForm, SampleTarget, Samples, ScoredBox,
    TargetBox, Targets,
};
use divisi_runtime::network::Shape;
use proptest::prelude::*;

use crate::answer_kinds::{boxes, found, is_near};

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
            "row 0: expected a class number below 2",
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
        (
            "y.json",
            r#"{"images": [{"id": 1, "file_name": "a", "width": 9000000000, "height": 1}],
                "categories": [{"id": 1, "name": "cat"}],
                "annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}]}"#,
            "expected at most 32768 pixels per side",
        ),
        (
            "y.json",
            r#"{"images": [], "annotations": [], "categories": [{"id": 1, "name": "cow"}]}"#,
            "expected `categories` with the names of classes, found `cow`",
        ),
        ("y.jsonl", "[[0, 1, 2, 3]]\n[]\n", "row 0: expected COCO's"),
    ] {
        let found = targeted(name, text).expect_err(text);
        assert!(found.contains(why), "{text}: {found}");
    }
}
