//! One viewer, as the hub keeps it: what it was sent, and what it missed.

use std::sync::Arc;

use crate::session::Audience;

use super::link::Link;

/// A viewer and what it knows.
pub(super) struct ViewerState {
    /// The connection to the viewer.
    pub link: Link,
    /// It follows the newest state; otherwise it needs all of it.
    follows: bool,
    /// Spans that were dropped on the way to it.
    lost: u64,
    /// The audience and the count of lost spans that it was sent last.
    told: Option<(Audience, u64)>,
}

/// The messages for all viewers, each encoded once.
#[derive(Default)]
pub(super) struct News {
    /// The whole state, where a viewer needs it.
    pub whole: Option<Arc<[u8]>>,
    /// The change of the state, if there is one.
    pub change: Option<Arc<[u8]>>,
    /// The spans, and how many they are.
    pub spans: Option<(Arc<[u8]>, u64)>,
}

impl ViewerState {
    /// A viewer that knows nothing yet.
    pub(super) fn new(link: Link) -> Self {
        ViewerState {
            link,
            follows: false,
            lost: 0,
            told: None,
        }
    }

    /// It has to be told the whole state, and there is room for it.
    pub(super) fn wants_whole(&self) -> bool {
        !self.follows && self.link.outbox.has_room()
    }

    /// Sends the change, or the whole state where the viewer needs it and there is room.
    pub(super) fn send_state(&mut self, news: &News) {
        let outbox = &self.link.outbox;
        if self.follows {
            if let Some(change) = &news.change {
                self.follows = outbox.push(change);
            }
        } else if let (true, Some(whole)) = (outbox.has_room(), &news.whole) {
            self.follows = outbox.push(whole);
        }
    }

    /// Spans, or their number where there is no room.
    pub(super) fn send_spans(&mut self, news: &News) {
        if let Some((spans, count)) = &news.spans
            && !(self.follows && self.link.outbox.push(spans))
        {
            self.lost += count;
        }
    }

    /// Returns the audience and the number of lost spans if either is new to the viewer and
    /// its outbox has room; they count as sent.
    pub(super) fn news_of_itself(&mut self, audience: Audience) -> Option<(Audience, u64)> {
        let told = Some((audience, self.lost));
        if self.told == told || !self.link.outbox.has_room() {
            return None;
        }
        self.told.clone_from(&told);
        told
    }
}
