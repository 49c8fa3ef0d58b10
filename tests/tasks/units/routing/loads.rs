//! Unit tests of `src/tasks/routing/loads.rs`.

#![allow(clippy::expect_used, reason = "tests fail by it")]

use super::*;

const VARIANT: VariantIndex = VariantIndex(3);
const LOADING: Duration = Duration::from_millis(27);

fn open() -> Arc<LoadRequests> {
    let requests = Arc::new(LoadRequests::default());
    requests.set_open(true);
    requests
}

fn is_over(wait: &mut LoadWait) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    Pin::new(wait).poll(&mut context).is_ready()
}

#[test]
fn a_query_waits_until_its_variant_is_loaded() {
    let requests = open();
    let mut wait = requests
        .wait(VARIANT, LOADING, Duration::ZERO)
        .expect("waits");
    assert_eq!(requests.next(Duration::ZERO), [VARIANT]);
    requests.end(&[VariantIndex(4)]);
    assert!(!is_over(&mut wait));
    requests.end(&[VARIANT]);
    assert!(is_over(&mut wait));
}

#[test]
fn the_time_and_the_number_of_waiting_queries_are_bounded() {
    let requests = open();
    let wait = || requests.wait(VARIANT, LOADING, Duration::ZERO);
    let mut waits: Vec<LoadWait> = (0..MOST_WAITING).filter_map(|_| wait()).collect();
    assert_eq!((waits.len(), wait().is_none()), (MOST_WAITING, true));
    requests.expire(LOADINGS * LOADING - Duration::from_millis(1));
    assert!(!is_over(&mut waits[0]));
    requests.expire(LOADINGS * LOADING);
    assert!(waits.iter_mut().all(is_over));
    assert!(
        requests
            .wait(VARIANT, 2 * LIMITS.1, Duration::ZERO)
            .is_none()
    );
}

#[test]
fn a_cancelled_query_waits_no_longer() {
    let requests = open();
    drop(requests.wait(VARIANT, LOADING, Duration::ZERO));
    assert_eq!(requests.waiting(), 0);
}

#[test]
fn no_query_waits_if_no_policy_loads_variants() {
    let requests = open();
    let mut wait = requests
        .wait(VARIANT, LOADING, Duration::ZERO)
        .expect("waits");
    requests.set_open(false);
    assert!(is_over(&mut wait));
    assert!(requests.wait(VARIANT, LOADING, Duration::ZERO).is_none());
    assert!(requests.next(Duration::ZERO).is_empty());
}
