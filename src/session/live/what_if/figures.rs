//! The figures of a case: throughput by the model, latency and load of devices by simulation.
//!
//! The interval of a throughput is carried over to latencies: the case is simulated with all batches
//! as slow and as fast as the ends of the interval imply. Once enough predicted latencies were
//! measured, their errors determine the interval instead.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use divisi_engine::load::LoadPattern;
use divisi_engine::search::model::{Batching, ModelEvaluator, Rates};
use divisi_engine::search::{
    Cache, Correction, MeasuredAccuracy, Predicted, PredictionLedger, Rehearsal, Rehearsed,
    SearchError, extend_matrix,
};
use divisi_model::allocation::{Footprints, Matrix};
use divisi_model::ensemble::Ensemble;

use crate::{BusyShare, DeviceForecast, P99Outlook};

/// A case to compute.
pub(super) struct CaseWork {
    /// The case without its last device's workers, if it has one more device.
    pub rehearsal: Rehearsal,
    /// Whether workers are added on the last device.
    pub extends: bool,
    /// The rows that each member runs for a requested sample.
    pub rows: Vec<f64>,
    /// The memory of workers.
    pub footprints: Arc<Footprints>,
    /// The correction of throughputs by past errors.
    pub throughput: Correction,
    /// The correction of latencies by past errors.
    pub p99: Correction,
    /// The load, or the reason why no latency can be predicted.
    pub load: Result<LoadPattern, String>,
    /// The samples that may wait.
    pub pool: usize,
    /// The cache to look for measured accuracies of an ensemble in, if its precisions change.
    pub accuracies: Option<(Cache, Arc<Ensemble>)>,
}

/// The figures of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    /// The samples per second at capacity, or the reason why they are unknown.
    pub throughput: Option<Result<Predicted, String>>,
    /// The latency.
    pub p99: Option<P99Outlook>,
    /// The latency before its correction by past errors, in seconds.
    pub modelled_p99: Option<f64>,
    /// The busy share of each device: predicted, low, high.
    pub busy: Vec<BusyShare>,
    /// The matrix that would run.
    pub matrix: Option<Matrix>,
    /// The measured accuracies by precision, if the precisions change.
    pub accuracies: Vec<MeasuredAccuracy>,
}

/// The runs of a case with batches as expected, as fast and as slow as they may be.
struct Runs {
    expected: Rehearsed,
    fast: Rehearsed,
    slow: Rehearsed,
}

impl CaseWork {
    /// Computes the figures. They are meaningless once `stop` is set.
    pub(super) fn figures(mut self, stop: &Arc<AtomicBool>) -> Figures {
        let accuracies = self.accuracies.take();
        let accuracies = accuracies.map(|(cache, ensemble)| cache.accuracies(&ensemble));
        Figures {
            accuracies: accuracies.unwrap_or_default(),
            ..self.performance(stop)
        }
    }

    fn performance(mut self, stop: &Arc<AtomicBool>) -> Figures {
        let throughput = match self.throughput() {
            Ok(throughput) => throughput,
            Err(why) => return Figures::unknown(why.to_string()),
        };
        let mut figures = Figures {
            throughput: Some(Ok(throughput)),
            matrix: Some(self.rehearsal.matrix.clone()),
            ..Figures::default()
        };
        match self.runs(stop) {
            Ok(Some(runs)) => self.add(&mut figures, &runs),
            Ok(None) => {}
            Err(why) => figures.p99 = Some(P99Outlook::Unknown(why)),
        }
        figures
    }

    /// Returns the throughput, after adding workers on a further device.
    fn throughput(&mut self) -> Result<Predicted, SearchError> {
        let Rehearsal {
            demand,
            devices,
            matrix,
            costs,
            slowdown,
        } = &self.rehearsal;
        let footprints = match self.extends {
            true => Footprints::plan_catalogue(demand.catalogue(), devices),
            false => Footprints::clone(&self.footprints),
        };
        let frame = divisi_model::allocation::Frame {
            devices: devices.names(),
            ..matrix.frame().as_ref().clone()
        };
        let batching = Batching::from_ensemble(demand.models());
        let rates = Rates::slowed(&frame, devices, costs, batching, slowdown);
        let rates = rates.demanding(&self.rows);
        let mut model = ModelEvaluator::from_rates(rates, devices, footprints.clone());
        if self.extends {
            self.rehearsal.matrix = extend_matrix(matrix, devices, &footprints, &mut model)?;
        }
        let modelled = model.throughput(&self.rehearsal.matrix);
        Ok(self.throughput.apply(modelled))
    }

    fn runs(&self, stop: &Arc<AtomicBool>) -> Result<Option<Runs>, String> {
        let load = self.load.as_ref().map_err(String::clone)?;
        let Correction { factor, spread, .. } = self.throughput;
        let run = |slower: f64| {
            let run = self.rehearsal.serve(load, slower / factor, stop);
            run.map_err(|error| error.to_string())
        };
        let runs = [run(1.0)?, run(1.0 / spread)?, run(spread)?];
        Ok(match runs {
            [Some(expected), Some(fast), Some(slow)] => Some(Runs {
                expected,
                fast,
                slow,
            }),
            _ => None,
        })
    }

    fn add(&self, figures: &mut Figures, runs: &Runs) {
        let shares = runs.expected.busy.iter().zip(&runs.fast.busy);
        let shares = shares.zip(&runs.slow.busy);
        let busy = shares.map(|((share, fast), slow)| BusyShare {
            share: *share,
            low: share.min(*fast),
            high: share.max(*slow),
        });
        figures.busy = busy.collect();
        figures.modelled_p99 = runs.expected.p99.map(|p99| p99.as_secs_f64());
        figures.p99 = Some(match runs.expected.p99 {
            Some(p99) => self.known(p99, runs),
            None => self.grows(&runs.expected),
        });
    }

    fn known(&self, p99: Duration, runs: &Runs) -> P99Outlook {
        let Correction {
            factor,
            spread,
            errors,
            ..
        } = self.p99;
        if errors >= PredictionLedger::ENOUGH {
            let p99 = p99.mul_f64(factor);
            return P99Outlook::Known {
                p99,
                low: p99.div_f64(spread),
                high: Some(p99.mul_f64(spread)),
            };
        }
        P99Outlook::Known {
            p99,
            low: runs.fast.p99.map_or(p99, |fast| fast.min(p99)),
            high: runs.slow.p99.map(|slow| slow.max(p99)),
        }
    }

    /// Returns the growth of the queue of a case that does not keep up.
    fn grows(&self, run: &Rehearsed) -> P99Outlook {
        let rate = match &self.load {
            Ok(LoadPattern::Poisson { rate } | LoadPattern::Steady { rate }) => rate.get(),
            _ => return P99Outlook::Unknown("requests arrive faster than they are served".into()),
        };
        let growth = (rate - run.samples_per_s).max(rate * LEAST_GROWTH);
        P99Outlook::Grows {
            samples_per_s: growth,
            full_after: Duration::from_secs_f64(self.pool as f64 / growth),
        }
    }
}

/// The least growth of a queue as a share of the rate, for a load close to the capacity.
const LEAST_GROWTH: f64 = 1e-3;

impl Figures {
    /// Returns figures that are unknown for a reason.
    pub(super) fn unknown(why: String) -> Self {
        Figures {
            p99: Some(P99Outlook::Unknown(why.clone())),
            throughput: Some(Err(why)),
            ..Figures::default()
        }
    }

    /// Returns the load of each device.
    pub(super) fn devices(&self, names: &[String]) -> Vec<DeviceForecast> {
        let busy = self.busy.iter().copied().map(Some);
        let busy = busy.chain(std::iter::repeat(None));
        let both = names.iter().zip(busy);
        both.map(|(name, busy)| DeviceForecast {
            name: name.clone(),
            busy,
        })
        .collect()
    }

    /// Returns the cost of a million samples at capacity with its interval.
    pub(super) fn per_million(&self, per_hour: f64) -> Option<(f64, f64, f64)> {
        let rate = self.throughput.as_ref()?.as_ref().ok()?;
        let cost = |samples_per_s: f64| 1e6 * per_hour / (3600.0 * samples_per_s);
        (rate.low > 0.0).then(|| (cost(rate.samples_per_s), cost(rate.high), cost(rate.low)))
    }
}
