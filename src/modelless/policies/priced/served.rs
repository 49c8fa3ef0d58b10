//! The highest worth of a task's queries for the capacity of its variants.

/// Queries with the same goals, and the variants that meet them.
pub(super) struct DemandFlow {
    pub(super) rate: f64,
    pub(super) worth: f64,
    /// Indices of the task's variants, in the order in which they are filled.
    pub(super) suiting: Vec<usize>,
}

/// Rates below this are rounding errors, in queries per second.
const NOTHING: f64 = 1e-9;

/// The flows of queries to variants.
struct Flows<'a> {
    demands: &'a [DemandFlow],
    free: Vec<f64>,
    /// `[demands, variants]`.
    flows: Vec<f64>,
    seen: Vec<bool>,
}

/// Returns the worth of the queries that these capacities can serve, in money per second.
///
/// Demands are served in the order of their worth. Each takes the free capacity, and makes room by
/// moving earlier demands to other variants: the sets of queries that can be served together are a
/// polymatroid, so that this order is optimal. `demands` are sorted by their worth.
pub(super) fn served_value(demands: &[DemandFlow], capacity: &[f64], bonus: &[f64]) -> f64 {
    if let [only] = demands {
        return served_alone(only, capacity, bonus);
    }
    let mut flows = Flows {
        demands,
        free: capacity.to_vec(),
        flows: vec![0.0; demands.len() * capacity.len()],
        seen: vec![false; capacity.len()],
    };
    let mut value = 0.0;
    for (at, demand) in demands.iter().enumerate() {
        let mut left = demand.rate;
        while left > NOTHING {
            flows.seen.fill(false);
            let moved = flows.push(at, left);
            if moved <= NOTHING {
                break;
            }
            left -= moved;
        }
        value += (demand.rate - left) * demand.worth;
    }
    let used = capacity.iter().zip(&flows.free).zip(bonus);
    value
        + used
            .map(|((all, free), bonus)| (all - free) * bonus)
            .sum::<f64>()
}

/// Returns the worth for a single demand, the case of most tasks.
fn served_alone(demand: &DemandFlow, capacity: &[f64], bonus: &[f64]) -> f64 {
    let (mut left, mut value) = (demand.rate, 0.0);
    for variant in &demand.suiting {
        let taken = capacity[*variant].min(left);
        left -= taken;
        value += taken * (demand.worth + bonus[*variant]);
    }
    value
}

impl Flows<'_> {
    /// Finds a path for some queries of a demand, redirecting other demands' flows to make room.
    /// Returns the rate of the queries with a path.
    fn push(&mut self, demand: usize, most: f64) -> f64 {
        let demands = self.demands;
        let width = self.free.len();
        for variant in &demands[demand].suiting {
            if self.free[*variant] > NOTHING {
                let moved = most.min(self.free[*variant]);
                self.free[*variant] -= moved;
                self.flows[demand * width + variant] += moved;
                return moved;
            }
        }
        for variant in &demands[demand].suiting {
            if std::mem::replace(&mut self.seen[*variant], true) {
                continue;
            }
            for other in (0..demands.len()).filter(|other| *other != demand) {
                let flow = self.flows[other * width + variant];
                if flow <= NOTHING {
                    continue;
                }
                let moved = self.push(other, most.min(flow));
                if moved > NOTHING {
                    self.flows[other * width + variant] -= moved;
                    self.flows[demand * width + variant] += moved;
                    return moved;
                }
            }
        }
        0.0
    }
}
