//! `divisi allocate --accuracy-loss`: the precision of each member, chosen before the matrix.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use divisi_engine::search::precisions::{
    AccuracyLoss, PrecisionChoice, PrecisionTrial, RightAnswers, VariantFate, VariantReport,
};
use divisi_engine::search::{Cache, Control};
use divisi_model::ensemble::Samples;
use serde::Serialize;

use crate::cli::accuracy::without_targets;
use crate::cli::args::SampleFiles;
use crate::cli::open::OpenedEnsemble;
use crate::cli::search;
use crate::cli::tables::columns;

/// The accuracy loss that lower precisions may cause.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Precisions")]
pub(super) struct LossArgs {
    /// Choose a precision per member, losing at most this many percentage points of accuracy, such
    /// as 0.2
    #[arg(long, value_name = "POINTS", value_parser = parse_points, conflicts_with = "precision")]
    accuracy_loss: Option<AccuracyLoss>,
    /// Labelled samples for --accuracy-loss (default: the manifest's calibration samples)
    #[arg(long, value_name = "FILE", requires = "accuracy_loss")]
    input: Option<PathBuf>,
    #[command(flatten)]
    files: SampleFiles,
}

fn parse_points(text: &str) -> Result<AccuracyLoss, String> {
    let points = text.parse::<f64>().map(AccuracyLoss::new);
    match points {
        Ok(points) => points.map_err(|why| why.to_string()),
        Err(_) => Err(format!(
            "expected 0 to 100 percentage points, found `{text}`"
        )),
    }
}

impl LossArgs {
    /// Chooses the precisions if the option is given.
    pub(super) fn choose(
        &self,
        opened: &OpenedEnsemble,
        cache: Option<&Cache>,
        control: &Control,
    ) -> Result<Option<PrecisionChoice>> {
        let Some(allowed) = self.accuracy_loss else {
            return Ok(None);
        };
        PrecisionTrial::check(&opened.demand, &opened.devices).context("--accuracy-loss")?;
        let samples = self.samples(opened).context("--accuracy-loss")?;
        let trial = PrecisionTrial {
            demand: &opened.demand,
            devices: &opened.devices,
            factory: opened.networks(),
            samples: &samples,
            cache,
            control,
        };
        let far = |_| {
            let (known, needed) = control.progress().profiles;
            format!("precisions: {known}/{needed} members profiled")
        };
        let chosen = search::watched("a network", || trial.choose(allowed), far)?;
        Ok(Some(chosen))
    }

    fn samples(&self, opened: &OpenedEnsemble) -> Result<Arc<Samples>> {
        let samples = opened.samples(self.input.as_deref(), &self.files)?;
        if samples.targets().is_none() {
            bail!(without_targets(opened.ensemble.answers));
        }
        Ok(samples)
    }
}

/// The chosen and the rejected precisions, in a report.
#[derive(Serialize)]
pub(crate) struct PrecisionsChosen {
    /// The permitted loss in percentage points.
    accuracy_loss: f64,
    /// The precision of each member.
    chosen: Vec<String>,
    /// Seconds per sample in all members together, in float32 and as chosen.
    float32_seconds: f64,
    seconds: f64,
    /// The ensemble's accuracy on all samples.
    all: AccuracyPair,
    /// The accuracy on the validation samples, or `None` if all samples were used for the choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen: Option<AccuracyPair>,
    /// Changes that passed on half of the samples and failed on all.
    refused_by_all: usize,
    variants: Vec<VariantRow>,
}

/// Two accuracies, 0 to 1, on the same samples.
#[derive(Serialize)]
struct AccuracyPair {
    samples: usize,
    float32: f64,
    chosen: f64,
    /// Percentage points between the two.
    lost: f64,
}

/// A member in a precision other than float32.
#[derive(Serialize)]
struct VariantRow {
    member: String,
    precision: String,
    float32_seconds: f64,
    seconds: f64,
    /// The ensemble's loss in percentage points if only this member is computed so.
    lost_alone: f64,
    fate: &'static str,
    /// The ensemble's loss in percentage points if this replaced the chosen precision.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_lose: Option<f64>,
}

impl PrecisionsChosen {
    pub(super) fn from_choice(choice: &PrecisionChoice, members: &[String]) -> Self {
        let variants = choice.variants.iter();
        PrecisionsChosen {
            accuracy_loss: choice.allowed.get(),
            chosen: choice.precisions.iter().map(|p| p.to_text()).collect(),
            float32_seconds: choice.seconds.0,
            seconds: choice.seconds.1,
            all: AccuracyPair::from_answers(choice.all),
            unseen: choice.unseen.map(AccuracyPair::from_answers),
            refused_by_all: choice.refused_by_all,
            variants: variants
                .map(|v| VariantRow::from_report(v, members))
                .collect(),
        }
    }

    /// Returns a table of the tried precisions, and the total effect of the choice.
    pub(super) fn text(&self) -> String {
        let heads = ["", "precision", "µs/sample", "in f32", "loss alone", ""];
        let rows = self.variants.iter().map(VariantRow::cells);
        format!(
            "precisions chosen on {} labelled samples, losing at most {} points\n{}\n\
             together: {}; {:.2} µs/sample for all members instead of {:.2}{}",
            self.all.samples,
            self.accuracy_loss,
            columns(&heads, rows).trim_end(),
            self.all.words(),
            1e6 * self.seconds,
            1e6 * self.float32_seconds,
            self.unseen_line()
        )
    }

    fn unseen_line(&self) -> String {
        match (&self.unseen, self.refused_by_all) {
            (Some(pair), _) => format!(
                "\non the {} validation samples: {}",
                pair.samples,
                pair.words()
            ),
            (None, 0) => {
                "\ntoo few samples for validation: the loss on other samples may be higher".into()
            }
            (None, changes) => format!(
                "\n{changes} changes passed on half of the samples and failed on all: no validation \
                 samples are left, and the loss on other samples may be higher"
            ),
        }
    }
}

impl AccuracyPair {
    fn from_answers(right: RightAnswers) -> Self {
        let share = |count: usize| count as f64 / right.samples.max(1) as f64;
        AccuracyPair {
            samples: right.samples,
            float32: share(right.float32),
            chosen: share(right.chosen),
            lost: right.lost_points(),
        }
    }

    fn words(&self) -> String {
        let (now, then) = (100.0 * self.chosen, 100.0 * self.float32);
        let (lost, word) = match self.lost < 0.0 {
            true => (-self.lost, "gained"),
            false => (self.lost, "lost"),
        };
        format!("accuracy {now:.2} % instead of {then:.2} %, {lost:.2} points {word}")
    }
}

impl VariantRow {
    fn from_report(variant: &VariantReport, members: &[String]) -> Self {
        let (fate, would_lose) = match variant.fate {
            VariantFate::Chosen => ("chosen", None),
            VariantFate::NotFaster => ("not-faster", None),
            VariantFate::LosesTooMuch(points) => ("loses-too-much", Some(points)),
            VariantFate::RefusedByAll => ("refused-by-all", None),
        };
        let name = members.get(variant.member.get());
        VariantRow {
            member: name.cloned().unwrap_or_default(),
            precision: variant.precision.to_text(),
            float32_seconds: variant.float32_seconds,
            seconds: variant.seconds,
            lost_alone: variant.alone.lost_points(),
            fate,
            would_lose,
        }
    }

    fn cells(&self) -> [String; 6] {
        let why = match (self.fate, self.would_lose) {
            (_, Some(points)) => format!("would lose {points:.2} points with the other choices"),
            ("not-faster", _) => "not faster than the choice".into(),
            ("refused-by-all", _) => "would lose too much on all samples".into(),
            (fate, _) => fate.to_owned(),
        };
        [
            self.member.clone(),
            self.precision.clone(),
            format!("{:.2}", 1e6 * self.seconds),
            format!("{:.2}", 1e6 * self.float32_seconds),
            format!("{:.2}", self.lost_alone),
            why,
        ]
    }
}
