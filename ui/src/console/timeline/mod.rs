//! What workers did lately: a bounded history of spans, and spans as cells.

mod raster;
mod rows;
mod window;

pub use raster::{Mark, Raster};
pub use rows::{Rows, Sum};
pub use window::Window;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use divisi::trace::{Span, SpanKind};

use raster::Canvas;

/// Spans older than this against the newest are forgotten.
const HISTORY: Duration = Duration::from_secs(30);
/// More spans than this are never kept.
const MOST: usize = 50_000;
/// Spans come in the order of their ends but for this much.
const DISORDER: Duration = Duration::from_secs(1);

/// The latest spans, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    spans: VecDeque<Kept>,
    parity: HashMap<(usize, usize, usize), bool>,
    crowded_out: u64,
}

/// A span, and whether its batch is every other one of its lane.
#[derive(Clone, Copy, Debug)]
struct Kept {
    span: Span,
    other: bool,
}

impl Timeline {
    /// Adds spans, and forgets those that are too old or too many.
    pub fn extend(&mut self, mut spans: Vec<Span>) {
        // Each device's are in order; the picture wants all of them so.
        spans.sort_by_key(|s| s.end);
        for span in spans {
            let lane = (span.device, span.member, span.lane);
            let parity = self.parity.entry(lane).or_default();
            if span.kind == SpanKind::Compute {
                *parity = !*parity;
            }
            let other = *parity;
            self.spans.push_back(Kept { span, other });
        }
        self.forget();
    }

    fn forget(&mut self) {
        let newest = self.newest().unwrap_or_default();
        while let Some(oldest) = self.spans.front() {
            let recent = oldest.span.end + HISTORY >= newest;
            if recent && self.spans.len() <= MOST {
                break;
            }
            self.crowded_out += u64::from(recent);
            self.spans.pop_front();
        }
    }

    /// The end of the newest span.
    pub fn newest(&self) -> Option<Duration> {
        self.spans.back().map(|k| k.span.end)
    }

    /// How many spans made room for newer ones although they were recent.
    pub fn crowded_out(&self) -> u64 {
        self.crowded_out
    }

    /// What the rows show in the window.
    pub fn raster(&self, rows: &Rows, window: Window) -> Raster {
        let mut canvas = Canvas::new(rows, window);
        for kept in self.within(window) {
            canvas.add(rows, kept);
        }
        canvas.raster()
    }

    /// Only as far back as the window reaches: there may be many more spans.
    fn within(&self, window: Window) -> impl Iterator<Item = &Kept> {
        let latest = self.spans.iter().rev();
        latest
            .take_while(move |k| k.span.end + DISORDER >= window.from)
            .filter(move |k| k.span.end >= window.from && k.span.start < window.until())
    }
}
