//! The states of a variant, from one observation to the next.

use std::time::Duration;

use divisi_modelless::states::{StateThresholds, VariantObservation, VariantState, VariantWatch};
use proptest::prelude::*;

use VariantState::{Active, Inactive, Interfered, Overloaded};

fn seen(instances: u32, utilisation: f64, queued: u32, slowdown: f64) -> VariantObservation {
    VariantObservation {
        instances,
        utilisation,
        queued,
        slowdown,
    }
}

fn states(observations: &[VariantObservation]) -> Vec<VariantState> {
    let mut watch = VariantWatch::new(StateThresholds::default());
    let each = observations.iter().enumerate();
    let each = each.map(|(second, seen)| {
        watch.observe(Duration::from_secs(second as u64), seen);
        watch.state()
    });
    each.collect()
}

#[test]
fn a_variant_is_loaded_filled_and_calm_after_the_hold_off() {
    let (calm, full) = (seen(1, 0.5, 0, 1.0), seen(1, 0.9, 0, 1.0));
    let found = states(&[
        seen(0, 0.0, 0, 1.0),
        calm,
        full,
        calm,
        calm,
        calm,
        seen(0, 0.0, 0, 1.0),
    ]);
    // Calm since second 3; active from second 5 on.
    assert_eq!(
        found,
        [
            Inactive, Active, Overloaded, Overloaded, Overloaded, Active, Inactive
        ]
    );
}

#[test]
fn a_queue_that_grows_three_times_overloads() {
    let queued = [0, 1, 2, 3].map(|queued| seen(1, 0.5, queued, 1.0));
    assert_eq!(states(&queued), [Active, Active, Active, Overloaded]);
}

#[test]
fn slow_batches_with_room_are_interference_and_without_room_overload() {
    let found = states(&[
        seen(1, 0.5, 0, 1.6),
        seen(1, 0.5, 0, 1.3),
        seen(1, 0.95, 0, 1.6),
    ]);
    // 1.3 is neither slow nor calm: what was seen is not over.
    assert_eq!(found, [Interfered, Interfered, Overloaded]);
}

proptest! {
    #[test]
    fn a_variant_that_comes_and_goes_every_second_changes_no_faster_than_the_hold_off(
        slowdowns in prop::collection::vec(1.0..2.0_f64, 2..60),
    ) {
        let mut watch = VariantWatch::new(StateThresholds::default());
        let mut entered: Option<Duration> = None;
        for (second, slowdown) in slowdowns.into_iter().enumerate() {
            let now = Duration::from_secs(second as u64);
            let Some(change) = watch.observe(now, &seen(1, 0.5, 0, slowdown)) else { continue };
            match change.to {
                Interfered => entered = Some(now),
                _ => if let Some(entered) = entered {
                    prop_assert!(now - entered >= StateThresholds::default().hold_off);
                },
            }
        }
    }
}

#[test]
fn the_thresholds_tell_states_apart() {
    let thresholds = StateThresholds::default();
    assert!(thresholds.utilisation > 0.0 && thresholds.utilisation <= 1.0);
    assert!(thresholds.growths > 0);
    assert!(1.0 <= thresholds.calm && thresholds.calm < thresholds.interfered);
}
