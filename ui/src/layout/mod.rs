//! The panels there are, which of them are shown, and how they share the room.

mod arrangement;
mod panel;
mod preset;
mod split;

pub(crate) use arrangement::PanelArrangement;
pub use panel::Panel;
pub use preset::{LayoutRow, PanelLayout};
pub(crate) use split::{SizeShare, share};
