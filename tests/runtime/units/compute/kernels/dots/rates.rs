//! Unit tests of `src/runtime/compute/kernels/dots/rates.rs`.

use std::time::Duration;

use super::{is_worth_using, speed};

fn rounds(times: &[[u64; 2]]) -> Vec<[Duration; 2]> {
    let round = |both: &[u64; 2]| both.map(Duration::from_micros);
    times.iter().map(round).collect()
}

#[test]
fn an_instruction_that_takes_four_times_as_long_is_not_used() {
    let emerald_rapids = speed(&rounds(&[[7, 29], [7, 29]]));
    assert!(emerald_rapids < 0.5);
    assert!(!is_worth_using(emerald_rapids));
}

#[test]
fn an_instruction_that_takes_as_long_multiplies_twice_as_much_and_is_used() {
    let zen5 = speed(&rounds(&[[7, 7], [7, 8]]));
    assert_eq!(zen5, 2.0);
    assert!(is_worth_using(zen5));
}

#[test]
fn rounds_that_other_programs_made_longer_change_nothing() {
    let quiet = speed(&rounds(&[[7, 7], [7, 7]]));
    let busy = speed(&rounds(&[[7, 90], [50, 7], [900, 400]]));
    assert_eq!(quiet, busy);
}

#[test]
fn without_a_measured_time_the_instruction_is_not_used() {
    assert!(!is_worth_using(speed(&[])));
}
