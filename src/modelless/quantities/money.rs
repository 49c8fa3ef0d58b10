//! Money and query rates. The operator chooses the unit of money for device prices.

use super::quantity;

quantity! {
    /// Money per second.
    CostRate = 0.0, 1e9, "cost", "money a second from 0 to 1e9"
}

quantity! {
    /// Money per query.
    QueryCost = 0.0, 1e9, "cost of a query", "money a query from 0 to 1e9"
}

quantity! {
    /// Queries per second.
    QueryRate = 0.0, 1e9, "rate", "queries a second from 0 to 1e9"
}

impl QueryCost {
    /// No cost.
    pub const FREE: QueryCost = QueryCost(0.0);
}

impl QueryRate {
    /// No queries.
    pub const ZERO: QueryRate = QueryRate(0.0);
}

impl CostRate {
    /// No cost.
    pub const FREE: CostRate = CostRate(0.0);

    /// Returns the cost of a query if `rate` queries per second share this cost. With a rate of 0,
    /// a query counts with the cost of a second.
    pub fn per_query(self, rate: QueryRate) -> QueryCost {
        match rate.0 > 0.0 {
            true => QueryCost((self.0 / rate.0).min(1e9)),
            false => QueryCost(self.0),
        }
    }
}
