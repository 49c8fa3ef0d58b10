//! Unit tests of `src/runtime/compute/kernels/task.rs`.

use super::ProductBlocks;

#[test]
fn threads_get_as_many_blocks_of_a_product_each() {
    for (rows, panels, threads, tasks) in [
        (49, 20, 1, 1),
        (49, 20, 2, 8),
        (49, 7, 2, 8),
        (196, 12, 2, 8),
        (196, 12, 3, 12),
        (1, 63, 4, 16),
        (10, 1, 2, 1),
    ] {
        let blocks = ProductBlocks::new(rows, panels, 8, threads);
        assert_eq!(
            blocks.tasks(),
            tasks,
            "{rows} × {panels}, {threads} threads"
        );
    }
}

#[test]
fn blocks_that_the_cache_bounds_are_even_for_threads() {
    let blocks = ProductBlocks::new(1000, 1, 512, 3);
    assert_eq!(blocks.tasks(), 12);
    assert_eq!(blocks.ranges(11), (916..1000, 0..1));
}
