//! Unit tests of `src/inference/protocol/near.rs`.

use super::meant;

#[test]
fn near_names_mean_a_goal() {
    for (name, goal) in [
        ("latency", "latency_ms"),
        ("latencyMs", "latency_ms"),
        ("latency-ms", "latency_ms"),
        ("max_latency", "latency_ms"),
        ("lantency_ms", "latency_ms"),
        ("Accuracy", "accuracy"),
        ("min_accuracy", "accuracy"),
        ("acuracy", "accuracy"),
        ("accuarcy", "accuracy"),
        ("cost", "max_cost"),
        ("MaxCost", "max_cost"),
        ("Prefer", "prefer"),
        ("preference", "prefer"),
        ("perfer", "prefer"),
        ("Task", "task"),
        ("task_name", "task"),
        ("latencyms", "latency_ms"),
        ("minaccuracy", "accuracy"),
        ("accuracies", "accuracy"),
        ("accurate", "accuracy"),
        ("maxcost", "max_cost"),
        ("preferred", "prefer"),
    ] {
        assert_eq!(meant(name), Some(goal), "{name}");
    }
}

#[test]
fn other_names_are_left_alone() {
    for name in [
        "accuracy",
        "latency_ms",
        "max_cost",
        "prefer",
        "task",
        "mask",
        "ask",
        "priority",
        "timeout",
        "sequence_id",
        "binary_data_output",
        "max_tokens",
        "temperature",
        "host",
        "frequency",
        "request_id",
        "",
        "ü",
    ] {
        assert_eq!(meant(name), None, "{name}");
    }
}
