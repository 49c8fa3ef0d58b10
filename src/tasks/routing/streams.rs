//! Counts of the queries of each task by goals.

use std::collections::VecDeque;
use std::time::Duration;

use divisi_modelless::demands::{QueryStream, StreamCounts};
use divisi_modelless::fleet::QueryArrival;
use divisi_modelless::goals::{LatencyGoal, QueryGoals};
use divisi_modelless::policies::TaskDemand;
use divisi_modelless::quantities::QueryCost;
use divisi_modelless::variants::TaskIndex;

use super::series::{AskedCounts, AskedTally};
use crate::served::TaskQuery;

/// The maximum number of streams. Queries with further goals count toward the nearest stream of
/// their task that is at least as strict, or replace the least recently used stream. Plans for a
/// stricter stream also fit them.
const MOST_STREAMS: usize = 64;
/// The time for which a stream is kept after its last query: the window of policy comparisons.
const KEPT: Duration = Duration::from_secs(300);

/// The index of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamIndex(usize);

impl StreamIndex {
    /// Returns the number of the stream, below the maximum number of streams.
    pub(super) const fn get(self) -> usize {
        self.0
    }
}

/// The maximum number of recorded arrivals.
const MOST_ARRIVALS: usize = 200_000;

/// Recorded queries; each request counts as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskedQueries {
    /// The streams.
    pub streams: Vec<QueryStream>,
    /// The arrivals in the order of time.
    pub arrivals: Vec<QueryArrival>,
}

/// A stream in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamInterval {
    /// The stream.
    pub stream: QueryStream,
    /// The expected demand after the interval.
    pub demand: TaskDemand,
    /// The finished queries.
    pub over: u32,
    /// The finished queries that missed a goal.
    pub missed: u32,
}

/// A stream with its counts.
#[derive(Clone, Debug)]
struct CountedStream {
    stream: QueryStream,
    /// The counts of the current interval.
    counts: StreamCounts,
    /// The number of finished queries.
    finished: u64,
    /// The arrival time of its last query.
    last: Duration,
}

impl CountedStream {
    fn new(stream: QueryStream, now: Duration) -> Self {
        CountedStream {
            last: now,
            stream,
            counts: StreamCounts::default(),
            finished: 0,
        }
    }
}

/// The streams of all tasks, and recorded arrivals.
#[derive(Clone, Debug, Default)]
pub(super) struct QueryStreams {
    streams: Vec<CountedStream>,
    arrivals: VecDeque<QueryArrival>,
    asked: AskedCounts,
}

impl QueryStreams {
    /// Counts an arriving query. Returns its stream.
    pub(super) fn arrive(&mut self, query: TaskQuery<'_>, now: Duration) -> StreamIndex {
        let at = self.place(query.task, query.goals, now);
        if let Some(counted) = self.streams.get_mut(at.0) {
            counted.counts.arrived(query.samples);
            counted.last = now;
        }
        if self.arrivals.len() >= MOST_ARRIVALS {
            self.arrivals.pop_front();
        }
        let stream = at.0 as u16;
        self.arrivals.push_back(QueryArrival { at: now, stream });
        at
    }

    /// Returns the queries that arrived after a time, and their streams.
    pub(super) fn arrivals(&self, after: Duration) -> AskedQueries {
        let first = self.arrivals.partition_point(|arrival| arrival.at < after);
        AskedQueries {
            streams: self.streams.iter().map(|counted| counted.stream).collect(),
            arrivals: self.arrivals.range(first..).copied().collect(),
        }
    }

    /// Withdraws a query that has just arrived.
    pub(super) fn withdraw(&mut self, at: StreamIndex, samples: u32) {
        if let Some(counted) = self.streams.get_mut(at.0) {
            counted.counts.withdrew(samples);
        }
        let is_of = |arrival: &QueryArrival| usize::from(arrival.stream) == at.0;
        if let Some(last) = self.arrivals.iter().rposition(is_of) {
            self.arrivals.remove(last);
        }
    }

    /// Counts a finished query.
    pub(super) fn end(&mut self, at: StreamIndex, goals: &QueryGoals, samples: u32, met: bool) {
        if let Some(counted) = self.streams.get_mut(at.0) {
            counted.counts.ended(samples, met);
            counted.finished += 1;
            let stream = &counted.stream;
            // Goals that count toward another stream are rare.
            let queries = match stream.goals == *goals {
                true => counted.finished,
                false => 0,
            };
            self.asked.end(stream.task, goals, queries, met);
        }
    }

    /// Returns the stream of a task with exactly these goals, if it is known.
    pub(super) fn find(&self, task: TaskIndex, goals: &QueryGoals) -> Option<StreamIndex> {
        let mut known = self.streams.iter().map(|counted| &counted.stream);
        let same = known.position(|s| s.task == task && s.goals == *goals);
        same.map(StreamIndex)
    }

    fn place(&mut self, task: TaskIndex, goals: &QueryGoals, now: Duration) -> StreamIndex {
        if let Some(same) = self.find(task, goals) {
            return same;
        }
        let at = match self.streams.len() < MOST_STREAMS {
            true => self.streams.len(),
            false => match (self.left(now), self.nearest(task, goals)) {
                (None, Some(nearest)) => return StreamIndex(nearest),
                (left, _) => left.unwrap_or_else(|| self.oldest()),
            },
        };
        let stream = QueryStream {
            task,
            goals: *goals,
            // The planner sets the worth of an answer.
            worth: QueryCost::FREE,
        };
        let counted = CountedStream::new(stream, now);
        match self.streams.get_mut(at) {
            Some(place) => *place = counted,
            None => self.streams.push(counted),
        }
        StreamIndex(at)
    }

    /// Returns the least recently used stream.
    fn oldest(&self) -> usize {
        let streams = self.streams.iter().enumerate();
        let oldest = streams.min_by_key(|(_, counted)| counted.last);
        oldest.map_or(0, |(at, _)| at)
    }

    /// Returns the least recently used stream if it may be replaced.
    fn left(&self, now: Duration) -> Option<usize> {
        let oldest = self.oldest();
        let last = self.streams.get(oldest)?.last;
        (now > last + KEPT).then_some(oldest)
    }

    /// Returns the least strict stream of a task that is at least as strict as some goals, ignoring
    /// costs and preferences.
    fn nearest(&self, task: TaskIndex, goals: &QueryGoals) -> Option<usize> {
        let (accuracy, latency) = strictness(goals);
        let streams = self.streams.iter().map(|counted| &counted.stream);
        let of_task = streams
            .enumerate()
            .filter(|(_, s)| s.task == task && s.goals.model == goals.model)
            .map(|(at, s)| (at, strictness(&s.goals)));
        let as_strict = of_task.filter(|(_, other)| other.0 >= accuracy && other.1 <= latency);
        let nearest = as_strict.min_by(|(_, a), (_, b)| {
            let less_accurate = a.0.total_cmp(&b.0);
            less_accurate.then(b.1.cmp(&a.1))
        });
        nearest.map(|(at, _)| at)
    }

    /// Returns the streams in order.
    pub(super) fn all(&self) -> impl Iterator<Item = &QueryStream> {
        self.streams.iter().map(|counted| &counted.stream)
    }

    /// Returns the counts of the queries of each task by goals.
    pub(super) fn asked(&self) -> Vec<AskedTally> {
        self.asked.all()
    }

    /// Returns the counts of each stream in the last interval, and starts the next interval.
    pub(super) fn interval(&mut self, length: Duration) -> Vec<StreamInterval> {
        let each = self.streams.iter_mut().map(|counted| {
            let CountedStream { stream, counts, .. } = counted;
            let (over, missed) = counts.finished();
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

/// Returns the accuracy and the latency of goals.
fn strictness(goals: &QueryGoals) -> (f64, Duration) {
    let accuracy = goals.accuracy.map_or(0.0, |accuracy| accuracy.get());
    let latency = goals.latency.map_or(Duration::MAX, LatencyGoal::get);
    (accuracy, latency)
}

#[cfg(test)]
#[path = "../../../tests/tasks/units/routing/streams.rs"]
mod tests;
