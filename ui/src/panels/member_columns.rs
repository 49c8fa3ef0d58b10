//! The columns of the members' panel: their headings, those that suit the answers, and those that
//! fit.

use divisi_model::ensemble::{AnswerKind, Quality, TagScheme};
use divisi_session::{MemberContribution, MemberView};

use crate::look::Role;
use crate::model::Model;
use crate::text::format;

type MemberText = (String, Role);

/// A column.
#[derive(Clone, Copy)]
pub(super) struct MemberColumn {
    /// Its heading.
    pub name: &'static str,
    /// Its width with the gap before it.
    pub width: u16,
    /// The function that returns the text for a member.
    pub value: fn(&MemberView) -> MemberText,
    /// Whether it needs targets.
    targets: bool,
    /// Its priority if not all fit, from 0.
    rank: u8,
}

const fn column(
    name: &'static str,
    width: u16,
    rank: u8,
    value: fn(&MemberView) -> MemberText,
) -> MemberColumn {
    MemberColumn {
        name,
        width,
        value,
        targets: false,
        rank,
    }
}

const fn targeted(mut column: MemberColumn) -> MemberColumn {
    column.targets = true;
    column
}

/// For classes, in the order of the screen.
static OF_CLASSES: [MemberColumn; 8] = [
    column("agree", 8, 0, agreement),
    targeted(column("accuracy", 10, 3, quality)),
    column("distance", 10, 5, |m| {
        contribution_text(m, |s| s.disagreement.map(format::permille))
    }),
    column("entropy", 9, 6, |m| {
        contribution_text(m, |s| s.entropy.map(format::permille))
    }),
    column("cost", 8, 1, cost),
    column("flips", 8, 2, flips),
    targeted(column("± points", 10, 4, change)),
    column("smp/s", 8, 7, throughput),
];

/// For labels.
static OF_LABELS: [MemberColumn; 6] = [
    column("agree", 8, 0, agreement),
    targeted(column("micro F1", 10, 3, quality)),
    column("cost", 8, 1, cost),
    column("flips", 8, 2, flips),
    targeted(column("± points", 10, 4, change)),
    column("smp/s", 8, 5, throughput),
];

/// For masks: the share of pixels equal to the ensemble's, and mean IoU.
static OF_MASKS: [MemberColumn; 6] = [
    column("agree", 8, 0, agreement),
    targeted(column("mean IoU", 10, 3, quality)),
    column("cost", 8, 1, cost),
    column("flips", 8, 2, flips),
    targeted(column("± points", 10, 4, change)),
    column("smp/s", 8, 5, throughput),
];

/// For boxes: mAP at an overlap of 50 %, with the ensemble's boxes and with targets.
static OF_BOXES: [MemberColumn; 6] = [
    column("agree", 8, 0, agreement),
    targeted(column("mAP", 10, 3, quality)),
    column("cost", 8, 1, cost),
    column("without", 9, 2, otherwise),
    targeted(column("± points", 10, 4, change)),
    column("smp/s", 8, 5, throughput),
];

/// For tokens, whose main measure depends on the names of their classes.
static OF_TOKENS: [MemberColumn; 6] = [
    column("agree", 8, 0, agreement),
    targeted(column("F1", 10, 3, quality)),
    column("cost", 8, 1, cost),
    column("flips", 8, 2, flips),
    targeted(column("± points", 10, 4, change)),
    column("smp/s", 8, 5, throughput),
];

/// For tokens whose class names do not mark spans.
static OF_PLAIN_TOKENS: [MemberColumn; 6] = [
    column("agree", 8, 0, agreement),
    targeted(column("accuracy", 10, 3, quality)),
    column("cost", 8, 1, cost),
    column("flips", 8, 2, flips),
    targeted(column("± points", 10, 4, change)),
    column("smp/s", 8, 5, throughput),
];

/// For values: RMSE to the ensemble's answers, to targets, and between the answers without the
/// member and the current ones.
static OF_VALUES: [MemberColumn; 6] = [
    column("differs", 11, 0, agreement),
    targeted(column("RMSE", 11, 3, quality)),
    column("cost", 8, 1, cost),
    column("moves", 11, 2, otherwise),
    targeted(column("± RMSE", 12, 4, change)),
    column("smp/s", 8, 5, throughput),
];

/// For values of unit length: cosines instead of errors.
static OF_DIRECTIONS: [MemberColumn; 6] = [
    column("alike", 11, 0, agreement),
    targeted(column("cosine", 11, 3, quality)),
    column("cost", 8, 1, cost),
    column("without", 11, 2, otherwise),
    targeted(column("± cosine", 12, 4, change)),
    column("smp/s", 8, 5, throughput),
];

fn suited(answers: AnswerKind) -> &'static [MemberColumn] {
    match answers {
        AnswerKind::Classes { .. } => &OF_CLASSES,
        AnswerKind::Labels { .. } => &OF_LABELS,
        AnswerKind::Masks { .. } => &OF_MASKS,
        AnswerKind::Boxes { .. } => &OF_BOXES,
        AnswerKind::Tokens {
            scheme: TagScheme::Plain,
            ..
        } => &OF_PLAIN_TOKENS,
        AnswerKind::Tokens { .. } => &OF_TOKENS,
        AnswerKind::Values {
            normalise: true, ..
        } => &OF_DIRECTIONS,
        AnswerKind::Values { .. } => &OF_VALUES,
    }
}

/// Returns the columns that fit in `width`, in the order of the screen.
pub(super) fn fitting(model: &Model, width: u16) -> Vec<MemberColumn> {
    let known = |s: &MemberContribution| s.quality.is_some() || s.quality_change.is_some();
    let all = suited(model.snapshot.answers);
    let members = &model.snapshot.members;
    let targets = members
        .iter()
        .filter_map(|m| m.contribution.as_ref())
        .any(known);
    let offered = |c: &&MemberColumn| targets || !c.targets;
    let mut ranked: Vec<&MemberColumn> = all.iter().filter(offered).collect();
    ranked.sort_by_key(|c| c.rank);
    let mut left = width;
    let fits = |c: &&MemberColumn| {
        let fits = c.width <= left;
        left = if fits { left - c.width } else { 0 };
        fits
    };
    let kept: Vec<&str> = ranked.into_iter().filter(fits).map(|c| c.name).collect();
    let shown = |c: &&MemberColumn| kept.contains(&c.name) && offered(c);
    all.iter().filter(shown).copied().collect()
}

/// Returns a contribution as text, or a dash if it is unknown.
fn contribution_text(
    view: &MemberView,
    say: fn(&MemberContribution) -> Option<String>,
) -> MemberText {
    let text = view.contribution.as_ref().and_then(say);
    text.map_or(("–".to_owned(), Role::Dim), |t| (t, Role::Text))
}

fn agreement(view: &MemberView) -> MemberText {
    contribution_text(view, |s| Some(format::quality(s.agreement)))
}

fn quality(view: &MemberView) -> MemberText {
    contribution_text(view, |s| s.quality.map(format::quality))
}

fn cost(view: &MemberView) -> MemberText {
    contribution_text(view, |s| Some(format::permille(s.cost)))
}

fn flips(view: &MemberView) -> MemberText {
    contribution_text(view, |s| s.flips.map(format::permille))
}

fn throughput(view: &MemberView) -> MemberText {
    (format::short(view.samples_per_s), Role::Text)
}

/// Compares the ensemble's answers after a change of the member's vote with the current ones.
fn otherwise(view: &MemberView) -> MemberText {
    contribution_text(view, |s| {
        let measure = s.agreement.measure;
        let figure = |value| Quality { measure, value };
        s.otherwise.map(|value| format::quality(figure(value)))
    })
}

/// Formats the change of the ensemble's quality after a change of the member's vote. A gain is
/// marked as a warning.
fn change(view: &MemberView) -> MemberText {
    let known = view.contribution.as_ref();
    let known = known.and_then(|s| s.quality.zip(s.quality_change));
    let Some((quality, change)) = known else {
        return ("–".to_owned(), Role::Dim);
    };
    let better = match quality.measure.is_error() {
        true => -change,
        false => change,
    };
    // The threshold is half of a tenth of a point for a share, else a thousandth of the figure.
    let least = match quality.measure.is_share() {
        true => 0.0005,
        false => 0.001 * quality.value.abs(),
    };
    let role = if better > least {
        Role::Warn
    } else {
        Role::Text
    };
    (format::quality_change(quality.measure, change), role)
}
