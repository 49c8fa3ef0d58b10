//! Answers of a GPU are searched for flaws as those of partitions are.

use std::sync::Arc;

use divisi_engine::serving::{Detail, Failure, FlawKind, Request};
use divisi_model::ensemble::{Combination, RuleKind};
use divisi_runtime::device::MemberIndex;

use crate::common::set_combination;
use crate::flaws::not_finite;
use crate::gpu_bed::Bed;
use crate::spoilt::{BAD, GOOD, Spoilt};

#[test]
fn nan_from_a_gpu_fails_its_request_and_names_the_member_under_every_rule() {
    let folder = Spoilt::new(|manifest| manifest);
    let ensemble = Arc::new(folder.read().expect("valid"));
    let bed = Bed::of(ensemble, &["cuda:0"]);
    let engine = bed.start();
    let values = [GOOD, BAD, GOOD].concat();
    for rule in RuleKind::OF_CLASSES {
        let combination = Combination {
            rule,
            ..bed.ensemble.combination()
        };
        set_combination(&engine, combination).expect("suits");
        let outcome = engine.predict(Request::new(&values)).expect("let in");
        let expected = Failure::NotFinite(vec![not_finite("spoilt", 1)]);
        assert_eq!(outcome, Err(expected), "{rule:?}");
        let request = Request::new(&values).detailed(Detail::Members);
        let answer = engine.predict(request).expect("let in").expect("marked");
        let labels: Vec<_> = answer.classes().collect();
        assert_eq!(labels, [Some(0), None, Some(0)], "{rule:?}");
        let flaws: Vec<_> = answer.flaws().iter().map(|f| (f.member, f.kind)).collect();
        assert_eq!(flaws, [(MemberIndex::new(1), FlawKind::NotFinite)]);
        assert!(
            answer
                .member_rows(MemberIndex::new(0))
                .flatten()
                .all(|p| p.is_finite())
        );
    }
}
