//! The batching policy.

use divisi::ensemble::PolicyKind;

use super::{Form, FormChoice, FormField, FormKind};
use crate::model::Setting;

/// When it helps, said where it is chosen.
const ELASTIC: &str = "Helps where lanes run side by side (GPUs); on CPU partitions it is no-wait. \
     MaxInf bounds samples in execution on a device.";
const PIPELINED: &str = "Tells what overlapping copies brings from what elastic brings; \
     on CPU partitions it is opt-wait.";

impl Form {
    /// The batching policy, starting from the one that is staged or runs.
    pub fn policy(now: PolicyKind) -> Self {
        let choices = PolicyKind::NAMES.map(|name| choice(name, now));
        Form::new(FormKind::Policy, "batching policy", choices.into()).choosing(now.name())
    }

    /// The engine's own parser knows the bounds.
    pub(super) fn policy_setting(&self, name: &str) -> Result<Setting, String> {
        let (wait, most) = (self.text("wait"), self.text("MaxInf"));
        let text = match name {
            "no-wait" => name.to_owned(),
            "elastic" if most.is_empty() => name.to_owned(),
            "elastic" => format!("{name}:{most}"),
            _ => format!("{name}:{wait}ms"),
        };
        let policy: Result<PolicyKind, _> = text.parse();
        policy.map(Setting::Policy).map_err(|why| why.to_string())
    }
}

fn choice(name: &'static str, now: PolicyKind) -> FormChoice {
    let wait = match now.wait() {
        none if none.is_zero() => 5.0,
        wait => wait.as_secs_f64() * 1e3,
    };
    let waiting = || vec![FormField::number("wait", wait, "ms at most")];
    match name {
        "no-wait" => FormChoice::new(
            name,
            "whatever waits, up to the batch size, at once",
            Vec::new(),
        ),
        "opt-wait" => FormChoice::new(
            name,
            "a full batch, or what is there after the wait",
            waiting(),
        ),
        "pipelined-opt-wait" => FormChoice::new(
            name,
            "the same, samples copied while a batch computes",
            waiting(),
        )
        .noting(PIPELINED),
        "static" => FormChoice::new(name, "as opt-wait, padded to the full batch", waiting()),
        "segment" => FormChoice::new(
            name,
            "whole segments, closed when full or after the wait",
            waiting(),
        ),
        _ => FormChoice::new(
            name,
            "the largest idle lane (1, 1, 2, 4, …) that fills",
            elastic(now),
        )
        .noting(ELASTIC),
    }
}

fn elastic(now: PolicyKind) -> Vec<FormField> {
    let most = match now {
        PolicyKind::Elastic { max_inf } => max_inf,
        _ => None,
    };
    let most = most.map_or(String::new(), |n| n.to_string());
    vec![FormField::number(
        "MaxInf",
        most,
        "samples; empty: sum of the batch sizes",
    )]
}
