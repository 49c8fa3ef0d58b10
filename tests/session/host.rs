//! A disturbed host: when it begins and ends, and what consoles see of it.

use std::time::Duration;

use divisi_model::metrics::{CoreLoad, HostLoad};
use divisi_session::{DisturbanceWatch, LogLevel};

fn load(seconds: u64, others: f64) -> HostLoad {
    let quiet = CoreLoad::default();
    let core = CoreLoad {
        core: 1,
        others,
        ..quiet
    };
    HostLoad {
        window: Duration::from_secs(seconds),
        cores: vec![quiet, core],
        ..HostLoad::default()
    }
}

/// Records one share a second, each over ten seconds. Returns the lines with their times.
fn lines(shares: &[f64]) -> Vec<(u64, LogLevel, String)> {
    let mut watch = DisturbanceWatch::default();
    let each = (1..).zip(shares);
    let lines = each.filter_map(|(second, &share)| {
        let (level, text) = watch.note(Duration::from_secs(second), &load(10, share))?;
        Some((second, level, text))
    });
    lines.collect()
}

#[test]
fn the_log_says_when_a_disturbance_begins_and_ends() {
    let found = lines(&[0.02, 0.63, 0.63, 0.02, 0.02]);
    let begins = "the host is disturbed: other programs take 63 % of cpu:1 (last 10 s)";
    assert_eq!(
        found,
        [
            (2, LogLevel::Warn, begins.to_owned()),
            (
                4,
                LogLevel::Info,
                "the host is quiet again after 2 s".to_owned()
            ),
        ]
    );
}

#[test]
fn a_load_near_the_limit_is_one_disturbance() {
    let found = lines(&[0.11, 0.09, 0.11, 0.08, 0.12, 0.07]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_disturbance_lasts_until_the_load_is_half_the_limit() {
    let found = lines(&[0.12, 0.06, 0.04]);
    assert_eq!(found.last().map(|(second, ..)| *second), Some(3));
}

#[test]
fn the_first_seconds_after_the_start_decide_nothing() {
    let mut watch = DisturbanceWatch::default();
    assert_eq!(watch.note(Duration::from_secs(1), &load(1, 0.9)), None);
    assert!(watch.note(Duration::from_secs(4), &load(4, 0.9)).is_some());
}

#[test]
fn consoles_see_causes_only_while_the_host_counts_as_disturbed() {
    let mut watch = DisturbanceWatch::default();
    let at = Duration::from_secs(5);
    assert_eq!(watch.view(load(10, 0.3)).disturbances(), []);
    watch.note(at, &load(10, 0.3));
    let view = watch.view(load(10, 0.07));
    assert_eq!(view.disturbed_since, Some(at));
    let causes = view.disturbances();
    assert_eq!(causes[0].short(), "others 7 % of cpu:1");
}
