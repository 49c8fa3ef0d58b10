//! Answers as tables: CSV for people and programs, `.npy` for programs.

use std::iter::once;

use divisi_model::ensemble::samples::{to_npy, to_npy_classes};
use divisi_model::ensemble::{AnswerKind, BoxRows, label_of};
use divisi_runtime::words::csv_field;

use super::answer::class_of;
use super::report::PredictedAnswers;

/// The heads and the rows of a table.
type AnswerTable<'a> = (Vec<String>, Box<dyn Iterator<Item = Vec<String>> + 'a>);

/// Returns answers as CSV, with a last column if they come from simulated devices.
pub(super) fn csv(answers: &PredictedAnswers) -> String {
    let (heads, rows) = match answers.kind().boxes() {
        Some(rows) => boxes(answers, rows),
        None if answers.token_texts.is_empty() => samples(answers),
        None => tags(answers),
    };
    let mut text = String::new();
    let mut write = |row: Vec<String>, last: &str| {
        let last = answers.simulated.then(|| last.to_owned());
        for (at, cell) in row.into_iter().chain(last).enumerate() {
            text.push_str(if at > 0 { "," } else { "" });
            text.push_str(&csv_field(&cell));
        }
        text.push('\n');
    };
    write(heads, "simulated");
    rows.for_each(|row| write(row, "yes"));
    text
}

/// Returns a row for each sample: its text (if it has one), its class or labels (empty without an
/// answer) and scores, or its values; then the same columns for each requested member.
fn samples(answers: &PredictedAnswers) -> AnswerTable<'_> {
    let heads = heads(answers);
    let of_members = answers.members.iter().flat_map(|(name, _)| {
        let heads = heads.iter();
        heads.map(move |head| format!("{name}.{head}"))
    });
    let text = (!answers.texts.is_empty()).then(|| "text".to_owned());
    let all = once("sample".to_owned()).chain(text);
    let all = all.chain(heads.iter().cloned()).chain(of_members).collect();
    let rows = (0..answers.len()).map(move |sample| {
        let first = once(sample.to_string()).chain(answers.texts.get(sample).cloned());
        let cells = answers.answers(sample);
        let cells = cells.flat_map(|(_, row)| cells_of(answers, row));
        first.chain(cells).collect()
    });
    (all, Box::new(rows))
}

/// Returns a row for each box: sample, member (empty for the ensemble), class, score and corners.
fn boxes(answers: &PredictedAnswers, rows: BoxRows) -> AnswerTable<'_> {
    let heads = [
        "sample", "member", "class", "score", "left", "top", "right", "bottom",
    ];
    let all = (0..answers.len()).flat_map(move |sample| {
        let each = answers.answers(sample);
        each.flat_map(move |(member, row)| {
            let found = rows.boxes(row).unwrap_or_default().into_iter();
            found.map(move |found| {
                let class = answers.label(found.class as usize);
                let first = [sample.to_string(), member.to_owned(), class];
                let numbers = once(found.score).chain(found.corners);
                let numbers = numbers.map(|number| number.to_string());
                first.into_iter().chain(numbers).collect()
            })
        })
    });
    (heads.map(str::to_owned).to_vec(), Box::new(all))
}

/// Returns a row for each token of a text: sample, text, class (empty without an answer), and the
/// class of each requested member.
fn tags(answers: &PredictedAnswers) -> AnswerTable<'_> {
    let heads = ["sample", "token", "text", "class"].map(str::to_owned);
    let members = answers.members.iter();
    let members = members.map(|(name, _)| format!("{name}.class"));
    let texts = answers.token_texts.iter().take(answers.len()).enumerate();
    let rows = texts.flat_map(move |(sample, pieces)| {
        pieces.iter().enumerate().map(move |(token, piece)| {
            let first = [sample.to_string(), token.to_string(), piece.clone()];
            let classes = answers.answers(sample);
            let classes = classes.map(|(_, row)| class_name(answers, row[token]));
            first.into_iter().chain(classes).collect()
        })
    });
    (heads.into_iter().chain(members).collect(), Box::new(rows))
}

/// Returns the heads of the columns of one answer.
fn heads(answers: &PredictedAnswers) -> Vec<String> {
    let classes = |name: &str, count: usize| -> Vec<String> {
        let classes = 0..count;
        let named = classes.map(|class| format!("{name}_{}", answers.label(class)));
        named.collect()
    };
    let scores = |first: &[&str]| {
        let first = first.iter().map(|head| (*head).to_owned());
        first.chain(classes("score", answers.width())).collect()
    };
    match (answers.kind(), &answers.ensemble.answer_names) {
        (AnswerKind::Classes { .. }, Some(_)) if !answers.texts.is_empty() => {
            scores(&["class", "label"])
        }
        (AnswerKind::Masks { count, .. }, _) => classes("share", count.get() as usize),
        (AnswerKind::Tokens { .. }, _) => numbered("token", answers.width()),
        // Boxes have rows of their own.
        (AnswerKind::Boxes { .. }, _) => Vec::new(),
        (AnswerKind::Classes { .. }, _) => scores(&["class"]),
        (AnswerKind::Labels { .. }, _) => scores(&["labels"]),
        (AnswerKind::Values { .. }, Some(names)) => names.clone(),
        (AnswerKind::Values { .. }, None) => match &answers.outputs[..] {
            [] => numbered("value", answers.width()),
            outputs => of_outputs(outputs),
        },
    }
}

/// Returns the heads of the values of several outputs.
fn of_outputs(outputs: &[(String, usize)]) -> Vec<String> {
    let heads = outputs.iter().flat_map(|(name, count)| match count {
        1 => vec![name.clone()],
        several => numbered(name, *several),
    });
    heads.collect()
}

fn numbered(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{name}_{n}")).collect()
}

/// Returns the cells of one answer, in the order of [`heads`].
fn cells_of(answers: &PredictedAnswers, row: &[f32]) -> Vec<String> {
    let first = match answers.kind() {
        AnswerKind::Masks { count, .. } => return shares(count.get(), row),
        AnswerKind::Tokens { .. } => {
            let classes = row.iter().map(|kept| class_name(answers, *kept));
            return classes.collect();
        }
        AnswerKind::Values { .. } | AnswerKind::Boxes { .. } => Vec::new(),
        AnswerKind::Classes { .. } => class_cells(answers, row),
        AnswerKind::Labels { threshold, .. } => {
            let given = threshold.labels(row).unwrap_or_default().into_iter();
            let given: Vec<String> = given.map(|label| answers.label(label)).collect();
            // As in files of samples.
            vec![given.join(";")]
        }
    };
    let numbers = row.iter().map(ToString::to_string);
    first.into_iter().chain(numbers).collect()
}

/// Returns the number of the class, and for texts its name: readers of texts need words, other
/// tables keep numbers for programs.
fn class_cells(answers: &PredictedAnswers, row: &[f32]) -> Vec<String> {
    let class = label_of(row);
    let number = class.map_or(String::new(), |class| class.to_string());
    let names = answers.ensemble.answer_names.as_ref();
    let names = names.filter(|_| !answers.texts.is_empty());
    let name = names.map(|names| class.and_then(|class| names.get(class).cloned()));
    once(number)
        .chain(name.map(Option::unwrap_or_default))
        .collect()
}

/// Returns the share of pixels of each class, or empty cells without an answer. A single class has
/// number 1 in masks.
fn shares(classes: u32, row: &[f32]) -> Vec<String> {
    let first = u32::from(classes == 1);
    let answered = row.iter().all(|kept| kept.is_finite());
    let share = |class| {
        let pixels = row.iter().filter(|kept| class_of(**kept) == Some(class));
        (pixels.count() as f64 / row.len() as f64).to_string()
    };
    let classes = first..first + classes;
    let shares = classes.map(|class| {
        if answered {
            share(class)
        } else {
            String::new()
        }
    });
    shares.collect()
}

/// Returns the name of a stored class, or an empty text without an answer.
fn class_name(answers: &PredictedAnswers, kept: f32) -> String {
    class_of(kept).map_or_else(String::new, |class| answers.label(class as usize))
}

/// Returns answers as `.npy` of shape `[samples, width]`, or with members `[members + 1, samples,
/// width]`, the ensemble last. For positions the width is their number, and the values are class
/// numbers.
pub(super) fn npy(answers: &PredictedAnswers) -> Vec<u8> {
    let (samples, width) = (answers.len(), answers.width());
    let members = match answers.members.len() {
        0 => None,
        members => Some(members + 1),
    };
    let values = answers.members.iter().flat_map(|(_, rows)| rows);
    let values = values.chain(&answers.scores).copied();
    if let Some(positions) = answers.kind().positions() {
        let sides = positions.sides().into_iter();
        let is_mask = matches!(answers.kind(), AnswerKind::Masks { .. });
        let dims = members.into_iter().chain([samples]);
        let dims: Vec<usize> = dims.chain(sides.skip(usize::from(!is_mask))).collect();
        return to_npy_classes(values.map(class_of), positions.numbers(), &dims);
    }
    let dims: Vec<usize> = members.into_iter().chain([samples, width]).collect();
    to_npy(values, &dims)
}
