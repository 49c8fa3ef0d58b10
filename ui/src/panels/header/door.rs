//! The addresses that accept clients, in the header.

use divisi_session::{DoorAddress, DoorView};

use super::{HeaderGroup, taken, wide};
use crate::look::Role;
use crate::model::Model;

/// Adds the addresses to the groups of a line, with the missing protection if other machines reach
/// them. A warning about missing protection is always shown, even if other groups are left out.
pub(super) fn add(groups: &mut Vec<HeaderGroup>, model: &Model, width: u16) {
    let Some(door) = open(model) else {
        return;
    };
    let whole = addresses(door, width);
    let room = width.saturating_sub(1 + taken(groups));
    match unprotected(model) {
        Some(brief) if wide(&whole) > room => {
            let place = if wide(&brief) > room { 0 } else { groups.len() };
            groups.insert(place, brief);
        }
        _ => groups.push(whole),
    }
}

/// Returns the shortest warning that other machines reach an address without keys or TLS, or `None`
/// if there is no such address.
pub(super) fn unprotected(model: &Model) -> Option<HeaderGroup> {
    let addresses = &open(model)?.addresses;
    let mut unprotected = addresses.iter().filter(|at| at.lacks().is_some());
    let first = unprotected.next()?;
    let has_keys = first.keys && unprotected.all(|at| at.keys);
    let words = if has_keys { "! no TLS" } else { "! no keys" };
    Some(vec![(words.into(), Role::Warn)])
}

fn open(model: &Model) -> Option<&DoorView> {
    let door = model.snapshot.door.as_ref();
    door.filter(|door| door.is_open())
}

fn addresses(door: &DoorView, width: u16) -> HeaderGroup {
    let text = match width >= 120 {
        true => long(door),
        false => short(door),
    };
    let lack = door.addresses.iter().find_map(DoorAddress::lacks);
    let Some(lack) = lack else {
        return vec![(text, Role::Accent)];
    };
    vec![
        ("! ".into(), Role::Warn),
        (text, Role::Accent),
        (format!(" {lack}"), Role::Warn),
    ]
}

/// Returns `http 127.0.0.1:8000 · grpc 127.0.0.1:8001`.
fn long(door: &DoorView) -> String {
    let each = door.addresses.iter();
    let each = each.map(|at| format!("{} {}", at.protocol.name(), at.address));
    each.collect::<Vec<_>>().join(" · ")
}

/// `127.0.0.1 http:8000 grpc:8001`, or each address if the hosts differ.
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
