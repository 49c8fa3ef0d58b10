//! How long requests wait for others where models are served together.

use divisi_model::ensemble::PolicyKind;

use crate::common::{Written, model};

#[test]
fn models_that_are_served_together_have_each_its_own_delay() {
    let written = Written::new();
    let delay = "max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 3000 }";
    written.network("slow", "one.onnx").config("slow", delay);
    written
        .network("fast", "one.onnx")
        .config("fast", "max_batch_size: 4");
    let report = written.load();
    let slow = model(&report, "slow").ensemble.policy;
    assert!(
        report
            .models
            .iter()
            .all(|model| model.not_honoured.is_empty())
    );
    let policies = || report.models.iter().map(|model| model.ensemble.policy);
    assert_eq!(PolicyKind::common(policies()), Some(slow));
    assert_eq!(PolicyKind::common(policies().rev()), Some(slow));
    // Another kind of policy is nobody's to shorten.
    let elastic = PolicyKind::Elastic { max_inf: None };
    let first = std::iter::once(elastic).chain(policies());
    assert_eq!(PolicyKind::common(first), Some(elastic));
}

#[test]
fn a_delay_beside_another_kind_of_policy_does_not_count_and_that_is_told() {
    let written = Written::new();
    let delay = "max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 3000 }";
    written.network("slow", "one.onnx").config("slow", delay);
    let manifest = "name = \"other\"\nclasses = 2\npolicy = { kind = \"elastic\" }\n[input]\nshape = [4]\n\
                    [[members]]\nname = \"a\"\n\
                    network = { builder = \"perceptron\", hidden = [8] }\n";
    written.file("other/ensemble.toml", manifest);
    let field = "dynamic_batching.max_queue_delay_microseconds";
    assert_eq!(model(&written.load(), "slow").not_honoured, [field]);
}
