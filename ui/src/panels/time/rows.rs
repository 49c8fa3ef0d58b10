//! The rows of figures: name, value with its unit, curve and scale.

use divisi_session::{Figure, FigureRecord, FigureSpread};

use super::super::throughput::nice;
use super::plan::TimePlan;
use crate::look::{Dots, Painter, Role};
use crate::text::format;

/// The value that stands for merged seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merged {
    Mean,
    /// The highest value: the worst second.
    Most,
    /// The lowest value: the worst second.
    Least,
}

/// A row.
pub(super) struct FigureRow {
    pub figure: Figure,
    unit: &'static str,
    merged: Merged,
    /// Formats a value.
    text: fn(f64) -> String,
    role: Role,
}

/// The rows in their order.
pub(super) static ROWS: [FigureRow; 13] = [
    row(Figure::P50, "ms", Merged::Mean, millis, Role::Accent),
    row(Figure::P99, "ms", Merged::Most, millis, Role::Accent),
    row(Figure::Offered, "rq/s", Merged::Mean, rate, Role::Text),
    row(Figure::Answered, "rq/s", Merged::Mean, rate, Role::Text),
    row(Figure::Queue, "smp", Merged::Most, rate, Role::Wait),
    row(Figure::Refused, "rq/s", Merged::Most, rate, Role::Bad),
    row(Figure::Failed, "rq/s", Merged::Most, rate, Role::Bad),
    row(Figure::Met, "", Merged::Least, met, Role::Good),
    row(Figure::Device, "", Merged::Most, share, Role::Compute),
    row(Figure::Host, "", Merged::Mean, share, Role::Compute),
    row(Figure::Load, "rq/s", Merged::Mean, rate, Role::Text),
    row(Figure::Samples, "smp/s", Merged::Mean, rate, Role::Text),
    row(Figure::Cost, "/M smp", Merged::Mean, cost, Role::Text),
];

const fn row(
    figure: Figure,
    unit: &'static str,
    merged: Merged,
    text: fn(f64) -> String,
    role: Role,
) -> FigureRow {
    FigureRow {
        figure,
        unit,
        merged,
        text,
        role,
    }
}

fn millis(micros: f64) -> String {
    format::millis(micros as u64)
}

fn rate(value: f64) -> String {
    match value {
        v if v > 0.0 && v < 9.95 => format!("{v:.1}"),
        v => format::short(v),
    }
}

fn share(value: f64) -> String {
    format!("{:.0}%", value * 100.0)
}

fn met(value: f64) -> String {
    format::met(value)
}

fn cost(value: f64) -> String {
    format!("{value:.2}")
}

/// A range of values.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
}

impl FigureRow {
    /// Returns the value of a spread that stands for all of its seconds.
    fn value(&self, spread: FigureSpread) -> f64 {
        f64::from(match self.merged {
            Merged::Mean => spread.mean,
            Merged::Most => spread.high,
            Merged::Least => spread.low,
        })
    }

    fn value_of(&self, record: Option<&FigureRecord>) -> Option<f64> {
        let spread = record?.figure(self.figure)?;
        Some(self.value(spread))
    }

    /// Returns the name; of merged seconds with the word for the worst of them.
    fn name(&self, is_merged: bool) -> String {
        let word = match self.merged {
            Merged::Most if is_merged => " max",
            Merged::Least if is_merged => " min",
            _ => "",
        };
        format!("{}{word}", self.figure.name())
    }

    /// Returns the scale of a curve.
    fn scale(&self, values: &[Option<f64>]) -> Scale {
        let known = || values.iter().flatten().copied();
        match self.figure {
            Figure::Device | Figure::Host => Scale {
                low: 0.0,
                high: 1.0,
            },
            Figure::Met => {
                let least = known().fold(0.99, f64::min);
                let low = (least * 100.0).floor() / 100.0;
                Scale { low, high: 1.0 }
            }
            Figure::P50 | Figure::P99 => {
                let most = known().fold(0.0, f64::max) / 1e3;
                let high = if most < 1.0 {
                    nice(most * 1e3) / 1e3
                } else {
                    nice(most)
                };
                Scale {
                    low: 0.0,
                    high: high * 1e3,
                }
            }
            _ => Scale {
                low: 0.0,
                high: nice(known().fold(0.0, f64::max)),
            },
        }
    }

    /// Draws the row in `height` rows, with the value of `read`.
    pub(super) fn draw(
        &self,
        inside: &mut Painter<'_>,
        (y, height): (u16, u16),
        plan: &TimePlan,
        dots: &[Option<FigureRecord>],
        read: Option<&FigureRecord>,
    ) {
        let is_merged = dots.iter().flatten().any(|dot| dot.seconds() > 1);
        inside.text(0, y, &self.name(is_merged), Role::Dim);
        self.draw_value(inside, y, plan, read);
        let values: Vec<Option<f64>> = dots.iter().map(|d| self.value_of(d.as_ref())).collect();
        let scale = self.scale(&values);
        let range = (scale.high - scale.low).max(f64::MIN_POSITIVE);
        let mut curve = Dots::new(plan.cells, height);
        let shares = values.iter();
        curve.curve(shares.map(|v| v.map(|v| (v - scale.low) / range)));
        curve.draw(inside, plan.left, y, self.role);
        if plan.has_scale {
            let text = self.scale_text(scale);
            inside.text(plan.left + plan.cells + 1, y, &text, Role::Dim);
        }
    }

    fn draw_value(
        &self,
        inside: &mut Painter<'_>,
        y: u16,
        plan: &TimePlan,
        read: Option<&FigureRecord>,
    ) {
        let Some(value) = self.value_of(read) else {
            inside.text_right(plan.value_end - 6, y, "–", Role::Dim);
            return;
        };
        let is_bad = self.role == Role::Bad && value > 0.0;
        let role = if is_bad { Role::Bad } else { Role::Strong };
        inside.text_right(plan.value_end - 6, y, &(self.text)(value), role);
        inside.text(plan.value_end - 5, y, self.unit, Role::Dim);
    }

    fn scale_text(&self, scale: Scale) -> String {
        let text = |value: f64| match (self.figure, value <= 0.0) {
            (Figure::Met, _) => share(value),
            (_, true) => "0".to_owned(),
            _ => (self.text)(value),
        };
        format!("{}–{}", text(scale.low), text(scale.high))
    }
}
