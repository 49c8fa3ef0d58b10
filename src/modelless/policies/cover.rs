//! The cheapest instances that serve a rate: INFaaS's integer program for one application and
//! unlimited devices (§4.2.1), solved exactly.

/// An item that can be taken in whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoverItem {
    /// The rate of one item in queries per second; above 0.
    pub rate: f64,
    /// The cost of one item; not below 0.
    pub cost: f64,
    /// The available number of items.
    pub most: u32,
}

/// The number of combinations after which the search stops with the best one found. Programs with
/// seven variants take a few hundred.
const NODES: u32 = 200_000;

/// Returns the numbers of items that serve `rate` at the lowest cost, with the fewest items among
/// equally expensive combinations, or `None` if all items together are not enough.
///
/// Branch and bound: items are taken from the cheapest rate to the most expensive, each as often as
/// useful. A branch is pruned if even fractions of the cheapest remaining item would cost too much.
pub fn cheapest_cover(items: &[CoverItem], rate: f64) -> Option<Vec<u32>> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    let price = |at: &usize| items[*at].cost / items[*at].rate;
    order.sort_by(|a, b| price(a).total_cmp(&price(b)));
    let mut search = CoverSearch {
        items: order.iter().map(|at| items[*at]).collect(),
        taken: vec![0; items.len()],
        best: None,
        nodes: NODES,
    };
    search.branch(0, rate, 0.0);
    let (_, _, sorted) = search.best?;
    let mut counts = vec![0; items.len()];
    for (at, count) in order.into_iter().zip(sorted) {
        counts[at] = count;
    }
    Some(counts)
}

struct CoverSearch {
    items: Vec<CoverItem>,
    taken: Vec<u32>,
    /// The cost, the number of items, and the number of each.
    best: Option<(f64, u32, Vec<u32>)>,
    nodes: u32,
}

impl CoverSearch {
    fn branch(&mut self, at: usize, left: f64, cost: f64) {
        // A rate left over by rounding counts as zero.
        if left <= 1e-9 {
            return self.offer(cost);
        }
        let Some(item) = self.items.get(at).copied() else {
            return;
        };
        let bound = cost + left / item.rate * item.cost;
        let is_dear = self
            .best
            .as_ref()
            .is_some_and(|(best, ..)| bound > *best + 1e-9);
        if is_dear || self.nodes == 0 {
            return;
        }
        self.nodes -= 1;
        let useful = (left / item.rate - 1e-9).ceil().max(0.0) as u32;
        for count in (0..=useful.min(item.most)).rev() {
            self.taken[at] = count;
            let taken = f64::from(count);
            self.branch(at + 1, left - taken * item.rate, cost + taken * item.cost);
        }
        self.taken[at] = 0;
    }

    fn offer(&mut self, cost: f64) {
        let items: u32 = self.taken.iter().sum();
        let is_better = self.best.as_ref().is_none_or(|(best, fewest, _)| {
            cost < best - 1e-9 || (cost <= best + 1e-9 && items < *fewest)
        });
        if is_better {
            self.best = Some((cost, items, self.taken.clone()));
        }
    }
}
