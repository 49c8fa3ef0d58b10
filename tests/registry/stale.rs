//! Profiles that were made by other kernels, on another machine, or of other weights.

use std::sync::Arc;

use divisi_model::ensemble::{Ensemble, Files, RuleKind};
use divisi_registry::records::{MemberRecord, ModelRecord, ProfileOrigin};
use divisi_runtime::network::Weights;

use crate::common::record;

fn digits() -> Ensemble {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sample_ensembles/digits");
    Ensemble::read(&Files::from_path(folder.as_ref())).expect("the sample")
}

fn registered(ensemble: &Ensemble) -> ModelRecord {
    ModelRecord {
        members: ensemble
            .members
            .iter()
            .map(|m| MemberRecord::from_member(m))
            .collect(),
        combination: ensemble.combination(),
        origin: ProfileOrigin::here(),
        ..record(1)
    }
}

#[test]
fn profiles_of_this_program_here_hold() {
    let ensemble = digits();
    let record = registered(&ensemble);
    assert_eq!(record.stale_on(&ProfileOrigin::here()), None);
    assert_eq!(record.stale_for(&digits()), None, "read again");
}

#[test]
fn those_of_other_kernels_programs_and_processors_do_not() {
    let record = registered(&digits());
    let here = ProfileOrigin::here();
    let cases = [
        (
            ProfileOrigin {
                kernels: "kernels 0, plain".to_owned(),
                ..here.clone()
            },
            "stale_kernels",
            "but this program uses kernels 0, plain",
        ),
        (
            ProfileOrigin {
                program: "9.9.9".to_owned(),
                ..here.clone()
            },
            "stale_program",
            "this is divisi 9.9.9",
        ),
        (
            ProfileOrigin {
                is_debug: !here.is_debug,
                ..here.clone()
            },
            "stale_program",
            "unoptimised",
        ),
        (
            ProfileOrigin {
                processor: "another".to_owned(),
                ..here.clone()
            },
            "stale_processor",
            "this is another",
        ),
    ];
    for (origin, code, said) in cases {
        let why = record.stale_on(&origin).expect(code);
        assert_eq!(why.code(), code);
        assert!(why.to_string().contains(said), "{why}");
    }
}

#[test]
fn other_weights_members_and_rules_are_found() {
    let record = registered(&digits());
    let mut other = digits();
    let member = Arc::make_mut(&mut other.members[3]);
    member.weights = Arc::new(Weights::synthetic(&member.graph, 7));
    let why = record.stale_for(&other).expect("other weights");
    assert_eq!(why.code(), "stale_weights");
    assert!(why.to_string().contains("`res-s`"), "{why}");
    let mut fewer = digits();
    fewer.members.pop();
    assert_eq!(
        record.stale_for(&fewer).expect("fewer").code(),
        "stale_members"
    );
    let mut voting = digits();
    voting.rule = RuleKind::MajorityVote;
    assert_eq!(
        record.stale_for(&voting).expect("a rule").code(),
        "stale_combination"
    );
}
