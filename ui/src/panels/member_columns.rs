//! The columns of the members' panel: their headings, those that suit the answers, and those that
//! fit.

use divisi_model::ensemble::{AnswerKind, Quality, TagScheme};
use divisi_session::{MemberContribution, MemberView, Snapshot};

use super::columns::{self, Column, FigureText};
use crate::look::Role;
use crate::model::Model;
use crate::text::format;

/// A column of members.
pub(super) type MemberColumn = Column<MemberView, Snapshot>;

/// The columns for a kind of answers, in the order of the screen, each with whether it needs targets.
type MemberColumns = [(MemberColumn, bool)];

const fn column(
    name: &'static str,
    width: u16,
    rank: u8,
    value: fn(&MemberView, &Snapshot) -> FigureText,
) -> (MemberColumn, bool) {
    (Column::new(name, width, rank, value), false)
}

const fn targeted(column: (MemberColumn, bool)) -> (MemberColumn, bool) {
    (column.0, true)
}

/// For all kinds of answers: the latency, and the share of requests with the member on their
/// longest path.
static ALWAYS: [(MemberColumn, bool); 2] =
    [column("p99 ms", 8, 0, slowest), column("path", 7, 0, path)];

/// For classes.
static OF_CLASSES: [(MemberColumn, bool); 8] = [
    column("agree", 8, 0, agreement),
    targeted(column("accuracy", 10, 3, quality)),
    column("distance", 10, 5, |m, _| {
        contribution_text(m, |s| s.disagreement.map(format::permille))
    }),
    column("entropy", 9, 6, |m, _| {
        contribution_text(m, |s| s.entropy.map(format::permille))
    }),
    column("cost", 8, 1, cost),
    FLIPS,
    targeted(column("± points", 10, 4, change)),
    column("smp/s", 8, 7, throughput),
];

const FLIPS: (MemberColumn, bool) = column("flips", 8, 2, flips);

/// Returns columns with these names and widths: the agreement with the ensemble, the quality, the
/// effect of leaving a member out, and the change of the quality.
const fn usual(
    agree: (&'static str, u16),
    right: (&'static str, u16),
    without: (MemberColumn, bool),
    changed: (&'static str, u16),
) -> [(MemberColumn, bool); 6] {
    [
        column(agree.0, agree.1, 0, agreement),
        targeted(column(right.0, right.1, 3, quality)),
        column("cost", 8, 1, cost),
        without,
        targeted(column(changed.0, changed.1, 4, change)),
        column("smp/s", 8, 5, throughput),
    ]
}

const AGREE: (&str, u16) = ("agree", 8);
const POINTS: (&str, u16) = ("± points", 10);

static OF_LABELS: [(MemberColumn, bool); 6] = usual(AGREE, ("micro F1", 10), FLIPS, POINTS);

/// For masks: the share of pixels equal to the ensemble's, and mean IoU.
static OF_MASKS: [(MemberColumn, bool); 6] = usual(AGREE, ("mean IoU", 10), FLIPS, POINTS);

/// For boxes: mAP at an overlap of 50 %, with the ensemble's boxes and with targets.
static OF_BOXES: [(MemberColumn, bool); 6] = usual(
    AGREE,
    ("mAP", 10),
    column("without", 9, 2, otherwise),
    POINTS,
);

/// For tokens, whose main measure depends on the names of their classes.
static OF_TOKENS: [(MemberColumn, bool); 6] = usual(AGREE, ("F1", 10), FLIPS, POINTS);

/// For tokens whose class names do not mark spans.
static OF_PLAIN_TOKENS: [(MemberColumn, bool); 6] = usual(AGREE, ("accuracy", 10), FLIPS, POINTS);

/// For values: RMSE to the ensemble's answers, to targets, and between the answers without the
/// member and the current ones.
static OF_VALUES: [(MemberColumn, bool); 6] = usual(
    ("differs", 11),
    ("RMSE", 11),
    column("moves", 11, 2, otherwise),
    ("± RMSE", 12),
);

/// For values of unit length: cosines instead of errors.
static OF_DIRECTIONS: [(MemberColumn, bool); 6] = usual(
    ("alike", 11),
    ("cosine", 11),
    column("without", 11, 2, otherwise),
    ("± cosine", 12),
);

fn suited(answers: AnswerKind) -> &'static MemberColumns {
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
pub(super) fn fitting(model: &Model, width: u16) -> Vec<&'static MemberColumn> {
    let known = |s: &MemberContribution| s.quality.is_some() || s.quality_change.is_some();
    let members = model.snapshot.members.iter();
    let targets = members.filter_map(|m| m.contribution.as_ref()).any(known);
    let suited = ALWAYS.iter().chain(suited(model.snapshot.answers));
    let offered = suited.filter(move |(_, targeted)| targets || !targeted);
    columns::fitting(offered.map(|(column, _)| column), width)
}

/// Returns the 99th percentile of the last seconds, marked if there were too few answers.
fn slowest(view: &MemberView, _: &Snapshot) -> FigureText {
    let latency = &view.latency.now.summary;
    match latency.count {
        0 => ("–".to_owned(), Role::Dim),
        _ if latency.is_enough_for(0.99) => (format::millis(latency.p99), Role::Text),
        _ => (format!("~{}", format::millis(latency.p99)), Role::Dim),
    }
}

/// Returns the share of requests with the member on their longest path, since the start.
fn path(view: &MemberView, shown: &Snapshot) -> FigureText {
    let graphs = shown.graphs.iter();
    let (mut critical, mut requests) = (0, 0);
    for graph in graphs {
        let mut own = graph.steps.iter().filter(|step| step.name == view.name);
        if let Some(step) = own.next() {
            critical += step.stats.critical;
            requests += graph.steps.iter().map(|step| step.stats.last).sum::<u64>();
        }
    }
    match requests {
        0 => ("–".to_owned(), Role::Dim),
        _ => (
            format::percent(critical as f64 / requests as f64),
            Role::Text,
        ),
    }
}

/// Returns a contribution as text, or a dash if it is unknown.
fn contribution_text(
    view: &MemberView,
    say: fn(&MemberContribution) -> Option<String>,
) -> FigureText {
    let text = view.contribution.as_ref().and_then(say);
    text.map_or(("–".to_owned(), Role::Dim), |t| (t, Role::Text))
}

fn agreement(view: &MemberView, _: &Snapshot) -> FigureText {
    contribution_text(view, |s| Some(format::quality(s.agreement)))
}

fn quality(view: &MemberView, _: &Snapshot) -> FigureText {
    contribution_text(view, |s| s.quality.map(format::quality))
}

fn cost(view: &MemberView, _: &Snapshot) -> FigureText {
    contribution_text(view, |s| Some(format::permille(s.cost)))
}

fn flips(view: &MemberView, _: &Snapshot) -> FigureText {
    contribution_text(view, |s| s.flips.map(format::permille))
}

fn throughput(view: &MemberView, _: &Snapshot) -> FigureText {
    (format::short(view.samples_per_s), Role::Text)
}

/// Compares the ensemble's answers after a change of the member's vote with the current ones.
fn otherwise(view: &MemberView, _: &Snapshot) -> FigureText {
    contribution_text(view, |s| {
        let measure = s.agreement.measure;
        let figure = |value| Quality { measure, value };
        s.otherwise.map(|value| format::quality(figure(value)))
    })
}

/// Formats the change of the ensemble's quality after a change of the member's vote. A gain is
/// marked as a warning.
fn change(view: &MemberView, _: &Snapshot) -> FigureText {
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
