//! How good any matrix can be: a bound to hold what was found against.

use crate::allocation::Cell;

use super::program::{Programme, WorkerRate};
use super::rates::Rates;

/// Samples a second that no matrix exceeds by the model: every entry has a worker as
/// cheap a sample and as fast as at the best of the batch sizes that `fits` (alone),
/// and memory holds them all. The programme's throughput rises with each of these, so
/// every matrix's is below, and no run gets beyond its throughput. 0 where a member fits
/// nowhere.
pub fn bound(rates: &Rates, fits: impl Fn(Cell, usize) -> bool) -> f64 {
    let workers = best_workers(rates, fits);
    Programme::new(rates.members(), rates.devices(), &workers).throughput()
}

/// At every entry the least seconds and the highest rate of any batch size that `fits`.
pub fn best_workers(rates: &Rates, fits: impl Fn(Cell, usize) -> bool) -> Vec<WorkerRate> {
    let members = rates.members();
    let cells = (0..rates.devices())
        .flat_map(|device| (0..members).map(move |member| Cell { device, member }));
    let best = |cell: Cell| {
        let sizes = (0..rates.sizes().len()).filter(|&size| fits(cell, size));
        let workers = sizes.map(|size| rates.worker(cell, size));
        workers.reduce(|a, b| WorkerRate {
            seconds: a.seconds.min(b.seconds),
            most: a.most.max(b.most),
            ..a
        })
    };
    cells.filter_map(best).collect()
}
