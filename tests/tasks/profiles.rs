//! Which profiles are doubtful, and when they are measured again: in virtual time.

use std::time::Duration;

use divisi_engine::search::profiling::ProfileCondition::{self, Disturbed, Doubtful, Quiet};
use divisi_tasks::profiles::{ProfileSecond, ProfileStep, ProfileWatch};

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// Plays seconds from `from` with equal observations, and returns all steps with their times.
fn play(
    watch: &mut ProfileWatch,
    times: std::ops::Range<u64>,
    (is_idle, is_quiet, ratio): (bool, bool, Option<f64>),
) -> Vec<(u64, ProfileStep)> {
    let steps = times.filter_map(|at| {
        let step = watch.second(&ProfileSecond {
            now: seconds(at),
            is_idle,
            is_quiet,
            ratios: &[ratio],
        });
        step.map(|step| (at, step))
    });
    steps.collect()
}

fn watch(condition: ProfileCondition) -> ProfileWatch {
    ProfileWatch::new([condition])
}

const IDLE: (bool, bool, Option<f64>) = (true, true, None);

#[test]
fn a_disturbed_profile_is_measured_again_within_a_minute_of_quiet() {
    let mut watch = watch(Disturbed);
    assert_eq!(
        play(&mut watch, 0..100, (true, false, None)),
        [],
        "others use the cores"
    );
    assert_eq!(
        play(&mut watch, 100..200, (false, true, Some(1.0))),
        [],
        "queries come"
    );
    let steps = play(&mut watch, 200..206, IDLE);
    assert_eq!(steps, [(205, ProfileStep::Measure(0))]);
    watch.measured(seconds(206), 0, Some(Quiet));
    assert_eq!(play(&mut watch, 207..400, IDLE), [], "it is repaired");
}

#[test]
fn a_cancelled_or_disturbed_measurement_is_tried_again_later() {
    for ended in [None, Some(Disturbed)] {
        let mut watch = watch(Doubtful);
        assert_eq!(play(&mut watch, 0..6, IDLE), [(5, ProfileStep::Measure(0))]);
        watch.measured(seconds(6), 0, ended);
        let again = play(&mut watch, 7..17, IDLE);
        assert_eq!(again, [(16, ProfileStep::Measure(0))], "{ended:?}");
    }
}

#[test]
fn a_quiet_profile_is_never_measured_again_while_batches_agree() {
    let mut watch = watch(Quiet);
    assert_eq!(
        play(&mut watch, 0..100, (false, true, Some(1.9))),
        [],
        "low load"
    );
    assert_eq!(play(&mut watch, 100..200, (false, true, Some(0.7))), []);
    assert_eq!(play(&mut watch, 200..300, IDLE), []);
}

#[test]
fn a_profile_that_batches_contradict_is_doubtful() {
    // A profile of 154 ms was kept, and batches take 11.6 ms, even on a busy host.
    let mut fast = watch(Quiet);
    let steps = play(&mut fast, 0..30, (false, false, Some(11.6 / 154.0)));
    assert_eq!(steps, [(9, ProfileStep::Doubt(0))], "once");
    assert_eq!(
        play(&mut fast, 30..36, IDLE),
        [(35, ProfileStep::Measure(0))]
    );
    let mut slow = watch(Quiet);
    let steps = play(&mut slow, 0..30, (false, true, Some(4.0)));
    assert_eq!(steps, [(9, ProfileStep::Doubt(0))]);
    let mut busy = watch(Quiet);
    let steps = play(&mut busy, 0..30, (false, false, Some(4.0)));
    assert_eq!(steps, [], "other programs explain slow batches");
}

#[test]
fn a_new_profile_is_trusted_although_batches_still_differ() {
    let mut watch = watch(Doubtful);
    play(&mut watch, 0..6, IDLE);
    watch.measured(seconds(6), 0, Some(Quiet));
    assert_eq!(play(&mut watch, 7..600, (false, true, Some(0.1))), []);
}

#[test]
fn trust_outlives_a_change_of_registrations() {
    let mut first = watch(Doubtful);
    first.measured(seconds(6), 0, Some(Quiet));
    let mut next = watch(Quiet);
    next.trust_until(0, first.trusted_until(0));
    assert_eq!(play(&mut next, 7..600, (false, true, Some(0.1))), []);
}

#[test]
fn ensembles_are_measured_one_after_another() {
    let mut watch = ProfileWatch::new([Quiet, Disturbed, Disturbed]);
    let mut measured = Vec::new();
    for at in 0..60 {
        let step = watch.second(&ProfileSecond {
            now: seconds(at),
            is_idle: true,
            is_quiet: true,
            ratios: &[None; 3],
        });
        if let Some(ProfileStep::Measure(number)) = step {
            measured.push(number);
            watch.measured(seconds(at), number, Some(Quiet));
        }
    }
    assert_eq!(measured, [1, 2]);
}
