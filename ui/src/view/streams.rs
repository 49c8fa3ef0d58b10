//! Where the user is in the streams: which part of time, which rows, which span.

use std::time::Duration;

use divisi::trace::Span;

use super::timeline::RowKey;

/// Microseconds that the timeline can show.
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

/// Half a second.
const FIRST_ZOOM: usize = 11;

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowOrder {
    /// Devices as they are in the matrix.
    #[default]
    Device,
    /// Members as they are in the matrix.
    Member,
    /// The busiest first.
    Busiest,
    /// By the alphabet.
    Name,
}

impl RowOrder {
    /// Round and round.
    pub fn next(self) -> Self {
        match self {
            RowOrder::Device => RowOrder::Member,
            RowOrder::Member => RowOrder::Busiest,
            RowOrder::Busiest => RowOrder::Name,
            RowOrder::Name => RowOrder::Device,
        }
    }

    /// As the panel's title says it.
    pub fn words(self) -> &'static str {
        match self {
            RowOrder::Device => "by device",
            RowOrder::Member => "by member",
            RowOrder::Busiest => "busiest first",
            RowOrder::Name => "by name",
        }
    }
}

/// The span under the cursor and its batch.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanReading {
    /// Its number in the timeline.
    pub number: u64,
    /// The span.
    pub span: Span,
    /// All steps of its batch that are known, in the order of their starts.
    pub steps: Vec<Span>,
}

/// The view of the timeline.
#[derive(Clone, Debug)]
pub struct Streams {
    /// Index into [`ZOOMS`].
    pub zoom: usize,
    /// First row shown.
    pub scroll: usize,
    /// The moment at the right edge, while the picture is held. History goes on.
    pub frozen: Option<Duration>,
    /// The row that was chosen.
    pub selected: Option<RowKey>,
    /// The span that is read out.
    pub reading: Option<SpanReading>,
    /// The order of the rows.
    pub order: RowOrder,
    /// Rows have this in their device's or member's name.
    pub filter: String,
    /// The filter is being typed.
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
    /// How much time is shown.
    pub fn length(&self) -> Duration {
        Duration::from_micros(ZOOMS[self.zoom.min(ZOOMS.len() - 1)])
    }

    /// The moment at the right edge.
    pub fn end(&self, now: Duration) -> Duration {
        self.frozen.unwrap_or(now)
    }
}
