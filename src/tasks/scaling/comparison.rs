//! Simulates other policies with the queries of the last minutes.

use std::time::Duration;

use divisi_modelless::demands::QueryStream;
use divisi_modelless::fleet::{FleetRecord, FleetScenario, QueryArrival, WorkerKind, simulate};
use divisi_modelless::jobs::JobRules;
use divisi_modelless::placement::HostedInstances;
use divisi_modelless::policies::PolicyChoice;
use divisi_modelless::quantities::{COST_QUERIES, CostRate};
use divisi_modelless::states::StateThresholds;
use divisi_modelless::variants::Variant;
use divisi_session::PolicyOutcome;

use super::planned::{OBJECTIVE, PlannedVariants, RULES};
use crate::routing::AskedQueries;

/// The time over which policies are compared.
pub(super) const WINDOW: Duration = Duration::from_secs(300);

/// The queries of a window, and the machine that received them.
pub(super) struct PolicyTrial {
    planned: PlannedVariants,
    initial: HostedInstances,
    streams: Vec<QueryStream>,
    arrivals: Vec<QueryArrival>,
    over: Duration,
}

impl PolicyTrial {
    /// Takes the queries between two times, and the instances at the first one. Returns `None`
    /// without queries.
    pub(super) fn new(
        planned: PlannedVariants,
        initial: HostedInstances,
        asked: AskedQueries,
        from: Duration,
        until: Duration,
    ) -> Option<Self> {
        let arrivals = asked.arrivals.into_iter();
        let arrivals: Vec<QueryArrival> = arrivals
            .filter(|arrival| (from..=until).contains(&arrival.at))
            .map(|arrival| QueryArrival {
                at: arrival.at - from,
                ..arrival
            })
            .collect();
        (!arrivals.is_empty()).then(|| PolicyTrial {
            streams: asked.streams.iter().map(|s| planned.stream(s)).collect(),
            planned,
            initial,
            arrivals,
            over: until.saturating_sub(from),
        })
    }

    /// Returns the time over which the queries arrived, and their number.
    pub(super) fn size(&self) -> (Duration, u64) {
        (self.over, self.arrivals.len() as u64)
    }

    /// Returns the outcome of a policy.
    pub(super) fn outcome(&self, policy: PolicyChoice) -> PolicyOutcome {
        let record = simulate(&self.scenario(policy));
        let cost = self.mean(&record, |variant| variant.query_cost().get());
        PolicyOutcome {
            policy: policy.name().to_owned(),
            missed: record.missed(),
            cost: COST_QUERIES * self.planned.money(cost),
            accuracy: self.mean(&record, |variant| variant.accuracy.value().get()),
            changes: changes(&record),
        }
    }

    /// Returns the mean of a figure over the answering variants.
    fn mean(&self, record: &FleetRecord, figure: impl Fn(&Variant) -> f64) -> f64 {
        let answers = record.queries.iter().filter_map(|query| query.answer);
        let figures = answers.map(|(variant, _)| figure(self.planned.catalog().variant(variant)));
        let (sum, count) = figures.fold((0.0, 0_u32), |(sum, n), figure| (sum + figure, n + 1));
        sum / f64::from(count.max(1))
    }

    fn scenario(&self, policy: PolicyChoice) -> FleetScenario {
        let devices = self.initial.devices();
        let initial = self.initial.devices().flat_map(|device| {
            let hosted = self.initial.hosted_on(device);
            let each = hosted.flat_map(move |(variant, count)| {
                std::iter::repeat_n((variant, device), usize::from(count))
            });
            each.collect::<Vec<_>>()
        });
        FleetScenario {
            workers: vec![WorkerKind {
                devices: devices.map(|device| self.initial.kind(device)).collect(),
                price: CostRate::FREE,
                starting: Duration::ZERO,
                initial: 1,
                most: 1,
            }],
            initial: initial.collect(),
            catalog: self.planned.catalog().clone(),
            streams: self.streams.clone(),
            arrivals: self.arrivals.clone(),
            jobs: Vec::new(),
            disturbances: Vec::new(),
            policy,
            objective: OBJECTIVE,
            rules: RULES,
            refuses_late: true,
            thresholds: StateThresholds::default(),
            job_rules: JobRules::default(),
            end: self.over,
        }
    }
}

/// Returns the number of decisions that changed instances.
fn changes(record: &FleetRecord) -> u64 {
    let ticks = record.ticks.iter();
    ticks
        .filter(|tick| !tick.decision.changes.is_empty())
        .count() as u64
}
