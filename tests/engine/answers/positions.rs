//! Classes of pixels and tokens: rules, measures, targets, manifests, and served.

use std::fs;

use divisi_engine::serving::Request;
use divisi_model::ensemble::samples::{IGNORED, to_npy};
use divisi_model::ensemble::{
    AnswerKind, Combination, Measure, MeasureTally, OutputKind, RuleKind, SampleForm, SampleTarget,
    Samples, TagScheme, Targets, VoteWeight,
};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::network::Shape;
use proptest::prelude::*;

use super::Exported;
use crate::answer_kinds::{is_near, masks, tokens};
use crate::answering::Answering;
use crate::common::{networks, start};

/// The answer to one sample by a rule.
fn combined(combination: &Combination, kind: AnswerKind, rows: &[Vec<f32>]) -> Vec<f32> {
    let rule = combination.build_for(kind, &vec![OutputKind::PositionLogits; rows.len()]);
    let mut state = vec![0.0; rule.state_width()];
    for (member, row) in MemberIndex::enumerate(rows) {
        rule.fold(member, row, &mut state);
    }
    rule.finish(state.into(), kind.width()).into_vec()
}

fn softmax(logits: &[f32]) -> Vec<f32> {
    let most = logits.iter().copied().fold(f32::MIN, f32::max);
    let powers: Vec<f64> = logits.iter().map(|l| f64::from(l - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|p| (p / sum) as f32).collect()
}

/// The scores of one position.
fn at(kind: AnswerKind, row: &[f32], position: usize) -> Vec<f32> {
    let positions = kind.positions().expect("positions");
    let classes = 0..kind.count();
    classes
        .map(|class| match kind {
            AnswerKind::Masks { .. } => row[class * positions.count() + position],
            _ => row[position * kind.count() + class],
        })
        .collect()
}

proptest! {
    #[test]
    fn each_position_is_combined_as_classes_are(
        classes in 2usize..5,
        sides in prop_oneof![Just([1, 1]), Just([3, 5]), Just([17, 31])],
        seed in any::<u64>(),
    ) {
        let count = sides[0] * sides[1];
        let kinds = [masks(classes, sides), tokens(classes, count, TagScheme::Plain)];
        let random = Samples::synthetic(3, classes * count + (seed % 7) as usize).expect("some");
        let rows: Vec<Vec<f32>> = (0..3)
            .map(|m| random.row(m)[..classes * count].iter().map(|v| v * 5.0).collect())
            .collect();
        let weights = [1.0, 2.5, 0.5].map(|w| VoteWeight::new(w).expect("a weight")).to_vec();
        for (kind, rule) in kinds.into_iter().flat_map(|k| RuleKind::suited(k).iter().map(move |r| (k, *r))) {
            let combination = Combination::new(rule, weights.clone());
            let found = combined(&combination, kind, &rows);
            for position in [0, count / 2, count - 1] {
                let of_members: Vec<Vec<f32>> =
                    rows.iter().map(|row| softmax(&at(kind, row, position))).collect();
                let one = combination.build(classes);
                let mut state = vec![0.0; one.state_width()];
                for (member, row) in MemberIndex::enumerate(&of_members) {
                    one.fold(member, row, &mut state);
                }
                let expected = one.finish(state.into(), classes).into_vec();
                let found = at(kind, &found, position);
                let near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5);
                prop_assert!(near, "{kind} {rule:?} {position}: {found:?} {expected:?}");
            }
        }
    }
}

#[test]
fn a_single_class_is_given_from_a_half_on() {
    let kind = masks(1, [1, 3]);
    let even = Combination::equal_weights(RuleKind::Average, 1);
    let rule = even.build_for(kind, &[OutputKind::LabelLogits]);
    let mut state = vec![0.0; rule.state_width()];
    rule.fold(MemberIndex::new(0), &[-2.0, 0.0, 2.0], &mut state);
    let row = rule.finish(state.into(), 3);
    assert!(
        is_near(row[2].into(), 1.0 / (1.0 + (-2.0f64).exp())),
        "{row:?}"
    );
    let positions = kind.positions().expect("positions");
    assert_eq!(positions.classes(&row), Some(vec![0, 1, 1]));
    assert_eq!(positions.classes(&[0.1, f32::NAN, 0.2]), None);
}

/// Scores of which the classes given are the likeliest.
fn row(kind: AnswerKind, classes: &[usize]) -> Vec<f32> {
    let positions = kind.positions().expect("positions");
    let mut row = vec![0.0; kind.width()];
    for (at, class) in classes.iter().enumerate() {
        match kind {
            AnswerKind::Masks { .. } => row[class * positions.count() + at] = 1.0,
            _ => row[at * kind.count() + class] = 1.0,
        }
    }
    row
}

fn figures(
    kind: AnswerKind,
    names: &[String],
    pairs: &[(&[usize], &[f32])],
) -> Vec<(Measure, f64)> {
    let mut tally = MeasureTally::with_names(kind, Some(names));
    for (found, target) in pairs {
        tally.add(&row(kind, found), SampleTarget::Row(target));
    }
    tally
        .qualities()
        .iter()
        .map(|q| (q.measure, q.value))
        .collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn mean_iou_leaves_out_absent_classes_and_unknown_pixels() {
    let kind = masks(4, [1, 6]);
    let found = figures(
        kind,
        &[],
        &[
            (&[0, 0, 1, 1, 2, 0], &[0.0, 1.0, 1.0, IGNORED, 2.0, 0.0]),
            (&[0; 6], &[0.0, 0.0, IGNORED, IGNORED, IGNORED, IGNORED]),
        ],
    );
    // Class 0: 4 of 5, class 1: 1 of 2, class 2: 1 of 1; nothing is of class 3.
    let expected = [
        (Measure::MeanIou, (4.0 / 5.0 + 1.0 / 2.0 + 1.0) / 3.0),
        (Measure::PixelAccuracy, 6.0 / 7.0),
    ];
    assert!(
        found
            .iter()
            .zip(expected)
            .all(|(a, b)| a.0 == b.0 && is_near(a.1, b.1)),
        "{found:?}"
    );
    let binary = masks(1, [1, 4]);
    let mut tally = MeasureTally::new(binary);
    tally.add(
        &[0.9, 0.9, 0.1, 0.1],
        SampleTarget::Row(&[1.0, 0.0, 0.0, 0.0]),
    );
    assert_eq!(
        tally.value(Measure::MeanIou),
        Some(0.5),
        "of the class, not of the rest"
    );
}

#[test]
fn spans_are_counted_as_seqeval_counts_them() {
    let tags = names(&["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]);
    assert_eq!(TagScheme::from_names(Some(&tags)), TagScheme::Spans);
    let kind = tokens(5, 6, TagScheme::Spans);
    for (found, target, expected) in [
        // A span is right only as a whole.
        ([1, 2, 0, 3, 0, 0], [1.0, 2.0, 2.0, 3.0, 0.0, 0.0], 0.5),
        // `I-` begins a span where none of its kind goes on.
        ([0, 2, 2, 4, 0, 0], [0.0, 1.0, 2.0, 3.0, 0.0, 0.0], 1.0),
        ([1, 1, 0, 0, 0, 0], [1.0, 2.0, 0.0, 0.0, 0.0, 0.0], 0.0),
        // Tokens that are not counted do not part what is beside them.
        ([1, 4, 2, 0, 0, 0], [1.0, IGNORED, 2.0, 0.0, 0.0, 0.0], 1.0),
    ] {
        let figures = figures(kind, &tags, &[(&found, &target)]);
        assert_eq!(figures[0].0, Measure::SpanF1);
        assert!(is_near(figures[0].1, expected), "{found:?}: {figures:?}");
    }
}

#[test]
fn without_spans_f1_is_over_all_classes_but_o() {
    let tags = names(&["NOUN", "O", "VERB"]);
    let scheme = TagScheme::from_names(Some(&tags));
    assert_eq!(scheme, TagScheme::Outside { class: 1 });
    let kind = tokens(3, 4, scheme);
    let found = figures(kind, &tags, &[(&[0, 1, 2, 1], &[0.0, 1.0, 0.0, 2.0])]);
    assert_eq!(found[0], (Measure::MicroF1, 0.4));
    assert_eq!(found[1], (Measure::TokenAccuracy, 0.5));
    let plain = names(&["a", "b"]);
    assert_eq!(TagScheme::from_names(Some(&plain)), TagScheme::Plain);
}

fn targeted(
    kind: AnswerKind,
    names: &[String],
    name: &str,
    bytes: Vec<u8>,
) -> Result<Targets, String> {
    let form = SampleForm::new(Shape::vector(2)).answers(kind, Some(names));
    let samples = Samples::synthetic(2, 2).expect("some");
    let samples = samples
        .targeted_by(name, bytes, &form)
        .map_err(|e| e.to_string())?;
    Ok(samples.targets().cloned().expect("targets"))
}

#[test]
fn targets_of_positions_are_numbers_or_names_of_classes() {
    let tags = names(&["O", "PER"]);
    let expected = Ok(Targets::Rows {
        width: 2,
        values: vec![0.0, 1.0, IGNORED, 0.0],
    });
    let of_tokens = tokens(2, 2, TagScheme::Plain);
    let array = |dims: &[usize], none: f32| to_npy([0.0, 1.0, none, 0.0].into_iter(), dims);
    for (name, bytes) in [
        ("y.npy", array(&[2, 2], -100.0)),
        ("y.json", b"[[0, 1], [-100, 0]]".to_vec()),
        ("y.json", b"[[\"O\", \"PER\"], [-100, \"O\"]]".to_vec()),
        ("y.csv", b"target_0,target_1\nO,PER\n-100,0\n".to_vec()),
    ] {
        assert_eq!(targeted(of_tokens, &tags, name, bytes), expected, "{name}");
    }
    let of_pixels = masks(2, [2, 1]);
    for (name, bytes) in [
        ("y.npy", array(&[2, 2, 1], 255.0)),
        ("y.npy", array(&[2, 2], 255.0)),
        ("y.json", b"[[[0], [1]], [[255], [0]]]".to_vec()),
    ] {
        assert_eq!(targeted(of_pixels, &tags, name, bytes), expected, "{name}");
    }
    for (kind, bytes, why) in [
        (
            of_tokens,
            array(&[2, 2], 255.0),
            "expected the number of a class, or -100 for none",
        ),
        (
            of_pixels,
            array(&[2, 2], 2.0),
            "expected the number of a class, or 255 for none, found 2",
        ),
        (of_pixels, array(&[2, 1, 2], 0.0), "expected the shape"),
    ] {
        let found = targeted(kind, &tags, "y.npy", bytes).expect_err(why);
        assert!(found.contains(why), "{found}");
    }
}

/// A PNG of class numbers.
fn png(width: u32, depth: png::BitDepth, colours: png::ColorType, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, 2);
    encoder.set_depth(depth);
    encoder.set_color(colours);
    if colours == png::ColorType::Indexed {
        encoder.set_palette(vec![9; 12]);
    }
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(data).expect("pixels");
    drop(writer);
    bytes
}

#[test]
fn masks_of_images_are_pngs_of_the_same_names() {
    use png::{BitDepth, ColorType};
    let folder = tempfile::tempdir().expect("a folder");
    let (images, found) = (folder.path().join("images"), folder.path().join("masks"));
    fs::create_dir_all(&images).expect("creates");
    fs::create_dir_all(&found).expect("creates");
    let form = SampleForm::new(Shape::image(1, 2, 2)).answers(masks(3, [2, 2]), None);
    let image = png(2, BitDepth::Eight, ColorType::Grayscale, &[1, 2, 3, 4]);
    for name in ["b.png", "a.png"] {
        fs::write(images.join(name), &image).expect("writes");
    }
    let with = |files: &[(&str, Vec<u8>)]| {
        for (name, bytes) in files {
            fs::write(found.join(name), bytes).expect("writes");
        }
        let samples = Samples::read(&images, &form).expect("images");
        let samples = samples
            .targeted_by_file(&found, &form)
            .map_err(|e| e.to_string())?;
        Ok::<_, String>(samples.targets().cloned().expect("targets"))
    };
    let palette = png(
        2,
        BitDepth::Two,
        ColorType::Indexed,
        &[0b0110_0000, 0b0001_0000],
    );
    // Twice as wide: of each two columns the second is nearest.
    let wide = png(
        4,
        BitDepth::Eight,
        ColorType::Grayscale,
        &[0, 2, 0, 255, 0, 1, 0, 1],
    );
    let values = vec![1.0, 2.0, 0.0, 1.0, 2.0, IGNORED, 1.0, 1.0];
    let read = with(&[("b.png", wide), ("a.png", palette)]);
    assert_eq!(read, Ok(Targets::Rows { width: 4, values }));
    let high = png(2, BitDepth::Eight, ColorType::Grayscale, &[0, 1, 3, 1]);
    let why = with(&[("a.png", high)]).expect_err("class 3");
    assert!(
        why.contains("a.png: row 1, column 0: expected the number of a class, or 255"),
        "{why}"
    );
    let colours = png(2, BitDepth::Eight, ColorType::Rgb, &[0; 12]);
    let why = with(&[("a.png", colours)]).expect_err("colours");
    assert!(why.contains("a greyscale or palette PNG"), "{why}");
    fs::remove_file(found.join("a.png")).expect("removes");
    let why = with(&[]).expect_err("a mask is missing");
    assert!(why.contains("expected a mask `a.png`, found none"), "{why}");
}

#[test]
fn manifests_say_the_size_of_masks_and_the_length_of_texts() {
    for (answers, expected) in [
        (
            "{ masks = 3, size = [2, 2] }",
            Ok("masks of 3 classes, 2×2"),
        ),
        (
            "{ masks = [\"road\"], size = [3, 4] }",
            Ok("masks of 1 class, 3×4"),
        ),
        (
            "{ tokens = [\"O\", \"B-X\"], length = 6 }",
            Ok("2 classes for each of 6 tokens"),
        ),
        (
            "{ masks = 3 }",
            Err("answers.size: expected [height, width] with `masks`"),
        ),
        (
            "{ tokens = 3 }",
            Err("answers.length: expected a number of tokens"),
        ),
        (
            "{ classes = 3, length = 2 }",
            Err("answers.length: only valid with `tokens`"),
        ),
        (
            "{ masks = 3, size = [0, 2] }",
            Err("answers.size: expected sides from 1 to 32768"),
        ),
        (
            "{ masks = 4, size = [2, 2] }",
            Err("expected an output of [4, 2, 2] for masks of 4 classes, 2×2, found FP32 [12]"),
        ),
        (
            "{ masks = 9000, size = [9000, 9000] }",
            Err("answers: expected at most 67108864 scores"),
        ),
    ] {
        let folder = Answering::new(&format!("answers = {answers}"), 12, "");
        let read = folder.read().map(|ensemble| ensemble.answers.to_string());
        match (read, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            (found, _) => panic!("{answers}: {found:?}"),
        }
    }
}

#[test]
fn masks_are_served() {
    let folder = Answering::new("answers = { masks = 2, size = [1, 2] }", 4, "");
    let ensemble = std::sync::Arc::new(folder.read().expect("valid"));
    let engine = start(&ensemble, networks(&ensemble));
    // Logits of the two pixels: 1 and 0 for the first class, 0 and 2 for the second.
    let answer = engine.predict(Request::new(&[1.0, 0.0, 0.0, 2.0]));
    let answer = answer.expect("let in").expect("answered");
    let row = answer.rows().next().expect("a row");
    let mean = |logit: f64| {
        [1.0, 2.0, 6.0]
            .map(|f| 1.0 / (1.0 + (-f * logit).exp()))
            .iter()
            .sum::<f64>()
            / 3.0
    };
    let expected = [mean(1.0), mean(-2.0), mean(-1.0), mean(2.0)];
    assert!(
        row.iter()
            .zip(expected)
            .all(|(a, b)| is_near((*a).into(), b)),
        "{row:?}"
    );
}

#[test]
fn segmentation_and_token_networks_are_served_as_exported() {
    let answers = "{ masks = [\"dark\", \"light\"], size = [4, 6] }";
    let folder = Exported::new(answers, "{ shape = [1, 2, 3] }", &[("segmentation", "")]);
    let (ensemble, row) = folder.answer(&[0.0, 1.0, 0.2, 0.9, 0.1, 0.8]);
    let positions = ensemble.answers.positions().expect("positions");
    let classes = positions.classes(&row).expect("finite");
    let lines: Vec<&[u32]> = classes.chunks(6).collect();
    assert_eq!(lines[0], [0, 0, 1, 1, 0, 0]);
    assert_eq!(
        (lines[1], lines[3]),
        (lines[0], lines[2]),
        "each pixel is four"
    );
    assert_eq!(lines[2], [1, 1, 0, 0, 1, 1]);
    // Logits of 2 and -2 at brightness 0.
    assert!(
        is_near(row[0].into(), 1.0 / (1.0 + (-4.0f64).exp())),
        "{row:?}"
    );
    let tensors = "{ tensors = [{ name = \"x\", datatype = \"FP32\", shape = [4, 2] }] }";
    let answers = "{ tokens = [\"O\", \"B-X\", \"I-X\"], length = 4 }";
    let folder = Exported::new(answers, tensors, &[("tokens", "")]);
    let (ensemble, row) = folder.answer(&[1.0, 0.0, 0.0, 1.0, -1.0, -1.0, 1.0, 0.5]);
    let positions = ensemble.answers.positions().expect("positions");
    assert_eq!(positions.classes(&row), Some(vec![0, 1, 2, 0]));
}
