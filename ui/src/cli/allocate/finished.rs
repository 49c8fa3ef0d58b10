//! A finished search of `divisi allocate`.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use divisi_engine::search::{Control, Gap, Objective, SearchError, SearchJob, SearchResult};
use divisi_model::wall_clock::unix_seconds;

use super::report::{EntryRow, LatencyRow, SearchReport};
use crate::cli::open::OpenedEnsemble;
use crate::cli::output::device_rows;
use crate::cli::predicted::PredictedRow;
use crate::cli::tables::MatrixReport;

/// The parts of a result that rank it.
pub(super) struct Merit {
    pub(super) meets_goal: bool,
    /// The p99 at the goal's rate, if the search determined it.
    pub(super) p99: Option<Duration>,
    pub(super) score: f64,
}

impl Merit {
    /// Returns whether this result is better: it meets the goal and the other does not, or has a
    /// lower p99 or a higher score.
    pub(super) fn is_better(&self, other: &Merit, objective: Objective) -> bool {
        let p99 = |merit: &Merit| merit.p99.unwrap_or(Duration::MAX);
        match (self.meets_goal.cmp(&other.meets_goal), objective) {
            (Ordering::Equal, Objective::Latency) if p99(self) != p99(other) => {
                p99(self) < p99(other)
            }
            (Ordering::Equal, _) => self.score > other.score,
            (met, _) => met == Ordering::Greater,
        }
    }
}

/// A finished search and its result.
pub(super) struct SearchRun {
    pub(super) job: SearchJob,
    pub(super) found: SearchResult,
    pub(super) cached: bool,
    pub(super) profiled: usize,
    pub(super) elapsed_s: f64,
}

impl SearchRun {
    pub(super) fn is_better(&self, other: &SearchRun) -> bool {
        let objective = self.job.method.goal.objective;
        self.merit().is_better(&other.merit(), objective)
    }

    fn merit(&self) -> Merit {
        Merit {
            meets_goal: self.found.shortfall.is_none(),
            p99: self.found.latency.map(|latency| latency.p99),
            score: self.found.score,
        }
    }

    pub(super) fn measure_again(&mut self, control: &Arc<Control>) -> Result<()> {
        let found = self.job.again(self.found.clone(), control);
        match found {
            Ok(found) => self.found = found,
            // Earlier results stand, and the report shows the cancellation.
            Err(SearchError::Stopped(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    pub(super) fn report(self, opened: &OpenedEnsemble, control: &Control) -> SearchReport {
        let (found, method) = (self.found, self.job.method);
        SearchReport {
            ensemble: opened.ensemble.name.clone(),
            mix: opened.mix(),
            algorithm: method.algorithm.name(),
            evaluator: method.evaluator_on(&opened.devices),
            policy: opened.ensemble.policy.to_string(),
            goal: method.goal.to_string(),
            devices: device_rows(&opened.devices),
            precision: opened.precision(),
            placed: MatrixReport::new(&found.matrix),
            gap: match found.gap() {
                Some(Gap::Lacks(share)) => Some(share),
                _ => None,
            },
            above_bound: match found.gap() {
                Some(Gap::Exceeds(share)) => Some(share),
                _ => None,
            },
            predicted: found.predicted.map(PredictedRow::new),
            steady: found.steady.map(|s| s.samples_per_s),
            steady_error: found.steady.and_then(|s| s.doubt.error()),
            bound: found.bound,
            latency_us: found.latency.map(LatencyRow::from_latency),
            measured_us: None,
            latency_by_model: found.by_entry.iter().map(EntryRow::from_latency).collect(),
            shortfall: found.shortfall,
            score: found.score,
            score_error: found.doubt.error(),
            score_doubt: found.doubt.to_string(),
            start_score: found.start_score,
            start_error: found.start_doubt.error(),
            start_doubt: found.start_doubt.to_string(),
            gain: found.gain,
            evaluations: found.evaluations,
            iterations: found.iterations,
            coverage: found.coverage,
            elapsed_s: self.elapsed_s,
            seed: method.bounds.seed,
            profiled: self.profiled,
            simulated: opened.devices.is_simulated(),
            synthetic: opened.ensemble.is_synthetic(),
            cached: self.cached,
            disturbed: found.occasion.is_some_and(|at| at.disturbed == Some(true)),
            occasion: found.occasion.map(|at| at.in_words(unix_seconds())),
            cancelled: control.is_cancelled(),
            precisions: None,
            repeat: None,
            partitionings: Vec::new(),
        }
    }
}
