//! Policies under demands of a task with different goals: an instance counts once for all of them.

use std::time::Duration;

use divisi_modelless::placement::{DeviceSlot, HostedInstances};
use divisi_modelless::policies::{
    ChangeRules, PlanObjective, PolicyChoice, Situation, TaskDemand, WatchedVariant,
};
use divisi_modelless::variants::{DeviceKindIndex, DeviceSharing, VariantCatalog, VariantIndex};
use proptest::prelude::*;

use crate::baselines::ComparedPolicy;
use crate::common::{Sketch, accurate, catalog, task};

/// A cheap and an accurate variant of 100 queries a second.
const CHEAP: VariantIndex = VariantIndex(0);
const ACCURATE: VariantIndex = VariantIndex(1);

fn sketches() -> [Sketch; 2] {
    let sketch = |accuracy, cost| Sketch {
        accuracy,
        cost,
        thousandths: 10,
        ..Sketch::default()
    };
    [sketch(0.9, 1.0), sketch(0.99, 2.0)]
}

/// The instances of the two variants after some seconds of constant demands on one device.
fn after(
    policy: impl Into<ComparedPolicy>,
    running: [u32; 2],
    seconds: u64,
    demands: &[TaskDemand],
) -> [u32; 2] {
    let catalog = catalog(1, vec![task("a", &sketches())]);
    after_of(&catalog, policy, running, seconds, demands)
}

fn after_of(
    catalog: &VariantCatalog,
    policy: impl Into<ComparedPolicy>,
    running: [u32; 2],
    seconds: u64,
    demands: &[TaskDemand],
) -> [u32; 2] {
    let mut hosted = HostedInstances::new(catalog, &[DeviceKindIndex(0)]);
    for (variant, count) in [CHEAP, ACCURATE].into_iter().zip(running) {
        for _ in 0..count {
            hosted.add(catalog, variant, DeviceSlot(0)).expect("room");
        }
    }
    let mut policy = policy.into().policy(PlanObjective::default());
    let watched = [WatchedVariant::UNSEEN; 2];
    for second in 0..seconds {
        let decision = policy.decide(&Situation {
            now: Duration::from_secs(second),
            rules: ChangeRules::default(),
            catalog,
            hosted: &hosted,
            demands,
            watched: &watched,
            instances: &[],
            slowdowns: &[],
        });
        let applied = hosted.apply(catalog, &decision.changes);
        applied.expect("changes that fit");
    }
    [CHEAP, ACCURATE].map(|variant| hosted.total(variant))
}

#[test]
fn goals_split_into_several_need_as_many_instances_as_together() {
    let together = [accurate(300.0, 0.98)];
    let split = [0.97, 0.98, 0.985].map(|accuracy| accurate(100.0, accuracy));
    let scales = |policy: &ComparedPolicy| {
        !matches!(
            policy,
            ComparedPolicy::Choice(PolicyChoice::Static) | ComparedPolicy::Accuracy
        )
    };
    for policy in ComparedPolicy::ALL.into_iter().filter(scales) {
        for seconds in [2, 5] {
            let instances = |demands: &[TaskDemand]| after(policy, [0, 1], seconds, demands);
            let expected = instances(&together);
            assert_eq!(expected[1], 4, "{policy:?}");
            assert_eq!(instances(&split), expected, "{policy:?}");
        }
    }
}

#[test]
fn individual_scales_the_variant_that_answers_each_goal() {
    let demands = [accurate(10.0, 0.8), accurate(300.0, 0.98)];
    let [cheap, accurate] = after(ComparedPolicy::Individual, [5, 1], 1, &demands);
    assert_eq!((cheap, accurate), (5, 4));
}

#[test]
fn infaas_keeps_the_variant_that_a_stricter_goal_needs() {
    let demands = [accurate(90.0, 0.8), accurate(90.0, 0.98)];
    for policy in [PolicyChoice::Infaas, PolicyChoice::InfaasIlp] {
        assert_eq!(after(policy, [0, 0], 30, &demands), [1, 1], "{policy:?}");
        assert_eq!(after(policy, [3, 3], 30, &demands), [1, 1], "{policy:?}");
    }
}

#[test]
fn infaas_code_loads_for_goals_that_no_running_variant_meets() {
    let demands = [accurate(10.0, 0.8), accurate(10.0, 0.98)];
    let found = after(ComparedPolicy::InfaasCode, [1, 0], 1, &demands);
    assert_eq!(found, [1, 1]);
}

#[test]
fn infaas_code_removes_from_cores_after_10_votes_and_from_gpus_after_20() {
    let mut variants = task("a", &sketches());
    for variant in &mut variants.variants {
        variant.profile.sharing = DeviceSharing::Time;
    }
    let gpus = catalog(1, vec![variants]);
    let cores = gpus.with_host(|_| true);
    let demands = [accurate(0.1, 0.98)];
    let last = |catalog: &VariantCatalog, seconds| {
        after_of(
            catalog,
            ComparedPolicy::InfaasCode,
            [0, 3],
            seconds,
            &demands,
        )[1]
    };
    assert_eq!((last(&cores, 9), last(&cores, 10)), (3, 2));
    assert_eq!((last(&gpus, 19), last(&gpus, 20)), (3, 2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn infaas_serves_all_goals_with_the_headroom_while_there_is_room(
        lax in 0.0..900.0_f64,
        strict in 0.0..900.0_f64,
    ) {
        let demands = [accurate(lax, 0.8), accurate(strict, 0.98)];
        for policy in [PolicyChoice::Infaas, PolicyChoice::InfaasIlp] {
            let [cheap, accurate] = after(policy, [0, 0], 20, &demands);
            let served = 100.0 * f64::from(accurate) + 1e-6;
            prop_assert!(served >= 1.05 * strict, "{:?}: {} of {}", policy, accurate, strict);
            let all = 100.0 * f64::from(cheap + accurate) + 1e-6;
            prop_assert!(all >= 1.05 * (lax + strict), "{:?}", policy);
            // No whole instance is left over.
            prop_assert!(all <= 1.05 * (lax + strict) + 200.0, "{:?}", policy);
        }
    }
}
