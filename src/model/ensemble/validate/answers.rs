//! Reads the kind of answers: the number of classes, values or labels, and their names.

use std::collections::HashMap;

use toml::Spanned;

use crate::ensemble::answers_table::{AnswersTable, CountOrNames};
use crate::ensemble::manifest::{EnsembleError, Manifest, ManifestSource};
use crate::ensemble::{
    AnswerKind, AnswerWidth, BoxCount, MaskSide, TagScheme, Threshold, TokenCount,
};

/// The kind of answers, and the names of the classes, values or labels.
type NamedAnswers = (AnswerKind, Option<Vec<String>>);

/// Reads the kind of answers from `classes` and `labels`, or from `answers`.
pub(super) fn answers(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
) -> Result<NamedAnswers, EnsembleError> {
    match (&manifest.classes, &manifest.answers) {
        (Some(_), Some(answers)) => {
            let why = "answers: expected `classes` or `answers`, found both";
            Err(source.wrong(answers.span().start, why))
        }
        (None, None) => Err(source.wrong(
            0,
            "classes: expected a number of classes, or `answers`, found neither",
        )),
        (Some(classes), None) => {
            let count = width(source, "classes", classes)?;
            let names = labels(source, manifest, count)?;
            Ok((AnswerKind::Classes { count }, names))
        }
        (None, Some(answers)) => {
            if let Some(labels) = &manifest.labels {
                let why = "labels: only valid with `classes`; in `answers`, write a list of names \
                           in place of the number";
                return Err(source.wrong(labels.span().start, why));
            }
            of_table(source, answers)
        }
    }
}

fn of_table(
    source: &ManifestSource<'_>,
    written: &Spanned<AnswersTable>,
) -> Result<NamedAnswers, EnsembleError> {
    let table = written.get_ref();
    check_fields(source, table)?;
    match (
        &table.classes,
        &table.values,
        &table.labels,
        &table.masks,
        &table.tokens,
        &table.boxes,
    ) {
        (Some(classes), None, None, None, None, None) => {
            let (count, names) = counted(source, "answers.classes", classes)?;
            Ok((AnswerKind::Classes { count }, names))
        }
        (None, Some(values), None, None, None, None) => {
            let (count, names) = counted(source, "answers.values", values)?;
            let normalise = table.normalise.as_ref().is_some_and(|n| *n.get_ref());
            Ok((AnswerKind::Values { count, normalise }, names))
        }
        (None, None, Some(labels), None, None, None) => {
            let (count, names) = counted(source, "answers.labels", labels)?;
            let (field, written) = ("answers.threshold", table.threshold.as_ref());
            let threshold = threshold(source, field, written, Threshold::default().get())?;
            Ok((AnswerKind::Labels { count, threshold }, names))
        }
        (None, None, None, Some(masks), None, None) => of_masks(source, masks, table.size.as_ref()),
        (None, None, None, None, Some(tokens), None) => {
            of_tokens(source, tokens, table.length.as_ref())
        }
        (None, None, None, None, None, Some(boxes)) => of_boxes(source, boxes, table),
        _ => Err(source.wrong(
            written.span().start,
            "answers: expected one of `classes`, `values`, `labels`, `masks`, `tokens` and `boxes`",
        )),
    }
}

/// Checks that fields of one kind of answers appear only with that kind.
fn check_fields(source: &ManifestSource<'_>, table: &AnswersTable) -> Result<(), EnsembleError> {
    let (values, labels) = (table.values.is_some(), table.labels.is_some());
    let (masks, tokens) = (table.masks.is_some(), table.tokens.is_some());
    belongs(
        source,
        "normalise",
        "values",
        values,
        table.normalise.as_ref(),
    )?;
    belongs(
        source,
        "threshold",
        "labels",
        labels,
        table.threshold.as_ref(),
    )?;
    belongs(source, "size", "masks", masks, table.size.as_ref())?;
    belongs(source, "length", "tokens", tokens, table.length.as_ref())?;
    let boxes = table.boxes.is_some();
    belongs(source, "most", "boxes", boxes, table.most.as_ref())?;
    belongs(source, "iou", "boxes", boxes, table.iou.as_ref())?;
    belongs(source, "score", "boxes", boxes, table.score.as_ref())
}

/// The default overlap from which boxes count as one object: section 4 of "Weighted boxes fusion"
/// (arXiv 1910.13302) finds 0.55 best.
const OVERLAP: f64 = 0.55;

/// The default minimum score of a box: torchvision's.
const LEAST_SCORE: f64 = 0.05;

/// The default maximum number of boxes of an answer: COCO's.
const MOST_BOXES: u32 = 100;

fn of_boxes(
    source: &ManifestSource<'_>,
    boxes: &Spanned<CountOrNames>,
    table: &AnswersTable,
) -> Result<NamedAnswers, EnsembleError> {
    let (count, names) = counted(source, "answers.boxes", boxes)?;
    let most = match &table.most {
        None => BoxCount::nearest(MOST_BOXES),
        Some(most) => {
            let bound = BoxCount::MOST.get();
            let found = source.count("answers.most", most, i64::from(bound))?;
            BoxCount::nearest(u32::try_from(found).unwrap_or(bound))
        }
    };
    let kind = AnswerKind::Boxes {
        count,
        most,
        overlap: threshold(source, "answers.iou", table.iou.as_ref(), OVERLAP)?,
        least: threshold(source, "answers.score", table.score.as_ref(), LEAST_SCORE)?,
    };
    Ok((kind, names))
}

/// The maximum number of scores of an answer: 256 MiB.
const MOST_SCORES: usize = 1 << 26;

fn of_masks(
    source: &ManifestSource<'_>,
    masks: &Spanned<CountOrNames>,
    size: Option<&Spanned<[i64; 2]>>,
) -> Result<NamedAnswers, EnsembleError> {
    let (count, names) = counted(source, "answers.masks", masks)?;
    let Some(size) = size else {
        let why = "answers.size: expected [height, width] with `masks`, found none";
        return Err(source.wrong(masks.span().start, why));
    };
    let side = |side: i64| {
        let side = u32::try_from(side)
            .ok()
            .and_then(|side| MaskSide::new(side).ok());
        side.ok_or_else(|| {
            let (most, found) = (MaskSide::MOST.get(), size.get_ref());
            let why = format!("answers.size: expected sides from 1 to {most}, found {found:?}");
            source.wrong(size.span().start, why)
        })
    };
    let [height, width] = *size.get_ref();
    let kind = AnswerKind::Masks {
        count,
        height: side(height)?,
        width: side(width)?,
    };
    within_memory(source, size.span().start, kind, names)
}

fn of_tokens(
    source: &ManifestSource<'_>,
    tokens: &Spanned<CountOrNames>,
    length: Option<&Spanned<i64>>,
) -> Result<NamedAnswers, EnsembleError> {
    let (count, names) = counted(source, "answers.tokens", tokens)?;
    let Some(length) = length else {
        let why = "answers.length: expected a number of tokens with `tokens`, found none";
        return Err(source.wrong(tokens.span().start, why));
    };
    let most = TokenCount::MOST.get();
    let found = source.count("answers.length", length, i64::from(most))?;
    let kind = AnswerKind::Tokens {
        count,
        length: TokenCount::nearest(u32::try_from(found).unwrap_or(most)),
        scheme: TagScheme::from_names(names.as_deref()),
    };
    within_memory(source, length.span().start, kind, names)
}

/// Checks that an answer is not too large.
fn within_memory(
    source: &ManifestSource<'_>,
    at: usize,
    kind: AnswerKind,
    names: Option<Vec<String>>,
) -> Result<NamedAnswers, EnsembleError> {
    let found = kind.width();
    match found <= MOST_SCORES {
        true => Ok((kind, names)),
        false => {
            let why = format!("answers: expected at most {MOST_SCORES} scores, found {found}");
            Err(source.wrong(at, why))
        }
    }
}

/// Checks that a field appears only with the field that it belongs to.
fn belongs<T>(
    source: &ManifestSource<'_>,
    field: &str,
    other: &str,
    is_there: bool,
    written: Option<&Spanned<T>>,
) -> Result<(), EnsembleError> {
    match written {
        Some(written) if !is_there => {
            let why = format!("answers.{field}: only valid with `{other}`");
            Err(source.wrong(written.span().start, why))
        }
        _ => Ok(()),
    }
}

fn threshold(
    source: &ManifestSource<'_>,
    field: &str,
    written: Option<&Spanned<f64>>,
    usual: f64,
) -> Result<Threshold, EnsembleError> {
    let Some(written) = written else {
        return Ok(Threshold::nearest(usual));
    };
    let threshold = Threshold::new(*written.get_ref());
    threshold.map_err(|why| source.wrong(written.span().start, format!("{field}: {why}")))
}

fn counted(
    source: &ManifestSource<'_>,
    field: &str,
    written: &Spanned<CountOrNames>,
) -> Result<(AnswerWidth, Option<Vec<String>>), EnsembleError> {
    let at = written.span().start;
    match written.get_ref() {
        CountOrNames::Count(count) => {
            let count = width(source, field, &Spanned::new(written.span(), *count))?;
            Ok((count, None))
        }
        CountOrNames::Names(names) => {
            let spanned = Spanned::new(written.span(), names.len() as i64);
            let count = width(source, field, &spanned)?;
            check_names(source, at, field, names)?;
            Ok((count, Some(names.clone())))
        }
    }
}

fn width(
    source: &ManifestSource<'_>,
    field: &str,
    written: &Spanned<i64>,
) -> Result<AnswerWidth, EnsembleError> {
    let most = AnswerWidth::MOST;
    let count = source.count(field, written, i64::from(most.get()))?;
    Ok(AnswerWidth::nearest(
        u32::try_from(count).unwrap_or(most.get()),
    ))
}

/// Reads the names of classes.
fn labels(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    classes: AnswerWidth,
) -> Result<Option<Vec<String>>, EnsembleError> {
    let Some(labels) = &manifest.labels else {
        return Ok(None);
    };
    let (at, names) = (labels.span().start, labels.get_ref());
    let (expected, found) = (classes.get(), names.len());
    if found != expected as usize {
        let why = format!("labels: expected one per class ({expected}), found {found}");
        return Err(source.wrong(at, why));
    }
    check_names(source, at, "labels", names)?;
    Ok(Some(names.clone()))
}

/// Checks that names are printable and unique, because files may contain targets by name.
fn check_names(
    source: &ManifestSource<'_>,
    at: usize,
    field: &str,
    names: &[String],
) -> Result<(), EnsembleError> {
    for name in names {
        source.check_name(at, field, name)?;
    }
    let mut known = HashMap::new();
    let numbered = names.iter().enumerate();
    let repeated = numbered.into_iter().find_map(|(number, name)| {
        let other = known.insert(name.trim(), number)?;
        let what = match field {
            "answers.values" => "value",
            "answers.labels" => "label",
            _ => "class",
        };
        Some(format!(
            "{field}: `{name}` names both {what} {other} and {what} {number}; expected different \
             names"
        ))
    });
    match repeated {
        Some(why) => Err(source.wrong(at, why)),
        None => Ok(()),
    }
}
