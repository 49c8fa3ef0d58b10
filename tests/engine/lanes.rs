//! The lanes of elastic workers: which of them starts beside what runs.

use std::time::Duration;

use divisi_engine::serving::{BatchId, Beside, Lanes, lane_sizes};
use divisi_model::ensemble::{BatchSize, PolicyKind};

const ELASTIC: PolicyKind = PolicyKind::Elastic { max_inf: None };

/// Lanes of a worker of batch size 32, some of which run a full batch.
fn lanes(running: &[usize]) -> Lanes {
    let sizes = lane_sizes(ELASTIC, BatchSize::new(32).expect("a size"), true);
    let mut lanes = Lanes::new(Duration::ZERO, &sizes);
    for (number, &size) in (0..).zip(running) {
        let lane = lanes.smallest_idle(size).expect("an idle lane");
        lanes.start(lane, BatchId(number), size);
    }
    lanes
}

#[test]
fn a_batch_starts_beside_others_as_its_device_allows() {
    use Beside::{Any, Half};
    let cases: [(Beside, &[usize], usize, Option<usize>); 9] = [
        (Any, &[], 3, Some(2)),
        (Half, &[], 3, Some(2)),
        (Any, &[16], 3, Some(2)),
        (Half, &[16], 3, None),
        (Half, &[16], 8, Some(8)),
        (Half, &[16], 32, Some(8)),
        (Half, &[2], 1, Some(1)),
        (Half, &[8, 4], 4, None),
        (Half, &[8, 4], 16, Some(16)),
    ];
    for (beside, running, ready, expected) in cases {
        let lane = lanes(running).elastic(ready, beside).map(|lane| lane.size);
        assert_eq!(
            lane, expected,
            "{beside:?}, {running:?} run, {ready} are ready"
        );
    }
}

#[test]
fn what_waits_starts_at_the_latest_when_nothing_runs() {
    for ready in 1..=32 {
        assert!(
            lanes(&[]).elastic(ready, Beside::Half).is_some(),
            "{ready} are ready"
        );
    }
}
