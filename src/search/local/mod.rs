//! Local search with the model: moves of one and two entries, from several starts.

mod climb;
mod moves;
mod position;
mod room;

pub use climb::{Climber, Summit};
pub use position::{Edit, Position};
pub use room::Room;
