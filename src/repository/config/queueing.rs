//! Priorities and queue policies of `dynamic_batching`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use divisi_model::ensemble::{QueuePolicy, QueueTimeout, Queueing, QueueingError, TimeoutAction};

use crate::text_format::TextFault;

use super::fields::{AtLine, ConfigFields};

/// Reads priorities and queue policies, or returns `None` if none are set.
///
/// # Errors
/// There are too many levels, or the default level or a policy's level does not exist.
pub(super) fn queueing(
    table: &mut ConfigFields,
    unused: &mut Vec<String>,
) -> Result<Option<Queueing>, TextFault> {
    let levels = number(table, "priority_levels");
    let default = number(table, "default_priority_level");
    let usual = table.message("default_queue_policy");
    let usual = usual.map(|usual| policy(usual, unused)).unwrap_or_default();
    let mut own = BTreeMap::new();
    let mut line = table.line;
    for mut entry in table.messages("priority_queue_policy") {
        line = entry.line;
        let level = number(&mut entry, "key").value;
        let value = entry.message("value");
        let value = value.map(|value| policy(value, unused));
        own.insert(level, value.unwrap_or_default());
    }
    if levels.value == 0 && own.is_empty() {
        return Ok(Some(Queueing::single_level(usual)).filter(|_| usual != QueuePolicy::default()));
    }
    let made = Queueing::new(levels.value, default.value, usual, &own);
    let made = made.map_err(|error| match error {
        QueueingError::Levels(_) => table.wrong(levels.line, "priority_levels", &error.to_string()),
        QueueingError::Default { .. } => {
            table.wrong(levels.line, "default_priority_level", &error.to_string())
        }
        QueueingError::Policy { .. } => {
            table.wrong(line, "priority_queue_policy", &error.to_string())
        }
    })?;
    Ok(Some(made))
}

/// Takes a number. An absent number is 0, at the line of the table.
fn number(table: &mut ConfigFields, name: &str) -> AtLine<u64> {
    let line = table.line;
    table
        .whole(name)
        .map_or(AtLine { line, value: 0 }, |at| AtLine {
            line: at.line,
            value: u64::try_from(at.value).unwrap_or_default(),
        })
}

fn policy(mut table: ConfigFields, unused: &mut Vec<String>) -> QueuePolicy {
    let action = table.choice("timeout_action");
    let delays = action.is_some_and(|action| action.value == "DELAY");
    let may_be_shorter = table.flag("allow_timeout_override") == Some(true);
    let timeout = table.micros("default_timeout_microseconds");
    let most = number(&mut table, "max_queue_size").value;
    table.finish(unused);
    QueuePolicy {
        timeout: timeout.map(|after| QueueTimeout {
            after,
            action: match delays {
                true => TimeoutAction::Delay,
                false => TimeoutAction::Reject,
            },
            may_be_shorter,
        }),
        most: NonZeroU32::new(u32::try_from(most).unwrap_or(u32::MAX)),
    }
}
