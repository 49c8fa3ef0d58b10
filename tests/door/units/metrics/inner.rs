//! Unit tests of `src/door/metrics/inner.rs`.

use divisi_model::dataflow::StepIndex;

use super::*;

fn run(arrived: u64, parts: [u64; 4]) -> StepRun {
    let [queued, input, computed, output] = parts.map(Duration::from_millis);
    StepRun {
        step: StepIndex::new(0),
        rows: 1,
        arrived: Duration::from_millis(arrived),
        queued,
        input,
        computed,
        output,
        failed: None,
        batch: None,
    }
}

#[test]
fn each_moment_counts_once() {
    for (runs, expected) in [
        (vec![], [0, 0, 0, 0]),
        (vec![run(5, [1, 2, 3, 4])], [1, 2, 3, 4]),
        // One after the other, with a gap.
        (
            vec![run(0, [1, 0, 3, 0]), run(6, [1, 1, 1, 1])],
            [4, 1, 4, 1],
        ),
        // Overlapping.
        (
            vec![run(0, [0, 1, 9, 0]), run(0, [4, 2, 3, 2])],
            [0, 1, 9, 1],
        ),
        (
            vec![run(0, [5, 0, 5, 0]), run(0, [0, 0, 4, 0])],
            [1, 0, 9, 0],
        ),
    ] {
        let times = InnerTimes::from_runs(runs.iter());
        let InnerTimes {
            queue,
            input,
            compute,
            output,
        } = times;
        let found = [queue, input, compute, output].map(|part| part.as_millis());
        assert_eq!(found, expected, "{runs:?}");
    }
}
