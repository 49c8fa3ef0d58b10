//! `divisi accuracy --precisions`: the accuracy of several precisions, compared with float32.

use anyhow::Result;
use divisi_engine::search::{Cache, MeasuredAccuracy};
use divisi_model::ensemble::{Ensemble, Measure, MemberPrecision, Samples};
use divisi_model::wall_clock::unix_seconds;
use divisi_runtime::compute::CpuPrecision;
use divisi_runtime::compute::gpu::Precision;
use serde::Serialize;

use super::likeness::{AnswerRows, LikenessCount, LikenessReport};
use super::{AccuracyReport, graded};
use crate::cli::open::OpenedEnsemble;
use crate::cli::reporting::Report;

/// Float32 on processors and GPUs.
const FLOAT32: MemberPrecision = MemberPrecision {
    cores: CpuPrecision::F32,
    gpus: Some(Precision::F32),
    is_auto: false,
};

/// The accuracies in float32, then by precision in the order of the option.
#[derive(Serialize)]
pub(super) struct PrecisionsReport {
    precisions: Vec<PrecisionReport>,
}

#[derive(Serialize)]
struct PrecisionReport {
    precision: MemberPrecision,
    /// Devices that compute in a precision other than the requested one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
    #[serde(flatten)]
    accuracy: AccuracyReport,
    /// The comparison with float32, or `None` for float32 itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    beside_f32: Option<LikenessReport>,
}

impl PrecisionsReport {
    /// Runs every sample once in float32 and once in each requested precision.
    pub(super) fn measure(
        opened: &OpenedEnsemble,
        samples: &Samples,
        asked: &[MemberPrecision],
    ) -> Result<Self> {
        let float32 = computed_in(opened, FLOAT32);
        let mut rows = AnswerRows::new(&float32.ensemble, samples.len());
        let count = graded(&float32, samples, &mut |first, answer| {
            rows.add(first, answer);
        })?;
        let others = asked.iter().filter(|&&precision| precision != FLOAT32);
        let all = std::iter::once(&FLOAT32).chain(others);
        let each = all.map(|&precision| match precision {
            FLOAT32 => Ok(PrecisionReport {
                precision,
                remarks: float32.remarks(),
                accuracy: count.report(&float32.ensemble, samples.len()),
                beside_f32: None,
            }),
            other => PrecisionReport::new(opened, samples, other, &rows),
        });
        Ok(PrecisionsReport {
            precisions: each.collect::<Result<_>>()?,
        })
    }

    /// Returns the reports of all precisions.
    pub(super) fn reports(&self) -> impl Iterator<Item = &AccuracyReport> {
        self.precisions.iter().map(|report| &report.accuracy)
    }
}

impl PrecisionsReport {
    /// Keeps the ensemble's accuracies for the questions of a console. A full disk costs only that.
    pub(super) fn keep(&self, opened: &OpenedEnsemble) {
        let Some(cache) = Cache::of_user() else {
            return;
        };
        let ensemble = &opened.ensemble;
        let each = self.precisions.iter();
        let measured: Vec<MeasuredAccuracy> =
            each.filter_map(|one| one.measured(ensemble)).collect();
        let _ = cache.store_accuracies(ensemble, &measured);
    }
}

impl Report for PrecisionsReport {
    fn text(&self) -> String {
        let each: Vec<String> = self.precisions.iter().map(PrecisionReport::text).collect();
        each.join("\n\n")
    }
}

impl PrecisionReport {
    fn new(
        opened: &OpenedEnsemble,
        samples: &Samples,
        precision: MemberPrecision,
        float32: &AnswerRows,
    ) -> Result<Self> {
        let opened = computed_in(opened, precision);
        let mut likeness = LikenessCount::compared_with(float32);
        let count = graded(&opened, samples, &mut |first, answer| {
            likeness.add(first, answer);
        })?;
        Ok(PrecisionReport {
            precision,
            remarks: opened.remarks(),
            accuracy: count.report(&opened.ensemble, samples.len()),
            beside_f32: Some(likeness.report(&opened.ensemble)),
        })
    }

    /// Returns the accuracy by the ensemble's own rule, or `None` without that rule.
    fn measured(&self, ensemble: &Ensemble) -> Option<MeasuredAccuracy> {
        let measure = Measure::main(ensemble.answers);
        let mut rules = self.accuracy.rules.iter();
        let own = rules.find(|row| row.name == ensemble.rule.name())?;
        Some(MeasuredAccuracy {
            precision: self.precision,
            measure,
            value: own.figures.get(measure.key()).copied()?,
            samples: self.accuracy.samples,
            at: unix_seconds(),
        })
    }

    fn text(&self) -> String {
        let mut said = format!("{}: {}", self.precision, self.accuracy.text());
        let likeness = self.beside_f32.iter();
        said.extend(likeness.map(|likeness| format!("\n{}", likeness.text())));
        said.extend(self.remarks.iter().map(|remark| format!("\n{remark}")));
        said
    }
}

/// Returns the ensemble with all members in one precision.
fn computed_in(opened: &OpenedEnsemble, precision: MemberPrecision) -> OpenedEnsemble {
    let mut ensemble = opened.ensemble.as_ref().clone();
    ensemble.compute_in(precision);
    OpenedEnsemble::new(ensemble, opened.devices.clone())
}
