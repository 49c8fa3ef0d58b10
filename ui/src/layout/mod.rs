//! The panels there are, which of them are shown, and how they share the room.

mod arrangement;
mod panel;
mod preset;
mod split;

pub use arrangement::PanelArrangement;
pub use panel::Panel;
pub use preset::{LayoutRow, PanelLayout};
pub use split::{SizeShare, share};
