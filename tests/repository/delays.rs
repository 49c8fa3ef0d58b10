//! How long requests wait for others where models are served together.

use divisi::ensemble::PolicyKind;

use crate::common::{Written, model};

#[test]
fn models_that_are_served_together_wait_as_long_as_the_shortest_and_others_are_told() {
    let written = Written::new();
    let delay = "max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 3000 }";
    written.network("slow", "one.onnx").config("slow", delay);
    assert!(model(&written.load(), "slow").not_honoured.is_empty());
    written
        .network("fast", "one.onnx")
        .config("fast", "max_batch_size: 4");
    let report = written.load();
    let field = "dynamic_batching.max_queue_delay_microseconds";
    assert_eq!(model(&report, "slow").not_honoured, [field]);
    assert!(model(&report, "fast").not_honoured.is_empty());
    let policies = || report.models.iter().map(|model| model.ensemble.policy);
    assert_eq!(PolicyKind::joint(policies()), Some(PolicyKind::NoWait));
    assert_eq!(
        PolicyKind::joint(policies().rev()),
        Some(PolicyKind::NoWait)
    );
    // Another kind of policy is nobody's to shorten.
    let elastic = PolicyKind::Elastic { max_inf: None };
    let first = std::iter::once(elastic).chain(policies());
    assert_eq!(PolicyKind::joint(first), Some(elastic));
}
