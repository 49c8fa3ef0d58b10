//! Unit tests of `src/tasks/routing/level_work.rs`.

use super::LevelWork;

#[test]
fn work_goes_before_that_of_its_own_and_of_less_urgent_levels() {
    let mut work = LevelWork::default();
    for (urgency, nanos) in [(0, 1), (-1, 2), (1, 4), (-1, 8)] {
        work.add(urgency, nanos);
    }
    assert_eq!(
        [-2, -1, 0, 1, 2].map(|at| work.work_before(at)),
        [0, 10, 11, 15, 15]
    );
    work.remove(-1, 8);
    assert_eq!([-1, 1].map(|at| work.work_before(at)), [2, 7]);
    let entered = [-1, 0, 1].map(|at| work.entered_before(at));
    assert_eq!(entered, [0, 10, 11], "what was taken off has gone before");
}
