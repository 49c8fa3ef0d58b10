//! Money and queries. The unit of money is the operator's: prices of devices are in it.

use super::quantity;

quantity! {
    /// Money a second.
    CostRate = 0.0, 1e9, "cost", "money a second from 0 to 1e9"
}

quantity! {
    /// Money for one query.
    QueryCost = 0.0, 1e9, "cost of a query", "money a query from 0 to 1e9"
}

quantity! {
    /// Queries a second.
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

    /// Returns the cost of a query where `rate` of them a second share this cost. Nobody asks a
    /// rate of 0 of a variant: there the cost of a second is that of a query.
    pub fn each(self, rate: QueryRate) -> QueryCost {
        match rate.0 > 0.0 {
            true => QueryCost((self.0 / rate.0).min(1e9)),
            false => QueryCost(self.0),
        }
    }
}
