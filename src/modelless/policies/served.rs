//! The queries of a task that the capacity of its variants can serve. Each instance counts once,
//! whatever the number of demands that it suits.

/// Queries with the same goals, and the variants that meet them.
#[derive(Clone)]
pub(super) struct DemandFlow {
    pub(super) rate: f64,
    pub(super) worth: f64,
    /// Indices of the task's variants, in the order in which they are filled.
    pub(super) suiting: Vec<usize>,
}

/// Rates below this are rounding errors, in queries per second.
pub(super) const NOTHING: f64 = 1e-9;

/// The flows of queries to variants.
struct Flows<'a> {
    demands: &'a [DemandFlow],
    free: Vec<f64>,
    /// `[demands, variants]`.
    flows: Vec<f64>,
    seen: Vec<bool>,
}

/// The rates of a task's demands that some capacities leave unserved.
pub(super) struct Unserved {
    /// The unserved rate of each demand.
    pub(super) left: Vec<f64>,
    /// The unused capacity of each variant.
    free: Vec<f64>,
}

/// Returns the worth of the queries that these capacities can serve, in money per second.
/// `demands` are sorted by their worth.
pub(super) fn served_value(demands: &[DemandFlow], capacity: &[f64], bonus: &[f64]) -> f64 {
    if let [only] = demands {
        return served_alone(only, capacity, bonus);
    }
    let Unserved { left, free } = unserved(demands, capacity);
    let served = demands.iter().zip(left);
    let value: f64 = served
        .map(|(demand, left)| (demand.rate - left) * demand.worth)
        .sum();
    let used = capacity.iter().zip(&free).zip(bonus);
    let extra = used.map(|((all, free), bonus)| (all - free) * bonus);
    value + extra.sum::<f64>()
}

/// Serves demands in their order.
///
/// Each takes the free capacity, and makes room by moving earlier demands to other variants. The
/// sets of queries that can be served together are a polymatroid, so that the order of worth is
/// optimal, and every order serves the most queries. A later demand takes nothing from an earlier
/// one.
pub(super) fn unserved(demands: &[DemandFlow], capacity: &[f64]) -> Unserved {
    let mut flows = Flows {
        demands,
        free: capacity.to_vec(),
        flows: vec![0.0; demands.len() * capacity.len()],
        seen: vec![false; capacity.len()],
    };
    let each = demands.iter().enumerate();
    let left = each
        .map(|(at, demand)| flows.serve(at, demand.rate))
        .collect();
    Unserved {
        left,
        free: flows.free,
    }
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
    /// Serves as much of a demand as possible. Returns the rate left over.
    fn serve(&mut self, demand: usize, mut left: f64) -> f64 {
        while left > NOTHING {
            self.seen.fill(false);
            let moved = self.push(demand, left);
            if moved <= NOTHING {
                break;
            }
            left -= moved;
        }
        left
    }

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
