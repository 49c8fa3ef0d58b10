//! The columns of the members' panel: their heads, which of them suit the answers, and which
//! fit.

use divisi_model::ensemble::{AnswerKind, Quality, TagScheme};
use divisi_session::{MemberContribution, MemberView};

use crate::look::Role;
use crate::model::Model;
use crate::text::format;

type MemberText = (String, Role);

/// One column.
#[derive(Clone, Copy)]
pub(super) struct MemberColumn {
    /// Its head.
    pub name: &'static str,
    /// Columns of the screen that it takes, with the gap before it.
    pub width: u16,
    /// The function that returns the text for a member.
    pub value: fn(&MemberView) -> MemberText,
    /// Only where targets are known.
    targets: bool,
    /// Its place where not all fit, from 0.
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
        of(m, |s| s.disagreement.map(format::permille))
    }),
    column("entropy", 9, 6, |m| {
        of(m, |s| s.entropy.map(format::permille))
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

/// For masks: the share of pixels that are as the ensemble's, and mean IoU.
static OF_MASKS: [MemberColumn; 6] = [
    column("agree", 8, 0, agreement),
    targeted(column("mean IoU", 10, 3, quality)),
    column("cost", 8, 1, cost),
    column("flips", 8, 2, flips),
    targeted(column("± points", 10, 4, change)),
    column("smp/s", 8, 5, throughput),
];

/// For boxes: mAP at an overlap of 50 % to the ensemble's, and to targets.
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

/// For tokens without names that mark spans.
static OF_PLAIN_TOKENS: [MemberColumn; 6] = [
    column("agree", 8, 0, agreement),
    targeted(column("accuracy", 10, 3, quality)),
    column("cost", 8, 1, cost),
    column("flips", 8, 2, flips),
    targeted(column("± points", 10, 4, change)),
    column("smp/s", 8, 5, throughput),
];

/// For values: RMSE to the ensemble's answers, to targets, and of the answers without the
/// member to those of now.
static OF_VALUES: [MemberColumn; 6] = [
    column("differs", 11, 0, agreement),
    targeted(column("RMSE", 11, 3, quality)),
    column("cost", 8, 1, cost),
    column("moves", 11, 2, otherwise),
    targeted(column("± RMSE", 12, 4, change)),
    column("smp/s", 8, 5, throughput),
];

/// For values of unit length: cosines in place of errors.
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

/// Those that fit in `width`, in the order of the screen.
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

/// A dash where nothing is known.
fn of(view: &MemberView, say: fn(&MemberContribution) -> Option<String>) -> MemberText {
    let text = view.contribution.as_ref().and_then(say);
    text.map_or(("–".to_owned(), Role::Dim), |t| (t, Role::Text))
}

fn agreement(view: &MemberView) -> MemberText {
    of(view, |s| Some(format::quality(s.agreement)))
}

fn quality(view: &MemberView) -> MemberText {
    of(view, |s| s.quality.map(format::quality))
}

fn cost(view: &MemberView) -> MemberText {
    of(view, |s| Some(format::permille(s.cost)))
}

fn flips(view: &MemberView) -> MemberText {
    of(view, |s| s.flips.map(format::permille))
}

fn throughput(view: &MemberView) -> MemberText {
    (format::short(view.samples_per_s), Role::Text)
}

/// The ensemble's answers if the member stopped voting, or began to, against those of now.
fn otherwise(view: &MemberView) -> MemberText {
    of(view, |s| {
        let measure = s.agreement.measure;
        let figure = |value| Quality { measure, value };
        s.otherwise.map(|value| format::quality(figure(value)))
    })
}

/// Formats the change of the ensemble's quality if the member stopped voting, or began to.
/// A gain is marked as a warning.
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
    // Of a share half of a tenth of a point, of others a thousandth of the figure.
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
