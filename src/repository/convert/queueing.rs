//! The queue settings of a manifest.

use divisi_model::ensemble::{QueuePolicy, Queueing, TimeoutAction};

/// Returns the table `queue` of a manifest.
pub(super) fn table(queueing: &Queueing) -> toml::Table {
    let default = queueing.default_level();
    let usual = queueing.policy(default);
    let mut table = bounds(usual);
    let levels = queueing.levels().len();
    if levels > 1 {
        table.insert("levels".into(), whole(levels as u64));
        table.insert("default".into(), whole(default.number() as u64));
    }
    let own = queueing.levels().filter_map(|level| {
        let policy = queueing.policy(level);
        let table = toml::Value::Table(bounds(policy));
        (policy != usual).then(|| (level.number().to_string(), table))
    });
    let own: toml::Table = own.collect();
    if !own.is_empty() {
        table.insert("level".into(), toml::Value::Table(own));
    }
    table
}

/// Returns all bounds of a level, because a level inherits missing bounds from the queue.
fn bounds(policy: QueuePolicy) -> toml::Table {
    let mut table = toml::Table::new();
    let most = policy.most.map_or(0, |most| most.get());
    table.insert("most".into(), whole(most.into()));
    let timeout = policy.timeout;
    let millis = timeout.map_or(0.0, |timeout| timeout.after.as_secs_f64() * 1e3);
    table.insert("timeout_ms".into(), toml::Value::Float(millis));
    if let Some(timeout) = timeout {
        let action = match timeout.action {
            TimeoutAction::Reject => "reject",
            TimeoutAction::Delay => "delay",
        };
        table.insert("on_timeout".into(), toml::Value::String(action.into()));
        let shorter = toml::Value::Boolean(timeout.may_be_shorter);
        table.insert("shorter".into(), shorter);
    }
    table
}

fn whole(number: u64) -> toml::Value {
    toml::Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}
