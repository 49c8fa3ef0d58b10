//! Columns of figures: the most important that fit, their headings and their cells.

use crate::look::{Painter, Role};

/// The text of a figure.
pub(super) type FigureText = (String, Role);

/// Returns the text of an ordinary figure.
pub(super) fn plain(text: String) -> FigureText {
    (text, Role::Text)
}

/// A column of figures of items of type `T`, which also depend on a `C`.
pub(super) struct Column<T, C> {
    /// Its heading.
    name: &'static str,
    /// Its width with the gap before it.
    width: u16,
    /// Its priority if not all fit, from 0.
    rank: u8,
    /// Returns the text for an item.
    value: fn(&T, &C) -> FigureText,
}

impl<T, C> Column<T, C> {
    /// Creates a column.
    pub(super) const fn new(
        name: &'static str,
        width: u16,
        rank: u8,
        value: fn(&T, &C) -> FigureText,
    ) -> Self {
        Column {
            name,
            width,
            rank,
            value,
        }
    }

    /// Returns its width with the gap before it.
    pub(super) fn width(&self) -> u16 {
        self.width
    }
}

/// Returns the columns that fit into `room`, chosen by priority, in their order.
pub(super) fn fitting<T: 'static, C: 'static>(
    columns: impl Iterator<Item = &'static Column<T, C>>,
    mut room: u16,
) -> Vec<&'static Column<T, C>> {
    let mut ranked: Vec<_> = columns.enumerate().collect();
    ranked.sort_by_key(|(_, column)| column.rank);
    let fits = |(_, column): &&(usize, &Column<T, C>)| {
        let fits = column.width <= room;
        room = room.saturating_sub(column.width);
        fits
    };
    let count = ranked.iter().take_while(fits).count();
    ranked.truncate(count);
    ranked.sort_by_key(|(at, _)| *at);
    ranked.into_iter().map(|(_, column)| column).collect()
}

/// Draws the headings behind column `end`.
pub(super) fn heads<T, C>(inside: &mut Painter<'_>, mut end: u16, columns: &[&Column<T, C>]) {
    for column in columns {
        end += column.width;
        inside.text_right(end, 0, column.name, Role::Dim);
    }
}

/// Draws the figures of an item behind column `end`, and returns the column after them.
pub(super) fn figures<T, C>(
    inside: &mut Painter<'_>,
    mut end: u16,
    y: u16,
    columns: &[&Column<T, C>],
    item: &T,
    context: &C,
) -> u16 {
    for column in columns {
        end += column.width;
        let (text, role) = (column.value)(item, context);
        inside.text_right(end, y, &text, role);
    }
    end
}
