//! Tables 2 and 3 of INFaaS: the cheapest instances by its integer program.

use std::time::Duration;

use divisi_modelless::placement::HostedInstances;
use divisi_modelless::policies::{
    ChangeRules, ProgramTerms, SLACK, Situation, WatchedVariant, cheapest_plan,
};
use divisi_modelless::variants::{DeviceKindIndex, VariantIndex};

use crate::common::{catalog, demand, millis, table_two, task};

/// The instances of A, B and C that serve a rate within a goal, and their cost.
fn cheapest(rate: f64, latency_ms: f64, slack: f64) -> ([u32; 3], f64) {
    let catalog = catalog(3, vec![task("resnet50", &table_two())]);
    let hosted = HostedInstances::new(&catalog, &[0, 1, 2].map(DeviceKindIndex));
    let situation = Situation {
        now: Duration::ZERO,
        rules: ChangeRules::default(),
        catalog: &catalog,
        hosted: &hosted,
        demands: &[demand(0, rate, latency_ms, 1.0)],
        watched: &[WatchedVariant::UNSEEN; 3],
        instances: &[],
        slowdowns: &[],
    };
    let terms = ProgramTerms {
        slack,
        lambda: 0.0,
        steps: 10_000,
    };
    let plan = cheapest_plan(&situation, &terms);
    assert!(plan.is_optimal);
    // The catalogue has the cheapest query first: C, B, A.
    let counts = [2, 1, 0].map(|at| plan.hosted.total(VariantIndex(at)));
    (counts, plan.hosted.cost(&catalog))
}

#[test]
fn table_two_is_what_the_variants_do() {
    let expected = [(200.0, 5.0), (20.0, 100.0), (15.0, 800.0)];
    for (sketch, (latency, rate)) in table_two().into_iter().zip(expected) {
        let variant = sketch.variant();
        assert_eq!(variant.p99(), millis(latency));
        assert!((variant.saturation().get() - rate).abs() < 1e-9);
    }
}

#[test]
fn table_three_is_the_cheapest_without_slack() {
    assert_eq!(cheapest(10.0, 300.0, 1.0), ([2, 0, 0], 2.0));
    assert_eq!(cheapest(10.0, 50.0, 1.0), ([0, 1, 0], 3.0));
    assert_eq!(cheapest(1000.0, 300.0, 1.0), ([0, 2, 1], 22.0));
}

#[test]
fn with_the_papers_slack_of_a_twentieth_it_costs_3_3_and_25() {
    assert_eq!(cheapest(10.0, 300.0, SLACK).1, 3.0);
    assert_eq!(cheapest(10.0, 50.0, SLACK), ([0, 1, 0], 3.0));
    assert_eq!(cheapest(1000.0, 300.0, SLACK), ([0, 3, 1], 25.0));
}
