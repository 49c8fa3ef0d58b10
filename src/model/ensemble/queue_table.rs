//! The manifest table `queue`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use divisi_runtime::words;

use super::manifest::{EnsembleError, ManifestSource};
use super::queueing::{QueuePolicy, QueueTimeout, Queueing, TimeoutAction};

/// The table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueueTable {
    /// The number of priorities.
    levels: Option<u64>,
    /// The priority of requests without one.
    default: Option<u64>,
    most: Option<u32>,
    timeout_ms: Option<f64>,
    on_timeout: Option<TimeoutAction>,
    shorter: Option<bool>,
    /// The priorities with bounds of their own, by number.
    #[serde(default)]
    level: BTreeMap<String, LevelTable>,
}

/// The bounds of one priority. Missing fields come from the queue.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelTable {
    /// The maximum number of waiting requests; 0 for no limit.
    most: Option<u32>,
    /// The maximum wait; 0 for no limit.
    timeout_ms: Option<f64>,
    /// The action for requests that wait longer.
    on_timeout: Option<TimeoutAction>,
    /// Whether requests may set a shorter wait.
    shorter: Option<bool>,
}

/// The longest wait: a day.
const LONGEST_MS: f64 = 86_400_000.0;

/// Reads the table.
///
/// # Errors
/// A number is out of range, or a level does not exist.
pub(super) fn queueing(
    source: &ManifestSource<'_>,
    table: Option<&Spanned<QueueTable>>,
) -> Result<Option<Arc<Queueing>>, EnsembleError> {
    let Some(table) = table else {
        return Ok(None);
    };
    let made = read(table.get_ref());
    let made = made.map_err(|why| source.wrong(table.span().start, format!("queue{why}")))?;
    Ok(Some(Arc::new(made)))
}

fn read(table: &QueueTable) -> Result<Queueing, String> {
    let usual = LevelTable {
        most: table.most,
        timeout_ms: table.timeout_ms,
        on_timeout: table.on_timeout,
        shorter: table.shorter,
    };
    let mut own = BTreeMap::new();
    for (name, level) in &table.level {
        let number = name.parse::<u64>();
        let number = number.map_err(|_| {
            let found = name.escape_debug();
            format!(".level: expected a level's number, found `{found}`")
        })?;
        let policy = level.policy(&usual);
        own.insert(
            number,
            policy.map_err(|why| format!(".level.{number}{why}"))?,
        );
    }
    let policy = usual.policy(&LevelTable::default())?;
    let levels = table.levels.unwrap_or(1);
    let default = table.default.unwrap_or(1);
    Queueing::new(levels, default, policy, &own).map_err(|why| format!(": {why}"))
}

impl LevelTable {
    fn policy(&self, usual: &LevelTable) -> Result<QueuePolicy, String> {
        let millis = self.timeout_ms.or(usual.timeout_ms).unwrap_or_default();
        if !(0.0..=LONGEST_MS).contains(&millis) {
            let found = words::number(millis);
            return Err(format!(
                ".timeout_ms: expected 0 to {LONGEST_MS}, found {found}"
            ));
        }
        let timeout = QueueTimeout {
            after: Duration::from_secs_f64(millis / 1e3),
            action: self.on_timeout.or(usual.on_timeout).unwrap_or_default(),
            may_be_shorter: self.shorter.or(usual.shorter).unwrap_or_default(),
        };
        Ok(QueuePolicy {
            timeout: Some(timeout).filter(|timeout| !timeout.after.is_zero()),
            most: self.most.or(usual.most).and_then(NonZeroU32::new),
        })
    }
}
