//! Where clients over the network are listened to, in the header.

use divisi::session::{DoorAddress, DoorView};

use super::signs::HeaderPiece;
use crate::look::Role;
use crate::model::Model;

/// Returns the addresses, and what they lack where other machines reach them; nothing where nobody
/// is listened to.
pub(super) fn addresses(model: &Model, width: u16) -> Vec<Vec<HeaderPiece>> {
    let door = model.snapshot.door.as_ref();
    let Some(door) = door.filter(|door| door.is_open()) else {
        return Vec::new();
    };
    let mut pieces = vec![(
        match width >= 120 {
            true => long(door),
            false => short(door),
        },
        Role::Accent,
    )];
    if let Some(lack) = door.addresses.iter().find_map(DoorAddress::lacks) {
        pieces.insert(0, ("! ".into(), Role::Warn));
        pieces.push((format!(" {lack}"), Role::Warn));
    }
    vec![pieces]
}

/// `http 127.0.0.1:8000 · grpc 127.0.0.1:8001`.
fn long(door: &DoorView) -> String {
    let each = door.addresses.iter();
    let each = each.map(|at| format!("{} {}", at.protocol.name(), at.address));
    each.collect::<Vec<_>>().join(" · ")
}

/// `127.0.0.1 http:8000 grpc:8001`; one address each where they differ.
fn short(door: &DoorView) -> String {
    let mut all = door.addresses.iter();
    let first = all.next().map(|at| at.address.ip());
    if !all.all(|at| Some(at.address.ip()) == first) {
        return long(door);
    }
    let each = door.addresses.iter();
    let each = each.map(|at| format!(" {}:{}", at.protocol.name(), at.address.port()));
    let address = first.map_or(String::new(), |ip| ip.to_string());
    format!("{address}{}", each.collect::<String>())
}
