//! The addresses that accept clients, on one line or several.

use divisi_session::{DoorAddress, DoorView};

use crate::look::{Painter, Role};
use crate::text::format;

/// The words before the addresses.
const LEAD: &str = "listens at ";

/// The column of further lines.
const INDENT: u16 = 3;

/// An address as text, and its place.
struct PlacedAddress {
    x: u16,
    y: u16,
    text: String,
    role: Role,
}

/// Draws the addresses and returns the number of rows used.
pub(super) fn draw(inside: &mut Painter<'_>, door: &DoorView) -> u16 {
    inside.text(1, 0, LEAD, Role::Dim);
    let placed = placed(door, inside.width());
    for PlacedAddress { x, y, text, role } in &placed {
        let text = format::fit(text, inside.width().saturating_sub(*x));
        inside.text(*x, *y, &text, *role);
    }
    placed.last().map_or(1, |last| last.y + 1)
}

fn placed(door: &DoorView, width: u16) -> Vec<PlacedAddress> {
    let (mut x, mut y) = (1 + format::width(LEAD), 0);
    let each = door.addresses.iter().map(|at| {
        let (text, role) = worded(at, width.saturating_sub(INDENT));
        let needed = format::width(&text);
        if x + needed > width {
            (x, y) = (INDENT, y + 1);
        }
        let placed = PlacedAddress { x, y, text, role };
        x += needed + 2;
        placed
    });
    each.collect()
}

/// Returns an address, marked if other machines reach it without keys or TLS, with the missing
/// protection if there is room.
fn worded(at: &DoorAddress, room: u16) -> (String, Role) {
    let text = format!("{} {}", at.protocol.name(), at.address);
    let Some(lack) = at.lacks() else {
        return (text, Role::Text);
    };
    let whole = format!("! {text} ({lack})");
    match format::width(&whole) <= room {
        true => (whole, Role::Warn),
        false => (format!("! {text}"), Role::Warn),
    }
}
