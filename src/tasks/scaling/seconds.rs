//! The outcomes of queries in a second, by stream.

use divisi_engine::changes::together;
use divisi_model::metrics::Reading;
use divisi_modelless::demands::QueryStream;

use crate::routing::StreamInterval;

/// The queries of a stream in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamSecond {
    /// The stream.
    pub stream: QueryStream,
    /// The arrival rate in queries per second.
    pub rate: f64,
    /// The finished queries.
    pub over: u32,
    /// The finished queries that missed a goal.
    pub missed: u32,
}

/// The queries of a second, and the state of the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuerySecond {
    /// The streams.
    pub streams: Vec<StreamSecond>,
    /// The share of the busiest core that other programs took; 0 if unknown.
    pub others: f64,
}

impl QuerySecond {
    /// Returns the queries of an interval of a second, with their streams in the units of plans, and
    /// the share of the busiest core that other programs took, or `None` if it is unknown.
    pub(super) fn new(
        streams: &[StreamInterval],
        planned: impl Fn(&QueryStream) -> QueryStream,
        others: Option<f64>,
    ) -> Self {
        let each = streams.iter().map(|interval| StreamSecond {
            stream: planned(&interval.stream),
            rate: interval.demand.rate.get(),
            over: interval.over,
            missed: interval.missed,
        });
        QuerySecond {
            streams: each.collect(),
            others: others.unwrap_or(0.0),
        }
    }

    /// Returns the arrival rate of all queries.
    pub(super) fn rate(&self) -> f64 {
        self.streams.iter().map(|second| second.rate).sum()
    }

    /// Returns the finished queries of some streams in the units of the judge: a missed goal is a
    /// failure.
    pub(super) fn reading(&self, judged: &[QueryStream]) -> Reading {
        let streams = self.streams.iter().filter(|s| judged.contains(&s.stream));
        let each = streams.map(|second| Reading {
            answered: u64::from(second.over.saturating_sub(second.missed)),
            failed: u64::from(second.missed),
            ..Reading::default()
        });
        together(&each.collect::<Vec<_>>())
    }
}
