//! The queries of each task by their goals, counted.

use std::collections::VecDeque;
use std::time::Duration;

use divisi_modelless::demands::{QueryStream, StreamCounts};
use divisi_modelless::fleet::QueryArrival;
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::policies::TaskDemand;
use divisi_modelless::quantities::QueryCost;
use divisi_modelless::variants::TaskIndex;

/// The most streams that are told apart. Queries of more goals count to the strictest stream of their
/// task: nothing is planned for them that would not do.
const MOST_STREAMS: usize = 64;

/// The place of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamIndex(usize);

/// The most arrivals that are kept.
const MOST_ARRIVALS: usize = 200_000;

/// Queries that were asked, each request counted as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskedQueries {
    /// The streams.
    pub streams: Vec<QueryStream>,
    /// The arrivals, by their time.
    pub arrivals: Vec<QueryArrival>,
}

/// The queries of a stream that are over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamTally {
    /// The stream.
    pub stream: QueryStream,
    /// Those whose goals were met.
    pub met: u64,
    /// Those that were refused, failed, or were answered beside their goals.
    pub missed: u64,
}

/// A stream over an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamInterval {
    /// The stream.
    pub stream: QueryStream,
    /// The demand that is to be expected after it.
    pub demand: TaskDemand,
    /// The queries that are over.
    pub over: u32,
    /// Those of them that missed a goal.
    pub missed: u32,
}

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub(super) struct QueryStreams {
    streams: Vec<(QueryStream, StreamCounts)>,
    tallies: Vec<StreamTally>,
    arrivals: VecDeque<QueryArrival>,
}

impl QueryStreams {
    /// Counts a query that arrives. Returns its stream.
    pub(super) fn arrive(
        &mut self,
        (task, goals): (TaskIndex, &QueryGoals),
        (now, samples): (Duration, u32),
    ) -> StreamIndex {
        let at = self.place(task, goals);
        if let Some((_, counts)) = self.streams.get_mut(at.0) {
            counts.arrived(samples);
        }
        if self.arrivals.len() >= MOST_ARRIVALS {
            self.arrivals.pop_front();
        }
        let stream = at.0 as u16;
        self.arrivals.push_back(QueryArrival { at: now, stream });
        at
    }

    /// Returns the queries that arrived after a time, and the streams that they are of.
    pub(super) fn arrivals(&self, after: Duration) -> AskedQueries {
        let first = self.arrivals.partition_point(|arrival| arrival.at < after);
        AskedQueries {
            streams: self.streams.iter().map(|(stream, _)| *stream).collect(),
            arrivals: self.arrivals.range(first..).copied().collect(),
        }
    }

    /// Counts a query that is over.
    pub(super) fn end(&mut self, at: StreamIndex, samples: u32, met: bool) {
        if let Some((_, counts)) = self.streams.get_mut(at.0) {
            counts.ended(samples, met);
        }
        if let Some(tally) = self.tallies.get_mut(at.0) {
            tally.met += u64::from(met);
            tally.missed += u64::from(!met);
        }
    }

    fn place(&mut self, task: TaskIndex, goals: &QueryGoals) -> StreamIndex {
        let mut known = self.streams.iter();
        let same = known.position(|(s, _)| s.task == task && s.goals == *goals);
        if let Some(at) = same.or_else(|| self.strictest(task)) {
            return StreamIndex(at);
        }
        let stream = QueryStream {
            task,
            goals: *goals,
            // What an answer is worth is for whoever plans to say.
            worth: QueryCost::FREE,
        };
        self.streams.push((stream, StreamCounts::default()));
        self.tallies.push(StreamTally {
            stream,
            met: 0,
            missed: 0,
        });
        StreamIndex(self.streams.len() - 1)
    }

    /// Returns the stream of a task with the highest accuracy, where no more streams are told apart.
    fn strictest(&self, task: TaskIndex) -> Option<usize> {
        if self.streams.len() < MOST_STREAMS {
            return None;
        }
        let accuracy = |goals: &QueryGoals| goals.accuracy.map_or(0.0, |a| a.get());
        let of_task = self.streams.iter().enumerate();
        let of_task = of_task.filter(|(_, (stream, _))| stream.task == task);
        let strictest = of_task
            .max_by(|(_, (a, _)), (_, (b, _))| accuracy(&a.goals).total_cmp(&accuracy(&b.goals)));
        strictest.map(|(at, _)| at)
    }

    /// Returns what became of the queries of each stream so far.
    pub(super) fn tallies(&self) -> Vec<StreamTally> {
        self.tallies.clone()
    }

    /// Returns what became of each stream in the last interval, and begins the next one.
    pub(super) fn interval(&mut self, length: Duration) -> Vec<StreamInterval> {
        let each = self.streams.iter_mut().map(|(stream, counts)| {
            let (over, missed) = counts.over();
            StreamInterval {
                stream: *stream,
                demand: counts.demand(stream, length),
                over,
                missed,
            }
        });
        each.collect()
    }
}
