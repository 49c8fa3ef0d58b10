//! Each policy, by what it does to a few variants and why.

use std::time::Duration;

use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::policies::{
    ActionOutcome, ChangeRules, PlanObjective, Policy, PolicyChoice, PolicyDecision, ScalingAction,
    Situation, TaskDemand, WatchedVariant,
};
use divisi_modelless::variants::{DeviceKindIndex, VariantCatalog, VariantIndex};
use proptest::prelude::*;

use crate::baselines::ComparedPolicy;
use crate::common::{Sketch, catalog, demand, table_two, task};

/// A machine on which a policy decides once a second.
struct PolicyBed {
    catalog: VariantCatalog,
    hosted: HostedInstances,
    policy: Box<dyn Policy>,
    now: Duration,
}

impl PolicyBed {
    /// Table 2's variants, of which these run.
    fn new(policy: impl Into<ComparedPolicy>, running: &[u32]) -> Self {
        let catalog = catalog(3, vec![task("resnet50", &table_two())]);
        let mut hosted = HostedInstances::new(&catalog, &[0, 1, 2].map(DeviceKindIndex));
        for variant in running {
            let kind = catalog.variant(VariantIndex(*variant)).device;
            hosted
                .add(&catalog, VariantIndex(*variant), DeviceSlot(kind.0))
                .expect("room");
        }
        PolicyBed {
            catalog,
            hosted,
            policy: policy.into().policy(PlanObjective::default()),
            now: Duration::ZERO,
        }
    }

    fn decide(&mut self, demands: &[TaskDemand]) -> PolicyDecision {
        let watched = vec![WatchedVariant::UNSEEN; self.catalog.variants().len()];
        let decision = self.policy.decide(&Situation {
            now: self.now,
            rules: ChangeRules::default(),
            catalog: &self.catalog,
            hosted: &self.hosted,
            demands,
            watched: &watched,
            instances: &[],
            slowdowns: &[],
        });
        self.hosted
            .apply(&self.catalog, &decision.changes)
            .expect("changes that fit");
        self.now += Duration::from_secs(1);
        decision
    }

    /// The instances of A, B and C after some seconds of a load.
    fn after(&mut self, seconds: u32, rate: f64, latency_ms: f64) -> [u32; 3] {
        for _ in 0..seconds {
            self.decide(&[demand(0, rate, latency_ms, 10.0)]);
        }
        // The catalogue has the cheapest query first: C, B, A cost 0.02, 0.03 and 0.2.
        [2, 1, 0].map(|at| self.hosted.total(VariantIndex(at)))
    }
}

const A: u32 = 2;
const B: u32 = 1;

#[test]
fn static_changes_nothing() {
    let mut bed = PolicyBed::new(PolicyChoice::Static, &[A]);
    assert_eq!(bed.after(60, 1000.0, 300.0), [1, 0, 0]);
}

#[test]
fn individual_replicates_the_chosen_variant_alone_and_lets_go_after_its_loading_time() {
    let mut bed = PolicyBed::new(ComparedPolicy::Individual, &[A]);
    assert_eq!(bed.after(1, 50.0, 300.0), [11, 0, 0]);
    // One a second and a half at the most: its loading takes a second.
    assert_eq!(bed.after(1, 10.0, 300.0), [11, 0, 0]);
    assert_eq!(bed.after(40, 10.0, 300.0), [3, 0, 0]);
}

#[test]
fn infaas_ilp_runs_the_instances_of_table_three_with_the_slack() {
    for (rate, latency_ms, expected) in [
        // Three A cost as much, and take longer to load.
        (10.0, 300.0, [0, 1, 0]),
        (10.0, 50.0, [0, 1, 0]),
        (1000.0, 300.0, [0, 3, 1]),
    ] {
        let mut bed = PolicyBed::new(PolicyChoice::InfaasIlp, &[]);
        assert_eq!(bed.after(1, rate, latency_ms), expected, "{rate} a second");
    }
}

#[test]
fn infaas_upgrades_where_that_costs_less_and_downgrades_after_the_hold_off() {
    let mut bed = PolicyBed::new(PolicyChoice::Infaas, &[A]);
    // 200 a second: 41 more A, 3 B or one C.
    let decision = bed.decide(&[demand(0, 200.0, 300.0, 10.0)]);
    let taken = decision
        .considered
        .iter()
        .find(|c| c.outcome == ActionOutcome::Taken);
    let taken = taken.expect("one").action;
    assert_eq!(taken, ScalingAction::Switch(VariantIndex(B), 3));
    let considered = decision.considered.iter();
    let rejected = considered.filter(|c| c.outcome != ActionOutcome::Taken);
    let beaten: Vec<_> = rejected.map(|c| (c.action, c.outcome)).collect();
    let (c, a) = (
        ScalingAction::Switch(VariantIndex(0), 1),
        ScalingAction::Replicate(VariantIndex(A), 41),
    );
    assert_eq!(
        beaten,
        [(c, ActionOutcome::Beaten), (a, ActionOutcome::Beaten)]
    );
    let quiet = bed.after(30, 4.0, 300.0);
    assert_eq!(quiet, [1, 0, 0], "the cheapest that serves 4 a second");
}

#[test]
fn divisi_moves_to_what_table_three_says_and_back() {
    let mut bed = PolicyBed::new(PolicyChoice::Divisi, &[A]);
    let busy = bed.after(2, 1000.0, 300.0);
    assert!(busy[1] >= 3 && busy[2] >= 1, "{busy:?}");
    let quiet = bed.after(30, 4.0, 300.0);
    assert_eq!(quiet[2], 0, "{quiet:?}");
    assert!(quiet[0] + quiet[1] >= 1, "{quiet:?}");
}

#[test]
fn accuracy_gives_up_accuracy_before_requests() {
    // One device: an accurate variant of 100 a second, a fast one of 400.
    let accurate = Sketch {
        accuracy: 0.9,
        thousandths: 500,
        ..Sketch::default()
    };
    let fast = Sketch {
        accuracy: 0.7,
        latency_ms: 2.5,
        thousandths: 500,
        ..Sketch::default()
    };
    let catalog = catalog(1, vec![task("a", &[accurate, fast])]);
    let hosted = HostedInstances::new(&catalog, &[DeviceKindIndex(0)]);
    let watched = [WatchedVariant::UNSEEN; 2];
    let mut found = Vec::new();
    for rate in [150.0, 300.0, 700.0] {
        let demands = [demand(0, rate, 1000.0, 1.0)];
        let decision = ComparedPolicy::Accuracy
            .policy(PlanObjective::default())
            .decide(&Situation {
                now: Duration::ZERO,
                rules: ChangeRules::default(),
                catalog: &catalog,
                hosted: &hosted,
                demands: &demands,
                watched: &watched,
                instances: &[],
                slowdowns: &[],
            });
        let mut after = hosted.clone();
        after
            .apply(&catalog, &decision.changes)
            .expect("changes that fit");
        // The fast one's query is cheaper: it is the first.
        found.push([1, 0].map(|at| after.total(VariantIndex(at))));
    }
    assert_eq!(found, [[2, 0], [1, 1], [0, 2]]);
}

#[test]
fn the_codes_infaas_goes_by_loading_time_and_not_by_cost() {
    let mut bed = PolicyBed::new(ComparedPolicy::InfaasCode, &[A]);
    // 40 more A load 40 s together, 2 B load 2 s.
    let busy = bed.after(1, 195.0, 300.0);
    assert_eq!(busy, [1, 2, 0]);
}

#[test]
fn policies_are_known_by_their_names() {
    let names = PolicyChoice::ALL.map(PolicyChoice::name);
    assert_eq!(names, ["static", "infaas", "infaas-ilp", "divisi"]);
    for choice in PolicyChoice::ALL {
        assert_eq!(PolicyChoice::named(choice.name()), Some(choice));
    }
    assert_eq!(PolicyChoice::named("infass"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn divisi_takes_nothing_away_while_it_loads_for_the_same_task(
        rates in prop::collection::vec(0.0..3000.0_f64, 1..12),
        latency in 10.0..400.0_f64,
    ) {
        let mut bed = PolicyBed::new(PolicyChoice::Divisi, &[A, B]);
        for rate in &rates {
            let changes = bed.decide(&[demand(0, *rate, latency, 1.0)]).changes;
            let comes = changes.iter().any(|change| change.instances > 0);
            let leaves = changes.iter().any(|change| change.instances < 0);
            prop_assert!(!(comes && leaves), "{:?}", changes);
        }
    }

    #[test]
    fn changes_of_every_policy_fit_under_any_load(
        rates in prop::collection::vec(0.0..3000.0_f64, 1..12),
        latency in 10.0..400.0_f64,
    ) {
        for policy in ComparedPolicy::ALL {
            let mut bed = PolicyBed::new(policy, &[A, B]);
            for rate in &rates {
                // `decide` applies the changes and stops at the first that does not fit.
                bed.decide(&[demand(0, *rate, latency, 1.0)]);
            }
        }
    }
}
