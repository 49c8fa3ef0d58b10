//! The list of recent requests: its order, its filter and the selected request.

use std::time::Duration;

use divisi_runtime::named::named;
use divisi_session::{RequestRecord, RequestsView};

named! {
    /// The order of the list.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RequestOrder {
        /// The slowest first.
        #[default]
        Slowest = "slowest",
        /// Failed requests only, the newest first.
        Failed = "failed",
        /// The newest first.
        Newest = "newest",
    }
}

impl RequestOrder {
    /// Returns the next order, cyclically.
    pub fn next(self) -> Self {
        match self {
            RequestOrder::Slowest => RequestOrder::Failed,
            RequestOrder::Failed => RequestOrder::Newest,
            RequestOrder::Newest => RequestOrder::Slowest,
        }
    }
}

/// A request by its number and its end: numbers are unique within an engine.
pub(super) type RequestId = (u64, Duration);

/// The view of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestList {
    /// Its order.
    pub order: RequestOrder,
    /// The text that a number, an id or a client must contain.
    pub filter: String,
    /// Whether the filter is being typed.
    pub typing: bool,
    /// The selected request; `None` is the first.
    pub selected: Option<RequestId>,
    /// The list at the time of the selection. It stays while a request is selected, so that the
    /// request stays at its place.
    held: Option<RequestsView>,
}

/// Returns the identity of a request.
pub(crate) fn id_of(record: &RequestRecord) -> RequestId {
    (record.number, record.ended)
}

impl RequestList {
    /// Returns the listed requests, in order.
    pub fn rows<'a>(&'a self, view: &'a RequestsView) -> Vec<&'a RequestRecord> {
        let view = self.held.as_ref().unwrap_or(view);
        let mut rows: Vec<&RequestRecord> = match self.order {
            RequestOrder::Slowest => view.slowest.iter().collect(),
            RequestOrder::Failed => view.failed.iter().collect(),
            RequestOrder::Newest => view.slowest.iter().chain(&view.failed).collect(),
        };
        if self.order == RequestOrder::Newest {
            rows.sort_by_key(|record| std::cmp::Reverse(record.ended));
        }
        rows.retain(|record| self.matches(record));
        rows
    }

    fn matches(&self, record: &RequestRecord) -> bool {
        let text = self.filter.to_lowercase();
        let has = |found: &str| found.to_lowercase().contains(&text);
        let sender = record.sender.as_deref().unwrap_or_default();
        text.is_empty() || has(&record.number.to_string()) || has(&record.id) || has(sender)
    }

    /// Returns the place of the selected request among `rows`, or the first place.
    pub fn place(&self, rows: &[&RequestRecord]) -> usize {
        let at = self
            .selected
            .map(|id| rows.iter().position(|r| id_of(r) == id));
        at.flatten().unwrap_or(0)
    }

    /// Selects the request `step` places further, and keeps the list as it is.
    pub fn choose(&mut self, view: &RequestsView, step: isize) {
        let rows = self.rows(view);
        let last = rows.len().saturating_sub(1);
        let at = self.place(&rows).saturating_add_signed(step).min(last);
        let selected = rows.get(at).map(|record| id_of(record));
        self.selected = selected;
        if selected.is_some() {
            self.hold(view);
        }
    }

    /// Keeps the list as it is.
    pub fn hold(&mut self, view: &RequestsView) {
        self.held.get_or_insert_with(|| view.clone());
    }

    /// Returns whether the list is kept as it was.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Follows the present again. Returns `false` if it already did.
    pub fn release(&mut self) -> bool {
        self.selected = None;
        self.held.take().is_some()
    }

    /// Switches to the next order.
    pub fn sort(&mut self) {
        self.release();
        self.order = self.order.next();
    }
}
