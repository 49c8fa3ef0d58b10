//! The user's view: a staged setup, the timeline, its visible part, and the subjects of figures.

mod edit;
mod lit;
mod requests;
mod time;
pub(crate) mod timeline;
mod trends;

pub(crate) use edit::{SetupEdit, TakenWorker};
pub(crate) use lit::LitRequest;
pub(crate) use requests::id_of;
pub(crate) use requests::{RequestList, RequestOrder};
pub(crate) use time::{TimeSpan, TimeView};
pub(crate) use trends::{KEPT, LoadTrends};

use std::time::Duration;

use divisi_model::allocation::Cell;
use divisi_model::trace::Span;
use divisi_runtime::device::MemberIndex;
use divisi_session::{LatencyView, Snapshot};

use timeline::RowKey;

/// The zoom levels of the timeline, in microseconds.
pub(crate) const ZOOMS: [u64; 22] = [
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
    600_000_000,
    1_800_000_000,
];

/// The initial zoom level: half a second.
const FIRST_ZOOM: usize = 11;

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowOrder {
    /// Devices in the order of the matrix.
    #[default]
    Device,
    /// Members in the order of the matrix.
    Member,
    /// The busiest first.
    Busiest,
    /// Alphabetically.
    Name,
}

impl RowOrder {
    /// Returns the next order, cyclically.
    pub fn next(self) -> Self {
        match self {
            RowOrder::Device => RowOrder::Member,
            RowOrder::Member => RowOrder::Busiest,
            RowOrder::Busiest => RowOrder::Name,
            RowOrder::Name => RowOrder::Device,
        }
    }

    /// Returns the text for the panel's title.
    pub fn words(self) -> &'static str {
        match self {
            RowOrder::Device => "by device",
            RowOrder::Member => "by member",
            RowOrder::Busiest => "busiest first",
            RowOrder::Name => "by name",
        }
    }
}

/// The selected span and its batch.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanReading {
    /// Its number in the timeline.
    pub number: u64,
    /// The span.
    pub span: Span,
    /// The known steps of its batch, in the order of their starts.
    pub steps: Vec<Span>,
    /// The request to show, or `None` for that of the span.
    pub lit: Option<LitRequest>,
}

impl SpanReading {
    /// Returns the request to show.
    pub fn request(&self) -> LitRequest {
        let own = || LitRequest {
            number: self.span.request,
            batches: Vec::new(),
        };
        self.lit.clone().unwrap_or_else(own)
    }
}

/// The view of the timeline.
#[derive(Clone, Debug)]
pub struct Streams {
    /// Index into [`ZOOMS`].
    pub zoom: usize,
    /// The first visible row.
    pub scroll: usize,
    /// The time at the right edge of a frozen picture. Recording continues.
    pub frozen: Option<Duration>,
    /// The selected row.
    pub selected: Option<RowKey>,
    /// The selected span.
    pub reading: Option<SpanReading>,
    /// The order of the rows.
    pub order: RowOrder,
    /// The text that the names of devices or members must contain.
    pub filter: String,
    /// Whether the filter is being typed.
    pub typing: bool,
}

impl Default for Streams {
    fn default() -> Self {
        Streams {
            zoom: FIRST_ZOOM,
            scroll: 0,
            frozen: None,
            selected: None,
            reading: None,
            order: RowOrder::default(),
            filter: String::new(),
            typing: false,
        }
    }
}

impl Streams {
    /// Returns the visible time.
    pub fn length(&self) -> Duration {
        Duration::from_micros(ZOOMS[self.zoom.min(ZOOMS.len() - 1)])
    }

    /// Returns the time at the right edge.
    pub fn end(&self, now: Duration) -> Duration {
        self.frozen.unwrap_or(now)
    }
}

/// The subject of figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whose {
    /// The ensemble: latencies and rates of requests.
    #[default]
    Ensemble,
    /// One member, by its column.
    Member(MemberIndex),
    /// One worker, by its entry.
    Worker(Cell),
}

/// The subjects of the panels with a choice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scopes {
    /// The subject of the latency panel.
    pub latency: Whose,
    /// The subject of the throughput panel; never a worker.
    pub throughput: Whose,
}

impl Whose {
    /// Returns the subject one level down; after the worker comes the ensemble.
    pub fn deeper(self, cursor: Cell, shown: &Snapshot) -> Self {
        match self {
            Whose::Ensemble => Whose::Member(cursor.member),
            Whose::Member(member) => {
                let here = Cell { member, ..cursor };
                worker_of(shown, here).map_or(Whose::Ensemble, Whose::Worker)
            }
            Whose::Worker(_) => Whose::Ensemble,
        }
    }

    /// Returns the next or previous subject of the same level, cyclically.
    pub fn step(self, step: isize, shown: &Snapshot) -> Self {
        let turn = |at: usize, all: usize| (at as isize + step).rem_euclid(all.max(1) as isize);
        match self {
            Whose::Ensemble => self,
            Whose::Member(at) => {
                let next = turn(at.get(), shown.members.len()) as usize;
                Whose::Member(MemberIndex::new(next))
            }
            Whose::Worker(cell) => {
                let cells: Vec<Cell> = shown.matrix.workers().map(|w| w.0).collect();
                let at = cells.iter().position(|c| *c == cell).unwrap_or(0);
                let next = cells.get(turn(at, cells.len()) as usize);
                next.map_or(Whose::Ensemble, |c| Whose::Worker(*c))
            }
        }
    }

    /// Returns the subject if it still exists, else the ensemble.
    pub fn there(self, shown: &Snapshot) -> Self {
        let there = match self {
            Whose::Ensemble => true,
            Whose::Member(at) => at.get() < shown.members.len(),
            Whose::Worker(cell) => shown.matrix.workers().any(|w| w.0 == cell),
        };
        if there { self } else { Whose::Ensemble }
    }

    /// Returns the name: `ensemble`, `res-m`, `cpu:1 × res-m`.
    pub fn name(self, shown: &Snapshot) -> String {
        let member = |at: MemberIndex| shown.member(at).map_or("", |m| m.name.as_str());
        match self {
            Whose::Ensemble => "ensemble".to_owned(),
            Whose::Member(at) => member(at).to_owned(),
            Whose::Worker(cell) => {
                let device = shown.device(cell.device);
                let device = device.map_or("", |d| d.name.as_str());
                format!("{device} × {}", member(cell.member))
            }
        }
    }

    /// Returns the latencies of the subject.
    pub fn latency(self, shown: &Snapshot) -> Option<&LatencyView> {
        match self {
            Whose::Ensemble => Some(&shown.latency),
            Whose::Member(at) => shown.member(at).map(|m| &m.latency),
            Whose::Worker(cell) => shown.entry(cell).map(|e| &e.latency),
        }
    }
}

/// Returns the member's worker on the cursor's device, or else its first.
fn worker_of(shown: &Snapshot, cell: Cell) -> Option<Cell> {
    let workers = || shown.matrix.workers().map(|w| w.0);
    let here = workers().find(|c| *c == cell);
    here.or_else(|| workers().find(|c| c.member == cell.member))
}
