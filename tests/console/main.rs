//! The console on a fake session: whole screens, and keys to commands.

mod fake;
mod screens;
mod updates;
