//! `divisi allocate --accuracy-loss`: the precision of each member, chosen before the matrix.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use divisi_engine::search::precisions::{
    AccuracyLoss, PrecisionChoice, PrecisionTrial, RightAnswers, VariantFate, VariantReport,
};
use divisi_engine::search::{Cache, Control, EvaluationError, SearchError};
use divisi_model::ensemble::Samples;
use serde::Serialize;

use crate::cli::accuracy::without_targets;
use crate::cli::args::SampleFiles;
use crate::cli::open::OpenedEnsemble;
use crate::cli::output::{ProgressLine, columns};

/// The accuracy that members in fewer bits may cost.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct LossArgs {
    /// Choose the precision of each member, so that the ensemble's accuracy on labelled samples falls
    /// by at most so many percentage points below that of float32 throughout, such as 0.2
    #[arg(long, value_name = "POINTS", value_parser = parse_points, conflicts_with = "precision")]
    accuracy_loss: Option<AccuracyLoss>,
    /// Samples with labels for --accuracy-loss (default: the manifest's calibration samples)
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
    /// Chooses the precisions, if that is asked for.
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
        let far = || {
            let (known, needed) = control.progress().profiles;
            format!("precisions: {known}/{needed} members profiled")
        };
        let chosen = ProgressLine::watch(|| trial.choose(allowed), far);
        let broken = || Err(SearchError::from(EvaluationError::Panicked("a network")));
        Ok(Some(chosen.unwrap_or_else(broken)?))
    }

    fn samples(&self, opened: &OpenedEnsemble) -> Result<Arc<Samples>> {
        let samples = match &self.input {
            Some(path) => Arc::new(opened.read_samples(path, &self.files)?),
            None => opened.calibration()?,
        };
        if samples.targets().is_none() {
            bail!(without_targets(opened.ensemble.answers));
        }
        Ok(samples)
    }
}

/// The precisions that were chosen, and those that were not, in a report.
#[derive(Serialize)]
pub(crate) struct PrecisionsChosen {
    /// Percentage points that might be lost.
    accuracy_loss: f64,
    /// The precision of each member.
    chosen: Vec<String>,
    /// Seconds of a sample in all members together, in float32 and as chosen.
    float32_seconds: f64,
    seconds: f64,
    /// The ensemble's accuracy on all samples.
    all: AccuracyPair,
    /// That on samples which decided nothing; absent where all of them decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen: Option<AccuracyPair>,
    /// Changes that half of the samples allowed, and all together did not.
    refused_by_all: usize,
    variants: Vec<VariantRow>,
}

/// Accuracies, 0 to 1, on the same samples.
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
    /// Percentage points that the ensemble loses where this member alone is computed so.
    lost_alone: f64,
    fate: &'static str,
    /// Percentage points that it would lose in place of what was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_lose: Option<f64>,
}

impl PrecisionsChosen {
    pub(super) fn of(choice: &PrecisionChoice, members: &[String]) -> Self {
        let variants = choice.variants.iter();
        PrecisionsChosen {
            accuracy_loss: choice.allowed.get(),
            chosen: choice.precisions.iter().map(|p| p.written()).collect(),
            float32_seconds: choice.seconds.0,
            seconds: choice.seconds.1,
            all: AccuracyPair::of(choice.all),
            unseen: choice.unseen.map(AccuracyPair::of),
            refused_by_all: choice.refused_by_all,
            variants: variants.map(|v| VariantRow::of(v, members)).collect(),
        }
    }

    /// Returns a table of what was tried, and what the choice costs together.
    pub(super) fn text(&self) -> String {
        let heads = ["", "in", "µs/sample", "in f32", "alone loses", ""];
        let rows = self.variants.iter().map(VariantRow::cells);
        let rows: Vec<_> = [heads.map(str::to_owned)].into_iter().chain(rows).collect();
        format!(
            "precisions by {} labelled samples, to lose at most {} points\n{}\n\
             together: {}; {:.2} µs/sample of all members in place of {:.2}{}",
            self.all.samples,
            self.accuracy_loss,
            columns(&rows).trim_end(),
            self.all.words(),
            1e6 * self.seconds,
            1e6 * self.float32_seconds,
            self.unseen_line()
        )
    }

    fn unseen_line(&self) -> String {
        match (&self.unseen, self.refused_by_all) {
            (Some(pair), _) => format!(
                "\non the {} samples that decided nothing: {}",
                pair.samples,
                pair.words()
            ),
            (None, 0) => {
                "\ntoo few samples to keep some that decide nothing: more may be lost on others"
                    .into()
            }
            (None, changes) => format!(
                "\n{changes} changes that half of the samples allowed were refused by all of them: \
                 none are left that decided nothing, so more may be lost on others"
            ),
        }
    }
}

impl AccuracyPair {
    fn of(right: RightAnswers) -> Self {
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
        format!("accuracy {now:.2} % in place of {then:.2} %, {lost:.2} points {word}")
    }
}

impl VariantRow {
    fn of(variant: &VariantReport, members: &[String]) -> Self {
        let (fate, would_lose) = match variant.fate {
            VariantFate::Chosen => ("chosen", None),
            VariantFate::NotFaster => ("not-faster", None),
            VariantFate::LosesTooMuch(points) => ("loses-too-much", Some(points)),
            VariantFate::RefusedByAll => ("refused-by-all", None),
        };
        let name = members.get(variant.member.get());
        VariantRow {
            member: name.cloned().unwrap_or_default(),
            precision: variant.precision.written(),
            float32_seconds: variant.float32_seconds,
            seconds: variant.seconds,
            lost_alone: variant.alone.lost_points(),
            fate,
            would_lose,
        }
    }

    fn cells(&self) -> [String; 6] {
        let why = match (self.fate, self.would_lose) {
            (_, Some(points)) => format!("would lose {points:.2} with the others as chosen"),
            ("not-faster", _) => "no faster than what was chosen".into(),
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
