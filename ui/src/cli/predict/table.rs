//! Answers as tables: CSV for people and programs, `.npy` for programs.

use std::fmt::Write as _;

use divisi_model::ensemble::samples::{to_npy, to_npy_classes};
use divisi_model::ensemble::{AnswerKind, BoxRows, label_of};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::words::csv_field;

use super::answer::class_of;
use super::report::PredictedAnswers;

/// Returns a CSV row for each sample: its text (if it has one), its class or labels (empty without
/// an answer) and scores, or its values; then the same columns for each requested member.
pub(crate) fn csv(answers: &PredictedAnswers, simulated: bool) -> String {
    if let Some(rows) = answers.kind().boxes() {
        return boxes(answers, rows, simulated);
    }
    if answers.token_texts(0).is_some() {
        return tags(answers, simulated);
    }
    let heads = heads(answers);
    let mut text = String::from("sample");
    if answers.has_texts() {
        text.push_str(",text");
    }
    for head in &heads {
        let _ = write!(text, ",{}", csv_field(head));
    }
    for (name, _) in answers.members() {
        for head in &heads {
            let _ = write!(text, ",{}", csv_field(&format!("{name}.{head}")));
        }
    }
    if simulated {
        text.push_str(",simulated");
    }
    for (sample, row) in answers.rows().enumerate() {
        let _ = write!(text, "\n{sample}");
        if let Some(of_sample) = answers.text(sample) {
            let _ = write!(text, ",{}", csv_field(of_sample));
        }
        write_row(&mut text, answers, row);
        for member in MemberIndex::all(answers.members().count()) {
            write_row(&mut text, answers, answers.member_row(member, sample));
        }
        if simulated {
            text.push_str(",yes");
        }
    }
    text.push('\n');
    text
}

/// Returns a CSV row for each box: sample, member (empty for the ensemble), class, score and
/// corners.
fn boxes(answers: &PredictedAnswers, rows: BoxRows, simulated: bool) -> String {
    let mut text = String::from("sample,member,class,score,left,top,right,bottom");
    let end = if simulated { ",yes" } else { "" };
    text.push_str(if simulated { ",simulated" } else { "" });
    for (sample, row) in answers.rows().enumerate() {
        let members = MemberIndex::enumerate(answers.members());
        let of_members = members.map(|(at, (name, _))| (name, answers.member_row(at, sample)));
        for (member, row) in std::iter::once(("", row)).chain(of_members) {
            for found in rows.boxes(row).unwrap_or_default() {
                let class = labels(answers, &[found.class as usize]);
                let [left, top, right, bottom] = found.corners;
                let _ = write!(
                    text,
                    "\n{sample},{},{class},{},{left},{top},{right},{bottom}{end}",
                    csv_field(member),
                    found.score
                );
            }
        }
    }
    text.push('\n');
    text
}

/// Returns a CSV row for each token of a text: sample, text, class (empty without an answer), and
/// the class of each requested member.
fn tags(answers: &PredictedAnswers, simulated: bool) -> String {
    let mut text = String::from("sample,token,text,class");
    for (name, _) in answers.members() {
        let _ = write!(text, ",{}", csv_field(&format!("{name}.class")));
    }
    let end = if simulated { ",yes" } else { "" };
    text.push_str(if simulated { ",simulated" } else { "" });
    for (sample, row) in answers.rows().enumerate() {
        let members = MemberIndex::all(answers.members().count());
        let of_members = members.map(|member| answers.member_row(member, sample));
        let rows: Vec<&[f32]> = std::iter::once(row).chain(of_members).collect();
        let pieces = answers.token_texts(sample).unwrap_or_default();
        for (token, piece) in pieces.iter().enumerate() {
            let _ = write!(text, "\n{sample},{token},{}", csv_field(piece));
            for row in &rows {
                write_tokens(&mut text, answers, &row[token..=token]);
            }
            text.push_str(end);
        }
    }
    text.push('\n');
    text
}

/// Returns the heads of the columns of one answer.
fn heads(answers: &PredictedAnswers) -> Vec<String> {
    let numbered = |name: &str| {
        (0..answers.width())
            .map(|n| format!("{name}_{n}"))
            .collect()
    };
    let named = |first: &str, class: usize| {
        let names = answers.answer_names();
        let name = names.and_then(|names| names.get(class).cloned());
        format!("{first}_{}", name.unwrap_or_else(|| class.to_string()))
    };
    let scores = |first: &str| {
        let scores = (0..answers.width()).map(|class| named("score", class));
        std::iter::once(first.to_owned()).chain(scores).collect()
    };
    match (answers.kind(), answers.answer_names()) {
        (AnswerKind::Classes { .. }, Some(_)) if answers.has_texts() => {
            [vec!["class".to_owned()], scores("label")].concat()
        }
        (AnswerKind::Masks { count, .. }, _) => {
            let classes = 0..count.get() as usize;
            classes.map(|class| named("share", class)).collect()
        }
        (AnswerKind::Tokens { .. }, _) => numbered("token"),
        // Boxes have rows of their own.
        (AnswerKind::Boxes { .. }, _) => Vec::new(),
        (AnswerKind::Classes { .. }, _) => scores("class"),
        (AnswerKind::Labels { .. }, _) => scores("labels"),
        (AnswerKind::Values { .. }, Some(names)) => names.to_vec(),
        (AnswerKind::Values { .. }, None) => match answers.names().outputs {
            [] => numbered("value"),
            outputs => outputs.iter().flat_map(of_output).collect(),
        },
    }
}

/// Returns the heads of the values of an output.
fn of_output((name, count): &(String, usize)) -> Vec<String> {
    match count {
        1 => vec![name.clone()],
        several => (0..*several).map(|n| format!("{name}_{n}")).collect(),
    }
}

fn write_row(text: &mut String, answers: &PredictedAnswers, row: &[f32]) {
    match answers.kind() {
        AnswerKind::Masks { count, .. } => return write_shares(text, count.get(), row),
        AnswerKind::Tokens { .. } => return write_tokens(text, answers, row),
        _ => {}
    }
    let first = match answers.kind() {
        AnswerKind::Values { .. }
        | AnswerKind::Masks { .. }
        | AnswerKind::Tokens { .. }
        | AnswerKind::Boxes { .. } => None,
        AnswerKind::Classes { .. } => {
            let class = label_of(row);
            let number = class.map_or(String::new(), |class| class.to_string());
            match answers.answer_names() {
                // Readers of texts need words; other tables keep numbers for programs.
                Some(names) if answers.has_texts() => {
                    let name = class.and_then(|class| names.get(class));
                    let name = name.map_or(String::new(), |name| csv_field(name).into_owned());
                    Some(format!("{number},{name}"))
                }
                _ => Some(number),
            }
        }
        AnswerKind::Labels { threshold, .. } => {
            let given = threshold.labels(row).unwrap_or_default();
            Some(labels(answers, &given))
        }
    };
    if let Some(first) = first {
        let _ = write!(text, ",{first}");
    }
    for number in row {
        let _ = write!(text, ",{number}");
    }
}

/// Writes the share of pixels of each class, or empty cells without an answer. A single class has
/// number 1 in masks.
fn write_shares(text: &mut String, classes: u32, row: &[f32]) {
    let first = u32::from(classes == 1);
    let answered = row.iter().all(|kept| kept.is_finite());
    for class in first..first + classes {
        text.push(',');
        if answered {
            let pixels = row.iter().filter(|kept| class_of(**kept) == Some(class));
            let _ = write!(text, "{}", pixels.count() as f64 / row.len() as f64);
        }
    }
}

/// Writes the class of each token, or empty cells without an answer.
fn write_tokens(text: &mut String, answers: &PredictedAnswers, row: &[f32]) {
    for kept in row {
        let class = class_of(*kept).map(|class| vec![class as usize]);
        let _ = write!(text, ",{}", labels(answers, &class.unwrap_or_default()));
    }
}

/// Returns labels by name or number, separated by `;` as in files of samples.
fn labels(answers: &PredictedAnswers, given: &[usize]) -> String {
    let name = |label: &usize| {
        let names = answers.answer_names();
        let name = names.and_then(|names| names.get(*label).cloned());
        name.unwrap_or_else(|| label.to_string())
    };
    let given: Vec<String> = given.iter().map(name).collect();
    csv_field(&given.join(";")).into_owned()
}

/// Returns answers as `.npy` of shape `[samples, width]`, or with members `[members + 1, samples,
/// width]`, the ensemble last. For positions the width is their number, and the values are class
/// numbers.
pub(crate) fn npy(answers: &PredictedAnswers) -> Vec<u8> {
    let (samples, width) = (answers.len(), answers.width());
    let values = answers.values().copied();
    if let Some(positions) = answers.kind().positions() {
        let members = match answers.members().count() {
            0 => None,
            members => Some(members + 1),
        };
        let sides = positions.sides().into_iter();
        let is_mask = matches!(answers.kind(), AnswerKind::Masks { .. });
        let dims = members.into_iter().chain([samples]);
        let dims: Vec<usize> = dims.chain(sides.skip(usize::from(!is_mask))).collect();
        return to_npy_classes(values.map(class_of), positions.numbers(), &dims);
    }
    match answers.members().count() {
        0 => to_npy(values, &[samples, width]),
        members => to_npy(values, &[members + 1, samples, width]),
    }
}
