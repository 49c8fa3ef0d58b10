//! Models that are served together, each with its own delay.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::serving::{
    Arrival, Core, CoreConfig, Discipline, DoorState, Next, PipelineConfig, PipelineIndex,
    WorkerSpec,
};
use divisi_model::catalogue::{Catalogue, Interface, NewEntry};
use divisi_model::dataflow::{Dataflow, FlowStep, RowJoin, StepWork};
use divisi_model::ensemble::{
    BatchSize, Ensemble, MemberPolicy, MemberPrecision, PolicyKind, Wait,
};
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use crate::common::digits;

const LONG: PolicyKind = PolicyKind::OptWait {
    wait: Wait::millis(20),
};
const SHORT: PolicyKind = PolicyKind::OptWait {
    wait: Wait::millis(2),
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Two models on a device each; the second has its own delay.
fn two_models() -> Core<()> {
    two_models_with(SHORT.into())
}

/// The same, the second with a policy of its own.
fn two_models_with(short: MemberPolicy) -> Core<()> {
    let step = |member| FlowStep {
        work: StepWork::Model {
            member: MemberIndex::new(member),
            plane: 0,
        },
        needs: [].into(),
        join: RowJoin::All,
    };
    let pipeline = |member| PipelineConfig {
        queueing: None,
        flow: Arc::new(Dataflow::new(vec![step(member)], &[0]).expect("a step")),
        extents: 4,
        slots: 8,
    };
    let mut core = Core::new(CoreConfig {
        devices: vec![Discipline::OneAtATime; 2],
        members: 2,
        pipelines: vec![pipeline(0), pipeline(1)],
        segment: 8,
        policy: LONG,
        own_policies: vec![None, Some(short)],
    });
    core.door().set(DoorState::Open);
    for number in 0..2 {
        let spec = WorkerSpec {
            id: core.new_worker(),
            device: DeviceIndex::new(number),
            member: MemberIndex::new(number),
            size: BatchSize::new(8).expect("a size"),
            precision: MemberPrecision::default(),
        };
        core.add_worker(ms(0), spec);
    }
    core
}

/// Asks both models for one sample; returns until when their devices sleep.
fn asked(core: &mut Core<()>) -> [Option<Duration>; 2] {
    for pipeline in 0..2 {
        let arrival = Arrival {
            pipeline: PipelineIndex(pipeline),
            ..Arrival::with_samples(1)
        };
        let admitted = core.admit(ms(0), arrival, |_| ()).expect("let in");
        core.enqueue(ms(0), admitted.request);
    }
    [0, 1].map(|device| match core.next(ms(0), DeviceIndex::new(device)) {
        Next::Sleep(until) => until,
        _ => panic!("device {device} does not wait"),
    })
}

#[test]
fn each_model_waits_as_long_as_it_says() {
    let mut core = two_models();
    assert!(core.has_own_policies());
    assert_eq!(asked(&mut core), [Some(ms(20)), Some(ms(2))]);
}

#[test]
fn a_policy_that_is_chosen_is_for_all_until_it_is_taken_back() {
    let mut core = two_models();
    let chosen = PolicyKind::OptWait {
        wait: Wait::millis(7),
    };
    core.set_policy(ms(0), chosen);
    assert!(!core.has_own_policies());
    assert_eq!(asked(&mut core), [Some(ms(7)); 2]);
    let mut core = two_models();
    core.set_policy(ms(0), chosen);
    core.set_policy(ms(0), LONG);
    assert_eq!(asked(&mut core), [Some(ms(20)), Some(ms(2))]);
}

#[test]
fn a_member_of_several_models_waits_as_the_shortest_of_them() {
    let entry = |name: &str, ensemble: &Arc<Ensemble>| NewEntry {
        name: name.into(),
        ..NewEntry::from_ensemble(Arc::clone(ensemble), Interface::default())
    };
    let under = |ensemble: &Ensemble, policy| Ensemble {
        policy,
        ..ensemble.clone()
    };
    let catalogue = |policies: [PolicyKind; 2]| {
        let first = Arc::new(under(&digits(), policies[0]));
        // The same members.
        let second = Arc::new(under(&first, policies[1]));
        Catalogue::new("all", vec![entry("a", &first), entry("b", &second)]).expect("a catalogue")
    };
    let both = catalogue([LONG, SHORT]);
    assert_eq!(both.models().policy, LONG);
    assert!(
        both.own_policies()
            .iter()
            .all(|own| *own == Some(SHORT.into()))
    );
    assert!(catalogue([LONG, LONG]).own_policies().is_empty());
    let elastic = PolicyKind::Elastic { max_inf: None };
    assert!(catalogue([elastic, SHORT]).own_policies().is_empty());
}

#[test]
fn as_many_samples_as_a_model_prefers_wait_for_no_others() {
    let preferred = MemberPolicy {
        kind: SHORT,
        enough: BatchSize::new(4),
    };
    for (samples, starts) in [(3, false), (4, true), (5, true), (8, true)] {
        let mut core = two_models_with(preferred);
        let arrival = Arrival {
            pipeline: PipelineIndex(1),
            ..Arrival::with_samples(samples)
        };
        let admitted = core.admit(ms(0), arrival, |_| ()).expect("let in");
        core.enqueue(ms(0), admitted.request);
        let next = core.next(ms(0), DeviceIndex::new(1));
        assert_eq!(matches!(next, Next::Run(_)), starts, "{samples} samples");
    }
}
