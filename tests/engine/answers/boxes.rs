//! Boxes: rules, layouts of networks, manifests, and served.

use std::sync::OnceLock;

use divisi_model::ensemble::{
    AnswerKind, Combination, Corners, OutputKind, RuleKind, ScoredBox, VoteWeight,
};
use divisi_runtime::device::MemberIndex;
use proptest::prelude::*;

use super::Exported;
use crate::answer_kinds::{boxes, found};

const SIX: &str = "{ shape = [1, 4, 6] }";
const SEVEN: &str = "{ shape = [1, 4, 7] }";
const TWO: &str = "{ boxes = [\"cat\", \"dog\"], most = 4, score = 0.1 }";

/// Candidates of two classes: centre, width, height, scores.
type Candidate = [f32; 6];

/// A row of candidates as the network `yolo8` takes it: number by number, each twice.
fn yolo8(candidates: &[Candidate; 4]) -> Vec<f32> {
    let number = |at: usize| candidates.map(|candidate| 2.0 * candidate[at]);
    (0..6).flat_map(number).collect()
}

fn outputs() -> OutputKind {
    static KNOWN: OnceLock<OutputKind> = OnceLock::new();
    *KNOWN.get_or_init(read_outputs)
}

fn read_outputs() -> OutputKind {
    let folder = Exported::new(TWO, SIX, &[("yolo8", "")]);
    folder.read().expect("valid").outputs()[0]
}

/// The boxes of members' candidates under a rule, folded in an order.
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
    let row = rule.finish(state.into(), kind.width()).into_vec();
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
                found(
                    0,
                    (2.4 + 0.4) / 2.0 * 2.0 / 4.0,
                    [0.0, 0.0, 10.0, (2.4 * 10.0 + 0.4 * 12.0) / 2.8],
                ),
                found(0, 2.7 / 4.0, [50.0, 50.0, 60.0, 60.0]),
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
            let combination = Combination::equal_weights(rule, 3);
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
            let all = combined(&Combination::equal_weights(rule, 3), boxes(8, 0.1), &members, &[0, 1, 2]);
            prop_assert!(all.iter().all(|found| (0.0..=1.0).contains(&found.score)));
            prop_assert!(all.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }
    }
}

const CAT: Candidate = [2.0, 1.0, 2.0, 2.0, 0.75, 0.25];
const DOG: Candidate = [4.0, 2.0, 2.0, 4.0, 0.25, 0.5];

fn served(folder: &Exported, sample: &[f32]) -> Vec<ScoredBox> {
    let (ensemble, row) = folder.answer(sample);
    let rows = ensemble.answers.boxes().expect("boxes");
    rows.boxes(&row).expect("finite")
}

#[test]
fn the_layouts_of_usual_detectors_are_read() {
    let expected = [
        found(0, 0.75, [1.0, 0.0, 3.0, 2.0]),
        found(1, 0.5, [3.0, 0.0, 5.0, 4.0]),
    ];
    let folder = Exported::new(TWO, SIX, &[("yolo8", "")]);
    let all = served(&folder, &yolo8(&[CAT, NOTHING, DOG, NOTHING]));
    assert!(are_near(&all, &expected), "{all:?}");
    // Objectness before the scores, candidate by candidate.
    let rest = "outputs = { objectness = true }";
    let folder = Exported::new(TWO, SEVEN, &[("yolo5", rest)]);
    let with_object = |[x, y, w, h, a, b]: Candidate| [x, y, w, h, 0.5, 2.0 * a, 2.0 * b];
    let row = [CAT, NOTHING, DOG, NOTHING].map(with_object).concat();
    let row: Vec<f32> = row.iter().map(|v| 2.0 * v).collect();
    let all = served(&folder, &row);
    assert!(are_near(&all, &expected), "{all:?}");
    // Logits with a background, boxes as shares of an image of 7 by 4.
    let rest = "outputs = { relative = true, scores = \"logits\", background = \"last\" }";
    let folder = Exported::new(TWO, SEVEN, &[("detr", rest)]);
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
    let folder = Exported::new(
        TWO,
        SEVEN,
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
            "answers.most: only valid with `boxes`",
        ),
    ] {
        let found = Exported::new(answers, SIX, &[("yolo8", outputs)]).read();
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
    let even = Combination::equal_weights(RuleKind::WeightedBoxesFusion, 1);
    let all = combined(&even, boxes(4, 0.1), &[odd], &[0]);
    assert_eq!(all, [found(0, 1.0, [1.0, 0.0, 3.0, 2.0])]);
}
