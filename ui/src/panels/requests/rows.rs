//! The rows of the list: as many columns as fit, a stacked bar, and the run that ended last.

use std::time::Duration;

use divisi_session::RequestRecord;

use super::super::columns::{Column, FigureText, figures, fitting, heads, plain};
use super::parts::{draw_bar, last_words, ms, parts};
use crate::look::{Painter, Role};
use crate::model::Model;
use crate::text::format;
use crate::view::RequestOrder;

/// The width of the request's name and of its client.
const NAME: u16 = 12;
const CLIENT: u16 = 16;
/// The widths of the bar and of the last run, with the gap before each.
const BAR: u16 = 14;
const LAST: u16 = 20;

/// A column of a request.
type RequestColumn = Column<RequestRecord, Model>;

static COLUMNS: [RequestColumn; 7] = [
    Column::new("when", 10, 1, |record, model| {
        let clock = model.clock.at(&model.snapshot, record.ended);
        plain(clock.unwrap_or_else(|| "–".to_owned()))
    }),
    Column::new("smp", 6, 5, |record, _| {
        plain(format::grouped(record.samples as u64))
    }),
    Column::new("ms", 8, 0, |record, _| (ms(record.whole()), Role::Strong)),
    Column::new("network", 9, 4, |record, _| match record.received {
        Some(time) => plain(ms(time)),
        None => ("–".to_owned(), Role::Dim),
    }),
    Column::new("queue", 8, 2, |record, _| part(record, 1)),
    Column::new("compute", 9, 3, |record, _| part(record, 2)),
    Column::new("other", 7, 6, |record, _| part(record, 3)),
];

fn part(record: &RequestRecord, at: usize) -> FigureText {
    match record.failure {
        Some(_) => ("–".to_owned(), Role::Dim),
        None => plain(ms(parts(record)[at].time)),
    }
}

/// The columns of the list.
pub(super) struct RequestColumns {
    columns: Vec<&'static RequestColumn>,
    /// The first column of bars or reasons.
    bar: u16,
    /// The width of bars, or 0 if there is no room.
    bar_width: u16,
    client: u16,
}

impl RequestColumns {
    pub(super) fn new(width: u16, order: RequestOrder) -> Self {
        let client = if width >= 60 { CLIENT } else { 0 };
        let left = 1 + NAME + client;
        let right = match (order, width) {
            (RequestOrder::Failed, _) => 24,
            (_, 100..) => BAR + LAST,
            (_, 70..) => LAST,
            _ => 0,
        };
        let count = match order {
            RequestOrder::Failed => 3,
            _ => COLUMNS.len(),
        };
        let room = width.saturating_sub(left + right);
        let columns = fitting(COLUMNS.iter().take(count), room);
        RequestColumns {
            columns,
            bar: 0,
            bar_width: if width >= 100 { BAR - 2 } else { 0 },
            client,
        }
    }

    /// Draws the headings.
    pub(super) fn head(&mut self, inside: &mut Painter<'_>, order: RequestOrder) {
        inside.text(1, 0, "request", Role::Dim);
        if self.client > 0 {
            inside.text(1 + NAME, 0, "client", Role::Dim);
        }
        let left = 1 + NAME + self.client;
        heads(inside, left, &self.columns);
        let end = figures_end(left, &self.columns);
        self.bar = end + 2;
        let (bar, last) = match order {
            RequestOrder::Failed => ("", "reason"),
            _ => ("parts", "last"),
        };
        if self.bar_width > 0 && order != RequestOrder::Failed {
            inside.text(self.bar, 0, bar, Role::Dim);
        }
        inside.text(self.last(order), 0, last, Role::Dim);
    }

    /// Returns the first column of the last run or the reason.
    fn last(&self, order: RequestOrder) -> u16 {
        match order {
            RequestOrder::Failed => self.bar,
            _ if self.bar_width > 0 => self.bar + self.bar_width + 2,
            _ => self.bar,
        }
    }

    /// Draws a request; bars are relative to the time `whole`.
    pub(super) fn row(
        &self,
        inside: &mut Painter<'_>,
        y: u16,
        record: &RequestRecord,
        whole: Duration,
        model: &Model,
    ) {
        inside.text(1, y, &format::fit(&name(record), NAME - 1), Role::Text);
        if self.client > 0 {
            let client = format::fit_name(client(record), CLIENT - 1);
            inside.text(1 + NAME, y, &client, Role::Dim);
        }
        let left = 1 + NAME + self.client;
        figures(inside, left, y, &self.columns, record, model);
        let order = model.requests.order;
        let last = self.last(order);
        let room = inside.width().saturating_sub(last);
        if let Some(why) = &record.failure {
            inside.text(last, y, &format::fit(why, room), Role::Bad);
            return;
        }
        if self.bar_width > 0 {
            draw_bar(inside, (self.bar, y), self.bar_width, record, whole);
        }
        let words = last_words(model, record.last.as_ref());
        inside.text(last, y, &format::fit(&words, room), Role::Text);
    }
}

fn figures_end(left: u16, columns: &[&RequestColumn]) -> u16 {
    left + columns.iter().map(|column| column.width()).sum::<u16>()
}

/// Returns the id of the client, or the number without an id.
pub(super) fn name(record: &RequestRecord) -> String {
    match record.id.is_empty() {
        true => format!("#{}", record.number),
        false => record.id.clone(),
    }
}

/// Returns the client.
pub(super) fn client(record: &RequestRecord) -> &str {
    record.sender.as_deref().unwrap_or("this process")
}
